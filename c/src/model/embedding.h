/* Token and position embeddings, and the head tied to the former (Press & Wolf 2017): one matrix
 * wte [V, E], packed once as the right-hand side of the head's product and read back by columns
 * for the tokens, so that it is in memory only once.
 *
 * In int8 a packed weight has 7 bits, too few for what everything else is computed from: what
 * rounding took away is kept in 8 bits more, for the tokens alone. */
#ifndef MH_EMBEDDING_H
#define MH_EMBEDDING_H

#include "ops/linear.h"

struct mh_embedding {
    size_t vocabulary, positions, width; /* V, P, E */
    int32_t precision;                   /* enum mh_precision */
    float *packed;                       /* wteᵀ [E, V] in panels, as mh_linear has it */
    int8_t *remainder; /* [V, E], with MH_INT8: wte - packed, in scale/REMAINDER_STEPS of the row */
    float *position;   /* wpe [P, E] */
};

/* Takes over `position` [P, E], and packs `tokens` wte [V, E] into memory of its own, of which
 * `packed` and `remainder` are freed with free. Errors: MEMORY, UNSUPPORTED. */
enum mh_status mh_embedding_create(struct mh_embedding *embedding, const float *tokens,
                                   struct mh_error *error);

/* out [length, E] = wte[tokens] + wpe[0 .. length). Tokens are in range, length is at most P. */
void mh_embedding_rows(const struct mh_embedding *embedding, float *out, const int32_t *tokens,
                       size_t length);

/* Bytes of scratch for the logits of so many rows. */
size_t mh_embedding_scratch(const struct mh_embedding *embedding, size_t rows);

/* logits [rows, V] = x wteᵀ, x [rows, E]. */
void mh_embedding_logits(const struct mh_embedding *embedding, float *logits, const float *x,
                         size_t rows, void *scratch);

#endif
