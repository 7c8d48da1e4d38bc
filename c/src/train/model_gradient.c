/* The loss of a network on a batch of token sequences, and its gradient by every parameter. */
#include "base/arena.h"
#include "base/error.h"
#include "base/random.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "ops/mask.h"
#include "ops/masked_row.h"
#include "train/block_gradient.h"
#include "train/embedding_gradient.h"
#include "train/head_loss.h"
#include "train/model_parameters.h"
#include "train/row_gradients.h"

#include <math.h>
#include <string.h>

uint32_t mh_training_layer_seed(uint32_t seed, size_t layer)
{
    return mh_random_at(mh_random_stream(seed, layer, 0, 0), 0);
}

/* ===== Checks =============================================================================== */

static enum mh_status check_sizes(const struct mh_network *network,
                                  const struct mh_training_pass *pass, struct mh_error *error)
{
    enum mh_status status = mh_network_check(network, error);
    if (status == MH_OK)
        status = mh_require(error, (const struct mh_pointer[]){{"pass", pass}, {0}});
    if (status != MH_OK)
        return status;
    size_t positions = network->model.positions;
    if (pass->batch == 0 || pass->length == 0 || pass->length > positions)
        return mh_fail(error, MH_ARGUMENT,
                       "batch is %zu and length %zu: batch must be at least 1, length 1 to %zu",
                       pass->batch, pass->length, positions);
    return MH_OK;
}

static enum mh_status check_dropout(const struct mh_training_pass *pass, struct mh_error *error)
{
    if (!(pass->attention_dropout >= 0.0f && pass->attention_dropout < 1.0f))
        return mh_fail(error, MH_ARGUMENT, "attention_dropout is %g: it must be in [0, 1)",
                       (double)pass->attention_dropout);
    if (!(pass->residual_dropout >= 0.0f && pass->residual_dropout < 1.0f))
        return mh_fail(error, MH_ARGUMENT, "residual_dropout is %g: it must be in [0, 1)",
                       (double)pass->residual_dropout);
    return MH_OK;
}

static enum mh_status check_numbers(const struct mh_model_config *c,
                                    const struct mh_training_pass *pass, struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){
                              {"parameters", pass->parameters}, {"tokens", pass->tokens}, {0}});
    if (status != MH_OK)
        return status;
    if (!isfinite(pass->factor))
        return mh_fail(error, MH_ARGUMENT, "factor is %g: it must be finite", (double)pass->factor);
    for (size_t r = 0; r < pass->batch * pass->length; r++) {
        if (pass->tokens[r] < 0 || (size_t)pass->tokens[r] >= c->vocabulary)
            return mh_fail(error, MH_ARGUMENT, "tokens[%zu] is %d: it must be 0 to %zu", r,
                           pass->tokens[r], c->vocabulary - 1);
        if (pass->targets != NULL && pass->targets[r] >= 0 &&
            (size_t)pass->targets[r] >= c->vocabulary)
            return mh_fail(error, MH_ARGUMENT,
                           "targets[%zu] is %d: it must be below %zu, or negative for none", r,
                           pass->targets[r], c->vocabulary);
    }
    return check_dropout(pass, error);
}

/* ===== Workspace ============================================================================ */

struct pass_state {
    const struct mh_network *network;
    const struct mh_model_config *config; /* &network->model */
    const struct mh_training_pass *pass;
    struct mh_block_training training;
    struct mh_block_kept *layers; /* [L] */
    float *embedded;              /* [R, E] */
    float *normed;                /* [R, E] after the final norm */
    float *d;                     /* [R, E] */
};

static size_t row_count(const struct pass_state *s)
{
    return mh_size_mul(s->pass->batch, s->pass->length);
}

static void lay_out_shared(struct pass_state *s, struct mh_arena *arena)
{
    const struct mh_model_config *c = s->config;
    size_t rows = row_count(s), narrow = mh_size_mul(rows, c->embed_dim);
    size_t qkv = mh_size_add(c->embed_dim, 2 * c->kv_heads * (c->embed_dim / c->heads));
    s->embedded = mh_arena_floats(arena, narrow);
    s->normed = mh_arena_floats(arena, narrow);
    s->d = mh_arena_floats(arena, narrow);
    s->training.narrow = mh_arena_floats(arena, narrow);
    s->training.branch = mh_arena_floats(arena, narrow);
    s->training.wide = mh_arena_floats(arena, mh_size_mul(rows, mh_size_max(qkv, c->ffn_dim)));
    s->training.scratch = mh_arena_floats(arena, s->training.scratch_floats);
}

