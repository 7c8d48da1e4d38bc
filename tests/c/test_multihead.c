/* Multi-head attention: agreement with the float64 reference over random configurations, and what
 * holds beyond that. What must be refused is in test_multihead_errors.c. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/ablation.h"
#include "support/attention_case.h"
#include "support/compare.h"

enum { CASES = 1000 };

static const double tolerance = 1e-5;
static double worst_output, worst_weights;

/* ===== Random modules ======================================================================= */

/* [out, in] with torch's or GPT-2's strides; unit-scale outputs for unit-scale inputs. */
static struct mh_linear_weights random_linear(uint32_t *random, struct pool *pool, size_t out,
                                              size_t in)
{
    struct mh_linear_weights w = {.out_stride = in, .in_stride = 1};
    if (one_in(random, 2))
        w = (struct mh_linear_weights){.out_stride = 1, .in_stride = out};
    float *data = pool_floats(pool, out * in);
    float limit = 1.5f / sqrtf((float)in);
    random_fill(random, data, out * in, -limit, limit);
    w.data = data;
    if (one_in(random, 2)) {
        float *bias = pool_floats(pool, out);
        random_fill(random, bias, out, -0.5f, 0.5f);
        w.bias = bias;
    }
    return w;
}

static struct mh_multihead_config random_config(uint32_t *random, struct pool *pool)
{
    struct mh_multihead_config c = {.kv_heads = random_size(random, 1, 3)};
    c.heads = c.kv_heads * random_size(random, 1, 3);
    size_t head_dim = random_size(random, 1, 9);
    c.embed_dim = c.heads * head_dim;
    if (one_in(random, 3))
        c.key_dim = random_size(random, 1, 30);
    if (one_in(random, 3))
        c.value_dim = random_size(random, 1, 30);
    size_t key_dim = c.key_dim != 0 ? c.key_dim : c.embed_dim;
    size_t value_dim = c.value_dim != 0 ? c.value_dim : c.embed_dim;
    c.query = random_linear(random, pool, c.embed_dim, c.embed_dim);
    c.key = random_linear(random, pool, c.kv_heads * head_dim, key_dim);
    c.value = random_linear(random, pool, c.kv_heads * head_dim, value_dim);
    if (!one_in(random, 5))
        c.out = random_linear(random, pool, c.embed_dim, c.embed_dim);
    if (one_in(random, 3)) {
        float *extra = pool_floats(pool, 2 * c.kv_heads * head_dim);
        random_fill(random, extra, 2 * c.kv_heads * head_dim, -1.0f, 1.0f);
        c.bias_key = extra;
        c.bias_value = extra + c.kv_heads * head_dim;
    }
    c.add_zero_attention = one_in(random, 3);
    return c;
}

/* ===== Random passes ======================================================================== */

struct pass_case {
    struct mh_multihead_config config;
    struct mh_multihead_pass pass;
    struct mh_ablation ablations[3];
    size_t ablation_count;
    size_t output_size, extra;
    struct pool pool;
};

static void choose_inputs(uint32_t *random, struct pass_case *c)
{
    const struct mh_multihead_config *m = &c->config;
    struct mh_multihead_pass *p = &c->pass;
    size_t key_dim = m->key_dim != 0 ? m->key_dim : m->embed_dim;
    size_t value_dim = m->value_dim != 0 ? m->value_dim : m->embed_dim;
    struct mh_rows query = random_rows(random, &c->pool, p->batch, 1, p->queries, m->embed_dim);
    struct mh_rows key = random_rows(random, &c->pool, p->batch, 1, p->keys, key_dim);
    struct mh_rows value = random_rows(random, &c->pool, p->batch, 1, p->keys, value_dim);
    if (key_dim == m->embed_dim && p->queries == p->keys && !one_in(random, 3))
        key = query;
    if (value_dim == key_dim && !one_in(random, 3))
        value = key;
    p->query = query.data;
    p->key = key.data;
    p->value = value.data;
    p->query_batch_stride = query.batch_stride;
    p->query_row_stride = query.row_stride;
    p->key_batch_stride = key.batch_stride;
    p->key_row_stride = key.row_stride;
    p->value_batch_stride = value.batch_stride;
    p->value_row_stride = value.row_stride;
}

static void choose_outputs(uint32_t *random, struct pass_case *c)
{
    struct mh_multihead_pass *p = &c->pass;
    const size_t counts[3] = {p->batch, 1, p->queries};
    size_t strides[3];
    c->output_size = random_layout(random, counts, c->config.embed_dim, strides);
    p->output = pool_floats(&c->pool, c->output_size);
    fill_with_guards(p->output, c->output_size);
    p->output_batch_stride = strides[0];
    p->output_row_stride = strides[2];
    size_t map = p->batch * c->config.heads * p->queries * (p->keys + c->extra);
    if (one_in(random, 2))
        p->weights =
            (struct mh_weights_out){.mode = MH_WEIGHTS_ALL, .data = pool_floats(&c->pool, map)};
    if (one_in(random, 3))
        p->scores = pool_floats(&c->pool, map);
    if (one_in(random, 3))
        p->raw_scores = pool_floats(&c->pool, map);
}

