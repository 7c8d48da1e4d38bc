/* Which rows a pass has to compute when those of the pass before are kept.
 *
 * Row i of layer l + 1 stands as it was if in layer l its own state, the states of the keys it sees,
 * its part of the mask, the scale and the ablations are as they were. Rows are dropped from the first
 * one on that is not so: one number a layer. */
#include "model/session.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/size.h"
#include "model/block.h"
#include "ops/mask.h"

#include <stdlib.h>
#include <string.h>

/* ===== Creating ============================================================================= */

static size_t state_size(const struct mh_session *session)
{
    return mh_size_mul(session->capacity, session->model->config.embed_dim);
}

static void lay_out_layer(struct mh_arena *arena, const struct mh_session *session, size_t layer,
                          struct mh_kept_rows *kept)
{
    size_t rows = mh_size_mul(session->model->config.heads, session->capacity);
    const mh_block *block = session->model->blocks[layer];
    *kept = (struct mh_kept_rows){.capacity = session->capacity};
    kept->projected = mh_arena_floats(arena, mh_block_kept_size(block, session->capacity));
    kept->records = mh_arena_take(arena, rows, sizeof *kept->records);
    kept->blind = mh_arena_take(arena, rows, sizeof *kept->blind);
}

static void lay_out(struct mh_arena *arena, struct mh_session *session)
{
    const struct mh_model_config *config = &session->model->config;
    size_t layers = config->layers, state = state_size(session);
    size_t rows = mh_size_mul(mh_size_mul(layers, config->heads), session->capacity);
    session->tokens = mh_arena_take(arena, session->capacity, sizeof *session->tokens);
    session->hidden = mh_arena_floats(arena, mh_size_mul(mh_size_add(layers, 1), state));
    session->final = session->model->norm_weight != NULL ? mh_arena_floats(arena, state) : NULL;
    session->masks = mh_arena_take(arena, rows, sizeof *session->masks);
    session->ablations = mh_arena_take(arena, layers, sizeof *session->ablations);
    session->layers = mh_arena_take(arena, layers, sizeof *session->layers);
    for (size_t layer = 0; layer < layers; layer++) {
        struct mh_kept_rows counted;
        lay_out_layer(arena, session, layer,
                      session->layers != NULL ? &session->layers[layer] : &counted);
    }
}

enum mh_status mh_session_create(mh_session **out, const mh_model *model, size_t positions,
                                 struct mh_error *error)
{
    if (out == NULL)
        return mh_fail(error, MH_ARGUMENT, "out is NULL");
    *out = NULL;
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"model", model}, {0}});
    if (status != MH_OK)
        return status;
    if (positions > model->config.positions)
        return mh_fail(error, MH_ARGUMENT, "positions %zu is not in 1..%zu, or 0 for all",
                       positions, model->config.positions);
    struct mh_session session = {.model = model, .capacity = positions};
    if (positions == 0)
        session.capacity = model->config.positions;

    struct mh_arena plan = mh_arena_plan();
    size_t bytes;
    lay_out(&plan, &session);
    status = mh_arena_planned(&plan, &bytes, error);
    if (status != MH_OK)
        return status;
    bytes = mh_size_add(bytes, sizeof session);
    unsigned char *memory = bytes == SIZE_MAX ? NULL : malloc(bytes);
    if (memory == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for a session of %zu tokens, %zu bytes",
                       session.capacity, bytes);
    struct mh_arena arena = mh_arena_over(memory + sizeof session, bytes - sizeof session);
    lay_out(&arena, &session);
    if (session.final == NULL)
        session.final = session.hidden + model->config.layers * state_size(&session);
    *out = memcpy(memory, &session, sizeof session);
    return MH_OK;
}

void mh_session_free(mh_session *session)
{
    free(session);
}

/* ===== Signatures =========================================================================== */

/* Numbers that differ when what they are made of differs, but for a chance of one in 2^64. */

static uint64_t mix(uint64_t signature, uint64_t word)
{
    signature = (signature ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return signature ^ (signature >> 29);
}

static uint64_t mix_bytes(uint64_t signature, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; bytes > 0;) {
        uint64_t word = 0;
        size_t take = mh_size_min(bytes, sizeof word);
        memcpy(&word, at, take);
        signature = mix(signature, word);
        at += take;
        bytes -= take;
    }
    return signature;
}

/* Of all that a row's weights, scores and statistics depend on besides query and keys. */
static uint64_t sign_row(const struct mh_mask_row *row, int32_t query_offset)
{
    uint64_t signature = mix((uint32_t)query_offset, row->hidden_when_zero);
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range range = row->ranges.of[r];
        size_t length = mh_range_length(range);
        signature = mix(signature, length);
        if (length == 0)
            continue;
        signature = mix(signature, range.begin);
        if (r == MH_FREE_KEYS)
            continue;
        if (row->key_hidden != NULL)
            signature = mix_bytes(mix(signature, 1), row->key_hidden + range.begin, length);
        if (row->hidden != NULL)
            signature = mix_bytes(mix(signature, 2), row->hidden + range.begin, length);
        if (row->bias != NULL)
            signature =
                mix_bytes(mix(signature, 3), row->bias + range.begin, length * sizeof *row->bias);
        for (size_t j = range.begin; row->key_blocks != NULL && j < range.end; j++)
            signature = mix(signature, row->key_blocks[j] == row->query_block ? 4 : 5);
    }
    return signature;
}

