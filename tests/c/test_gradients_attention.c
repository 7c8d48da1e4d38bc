/* The gradient of attention against central differences of a float64 reference, for every part of a
 * mask alone and in combination, shared key heads, scales, dropout and rows that see nothing:
 * relative error at most 1e-5, norm-wise. */
#include "multihead_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/numeric_gradient.h"
#include "support/pool.h"
#include "support/random_case.h"
#include "support/reference.h"
#include "support/train_reference.h"
#include "train/attention_gradient.h"

/* Inputs are [B, rows, heads, width]: heads beside each other, as projections leave them. */
struct gradient_case {
    struct mh_attention attention;
    struct pool pool;
    size_t q_count, k_count, v_count, out_count;
    double *q, *k, *v, *c, *out;
};

static double attention_loss(const void *context)
{
    const struct gradient_case *t = context;
    const struct mh_attention *a = &t->attention;
    ref_attention(a, t->out, t->q, a->heads * a->head_dim, t->k, a->kv_heads * a->head_dim, t->v,
                  a->kv_heads * a->value_dim);
    double sum = 0.0;
    for (size_t i = 0; i < t->out_count; i++)
        sum += t->c[i] * t->out[i];
    return sum;
}

static float *random_numbers(uint32_t *state, struct pool *pool, size_t n)
{
    float *x = pool_floats(pool, n);
    random_fill(state, x, n, -1.0F, 1.0F);
    return x;
}

static struct mh_rows_out beside(float *data, size_t rows, size_t heads, size_t width)
{
    return (struct mh_rows_out){data, rows * heads * width, width, heads * width};
}

static struct mh_rows read_of(struct mh_rows_out rows)
{
    return (struct mh_rows){rows.data, rows.batch_stride, rows.head_stride, rows.row_stride};
}

static void choose_sizes(uint32_t *state, struct mh_attention *a)
{
    a->batch = random_size(state, 1, 2);
    a->kv_heads = random_size(state, 1, 2);
    a->heads = a->kv_heads * random_size(state, 1, 3);
    a->queries = random_size(state, 1, 7);
    a->keys = random_size(state, 1, 7);
    a->head_dim = random_size(state, 1, 6);
    a->value_dim = random_size(state, 1, 6);
}

static void make_case(struct gradient_case *t, uint32_t *state, size_t n)
{
    struct mh_attention *a = &t->attention;
    choose_sizes(state, a);
    t->q_count = a->batch * a->queries * a->heads * a->head_dim;
    t->k_count = a->batch * a->keys * a->kv_heads * a->head_dim;
    t->v_count = a->batch * a->keys * a->kv_heads * a->value_dim;
    t->out_count = a->batch * a->queries * a->heads * a->value_dim;
    float *q = random_numbers(state, &t->pool, t->q_count);
    float *k = random_numbers(state, &t->pool, t->k_count);
    float *v = random_numbers(state, &t->pool, t->v_count);
    a->query = read_of(beside(q, a->queries, a->heads, a->head_dim));
    a->key = read_of(beside(k, a->keys, a->kv_heads, a->head_dim));
    a->value = read_of(beside(v, a->keys, a->kv_heads, a->value_dim));
    a->output = beside(pool_floats(&t->pool, t->out_count), a->queries, a->heads, a->value_dim);
    a->scores = pool_floats(&t->pool, a->batch * a->heads * a->queries * a->keys);
    a->scale_mode = random_int(state, MH_SCALE_DEFAULT, MH_SCALE_NONE);
    a->scale = random_between(state, -1.5F, 1.5F);
    a->dropout = one_in(state, 3) ? random_between(state, 0.1F, 0.7F) : 0.0F;
    a->dropout_seed = random_u32(state);
    struct sizes sizes = {a->batch, a->heads, a->queries, a->keys};
    a->mask = random_mask(state, &t->pool, &sizes, parts_of_case(state, n));
    t->q = as_doubles(q, t->q_count);
    t->k = as_doubles(k, t->k_count);
    t->v = as_doubles(v, t->v_count);
    t->c = as_doubles(random_numbers(state, &t->pool, t->out_count), t->out_count);
    t->out = as_doubles(a->output.data, t->out_count);
}

static void free_case(struct gradient_case *t)
{
    free(t->q);
    free(t->k);
    free(t->v);
    free(t->c);
    free(t->out);
    pool_free(&t->pool);
}

static struct mh_report run_forward(struct gradient_case *t)
{
    struct mh_error error;
    struct mh_report report;
    size_t bytes = 0;
    if (mh_attention_workspace(&t->attention, &bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
    void *workspace = pool_take(&t->pool, bytes, 1);
    if (mh_attention_forward(&t->attention, workspace, bytes, &report, &error) != MH_OK)
        fail_msg("%s", error.message);
    return report;
}

/* A query that sees no key has a gradient of exactly zero. */
static void check_masked_rows(const struct mh_attention *a, const float *dq)
{
    for (size_t b = 0; b < a->batch; b++)
        for (size_t i = 0; i < a->queries; i++)
            for (size_t h = 0; h < a->heads; h++) {
                bool sees = false;
                for (size_t j = 0; j < a->keys; j++)
                    sees = sees || reference_shows(&a->mask, a->keys, b, h, i, j);
                const float *row = dq + ((b * a->queries + i) * a->heads + h) * a->head_dim;
                for (size_t d = 0; d < a->head_dim && !sees; d++)
                    assert_true(row[d] == 0.0F);
            }
}

static void check_backward(struct gradient_case *t)
{
    const struct mh_attention *a = &t->attention;
    float *dout = pool_floats(&t->pool, t->out_count);
    for (size_t i = 0; i < t->out_count; i++)
        dout[i] = (float)t->c[i];
    struct mh_attention_gradient gradient = {
        .attention = a,
        .output = read_of(beside(dout, a->queries, a->heads, a->value_dim)),
        .query = beside(pool_floats(&t->pool, t->q_count), a->queries, a->heads, a->head_dim),
        .key = beside(pool_floats(&t->pool, t->k_count), a->keys, a->kv_heads, a->head_dim),
        .value = beside(pool_floats(&t->pool, t->v_count), a->keys, a->kv_heads, a->value_dim),
    };
    size_t floats = mh_attention_backward_scratch(a);
    float *scratch = pool_floats(&t->pool, floats);
    memset(scratch, 0xff, floats * sizeof *scratch); /* NaN: nothing is read before it is written */
    mh_attention_backward(&gradient, scratch);
    check_by_differences("query", gradient.query.data, t->q, t->q_count, attention_loss, t);
    check_by_differences("key", gradient.key.data, t->k, t->k_count, attention_loss, t);
    check_by_differences("value", gradient.value.data, t->v, t->v_count, attention_loss, t);
    check_masked_rows(a, gradient.query.data);
}

static void test_attention(void **unused)
{
    (void)unused;
    enum { CASES = 400 };
    uint32_t state = 21;
    size_t masked_rows = 0;
    for (size_t n = 0; n < CASES; n++) {
        struct gradient_case t = {0};
        make_case(&t, &state, n);
        masked_rows += run_forward(&t).masked_rows;
        attention_loss(&t);
        check_gradient("(forward) attention", t.attention.output.data, t.out, t.out_count);
        check_backward(&t);
        free_case(&t);
    }
    assert_true(masked_rows > CASES); /* the sweep does meet them */
    printf("# %d cases, %zu rows that see no key\n", CASES, masked_rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# largest relative error of a gradient %.2e\n", worst_gradient_error);
    return failed;
}
