#include "train/model_parameters.h"

#include "base/error.h"
#include "base/size.h"
#include "model/model.h"
#include "model/weights.h"

#include <math.h>

_Static_assert(MH_PARAMETER_NAME == MH_WEIGHT_NAME, "names fit");

struct shape {
    const char *name;
    size_t rows, columns;
};

static size_t count_of(struct shape shape)
{
    return mh_size_mul(shape.rows == 0 ? 1 : shape.rows, shape.columns);
}

static struct shape layer_shape(const struct mh_model_config *c, enum mh_layer_tensor tensor)
{
    const size_t E = c->embed_dim, F = c->ffn_dim;
    const size_t Q = mh_size_add(E, mh_size_mul(2 * c->kv_heads, E / c->heads));
    const struct shape shapes[MH_LAYER_TENSORS] = {
#define X(name, text, rows, columns) {text, rows, columns},
        MH_LAYER_TENSOR_LIST(X)
#undef X
    };
    return shapes[tensor];
}

/* Floats of a layer's tensors before `end`. */
static size_t layer_size(const struct mh_model_config *c, size_t end)
{
    size_t size = 0;
    for (size_t t = 0; t < end; t++)
        size = mh_size_add(size, count_of(layer_shape(c, (enum mh_layer_tensor)t)));
    return size;
}

/* Floats of wte and wpe. */
static size_t embeddings_size(const struct mh_model_config *c)
{
    return mh_size_mul(mh_size_add(c->vocabulary, c->positions), c->embed_dim);
}

static size_t layers_size(const struct mh_model_config *c, size_t layers)
{
    return mh_size_mul(layers, layer_size(c, MH_LAYER_TENSORS));
}

size_t mh_parameter_of_layer(size_t layer, enum mh_layer_tensor tensor)
{
    return MH_PARAMETER_LAYERS + layer * MH_LAYER_TENSORS + (size_t)tensor;
}

size_t mh_parameter_final_norm(const struct mh_network *network)
{
    return MH_PARAMETER_LAYERS + network->model.layers * MH_LAYER_TENSORS;
}

bool mh_parameter_is_norm_weight(const struct mh_network *network, size_t index)
{
    size_t final = mh_parameter_final_norm(network);
    if (index < MH_PARAMETER_LAYERS || index >= final)
        return index == final;
    size_t tensor = (index - MH_PARAMETER_LAYERS) % MH_LAYER_TENSORS;
    return tensor == MH_LAYER_NORM1_WEIGHT || tensor == MH_LAYER_NORM2_WEIGHT;
}

size_t mh_parameter_count(const struct mh_network *network)
{
    return mh_parameter_final_norm(network) + (network->model.norm_position == MH_NORM_PRE ? 2 : 0);
}

size_t mh_parameters_size(const struct mh_network *network)
{
    const struct mh_model_config *c = &network->model;
    size_t norm = c->norm_position == MH_NORM_PRE ? mh_size_mul(2, c->embed_dim) : 0;
    return mh_size_add(mh_size_add(embeddings_size(c), layers_size(c, c->layers)), norm);
}

static struct mh_place place(struct shape shape, size_t layer, size_t offset)
{
    return (struct mh_place){.suffix = shape.name,
                             .layer = layer,
                             .rows = shape.rows,
                             .columns = shape.columns,
                             .offset = offset,
                             .count = count_of(shape)};
}

struct mh_place mh_parameter_place(const struct mh_network *network, size_t index)
{
    const struct mh_model_config *c = &network->model;
    size_t width = c->embed_dim, final = mh_parameter_final_norm(network);
    if (index == MH_PARAMETER_WTE)
        return place((struct shape){"wte.weight", c->vocabulary, width}, MH_NO_LAYER, 0);
    if (index == MH_PARAMETER_WPE)
        return place((struct shape){"wpe.weight", c->positions, width}, MH_NO_LAYER,
                     c->vocabulary * width);
    if (index >= final) {
        size_t offset = embeddings_size(c) + layers_size(c, c->layers) + (index - final) * width;
        return place((struct shape){index == final ? "ln_f.weight" : "ln_f.bias", 0, width},
                     MH_NO_LAYER, offset);
    }
    size_t layer = (index - MH_PARAMETER_LAYERS) / MH_LAYER_TENSORS;
    size_t tensor = (index - MH_PARAMETER_LAYERS) % MH_LAYER_TENSORS;
    return place(layer_shape(c, (enum mh_layer_tensor)tensor), layer,
                 embeddings_size(c) + layers_size(c, layer) + layer_size(c, tensor));
}

void mh_parameter_at(const struct mh_network *network, size_t index, struct mh_parameter *parameter)
{
    struct mh_place p = mh_parameter_place(network, index);
    *parameter = (struct mh_parameter){.rows = p.rows,
                                       .columns = p.columns,
                                       .offset = p.offset,
                                       .count = p.count,
                                       .decays = p.rows > 0};
    mh_weight_name(parameter->name, "", p.layer, p.suffix);
}

enum mh_status mh_network_check(const struct mh_network *network, struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"network", network}, {0}});
    if (status == MH_OK)
        status = mh_model_check_sizes(&network->model, error);
    if (status != MH_OK)
        return status;
    const struct mh_model_config *c = &network->model;
    if (c->activation < MH_ACTIVATION_GELU || c->activation > MH_ACTIVATION_RELU)
        return mh_fail(error, MH_ARGUMENT, "activation is %d: it must be 0 to 2", c->activation);
    if (c->norm_position != MH_NORM_PRE && c->norm_position != MH_NORM_POST)
        return mh_fail(error, MH_ARGUMENT, "norm_position is %d: it must be 0 (pre) or 1 (post)",
                       c->norm_position);
    if (c->precision != MH_F32)
        return mh_fail(error, MH_ARGUMENT, "precision is %d: a network learns in f32, 0",
                       c->precision);
    if (!(c->norm_epsilon > 0.0f && isfinite(c->norm_epsilon)))
        return mh_fail(error, MH_ARGUMENT, "norm_epsilon is %g: it must be finite and above 0",
                       (double)c->norm_epsilon);
    if (mh_parameters_size(network) > SIZE_MAX / (4 * sizeof(float)))
        return mh_fail(
            error, MH_MEMORY,
            "the network's parameters would exceed the address space: use smaller sizes");
    return MH_OK;
}
