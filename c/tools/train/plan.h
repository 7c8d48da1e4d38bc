/* Which sequences each part of each step learns from. Every sequence of a length has its turn before
 * any comes again, and a length is drawn as often as it has tokens, so that all texts count alike. */
#ifndef TRAIN_PLAN_H
#define TRAIN_PLAN_H

#include "sequences.h"

struct plan {
    const struct settings *settings;
    const struct sequences *sequences;
    size_t next[MOST_POSITIONS + 1]; /* [length] the sequence whose turn it is */
    size_t step;                     /* steps planned so far */
};

struct part {
    size_t length, batch, first;
    enum task task;
    uint64_t stream; /* of what is hidden, and of dropout */
};

/* Of the steps before `step`, which a resumed training has done. */
struct plan begin_plan(const struct settings *settings, const struct sequences *sequences,
                       size_t step);

/* parts [shard_count] of the next step. */
void plan_step(struct plan *plan, struct part *parts);

#endif
