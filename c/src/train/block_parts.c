#include "train/block_parts.h"

#include "base/size.h"
#include "train/linear_gradient.h"

size_t mh_block_rows(const struct mh_block_training *t)
{
    return mh_size_mul(t->batch, t->length);
}

size_t mh_block_key_width(const struct mh_block_training *t)
{
    const struct mh_model_config *c = &t->network->model;
    return c->kv_heads * (c->embed_dim / c->heads);
}

static struct mh_place place_of(const struct mh_block_training *t, const struct mh_block_layer *l,
                                enum mh_layer_tensor tensor)
{
    return mh_parameter_place(t->network,
                              mh_parameter_of_layer(t->network, t->stack, l->layer, tensor));
}

const float *mh_block_parameter(const struct mh_block_training *t, const struct mh_block_layer *l,
                                enum mh_layer_tensor tensor)
{
    return t->parameters + place_of(t, l, tensor).offset;
}

float *mh_block_gradient_of(const struct mh_block_training *t, const struct mh_block_layer *l,
                            float *gradient, enum mh_layer_tensor tensor)
{
    return gradient + place_of(t, l, tensor).offset;
}

static struct mh_learned_linear linear_of(const struct mh_block_training *t,
                                          const struct mh_block_layer *l,
                                          enum mh_layer_tensor tensor)
{
    struct mh_place weight = place_of(t, l, tensor);
    return (struct mh_learned_linear){
        .in = weight.rows,
        .out = weight.columns,
        .in_stride = weight.columns,
        .out_stride = 1,
        .weight = t->parameters + weight.offset,
        .bias = mh_block_parameter(t, l, tensor + 1),
    };
}

void mh_block_linear(const struct mh_block_training *t, const struct mh_block_layer *l,
                     enum mh_layer_tensor tensor, float *y, const float *x, size_t rows)
{
    struct mh_learned_linear linear = linear_of(t, l, tensor);
    mh_learned_linear_forward(&linear, y, x, rows, t->scratch);
}

void mh_block_linear_backward(const struct mh_block_training *t, const struct mh_block_layer *l,
                              enum mh_layer_tensor tensor, float *gradient, float *dx,
                              const float *dy, const float *x, size_t rows)
{
    struct mh_learned_linear linear = linear_of(t, l, tensor);
    mh_learned_linear_backward(&linear, dx, mh_block_gradient_of(t, l, gradient, tensor),
                               mh_block_gradient_of(t, l, gradient, tensor + 1), dy, x, rows,
                               t->scratch);
}

struct mh_residual mh_block_residual(const struct mh_block_training *t,
                                     const struct mh_block_layer *l, enum mh_layer_tensor norm,
                                     size_t stream)
{
    const struct mh_model_config *c = &t->network->model;
    return (struct mh_residual){
        .rows = mh_block_rows(t),
        .width = c->embed_dim,
        .post_norm = c->norm_position == MH_NORM_POST,
        .epsilon = c->norm_epsilon,
        .norm_weight = mh_block_parameter(t, l, norm),
        .norm_bias = mh_block_parameter(t, l, norm + 1),
        .dropout = t->residual_dropout,
        .seed = l->seed,
        .length = t->length,
        .stream = c->heads + stream,
    };
}

const float *mh_block_inside(const struct mh_residual *residual)
{
    return residual->post_norm ? residual->input : residual->kept;
}
