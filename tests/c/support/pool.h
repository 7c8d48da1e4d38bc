/* Memory for one test case: exact sizes, so that the address sanitizer sees one element too many,
 * and all given back by one call. Include after <cmocka.h>. */
#ifndef MH_TEST_POOL_H
#define MH_TEST_POOL_H

#include <stddef.h>
#include <stdlib.h>

#define POOL_MOST 64

struct pool {
    void *blocks[POOL_MOST];
    size_t count;
};

static inline void *pool_take(struct pool *pool, size_t count, size_t size)
{
    assert_true(pool->count < POOL_MOST);
    void *block = malloc(count * size > 0 ? count * size : 1);
    assert_non_null(block);
    pool->blocks[pool->count++] = block;
    return block;
}

static inline float *pool_floats(struct pool *pool, size_t count)
{
    return pool_take(pool, count, sizeof(float));
}

static inline void pool_free(struct pool *pool)
{
    while (pool->count > 0)
        free(pool->blocks[--pool->count]);
}

#endif
