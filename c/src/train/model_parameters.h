/* The learned numbers of a GPT-2 layout model as one array of floats, so that an optimiser, a norm
 * or a checkpoint is one loop. A gradient is laid out the same. Tensors in order:
 *
 *     wte.weight, wpe.weight, the twelve of each layer h.N.…, and ln_f.weight, ln_f.bias (pre-norm)
 */
#ifndef MH_MODEL_PARAMETERS_H
#define MH_MODEL_PARAMETERS_H

#include "multihead.h"

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

struct mh_parameter {
    const char *name;     /* without "h.N." */
    int32_t layer;        /* N, or -1 */
    size_t rows, columns; /* rows 0: a vector */
    size_t offset, count; /* of its floats in the array */
    bool decays;          /* matrices do under weight decay; norms and biases do not */
};

size_t mh_parameter_count(const struct mh_model_config *config);
struct mh_parameter mh_parameter_at(const struct mh_model_config *config, size_t index);

/* Index of a layer's tensor, and of the others. */
enum { MH_PARAMETER_WTE, MH_PARAMETER_WPE, MH_PARAMETER_LAYERS };
size_t mh_parameter_of_layer(size_t layer, enum mh_layer_tensor tensor);
size_t mh_parameter_final_norm(const struct mh_model_config *config); /* the bias comes next */

/* Floats of all together; SIZE_MAX if they cannot be counted. */
size_t mh_parameters_size(const struct mh_model_config *config);

#endif
