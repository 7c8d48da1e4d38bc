/* The forward pass of a model: embedding, blocks, final norm, head. */
#include "model/model.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/size.h"
#include "model/block.h"
#include "model/chosen_maps.h"
#include "model/rows.h"
#include "model/session.h"
#include "ops/attention.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ===== Checks =============================================================================== */

/* What the workspace depends on. */
static enum mh_status check_sizes(const mh_model *model, const struct mh_model_pass *pass,
                                  struct mh_error *error)
{
    if (pass->length == 0 || pass->length > model->config.positions)
        return mh_fail(error, MH_ARGUMENT, "length %zu is not in 1..%zu, the model's positions",
                       pass->length, model->config.positions);
    if (pass->session != NULL && pass->session->model != model)
        return mh_fail(error, MH_ARGUMENT, "the session is of another model");
    if (pass->session != NULL && pass->length > pass->session->capacity)
        return mh_fail(error, MH_ARGUMENT, "length %zu is more than the session's %zu positions",
                       pass->length, pass->session->capacity);
    return MH_OK;
}

static enum mh_status check_tokens(const mh_model *model, const struct mh_model_pass *pass,
                                   struct mh_error *error)
{
    if (pass->tokens == NULL)
        return mh_fail(error, MH_ARGUMENT, "tokens is NULL");
    for (size_t t = 0; t < pass->length; t++)
        if (pass->tokens[t] < 0 || (size_t)pass->tokens[t] >= model->config.vocabulary)
            return mh_fail(error, MH_ARGUMENT, "token %d at position %zu is not in 0..%zu",
                           pass->tokens[t], t, model->config.vocabulary - 1);
    return MH_OK;
}

static enum mh_status check_choices(const mh_model *model, const struct mh_model_pass *pass,
                                    struct mh_error *error)
{
    size_t heads = model->config.layers * model->config.heads;
    enum mh_status status = MH_OK;
    if (pass->attention != NULL)
        status = mh_choice_check(&pass->chosen_attention, heads, pass->length, "chosen_attention",
                                 error);
    if (status == MH_OK && (pass->raw_scores != NULL || pass->scores != NULL))
        status = mh_choice_check(&pass->chosen_scores, heads, pass->length, "chosen_scores", error);
    return status;
}

static enum mh_status check_pass(const mh_model *model, const struct mh_model_pass *pass,
                                 struct mh_error *error)
{
    if (!(pass->temperature >= 0 && isfinite(pass->temperature)))
        return mh_fail(error, MH_ARGUMENT, "temperature %g must be above 0, or 0 for 1",
                       (double)pass->temperature);
    if (pass->scale_mode < MH_SCALE_DEFAULT || pass->scale_mode > MH_SCALE_NONE)
        return mh_fail(error, MH_ARGUMENT, "scale_mode %d is not in 0..%d", pass->scale_mode,
                       MH_SCALE_NONE);
    if (pass->ablations == NULL && pass->ablation_count > 0)
        return mh_fail(error, MH_ARGUMENT, "ablation_count is %zu, but ablations is NULL",
                       pass->ablation_count);
    for (size_t i = 0; i < pass->ablation_count; i++) {
        int32_t layer = pass->ablations[i].layer;
        if (layer < 0 || (size_t)layer >= model->config.layers)
            return mh_fail(error, MH_ARGUMENT, "ablation %zu is in layer %d, but layers are 0..%zu",
                           i, layer, model->config.layers - 1);
    }
    enum mh_status status = check_choices(model, pass, error);
    if (status == MH_OK)
        status = mh_mask_check(&pass->mask, 1, pass->length, error);
    if (status != MH_OK)
        return status;
    for (size_t i = 0; pass->logit_rows != NULL && i < pass->logit_count; i++)
        if (pass->logit_rows[i] < 0 || (size_t)pass->logit_rows[i] >= pass->length)
            return mh_fail(error, MH_ARGUMENT, "logit row %zu is %d, but positions are 0..%zu", i,
                           pass->logit_rows[i], pass->length - 1);
    return check_tokens(model, pass, error);
}

/* ===== Workspace ============================================================================ */

