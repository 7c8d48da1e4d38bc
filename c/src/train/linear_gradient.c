#include "train/linear_gradient.h"

#include "base/size.h"
#include "kernels/kernels.h"
#include "train/transposed_product.h"

size_t mh_learned_linear_scratch(size_t in, size_t out, size_t rows)
{
    size_t forward = mh_size_mul(in, mh_size_add(out, MH_GEMM_COLUMNS));
    size_t backward = mh_size_mul(out, mh_size_add(in, MH_GEMM_COLUMNS));
    size_t sum = mh_size_max(mh_transposed_product_scratch(rows, in, out),
                             mh_transposed_product_scratch(rows, out, in));
    size_t weight = mh_size_add(mh_size_mul(in, out), sum);
    return mh_size_max(mh_size_max(forward, backward), weight);
}

void mh_learned_linear_forward(const struct mh_learned_linear *linear, float *y, const float *x,
                               size_t rows, float *scratch)
{
    size_t in = linear->in, out = linear->out;
    mh_pack(scratch, linear->weight, in, out, linear->out_by_in ? 1 : out,
            linear->out_by_in ? in : 1);
    mh_gemm(y, out, x, in, scratch, linear->bias, rows, out, in, 0, out);
}

static void add_weight_gradient(const struct mh_learned_linear *linear, float *dweight,
                                const float *dy, const float *x, size_t rows, float *scratch)
{
    size_t in = linear->in, out = linear->out;
    float *product = scratch, *rest = scratch + in * out;
    if (linear->out_by_in)
        mh_transposed_product(product, dy, out, out, x, in, in, rows, rest);
    else
        mh_transposed_product(product, x, in, in, dy, out, out, rows, rest);
    mh_row_add(dweight, dweight, product, in * out);
}

void mh_learned_linear_backward(const struct mh_learned_linear *linear, float *dx, float *dweight,
                                float *dbias, const float *dy, const float *x, size_t rows,
                                float *scratch)
{
    size_t in = linear->in, out = linear->out;
    add_weight_gradient(linear, dweight, dy, x, rows, scratch);
    for (size_t r = 0; dbias != NULL && r < rows; r++)
        mh_row_add(dbias, dbias, dy + r * out, out);
    if (dx == NULL)
        return;
    mh_pack(scratch, linear->weight, out, in, linear->out_by_in ? in : 1,
            linear->out_by_in ? 1 : out);
    mh_gemm(dx, in, dy, out, scratch, NULL, rows, in, out, 0, in);
}
