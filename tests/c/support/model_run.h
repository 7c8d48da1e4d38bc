/* One pass of a model, as unkind to it as a caller may be. Include after <cmocka.h>. */
#ifndef MH_TEST_MODEL_RUN_H
#define MH_TEST_MODEL_RUN_H

#include "multihead.h"

#include <stdlib.h>
#include <string.h>

/* In a workspace of exactly the planned bytes, at an odd address, full of NaN. */
static inline enum mh_status try_run(const mh_model *model, const struct mh_model_pass *pass,
                                     struct mh_report *report, struct mh_error *error)
{
    size_t bytes;
    enum mh_status status = mh_model_workspace(model, pass, &bytes, error);
    if (status != MH_OK)
        return status;
    unsigned char *workspace = malloc(bytes + 1);
    assert_non_null(workspace);
    memset(workspace, 0xFF, bytes + 1);
    status = mh_model_forward(model, pass, workspace + 1, bytes, report, error);
    free(workspace);
    return status;
}

#endif
