/* The finite-ness guard: finds the first NaN or infinity of a tensor and says where it is. */
#ifndef MH_GUARD_H
#define MH_GUARD_H

#include "multihead.h"

/* A [batch, heads, rows, columns] tensor by strides; element (b, h, r, c) is
 * data[b * batch_stride + h * head_stride + r * row_stride + c]. */
struct mh_tensor_view {
    enum mh_tensor name;
    const float *data;
    size_t batch, heads, rows, columns; /* heads 0: the tensor has no head axis */
    size_t batch_stride, head_stride, row_stride;
};

/* NONFINITE, with report and message, at the first NaN or infinity in the order of the shape. A
 * bias may hold -infinity. */
enum mh_status mh_check_finite(const struct mh_tensor_view *tensor, struct mh_report *report,
                               struct mh_error *error);

/* The failure itself: element (b, h, r, c) of the tensor is `value`. */
enum mh_status mh_fail_nonfinite(const struct mh_tensor_view *tensor, size_t b, size_t h, size_t r,
                                 size_t c, float value, struct mh_report *report,
                                 struct mh_error *error);

#endif
