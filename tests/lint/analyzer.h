/* Tells clang's analyzer what it cannot see from one file at a time: mh_fail never returns MH_OK. */
#include "base/error.h"

static inline enum mh_status mh_failure(enum mh_status status)
{
    if (status == MH_OK)
        __builtin_unreachable();
    return status;
}

#define mh_fail(...) mh_failure(mh_fail(__VA_ARGS__))
