#include "support/golden_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

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

void golden_set_hidden(struct mh_mask *mask, const uint8_t *hidden, const size_t strides[3])
{
    mask->hidden = hidden;
    mask->hidden_batch_stride = strides[0];
    mask->hidden_head_stride = strides[1];
    mask->hidden_row_stride = strides[2];
}

void golden_set_bias(struct mh_mask *mask, const float *bias, const size_t strides[3])
{
    mask->bias = bias;
    mask->bias_batch_stride = strides[0];
    mask->bias_head_stride = strides[1];
    mask->bias_row_stride = strides[2];
}

/* The settings attn_mask and key_padding, for sizes B, H, T, S. */
struct mh_mask golden_module_mask(struct golden_case *golden, const size_t sizes[4])
{
    struct mh_mask mask = {.causal = golden_is(golden, "attn_mask", "causal")};
    size_t row = sizes[3], head = sizes[2] * row, batch = sizes[1] * head;
    size_t shared[3] = {0, 0, row}, per_head[3] = {batch, head, row}, per_batch[3] = {row, 0, 0};
    if (golden_is(golden, "attn_mask", "bool2") || golden_is(golden, "attn_mask", "bool3")) {
        golden_set_hidden(&mask, golden_hidden(golden, "attn_hidden"),
                          golden_is(golden, "attn_mask", "bool2") ? shared : per_head);
    }
    if (golden_is(golden, "attn_mask", "float2") || golden_is(golden, "attn_mask", "float3")) {
        golden_set_bias(&mask, golden_additive(golden, "attn_mask", "attn_hidden"),
                        golden_is(golden, "attn_mask", "float2") ? shared : per_head);
    }
    if (golden_is(golden, "key_padding", "bool")) {
        mask.key_hidden = golden_hidden(golden, "key_hidden");
    }
    if (golden_is(golden, "key_padding", "float")) {
        const float *padding = golden_additive(golden, "key_padding_mask", "key_hidden");
        if (mask.bias) {
            golden_set_bias(&mask, add_padding(golden, &mask, padding, sizes), per_head);
        } else {
            golden_set_bias(&mask, padding, per_batch);
        }
    }
    return mask;
}

/* ===== torch.nn.MultiheadAttention ========================================================== */

struct mh_linear_weights golden_linear(const float *weight, size_t columns, const float *bias)
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
    config->query = golden_linear(q, e, bias);
    config->key = golden_linear(k, key, bias ? bias + e : NULL);
    config->value = golden_linear(v, value, bias ? bias + 2 * e : NULL);
}

struct mh_multihead_config golden_module_config(struct golden_case *golden, const char *prefix,
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
    config.out = golden_linear(
        parameter(golden, prefix, "out_proj.weight", e * e, golden_real(golden, "weight")), e,
        has_bias ? parameter(golden, prefix, "out_proj.bias", e, 0.5F) : NULL);
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

struct golden_module golden_module(struct golden_case *golden)
{
    size_t extra = golden_number(golden, "bias_kv") + golden_number(golden, "zero_attn");
    struct golden_module module = {
        .config = golden_module_config(golden, "", golden_number(golden, "key_dim"),
                                       golden_number(golden, "value_dim"),
                                       golden_number(golden, "bias") != 0),
        .sizes = {golden_number(golden, "batch"), golden_number(golden, "heads"),
                  golden_number(golden, "queries"), golden_number(golden, "keys")},
        .columns = golden_number(golden, "keys") + extra,
    };
    struct mh_multihead_config *config = &module.config;
    if (golden_number(golden, "bias_kv")) {
        config->bias_key = golden_uniform(golden, "bias_k", config->embed_dim, 1.0F);
        config->bias_value = golden_uniform(golden, "bias_v", config->embed_dim, 1.0F);
    }
    config->add_zero_attention = golden_number(golden, "zero_attn") != 0;
    module.pass = (struct mh_multihead_pass){.batch = module.sizes[0],
                                             .queries = module.sizes[2],
                                             .keys = module.sizes[3],
                                             .mask = golden_module_mask(golden, module.sizes)};
    set_inputs(&module.pass, golden, config);
    return module;
}
