/* The layout of every public struct, as data: see section 9 of multihead.h. */
#include "abi/layout_rows.h"
#include "multihead.h"

/* Structs that also sit inside others. */

#define ROWS(outer, path, base)                                                                    \
    AT(outer, path, base, mh_rows, data), AT(outer, path, base, mh_rows, batch_stride),            \
        AT(outer, path, base, mh_rows, head_stride), AT(outer, path, base, mh_rows, row_stride)

#define ROWS_OUT(outer, path, base)                                                                \
    AT(outer, path, base, mh_rows_out, data), AT(outer, path, base, mh_rows_out, batch_stride),    \
        AT(outer, path, base, mh_rows_out, head_stride),                                           \
        AT(outer, path, base, mh_rows_out, row_stride)

#define WEIGHTS_OUT(outer, path, base)                                                             \
    AT(outer, path, base, mh_weights_out, mode), AT(outer, path, base, mh_weights_out, data),      \
        AT(outer, path, base, mh_weights_out, heads),                                              \
        AT(outer, path, base, mh_weights_out, head_count),                                         \
        AT(outer, path, base, mh_weights_out, rows),                                               \
        AT(outer, path, base, mh_weights_out, row_count)

#define CHOICE(outer, path, base)                                                                  \
    AT(outer, path, base, mh_choice, heads), AT(outer, path, base, mh_choice, head_count),         \
        AT(outer, path, base, mh_choice, rows), AT(outer, path, base, mh_choice, row_count)

#define LINEAR(outer, path, base)                                                                  \
    AT(outer, path, base, mh_linear_weights, data),                                                \
        AT(outer, path, base, mh_linear_weights, out_stride),                                      \
        AT(outer, path, base, mh_linear_weights, in_stride),                                       \
        AT(outer, path, base, mh_linear_weights, bias)

#define NORM(outer, path, base)                                                                    \
    AT(outer, path, base, mh_norm_weights, weight), AT(outer, path, base, mh_norm_weights, bias)

