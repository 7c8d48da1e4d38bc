/* Random cases of scaled dot-product attention, and how to run one. Include after <cmocka.h>. */
#ifndef MH_TEST_ATTENTION_CASE_H
#define MH_TEST_ATTENTION_CASE_H

#include "multihead.h"
#include "support/random_case.h"
#include "support/reference.h"

#include <string.h>

struct attention_case {
    struct mh_attention attention;
    struct pool pool;
    size_t output_size; /* floats of the output buffer, gaps included */
};

/* ===== Guarded output ======================================================================= */

#define GUARD_BITS 0x7fc0beefu /* a NaN that nobody computes */

static inline void fill_with_guards(float *x, size_t n)
{
    const uint32_t bits = GUARD_BITS;
    for (size_t i = 0; i < n; i++)
        memcpy(x + i, &bits, sizeof bits);
}

static inline float *output_row(const struct mh_attention *a, size_t b, size_t h, size_t i)
{
    return a->output.data + b * a->output.batch_stride + h * a->output.head_stride +
           i * a->output.row_stride;
}

/* What lies between the rows of the output still holds the guards. */
static inline void assert_gaps_untouched(const struct attention_case *c)
{
    const struct mh_attention *a = &c->attention;
    bool *written = calloc(c->output_size, sizeof *written);
    assert_non_null(written);
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t i = 0; i < a->queries; i++)
                for (size_t d = 0; d < a->value_dim; d++)
                    written[output_row(a, b, h, i) + d - a->output.data] = true;
    for (size_t e = 0; e < c->output_size; e++) {
        uint32_t bits;
        memcpy(&bits, a->output.data + e, sizeof bits);
        if (!written[e] && bits != GUARD_BITS)
            fail_msg("element %zu of the output's gaps was written", e);
    }
    free(written);
}

/* ===== Making =============================================================================== */

/* A strictly ascending list of about half of 0 .. limit - 1. */
static inline int32_t *random_list(uint32_t *state, struct pool *pool, size_t limit, size_t *count)
{
    int32_t *list = pool_take(pool, limit, sizeof *list);
    *count = 0;
    for (size_t i = 0; i < limit; i++)
        if (one_in(state, 2))
            list[(*count)++] = (int32_t)i;
    return list;
}

static inline void choose_weights(uint32_t *state, struct pool *pool, struct mh_attention *a)
{
    struct mh_weights_out *w = &a->weights;
    size_t heads = a->heads, rows = a->queries;
    w->mode = random_int(state, MH_WEIGHTS_NONE, MH_WEIGHTS_ROWS);
    if (w->mode == MH_WEIGHTS_ROWS && one_in(state, 2)) {
        w->heads = random_list(state, pool, a->heads, &w->head_count);
        heads = w->head_count;
    }
    if (w->mode == MH_WEIGHTS_ROWS && one_in(state, 2)) {
        w->rows = random_list(state, pool, a->queries, &w->row_count);
        rows = w->row_count;
    }
    if (w->mode == MH_WEIGHTS_MEAN)
        heads = 1;
    if (w->mode != MH_WEIGHTS_NONE)
        w->data = pool_floats(pool, a->batch * heads * rows * a->keys);
}

/* Returns the floats of a map of scores. */
static inline size_t choose_scores(uint32_t *state, struct pool *pool, struct mh_attention *a)
{
    struct mh_choice *c = &a->chosen_scores;
    if (one_in(state, 2))
        c->heads = random_list(state, pool, a->heads, &c->head_count);
    if (one_in(state, 2))
        c->rows = random_list(state, pool, a->queries, &c->row_count);
    size_t heads = c->heads != NULL ? c->head_count : a->heads;
    size_t rows = c->rows != NULL ? c->row_count : a->queries;
    return a->batch * heads * rows * a->keys;
}

static inline void choose_scale(uint32_t *state, struct mh_attention *a)
{
    a->scale_mode = random_int(state, MH_SCALE_DEFAULT, MH_SCALE_NONE);
    a->scale = random_between(state, -1.5f, 1.5f);
}

static inline void choose_output(uint32_t *state, struct attention_case *c)
{
    struct mh_attention *a = &c->attention;
    const size_t counts[3] = {a->batch, a->heads, a->queries};
    size_t strides[3];
    c->output_size = random_layout(state, counts, a->value_dim, strides);
    float *data = pool_floats(&c->pool, c->output_size);
    fill_with_guards(data, c->output_size);
    a->output = (struct mh_rows_out){data, strides[0], strides[1], strides[2]};
}

/* Case n of a sweep; T and S are 1 .. longest. */
static inline struct attention_case make_attention_case(uint32_t *state, size_t n, size_t longest)
{
    struct attention_case c = {0};
    struct mh_attention *a = &c.attention;
    a->batch = random_size(state, 1, 3);
    a->kv_heads = random_size(state, 1, 3);
    a->heads = a->kv_heads * random_size(state, 1, 3);
    a->queries = random_size(state, 1, longest);
    a->keys = random_size(state, 1, longest);
    a->head_dim = one_in(state, 5) ? 16 * random_size(state, 1, 4) : random_size(state, 1, 14);
    a->value_dim = one_in(state, 5) ? 16 * random_size(state, 1, 4) : random_size(state, 1, 14);
    a->query = random_rows(state, &c.pool, a->batch, a->heads, a->queries, a->head_dim);
    a->key = random_rows(state, &c.pool, a->batch, a->kv_heads, a->keys, a->head_dim);
    a->value = random_rows(state, &c.pool, a->batch, a->kv_heads, a->keys, a->value_dim);
    if (one_in(state, 10)) /* one query for all the batch */
        a->query.batch_stride = 0;
    choose_output(state, &c);
    choose_weights(state, &c.pool, a);
    choose_scale(state, a);

    size_t scores = choose_scores(state, &c.pool, a);
    if (one_in(state, 3))
        a->raw_scores = pool_floats(&c.pool, scores);
    if (one_in(state, 3))
        a->scores = pool_floats(&c.pool, scores);
    if (one_in(state, 4)) {
        a->dropout = random_between(state, 0.05f, 0.9f);
        a->dropout_seed = random_u32(state);
    }
    a->check_finite = one_in(state, 2);
    struct sizes sizes = {a->batch, a->heads, a->queries, a->keys};
    a->mask = random_mask(state, &c.pool, &sizes, parts_of_case(state, n));
    return c;
}

static inline void free_attention_case(struct attention_case *c)
{
    pool_free(&c->pool);
}

/* ===== Running ============================================================================== */

/* Runs in a workspace of exactly the planned size, at an odd address. */
static inline struct mh_report run_attention(const struct mh_attention *a)
{
    struct mh_error error = {0};
    size_t bytes;
    if (mh_attention_workspace(a, &bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
    unsigned char *workspace = malloc(bytes + 1);
    assert_non_null(workspace);
    memset(workspace, 0xff, bytes + 1); /* NaN: nothing may be read before it is written */
    struct mh_report report;
    if (mh_attention_forward(a, workspace + 1, bytes, &report, &error) != MH_OK)
        fail_msg("%s", error.message);
    free(workspace);
    return report;
}

#endif