static uint64_t sign_ablations(const struct mh_model_pass *pass, size_t layer)
{
    uint64_t signature = 0;
    for (size_t i = 0; i < pass->ablation_count; i++) {
        const struct mh_ablation *ablation = &pass->ablations[i];
        if ((size_t)ablation->layer == layer)
            signature = mix(mix(signature, (uint64_t)ablation->head + 1), (uint64_t)ablation->kind);
    }
    return signature;
}

/* ===== What has changed ===================================================================== */

/* The mask of one layer. */
struct layer_mask {
    struct mh_mask mask;
    struct mh_range unpadded;
    size_t heads; /* that differ: 1 if all share one mask, else H */
    size_t length;
};

static struct layer_mask mask_of_layer(const struct mh_session *session,
                                       const struct mh_model_pass *pass, size_t layer)
{
    struct layer_mask m = {.mask = pass->mask, .heads = 1, .length = pass->length};
    if (m.mask.hidden != NULL)
        m.mask.hidden += layer * pass->hidden_layer_stride;
    if ((m.mask.hidden != NULL && m.mask.hidden_head_stride != 0) ||
        (m.mask.bias != NULL && m.mask.bias_head_stride != 0))
        m.heads = session->model->config.heads;
    m.unpadded = mh_mask_unpadded(&m.mask, 0, pass->length);
    return m;
}

static bool sees_from(const struct mh_mask_row *row, size_t first)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++)
        for (size_t j = mh_size_max(first, row->ranges.of[r].begin); j < row->ranges.of[r].end; j++)
            if (mh_mask_shows(row, j))
                return true;
    return false;
}

/* Row i's signatures are replaced. Has one changed, or does the row see a key from `first` on? */
static bool row_changes(struct mh_session *session, const struct layer_mask *m, size_t layer,
                        size_t i, size_t first)
{
    size_t heads = session->model->config.heads;
    uint64_t *kept = session->masks + layer * heads * session->capacity + i;
    uint64_t signature = 0;
    bool changes = false;
    for (size_t h = 0; h < heads; h++, kept += session->capacity) {
        if (h < m->heads) {
            struct mh_mask_row row = mh_mask_row(&m->mask, m->unpadded, 0, h, i, m->length);
            signature = sign_row(&row, m->mask.query_offset);
            changes = changes || sees_from(&row, first);
        }
        changes = changes || *kept != signature;
        *kept = signature;
    }
    return changes;
}

/* The first row of a layer whose attention may give something new, when the states of the rows before
 * `first` are as they were. */
static size_t first_changed_row(struct mh_session *session, const struct mh_model_pass *pass,
                                size_t layer, size_t first)
{
    struct layer_mask m = mask_of_layer(session, pass, layer);
    size_t changed = first;
    for (size_t i = 0; i < pass->length; i++)
        if (row_changes(session, &m, layer, i, first))
            changed = mh_size_min(changed, i);
    return changed;
}

static size_t first_changed_token(const struct mh_session *session,
                                  const struct mh_model_pass *pass)
{
    size_t most = mh_size_min(session->length, pass->length), i = 0;
    while (i < most && session->tokens[i] == pass->tokens[i])
        i++;
    return i;
}

/* A head whose output is its mean over the positions: any change changes all rows. */
static bool has_mean(const struct mh_model_pass *pass, size_t layer)
{
    for (size_t i = 0; i < pass->ablation_count; i++)
        if ((size_t)pass->ablations[i].layer == layer && pass->ablations[i].kind == MH_ABLATE_MEAN)
            return true;
    return false;
}

size_t mh_session_begin(struct mh_session *session, const struct mh_model_pass *pass, float scale)
{
    if (pass->check_finite != 0 && !session->checked)
        session->length = 0;
    size_t length = session->length, row = first_changed_token(session, pass);
    bool rescaled = scale != session->scale;
    for (size_t layer = 0; layer < session->model->config.layers; layer++) {
        struct mh_kept_rows *kept = &session->layers[layer];
        uint64_t ablations = sign_ablations(pass, layer);
        size_t changed = first_changed_row(session, pass, layer, row);
        if (length == 0 || rescaled || ablations != session->ablations[layer])
            changed = 0;
        if (has_mean(pass, layer) && (changed < pass->length || length != pass->length))
            changed = 0;
        session->ablations[layer] = ablations;
        kept->projected_from = row;
        kept->attended_from = changed;
        kept->described_from = length == 0 ? 0 : mh_size_min(kept->described_from, changed);
        row = changed;
    }
    session->scale = scale;
    session->length = 0;
    return row;
}

void mh_session_end(struct mh_session *session, const struct mh_model_pass *pass, size_t computed)
{
    bool described = pass->row_statistics != NULL || pass->head_statistics != NULL;
    for (size_t layer = 0; described && layer < session->model->config.layers; layer++)
        session->layers[layer].described_from = pass->length;
    memcpy(session->tokens, pass->tokens, pass->length * sizeof *pass->tokens);
    session->checked = pass->check_finite != 0 || (session->checked && computed == 0);
    session->length = pass->length;
}

size_t mh_session_blind_rows(const struct mh_session *session, size_t length)
{
    size_t rows = 0;
    for (size_t layer = 0; layer < session->model->config.layers; layer++)
        for (size_t h = 0; h < session->model->config.heads; h++)
            for (size_t i = 0; i < length; i++)
                rows += session->layers[layer].blind[h * session->capacity + i];
    return rows;
}
