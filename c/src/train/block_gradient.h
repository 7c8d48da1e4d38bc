/* One transformer block of a network that is being learned: forward keeps what backward needs.
 *
 *     self-attention, cross-attention if the layer has it, feed-forward: each a residual branch */
#ifndef MH_BLOCK_GRADIENT_H
#define MH_BLOCK_GRADIENT_H

#include "multihead_train.h"

#include "base/arena.h"
#include "train/model_parameters.h"

/* What every layer of a stack has in common in one pass. Rows R = B * T. */
struct mh_block_training {
    const struct mh_network *network;
    enum mh_stack_kind stack;
    const float *parameters; /* of the whole network */
    size_t batch, length;    /* B, T */
    struct mh_mask mask;     /* for self-attention, unless a layer has its own */
    int32_t scale_mode;
    float scale;
    float attention_dropout, residual_dropout;
    const struct mh_supervision *supervision; /* of this stack */
    size_t supervision_count;
    float factor; /* of what supervision adds */

    /* Cross-attention: to keys and values of the memory [B, S, E]. NULL: the layers have none. */
    const float *memory;
    float *dmemory; /* [B, S, E], added to */
    size_t memory_length;
    struct mh_mask memory_mask;

    float *scratch; /* mh_block_training_scratch floats */
    size_t scratch_floats;
    float *wide;   /* gradients inside a branch: mh_block_training_wide floats */
    float *narrow; /* [max(R, B * S), E] */
    float *branch; /* [R, E] */
};

/* What an attention branch keeps from forward to backward. */
struct mh_attention_kept {
    float *norm, *output; /* [R, E] each, see mh_residual */
    float *query;         /* [R, E + 2 G D], with keys and values; of cross-attention [R, E] */
    float *key_value;     /* of cross-attention: [B * S, 2 G D] */
    float *scores;        /* [B, H, T, S] */
    float *heads;         /* [R, E] */
};

struct mh_block_kept {
    struct mh_attention_kept self, cross;
    float *ffn_norm, *ffn_output; /* [R, E] each */
    float *ffn_in, *ffn_hidden;   /* [R, F] before and after the activation */
};

struct mh_block_kept mh_block_keep(const struct mh_block_training *training,
                                   struct mh_arena *arena);

/* Floats of scratch, and of `wide`. Read the sizes alone. */
enum mh_status mh_block_training_scratch(const struct mh_block_training *training, size_t *floats,
                                         struct mh_error *error);
size_t mh_block_training_wide(const struct mh_block_training *training);

/* One layer: which, its mask, its dropout seeds and its input [R, E]. */
struct mh_block_layer {
    size_t layer;
    const struct mh_mask *mask;
    uint32_t seed, cross_seed;
    const float *input;
    const struct mh_block_kept *kept;
};

/* The output is kept->ffn_output. Fails where mh_attention_forward does. */
enum mh_status mh_block_training_forward(const struct mh_block_training *training,
                                         const struct mh_block_layer *layer,
                                         struct mh_error *error);

/* d [R, E]: in, the gradient by the output; out, by the input. Adds to `gradient`, that of the whole
 * network, and to dmemory. */
void mh_block_training_backward(const struct mh_block_training *training,
                                const struct mh_block_layer *layer, float *d, float *gradient);

/* Σ weight * KL of what supervision asks of this layer, as forward left it. */
double mh_block_supervision(const struct mh_block_training *training,
                            const struct mh_block_layer *layer);

#endif
