/* The inside of mh_trainer: trainer.c runs it, trainer_file.c writes it down and reads it back. */
#ifndef MH_TRAINER_H
#define MH_TRAINER_H

#include "multihead_train.h"

struct mh_trainer {
    struct mh_network network;
    struct mh_trainer_settings settings;
    size_t size;                  /* floats of each array below */
    float *parameters, *gradient; /* the gradient of the sum of the losses since the last step */
    struct mh_adamw_state state;
    size_t counted; /* places in that sum */
    uint32_t parts; /* batches in that sum */
    void *workspace;
    size_t workspace_bytes;
};

/* Nothing is accumulated. */
void mh_trainer_clear(struct mh_trainer *trainer);

#endif
