#include "train/block_gradient.h"

#include "base/size.h"
#include "kernels/kernels.h"
#include "model/feed_forward.h"
#include "train/attention_gradient.h"
#include "train/linear_gradient.h"
#include "train/model_parameters.h"
#include "train/residual_gradient.h"
#include "train/row_gradients.h"

#include <string.h>

enum branch { ATTENTION_BRANCH, FFN_BRANCH };

/* ===== Sizes ================================================================================ */

static size_t row_count(const struct mh_block_training *t)
{
    return mh_size_mul(t->batch, t->length);
}

static size_t key_width(const struct mh_model_config *c)
{
    return c->kv_heads * (c->embed_dim / c->heads);
}

static size_t qkv_width(const struct mh_model_config *c)
{
    return c->embed_dim + 2 * key_width(c);
}

struct mh_block_kept mh_block_keep(const struct mh_block_training *t, struct mh_arena *arena)
{
    const struct mh_model_config *c = t->config;
    size_t rows = row_count(t), narrow = mh_size_mul(rows, c->embed_dim);
    size_t ffn = mh_size_mul(rows, c->ffn_dim);
    size_t map = mh_size_mul(mh_size_mul(rows, c->heads), t->length);
    return (struct mh_block_kept){
        .attention_norm = mh_arena_floats(arena, narrow),
        .attention_output = mh_arena_floats(arena, narrow),
        .qkv = mh_arena_floats(arena, mh_size_mul(rows, qkv_width(c))),
        .scores = mh_arena_floats(arena, map),
        .heads = mh_arena_floats(arena, narrow),
        .ffn_norm = mh_arena_floats(arena, narrow),
        .ffn_output = mh_arena_floats(arena, narrow),
        .ffn_in = mh_arena_floats(arena, ffn),
        .ffn_hidden = mh_arena_floats(arena, ffn),
    };
}

/* ===== The parts of a layer ================================================================= */

static const float *parameter(const struct mh_block_training *t, const struct mh_block_layer *l,
                              enum mh_layer_tensor tensor)
{
    size_t index = mh_parameter_of_layer(l->layer, tensor);
    return l->parameters + mh_parameter_place(t->network, index).offset;
}

static float *gradient_of(const struct mh_block_training *t, const struct mh_block_layer *l,
                          float *gradient, enum mh_layer_tensor tensor)
{
    return gradient +
           mh_parameter_place(t->network, mh_parameter_of_layer(l->layer, tensor)).offset;
}

/* The linear layer whose weight is `tensor`; its bias is the tensor after it. */
static struct mh_learned_linear linear_of(const struct mh_block_training *t,
                                          const struct mh_block_layer *l,
                                          enum mh_layer_tensor tensor)
{
    size_t index = mh_parameter_of_layer(l->layer, tensor);
    struct mh_place weight = mh_parameter_place(t->network, index);
    return (struct mh_learned_linear){
        .in = weight.rows,
        .out = weight.columns,
        .weight = l->parameters + weight.offset,
        .bias = l->parameters + mh_parameter_place(t->network, index + 1).offset,
    };
}

static void forward_linear(const struct mh_block_training *t, const struct mh_block_layer *l,
                           enum mh_layer_tensor tensor, float *y, const float *x)
{
    struct mh_learned_linear linear = linear_of(t, l, tensor);
    mh_learned_linear_forward(&linear, y, x, row_count(t), t->scratch);
}

static void backward_linear(const struct mh_block_training *t, const struct mh_block_layer *l,
                            enum mh_layer_tensor tensor, float *gradient, float *dx,
                            const float *dy, const float *x)
{
    struct mh_learned_linear linear = linear_of(t, l, tensor);
    mh_learned_linear_backward(&linear, dx, gradient_of(t, l, gradient, tensor),
                               gradient_of(t, l, gradient, tensor + 1), dy, x, row_count(t),
                               t->scratch);
}

static enum mh_layer_tensor norm_of(enum branch branch)
{
    return branch == ATTENTION_BRANCH ? MH_LAYER_NORM1_WEIGHT : MH_LAYER_NORM2_WEIGHT;
}

