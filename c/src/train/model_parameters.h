/* Where each tensor of a network lies in its array of parameters: what multihead_train.h does not
 * show. */
#ifndef MH_MODEL_PARAMETERS_H
#define MH_MODEL_PARAMETERS_H

#include "multihead_train.h"

#include <stdbool.h>

/* Tensors of a layer: name, rows (0: a vector), columns, in E, F and K = G D of its sizes. Those of
 * cross-attention are in layers that have it. */
#define MH_LAYER_TENSOR_LIST(X)                                                                    \
    X(NORM1_WEIGHT, "ln_1.weight", 0, E)                                                           \
    X(NORM1_BIAS, "ln_1.bias", 0, E)                                                               \
    X(QKV_WEIGHT, "attn.c_attn.weight", E, E + 2 * K)                                              \
    X(QKV_BIAS, "attn.c_attn.bias", 0, E + 2 * K)                                                  \
    X(PROJECTION_WEIGHT, "attn.c_proj.weight", E, E)                                               \
    X(PROJECTION_BIAS, "attn.c_proj.bias", 0, E)                                                   \
    X(NORM2_WEIGHT, "ln_2.weight", 0, E)                                                           \
    X(NORM2_BIAS, "ln_2.bias", 0, E)                                                               \
    X(FFN_IN_WEIGHT, "mlp.c_fc.weight", E, F)                                                      \
    X(FFN_IN_BIAS, "mlp.c_fc.bias", 0, F)                                                          \
    X(FFN_OUT_WEIGHT, "mlp.c_proj.weight", F, E)                                                   \
    X(FFN_OUT_BIAS, "mlp.c_proj.bias", 0, E)                                                       \
    X(CROSS_NORM_WEIGHT, "ln_cross_attn.weight", 0, E)                                             \
    X(CROSS_NORM_BIAS, "ln_cross_attn.bias", 0, E)                                                 \
    X(CROSS_QUERY_WEIGHT, "crossattention.q_attn.weight", E, E)                                    \
    X(CROSS_QUERY_BIAS, "crossattention.q_attn.bias", 0, E)                                        \
    X(CROSS_KV_WEIGHT, "crossattention.c_attn.weight", E, 2 * K)                                   \
    X(CROSS_KV_BIAS, "crossattention.c_attn.bias", 0, 2 * K)                                       \
    X(CROSS_PROJECTION_WEIGHT, "crossattention.c_proj.weight", E, E)                               \
    X(CROSS_PROJECTION_BIAS, "crossattention.c_proj.bias", 0, E)

enum mh_layer_tensor {
#define X(name, text, rows, columns) MH_LAYER_##name,
    MH_LAYER_TENSOR_LIST(X)
#undef X
        MH_LAYER_TENSORS
};

/* A network is: embeddings; the encoder's layers and final norm, if there is one; the layers and final
 * norm; the head, if it is not tied. */
enum mh_stack_kind { MH_ENCODER_STACK, MH_MAIN_STACK };

enum mh_embedding_tensor { MH_WTE, MH_WPE, MH_PATCH_WEIGHT, MH_PATCH_BIAS, MH_CLASS_TOKEN };

/* A tensor, its whole name aside: prefix, "h.N." if it is a layer's, suffix. */
struct mh_place {
    const char *prefix, *suffix;
    size_t layer; /* N, or MH_NO_LAYER */
    size_t rows, columns, offset, count;
    enum mh_start { MH_START_ZERO, MH_START_ONE, MH_START_EMBEDDING, MH_START_MATRIX } start;
};

struct mh_place mh_parameter_place(const struct mh_network *network, size_t index);

/* Layers of a stack. */
size_t mh_stack_layers(const struct mh_network *network, enum mh_stack_kind stack);

/* Index of a tensor. A bias comes right after its weight. */
size_t mh_parameter_of_embedding(const struct mh_network *network, enum mh_embedding_tensor tensor);
size_t mh_parameter_of_layer(const struct mh_network *network, enum mh_stack_kind stack,
                             size_t layer, enum mh_layer_tensor tensor);
size_t mh_parameter_final_norm(const struct mh_network *network, enum mh_stack_kind stack);
size_t mh_parameter_head(const struct mh_network *network); /* a tied one: wte */

#endif
