#include "train/attention_branch.h"

#include "base/size.h"
#include "kernels/kernels.h"
#include "train/attention_gradient.h"
#include "train/block_parts.h"
#include "train/linear_gradient.h"

/* Numbers of a branch's dropout stream: the feed-forward branch has 1. */
enum { SELF_STREAM = 0, CROSS_STREAM = 2 };

/* ===== Sizes ================================================================================ */

static size_t memory_rows(const struct mh_block_training *t)
{
    return mh_size_mul(t->batch, t->memory_length);
}

/* Floats of a row of queries, which in self-attention has keys and values too. */
static size_t query_width(const struct mh_block_training *t, enum mh_attention_kind kind)
{
    size_t width = t->network->model.embed_dim;
    return kind == MH_SELF_ATTENTION ? width + 2 * mh_block_key_width(t) : width;
}

static size_t key_count(const struct mh_block_training *t, enum mh_attention_kind kind)
{
    return kind == MH_SELF_ATTENTION ? t->length : t->memory_length;
}

struct mh_attention_kept mh_attention_keep(const struct mh_block_training *t,
                                           enum mh_attention_kind kind, struct mh_arena *arena)
{
    size_t rows = mh_block_rows(t), narrow = mh_size_mul(rows, t->network->model.embed_dim);
    size_t maps = mh_size_mul(mh_size_mul(rows, t->network->model.heads), key_count(t, kind));
    struct mh_attention_kept kept = {
        .norm = mh_arena_floats(arena, narrow),
        .output = mh_arena_floats(arena, narrow),
        .query = mh_arena_floats(arena, mh_size_mul(rows, query_width(t, kind))),
        .scores = mh_arena_floats(arena, maps),
        .heads = mh_arena_floats(arena, narrow),
    };
    if (kind == MH_CROSS_ATTENTION)
        kept.key_value =
            mh_arena_floats(arena, mh_size_mul(memory_rows(t), 2 * mh_block_key_width(t)));
    return kept;
}

size_t mh_attention_branch_wide(const struct mh_block_training *t, enum mh_attention_kind kind)
{
    size_t queries = mh_size_mul(mh_block_rows(t), query_width(t, kind));
    if (kind == MH_SELF_ATTENTION)
        return queries;
    return mh_size_add(queries, mh_size_mul(memory_rows(t), 2 * mh_block_key_width(t)));
}

static struct mh_attention sizes_of(const struct mh_block_training *t, enum mh_attention_kind kind)
{
    const struct mh_model_config *c = &t->network->model;
    return (struct mh_attention){
        .batch = t->batch,
        .queries = t->length,
        .keys = key_count(t, kind),
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .head_dim = c->embed_dim / c->heads,
        .value_dim = c->embed_dim / c->heads,
    };
}

enum mh_status mh_attention_branch_scratch(const struct mh_block_training *t,
                                           enum mh_attention_kind kind, size_t *floats,
                                           struct mh_error *error)
{
    struct mh_attention attention = sizes_of(t, kind);
    size_t width = t->network->model.embed_dim, rows = mh_block_rows(t), bytes = 0;
    enum mh_status status = mh_attention_workspace(&attention, &bytes, error);
    if (status != MH_OK)
        return status;
    size_t most = bytes / sizeof(float) + 1;
    most = mh_size_max(most, mh_attention_backward_scratch(&attention));
    most = mh_size_max(most, mh_learned_linear_scratch(width, query_width(t, kind), rows));
    most = mh_size_max(most, mh_learned_linear_scratch(width, width, rows));
    if (kind == MH_CROSS_ATTENTION)
        most = mh_size_max(
            most, mh_learned_linear_scratch(width, 2 * mh_block_key_width(t), memory_rows(t)));
    *floats = most;
    return MH_OK;
}

/* ===== The branch =========================================================================== */

static const struct mh_attention_kept *kept_of(const struct mh_block_layer *l,
                                               enum mh_attention_kind kind)
{
    return kind == MH_SELF_ATTENTION ? &l->kept->self : &l->kept->cross;
}

