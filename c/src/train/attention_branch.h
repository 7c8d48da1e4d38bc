/* The attention branches of a block: of a sequence to itself, and to the memory of an encoder. */
#ifndef MH_ATTENTION_BRANCH_H
#define MH_ATTENTION_BRANCH_H

#include "train/block_gradient.h"

enum mh_attention_kind { MH_SELF_ATTENTION, MH_CROSS_ATTENTION };

struct mh_attention_kept mh_attention_keep(const struct mh_block_training *training,
                                           enum mh_attention_kind kind, struct mh_arena *arena);

/* Floats of scratch, and of the gradients inside the branch. */
enum mh_status mh_attention_branch_scratch(const struct mh_block_training *training,
                                           enum mh_attention_kind kind, size_t *floats,
                                           struct mh_error *error);
size_t mh_attention_branch_wide(const struct mh_block_training *training,
                                enum mh_attention_kind kind);

/* `input` [R, E] and the kept output are the residual stream before and after. */
enum mh_status mh_attention_branch_forward(const struct mh_block_training *training,
                                           const struct mh_block_layer *layer,
                                           enum mh_attention_kind kind, const float *input,
                                           struct mh_error *error);

/* d [R, E] as in mh_block_training_backward. */
void mh_attention_branch_backward(const struct mh_block_training *training,
                                  const struct mh_block_layer *layer, enum mh_attention_kind kind,
                                  const float *input, float *d, float *gradient);

/* As mh_block_supervision. */
double mh_attention_branch_supervision(const struct mh_block_training *training,
                                       const struct mh_block_layer *layer,
                                       enum mh_attention_kind kind);

#endif
