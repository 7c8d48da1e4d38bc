/* Random sizes, layouts and masks for tests of attention, its masks and its statistics. Include
 * after <cmocka.h>. */
#ifndef MH_TEST_RANDOM_CASE_H
#define MH_TEST_RANDOM_CASE_H

#include "multihead.h"
#include "support/pool.h"
#include "support/random.h"

#include <math.h>
#include <stdbool.h>

struct sizes {
    size_t batch, heads, queries, keys; /* B, H, T, S with the free keys */
};

/* Uniform on low <= x <= high. */
static inline size_t random_size(uint32_t *state, size_t low, size_t high)
{
    return low + random_u32(state) % (high - low + 1);
}

static inline int32_t random_int(uint32_t *state, int32_t low, int32_t high)
{
    return low + (int32_t)(random_u32(state) % (uint32_t)(high - low + 1));
}

static inline bool one_in(uint32_t *state, uint32_t n)
{
    return random_u32(state) % n == 0;
}

/* ===== Layouts ============================================================================== */

/* Strides for axes of these counts around rows of `width`: in any order of the axes, with or
 * without gaps. Returns the number of elements from the first to the last. */
static inline size_t random_layout(uint32_t *state, const size_t counts[3], size_t width,
                                   size_t strides[3])
{
    static const size_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const size_t *order = orders[random_u32(state) % 6];
    bool gaps = one_in(state, 2);
    size_t span = width;
    for (size_t i = 3; i-- > 0;) {
        size_t axis = order[i];
        strides[axis] = span + (gaps ? random_size(state, 0, 5) : 0);
        span = strides[axis] * (counts[axis] - 1) + span;
    }
    return span;
}

/* A [batch, heads, rows, width] input with unit-scale numbers, and NaN in the gaps: whoever reads
 * those is found out. */
static inline struct mh_rows random_rows(uint32_t *state, struct pool *pool, size_t batch,
                                         size_t heads, size_t rows, size_t width)
{
    const size_t counts[3] = {batch, heads, rows};
    size_t strides[3];
    size_t total = random_layout(state, counts, width, strides);
    float *data = pool_floats(pool, total);
    for (size_t i = 0; i < total; i++)
        data[i] = NAN;
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t r = 0; r < rows; r++)
                random_fill(state, data + b * strides[0] + h * strides[1] + r * strides[2], width,
                            -1.0f, 1.0f);
    return (struct mh_rows){data, strides[0], strides[1], strides[2]};
}

/* ===== Masks ================================================================================ */

/* Strides of a [B, H, T, M] map of which any axis may be broadcast; returns its elements. */
static inline size_t random_map(uint32_t *state, const struct sizes *s, size_t masked,
                                size_t *batch_stride, size_t *head_stride, size_t *row_stride)
{
    size_t span = masked;
    *row_stride = one_in(state, 3) ? 0 : span + random_size(state, 0, 3);
    span += *row_stride * (s->queries - 1);
    *head_stride = one_in(state, 3) ? 0 : span;
    span += *head_stride * (s->heads - 1);
    *batch_stride = one_in(state, 3) ? 0 : span;
    return span + *batch_stride * (s->batch - 1);
}

static inline void add_geometry(uint32_t *state, struct mh_mask *m, int32_t part, int32_t reach)
{
    switch (part) {
    case 0:
        m->causal = 1;
        break;
    case 1:
        m->windowed = 1;
        m->window_left = random_int(state, -1, reach);
        m->window_right = random_int(state, -1, reach);
        break;
    default:
        m->prefix = random_size(state, 0, (size_t)reach);
        break;
    }
    if (one_in(state, 2))
        m->query_offset = random_int(state, -reach, reach);
}

static inline void add_padding(uint32_t *state, struct pool *pool, const struct sizes *s,
                               size_t masked, struct mh_mask *m)
{
    if (one_in(state, 2)) {
        int32_t *lengths = pool_take(pool, s->batch, sizeof *lengths);
        for (size_t b = 0; b < s->batch; b++)
            lengths[b] = random_int(state, 0, (int32_t)masked);
        m->key_lengths = lengths;
        return;
    }
    uint8_t *hidden = pool_take(pool, s->batch * masked, 1);
    uint32_t rate = 1 + random_u32(state) % 4;
    for (size_t i = 0; i < s->batch * masked; i++)
        hidden[i] = one_in(state, rate) ? (uint8_t)random_int(state, 1, 255) : 0;
    m->key_hidden = hidden;
}

static inline void add_blocks(uint32_t *state, struct pool *pool, const struct sizes *s,
                              size_t masked, struct mh_mask *m)
{
    int32_t *queries = pool_take(pool, s->queries, sizeof *queries);
    int32_t *keys = pool_take(pool, masked, sizeof *keys);
    for (size_t i = 0; i < s->queries; i++)
        queries[i] = random_int(state, -1, 1);
    for (size_t j = 0; j < masked; j++)
        keys[j] = random_int(state, -1, 1);
    m->query_blocks = queries;
    m->key_blocks = keys;
}

static inline void add_boolean(uint32_t *state, struct pool *pool, const struct sizes *s,
                               size_t masked, struct mh_mask *m)
{
    size_t count = random_map(state, s, masked, &m->hidden_batch_stride, &m->hidden_head_stride,
                              &m->hidden_row_stride);
    uint8_t *hidden = pool_take(pool, count, 1);
    for (size_t i = 0; i < count; i++)
        hidden[i] = one_in(state, 2) ? (uint8_t)random_int(state, 1, 255) : 0;
    m->hidden = hidden;
    m->hidden_when = random_int(state, 0, 1);
}

static inline void add_bias(uint32_t *state, struct pool *pool, const struct sizes *s,
                            size_t masked, struct mh_mask *m)
{
    size_t count = random_map(state, s, masked, &m->bias_batch_stride, &m->bias_head_stride,
                              &m->bias_row_stride);
    float *bias = pool_floats(pool, count);
    random_fill(state, bias, count, -2.0f, 2.0f);
    for (size_t i = 0; i < count; i++)
        if (one_in(state, 4))
            bias[i] = -INFINITY;
    m->bias = bias;
}

enum { MASK_PARTS = 7 };

/* A mask of the parts whose bits are set in `parts`. */
static inline struct mh_mask random_mask(uint32_t *state, struct pool *pool, const struct sizes *s,
                                         uint32_t parts)
{
    struct mh_mask m = {0};
    if (one_in(state, 4))
        m.free_keys = random_size(state, 0, s->keys < 3 ? s->keys : 3);
    size_t masked = s->keys - m.free_keys;
    for (int32_t part = 0; part < 3; part++)
        if ((parts >> part & 1) != 0)
            add_geometry(state, &m, part, (int32_t)s->keys + 1);
    if ((parts >> 3 & 1) != 0)
        add_padding(state, pool, s, masked, &m);
    if ((parts >> 4 & 1) != 0)
        add_blocks(state, pool, s, masked, &m);
    if ((parts >> 5 & 1) != 0)
        add_boolean(state, pool, s, masked, &m);
    if ((parts >> 6 & 1) != 0)
        add_bias(state, pool, s, masked, &m);
    return m;
}

/* Case n of a sweep: no mask, then each part alone, then any combination. */
static inline uint32_t parts_of_case(uint32_t *state, size_t n)
{
    size_t which = n % (3 * (MASK_PARTS + 1));
    if (which == 0)
        return 0;
    if (which <= MASK_PARTS)
        return 1u << (which - 1);
    return random_u32(state) & random_u32(state) & ((1u << MASK_PARTS) - 1);
}

#endif
