/* The forward pass of a model: embedding, blocks, final norm, head. */
#include "model/model.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "ops/attention.h"
#include "ops/guard.h"

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
    float *state;  /* [T, E], if the caller does not want the hidden states */
    float *chosen; /* [logit_count, E], if logits of chosen rows are wanted */
    int32_t *attention_heads, *score_heads; /* [H], those chosen of one layer */
    void *block;                            /* the workspace of one block */
    size_t block_bytes;
    void *head; /* scratch of the head, in the same place */
};

/* Chosen maps of one layer, within those of all layers. */
struct layer_maps {
    struct mh_choice choice; /* heads 0 .. H - 1 of this layer */
    size_t first;            /* floats of the layers before */
    bool any;
};

/* Finds the heads of `layer` in a choice among all, and writes them to `heads` [H]. */
static struct layer_maps maps_of_layer(const mh_model *model, const struct mh_model_pass *pass,
                                       const struct mh_choice *choice, size_t layer, int32_t *heads)
{
    size_t per_layer = model->config.heads;
    size_t rows = choice->rows != NULL ? choice->row_count : pass->length;
    struct layer_maps maps = {.choice = *choice, .any = rows > 0};
    if (choice->heads == NULL) {
        maps.first = layer * per_layer * rows * pass->length;
        return maps;
    }
    size_t before = 0, count = 0;
    for (size_t i = 0; i < choice->head_count; i++) {
        size_t head = (size_t)choice->heads[i];
        before += head < layer * per_layer;
        if (head / per_layer == layer)
            heads[count++] = (int32_t)(head % per_layer);
    }
    maps.choice.heads = heads;
    maps.choice.head_count = count;
    maps.first = before * rows * pass->length;
    maps.any = count > 0 && rows > 0;
    return maps;
}

/* Where layer `layer` writes what the caller wants to see of it. */
static void choose_outputs(const mh_model *model, const struct mh_model_pass *pass,
                           const struct scratch *scratch, size_t layer, struct mh_block_pass *block)
{
    size_t heads = model->config.heads;
    struct layer_maps weights =
        maps_of_layer(model, pass, &pass->chosen_attention, layer, scratch->attention_heads);
    if (pass->attention != NULL && weights.any) {
        const struct mh_choice *c = &weights.choice;
        bool all = c->heads == NULL && c->rows == NULL;
        block->weights = (struct mh_weights_out){.mode = all ? MH_WEIGHTS_ALL : MH_WEIGHTS_ROWS,
                                                 .data = pass->attention + weights.first,
                                                 .heads = c->heads,
                                                 .head_count = c->head_count,
                                                 .rows = c->rows,
                                                 .row_count = c->row_count};
    }
    struct layer_maps scores =
        maps_of_layer(model, pass, &pass->chosen_scores, layer, scratch->score_heads);
    block->chosen_scores = scores.choice;
    if (pass->raw_scores != NULL && scores.any)
        block->raw_scores = pass->raw_scores + scores.first;
    if (pass->scores != NULL && scores.any)
        block->scores = pass->scores + scores.first;
    if (pass->row_statistics != NULL)
        block->row_statistics =
            pass->row_statistics + layer * heads * pass->length * MH_ROW_STATISTICS;
    if (pass->head_statistics != NULL)
        block->head_statistics = pass->head_statistics + layer * heads * MH_HEAD_STATISTICS;
}

/* The part of the pass that is layer `layer`'s, without outputs other than the hidden state. */
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
    if (pass->mask.hidden != NULL)
        block.mask.hidden += layer * pass->hidden_layer_stride;
    if (pass->temperature > 0 && pass->temperature != 1) {
        size_t head_dim = model->config.embed_dim / model->config.heads;
        block.scale_mode = MH_SCALE_GIVEN;
        block.scale = mh_scale_of(pass->scale_mode, pass->scale, head_dim) / pass->temperature;
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
    scratch->state =
        pass->hidden == NULL ? mh_arena_floats(arena, mh_size_mul(pass->length, width)) : NULL;
    scratch->chosen = chosen ? mh_arena_floats(arena, mh_size_mul(pass->logit_count, width)) : NULL;
    scratch->attention_heads = mh_arena_take(arena, model->config.heads, sizeof(int32_t));
    scratch->score_heads = mh_arena_take(arena, model->config.heads, sizeof(int32_t));
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

static enum mh_status check_rows(enum mh_tensor name, const float *x, size_t rows, size_t columns,
                                 struct mh_report *report, struct mh_error *error)
{
    struct mh_tensor_view view = {.name = name,
                                  .data = x,
                                  .batch = 1,
                                  .rows = rows,
                                  .columns = columns,
                                  .row_stride = columns};
    return mh_check_finite(&view, report, error);
}

/* Runs the blocks; *last is hidden[L] before the final norm. Each hidden state goes to its place
 * in pass->hidden, or, if they are not wanted, over the one before. */
static enum mh_status run_blocks(const mh_model *model, const struct mh_model_pass *pass,
                                 const struct scratch *scratch, float **last,
                                 struct mh_report *report, struct mh_error *error)
{
    size_t stride = pass->hidden != NULL ? pass->length * model->config.embed_dim : 0;
    float *state = pass->hidden != NULL ? pass->hidden : scratch->state;
    mh_embedding_rows(&model->embedding, state, pass->tokens, pass->length);
    for (size_t layer = 0; layer < model->config.layers; layer++, state += stride) {
        struct mh_report of_layer;
        struct mh_block_pass block = block_pass(model, pass, layer, state, state + stride);
        choose_outputs(model, pass, scratch, layer, &block);
        enum mh_status status = mh_block_forward(model->blocks[layer], &block, scratch->block,
                                                 scratch->block_bytes, &of_layer, error);
        of_layer.masked_rows += report->masked_rows;
        *report = of_layer;
        if (status != MH_OK)
            return fail_in_layer(model, status, layer, report, error);
    }
    *last = state;
    return MH_OK;
}

static void norm_rows(const mh_model *model, float *x, size_t rows)
{
    size_t width = model->config.embed_dim;
    for (size_t r = 0; r < rows; r++)
        mh_row_layer_norm(x + r * width, x + r * width, model->norm_weight, model->norm_bias,
                          model->config.norm_epsilon, width);
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
    return pass->check_finite ? check_rows(MH_TENSOR_LOGITS, pass->logits, rows,
                                           model->config.vocabulary, report, error)
                              : MH_OK;
}

static enum mh_status run(const mh_model *model, const struct mh_model_pass *pass,
                          const struct scratch *scratch, struct mh_report *report,
                          struct mh_error *error)
{
    float *state = NULL;
    enum mh_status status = run_blocks(model, pass, scratch, &state, report, error);
    if (status != MH_OK)
        return status;
    if (model->norm_weight != NULL)
        norm_rows(model, state, pass->length);
    if (pass->check_finite)
        status = check_rows(MH_TENSOR_HIDDEN, state, pass->length, model->config.embed_dim, report,
                            error);
    if (status == MH_OK && pass->logits != NULL)
        status = write_logits(model, pass, scratch, state, report, error);
    return status == MH_OK ? MH_OK
                           : fail_in_layer(model, status, model->config.layers, report, error);
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
    return status == MH_OK ? run(model, pass, &scratch, report, error) : status;
}
