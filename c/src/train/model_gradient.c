/* The loss of a network on a batch, and its gradient by every parameter. */
#include "base/arena.h"
#include "base/error.h"
#include "base/random.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "train/cross_entropy.h"
#include "train/embedding_gradient.h"
#include "train/head_loss.h"
#include "train/model_parameters.h"
#include "train/stack_finite.h"
#include "train/stack_gradient.h"
#include "train/stack_outputs.h"
#include "train/training_check.h"

#include <string.h>

uint32_t mh_training_layer_seed(uint32_t seed, size_t layer)
{
    return mh_random_at(mh_random_stream(seed, layer, 0, 0), 0);
}

/* ===== Workspace ============================================================================ */

struct pass_state {
    const struct mh_network *network;
    const struct mh_training_pass *pass;
    struct mh_embedded embedded, source;
    struct mh_stack main, encoder; /* an encoder without layers is none */
    float *pooled, *dpooled;       /* of a classifier: [B, E] */
    float *d;                      /* [max(R, B * S), E] */
    size_t d_floats;
    float factor; /* of the gradient: pass->factor, or 1 / places that count */
};

static size_t width_of(const struct pass_state *s)
{
    return s->network->model.embed_dim;
}

static bool has_encoder(const struct pass_state *s)
{
    return s->encoder.layers > 0;
}

static bool is_classifier(const struct pass_state *s)
{
    return s->network->architecture == MH_CLASSIFIER;
}

/* The factor that 0 stands for is the mean's. */
static float factor_of(const struct mh_network *n, const struct mh_training_pass *pass)
{
    if (pass->factor != 0.0f || pass->targets == NULL)
        return pass->factor != 0.0f ? pass->factor : 1.0f;
    size_t counted = mh_count_targets(pass->targets, mh_training_targets(n, pass));
    return counted > 0 ? 1.0f / (float)counted : 1.0f;
}

static struct mh_stack make_stack(const struct mh_network *n, const struct mh_training_pass *pass,
                                  enum mh_stack_kind kind)
{
    return (struct mh_stack){
        .layers = mh_stack_layers(n, kind),
        .dropout_seed = pass->dropout_seed,
        .training = {.network = n,
                     .stack = kind,
                     .parameters = pass->parameters,
                     .batch = pass->batch,
                     .scale_mode = pass->scale_mode,
                     .scale = pass->scale,
                     .attention_dropout = pass->attention_dropout,
                     .residual_dropout = pass->residual_dropout},
    };
}

static struct pass_state begin(const struct mh_network *n, const struct mh_training_pass *pass)
{
    struct mh_mask source_mask = {.key_lengths = pass->source_lengths};
    struct pass_state s = {
        .network = n,
        .pass = pass,
        .main = make_stack(n, pass, MH_MAIN_STACK),
        .encoder = make_stack(n, pass, MH_ENCODER_STACK),
        .embedded = {.network = n,
                     .parameters = pass->parameters,
                     .batch = pass->batch,
                     .length = mh_training_length(n, pass),
                     .tokens = n->architecture == MH_CLASSIFIER ? NULL : pass->tokens,
                     .patches = n->architecture == MH_CLASSIFIER ? pass->patches : NULL},
        .source = {.network = n,
                   .parameters = pass->parameters,
                   .batch = pass->batch,
                   .length = pass->source_length,
                   .tokens = pass->source},
    };
    s.main.layer_masks = pass->layer_masks;
    s.main.training.length = s.embedded.length;
    s.main.training.mask = pass->mask;
    s.main.training.memory_length = pass->source_length;
    s.main.training.memory_mask = source_mask;
    s.main.training.supervision = pass->supervision;
    s.main.training.supervision_count = pass->supervision_count;
    s.encoder.training.length = pass->source_length;
    s.encoder.training.mask = source_mask;
    s.encoder.first_seed = 2 * s.main.layers;
    return s;
}

/* The larger of what the stacks need, and what embeddings and head need. */
static enum mh_status plan_shared(const struct pass_state *s, size_t *scratch, size_t *wide,
                                  struct mh_error *error)
{
    size_t main = 0, encoder = 0, width = width_of(s), classes = s->network->model.vocabulary;
    size_t rows = mh_training_targets(s->network, s->pass);
    enum mh_status status = mh_block_training_scratch(&s->main.training, &main, error);
    if (status == MH_OK && has_encoder(s))
        status = mh_block_training_scratch(&s->encoder.training, &encoder, error);
    *scratch = mh_size_max(main, encoder);
    *scratch = mh_size_max(*scratch, mh_embedded_scratch(&s->embedded));
    *scratch = mh_size_max(*scratch, mh_head_loss_scratch(width, classes, rows));
    if (has_encoder(s))
        *scratch = mh_size_max(*scratch, mh_embedded_scratch(&s->source));
    if (s->pass->logits != NULL)
        *scratch = mh_size_max(*scratch, mh_learned_linear_scratch(width, classes, rows));
    *wide = mh_block_training_wide(&s->main.training);
    if (has_encoder(s))
        *wide = mh_size_max(*wide, mh_block_training_wide(&s->encoder.training));
    return status;
}

