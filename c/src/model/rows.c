#include "model/rows.h"

#include "kernels/kernels.h"
#include "ops/guard.h"

void mh_norm_rows(const struct mh_norm *norm, float *out, const float *x, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r++)
        mh_row_layer_norm(out + r * width, x + r * width, norm->weight, norm->bias, norm->epsilon,
                          width);
}

enum mh_status mh_check_rows(enum mh_tensor name, const float *x, size_t batch, size_t rows,
                             size_t width, struct mh_report *report, struct mh_error *error)
{
    struct mh_tensor_view view = {.name = name,
                                  .data = x,
                                  .batch = batch,
                                  .rows = rows,
                                  .columns = width,
                                  .batch_stride = rows * width,
                                  .row_stride = width};
    return mh_check_finite(&view, report, error);
}
