/* Heads that are shown, in the first steps of a training, to look so many tokens back: a row's
 * attention is pulled there by a KL term (multihead_train.h, mh_supervision). Whatever looks back by
 * content builds upon such heads, and finds them late by itself where tokens are many. */
#ifndef TRAIN_LESSONS_H
#define TRAIN_LESSONS_H

#include "settings.h"

struct lessons {
    struct mh_supervision of[MOST_LESSONS];
    float *targets; /* room for every lesson of any batch */
};

struct lessons make_lessons(const struct settings *settings);
void free_lessons(struct lessons *lessons);

/* Has the pass taught as the settings say. The targets are in `lessons` until the next call. */
void teach(struct lessons *lessons, const struct settings *settings, struct mh_training_pass *pass);

#endif
