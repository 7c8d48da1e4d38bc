/* Checks that a tensor by strides writes no element twice. */
#ifndef MH_STRIDES_H
#define MH_STRIDES_H

#include "multihead.h"

struct mh_axis {
    const char *name; /* for the message: "output.row_stride" */
    size_t count, stride;
};

#define MH_AXES_MOST 3

/* SHAPE unless every axis with more than one element steps over all that the axes with smaller
 * strides span. Rows are `width` contiguous elements. `count` is at most MH_AXES_MOST. */
enum mh_status mh_check_strides(const struct mh_axis *axes, size_t count, size_t width,
                                struct mh_error *error);

#endif
