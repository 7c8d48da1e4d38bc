#include "ops/attention_guard.h"

#include "kernels/kernels.h"
#include "ops/guard.h"

#include <math.h>

enum mh_status mh_attention_check_inputs(const struct mh_attention *a,
                                         const struct mh_attention_context *context,
                                         struct mh_report *report, struct mh_error *error)
{
    const struct mh_mask *mask = &a->mask;
    const struct mh_tensor_view inputs[] = {
        {context->query_name, a->query.data, a->batch, a->heads, a->queries, a->head_dim,
         a->query.batch_stride, a->query.head_stride, a->query.row_stride},
        {context->key_name, a->key.data, a->batch, a->kv_heads, a->keys, a->head_dim,
         a->key.batch_stride, a->key.head_stride, a->key.row_stride},
        {context->value_name, a->value.data, a->batch, a->kv_heads, a->keys, a->value_dim,
         a->value.batch_stride, a->value.head_stride, a->value.row_stride},
        {MH_TENSOR_BIAS, mask->bias, a->batch, a->heads, a->queries, a->keys - mask->free_keys,
         mask->bias_batch_stride, mask->bias_head_stride, mask->bias_row_stride},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        if (inputs[i].data == NULL)
            continue;
        enum mh_status status = mh_check_finite(&inputs[i], report, error);
        if (status != MH_OK)
            return status;
    }
    return MH_OK;
}

enum mh_status mh_attention_check_output(const struct mh_attention *a, size_t first,
                                         struct mh_report *report, struct mh_error *error)
{
    const struct mh_tensor_view output = {MH_TENSOR_OUTPUT,
                                          a->output.data + first * a->output.row_stride,
                                          a->batch,
                                          a->heads,
                                          a->queries - first,
                                          a->value_dim,
                                          a->output.batch_stride,
                                          a->output.head_stride,
                                          a->output.row_stride};
    return mh_check_finite(&output, report, error);
}

bool mh_attention_row_is_finite(const float *x, const struct mh_key_ranges *ranges)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        size_t length = mh_range_length(ranges->of[r]);
        if (length > 0 && mh_row_first_nonfinite(x + ranges->of[r].begin, length) < length)
            return false;
    }
    return true;
}

enum mh_status mh_attention_check_scores(const struct mh_attention *a, size_t b, size_t h, size_t i,
                                         const float *x, float scale,
                                         const struct mh_mask_row *mask, struct mh_report *report,
                                         struct mh_error *error)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++)
        for (size_t j = mask->ranges.of[r].begin; j < mask->ranges.of[r].end; j++) {
            if (isfinite(x[j]) || (x[j] == -INFINITY && !mh_mask_shows(mask, j)))
                continue;
            struct mh_tensor_view scores = {.name = MH_TENSOR_SCORES,
                                            .batch = a->batch,
                                            .heads = a->heads,
                                            .rows = a->queries,
                                            .columns = a->keys};
            return mh_fail_nonfinite(&scores, b, h, i, j, x[j] * scale, report, error);
        }
    return MH_OK;
}
