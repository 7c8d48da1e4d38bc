#include "ops/linear.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/int8.h"
#include "kernels/kernels.h"

#include <stdbool.h>

enum mh_status mh_linear_check(int32_t precision, size_t longest, struct mh_error *error)
{
    if (precision != MH_F32 && precision != MH_INT8)
        return mh_fail(error, MH_ARGUMENT, "precision is %d: it must be 0 (f32) or 1 (int8)",
                       precision);
    if (precision == MH_INT8 && longest > MH_INT8_LONGEST)
        return mh_fail(error, MH_UNSUPPORTED,
                       "a layer has %zu inputs: int8 can sum over %zu, so use f32", longest,
                       MH_INT8_LONGEST);
    return MH_OK;
}

size_t mh_linear_columns(int32_t precision, size_t out)
{
    size_t panel = MH_GEMM_COLUMNS;
    if (precision == MH_INT8)
        panel = MH_INT8_COLUMNS;
    return mh_size_add(out, panel - 1) / panel * panel;
}

size_t mh_linear_packed_size(int32_t precision, size_t in, size_t out)
{
    size_t columns = mh_linear_columns(precision, out);
    if (precision == MH_F32)
        return mh_size_mul(in, columns);
    bool fits = mh_size_mul(mh_size_add(in, 4), columns) != SIZE_MAX; /* constants and padding */
    return fits ? mh_int8_packed_size(in, columns) : SIZE_MAX;
}

struct mh_linear mh_linear_pack(int32_t precision, const struct mh_linear_weights *weights,
                                size_t in, size_t out, float *packed, float *bias)
{
    if (precision == MH_INT8)
        mh_int8_pack(packed, weights->data, in, out, weights->in_stride, weights->out_stride);
    else
        mh_pack(packed, weights->data, in, out, weights->in_stride, weights->out_stride);
    for (size_t o = 0; bias != NULL && o < mh_linear_columns(precision, out); o++)
        bias[o] = weights->bias != NULL && o < out ? weights->bias[o] : 0.0f;
    return (struct mh_linear){
        .in = in, .out = out, .precision = precision, .packed = packed, .bias = bias};
}

size_t mh_linear_scratch(const struct mh_linear *linear, size_t rows)
{
    return linear->precision == MH_INT8 ? mh_size_mul(rows, mh_int8_rows_size(1, linear->in)) : 0;
}

void mh_linear_forward(const struct mh_linear *linear, float *out, size_t out_stride,
                       const float *in, size_t in_stride, size_t rows, void *scratch)
{
    if (linear->precision == MH_INT8) {
        mh_int8_quantise(scratch, in, in_stride, linear->in, 0, rows);
        mh_int8_gemm(out, out_stride, scratch, linear->packed, linear->bias, linear->out,
                     linear->in, 0, rows, 0, linear->out);
    } else {
        mh_gemm(out, out_stride, in, in_stride, linear->packed, linear->bias, rows, linear->out,
                linear->in, 0, linear->out);
    }
}