static struct mh_residual residual_of(const struct mh_block_training *t,
                                      const struct mh_block_layer *l, enum branch branch)
{
    const struct mh_block_kept *kept = l->kept;
    bool first = branch == ATTENTION_BRANCH;
    return (struct mh_residual){
        .rows = row_count(t),
        .width = t->config->embed_dim,
        .post_norm = t->config->norm_position == MH_NORM_POST,
        .epsilon = t->config->norm_epsilon,
        .norm_weight = parameter(t, l, norm_of(branch)),
        .norm_bias = parameter(t, l, norm_of(branch) + 1),
        .dropout = t->residual_dropout,
        .seed = l->seed,
        .length = t->length,
        .stream = t->config->heads + (size_t)branch,
        .input = first ? l->input : kept->attention_output,
        .kept = first ? kept->attention_norm : kept->ffn_norm,
        .output = first ? kept->attention_output : kept->ffn_output,
    };
}

/* Heads side by side in rows of `row` floats. */
static struct mh_rows_out heads_at(const struct mh_block_training *t, float *data, size_t row)
{
    size_t head_dim = t->config->embed_dim / t->config->heads;
    return (struct mh_rows_out){data, t->length * row, head_dim, row};
}

static struct mh_rows read_heads(const struct mh_block_training *t, const float *data, size_t row)
{
    size_t head_dim = t->config->embed_dim / t->config->heads;
    return (struct mh_rows){data, t->length * row, head_dim, row};
}

static struct mh_attention attention_sizes(const struct mh_block_training *t)
{
    const struct mh_model_config *c = t->config;
    return (struct mh_attention){
        .batch = t->batch,
        .queries = t->length,
        .keys = t->length,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .head_dim = c->embed_dim / c->heads,
        .value_dim = c->embed_dim / c->heads,
    };
}

static struct mh_attention attention_of(const struct mh_block_training *t,
                                        const struct mh_block_layer *l)
{
    const struct mh_model_config *c = t->config;
    const float *qkv = l->kept->qkv;
    size_t row = qkv_width(c);
    struct mh_attention attention = attention_sizes(t);
    attention.query = read_heads(t, qkv, row);
    attention.key = read_heads(t, qkv + c->embed_dim, row);
    attention.value = read_heads(t, qkv + c->embed_dim + key_width(c), row);
    attention.output = heads_at(t, l->kept->heads, c->embed_dim);
    attention.scale_mode = t->scale_mode;
    attention.scale = t->scale;
    attention.mask = t->mask;
    attention.dropout = t->attention_dropout;
    attention.dropout_seed = l->seed;
    attention.scores = l->kept->scores;
    return attention;
}

enum mh_status mh_block_training_scratch(const struct mh_block_training *t, size_t *floats,
                                         struct mh_error *error)
{
    const struct mh_model_config *c = t->config;
    struct mh_attention attention = attention_sizes(t);
    size_t rows = row_count(t), bytes = 0;
    enum mh_status status = mh_attention_workspace(&attention, &bytes, error);
    if (status != MH_OK)
        return status;
    size_t most = bytes / sizeof(float) + 1;
    most = mh_size_max(most, mh_attention_backward_scratch(&attention));
    most = mh_size_max(most, mh_learned_linear_scratch(c->embed_dim, qkv_width(c), rows));
    most = mh_size_max(most, mh_learned_linear_scratch(c->embed_dim, c->embed_dim, rows));
    *floats = mh_size_max(most, mh_learned_linear_scratch(c->embed_dim, c->ffn_dim, rows));
    return MH_OK;
}

/* ===== Forward ============================================================================== */

static enum mh_status forward_attention(const struct mh_block_training *t,
                                        const struct mh_block_layer *l, struct mh_error *error)
{
    struct mh_residual residual = residual_of(t, l, ATTENTION_BRANCH);
    struct mh_attention attention = attention_of(t, l);
    struct mh_report report;
    forward_linear(t, l, MH_LAYER_QKV_WEIGHT, l->kept->qkv, mh_residual_enter(&residual));
    enum mh_status status = mh_attention_forward(&attention, t->scratch,
                                                 t->scratch_floats * sizeof(float), &report, error);
    if (status != MH_OK)
        return status;
    forward_linear(t, l, MH_LAYER_PROJECTION_WEIGHT, t->branch, l->kept->heads);
    mh_residual_leave(&residual, t->branch);
    return MH_OK;
}