static enum mh_status lay_out(struct pass_state *s, struct mh_arena *arena, struct mh_error *error)
{
    size_t width = width_of(s), scratch, wide, memory = 0;
    enum mh_status status = plan_shared(s, &scratch, &wide, error);
    if (status != MH_OK)
        return status;
    size_t rows = mh_size_mul(s->pass->batch, s->embedded.length);
    if (has_encoder(s))
        memory = mh_size_mul(s->pass->batch, s->pass->source_length);
    struct mh_block_training *t = &s->main.training;
    s->d_floats = mh_size_mul(rows, width);
    s->d = mh_arena_floats(arena, s->d_floats);
    t->narrow = mh_arena_floats(arena, mh_size_mul(mh_size_max(rows, memory), width));
    t->branch = mh_arena_floats(arena, mh_size_mul(mh_size_max(rows, memory), width));
    t->wide = mh_arena_floats(arena, wide);
    t->scratch = mh_arena_floats(arena, scratch);
    t->scratch_floats = scratch;
    t->dmemory = has_encoder(s) ? mh_arena_floats(arena, mh_size_mul(memory, width)) : NULL;
    if (is_classifier(s)) {
        s->pooled = mh_arena_floats(arena, mh_size_mul(s->pass->batch, width));
        s->dpooled = mh_arena_floats(arena, mh_size_mul(s->pass->batch, width));
    }
    s->encoder.training.narrow = t->narrow;
    s->encoder.training.branch = t->branch;
    s->encoder.training.wide = t->wide;
    s->encoder.training.scratch = s->embedded.scratch = s->source.scratch = t->scratch;
    s->encoder.training.scratch_floats = scratch;
    mh_stack_lay_out(&s->main, arena);
    if (has_encoder(s))
        mh_stack_lay_out(&s->encoder, arena);
    return MH_OK;
}

enum mh_status mh_training_workspace(const struct mh_network *network,
                                     const struct mh_training_pass *pass, size_t *bytes,
                                     struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"bytes", bytes}, {0}});
    if (status == MH_OK)
        status = mh_training_check_sizes(network, pass, error);
    if (status != MH_OK)
        return status;
    struct pass_state s = begin(network, pass);
    struct mh_arena arena = mh_arena_plan();
    status = lay_out(&s, &arena, error);
    return status == MH_OK ? mh_arena_planned(&arena, bytes, error) : status;
}

/* ===== The head ============================================================================= */

static struct mh_learned_linear head_of(const struct pass_state *s)
{
    size_t index = mh_parameter_head(s->network);
    struct mh_learned_linear head = {
        .in = width_of(s),
        .out = s->network->model.vocabulary,
        .in_stride = is_classifier(s) ? s->network->model.vocabulary : 1,
        .out_stride = is_classifier(s) ? 1 : width_of(s),
        .weight = s->pass->parameters + mh_parameter_place(s->network, index).offset,
    };
    if (is_classifier(s))
        head.bias = s->pass->parameters + mh_parameter_place(s->network, index + 1).offset;
    return head;
}

/* pooled [B, E]: the class token's place, or the mean over all places. */
static void pool(const struct pass_state *s)
{
    size_t width = width_of(s), length = s->embedded.length, batch = s->pass->batch;
    const float *x = mh_stack_output(&s->main);
    memset(s->pooled, 0, batch * width * sizeof *x);
    for (size_t b = 0; b < batch; b++) {
        float *sum = s->pooled + b * width;
        for (size_t t = 0; t < (s->network->class_token ? 1 : length); t++)
            mh_row_add(sum, sum, x + (b * length + t) * width, width);
        if (!s->network->class_token)
            mh_row_scale(sum, sum, 1.0f / (float)length, width);
    }
}

static void pool_backward(const struct pass_state *s)
{
    size_t width = width_of(s), length = s->embedded.length;
    for (size_t r = 0; r < s->pass->batch * length; r++) {
        const float *from = s->dpooled + r / length * width;
        bool seen = !s->network->class_token || r % length == 0;
        float share = s->network->class_token ? 1.0f : 1.0f / (float)length;
        mh_row_scale(s->d + r * width, from, seen ? share : 0.0f, width);
    }
}

static const float *head_input(const struct pass_state *s)
{
    return is_classifier(s) ? s->pooled : mh_stack_output(&s->main);
}

