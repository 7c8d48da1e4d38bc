/* The gradient of scaled dot-product attention, under every mask, with shared key and value heads,
 * and with dropout. Of what the forward pass computed it needs the scores alone. */
#ifndef MH_ATTENTION_GRADIENT_H
#define MH_ATTENTION_GRADIENT_H

#include "multihead_train.h"

#include <stdbool.h>

struct mh_attention_gradient {
    /* What mh_attention_forward was called with: inputs, mask, scale, dropout and its seed, and
     * `scores`, which that call filled. Keys that are hidden must be finite too. */
    const struct mh_attention *attention;
    struct mh_rows output;    /* [B, H, T, DV], gradient of the loss by the output */
    struct mh_rows_out query; /* [B, H, T, D], written; these three may not overlap … */
    struct mh_rows_out key;   /* [B, G, S, D], written */
    struct mh_rows_out value; /* [B, G, S, DV], written; … anything else */

    /* Of those that are of this layer and kind, the gradient of factor * weight * Σ KL is added. */
    const struct mh_supervision *supervision; /* [supervision_count] */
    size_t supervision_count, layer;
    bool cross;
    float factor;
};

/* Floats of scratch: three maps [T, S], and the panels of one head. */
size_t mh_attention_backward_scratch(const struct mh_attention *attention);

/* With P = softmax(scores), Z what dropout makes of P, and ⊙ the product by elements:
 *
 *     dV = Zᵀ dO                         dP = dropout(dO Vᵀ), with what was dropped in Z
 *     dS = P ⊙ (dP - rowsum(P ⊙ dP))     dQ = scale dS K     dK = scale dSᵀ Q
 *
 * (from eq. 1 of Vaswani et al. 2017 by the chain rule). Keys and values that several heads read
 * get the sum over those heads. A row that sees no key has zero gradients, and adds none.
 * KL(t ‖ P) with given rows t adds P Σt - t to dS, before the scale. */
void mh_attention_backward(const struct mh_attention_gradient *gradient, float *scratch);

/* Σ weight * KL over the rows of the head that `supervision` names. scratch [S]. */
double mh_attention_divergence(const struct mh_attention *attention,
                               const struct mh_supervision *supervision, float *scratch);

#endif
