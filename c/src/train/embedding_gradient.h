/* What the first block reads, while it is being learned: rows of a table or projected patches, and
 * positions. */
#ifndef MH_EMBEDDING_GRADIENT_H
#define MH_EMBEDDING_GRADIENT_H

#include "multihead_train.h"

/* A sequence of tokens, or of patches: one of the two is NULL. */
struct mh_embedded {
    const struct mh_network *network;
    const float *parameters;
    size_t batch, length;  /* B, T; of a classifier, with its class token */
    const int32_t *tokens; /* [B, T] */
    const float *patches;  /* [B, patches, P] */
    float *scratch;        /* mh_embedded_scratch floats */
};

/* Floats of scratch. */
size_t mh_embedded_scratch(const struct mh_embedded *embedded);

/* out [B, T, E] = what + positions; with sinusoidal ones, what * sqrt(E) + them. */
void mh_embedded_forward(const struct mh_embedded *embedded, float *out);

/* Adds to `gradient`, that of the whole network, from dy [B, T, E]. */
void mh_embedded_backward(const struct mh_embedded *embedded, const float *dy, float *gradient);

#endif
