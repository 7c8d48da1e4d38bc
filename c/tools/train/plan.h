/* Which sequences each part of each step learns from. Every sequence of a group has its turn before
 * any comes again, and a group is drawn as often as it has tokens, so that all texts count alike. */
#ifndef TRAIN_PLAN_H
#define TRAIN_PLAN_H

#include "sequences.h"

#include <stdbool.h>

struct plan {
    const struct settings *settings;
    const struct sequences *sequences;
    size_t *next; /* [group_count] the sequence whose turn it is */
    size_t step;  /* steps planned so far */
};

struct part {
    const struct group *group;
    size_t batch, first;
    enum task task;
    uint64_t stream; /* of what is hidden, and of dropout */
    bool taught;     /* with the lessons of the settings */
};

/* Of the steps before `step`, which a resumed training has done. */
struct plan begin_plan(const struct settings *settings, const struct sequences *sequences,
                       size_t step);
void free_plan(struct plan *plan);

/* parts [shard_count] of the next step. */
void plan_step(struct plan *plan, struct part *parts);

#endif
