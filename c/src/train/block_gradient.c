#include "train/block_gradient.h"

#include "base/size.h"
#include "model/feed_forward.h"
#include "train/attention_branch.h"
#include "train/block_parts.h"
#include "train/linear_gradient.h"
#include "train/row_gradients.h"

#include <string.h>

/* Number of the feed-forward branch's dropout stream. */
enum { FFN_STREAM = 1 };

static bool has_cross(const struct mh_block_training *t)
{
    return t->stack == MH_MAIN_STACK && t->network->architecture == MH_ENCODER_DECODER;
}

/* ===== Sizes ================================================================================ */

struct mh_block_kept mh_block_keep(const struct mh_block_training *t, struct mh_arena *arena)
{
    size_t rows = mh_block_rows(t), narrow = mh_size_mul(rows, t->network->model.embed_dim);
    size_t ffn = mh_size_mul(rows, t->network->model.ffn_dim);
    struct mh_block_kept kept = {
        .self = mh_attention_keep(t, MH_SELF_ATTENTION, arena),
        .ffn_norm = mh_arena_floats(arena, narrow),
        .ffn_output = mh_arena_floats(arena, narrow),
        .ffn_in = mh_arena_floats(arena, ffn),
        .ffn_hidden = mh_arena_floats(arena, ffn),
    };
    if (has_cross(t))
        kept.cross = mh_attention_keep(t, MH_CROSS_ATTENTION, arena);
    return kept;
}

enum mh_status mh_block_training_scratch(const struct mh_block_training *t, size_t *floats,
                                         struct mh_error *error)
{
    const struct mh_model_config *c = &t->network->model;
    size_t self = 0, cross = 0;
    enum mh_status status = mh_attention_branch_scratch(t, MH_SELF_ATTENTION, &self, error);
    if (status == MH_OK && has_cross(t))
        status = mh_attention_branch_scratch(t, MH_CROSS_ATTENTION, &cross, error);
    size_t ffn = mh_learned_linear_scratch(c->embed_dim, c->ffn_dim, mh_block_rows(t));
    *floats = mh_size_max(ffn, mh_size_max(self, cross));
    return status;
}

size_t mh_block_training_wide(const struct mh_block_training *t)
{
    size_t ffn = mh_size_mul(mh_block_rows(t), t->network->model.ffn_dim);
    size_t self = mh_attention_branch_wide(t, MH_SELF_ATTENTION);
    size_t cross = has_cross(t) ? mh_attention_branch_wide(t, MH_CROSS_ATTENTION) : 0;
    return mh_size_max(ffn, mh_size_max(self, cross));
}

/* ===== The feed-forward branch ============================================================== */

/* The residual stream before it. */
static const float *ffn_input(const struct mh_block_training *t, const struct mh_block_layer *l)
{
    return has_cross(t) ? l->kept->cross.output : l->kept->self.output;
}

static struct mh_residual ffn_residual(const struct mh_block_training *t,
                                       const struct mh_block_layer *l)
{
    struct mh_residual residual = mh_block_residual(t, l, MH_LAYER_NORM2_WEIGHT, FFN_STREAM);
    residual.input = ffn_input(t, l);
    residual.kept = l->kept->ffn_norm;
    residual.output = l->kept->ffn_output;
    return residual;
}

static void forward_ffn(const struct mh_block_training *t, const struct mh_block_layer *l)
{
    struct mh_residual residual = ffn_residual(t, l);
    size_t rows = mh_block_rows(t), floats = rows * t->network->model.ffn_dim;
    mh_block_linear(t, l, MH_LAYER_FFN_IN_WEIGHT, l->kept->ffn_in, mh_residual_enter(&residual),
                    rows);
    memcpy(l->kept->ffn_hidden, l->kept->ffn_in, floats * sizeof(float));
    mh_activate(t->network->model.activation, l->kept->ffn_hidden, floats);
    mh_block_linear(t, l, MH_LAYER_FFN_OUT_WEIGHT, t->branch, l->kept->ffn_hidden, rows);
    mh_residual_leave(&residual, t->branch);
}

static void backward_ffn(const struct mh_block_training *t, const struct mh_block_layer *l,
                         float *d, float *gradient)
{
    const struct mh_model_config *c = &t->network->model;
    struct mh_residual residual = ffn_residual(t, l);
    float *dweight = mh_block_gradient_of(t, l, gradient, MH_LAYER_NORM2_WEIGHT);
    float *dbias = mh_block_gradient_of(t, l, gradient, MH_LAYER_NORM2_BIAS);
    float *dhidden = t->wide, *dinside = t->narrow;
    size_t rows = mh_block_rows(t);
    mh_residual_leave_backward(&residual, d, t->branch, dweight, dbias);
    mh_block_linear_backward(t, l, MH_LAYER_FFN_OUT_WEIGHT, gradient, dhidden, t->branch,
                             l->kept->ffn_hidden, rows);
    mh_row_activation_gradient((enum mh_activation)c->activation, dhidden, dhidden, l->kept->ffn_in,
                               rows * c->ffn_dim);
    mh_block_linear_backward(t, l, MH_LAYER_FFN_IN_WEIGHT, gradient, dinside, dhidden,
                             mh_block_inside(&residual), rows);
    mh_residual_enter_backward(&residual, d, dinside, dweight, dbias);
}

/* ===== The block ============================================================================ */

enum mh_status mh_block_training_forward(const struct mh_block_training *t,
                                         const struct mh_block_layer *l, struct mh_error *error)
{
    enum mh_status status = mh_attention_branch_forward(t, l, MH_SELF_ATTENTION, l->input, error);
    if (status == MH_OK && has_cross(t))
        status = mh_attention_branch_forward(t, l, MH_CROSS_ATTENTION, l->kept->self.output, error);
    if (status == MH_OK)
        forward_ffn(t, l);
    return status;
}

void mh_block_training_backward(const struct mh_block_training *t, const struct mh_block_layer *l,
                                float *d, float *gradient)
{
    backward_ffn(t, l, d, gradient);
    if (has_cross(t))
        mh_attention_branch_backward(t, l, MH_CROSS_ATTENTION, l->kept->self.output, d, gradient);
    mh_attention_branch_backward(t, l, MH_SELF_ATTENTION, l->input, d, gradient);
}

double mh_block_supervision(const struct mh_block_training *t, const struct mh_block_layer *l)
{
    double sum = mh_attention_branch_supervision(t, l, MH_SELF_ATTENTION);
    return has_cross(t) ? sum + mh_attention_branch_supervision(t, l, MH_CROSS_ATTENTION) : sum;
}
