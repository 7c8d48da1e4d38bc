#include "ops/linear.h"

#include "base/error.h"
#include "base/parallel.h"
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

/* ===== The product, split over threads ======================================================
 *
 * Rows are independent of each other, and so are columns: any cut gives the same bits. */

/* Rows of a task are a multiple of those of every register tile. */
#define TASK_ROWS 12

struct product {
    const struct mh_linear *linear;
    float *out;
    const float *in;
    size_t out_stride, in_stride, rows;
    void *scratch;
    size_t per_task; /* rows or columns */
};

static void quantise(const struct product *p, size_t m0, size_t m1)
{
    if (p->linear->precision == MH_INT8)
        mh_int8_quantise(p->scratch, p->in, p->in_stride, p->linear->in, m0, m1);
}

static void multiply(const struct product *p, size_t m0, size_t m1, size_t n0, size_t n1)
{
    const struct mh_linear *l = p->linear;
    if (l->precision == MH_INT8)
        mh_int8_gemm(p->out, p->out_stride, p->scratch, l->packed, l->bias, l->out, l->in, m0, m1,
                     n0, n1);
    else
        mh_gemm(p->out + m0 * p->out_stride, p->out_stride, p->in + m0 * p->in_stride, p->in_stride,
                l->packed, l->bias, m1 - m0, l->out, l->in, n0, n1);
}

static void multiply_rows(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    size_t begin = index * p->per_task, end = mh_size_min(begin + p->per_task, p->rows);
    (void)thread;
    quantise(p, begin, end);
    multiply(p, begin, end, 0, p->linear->out);
}

static void multiply_columns(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    size_t begin = index * p->per_task, end = mh_size_min(begin + p->per_task, p->linear->out);
    (void)thread;
    multiply(p, 0, p->rows, begin, end);
}

void mh_linear_forward(const struct mh_linear *linear, float *out, size_t out_stride,
                       const float *in, size_t in_stride, size_t rows, void *scratch)
{
    struct product p = {linear, out, in, out_stride, in_stride, rows, scratch, 0};
    size_t products = mh_size_mul(mh_size_mul(rows, linear->out), linear->in);
    size_t tasks = mh_parallel_worth(products);
    if (tasks == 1) {
        quantise(&p, 0, rows);
        multiply(&p, 0, rows, 0, linear->out);
    } else if (rows >= TASK_ROWS * tasks) {
        p.per_task = mh_parallel_part(rows, tasks, TASK_ROWS);
        mh_parallel_for((rows - 1) / p.per_task + 1, multiply_rows, &p);
    } else {
        quantise(&p, 0, rows);
        p.per_task = mh_parallel_part(linear->out, tasks, mh_linear_columns(linear->precision, 1));
        mh_parallel_for((linear->out - 1) / p.per_task + 1, multiply_columns, &p);
    }
}
