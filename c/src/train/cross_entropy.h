/* The loss of next-token prediction: cross-entropy of softmax(logits) with one right token a row,
 * loss = -ln softmax(logits)[target]. */
#ifndef MH_CROSS_ENTROPY_H
#define MH_CROSS_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

/* A row with a target < 0 counts for nothing: no loss, zero gradient. torch writes -100. */
size_t mh_count_targets(const int32_t *targets, size_t rows);

/* Σ of the losses of the rows that count, logits [rows, V], targets [rows] < V. Writes
 * gradient [rows, V] = factor * (softmax(logits) - onehot(target)): for the mean, as torch takes
 * it, factor is 1 / mh_count_targets(…). `gradient` may be `logits`. */
double mh_cross_entropy(float *gradient, const float *logits, const int32_t *targets, size_t rows,
                        size_t vocabulary, float factor);

#endif