static void forward_ffn(const struct mh_block_training *t, const struct mh_block_layer *l)
{
    struct mh_residual residual = residual_of(t, l, FFN_BRANCH);
    size_t floats = row_count(t) * t->config->ffn_dim;
    forward_linear(t, l, MH_LAYER_FFN_IN_WEIGHT, l->kept->ffn_in, mh_residual_enter(&residual));
    memcpy(l->kept->ffn_hidden, l->kept->ffn_in, floats * sizeof(float));
    mh_activate(t->config->activation, l->kept->ffn_hidden, floats);
    forward_linear(t, l, MH_LAYER_FFN_OUT_WEIGHT, t->branch, l->kept->ffn_hidden);
    mh_residual_leave(&residual, t->branch);
}

enum mh_status mh_block_training_forward(const struct mh_block_training *t,
                                         const struct mh_block_layer *l, struct mh_error *error)
{
    enum mh_status status = forward_attention(t, l, error);
    if (status == MH_OK)
        forward_ffn(t, l);
    return status;
}

/* ===== Backward ============================================================================= */

/* What the inside of a branch read. */
static const float *inside_input(const struct mh_residual *residual)
{
    return residual->post_norm ? residual->input : residual->kept;
}

static void backward_ffn(const struct mh_block_training *t, const struct mh_block_layer *l,
                         float *d, float *gradient)
{
    struct mh_residual residual = residual_of(t, l, FFN_BRANCH);
    float *dweight = gradient_of(t, l, gradient, MH_LAYER_NORM2_WEIGHT);
    float *dbias = gradient_of(t, l, gradient, MH_LAYER_NORM2_BIAS);
    float *dhidden = t->wide, *dinside = t->narrow;
    mh_residual_leave_backward(&residual, d, t->branch, dweight, dbias);
    backward_linear(t, l, MH_LAYER_FFN_OUT_WEIGHT, gradient, dhidden, t->branch,
                    l->kept->ffn_hidden);
    mh_row_activation_gradient((enum mh_activation)t->config->activation, dhidden, dhidden,
                               l->kept->ffn_in, row_count(t) * t->config->ffn_dim);
    backward_linear(t, l, MH_LAYER_FFN_IN_WEIGHT, gradient, dinside, dhidden,
                    inside_input(&residual));
    mh_residual_enter_backward(&residual, d, dinside, dweight, dbias);
}

/* dqkv [R, E + 2 G D] from dheads [R, E]. */
static void differentiate_attention(const struct mh_block_training *t,
                                    const struct mh_block_layer *l, float *dqkv,
                                    const float *dheads)
{
    const struct mh_model_config *c = t->config;
    size_t row = qkv_width(c);
    struct mh_attention attention = attention_of(t, l);
    struct mh_attention_gradient attention_gradient = {
        .attention = &attention,
        .output = read_heads(t, dheads, c->embed_dim),
        .query = heads_at(t, dqkv, row),
        .key = heads_at(t, dqkv + c->embed_dim, row),
        .value = heads_at(t, dqkv + c->embed_dim + key_width(c), row),
    };
    mh_attention_backward(&attention_gradient, t->scratch);
}

static void backward_attention(const struct mh_block_training *t, const struct mh_block_layer *l,
                               float *d, float *gradient)
{
    struct mh_residual residual = residual_of(t, l, ATTENTION_BRANCH);
    float *dweight = gradient_of(t, l, gradient, MH_LAYER_NORM1_WEIGHT);
    float *dbias = gradient_of(t, l, gradient, MH_LAYER_NORM1_BIAS);
    float *dheads = t->narrow, *dqkv = t->wide, *dinside = t->narrow;
    mh_residual_leave_backward(&residual, d, t->branch, dweight, dbias);
    backward_linear(t, l, MH_LAYER_PROJECTION_WEIGHT, gradient, dheads, t->branch, l->kept->heads);
    differentiate_attention(t, l, dqkv, dheads);
    backward_linear(t, l, MH_LAYER_QKV_WEIGHT, gradient, dinside, dqkv, inside_input(&residual));
    mh_residual_enter_backward(&residual, d, dinside, dweight, dbias);
}

void mh_block_training_backward(const struct mh_block_training *t, const struct mh_block_layer *l,
                                float *d, float *gradient)
{
    backward_ffn(t, l, d, gradient);
    backward_attention(t, l, d, gradient);
}
