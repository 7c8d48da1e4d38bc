/* What attention hands to its caller beside the output: rows of raw scores, scores and weights, each to its place
 * in the caller's map, where it was asked for. */
#ifndef MH_MAPS_OUT_H
#define MH_MAPS_OUT_H

#include "ops/mask.h"

/* Does the caller want a map of any of these queries of head (b, h)? */
bool mh_wants_maps(const struct mh_attention *a, size_t b, size_t h, struct mh_range queries);

/* Does the caller want raw scores of any of the rows first .. first + count of head (b, h)? */
bool mh_wants_raw_scores(const struct mh_attention *a, size_t b, size_t h, size_t first,
                         size_t count);

/* The same of scores of row (b, h, i). */
bool mh_wants_scores(const struct mh_attention *a, size_t b, size_t h, size_t i);

/* Row (b, h, i) of the raw scores is x [S], all of it. */
void mh_put_raw_scores(const struct mh_attention *a, size_t b, size_t h, size_t i, const float *x);

/* Row (b, h, i) of the scores, which are wanted, is x [S]. */
void mh_put_scores(const struct mh_attention *a, size_t b, size_t h, size_t i, const float *x);

/* Row (b, h, i) of the weights is x [S] * reciprocal within `ranges`, zero elsewhere; x may be overwritten. A
 * mean over heads is added up in its place: heads come in ascending order. */
void mh_put_weights(const struct mh_attention *a, size_t b, size_t h, size_t i, float *x,
                    const struct mh_key_ranges *ranges, float reciprocal);

#endif