static void lose(const struct pass_state *s, struct mh_training_result *result)
{
    const struct mh_training_pass *pass = s->pass;
    size_t index = mh_parameter_head(s->network);
    struct mh_head_loss loss = {
        .head = head_of(s),
        .rows = mh_training_targets(s->network, pass),
        .x = head_input(s),
        .targets = pass->targets,
        .factor = s->factor,
        .scratch = s->main.training.scratch,
    };
    if (pass->gradient != NULL) {
        loss.d = is_classifier(s) ? s->dpooled : s->d;
        loss.dweight = pass->gradient + mh_parameter_place(s->network, index).offset;
        if (is_classifier(s))
            loss.dbias = pass->gradient + mh_parameter_place(s->network, index + 1).offset;
    }
    mh_head_loss(&loss, result);
    if (pass->gradient != NULL && is_classifier(s))
        pool_backward(s);
}

/* ===== Forward and backward ================================================================= */

static enum mh_status forward(struct pass_state *s, struct mh_error *error)
{
    enum mh_status status = MH_OK;
    if (has_encoder(s)) {
        mh_embedded_forward(&s->source, s->encoder.input);
        status = mh_stack_forward(&s->encoder, error);
        s->main.training.memory = mh_stack_output(&s->encoder);
    }
    if (status != MH_OK)
        return status;
    mh_embedded_forward(&s->embedded, s->main.input);
    status = mh_stack_forward(&s->main, error);
    if (status == MH_OK && is_classifier(s))
        pool(s);
    return status;
}

static void backward(const struct pass_state *s)
{
    float *gradient = s->pass->gradient, *dmemory = s->main.training.dmemory;
    if (has_encoder(s))
        memset(dmemory, 0, s->pass->batch * s->pass->source_length * width_of(s) * sizeof *dmemory);
    mh_stack_backward(&s->main, s->d, gradient);
    mh_embedded_backward(&s->embedded, s->d, gradient);
    if (!has_encoder(s))
        return;
    mh_stack_backward(&s->encoder, dmemory, gradient);
    mh_embedded_backward(&s->source, dmemory, gradient);
}

static void write_outputs(const struct pass_state *s)
{
    const struct mh_training_pass *pass = s->pass;
    mh_stack_write_attention(&s->main, MH_SELF_ATTENTION, pass->attention, pass->scores);
    if (has_encoder(s)) {
        mh_stack_write_attention(&s->main, MH_CROSS_ATTENTION, pass->cross_attention, NULL);
        mh_stack_write_attention(&s->encoder, MH_SELF_ATTENTION, pass->encoder_attention, NULL);
    }
    if (pass->logits == NULL)
        return;
    struct mh_learned_linear head = head_of(s);
    mh_learned_linear_forward(&head, pass->logits, head_input(s),
                              mh_training_targets(s->network, pass), s->main.training.scratch);
}

static enum mh_status run(struct pass_state *s, struct mh_training_result *result,
                          struct mh_error *error)
{
    const struct mh_training_pass *pass = s->pass;
    enum mh_status status = forward(s, error);
    if (status != MH_OK)
        return status;
    write_outputs(s);
    *result = (struct mh_training_result){0};
    if (pass->gradient != NULL)
        memset(s->d, 0, s->d_floats * sizeof *s->d);
    if (pass->targets != NULL)
        lose(s, result);
    result->supervision = mh_stack_supervision(&s->main);
    if (pass->gradient != NULL && (result->counted > 0 || pass->supervision_count > 0))
        backward(s);
    return MH_OK;
}

enum mh_status mh_training_gradient(const struct mh_network *network,
                                    const struct mh_training_pass *pass, void *workspace,
                                    size_t workspace_bytes, struct mh_training_result *result,
                                    struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"result", result}, {0}});
    if (status == MH_OK)
        status = mh_training_check_sizes(network, pass, error);
    if (status != MH_OK)
        return status;
    struct pass_state s = begin(network, pass);
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    status = lay_out(&s, &arena, error);
    if (status == MH_OK)
        status = mh_arena_check(&arena, error);
    if (status == MH_OK)
        status = mh_training_check_numbers(network, pass, error);
    if (status != MH_OK)
        return status;
    s.factor = s.main.training.factor = factor_of(network, pass);
    return run(&s, result, error);
}

/* ===== Numbers that are not finite ========================================================== */

bool mh_training_find_nonfinite(const struct mh_network *network,
                                const struct mh_training_pass *pass, void *workspace,
                                size_t workspace_bytes, struct mh_offence *offence)
{
    struct pass_state s = begin(network, pass);
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    if (lay_out(&s, &arena, NULL) != MH_OK || mh_arena_check(&arena, NULL) != MH_OK)
        return false;
    if (has_encoder(&s) && mh_stack_find_nonfinite(&s.encoder, "encoder.", offence))
        return true;
    return mh_stack_find_nonfinite(&s.main, "", offence);
}
