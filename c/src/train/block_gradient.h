/* One transformer block of a model that is being learned: forward keeps what backward needs. */
#ifndef MH_BLOCK_GRADIENT_H
#define MH_BLOCK_GRADIENT_H

#include "multihead_train.h"

#include "base/arena.h"

/* What every layer of a pass has in common. Rows R = B * T. */
struct mh_block_training {
    const struct mh_network *network;
    const struct mh_model_config *config; /* &network->model */
    size_t batch, length;                 /* B, T */
    struct mh_mask mask;
    int32_t scale_mode;
    float scale;
    float attention_dropout, residual_dropout;
    float *scratch; /* mh_block_training_scratch floats */
    size_t scratch_floats;
    float *wide;   /* [R, max(E + 2 G D, F)] gradients inside a branch */
    float *narrow; /* [R, E] */
    float *branch; /* [R, E] */
};

/* What one layer keeps from forward to backward. */
struct mh_block_kept {
    float *attention_norm, *attention_output; /* [R, E] each, see mh_residual */
    float *qkv;                               /* [R, E + 2 G D] */
    float *scores;                            /* [B, H, T, T] */
    float *heads;                             /* [R, E] */
    float *ffn_norm, *ffn_output;             /* [R, E] each */
    float *ffn_in, *ffn_hidden;               /* [R, F] before and after the activation */
};

struct mh_block_kept mh_block_keep(const struct mh_block_training *training,
                                   struct mh_arena *arena);

/* Floats of scratch. Reads the sizes alone. */
enum mh_status mh_block_training_scratch(const struct mh_block_training *training, size_t *floats,
                                         struct mh_error *error);

/* One layer: which parameters, its input [R, E] and its dropout seed. */
struct mh_block_layer {
    const float *parameters; /* of the whole model */
    size_t layer;
    uint32_t seed;
    const float *input;
    const struct mh_block_kept *kept;
};

/* The output is kept->ffn_output. Fails where mh_attention_forward does. */
enum mh_status mh_block_training_forward(const struct mh_block_training *training,
                                         const struct mh_block_layer *layer,
                                         struct mh_error *error);

/* d [R, E]: in, the gradient by the output; out, by the input. Adds to `gradient`, that of the whole
 * model. */
void mh_block_training_backward(const struct mh_block_training *training,
                                const struct mh_block_layer *layer, float *d, float *gradient);

#endif