#define MULTIHEAD_LINEAR(outer, path, base, member)                                                \
    LINEAR(outer, path #member ".", (base) + offsetof(struct mh_multihead_config, member))

#define MULTIHEAD_CONFIG(outer, path, base)                                                        \
    AT(outer, path, base, mh_multihead_config, embed_dim),                                         \
        AT(outer, path, base, mh_multihead_config, key_dim),                                       \
        AT(outer, path, base, mh_multihead_config, value_dim),                                     \
        AT(outer, path, base, mh_multihead_config, heads),                                         \
        AT(outer, path, base, mh_multihead_config, kv_heads),                                      \
        MULTIHEAD_LINEAR(outer, path, base, query), MULTIHEAD_LINEAR(outer, path, base, key),      \
        MULTIHEAD_LINEAR(outer, path, base, value), MULTIHEAD_LINEAR(outer, path, base, out),      \
        AT(outer, path, base, mh_multihead_config, bias_key),                                      \
        AT(outer, path, base, mh_multihead_config, bias_value),                                    \
        AT(outer, path, base, mh_multihead_config, add_zero_attention),                            \
        AT(outer, path, base, mh_multihead_config, precision)

static const struct mh_field layout[] = {
    STRUCTURE(mh_error),
    FIELD(mh_error, status),
    FIELD(mh_error, message),

    STRUCTURE(mh_report),
    FIELD(mh_report, masked_rows),
    FIELD(mh_report, nonfinite_tensor),
    FIELD(mh_report, nonfinite_layer),
    FIELD(mh_report, nonfinite_index),
    FIELD(mh_report, nonfinite_value),
    FIELD(mh_report, computed_rows),
    FIELD(mh_report, first_layer),
    FIELD(mh_report, first_row),

    ALONE(MASK, mh_mask),
    ALONE(ROWS, mh_rows),
    ALONE(ROWS_OUT, mh_rows_out),
    ALONE(WEIGHTS_OUT, mh_weights_out),
    ALONE(CHOICE, mh_choice),

    STRUCTURE(mh_attention),
    FIELD(mh_attention, batch),
    FIELD(mh_attention, queries),
    FIELD(mh_attention, keys),
    FIELD(mh_attention, heads),
    FIELD(mh_attention, kv_heads),
    FIELD(mh_attention, head_dim),
    FIELD(mh_attention, value_dim),
    NESTED(ROWS, mh_attention, query),
    NESTED(ROWS, mh_attention, key),
    NESTED(ROWS, mh_attention, value),
    NESTED(ROWS_OUT, mh_attention, output),
    FIELD(mh_attention, scale_mode),
    FIELD(mh_attention, scale),
    NESTED(MASK, mh_attention, mask),
    FIELD(mh_attention, dropout),
    FIELD(mh_attention, dropout_seed),
    NESTED(WEIGHTS_OUT, mh_attention, weights),
    FIELD(mh_attention, raw_scores),
    FIELD(mh_attention, scores),
    NESTED(CHOICE, mh_attention, chosen_scores),
    FIELD(mh_attention, row_statistics),
    FIELD(mh_attention, head_statistics),
    FIELD(mh_attention, check_finite),

    ALONE(LINEAR, mh_linear_weights),
    ALONE(MULTIHEAD_CONFIG, mh_multihead_config),

    STRUCTURE(mh_multihead_pass),
    FIELD(mh_multihead_pass, batch),
    FIELD(mh_multihead_pass, queries),
    FIELD(mh_multihead_pass, keys),
    FIELD(mh_multihead_pass, query),
    FIELD(mh_multihead_pass, key),
    FIELD(mh_multihead_pass, value),
    FIELD(mh_multihead_pass, query_batch_stride),
    FIELD(mh_multihead_pass, query_row_stride),
    FIELD(mh_multihead_pass, key_batch_stride),
    FIELD(mh_multihead_pass, key_row_stride),
    FIELD(mh_multihead_pass, value_batch_stride),
    FIELD(mh_multihead_pass, value_row_stride),
    FIELD(mh_multihead_pass, output),
    FIELD(mh_multihead_pass, output_batch_stride),
    FIELD(mh_multihead_pass, output_row_stride),
    FIELD(mh_multihead_pass, scale_mode),
    FIELD(mh_multihead_pass, scale),
    NESTED(MASK, mh_multihead_pass, mask),
    FIELD(mh_multihead_pass, dropout),
    FIELD(mh_multihead_pass, dropout_seed),
    NESTED(WEIGHTS_OUT, mh_multihead_pass, weights),
    FIELD(mh_multihead_pass, raw_scores),
    FIELD(mh_multihead_pass, scores),
    NESTED(CHOICE, mh_multihead_pass, chosen_scores),
    FIELD(mh_multihead_pass, row_statistics),
    FIELD(mh_multihead_pass, head_statistics),
    FIELD(mh_multihead_pass, check_finite),

    ALONE(NORM, mh_norm_weights),

    STRUCTURE(mh_block_config),
    NESTED(MULTIHEAD_CONFIG, mh_block_config, attention),
    FIELD(mh_block_config, ffn_dim),
    NESTED(LINEAR, mh_block_config, ffn_in),
    NESTED(LINEAR, mh_block_config, ffn_out),
    NESTED(NORM, mh_block_config, norm1),
    NESTED(NORM, mh_block_config, norm2),
    FIELD(mh_block_config, activation),
    FIELD(mh_block_config, norm_position),
    FIELD(mh_block_config, norm_epsilon),

    STRUCTURE(mh_ablation),
    FIELD(mh_ablation, layer),
    FIELD(mh_ablation, head),
    FIELD(mh_ablation, kind),

    STRUCTURE(mh_block_pass),
    FIELD(mh_block_pass, batch),
    FIELD(mh_block_pass, length),
    FIELD(mh_block_pass, input),
    FIELD(mh_block_pass, output),
    FIELD(mh_block_pass, scale_mode),
    FIELD(mh_block_pass, scale),
    NESTED(MASK, mh_block_pass, mask),
    FIELD(mh_block_pass, dropout),
    FIELD(mh_block_pass, dropout_seed),
    NESTED(WEIGHTS_OUT, mh_block_pass, weights),
    FIELD(mh_block_pass, raw_scores),
    FIELD(mh_block_pass, scores),
    NESTED(CHOICE, mh_block_pass, chosen_scores),
    FIELD(mh_block_pass, row_statistics),
    FIELD(mh_block_pass, head_statistics),
    FIELD(mh_block_pass, ablations),
    FIELD(mh_block_pass, ablation_count),
    FIELD(mh_block_pass, layer),
    FIELD(mh_block_pass, check_finite),

    ALONE(MODEL_CONFIG, mh_model_config),

    STRUCTURE(mh_model_pass),
    FIELD(mh_model_pass, tokens),
    FIELD(mh_model_pass, length),
    NESTED(MASK, mh_model_pass, mask),
    FIELD(mh_model_pass, hidden_layer_stride),
    FIELD(mh_model_pass, scale_mode),
    FIELD(mh_model_pass, scale),
    FIELD(mh_model_pass, temperature),
    FIELD(mh_model_pass, ablations),
    FIELD(mh_model_pass, ablation_count),
    FIELD(mh_model_pass, attention),
    FIELD(mh_model_pass, raw_scores),
    FIELD(mh_model_pass, scores),
    NESTED(CHOICE, mh_model_pass, chosen_attention),
    NESTED(CHOICE, mh_model_pass, chosen_scores),
    FIELD(mh_model_pass, row_statistics),
    FIELD(mh_model_pass, head_statistics),
    FIELD(mh_model_pass, hidden),
    FIELD(mh_model_pass, logits),
    FIELD(mh_model_pass, logit_rows),
    FIELD(mh_model_pass, logit_count),
    FIELD(mh_model_pass, check_finite),
    FIELD(mh_model_pass, session),

    STRUCTURE(mh_statistics),
    FIELD(mh_statistics, batch),
    FIELD(mh_statistics, heads),
    FIELD(mh_statistics, queries),
    FIELD(mh_statistics, keys),
    FIELD(mh_statistics, weights),
    FIELD(mh_statistics, scores),
    FIELD(mh_statistics, mask),
    FIELD(mh_statistics, row_statistics),
    FIELD(mh_statistics, head_statistics),

    {NULL, NULL, 0, 0},
};

const struct mh_field *mh_layout(void)
{
    return layout;
}

const char *mh_build(void)
{
#if defined(__wasm_relaxed_simd__)
    return "relaxed-simd";
#elif defined(__wasm_simd128__)
    return "simd128";
#else
    return "native";
#endif
}