static enum mh_status lay_out(struct pass_state *s, struct mh_arena *arena, struct mh_error *error)
{
    const struct mh_model_config *c = s->config;
    size_t rows = row_count(s);
    size_t head = mh_head_loss_scratch(c->embed_dim, c->vocabulary, rows);
    size_t logits =
        s->pass->logits == NULL ? 0 : mh_learned_linear_scratch(c->embed_dim, c->vocabulary, rows);
    enum mh_status status =
        mh_block_training_scratch(&s->training, &s->training.scratch_floats, error);
    if (status != MH_OK)
        return status;
    s->training.scratch_floats = mh_size_max(s->training.scratch_floats, mh_size_max(head, logits));
    lay_out_shared(s, arena);
    s->layers = mh_arena_take(arena, c->layers, sizeof *s->layers);
    for (size_t l = 0; l < c->layers; l++) {
        struct mh_block_kept kept = mh_block_keep(&s->training, arena);
        if (s->layers != NULL)
            s->layers[l] = kept;
    }
    return MH_OK;
}

static struct pass_state begin(const struct mh_network *network,
                               const struct mh_training_pass *pass)
{
    return (struct pass_state){
        .network = network,
        .config = &network->model,
        .pass = pass,
        .training = {.network = network,
                     .config = &network->model,
                     .batch = pass->batch,
                     .length = pass->length,
                     .mask = pass->mask,
                     .scale_mode = pass->scale_mode,
                     .scale = pass->scale,
                     .attention_dropout = pass->attention_dropout,
                     .residual_dropout = pass->residual_dropout},
    };
}

enum mh_status mh_training_workspace(const struct mh_network *network,
                                     const struct mh_training_pass *pass, size_t *bytes,
                                     struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"bytes", bytes}, {0}});
    if (status == MH_OK)
        status = check_sizes(network, pass, error);
    if (status != MH_OK)
        return status;
    struct pass_state s = begin(network, pass);
    struct mh_arena arena = mh_arena_plan();
    status = lay_out(&s, &arena, error);
    return status == MH_OK ? mh_arena_planned(&arena, bytes, error) : status;
}

/* ===== The parts ============================================================================ */

static const float *parameter(const struct pass_state *s, size_t index)
{
    return s->pass->parameters + mh_parameter_place(s->network, index).offset;
}

static float *gradient_of(const struct pass_state *s, size_t index)
{
    return s->pass->gradient + mh_parameter_place(s->network, index).offset;
}

/* Output of layer l - 1; the embeddings for l = 0. */
static float *hidden(const struct pass_state *s, size_t l)
{
    return l == 0 ? s->embedded : s->layers[l - 1].ffn_output;
}

static struct mh_block_layer layer_of(const struct pass_state *s, size_t l)
{
    return (struct mh_block_layer){
        .parameters = s->pass->parameters,
        .layer = l,
        .seed = mh_training_layer_seed(s->pass->dropout_seed, l),
        .input = hidden(s, l),
        .kept = &s->layers[l],
    };
}

static struct mh_learned_linear head_of(const struct pass_state *s)
{
    return (struct mh_learned_linear){
        .in = s->config->embed_dim,
        .out = s->config->vocabulary,
        .out_by_in = true,
        .weight = parameter(s, MH_PARAMETER_WTE),
    };
}

static bool has_final_norm(const struct pass_state *s)
{
    return s->config->norm_position == MH_NORM_PRE;
}

/* What the head reads. */
static const float *head_input(const struct pass_state *s)
{
    return has_final_norm(s) ? s->normed : hidden(s, s->config->layers);
}

static void norm_finally(const struct pass_state *s)
{
    const float *x = hidden(s, s->config->layers);
    size_t width = s->config->embed_dim, norm = mh_parameter_final_norm(s->network);
    for (size_t r = 0; r < row_count(s); r++)
        mh_row_layer_norm(s->normed + r * width, x + r * width, parameter(s, norm),
                          parameter(s, norm + 1), s->config->norm_epsilon, width);
}

static void norm_finally_backward(const struct pass_state *s)
{
    const float *x = hidden(s, s->config->layers);
    size_t width = s->config->embed_dim, norm = mh_parameter_final_norm(s->network);
    for (size_t r = 0; r < row_count(s); r++)
        mh_row_layer_norm_gradient(s->d + r * width, gradient_of(s, norm), gradient_of(s, norm + 1),
                                   s->d + r * width, x + r * width, parameter(s, norm),
                                   s->config->norm_epsilon, width);
}