static enum mh_layer_tensor norm_of(enum mh_attention_kind kind)
{
    return kind == MH_SELF_ATTENTION ? MH_LAYER_NORM1_WEIGHT : MH_LAYER_CROSS_NORM_WEIGHT;
}

static enum mh_layer_tensor query_of(enum mh_attention_kind kind)
{
    return kind == MH_SELF_ATTENTION ? MH_LAYER_QKV_WEIGHT : MH_LAYER_CROSS_QUERY_WEIGHT;
}

static enum mh_layer_tensor projection_of(enum mh_attention_kind kind)
{
    return kind == MH_SELF_ATTENTION ? MH_LAYER_PROJECTION_WEIGHT
                                     : MH_LAYER_CROSS_PROJECTION_WEIGHT;
}

static struct mh_residual residual_of(const struct mh_block_training *t,
                                      const struct mh_block_layer *l, enum mh_attention_kind kind,
                                      const float *input)
{
    const struct mh_attention_kept *kept = kept_of(l, kind);
    struct mh_residual residual = mh_block_residual(
        t, l, norm_of(kind), kind == MH_SELF_ATTENTION ? SELF_STREAM : CROSS_STREAM);
    residual.input = input;
    residual.kept = kept->norm;
    residual.output = kept->output;
    return residual;
}

/* Queries, keys and values side by side in rows, or their gradients. */
struct places {
    float *query, *key, *value;
    size_t query_row, key_row;
};

static struct places places_of(const struct mh_block_training *t, enum mh_attention_kind kind,
                               float *query, float *key_value)
{
    size_t width = t->network->model.embed_dim, keys = mh_block_key_width(t);
    float *key = kind == MH_SELF_ATTENTION ? query + width : key_value;
    size_t query_row = query_width(t, kind);
    return (struct places){.query = query,
                           .key = key,
                           .value = key + keys,
                           .query_row = query_row,
                           .key_row = kind == MH_SELF_ATTENTION ? query_row : 2 * keys};
}

/* Heads side by side in `length` rows of `row` floats. */
static struct mh_rows_out heads_at(const struct mh_block_training *t, float *data, size_t row,
                                   size_t length)
{
    const struct mh_model_config *c = &t->network->model;
    return (struct mh_rows_out){data, length * row, c->embed_dim / c->heads, row};
}

static struct mh_rows read_heads(const struct mh_block_training *t, const float *data, size_t row,
                                 size_t length)
{
    const struct mh_model_config *c = &t->network->model;
    return (struct mh_rows){data, length * row, c->embed_dim / c->heads, row};
}

static struct mh_attention attention_of(const struct mh_block_training *t,
                                        const struct mh_block_layer *l, enum mh_attention_kind kind)
{
    const struct mh_attention_kept *kept = kept_of(l, kind);
    struct places p = places_of(t, kind, kept->query, kept->key_value);
    size_t width = t->network->model.embed_dim, keys = key_count(t, kind);
    struct mh_attention attention = sizes_of(t, kind);
    attention.query = read_heads(t, p.query, p.query_row, t->length);
    attention.key = read_heads(t, p.key, p.key_row, keys);
    attention.value = read_heads(t, p.value, p.key_row, keys);
    attention.output = heads_at(t, kept->heads, width, t->length);
    attention.scale_mode = t->scale_mode;
    attention.scale = t->scale;
    attention.mask = kind == MH_SELF_ATTENTION ? *l->mask : t->memory_mask;
    attention.dropout = t->attention_dropout;
    attention.dropout_seed = kind == MH_SELF_ATTENTION ? l->seed : l->cross_seed;
    attention.scores = kept->scores;
    return attention;
}

