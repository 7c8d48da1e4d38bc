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

/* ===== Masks ================================================================================ */

/* Sum of an additive mask [B or 1, H or 1, T or 1, S], by its strides, and a padding [B, S], in the
 * shape [B, H, T, S]. */
static float *add_padding(struct golden_case *golden, const struct mh_mask *mask,
                          const float *padding, const size_t sizes[4])
{
    float *sum = golden_floats(golden, sizes[0] * sizes[1] * sizes[2] * sizes[3]);
    float *out = sum;
    for (size_t b = 0; b < sizes[0]; b++) {
        for (size_t h = 0; h < sizes[1]; h++) {
            for (size_t t = 0; t < sizes[2]; t++) {
                const float *row = mask->bias + b * mask->bias_batch_stride +
                                   h * mask->bias_head_stride + t * mask->bias_row_stride;
                for (size_t s = 0; s < sizes[3]; s++) {
                    *out++ = row[s] + padding[b * sizes[3] + s];
                }
            }
        }
    }
    return sum;
}

static void set_hidden(struct mh_mask *mask, const uint8_t *hidden, const size_t strides[3])
{
    mask->hidden = hidden;
    mask->hidden_batch_stride = strides[0];
    mask->hidden_head_stride = strides[1];
    mask->hidden_row_stride = strides[2];
}

static void set_bias(struct mh_mask *mask, const float *bias, const size_t strides[3])
{
    mask->bias = bias;
    mask->bias_batch_stride = strides[0];
    mask->bias_head_stride = strides[1];
    mask->bias_row_stride = strides[2];
}

/* The settings attn_mask and key_padding, for sizes B, H, T, S. */
static struct mh_mask module_mask(struct golden_case *golden, const size_t sizes[4])
{
    struct mh_mask mask = {.causal = golden_is(golden, "attn_mask", "causal")};
    size_t row = sizes[3], head = sizes[2] * row, batch = sizes[1] * head;
    size_t shared[3] = {0, 0, row}, per_head[3] = {batch, head, row}, per_batch[3] = {row, 0, 0};
    if (golden_is(golden, "attn_mask", "bool2") || golden_is(golden, "attn_mask", "bool3")) {
        set_hidden(&mask, golden_hidden(golden, "attn_hidden"),
                   golden_is(golden, "attn_mask", "bool2") ? shared : per_head);
    }
    if (golden_is(golden, "attn_mask", "float2") || golden_is(golden, "attn_mask", "float3")) {
        set_bias(&mask, golden_additive(golden, "attn_mask", "attn_hidden"),
                 golden_is(golden, "attn_mask", "float2") ? shared : per_head);
    }
    if (golden_is(golden, "key_padding", "bool")) {
        mask.key_hidden = golden_hidden(golden, "key_hidden");
    }
    if (golden_is(golden, "key_padding", "float")) {
        const float *padding = golden_additive(golden, "key_padding_mask", "key_hidden");
        if (mask.bias) {
            set_bias(&mask, add_padding(golden, &mask, padding, sizes), per_head);
        } else {
            set_bias(&mask, padding, per_batch);
        }
    }
    return mask;
}

/* ===== torch.nn.MultiheadAttention ========================================================== */

/* One linear layer from torch's `rows` by `columns` weights. */
static struct mh_linear_weights linear(const float *weight, size_t columns, const float *bias)
{
    return (struct mh_linear_weights){
        .data = weight, .out_stride = columns, .in_stride = 1, .bias = bias};
}

/* Names in PyTorch start with `prefix`: "" for the module itself, "self_attn." inside a layer. */
static const float *parameter(struct golden_case *golden, const char *prefix, const char *name,
                              size_t count, float amplitude)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return golden_uniform(golden, full, count, amplitude);
}

static void set_in_projection(struct mh_multihead_config *config, struct golden_case *golden,
                              const char *prefix, const float *bias)
{
    size_t e = config->embed_dim, key = config->key_dim, value = config->value_dim;
    float amplitude = golden_real(golden, "weight");
    const float *q, *k, *v;
    if (key == e && value == e) {
        q = parameter(golden, prefix, "in_proj_weight", 3 * e * e, amplitude);
        k = q + e * e;
        v = k + e * e;
    } else {
        q = parameter(golden, prefix, "q_proj_weight", e * e, amplitude);
        k = parameter(golden, prefix, "k_proj_weight", e * key, amplitude);
        v = parameter(golden, prefix, "v_proj_weight", e * value, amplitude);
    }
    config->query = linear(q, e, bias);
    config->key = linear(k, key, bias ? bias + e : NULL);
    config->value = linear(v, value, bias ? bias + 2 * e : NULL);
}

