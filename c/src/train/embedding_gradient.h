/* Token and learned position embeddings while they are being learned: plain tables, which the tied
 * head reads as a mh_learned_linear stored [out, in]. */
#ifndef MH_EMBEDDING_GRADIENT_H
#define MH_EMBEDDING_GRADIENT_H

#include <stddef.h>
#include <stdint.h>

/* out [batch, length, width] = wte[tokens] + wpe[0 .. length), tokens [batch, length] < V. */
void mh_learned_embedding_forward(float *out, const float *wte, const float *wpe,
                                  const int32_t *tokens, size_t batch, size_t length, size_t width);

/* dwte[token] += and dwpe[position] += the rows of dy [batch, length, width]. */
void mh_learned_embedding_backward(float *dwte, float *dwpe, const float *dy, const int32_t *tokens,
                                   size_t batch, size_t length, size_t width);

#endif
