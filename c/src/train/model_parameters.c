#include "train/model_parameters.h"

#include "base/size.h"

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

size_t mh_parameter_final_norm(const struct mh_model_config *c)
{
    return MH_PARAMETER_LAYERS + c->layers * MH_LAYER_TENSORS;
}

size_t mh_parameter_count(const struct mh_model_config *c)
{
    return mh_parameter_final_norm(c) + (c->norm_position == MH_NORM_PRE ? 2 : 0);
}

size_t mh_parameters_size(const struct mh_model_config *c)
{
    size_t norm = c->norm_position == MH_NORM_PRE ? mh_size_mul(2, c->embed_dim) : 0;
    return mh_size_add(mh_size_add(embeddings_size(c), layers_size(c, c->layers)), norm);
}

static struct mh_parameter describe(struct shape shape, int32_t layer, size_t offset)
{
    return (struct mh_parameter){.name = shape.name,
                                 .layer = layer,
                                 .rows = shape.rows,
                                 .columns = shape.columns,
                                 .offset = offset,
                                 .count = count_of(shape),
                                 .decays = shape.rows > 0};
}

struct mh_parameter mh_parameter_at(const struct mh_model_config *c, size_t index)
{
    size_t width = c->embed_dim;
    if (index == MH_PARAMETER_WTE)
        return describe((struct shape){"wte.weight", c->vocabulary, width}, -1, 0);
    if (index == MH_PARAMETER_WPE)
        return describe((struct shape){"wpe.weight", c->positions, width}, -1,
                        c->vocabulary * width);
    size_t final = mh_parameter_final_norm(c);
    if (index >= final) {
        size_t offset = embeddings_size(c) + layers_size(c, c->layers) + (index - final) * width;
        return describe((struct shape){index == final ? "ln_f.weight" : "ln_f.bias", 0, width}, -1,
                        offset);
    }
    size_t layer = (index - MH_PARAMETER_LAYERS) / MH_LAYER_TENSORS;
    size_t tensor = (index - MH_PARAMETER_LAYERS) % MH_LAYER_TENSORS;
    return describe(layer_shape(c, (enum mh_layer_tensor)tensor), (int32_t)layer,
                    embeddings_size(c) + layers_size(c, layer) + layer_size(c, tensor));
}
