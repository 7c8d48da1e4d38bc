/* Where each tensor of a network lies in its array of parameters: what multihead_train.h does not
 * show. */
#ifndef MH_MODEL_PARAMETERS_H
#define MH_MODEL_PARAMETERS_H

#include "multihead_train.h"

#include <stdbool.h>

/* Tensors of a layer: name, rows (0: a vector), columns, in E, F and Q = E + 2 G D of its sizes. */
#define MH_LAYER_TENSOR_LIST(X)                                                                    \
    X(NORM1_WEIGHT, "ln_1.weight", 0, E)                                                           \
    X(NORM1_BIAS, "ln_1.bias", 0, E)                                                               \
    X(QKV_WEIGHT, "attn.c_attn.weight", E, Q)                                                      \
    X(QKV_BIAS, "attn.c_attn.bias", 0, Q)                                                          \
    X(PROJECTION_WEIGHT, "attn.c_proj.weight", E, E)                                               \
    X(PROJECTION_BIAS, "attn.c_proj.bias", 0, E)                                                   \
    X(NORM2_WEIGHT, "ln_2.weight", 0, E)                                                           \
    X(NORM2_BIAS, "ln_2.bias", 0, E)                                                               \
    X(FFN_IN_WEIGHT, "mlp.c_fc.weight", E, F)                                                      \
    X(FFN_IN_BIAS, "mlp.c_fc.bias", 0, F)                                                          \
    X(FFN_OUT_WEIGHT, "mlp.c_proj.weight", F, E)                                                   \
    X(FFN_OUT_BIAS, "mlp.c_proj.bias", 0, E)

enum mh_layer_tensor {
#define X(name, text, rows, columns) MH_LAYER_##name,
    MH_LAYER_TENSOR_LIST(X)
#undef X
        MH_LAYER_TENSORS
};

/* A tensor, its name aside. */
struct mh_place {
    const char *suffix; /* without "h.N." */
    size_t layer;       /* N, or MH_NO_LAYER */
    size_t rows, columns, offset, count;
};

struct mh_place mh_parameter_place(const struct mh_network *network, size_t index);

/* Index of a layer's tensor, and of the others. */
enum { MH_PARAMETER_WTE, MH_PARAMETER_WPE, MH_PARAMETER_LAYERS };
size_t mh_parameter_of_layer(size_t layer, enum mh_layer_tensor tensor);
size_t mh_parameter_final_norm(const struct mh_network *network); /* the bias comes next */

/* The weight, not the bias, of a layer norm. */
bool mh_parameter_is_norm_weight(const struct mh_network *network, size_t index);

#endif