static struct mh_multihead_config module_config(struct golden_case *golden, const char *prefix,
                                                size_t key_dim, size_t value_dim, bool has_bias)
{
    size_t e = golden_number(golden, "embed_dim"), heads = golden_number(golden, "heads");
    struct mh_multihead_config config = {.embed_dim = e,
                                         .key_dim = key_dim,
                                         .value_dim = value_dim,
                                         .heads = heads,
                                         .kv_heads = heads};
    const float *in_bias = has_bias ? parameter(golden, prefix, "in_proj_bias", 3 * e, 0.5F) : NULL;
    set_in_projection(&config, golden, prefix, in_bias);
    config.out =
        linear(parameter(golden, prefix, "out_proj.weight", e * e, golden_real(golden, "weight")),
               e, has_bias ? parameter(golden, prefix, "out_proj.bias", e, 0.5F) : NULL);
    return config;
}

static void set_inputs(struct mh_multihead_pass *pass, struct golden_case *golden,
                       const struct mh_multihead_config *config)
{
    size_t b = pass->batch, t = pass->queries, s = pass->keys;
    bool batch_first = golden_number(golden, "batch_first") != 0;
    pass->query = golden_uniform(golden, "query", b * t * config->embed_dim, 2.0F);
    if (golden_number(golden, "self")) {
        pass->key = pass->value = pass->query;
    } else {
        pass->key = golden_uniform(golden, "key", b * s * config->key_dim, 2.0F);
        pass->value = golden_uniform(golden, "value", b * s * config->value_dim, 2.0F);
    }
    pass->output = golden_floats(golden, b * t * config->embed_dim);
    pass->query_batch_stride = (batch_first ? t : 1) * config->embed_dim;
    pass->key_batch_stride = (batch_first ? s : 1) * config->key_dim;
    pass->value_batch_stride = (batch_first ? s : 1) * config->value_dim;
    pass->query_row_stride = (batch_first ? 1 : b) * config->embed_dim;
    pass->key_row_stride = (batch_first ? 1 : b) * config->key_dim;
    pass->value_row_stride = (batch_first ? 1 : b) * config->value_dim;
    pass->output_batch_stride = pass->query_batch_stride;
    pass->output_row_stride = pass->query_row_stride;
}

static void test_multihead(struct golden_case *golden)
{
    struct mh_multihead_config config =
        module_config(golden, "", golden_number(golden, "key_dim"),
                      golden_number(golden, "value_dim"), golden_number(golden, "bias") != 0);
    if (golden_number(golden, "bias_kv")) {
        config.bias_key = golden_uniform(golden, "bias_k", config.embed_dim, 1.0F);
        config.bias_value = golden_uniform(golden, "bias_v", config.embed_dim, 1.0F);
    }
    config.add_zero_attention = golden_number(golden, "zero_attn") != 0;
    size_t sizes[4] = {golden_number(golden, "batch"), config.heads,
                       golden_number(golden, "queries"), golden_number(golden, "keys")};
    size_t columns =
        sizes[3] + golden_number(golden, "bias_kv") + golden_number(golden, "zero_attn");
    struct mh_multihead_pass pass = {.batch = sizes[0],
                                     .queries = sizes[2],
                                     .keys = sizes[3],
                                     .mask = module_mask(golden, sizes),
                                     .check_finite = 1};
    set_inputs(&pass, golden, &config);
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
        set_hidden(&mask, golden_hidden(golden, "attn_hidden"), strides);
    }
    if (golden_is(golden, "mask", "float")) {
        set_bias(&mask, golden_additive(golden, "attn_mask", "attn_hidden"), strides);
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
        .attention = module_config(golden, "self_attn.", e, e, true),
        .ffn_dim = f,
        .ffn_in = linear(golden_uniform(golden, "linear1.weight", f * e, amplitude), e,
                         golden_uniform(golden, "linear1.bias", f, 0.5F)),
        .ffn_out = linear(golden_uniform(golden, "linear2.weight", e * f, amplitude), f,
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
                                 .mask = module_mask(golden, sizes),
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