static struct pass_case make_case(uint32_t *random, size_t n)
{
    struct pass_case c = {0};
    struct mh_multihead_pass *p = &c.pass;
    c.config = random_config(random, &c.pool);
    c.extra = (c.config.bias_key != NULL) + (size_t)c.config.add_zero_attention;
    p->batch = random_size(random, 1, 3);
    p->queries = random_size(random, 1, 9);
    p->keys = one_in(random, 2) ? p->queries : random_size(random, 1, 9);
    choose_inputs(random, &c);
    choose_outputs(random, &c);
    struct sizes sizes = {p->batch, c.config.heads, p->queries, p->keys};
    p->mask = random_mask(random, &c.pool, &sizes, parts_of_case(random, n));
    p->scale_mode = random_int(random, MH_SCALE_DEFAULT, MH_SCALE_NONE);
    p->scale = random_between(random, -1.0f, 1.0f);
    if (one_in(random, 4)) {
        p->dropout = random_between(random, 0.05f, 0.9f);
        p->dropout_seed = random_u32(random);
    }
    p->check_finite = one_in(random, 2);
    return c;
}

static void choose_ablations(uint32_t *random, struct pass_case *c)
{
    c->ablation_count = random_size(random, 1, 3);
    for (size_t i = 0; i < c->ablation_count; i++)
        c->ablations[i] = (struct mh_ablation){
            .layer = 5,
            .head = random_int(random, 0, (int32_t)c->config.heads - 1),
            .kind = random_int(random, MH_ABLATE_ZERO, MH_ABLATE_UNIFORM),
        };
}

/* ===== Running ============================================================================== */