/* ===== Forward, loss, backward ============================================================== */

static enum mh_status forward(const struct pass_state *s, struct mh_error *error)
{
    const struct mh_training_pass *pass = s->pass;
    mh_learned_embedding_forward(s->embedded, parameter(s, MH_PARAMETER_WTE),
                                 parameter(s, MH_PARAMETER_WPE), pass->tokens, pass->batch,
                                 pass->length, s->config->embed_dim);
    for (size_t l = 0; l < s->config->layers; l++) {
        struct mh_block_layer layer = layer_of(s, l);
        enum mh_status status = mh_block_training_forward(&s->training, &layer, error);
        if (status != MH_OK)
            return status;
    }
    if (has_final_norm(s))
        norm_finally(s);
    return MH_OK;
}

static void lose(const struct pass_state *s, struct mh_training_result *result)
{
    const struct mh_training_pass *pass = s->pass;
    struct mh_head_loss loss = {
        .head = head_of(s),
        .rows = row_count(s),
        .x = head_input(s),
        .targets = pass->targets,
        .factor = pass->factor,
        .d = pass->gradient == NULL ? NULL : s->d,
        .dweight = pass->gradient == NULL ? NULL : gradient_of(s, MH_PARAMETER_WTE),
        .scratch = s->training.scratch,
    };
    mh_head_loss(&loss, result);
}

static void backward(const struct pass_state *s)
{
    const struct mh_training_pass *pass = s->pass;
    if (has_final_norm(s))
        norm_finally_backward(s);
    for (size_t l = s->config->layers; l-- > 0;) {
        struct mh_block_layer layer = layer_of(s, l);
        mh_block_training_backward(&s->training, &layer, s->d, pass->gradient);
    }
    mh_learned_embedding_backward(gradient_of(s, MH_PARAMETER_WTE),
                                  gradient_of(s, MH_PARAMETER_WPE), s->d, pass->tokens, pass->batch,
                                  pass->length, s->config->embed_dim);
}

/* ===== What may be asked for ================================================================ */

static void write_logits(const struct pass_state *s)
{
    struct mh_learned_linear head = head_of(s);
    mh_learned_linear_forward(&head, s->pass->logits, head_input(s), row_count(s),
                              s->training.scratch);
}

/* weights [B, H, T, T] of one layer, again from the scores. */
static void write_attention(const struct pass_state *s, float *weights, const float *scores)
{
    const struct mh_training_pass *pass = s->pass;
    size_t length = pass->length, heads = s->config->heads;
    for (size_t b = 0; b < pass->batch; b++) {
        struct mh_range unpadded = mh_mask_unpadded(&pass->mask, b, length);
        for (size_t row = 0; row < heads * length; row++) {
            size_t i = row % length, at = (b * heads * length + row) * length;
            struct mh_key_ranges ranges = mh_mask_ranges(&pass->mask, unpadded, i, i, length);
            mh_row_copy(weights + at, scores + at, length, &ranges, 0.0f);
            mh_row_softmax(weights + at, &ranges);
        }
    }
}

static void write_outputs(const struct pass_state *s)
{
    const struct mh_training_pass *pass = s->pass;
    size_t map = row_count(s) * s->config->heads * pass->length;
    for (size_t l = 0; l < s->config->layers; l++) {
        const float *scores = s->layers[l].scores;
        if (pass->attention != NULL)
            write_attention(s, pass->attention + l * map, scores);
        if (pass->scores != NULL)
            memcpy(pass->scores + l * map, scores, map * sizeof *scores);
    }
    if (pass->logits != NULL)
        write_logits(s);
}

enum mh_status mh_training_gradient(const struct mh_network *network,
                                    const struct mh_training_pass *pass, void *workspace,
                                    size_t workspace_bytes, struct mh_training_result *result,
                                    struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"result", result}, {0}});
    if (status == MH_OK)
        status = check_sizes(network, pass, error);
    if (status != MH_OK)
        return status;
    struct pass_state s = begin(network, pass);
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    status = lay_out(&s, &arena, error);
    if (status == MH_OK)
        status = mh_arena_check(&arena, error);
    if (status == MH_OK)
        status = check_numbers(&network->model, pass, error);
    if (status == MH_OK)
        status = forward(&s, error);
    if (status != MH_OK)
        return status;
    write_outputs(&s);
    *result = (struct mh_training_result){0};
    if (pass->targets == NULL)
        return MH_OK;
    lose(&s, result);
    if (pass->gradient != NULL && result->counted > 0)
        backward(&s);
    return MH_OK;
}
