/* A step's gradient on all cores. Each part of the batch (a shard) is one pass with a gradient of its
 * own; whichever worker is free takes the next. Their sum is taken in the order of the shards, so that
 * the result has the same bits however many workers there are. */
#ifndef TRAIN_WORKERS_H
#define TRAIN_WORKERS_H

#include "plan.h"

struct workers;

/* Ends the program if there is no memory. `count` threads, this one among them. */
struct workers *begin_workers(const struct settings *settings, const struct sequences *sequences,
                              size_t count);
void end_workers(struct workers *workers);

/* Writes gradient [n], the mean over the shards of the gradients of their mean losses, and the
 * result of each shard, results [shard_count]. Ends the program if a pass fails. */
void compute_step(struct workers *workers, const struct part *parts, const float *parameters,
                  float *gradient, struct mh_training_result *results);

#endif