struct scratch {
    float *state;  /* [T, E], if neither the caller nor a session has room for hidden states */
    float *chosen; /* [logit_count, E], if logits of chosen rows are wanted */
    int32_t *chosen_heads; /* [2, H], see mh_choose_maps */
    void *block;           /* the workspace of one block */
    size_t block_bytes;
    void *head; /* scratch of the head, in the same place */
};

/* The factor on Q Kᵀ. */
static float scale_of(const mh_model *model, const struct mh_model_pass *pass)
{
    size_t head_dim = model->config.embed_dim / model->config.heads;
    float scale = mh_scale_of(pass->scale_mode, pass->scale, head_dim);
    return pass->temperature > 0 && pass->temperature != 1 ? scale / pass->temperature : scale;
}

/* The part of the pass that is layer `layer`'s, without maps. */
static struct mh_block_pass block_pass(const mh_model *model, const struct mh_model_pass *pass,
                                       size_t layer, const float *input, float *output)
{
    struct mh_block_pass block = {
        .batch = 1,
        .length = pass->length,
        .input = input,
        .output = output,
        .scale_mode = pass->scale_mode,
        .scale = pass->scale,
        .mask = pass->mask,
        .ablations = pass->ablations,
        .ablation_count = pass->ablation_count,
        .layer = (int32_t)layer,
        .check_finite = pass->check_finite,
    };
    size_t heads = model->config.heads;
    if (pass->row_statistics != NULL)
        block.row_statistics =
            pass->row_statistics + layer * heads * pass->length * MH_ROW_STATISTICS;
    if (pass->head_statistics != NULL)
        block.head_statistics = pass->head_statistics + layer * heads * MH_HEAD_STATISTICS;
    if (pass->mask.hidden != NULL)
        block.mask.hidden += layer * pass->hidden_layer_stride;
    if (pass->temperature > 0 && pass->temperature != 1) {
        block.scale_mode = MH_SCALE_GIVEN;
        block.scale = scale_of(model, pass);
    }
    return block;
}

static enum mh_status lay_out(const mh_model *model, const struct mh_model_pass *pass,
                              struct mh_arena *arena, struct scratch *scratch,
                              struct mh_error *error)
{
    enum mh_status status = check_sizes(model, pass, error);
    if (status != MH_OK)
        return status;
    struct mh_block_pass block = block_pass(model, pass, 0, NULL, NULL);
    status = mh_block_workspace(model->blocks[0], &block, &scratch->block_bytes, error);
    if (status != MH_OK)
        return status;

    size_t width = model->config.embed_dim;
    bool chosen = pass->logits != NULL && pass->logit_rows != NULL;
    bool kept = pass->hidden != NULL || pass->session != NULL;
    scratch->state = !kept ? mh_arena_floats(arena, mh_size_mul(pass->length, width)) : NULL;
    scratch->chosen = chosen ? mh_arena_floats(arena, mh_size_mul(pass->logit_count, width)) : NULL;
    scratch->chosen_heads = mh_arena_take(arena, 2 * model->config.heads, sizeof(int32_t));
    size_t mark = mh_arena_mark(arena);
    scratch->block = mh_arena_take(arena, scratch->block_bytes, 1);
    mh_arena_release(arena, mark);
    size_t rows = pass->logit_rows != NULL ? pass->logit_count : pass->length;
    scratch->head = mh_arena_take(
        arena, pass->logits != NULL ? mh_embedding_scratch(&model->embedding, rows) : 0, 1);
    return MH_OK;
}

enum mh_status mh_model_workspace(const mh_model *model, const struct mh_model_pass *pass,
                                  size_t *bytes, struct mh_error *error)
{
    enum mh_status status = mh_require(
        error,
        (const struct mh_pointer[]){{"model", model}, {"pass", pass}, {"bytes", bytes}, {0}});
    if (status != MH_OK)
        return status;
    struct mh_arena arena = mh_arena_plan();
    struct scratch scratch;
    status = lay_out(model, pass, &arena, &scratch, error);
    return status == MH_OK ? mh_arena_planned(&arena, bytes, error) : status;
}

