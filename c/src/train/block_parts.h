/* The learned parts of a layer, by name: what the branches of a block are made of. */
#ifndef MH_BLOCK_PARTS_H
#define MH_BLOCK_PARTS_H

#include "train/block_gradient.h"
#include "train/residual_gradient.h"

size_t mh_block_rows(const struct mh_block_training *training);

/* G D */
size_t mh_block_key_width(const struct mh_block_training *training);

const float *mh_block_parameter(const struct mh_block_training *training,
                                const struct mh_block_layer *layer, enum mh_layer_tensor tensor);
float *mh_block_gradient_of(const struct mh_block_training *training,
                            const struct mh_block_layer *layer, float *gradient,
                            enum mh_layer_tensor tensor);

/* The linear layer whose weight is `tensor`; its bias is the tensor after it. x has `rows` rows. */
void mh_block_linear(const struct mh_block_training *training, const struct mh_block_layer *layer,
                     enum mh_layer_tensor tensor, float *y, const float *x, size_t rows);
void mh_block_linear_backward(const struct mh_block_training *training,
                              const struct mh_block_layer *layer, enum mh_layer_tensor tensor,
                              float *gradient, float *dx, const float *dy, const float *x,
                              size_t rows);

/* A residual branch whose norm's weight is `norm`. `stream` tells its dropout from the others'. */
struct mh_residual mh_block_residual(const struct mh_block_training *training,
                                     const struct mh_block_layer *layer, enum mh_layer_tensor norm,
                                     size_t stream);

/* What the inside of a branch read. */
const float *mh_block_inside(const struct mh_residual *residual);

#endif
