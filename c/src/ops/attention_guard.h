/* The finite-ness guard of attention: what goes in, what softmax sees, what comes out. */
#ifndef MH_ATTENTION_GUARD_H
#define MH_ATTENTION_GUARD_H

#include "ops/attention.h"
#include "ops/mask.h"

/* NONFINITE, with report and message, at the first NaN or infinity of query, key, value and mask.bias,
 * or of the output's rows from `first` on. */
enum mh_status mh_attention_check_inputs(const struct mh_attention *a,
                                         const struct mh_attention_context *context,
                                         struct mh_report *report, struct mh_error *error);
enum mh_status mh_attention_check_output(const struct mh_attention *a, size_t first,
                                         struct mh_report *report, struct mh_error *error);

/* Is x [S] finite throughout the ranges? One quick pass. */
bool mh_attention_row_is_finite(const float *x, const struct mh_key_ranges *ranges);

/* The scores scale * x of row (b, h, i), hidden keys at -inf: NONFINITE if one of a visible key is not
 * finite. */
enum mh_status mh_attention_check_scores(const struct mh_attention *a, size_t b, size_t h, size_t i,
                                         const float *x, float scale,
                                         const struct mh_mask_row *mask, struct mh_report *report,
                                         struct mh_error *error);

#endif