static struct mh_report run_pass(const struct mh_multihead_config *config,
                                 const struct mh_multihead_pass *pass,
                                 const struct mh_ablations *ablations)
{
    struct mh_error error = {0};
    mh_multihead *m;
    size_t bytes = 0;
    struct mh_report report;
    if (mh_multihead_create(&m, config, &error) != MH_OK ||
        mh_multihead_workspace(m, pass, &bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
    unsigned char *workspace = malloc(bytes + 3);
    assert_non_null(workspace);
    memset(workspace, 0xff, bytes + 3);
    if (mh_multihead_forward_ablated(m, pass, ablations, NULL, workspace + 3, bytes, &report,
                                     &error) != MH_OK)
        fail_msg("%s", error.message);
    free(workspace);
    mh_multihead_free(m);
    return report;
}

static void compare(const float *actual, const double *expected, size_t n, const char *what,
                    double *largest)
{
    for (size_t i = 0; i < n; i++) {
        check_close((double)actual[i], expected[i], tolerance, i, what, __FILE__, __LINE__);
        if (isfinite(expected[i]))
            *largest = fmax(*largest, fabs((double)actual[i] - expected[i]));
    }
}

static void assert_output_gaps_untouched(const struct pass_case *c)
{
    const struct mh_multihead_pass *p = &c->pass;
    size_t guards = 0;
    for (size_t e = 0; e < c->output_size; e++) {
        uint32_t bits;
        memcpy(&bits, p->output + e, sizeof bits);
        guards += bits == GUARD_BITS;
    }
    assert_int_equal(guards, c->output_size - p->batch * p->queries * c->config.embed_dim);
}

static void check_case(const struct pass_case *c)
{
    const struct mh_multihead_pass *p = &c->pass;
    struct mh_ablations ablations = {c->ablations, c->ablation_count, 5};
    struct reference r = reference_multihead(&c->config, p, c->ablations, c->ablation_count);
    struct mh_report report = run_pass(&c->config, p, &ablations);

    assert_int_equal(report.masked_rows, r.masked_rows);
    size_t width = c->config.embed_dim;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t t = 0; t < p->queries; t++)
            compare(p->output + b * p->output_batch_stride + t * p->output_row_stride,
                    r.output + (b * p->queries + t) * width, width, "output", &worst_output);
    assert_output_gaps_untouched(c);
    size_t map = p->batch * c->config.heads * p->queries * (p->keys + c->extra);
    if (p->weights.mode == MH_WEIGHTS_ALL)
        compare(p->weights.data, r.dropped, map, "weights", &worst_weights);
    if (p->scores != NULL)
        compare(p->scores, r.scores, map, "scores", &worst_weights);
    if (p->raw_scores != NULL)
        compare(p->raw_scores, r.raw_scores, map, "raw scores", &worst_weights);
    reference_free(&r);
}

static void random_passes_agree_with_the_reference(void **state)
{
    (void)state;
    uint32_t random = 31;
    for (size_t n = 0; n < CASES; n++) {
        struct pass_case c = make_case(&random, n);
        check_case(&c);
        pool_free(&c.pool);
    }
    print_message("%d cases: output off by at most %.2g, weights and scores %.2g\n", CASES,
                  worst_output, worst_weights);
}

static void ablated_passes_agree_with_the_reference(void **state)
{
    (void)state;
    uint32_t random = 32;
    for (size_t n = 0; n < CASES / 2; n++) {
        struct pass_case c = make_case(&random, n);
        choose_ablations(&random, &c);
        check_case(&c);
        pool_free(&c.pool);
    }
}

/* ===== Same bits ============================================================================ */

static void assert_same_outputs(const struct mh_multihead_pass *a,
                                const struct mh_multihead_pass *b, size_t width)
{
    for (size_t n = 0; n < a->batch; n++)
        for (size_t t = 0; t < a->queries; t++)
            assert_memory_equal(a->output + n * a->output_batch_stride + t * a->output_row_stride,
                                b->output + n * b->output_batch_stride + t * b->output_row_stride,
                                width * sizeof(float));
}

/* A self-attention pass, batch-first, B 2, T 5. */
static struct pass_case make_self_case(uint32_t *random)
{
    struct pass_case c = {0};
    c.config = random_config(random, &c.pool);
    size_t width = c.config.embed_dim;
    c.config.key_dim = c.config.value_dim = 0;
    size_t key_width = c.config.kv_heads * (width / c.config.heads);
    c.config.key = random_linear(random, &c.pool, key_width, width);
    c.config.value = random_linear(random, &c.pool, key_width, width);
    float *x = pool_floats(&c.pool, 2 * 5 * width);
    random_fill(random, x, 2 * 5 * width, -1.0f, 1.0f);
    c.pass = (struct mh_multihead_pass){
        .batch = 2,
        .queries = 5,
        .keys = 5,
        .query = x,
        .key = x,
        .value = x,
        .query_batch_stride = 5 * width,
        .query_row_stride = width,
        .key_batch_stride = 5 * width,
        .key_row_stride = width,
        .value_batch_stride = 5 * width,
        .value_row_stride = width,
        .output = pool_floats(&c.pool, 2 * 5 * width),
        .output_batch_stride = 5 * width,
        .output_row_stride = width,
        .mask = {.causal = 1},
    };
    return c;
}

static float *copy_of(const float *x, size_t n, struct pool *pool)
{
    return memcpy(pool_floats(pool, n), x, n * sizeof *x);
}

/* The same numbers at other addresses: three products instead of one. */
static void one_product_equals_three(void **state)
{
    (void)state;
    uint32_t random = 33;
    for (size_t n = 0; n < 200; n++) {
        struct pass_case c = make_self_case(&random);
        size_t size = 2 * 5 * c.config.embed_dim;
        run_pass(&c.config, &c.pass, NULL);
        struct mh_multihead_pass other = c.pass;
        other.output = pool_floats(&c.pool, size);
        other.key = copy_of(c.pass.key, size, &c.pool);
        other.value = n % 2 == 0 ? copy_of(c.pass.value, size, &c.pool) : other.key;
        run_pass(&c.config, &other, NULL);
        assert_same_outputs(&c.pass, &other, c.config.embed_dim);
        pool_free(&c.pool);
    }
}

static void sequence_first_equals_batch_first(void **state)
{
    (void)state;
    uint32_t random = 34;
    for (size_t n = 0; n < 200; n++) {
        struct pass_case c = make_self_case(&random);
        size_t width = c.config.embed_dim;
        run_pass(&c.config, &c.pass, NULL);
        struct mh_multihead_pass other = c.pass; /* (t, b, e) */
        float *x = pool_floats(&c.pool, 2 * 5 * width);
        for (size_t b = 0; b < 2; b++)
            for (size_t t = 0; t < 5; t++)
                memcpy(x + (t * 2 + b) * width, c.pass.query + (b * 5 + t) * width,
                       width * sizeof *x);
        other.query = other.key = other.value = x;
        other.query_batch_stride = other.key_batch_stride = other.value_batch_stride = width;
        other.query_row_stride = other.key_row_stride = other.value_row_stride = 2 * width;
        other.output = pool_floats(&c.pool, 2 * 5 * width);
        other.output_batch_stride = width;
        other.output_row_stride = 2 * width;
        run_pass(&c.config, &other, NULL);
        assert_same_outputs(&c.pass, &other, width);
        pool_free(&c.pool);
    }
}

/* Query, key and value start at one address, but differ in stride, in number of rows or in width:
 * they are not the same input. */
static void one_address_is_not_always_one_input(void **state)
{
    (void)state;
    uint32_t random = 37;
    for (size_t n = 0; n < 120; n++) {
        struct pass_case c = make_self_case(&random);
        size_t width = c.config.embed_dim;
        float *x = pool_floats(&c.pool, 2 * 10 * width);
        random_fill(&random, x, 2 * 10 * width, -1.0f, 1.0f);
        struct mh_multihead_pass *p = &c.pass;
        p->query = p->key = p->value = x;
        p->query_batch_stride = p->key_batch_stride = p->value_batch_stride = 10 * width;
        if (n % 4 < 2) /* every other row */
            p->value_row_stride = 2 * width;
        if (n % 4 == 1)
            p->key_row_stride = 2 * width;
        if (n % 4 == 2)
            p->keys = 7;
        if (n % 4 == 3) {
            c.config.key_dim = (width + 1) / 2;
            size_t key_width = c.config.kv_heads * (width / c.config.heads);
            c.config.key = random_linear(&random, &c.pool, key_width, c.config.key_dim);
        }
        c.extra = (c.config.bias_key != NULL) + (size_t)c.config.add_zero_attention;
        c.output_size = 2 * 5 * width;
        check_case(&c);
        pool_free(&c.pool);
    }
}

/* Wq, Wk and Wv as three parts of one [3E, E] block, as torch and GPT-2 store them. */
static void packed_weights_equal_separate_ones(void **state)
{
    (void)state;
    uint32_t random = 35;
    for (size_t n = 0; n < 100; n++) {
        struct pass_case c = make_self_case(&random);
        size_t width = c.config.embed_dim;
        size_t key_width = c.config.kv_heads * (width / c.config.heads);
        size_t all = width + 2 * key_width;
        run_pass(&c.config, &c.pass, NULL);

        bool by_rows = n % 2 == 0; /* else GPT-2's [E, 3E] */
        float *block = pool_floats(&c.pool, all * width);
        struct mh_multihead_config packed = c.config;
        struct mh_linear_weights *parts[] = {&packed.query, &packed.key, &packed.value};
        const size_t widths[] = {width, key_width, key_width};
        size_t first = 0;
        for (size_t part = 0; part < 3; first += widths[part], part++) {
            struct mh_linear_weights from = *parts[part];
            parts[part]->out_stride = by_rows ? width : 1;
            parts[part]->in_stride = by_rows ? 1 : all;
            float *to = block + first * parts[part]->out_stride;
            parts[part]->data = to;
            for (size_t o = 0; o < widths[part]; o++)
                for (size_t i = 0; i < width; i++)
                    to[o * parts[part]->out_stride + i * parts[part]->in_stride] =
                        from.data[o * from.out_stride + i * from.in_stride];
        }
        struct mh_multihead_pass other = c.pass;
        other.output = pool_floats(&c.pool, 2 * 5 * width);
        run_pass(&packed, &other, NULL);
        assert_same_outputs(&c.pass, &other, width);
        pool_free(&c.pool);
    }
}

/* The handle keeps none of the caller's pointers. */
static void weights_may_go_after_create(void **state)
{
    (void)state;
    uint32_t random = 36;
    struct pass_case c = make_self_case(&random);
    size_t bytes, width = c.config.embed_dim;
    run_pass(&c.config, &c.pass, NULL);
    float *expected = copy_of(c.pass.output, 10 * width, &c.pool);

    mh_multihead *m;
    assert_int_equal(mh_multihead_create(&m, &c.config, NULL), MH_OK);
    memset(&c.config, 0, sizeof c.config);
    for (size_t i = 0; i < c.pool.count; i++) /* all that lives in the pool but for the pass */
        if (c.pool.blocks[i] != c.pass.query && c.pool.blocks[i] != c.pass.output &&
            c.pool.blocks[i] != (void *)expected) {
            free(c.pool.blocks[i]);
            c.pool.blocks[i] = NULL;
        }
    assert_int_equal(mh_multihead_workspace(m, &c.pass, &bytes, NULL), MH_OK);
    void *workspace = malloc(bytes);
    assert_int_equal(mh_multihead_forward(m, &c.pass, workspace, bytes, NULL, NULL), MH_OK);
    assert_memory_equal(c.pass.output, expected, 10 * width * sizeof(float));
    free(workspace);
    mh_multihead_free(m);
    mh_multihead_free(NULL);
    pool_free(&c.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_passes_agree_with_the_reference),
        cmocka_unit_test(ablated_passes_agree_with_the_reference),
        cmocka_unit_test(one_product_equals_three),
        cmocka_unit_test(sequence_first_equals_batch_first),
        cmocka_unit_test(one_address_is_not_always_one_input),
        cmocka_unit_test(packed_weights_equal_separate_ones),
        cmocka_unit_test(weights_may_go_after_create),
    };
    return cmocka_run_group_tests_name("multihead", tests, NULL, NULL);
}
