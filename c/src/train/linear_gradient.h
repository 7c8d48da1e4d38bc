/* A linear layer y = x W + b while its weight is being learned: plain memory that the optimiser
 * changes, packed anew for every product. x [rows, in], y [rows, out], rows following each other. */
#ifndef MH_LINEAR_GRADIENT_H
#define MH_LINEAR_GRADIENT_H

#include <stddef.h>

struct mh_learned_linear {
    size_t in, out;
    size_t in_stride, out_stride; /* of the weight: (out, 1) is [in, out], GPT-2's; (1, in) is
                                     [out, in], a tied head's and torch's */
    const float *weight;
    const float *bias; /* [out], or NULL */
};

/* Floats of scratch that either call below needs. */
size_t mh_learned_linear_scratch(size_t in, size_t out, size_t rows);

/* y = x W + b. May not overlap. */
void mh_learned_linear_forward(const struct mh_learned_linear *linear, float *y, const float *x,
                               size_t rows, float *scratch);

/* From dy, the gradient of the loss by y:
 *
 *     dx       = dy Wᵀ        written; NULL if nobody wants it; may not overlap
 *     dweight += xᵀ dy        laid out as the weight; NULL if nobody wants it
 *     dbias   += Σ_rows dy    NULL if there is none
 */
void mh_learned_linear_backward(const struct mh_learned_linear *linear, float *dx, float *dweight,
                                float *dbias, const float *dy, const float *x, size_t rows,
                                float *scratch);

#endif
