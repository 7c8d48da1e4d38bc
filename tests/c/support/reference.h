/* Attention in float64, written the obvious way from the words of multihead.h: no packing, no
 * ranges, no order of sums, nothing shared with the engine. */
#ifndef MH_TEST_REFERENCE_H
#define MH_TEST_REFERENCE_H

#include "multihead.h"

#include <stdbool.h>

/* May query i of head h in batch element b look at key j? `keys` is S. */
bool reference_shows(const struct mh_mask *mask, size_t keys, size_t b, size_t h, size_t i,
                     size_t j);

struct reference {
    double *output;     /* attention: [B, H, T, DV]; multi-head: [B, T, E] */
    double *raw_scores; /* [B, H, T, S] */
    double *scores;     /* [B, H, T, S], -inf where hidden */
    double *weights;    /* [B, H, T, S], before dropout */
    double *dropped;    /* [B, H, T, S], after dropout */
    size_t masked_rows; /* rows that see no key */
};

struct reference reference_attention(const struct mh_attention *attention);

/* `ablations` is a list of `count`, whose layers are not looked at. */
struct reference reference_multihead(const struct mh_multihead_config *config,
                                     const struct mh_multihead_pass *pass,
                                     const struct mh_ablation *ablations, size_t count);

void reference_free(struct reference *reference);

#endif
