/* Token and position embeddings, and the head tied to the former (Press & Wolf 2017): one matrix
 * wte [V, E], packed once as the right-hand side of the head's product and read back by columns
 * for the tokens, so that it is in memory only once. */
#ifndef MH_EMBEDDING_H
#define MH_EMBEDDING_H

#include "multihead.h"

struct mh_embedding {
    size_t vocabulary, positions, width; /* V, P, E */
    float *packed;                       /* wteᵀ [E, V] in panels, see kernels.h */
    float *position;                     /* wpe [P, E] */
};

/* Floats of `packed`. */
size_t mh_embedding_packed_size(size_t vocabulary, size_t width);

/* out [length, E] = wte[tokens] + wpe[0 .. length). Tokens are in range, length is at most P. */
void mh_embedding_rows(const struct mh_embedding *embedding, float *out, const int32_t *tokens,
                       size_t length);

/* logits [rows, V] = x wteᵀ, x [rows, E]. */
void mh_embedding_logits(const struct mh_embedding *embedding, float *logits, const float *x,
                         size_t rows);

#endif
