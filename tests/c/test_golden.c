/* The engine against PyTorch: every case recorded in tests/golden/attention, to 1e-5. One test a
 * case, named as the case is. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/golden.h"
#include "support/golden_module.h"

#define TOLERANCE 1e-5

static double worst_error;
static const char *worst_case = "none";

/* ===== Comparison =========================================================================== */

/* PyTorch's NaN in weights is a row that sees no key, where ours must be exactly zero. */
static void check_tensor(struct golden_case *golden, const char *name, const float *actual)
{
    const float *expected = golden_recorded(golden, name);
    size_t count = mh_safetensor_elements(golden_find(golden, name));
    for (size_t i = 0; i < count; i++) {
        if (isnan(expected[i])) {
            assert_true(actual[i] == 0.0F);
            continue;
        }
        check_close((double)actual[i], (double)expected[i], TOLERANCE, i, name, __FILE__, __LINE__);
        double error = fabs((double)actual[i] - (double)expected[i]);
        if (error > worst_error) {
            worst_error = error;
            worst_case = golden->name;
        }
    }
}

static void check_status(enum mh_status status, const struct mh_error *error)
{
    if (status) {
        fail_msg("%s: %s", mh_status_name((int32_t)status), error->message);
    }
}

/* Entropy of the recorded weights, as mh_statistics gives it, against torch.special.entr. */
static void check_entropy(struct golden_case *golden, size_t batch, size_t heads, size_t queries,
                          size_t keys)
{
    if (!golden_find(golden, "entropy")) {
        return;
    }
    float *weights = golden_recorded(golden, "weights");
    size_t rows = batch * heads * queries;
    for (size_t i = 0; i < rows * keys; i++) {
        weights[i] = isnan(weights[i]) ? 0.0F : weights[i];
    }
    float *statistics = golden_floats(golden, rows * MH_ROW_STATISTICS);
    struct mh_statistics ask = {.batch = batch,
                                .heads = heads,
                                .queries = queries,
                                .keys = keys,
                                .weights = weights,
                                .row_statistics = statistics};
    struct mh_error error;
    check_status(mh_statistics_compute(&ask, &error), &error);
    float *entropy = golden_floats(golden, rows);
    for (size_t i = 0; i < rows; i++) {
        entropy[i] = statistics[i * MH_ROW_STATISTICS + MH_ROW_ENTROPY_NATS];
    }
    check_tensor(golden, "entropy", entropy);
}

/* ===== torch.nn.MultiheadAttention ========================================================== */

static void test_multihead(struct golden_case *golden)
{
    struct golden_module module = golden_module(golden);
    struct mh_multihead_config config = module.config;
    struct mh_multihead_pass pass = module.pass;
    const size_t *sizes = module.sizes;
    size_t columns = module.columns;
    pass.check_finite = 1;
    if (golden_number(golden, "need_weights")) {
        pass.weights.mode = golden_number(golden, "average") ? MH_WEIGHTS_MEAN : MH_WEIGHTS_ALL;
        pass.weights.data = golden_floats(golden, sizes[0] * sizes[1] * sizes[2] * columns);
    }
    mh_multihead *multihead;
    struct mh_error error;
    struct mh_report report;
    size_t bytes = 0;
    check_status(mh_multihead_create(&multihead, &config, &error), &error);
    enum mh_status status = mh_multihead_workspace(multihead, &pass, &bytes, &error);
    if (!status) {
        status = mh_multihead_forward(multihead, &pass, golden_workspace(golden, bytes), bytes,
                                      &report, &error);
    }
    mh_multihead_free(multihead);
    check_status(status, &error);
    assert_int_equal(report.masked_rows, golden_number(golden, "masked_rows"));
    check_tensor(golden, "output", pass.output);
    if (pass.weights.data) {
        check_tensor(golden, "weights", pass.weights.data);
    }
    check_entropy(golden, sizes[0], sizes[1], sizes[2], columns);
}

/* ===== scaled_dot_product_attention ========================================================= */

static struct mh_mask attention_mask(struct golden_case *golden, const size_t sizes[4])
{
    struct mh_mask mask = {.causal = (int32_t)golden_number(golden, "causal")};
    size_t queries = golden_number(golden, "mask_queries") ? sizes[2] : 1;
    size_t heads = golden_number(golden, "mask_heads") ? sizes[1] : 1;
    size_t head = queries * sizes[3];
    size_t strides[3] = {golden_number(golden, "mask_batch") ? heads * head : 0,
                         golden_number(golden, "mask_heads") ? head : 0,
                         golden_number(golden, "mask_queries") ? sizes[3] : 0};
    if (golden_is(golden, "mask", "bool")) {
        golden_set_hidden(&mask, golden_hidden(golden, "attn_hidden"), strides);
    }
    if (golden_is(golden, "mask", "float")) {
        golden_set_bias(&mask, golden_additive(golden, "attn_mask", "attn_hidden"), strides);
    }
    return mask;
}

static struct mh_rows rows(struct golden_case *golden, const char *name, size_t batch, size_t heads,
                           size_t length, size_t width)
{
    return (struct mh_rows){.data =
                                golden_uniform(golden, name, batch * heads * length * width, 2.0F),
                            .batch_stride = heads * length * width,
                            .head_stride = length * width,
                            .row_stride = width};
}

