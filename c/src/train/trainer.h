/* The inside of mh_trainer: trainer.c runs it, trainer_file.c writes it down and reads it back. */
#ifndef MH_TRAINER_H
#define MH_TRAINER_H

#include "multihead_train.h"

struct mh_trainer {
    struct mh_network network;
    struct mh_trainer_settings settings;
    size_t size; /* floats of each array below */
    float *parameters;
    float *gradient; /* of the sum of the losses since the last step; NULL before the first batch to
                        learn from, as mean and variance are: who only looks needs none of them */
    struct mh_adamw_state state; /* mean and variance follow the gradient, in one block */
    size_t counted;              /* places in that sum */
    uint32_t parts;              /* batches in that sum */
    void *workspace;
    size_t workspace_bytes;
};

/* There is a gradient, mean and variance: zeros at first. */
enum mh_status mh_trainer_begin_learning(struct mh_trainer *trainer, struct mh_error *error);

/* Nothing is accumulated. */
void mh_trainer_clear(struct mh_trainer *trainer);

#endif
