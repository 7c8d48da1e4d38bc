#include "train/model_gradient.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/random.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "train/block_gradient.h"
#include "train/cross_entropy.h"
#include "train/embedding_gradient.h"
#include "train/linear_gradient.h"
#include "train/row_gradients.h"

#include <math.h>

uint32_t mh_training_layer_seed(uint32_t seed, size_t layer)
{
    return mh_random_at(mh_random_stream(seed, layer, 0, 0), 0);
}

/* ===== Checks =============================================================================== */

static enum mh_status check_config(const struct mh_model_config *c, struct mh_error *error)
{
    enum mh_status status = mh_model_check_sizes(c, error);
    if (status != MH_OK)
        return status;
    if (c->activation < MH_ACTIVATION_GELU || c->activation > MH_ACTIVATION_RELU)
        return mh_fail(error, MH_ARGUMENT, "activation is %d: it must be 0 to 2", c->activation);
    if (c->norm_position != MH_NORM_PRE && c->norm_position != MH_NORM_POST)
        return mh_fail(error, MH_ARGUMENT, "norm_position is %d: it must be 0 (pre) or 1 (post)",
                       c->norm_position);
    if (!(c->norm_epsilon > 0.0f && isfinite(c->norm_epsilon)))
        return mh_fail(error, MH_ARGUMENT, "norm_epsilon is %g: it must be finite and above 0",
                       (double)c->norm_epsilon);
    return MH_OK;
}

static enum mh_status check_sizes(const struct mh_model_config *c,
                                  const struct mh_training_pass *pass, struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"config", c}, {"pass", pass}, {0}});
    if (status == MH_OK)
        status = check_config(c, error);
    if (status != MH_OK)
        return status;
    if (pass->batch == 0 || pass->length == 0 || pass->length > c->positions)
        return mh_fail(error, MH_ARGUMENT,
                       "batch is %zu and length %zu: batch must be at least 1, length 1 to %zu",
                       pass->batch, pass->length, c->positions);
    return MH_OK;
}

static enum mh_status check_numbers(const struct mh_model_config *c,
                                    const struct mh_training_pass *pass, struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"parameters", pass->parameters},
                                                      {"tokens", pass->tokens},
                                                      {"targets", pass->targets},
                                                      {0}});
    if (status != MH_OK)
        return status;
    if (!isfinite(pass->factor))
        return mh_fail(error, MH_ARGUMENT, "factor is %g: it must be finite", (double)pass->factor);
    for (size_t r = 0; r < pass->batch * pass->length; r++) {
        if (pass->tokens[r] < 0 || (size_t)pass->tokens[r] >= c->vocabulary)
            return mh_fail(error, MH_ARGUMENT, "tokens[%zu] is %d: it must be 0 to %zu", r,
                           pass->tokens[r], c->vocabulary - 1);
        if (pass->targets[r] >= 0 && (size_t)pass->targets[r] >= c->vocabulary)
            return mh_fail(error, MH_ARGUMENT,
                           "targets[%zu] is %d: it must be below %zu, or negative for none", r,
                           pass->targets[r], c->vocabulary);
    }
    return MH_OK;
}

/* ===== Workspace ============================================================================ */

struct pass_state {
    const struct mh_model_config *config;
    const struct mh_training_pass *pass;
    struct mh_block_training training;
    struct mh_block_kept *layers; /* [L] */
    float *embedded;              /* [R, E] */
    float *normed;                /* [R, E] after the final norm */
    float *logits;                /* [R, V], then their gradient */
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
    s->logits = mh_arena_floats(arena, mh_size_mul(rows, c->vocabulary));
    s->training.narrow = mh_arena_floats(arena, narrow);
    s->training.branch = mh_arena_floats(arena, narrow);
    s->training.wide = mh_arena_floats(arena, mh_size_mul(rows, mh_size_max(qkv, c->ffn_dim)));
    s->training.scratch = mh_arena_floats(arena, s->training.scratch_floats);
}

static enum mh_status lay_out(struct pass_state *s, struct mh_arena *arena, struct mh_error *error)
{
    const struct mh_model_config *c = s->config;
    size_t head = mh_learned_linear_scratch(c->embed_dim, c->vocabulary, row_count(s));
    enum mh_status status =
        mh_block_training_scratch(&s->training, &s->training.scratch_floats, error);
    if (status != MH_OK)
        return status;
    s->training.scratch_floats = mh_size_max(s->training.scratch_floats, head);
    lay_out_shared(s, arena);
    s->layers = mh_arena_take(arena, c->layers, sizeof *s->layers);
    for (size_t l = 0; l < c->layers; l++) {
        struct mh_block_kept kept = mh_block_keep(&s->training, arena);
        if (s->layers != NULL)
            s->layers[l] = kept;
    }
    return MH_OK;
}

