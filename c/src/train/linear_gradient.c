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
    mh_pack(scratch, linear->weight, in, out, linear->in_stride, linear->out_stride);
    mh_gemm(y, out, x, in, scratch, linear->bias, rows, out, in, 0, out);
}

/* to += product [rows, columns] */
static void add_product(float *to, size_t row_stride, size_t column_stride, const float *product,
                        size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++) {
        float *row = to + r * row_stride;
        const float *from = product + r * columns;
        if (column_stride == 1)
            mh_row_add(row, row, from, columns);
        for (size_t c = 0; column_stride != 1 && c < columns; c++)
            row[c * column_stride] += from[c];
    }
}

/* The product is laid out so that it is added along the rows that lie together. */
static void add_weight_gradient(const struct mh_learned_linear *linear, float *dweight,
                                const float *dy, const float *x, size_t rows, float *scratch)
{
    size_t in = linear->in, out = linear->out;
    float *product = scratch, *rest = scratch + in * out;
    if (linear->out_stride == 1) {
        mh_transposed_product(product, x, in, in, dy, out, out, rows, rest);
        add_product(dweight, linear->in_stride, 1, product, in, out);
        return;
    }
    mh_transposed_product(product, dy, out, out, x, in, in, rows, rest);
    add_product(dweight, linear->out_stride, linear->in_stride, product, out, in);
}

void mh_learned_linear_backward(const struct mh_learned_linear *linear, float *dx, float *dweight,
                                float *dbias, const float *dy, const float *x, size_t rows,
                                float *scratch)
{
    size_t in = linear->in, out = linear->out;
    if (dweight != NULL)
        add_weight_gradient(linear, dweight, dy, x, rows, scratch);
    for (size_t r = 0; dbias != NULL && r < rows; r++)
        mh_row_add(dbias, dbias, dy + r * out, out);
    if (dx == NULL)
        return;
    mh_pack(scratch, linear->weight, out, in, linear->out_stride, linear->in_stride);
    mh_gemm(dx, in, dy, out, scratch, NULL, rows, in, out, 0, in);
}
