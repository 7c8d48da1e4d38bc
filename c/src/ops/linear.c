#include "ops/linear.h"

#include "base/size.h"
#include "kernels/kernels.h"

size_t mh_linear_columns(size_t out)
{
    return mh_size_add(out, MH_GEMM_COLUMNS - 1) / MH_GEMM_COLUMNS * MH_GEMM_COLUMNS;
}

size_t mh_linear_packed_size(size_t in, size_t out)
{
    return mh_size_mul(in, mh_linear_columns(out));
}

struct mh_linear mh_linear_pack(const struct mh_linear_weights *weights, size_t in, size_t out,
                                float *packed, float *bias)
{
    mh_pack(packed, weights->data, in, out, weights->in_stride, weights->out_stride);
    for (size_t o = 0; o < mh_linear_columns(out); o++)
        bias[o] = weights->bias != NULL && o < out ? weights->bias[o] : 0.0f;
    return (struct mh_linear){.in = in, .out = out, .packed = packed, .bias = bias};
}

void mh_linear_forward(const struct mh_linear *linear, float *out, size_t out_stride,
                       const float *in, size_t in_stride, size_t rows)
{
    mh_gemm(out, out_stride, in, in_stride, linear->packed, linear->bias, rows, linear->out,
            linear->in, 0, linear->out);
}