static void test_attention(struct golden_case *golden)
{
    size_t sizes[4] = {golden_number(golden, "batch"), golden_number(golden, "heads"),
                       golden_number(golden, "queries"), golden_number(golden, "keys")};
    size_t b = sizes[0], h = sizes[1], t = sizes[2], s = sizes[3];
    size_t g = golden_number(golden, "kv_heads"), d = golden_number(golden, "head_dim");
    size_t dv = golden_number(golden, "value_dim");
    struct mh_attention attention = {
        .batch = b,
        .queries = t,
        .keys = s,
        .heads = h,
        .kv_heads = g,
        .head_dim = d,
        .value_dim = dv,
        .query = rows(golden, "query", b, h, t, d),
        .key = rows(golden, "key", b, g, s, d),
        .value = rows(golden, "value", b, g, s, dv),
        .output = {.data = golden_floats(golden, b * h * t * dv),
                   .batch_stride = h * t * dv,
                   .head_stride = t * dv,
                   .row_stride = dv},
        .mask = attention_mask(golden, sizes),
        .weights = {.mode = MH_WEIGHTS_ALL, .data = golden_floats(golden, b * h * t * s)},
        .check_finite = 1};
    if (!golden_is(golden, "scale", "default")) {
        attention.scale_mode = MH_SCALE_GIVEN;
        attention.scale = golden_real(golden, "scale");
    }
    struct mh_error error;
    struct mh_report report;
    size_t bytes = 0;
    check_status(mh_attention_workspace(&attention, &bytes, &error), &error);
    void *workspace = golden_workspace(golden, bytes);
    check_status(mh_attention_forward(&attention, workspace, bytes, &report, &error), &error);
    assert_int_equal(report.masked_rows, golden_number(golden, "masked_rows"));
    check_tensor(golden, "output", attention.output.data);
    check_tensor(golden, "weights", attention.weights.data);
    check_entropy(golden, b, h, t, s);
}

/* ===== torch.nn.TransformerEncoderLayer ===================================================== */

static struct mh_norm_weights norm(struct golden_case *golden, const char *prefix, size_t width)
{
    char bias[32], weight[32];
    snprintf(weight, sizeof weight, "%s.weight", prefix);
    snprintf(bias, sizeof bias, "%s.bias", prefix);
    float *around_one = golden_uniform(golden, weight, width, 0.5F);
    for (size_t i = 0; i < width; i++) {
        around_one[i] += 1.0F;
    }
    return (struct mh_norm_weights){.weight = around_one,
                                    .bias = golden_uniform(golden, bias, width, 0.5F)};
}

static void test_encoder(struct golden_case *golden)
{
    size_t e = golden_number(golden, "embed_dim"), f = golden_number(golden, "ffn_dim");
    size_t b = golden_number(golden, "batch"), t = golden_number(golden, "length");
    float amplitude = golden_real(golden, "weight");
    struct mh_block_config config = {
        .attention = golden_module_config(golden, "self_attn.", e, e, true),
        .ffn_dim = f,
        .ffn_in = golden_linear(golden_uniform(golden, "linear1.weight", f * e, amplitude), e,
                                golden_uniform(golden, "linear1.bias", f, 0.5F)),
        .ffn_out = golden_linear(golden_uniform(golden, "linear2.weight", e * f, amplitude), f,
                                 golden_uniform(golden, "linear2.bias", e, 0.5F)),
        .norm1 = norm(golden, "norm1", e),
        .norm2 = norm(golden, "norm2", e),
        .activation =
            golden_is(golden, "activation", "relu") ? MH_ACTIVATION_RELU : MH_ACTIVATION_GELU,
        .norm_position = golden_number(golden, "norm_first") ? MH_NORM_PRE : MH_NORM_POST,
        .norm_epsilon = 1e-5F};
    size_t sizes[4] = {b, golden_number(golden, "heads"), t, t};
    struct mh_block_pass pass = {.batch = b,
                                 .length = t,
                                 .input = golden_uniform(golden, "input", b * t * e, 2.0F),
                                 .output = golden_floats(golden, b * t * e),
                                 .mask = golden_module_mask(golden, sizes),
                                 .check_finite = 1};
    mh_block *block;
    struct mh_error error;
    struct mh_report report;
    size_t bytes = 0;
    check_status(mh_block_create(&block, &config, &error), &error);
    enum mh_status status = mh_block_workspace(block, &pass, &bytes, &error);
    if (!status) {
        status =
            mh_block_forward(block, &pass, golden_workspace(golden, bytes), bytes, &report, &error);
    }
    mh_block_free(block);
    check_status(status, &error);
    check_tensor(golden, "output", pass.output);
}

/* ===== Running ============================================================================== */

static void test_case(void **state)
{
    struct golden_case *golden = *state;
    if (strncmp(golden->name, "multihead", 9) == 0) {
        test_multihead(golden);
    } else if (strncmp(golden->name, "attention", 9) == 0) {
        test_attention(golden);
    } else {
        test_encoder(golden);
    }
}

static int release(void **state)
{
    golden_release(*state);
    return 0;
}

int main(void)
{
    struct golden_record record;
    if (!golden_open(&record)) {
        golden_close(&record);
        return EXIT_FAILURE;
    }
    struct CMUnitTest *tests = calloc(record.count, sizeof *tests);
    for (size_t i = 0; tests && i < record.count; i++) {
        tests[i] = (struct CMUnitTest){.name = record.cases[i].name,
                                       .test_func = test_case,
                                       .teardown_func = release,
                                       .initial_state = &record.cases[i]};
    }
    int failed = tests ? _cmocka_run_group_tests("golden", tests, record.count, NULL, NULL) : 1;
    printf("# %zu cases, largest error %.2e (%s)\n", record.count, worst_error, worst_case);
    free(tests);
    golden_close(&record);
    return failed;
}
