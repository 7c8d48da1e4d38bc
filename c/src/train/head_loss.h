/* The head of a network with its loss: logits = x Wᵀ, cross-entropy with one right class a row, and
 * the way back. Logits live for a few hundred rows at a time, and only for rows that have a target:
 * in masked-token learning most have none, and the head is half of the work. */
#ifndef MH_HEAD_LOSS_H
#define MH_HEAD_LOSS_H

#include "multihead_train.h"

#include "train/linear_gradient.h"

/* Floats of scratch. */
size_t mh_head_loss_scratch(size_t in, size_t out, size_t rows);

struct mh_head_loss {
    struct mh_learned_linear head; /* [in] to [out] */
    size_t rows;
    const float *x;         /* [rows, in] */
    const int32_t *targets; /* [rows], each < out; < 0: this row does not count */
    float factor;           /* the gradient is that of factor * Σ losses; 0: of their mean */
    float *d;               /* [rows, in], written: the gradient by x. NULL: no gradient at all */
    float *dweight;         /* as the head's weight, added to */
    float *dbias;           /* [out], added to, or NULL */
    float *scratch;
};

void mh_head_loss(const struct mh_head_loss *loss, struct mh_training_result *result);

#endif
