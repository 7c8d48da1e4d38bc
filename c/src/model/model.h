/* A loaded model, as load.c makes it and model.c runs it. */
#ifndef MH_MODEL_H
#define MH_MODEL_H

#include "model/embedding.h"

struct mh_model {
    struct mh_model_config config;
    struct mh_embedding embedding;
    float *norm_weight, *norm_bias; /* [E], the final norm; NULL with post-norm */
    mh_block *blocks[];             /* [L] */
};

/* Are the sizes of a config in range, and do they divide one another? */
enum mh_status mh_model_check_sizes(const struct mh_model_config *config, struct mh_error *error);

#endif
