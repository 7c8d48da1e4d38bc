#include "ops/strides.h"

#include "base/error.h"
#include "base/size.h"

#include <stdbool.h>

enum mh_status mh_check_strides(const struct mh_axis *axes, size_t count, size_t width,
                                struct mh_error *error)
{
    bool done[MH_AXES_MOST] = {false};
    size_t span = width;
    for (size_t round = 0; round < count; round++) {
        size_t next = count; /* the axis with the smallest stride among those left */
        for (size_t i = 0; i < count; i++)
            if (!done[i] && axes[i].count > 1 &&
                (next == count || axes[i].stride < axes[next].stride))
                next = i;
        if (next == count)
            return MH_OK;
        if (axes[next].stride < span)
            return mh_fail(error, MH_SHAPE,
                           "%s is %zu, less than the %zu elements it must step over",
                           axes[next].name, axes[next].stride, span);
        span = mh_size_add(span, mh_size_mul(axes[next].stride, axes[next].count - 1));
        done[next] = true;
    }
    return MH_OK;
}
