/* A stack of blocks with its final norm (pre-norm): an encoder, or what the head reads. */
#ifndef MH_STACK_GRADIENT_H
#define MH_STACK_GRADIENT_H

#include "train/block_gradient.h"

struct mh_stack {
    struct mh_block_training training;
    size_t layers;
    const struct mh_mask *layer_masks; /* [layers], or NULL: training.mask for each */
    uint32_t dropout_seed;
    size_t first_seed; /* layer l drops by mh_training_layer_seed(dropout_seed, this + l) */
    struct mh_block_kept *kept; /* [layers] */
    float *input;               /* [R, E], written before mh_stack_forward */
    float *normed;              /* [R, E] after the final norm; NULL with post-norm */
};

/* Takes what the stack keeps: everything but what its training shares with other stacks. */
void mh_stack_lay_out(struct mh_stack *stack, struct mh_arena *arena);

/* What the stack gives, [R, E]. */
const float *mh_stack_output(const struct mh_stack *stack);

enum mh_status mh_stack_forward(const struct mh_stack *stack, struct mh_error *error);

/* d [R, E]: in, the gradient by the output; out, by the input. */
void mh_stack_backward(const struct mh_stack *stack, float *d, float *gradient);

/* Σ weight * KL of what supervision asks. */
double mh_stack_supervision(const struct mh_stack *stack);

#endif
