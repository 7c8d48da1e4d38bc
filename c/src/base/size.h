/* Sizes that cannot wrap around: on wasm32 a product of three honest dimensions already can.
 * SIZE_MAX stands for "too large" and stays so through further sums and products (of sizes that
 * are not 0), so that one check at the end is enough. */
#ifndef MH_SIZE_H
#define MH_SIZE_H

#include <stddef.h>
#include <stdint.h>

static inline size_t mh_size_mul(size_t a, size_t b)
{
    return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static inline size_t mh_size_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static inline size_t mh_size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t mh_size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