/* ===== Forward ============================================================================== */

/* A number that is not finite is named with its layer; L stands for what follows the last one. */
static enum mh_status fail_in_layer(const mh_model *model, enum mh_status status, size_t layer,
                                    struct mh_report *report, struct mh_error *error)
{
    if (status != MH_NONFINITE)
        return status;
    report->nonfinite_layer = (uint32_t)layer;
    if (error == NULL)
        return status;
    struct mh_error inner = *error;
    if (layer == model->config.layers)
        return mh_fail(error, status, "after the last layer: %s", inner.message);
    return mh_fail(error, status, "layer %zu: %s", layer, inner.message);
}

/* Where the hidden states of a pass are. */
struct states {
    float *first;  /* hidden[0] */
    size_t stride; /* floats to the next; 0: each takes the place of the one before */
    size_t from;   /* rows of hidden[0] before it are there already */
};

static struct states states_of(const mh_model *model, const struct mh_model_pass *pass,
                               const struct scratch *scratch)
{
    size_t width = model->config.embed_dim;
    const struct mh_session *session = pass->session;
    if (session != NULL)
        return (struct states){session->hidden, session->capacity * width,
                               session->layers[0].projected_from};
    return pass->hidden != NULL ? (struct states){pass->hidden, pass->length * width, 0}
                                : (struct states){scratch->state, 0, 0};
}

static void embed(const mh_model *model, const struct mh_model_pass *pass, float *state,
                  size_t from)
{
    size_t offset = from * model->config.embed_dim;
    struct mh_embedding embedding = model->embedding;
    embedding.position += offset;
    mh_embedding_rows(&embedding, state + offset, pass->tokens + from, pass->length - from);
}

/* A layer has been computed from row `first` on. */
static void count_rows(struct mh_report *report, size_t layer, size_t first, size_t length)
{
    if (first == length)
        return;
    if (report->computed_rows == 0)
        report->first_layer = (uint32_t)layer;
    report->first_row = (uint32_t)mh_size_min(report->first_row, first);
    report->computed_rows += (uint32_t)(length - first);
}

/* Runs the blocks; *last is hidden[L] before the final norm. */
static enum mh_status run_blocks(const mh_model *model, const struct mh_model_pass *pass,
                                 const struct scratch *scratch, float **last,
                                 struct mh_report *report, struct mh_error *error)
{
    struct states states = states_of(model, pass, scratch);
    float *state = states.first;
    embed(model, pass, state, states.from);
    report->first_layer = (uint32_t)model->config.layers;
    report->first_row = (uint32_t)pass->length;
    for (size_t layer = 0; layer < model->config.layers; layer++, state += states.stride) {
        const struct mh_kept_rows *kept =
            pass->session != NULL ? &pass->session->layers[layer] : NULL;
        struct mh_report of_layer;
        struct mh_block_pass block = block_pass(model, pass, layer, state, state + states.stride);
        mh_choose_maps(&model->config, pass, layer, scratch->chosen_heads, &block);
        enum mh_status status =
            mh_block_forward_kept(model->blocks[layer], &block, kept, scratch->block,
                                  scratch->block_bytes, &of_layer, error);
        of_layer.masked_rows += report->masked_rows;
        of_layer.computed_rows = report->computed_rows;
        of_layer.first_layer = report->first_layer;
        of_layer.first_row = report->first_row;
        *report = of_layer;
        if (status != MH_OK)
            return fail_in_layer(model, status, layer, report, error);
        count_rows(report, layer, kept != NULL ? kept->attended_from : 0, pass->length);
    }
    *last = state;
    return MH_OK;
}

/* The final norm of rows `from` on; returns where hidden[L] is then. */
static float *finish_states(const mh_model *model, const struct mh_model_pass *pass, float *last,
                            size_t from)
{
    float *final = pass->session != NULL ? pass->session->final : last;
    size_t width = model->config.embed_dim;
    const struct mh_norm norm = {model->norm_weight, model->norm_bias, model->config.norm_epsilon};
    if (model->norm_weight != NULL)
        mh_norm_rows(&norm, final + from * width, last + from * width, pass->length - from, width);
    return final;
}

