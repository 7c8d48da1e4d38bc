/* What a pass shows of a stack beside its result. */
#ifndef MH_STACK_OUTPUTS_H
#define MH_STACK_OUTPUTS_H

#include "train/attention_branch.h"
#include "train/stack_gradient.h"

/* weights, scores [layers, B, H, T, S], each may be NULL: softmax(scores), before dropout, and scores,
 * as forward left them. */
void mh_stack_write_attention(const struct mh_stack *stack, enum mh_attention_kind kind,
                              float *weights, float *scores);

#endif