enum mh_status mh_attention_branch_forward(const struct mh_block_training *t,
                                           const struct mh_block_layer *l,
                                           enum mh_attention_kind kind, const float *input,
                                           struct mh_error *error)
{
    const struct mh_attention_kept *kept = kept_of(l, kind);
    struct mh_residual residual = residual_of(t, l, kind, input);
    struct mh_attention attention = attention_of(t, l, kind);
    struct mh_report report;
    size_t rows = mh_block_rows(t);
    mh_block_linear(t, l, query_of(kind), kept->query, mh_residual_enter(&residual), rows);
    if (kind == MH_CROSS_ATTENTION)
        mh_block_linear(t, l, MH_LAYER_CROSS_KV_WEIGHT, kept->key_value, t->memory, memory_rows(t));
    enum mh_status status = mh_attention_forward(&attention, t->scratch,
                                                 t->scratch_floats * sizeof(float), &report, error);
    if (status != MH_OK)
        return status;
    mh_block_linear(t, l, projection_of(kind), t->branch, kept->heads, rows);
    mh_residual_leave(&residual, t->branch);
    return MH_OK;
}

/* ===== Backward ============================================================================= */

static void differentiate_attention(const struct mh_block_training *t,
                                    const struct mh_block_layer *l, enum mh_attention_kind kind,
                                    const struct places *d, const float *dheads)
{
    size_t keys = key_count(t, kind);
    struct mh_attention attention = attention_of(t, l, kind);
    struct mh_attention_gradient gradient = {
        .attention = &attention,
        .output = read_heads(t, dheads, t->network->model.embed_dim, t->length),
        .query = heads_at(t, d->query, d->query_row, t->length),
        .key = heads_at(t, d->key, d->key_row, keys),
        .value = heads_at(t, d->value, d->key_row, keys),
        .supervision = t->supervision,
        .supervision_count = t->supervision_count,
        .layer = l->layer,
        .cross = kind == MH_CROSS_ATTENTION,
        .factor = t->factor,
    };
    mh_attention_backward(&gradient, t->scratch);
}

/* dmemory += the gradient by what keys and values were made of. */
static void backward_memory(const struct mh_block_training *t, const struct mh_block_layer *l,
                            const float *dkey_value, float *gradient)
{
    size_t rows = memory_rows(t);
    mh_block_linear_backward(t, l, MH_LAYER_CROSS_KV_WEIGHT, gradient, t->narrow, dkey_value,
                             t->memory, rows);
    mh_row_add(t->dmemory, t->dmemory, t->narrow, rows * t->network->model.embed_dim);
}

void mh_attention_branch_backward(const struct mh_block_training *t, const struct mh_block_layer *l,
                                  enum mh_attention_kind kind, const float *input, float *d,
                                  float *gradient)
{
    struct mh_residual residual = residual_of(t, l, kind, input);
    float *dweight = mh_block_gradient_of(t, l, gradient, norm_of(kind));
    float *dbias = mh_block_gradient_of(t, l, gradient, norm_of(kind) + 1);
    size_t rows = mh_block_rows(t);
    float *dheads = t->narrow, *dinside = t->narrow, *dquery = t->wide;
    float *dkey_value = dquery + rows * query_width(t, kind);
    struct places places = places_of(t, kind, dquery, dkey_value);
    mh_residual_leave_backward(&residual, d, t->branch, dweight, dbias);
    mh_block_linear_backward(t, l, projection_of(kind), gradient, dheads, t->branch,
                             kept_of(l, kind)->heads, rows);
    differentiate_attention(t, l, kind, &places, dheads);
    if (kind == MH_CROSS_ATTENTION)
        backward_memory(t, l, dkey_value, gradient);
    mh_block_linear_backward(t, l, query_of(kind), gradient, dinside, dquery,
                             mh_block_inside(&residual), rows);
    mh_residual_enter_backward(&residual, d, dinside, dweight, dbias);
}

double mh_attention_branch_supervision(const struct mh_block_training *t,
                                       const struct mh_block_layer *l, enum mh_attention_kind kind)
{
    struct mh_attention attention = attention_of(t, l, kind);
    double sum = 0.0;
    for (size_t i = 0; i < t->supervision_count; i++) {
        const struct mh_supervision *s = &t->supervision[i];
        if ((size_t)s->layer == l->layer && (s->cross != 0) == (kind == MH_CROSS_ATTENTION))
            sum += mh_attention_divergence(&attention, s, t->scratch);
    }
    return sum;
}