static struct pass_state begin(const struct mh_model_config *config,
                               const struct mh_training_pass *pass)
{
    return (struct pass_state){
        .config = config,
        .pass = pass,
        .training = {.config = config,
                     .batch = pass->batch,
                     .length = pass->length,
                     .mask = pass->mask,
                     .scale_mode = pass->scale_mode,
                     .scale = pass->scale,
                     .dropout = pass->dropout},
    };
}

enum mh_status mh_training_workspace(const struct mh_model_config *config,
                                     const struct mh_training_pass *pass, size_t *bytes,
                                     struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"bytes", bytes}, {0}});
    if (status == MH_OK)
        status = check_sizes(config, pass, error);
    if (status != MH_OK)
        return status;
    struct pass_state s = begin(config, pass);
    struct mh_arena arena = mh_arena_plan();
    status = lay_out(&s, &arena, error);
    return status == MH_OK ? mh_arena_planned(&arena, bytes, error) : status;
}

/* ===== The parts ============================================================================ */

static const float *parameter(const struct pass_state *s, size_t index)
{
    return s->pass->parameters + mh_parameter_at(s->config, index).offset;
}

static float *gradient_of(const struct pass_state *s, size_t index)
{
    return s->pass->gradient + mh_parameter_at(s->config, index).offset;
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
    size_t width = s->config->embed_dim, norm = mh_parameter_final_norm(s->config);
    for (size_t r = 0; r < row_count(s); r++)
        mh_row_layer_norm(s->normed + r * width, x + r * width, parameter(s, norm),
                          parameter(s, norm + 1), s->config->norm_epsilon, width);
}

static void norm_finally_backward(const struct pass_state *s)
{
    const float *x = hidden(s, s->config->layers);
    size_t width = s->config->embed_dim, norm = mh_parameter_final_norm(s->config);
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
    struct mh_learned_linear head = head_of(s);
    mh_learned_linear_forward(&head, s->logits, head_input(s), row_count(s), s->training.scratch);
    return MH_OK;
}

static size_t count_correct(const struct pass_state *s)
{
    size_t correct = 0, vocabulary = s->config->vocabulary;
    for (size_t r = 0; r < row_count(s); r++) {
        const float *logits = s->logits + r * vocabulary;
        int32_t target = s->pass->targets[r];
        correct += target >= 0 && logits[target] == mh_row_max(logits, vocabulary);
    }
    return correct;
}

/* The logits become their gradient. */
static void measure(const struct pass_state *s, struct mh_training_result *result)
{
    result->correct = count_correct(s);
    result->counted = mh_count_targets(s->pass->targets, row_count(s));
    float factor = s->pass->factor;
    if (factor == 0.0f && result->counted > 0)
        factor = 1.0f / (float)result->counted;
    result->loss = mh_cross_entropy(s->logits, s->logits, s->pass->targets, row_count(s),
                                    s->config->vocabulary, factor);
}

static void backward(const struct pass_state *s)
{
    const struct mh_training_pass *pass = s->pass;
    struct mh_learned_linear head = head_of(s);
    mh_learned_linear_backward(&head, s->d, gradient_of(s, MH_PARAMETER_WTE), NULL, s->logits,
                               head_input(s), row_count(s), s->training.scratch);
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

enum mh_status mh_training_gradient(const struct mh_model_config *config,
                                    const struct mh_training_pass *pass, void *workspace,
                                    size_t workspace_bytes, struct mh_training_result *result,
                                    struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"result", result}, {0}});
    if (status == MH_OK)
        status = check_sizes(config, pass, error);
    if (status != MH_OK)
        return status;
    struct pass_state s = begin(config, pass);
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    status = lay_out(&s, &arena, error);
    if (status == MH_OK)
        status = mh_arena_check(&arena, error);
    if (status == MH_OK)
        status = check_numbers(config, pass, error);
    if (status == MH_OK)
        status = forward(&s, error);
    if (status != MH_OK)
        return status;
    measure(&s, result);
    if (pass->gradient != NULL)
        backward(&s);
    return MH_OK;
}
