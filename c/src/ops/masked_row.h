/* One row [S] of scores or weights of which only the ranges of visible keys hold anything. Ranges
 * are ascending and disjoint; what lies outside of them is neither read nor written, unless a
 * function says so. */
#ifndef MH_MASKED_ROW_H
#define MH_MASKED_ROW_H

#include "ops/mask.h"

/* x[begin..end) = value wherever the ranges do not reach. */
void mh_row_fill_outside(float *x, size_t begin, size_t end, const struct mh_key_ranges *ranges,
                         float value);

/* out [S] = x within the ranges, `outside` elsewhere. */
void mh_row_copy(float *out, const float *x, size_t keys, const struct mh_key_ranges *ranges,
                 float outside);

/* out += x */
void mh_row_add_ranges(float *out, const float *x, const struct mh_key_ranges *ranges);

/* x *= factor */
void mh_row_scale_ranges(float *x, const struct mh_key_ranges *ranges, float factor);

/* Scores that are not -inf become 0, so that softmax will look equally at their keys. */
void mh_row_level(float *x, const struct mh_key_ranges *ranges);

/* The numerators of softmax(scale * x), scale > 0, over all the ranges together: x becomes
 * exp(scale (x - max x)), and the weights are x * reciprocal. If every x is -inf, no key is visible:
 * false, zeros, and a reciprocal of 1. NaN makes the reciprocal NaN. */
bool mh_row_exp_ranges(float *x, const struct mh_key_ranges *ranges, float scale,
                       float *reciprocal);

/* Scores become weights, softmax over all the ranges together. False, and zeros, if every score is
 * -inf: no key is visible. NaN makes all weights NaN. */
bool mh_row_softmax(float *x, const struct mh_key_ranges *ranges);

#endif
