/* The gradient of one multi-head attention module: against PyTorch's autograd for the recorded cases
 * (tests/golden/attention/gradients.safetensors), and against central differences of a float64
 * reference where PyTorch has no say: shared key heads, scales, dropout, rows that see nothing,
 * weights stored [in, out]. Relative error at most 1e-5, norm-wise, tensor by tensor. */
#include "multihead_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/safetensors.h"
#include "support/compare.h"
#include "support/golden_module.h"
#include "support/numeric_gradient.h"
#include "support/pool.h"
#include "support/random_case.h"
#include "support/train_reference.h"

static float *zeros(struct pool *pool, size_t n)
{
    float *x = pool_floats(pool, n);
    memset(x, 0, n * sizeof *x);
    return x;
}

static void differentiate(const struct mh_multihead_config *config,
                          const struct mh_multihead_pass *pass,
                          const struct mh_multihead_gradient *gradient, struct pool *pool)
{
    struct mh_error error;
    size_t bytes;
    if (mh_multihead_backward_workspace(config, pass, &bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
    void *workspace = pool_take(pool, bytes, 1);
    memset(workspace, 0xff, bytes); /* NaN: nothing is read before it is written */
    if (mh_multihead_backward(config, pass, gradient, workspace, bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
}

/* ===== PyTorch ============================================================================== */

static struct mh_safetensors recorded;

/* The recorded gradient of a case, from front to back. */
struct reader {
    const char *name;
    const unsigned char *at, *end;
};

static void check_next(struct reader *reader, const char *what, const float *actual, size_t count)
{
    char full[64];
    double *expected = malloc((count > 0 ? count : 1) * sizeof *expected);
    assert_non_null(expected);
    assert_true((size_t)(reader->end - reader->at) >= count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, reader->at + i * sizeof x, sizeof x);
        expected[i] = (double)x;
    }
    reader->at += count * sizeof(float);
    snprintf(full, sizeof full, "%s, %s", reader->name, what);
    check_gradient(full, actual, expected, count);
    free(expected);
}

/* Gradients of a case in the order they are stored: by query, unless it is all three key and value,
 * then parameters as PyTorch names and sorts them. */
struct wanted {
    struct mh_multihead_gradient gradient;
    size_t query, key, value, key_weight, value_weight;
    float *in_weight, *in_bias;
};

static struct wanted want_all(struct golden_case *golden, const struct golden_module *module,
                              struct pool *pool)
{
    const struct mh_multihead_config *c = &module->config;
    const struct mh_multihead_pass *pass = &module->pass;
    bool self = golden_number(golden, "self") != 0, biased = golden_number(golden, "bias") != 0;
    size_t e = c->embed_dim, of_query = pass->batch * pass->queries * e;
    struct wanted w = {.query = of_query,
                       .key = pass->batch * pass->keys * c->key_dim,
                       .value = pass->batch * pass->keys * c->value_dim,
                       .key_weight = e * c->key_dim,
                       .value_weight = e * c->value_dim};
    w.in_weight = zeros(pool, e * e + w.key_weight + w.value_weight);
    w.in_bias = zeros(pool, 3 * e);
    struct mh_multihead_gradient *g = &w.gradient;
    g->output = golden_uniform(golden, "cotangent", of_query, 1.0F);
    g->query = zeros(pool, w.query);
    g->key = self ? g->query : zeros(pool, w.key);
    g->value = self ? g->query : zeros(pool, w.value);
    g->query_weight = w.in_weight;
    g->key_weight = w.in_weight + e * e;
    g->value_weight = g->key_weight + w.key_weight;
    g->out_weight = zeros(pool, e * e);
    if (biased) {
        g->query_bias = w.in_bias;
        g->key_bias = w.in_bias + e;
        g->value_bias = w.in_bias + 2 * e;
        g->out_bias = zeros(pool, e);
    }
    if (c->bias_key != NULL) {
        g->bias_key = zeros(pool, e);
        g->bias_value = zeros(pool, e);
    }
    return w;
}

static void check_inputs(struct reader *reader, const struct wanted *w, bool self)
{
    const struct mh_multihead_gradient *g = &w->gradient;
    check_next(reader, "query", g->query, w->query);
    if (self)
        return;
    check_next(reader, "key", g->key, w->key);
    check_next(reader, "value", g->value, w->value);
}

static void check_parameters(struct reader *reader, const struct wanted *w, size_t e)
{
    const struct mh_multihead_gradient *g = &w->gradient;
    bool packed = w->key_weight == e * e && w->value_weight == e * e;
    if (g->bias_key != NULL) {
        check_next(reader, "bias_k", g->bias_key, e);
        check_next(reader, "bias_v", g->bias_value, e);
    }
    if (g->query_bias != NULL)
        check_next(reader, "in_proj_bias", w->in_bias, 3 * e);
    if (packed)
        check_next(reader, "in_proj_weight", w->in_weight, 3 * e * e);
    else
        check_next(reader, "k_proj_weight", g->key_weight, w->key_weight);
    if (g->out_bias != NULL)
        check_next(reader, "out_proj.bias", g->out_bias, e);
    check_next(reader, "out_proj.weight", g->out_weight, e * e);
    if (!packed) {
        check_next(reader, "q_proj_weight", g->query_weight, e * e);
        check_next(reader, "v_proj_weight", g->value_weight, w->value_weight);
    }
}

static void check_case(struct golden_case *golden, const struct mh_safetensor *tensor)
{
    struct pool pool = {0};
    struct golden_module module = golden_module(golden);
    struct wanted w = want_all(golden, &module, &pool);
    differentiate(&module.config, &module.pass, &w.gradient, &pool);
    struct reader reader = {
        .name = golden->name,
        .at = recorded.data + tensor->begin,
    };
    reader.end = reader.at + mh_safetensor_elements(tensor) * sizeof(float);
    check_inputs(&reader, &w, golden_number(golden, "self") != 0);
    check_parameters(&reader, &w, module.config.embed_dim);
    assert_ptr_equal(reader.at, reader.end);
    pool_free(&pool);
    golden_release(golden);
}

static void test_recorded(void **unused)
{
    (void)unused;
    struct golden_record record;
    struct mh_error error;
    size_t bytes, count = 0;
    char *file = golden_read_file("tests/golden/attention/gradients.safetensors", &bytes);
    assert_non_null(file);
    assert_int_equal(mh_safetensors_open(&recorded, file, bytes, &error), MH_OK);
    assert_true(golden_open(&record));
    for (size_t i = 0; i < record.count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/gradient", record.cases[i].name);
        const struct mh_safetensor *tensor = mh_safetensors_find(&recorded, name);
        if (tensor == NULL)
            continue;
        check_case(&record.cases[i], tensor);
        count++;
    }
    assert_true(count > 40);
    print_message("# %zu recorded cases\n", count);
    golden_close(&record);
    mh_safetensors_close(&recorded);
    free(file);
}

/* ===== Differences ========================================================================== */

/* All that a module reads, in float64 and in one array for each: query, key, value, then the
 * weights, [in, out], with their biases. */
enum part { QUERY, KEY, VALUE, WQ, WK, WV, WO, BQ, BK, BV, BO, EXTRA_KEY, EXTRA_VALUE, PARTS };

static const char *const PART_NAMES[PARTS] = {
    "query",        "key",        "value",      "query weight", "key weight",
    "value weight", "out weight", "query bias", "key bias",     "value bias",
    "out bias",     "bias_k",     "bias_v"};

struct module_case {
    struct mh_multihead_config config;
    struct mh_multihead_pass pass;
    struct pool pool;
    size_t counts[PARTS], out_count;
    float *floats[PARTS], *gradients[PARTS], *cotangent;
    double *doubles[PARTS];
};

static size_t key_width(const struct mh_multihead_config *c)
{
    return c->kv_heads * (c->embed_dim / c->heads);
}

/* [rows, out] with `extra` rows behind those of each batch element: a learned one, one of zeros. */
static double *project(const struct module_case *t, enum part input, enum part weight, size_t in,
                       size_t out, size_t rows, enum part learned)
{
    size_t extra = learned == PARTS ? 0 : 2;
    double *y = calloc(t->pass.batch * (rows + extra) * out, sizeof *y);
    assert_non_null(y);
    for (size_t b = 0; b < t->pass.batch; b++) {
        double *row = y + b * (rows + extra) * out;
        for (size_t r = 0; r < rows; r++, row += out)
            for (size_t o = 0; o < out; o++) {
                row[o] = t->doubles[BQ + (weight - WQ)][o];
                for (size_t i = 0; i < in; i++)
                    row[o] += t->doubles[input][(b * rows + r) * in + i] *
                              t->doubles[weight][i * out + o];
            }
        if (extra > 0)
            memcpy(row, t->doubles[learned], out * sizeof *row);
    }
    return y;
}

static double module_loss(const void *context)
{
    const struct module_case *t = context;
    const struct mh_multihead_config *c = &t->config;
    size_t e = c->embed_dim, width = key_width(c), keys = t->pass.keys;
    double *q = project(t, QUERY, WQ, e, e, t->pass.queries, PARTS);
    double *k = project(t, KEY, WK, c->key_dim, width, keys, EXTRA_KEY);
    double *v = project(t, VALUE, WV, c->value_dim, width, keys, EXTRA_VALUE);
    double *heads = malloc(t->out_count * sizeof *heads), sum = 0.0;
    assert_non_null(heads);
    struct mh_attention a = {.batch = t->pass.batch,
                             .queries = t->pass.queries,
                             .keys = keys + 2,
                             .heads = c->heads,
                             .kv_heads = c->kv_heads,
                             .head_dim = e / c->heads,
                             .value_dim = e / c->heads,
                             .scale_mode = t->pass.scale_mode,
                             .scale = t->pass.scale,
                             .mask = t->pass.mask,
                             .dropout = t->pass.dropout,
                             .dropout_seed = t->pass.dropout_seed};
    a.mask.free_keys += 2;
    ref_attention(&a, heads, q, e, k, width, v, width);
    for (size_t r = 0; r < t->pass.batch * t->pass.queries; r++)
        for (size_t o = 0; o < e; o++) {
            double y = t->doubles[BO][o];
            for (size_t i = 0; i < e; i++)
                y += heads[r * e + i] * t->doubles[WO][i * e + o];
            sum += (double)t->cotangent[r * e + o] * y;
        }
    free(q);
    free(k);
    free(v);
    free(heads);
    return sum;
}

static void choose_sizes(struct module_case *t, uint32_t *state)
{
    struct mh_multihead_config *c = &t->config;
    c->kv_heads = random_size(state, 1, 2);
    c->heads = c->kv_heads * random_size(state, 1, 2);
    c->embed_dim = c->heads * random_size(state, 2, 4);
    c->key_dim = random_size(state, 2, 5);
    c->value_dim = random_size(state, 2, 5);
    c->add_zero_attention = 1;
    t->pass.batch = random_size(state, 1, 2);
    t->pass.queries = random_size(state, 2, 5);
    t->pass.keys = random_size(state, 2, 5);
    size_t e = c->embed_dim, width = key_width(c), rows = t->pass.batch * t->pass.keys;
    const size_t counts[PARTS] = {t->pass.batch * t->pass.queries * e,
                                  rows * c->key_dim,
                                  rows * c->value_dim,
                                  e * e,
                                  c->key_dim * width,
                                  c->value_dim * width,
                                  e * e,
                                  e,
                                  width,
                                  width,
                                  e,
                                  width,
                                  width};
    memcpy(t->counts, counts, sizeof counts);
    t->out_count = counts[QUERY];
}

/* [in, out], as GPT-2's. */
static struct mh_linear_weights weights_of(const struct module_case *t, enum part weight,
                                           size_t out)
{
    return (struct mh_linear_weights){.data = t->floats[weight],
                                      .out_stride = 1,
                                      .in_stride = out,
                                      .bias = t->floats[BQ + (weight - WQ)]};
}

static void set_pass(struct module_case *t, uint32_t *state, size_t n)
{
    struct mh_multihead_pass *pass = &t->pass;
    struct mh_multihead_config *c = &t->config;
    pass->query = t->floats[QUERY];
    pass->key = t->floats[KEY];
    pass->value = t->floats[VALUE];
    pass->query_row_stride = pass->output_row_stride = c->embed_dim;
    pass->key_row_stride = c->key_dim;
    pass->value_row_stride = c->value_dim;
    pass->query_batch_stride = pass->output_batch_stride = pass->queries * c->embed_dim;
    pass->key_batch_stride = pass->keys * c->key_dim;
    pass->value_batch_stride = pass->keys * c->value_dim;
    pass->scale_mode = random_int(state, MH_SCALE_DEFAULT, MH_SCALE_NONE);
    pass->scale = random_between(state, -1.5F, 1.5F);
    pass->dropout = one_in(state, 3) ? random_between(state, 0.1F, 0.7F) : 0.0F;
    pass->dropout_seed = random_u32(state);
    struct sizes sizes = {pass->batch, c->heads, pass->queries, pass->keys};
    pass->mask = random_mask(state, &t->pool, &sizes, parts_of_case(state, n));
}

static void make_case(struct module_case *t, uint32_t *state, size_t n)
{
    choose_sizes(t, state);
    for (size_t part = 0; part < PARTS; part++) {
        size_t count = t->counts[part];
        t->floats[part] = pool_floats(&t->pool, count);
        random_fill(state, t->floats[part], count, -1.0F, 1.0F);
        t->gradients[part] = zeros(&t->pool, count);
        t->doubles[part] = as_doubles(t->floats[part], count);
    }
    t->cotangent = pool_floats(&t->pool, t->out_count);
    random_fill(state, t->cotangent, t->out_count, -1.0F, 1.0F);
    size_t e = t->config.embed_dim, width = key_width(&t->config);
    t->config.query = weights_of(t, WQ, e);
    t->config.key = weights_of(t, WK, width);
    t->config.value = weights_of(t, WV, width);
    t->config.out = weights_of(t, WO, e);
    t->config.bias_key = t->floats[EXTRA_KEY];
    t->config.bias_value = t->floats[EXTRA_VALUE];
    set_pass(t, state, n);
}

static struct mh_multihead_gradient gradient_of(const struct module_case *t)
{
    float *const *g = t->gradients;
    return (struct mh_multihead_gradient){.output = t->cotangent,
                                          .query = g[QUERY],
                                          .key = g[KEY],
                                          .value = g[VALUE],
                                          .query_weight = g[WQ],
                                          .key_weight = g[WK],
                                          .value_weight = g[WV],
                                          .out_weight = g[WO],
                                          .query_bias = g[BQ],
                                          .key_bias = g[BK],
                                          .value_bias = g[BV],
                                          .out_bias = g[BO],
                                          .bias_key = g[EXTRA_KEY],
                                          .bias_value = g[EXTRA_VALUE]};
}

static void free_case(struct module_case *t)
{
    for (size_t part = 0; part < PARTS; part++)
        free(t->doubles[part]);
    pool_free(&t->pool);
}

static void test_differences(void **unused)
{
    (void)unused;
    uint32_t state = 9;
    for (size_t n = 0; n < 120; n++) {
        struct module_case t = {0};
        make_case(&t, &state, n);
        struct mh_multihead_gradient gradient = gradient_of(&t);
        differentiate(&t.config, &t.pass, &gradient, &t.pool);
        for (size_t part = 0; part < PARTS; part++)
            check_by_differences(PART_NAMES[part], t.gradients[part], t.doubles[part],
                                 t.counts[part], module_loss, &t);
        free_case(&t);
    }
}

/* ===== What is asked for ==================================================================== */

/* Nothing but what is asked for, the same bits, and added to what is there. */
static void test_parts_and_sums(void **unused)
{
    (void)unused;
    uint32_t state = 4;
    struct module_case t = {0};
    make_case(&t, &state, 0);
    struct mh_multihead_gradient all = gradient_of(&t), one = {.output = t.cotangent};
    differentiate(&t.config, &t.pass, &all, &t.pool);
    float *key = one.key_weight = zeros(&t.pool, t.counts[WK]);
    differentiate(&t.config, &t.pass, &one, &t.pool);
    assert_memory_equal(key, all.key_weight, t.counts[WK] * sizeof *key);
    differentiate(&t.config, &t.pass, &one, &t.pool);
    for (size_t i = 0; i < t.counts[WK]; i++)
        assert_close(key[i], 2.0F * all.key_weight[i], 1e-5);
    free_case(&t);
}

static void check_refused(const struct module_case *t, const struct mh_multihead_gradient *gradient,
                          enum mh_status expected, const char *words)
{
    static char workspace[1 << 16];
    struct mh_error error = {0};
    assert_int_equal(
        mh_multihead_backward(&t->config, &t->pass, gradient, workspace, sizeof workspace, &error),
        expected);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
}

static void test_refusals(void **unused)
{
    (void)unused;
    uint32_t state = 4;
    struct module_case t = {0}, other;
    make_case(&t, &state, 0);
    struct mh_multihead_gradient usual = gradient_of(&t), gradient = usual;
    gradient.output = NULL;
    check_refused(&t, &gradient, MH_ARGUMENT, "output is NULL");
    other = t;
    other.config.bias_key = other.config.bias_value = NULL;
    check_refused(&other, &usual, MH_ARGUMENT, "bias_key");
    other = t;
    other.config.out.data = NULL;
    check_refused(&other, &usual, MH_ARGUMENT, "out-projection");
    other = t;
    other.config.precision = MH_INT8;
    check_refused(&other, &usual, MH_UNSUPPORTED, "precision is 1");
    other = t;
    other.config.embed_dim++;
    other.config.heads = 2 * other.config.embed_dim;
    check_refused(&other, &usual, MH_SHAPE, "embed_dim");
    other = t;
    other.pass.keys = 0;
    check_refused(&other, &usual, MH_ARGUMENT, "keys is 0");
    other = t;
    other.pass.query = NULL;
    check_refused(&other, &usual, MH_ARGUMENT, "query is NULL");
    free_case(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_parts_and_sums),
        cmocka_unit_test(test_refusals),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("# largest relative error of a gradient %.2e\n", worst_gradient_error);
    return failed;
}
