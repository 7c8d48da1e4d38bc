#include "ops/guard.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdbool.h>

enum mh_status mh_fail_nonfinite(const struct mh_tensor_view *tensor, size_t b, size_t h, size_t r,
                                 size_t c, float value, struct mh_report *report,
                                 struct mh_error *error)
{
    size_t row = (b * mh_size_max(tensor->heads, 1) + h) * tensor->rows + r;
    report->nonfinite_tensor = (int32_t)tensor->name;
    report->nonfinite_index = (uint32_t)(row * tensor->columns + c);
    report->nonfinite_value = value;

    const char *name = mh_tensor_name((int32_t)tensor->name);
    if (tensor->heads == 0)
        return mh_fail(error, MH_NONFINITE, "%s[b=%zu, row=%zu, e=%zu] is %g", name, b, r, c,
                       (double)value);
    bool is_map = tensor->name == MH_TENSOR_SCORES || tensor->name == MH_TENSOR_BIAS;
    return mh_fail(error, MH_NONFINITE,
                   is_map ? "%s[b=%zu, h=%zu, query=%zu, key=%zu] is %g"
                          : "%s[b=%zu, h=%zu, row=%zu, d=%zu] is %g",
                   name, b, h, r, c, (double)value);
}

/* Index of the first offending number of a row; `columns` if there is none. */
static size_t first_offence(const float *row, size_t columns, bool minus_infinity_is_fine)
{
    size_t c = mh_row_first_nonfinite(row, columns);
    while (c < columns && minus_infinity_is_fine && row[c] == -INFINITY)
        c += 1 + mh_row_first_nonfinite(row + c + 1, columns - c - 1);
    return c;
}

enum mh_status mh_check_finite(const struct mh_tensor_view *tensor, struct mh_report *report,
                               struct mh_error *error)
{
    for (size_t b = 0; b < tensor->batch; b++)
        for (size_t h = 0; h < mh_size_max(tensor->heads, 1); h++)
            for (size_t r = 0; r < tensor->rows; r++) {
                const float *row = tensor->data + b * tensor->batch_stride +
                                   h * tensor->head_stride + r * tensor->row_stride;
                size_t c = first_offence(row, tensor->columns, tensor->name == MH_TENSOR_BIAS);
                if (c < tensor->columns)
                    return mh_fail_nonfinite(tensor, b, h, r, c, row[c], report, error);
            }
    return MH_OK;
}
