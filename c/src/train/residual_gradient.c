#include "train/residual_gradient.h"

#include "base/random.h"
#include "kernels/kernels.h"
#include "ops/dropout.h"
#include "train/row_gradients.h"

#include <string.h>

static void norm_rows(const struct mh_residual *r, float *out, const float *x)
{
    for (size_t row = 0; row < r->rows; row++)
        mh_row_layer_norm(out + row * r->width, x + row * r->width, r->norm_weight, r->norm_bias,
                          r->epsilon, r->width);
}

/* In place. */
static void norm_rows_backward(const struct mh_residual *r, float *d, const float *x,
                               float *dweight, float *dbias)
{
    for (size_t row = 0; row < r->rows; row++)
        mh_row_layer_norm_gradient(d + row * r->width, dweight, dbias, d + row * r->width,
                                   x + row * r->width, r->norm_weight, r->epsilon, r->width);
}

static void drop_rows(const struct mh_residual *r, float *x)
{
    for (size_t row = 0; row < r->rows; row++)
        mh_dropout_row(x + row * r->width, 0, r->width, r->dropout,
                       mh_random_stream(r->seed, row / r->length, r->stream, row % r->length));
}

const float *mh_residual_enter(const struct mh_residual *r)
{
    if (r->post_norm)
        return r->input;
    norm_rows(r, r->kept, r->input);
    return r->kept;
}

void mh_residual_leave(const struct mh_residual *r, float *branch)
{
    float *sum = r->post_norm ? r->kept : r->output;
    drop_rows(r, branch);
    mh_row_add(sum, r->input, branch, r->rows * r->width);
    if (r->post_norm)
        norm_rows(r, r->output, sum);
}

void mh_residual_leave_backward(const struct mh_residual *r, float *d, float *dbranch,
                                float *dweight, float *dbias)
{
    if (r->post_norm)
        norm_rows_backward(r, d, r->kept, dweight, dbias);
    memcpy(dbranch, d, r->rows * r->width * sizeof *d);
    drop_rows(r, dbranch);
}

void mh_residual_enter_backward(const struct mh_residual *r, float *d, float *dinside,
                                float *dweight, float *dbias)
{
    if (!r->post_norm)
        norm_rows_backward(r, dinside, r->input, dweight, dbias);
    mh_row_add(d, d, dinside, r->rows * r->width);
}
