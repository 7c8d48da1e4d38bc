/* A residual branch with its norm and dropout, forward and backward, around whatever lies inside:
 *
 *     pre-norm     output = input + dropout(inside(LN(input)))
 *     post-norm    output = LN(input + dropout(inside(input)))
 *
 *     x = mh_residual_enter(r); … branch = inside(x) …; mh_residual_leave(r, branch);
 *     mh_residual_leave_backward(…); … din = gradient of inside …; mh_residual_enter_backward(…);
 *
 * All matrices are [rows, width]. */
#ifndef MH_RESIDUAL_GRADIENT_H
#define MH_RESIDUAL_GRADIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mh_residual {
    size_t rows, width;
    bool post_norm;
    float epsilon;
    const float *norm_weight, *norm_bias;
    float dropout;
    uint32_t seed;
    size_t length, stream; /* row r drops by mh_random_stream(seed, r / length, stream, r % length),
                              as mh_block_forward does with stream = heads + 0 or 1 */
    const float *input;    /* kept until backward, as are the next two */
    float *kept;           /* LN(input), or with post-norm the sum before LN */
    float *output;
};

/* What the inside reads. */
const float *mh_residual_enter(const struct mh_residual *residual);

/* Writes output. `branch` is changed: dropped out. */
void mh_residual_leave(const struct mh_residual *residual, float *branch);

/* d: in, the gradient by output; out, by the sum. Writes dbranch, and adds to the norm's dweight
 * and dbias, if it is here that the norm is. */
void mh_residual_leave_backward(const struct mh_residual *residual, float *d, float *dbranch,
                                float *dweight, float *dbias);

/* d: in, the gradient by the sum; out, by input. dinside is the gradient by what _enter gave, and
 * is changed. */
void mh_residual_enter_backward(const struct mh_residual *residual, float *d, float *dinside,
                                float *dweight, float *dbias);

#endif
