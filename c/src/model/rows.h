/* What block and model do to hidden states, row by row. */
#ifndef MH_ROWS_H
#define MH_ROWS_H

#include "multihead.h"

/* Layer norm of rows of E. */
struct mh_norm {
    const float *weight, *bias; /* [E] */
    float epsilon;
};

/* out [rows, width] = norm of x; out may be x. */
void mh_norm_rows(const struct mh_norm *norm, float *out, const float *x, size_t rows,
                  size_t width);

/* NONFINITE at the first NaN or infinity of x [batch * rows, width], which is `name` to the report. */
enum mh_status mh_check_rows(enum mh_tensor name, const float *x, size_t batch, size_t rows,
                             size_t width, struct mh_report *report, struct mh_error *error);

#endif