/* The hidden states that a session has, to the caller. */
static void copy_states(const mh_model *model, const struct mh_model_pass *pass)
{
    const struct mh_session *session = pass->session;
    size_t width = model->config.embed_dim, floats = pass->length * width;
    for (size_t l = 0; l < model->config.layers; l++)
        memcpy(pass->hidden + l * floats, session->hidden + l * session->capacity * width,
               floats * sizeof(float));
    memcpy(pass->hidden + model->config.layers * floats, session->final, floats * sizeof(float));
}

static enum mh_status write_logits(const mh_model *model, const struct mh_model_pass *pass,
                                   const struct scratch *scratch, const float *state,
                                   struct mh_report *report, struct mh_error *error)
{
    size_t width = model->config.embed_dim, rows = pass->length;
    if (pass->logit_rows != NULL) {
        rows = pass->logit_count;
        for (size_t r = 0; r < rows; r++)
            memcpy(scratch->chosen + r * width, state + (size_t)pass->logit_rows[r] * width,
                   width * sizeof *state);
        state = scratch->chosen;
    }
    mh_embedding_logits(&model->embedding, pass->logits, state, rows, scratch->head);
    return pass->check_finite ? mh_check_rows(MH_TENSOR_LOGITS, pass->logits, 1, rows,
                                              model->config.vocabulary, report, error)
                              : MH_OK;
}

/* The pass, in which the last hidden state changes from row `from` on. */
static enum mh_status run_from(const mh_model *model, const struct mh_model_pass *pass,
                               const struct scratch *scratch, size_t from, struct mh_report *report,
                               struct mh_error *error)
{
    float *state = NULL;
    size_t width = model->config.embed_dim;
    enum mh_status status = run_blocks(model, pass, scratch, &state, report, error);
    if (status != MH_OK)
        return status;
    state = finish_states(model, pass, state, from);
    if (pass->check_finite)
        status = mh_check_rows(MH_TENSOR_HIDDEN, state + from * width, 1, pass->length - from,
                               width, report, error);
    if (status == MH_OK && pass->logits != NULL)
        status = write_logits(model, pass, scratch, state, report, error);
    return status == MH_OK ? MH_OK
                           : fail_in_layer(model, status, model->config.layers, report, error);
}

static enum mh_status run_session(const mh_model *model, const struct mh_model_pass *pass,
                                  const struct scratch *scratch, struct mh_report *report,
                                  struct mh_error *error)
{
    struct mh_session *session = pass->session;
    float scale = scale_of(model, pass);
    bool kept = session->length > 0;
    size_t from = mh_session_begin(session, pass, scale);
    enum mh_status status = run_from(model, pass, scratch, from, report, error);
    if (status == MH_NONFINITE && kept) { /* all of it, so that the first such number is named */
        *report = (struct mh_report){0};
        from = mh_session_begin(session, pass, scale);
        status = run_from(model, pass, scratch, from, report, error);
    }
    if (status != MH_OK)
        return status;
    report->masked_rows = (uint32_t)mh_session_blind_rows(session, pass->length);
    mh_session_end(session, pass, report->computed_rows);
    if (pass->hidden != NULL)
        copy_states(model, pass);
    return MH_OK;
}

enum mh_status mh_model_forward(const mh_model *model, const struct mh_model_pass *pass,
                                void *workspace, size_t workspace_bytes, struct mh_report *report,
                                struct mh_error *error)
{
    struct mh_report unread;
    report = report != NULL ? report : &unread;
    *report = (struct mh_report){0};
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){
                              {"model", model}, {"pass", pass}, {"workspace", workspace}, {0}});
    if (status != MH_OK)
        return status;
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    struct scratch scratch;
    status = lay_out(model, pass, &arena, &scratch, error);
    if (status == MH_OK)
        status = check_pass(model, pass, error);
    if (status == MH_OK)
        status = mh_arena_check(&arena, error);
    if (status != MH_OK)
        return status;
    return pass->session != NULL ? run_session(model, pass, &scratch, report, error)
                                 : run_from(model, pass, &scratch, 0, report, error);
}
