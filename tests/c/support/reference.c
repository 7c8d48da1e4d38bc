#include "support/reference.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(size_t count)
{
    double *block = calloc(count > 0 ? count : 1, sizeof *block);
    if (block == NULL)
        abort();
    return block;
}

/* ===== Masks ================================================================================ */

static const float *bias_at(const struct mh_mask *m, size_t b, size_t h, size_t i, size_t j)
{
    return m->bias + b * m->bias_batch_stride + h * m->bias_head_stride + i * m->bias_row_stride +
           j;
}

bool reference_shows(const struct mh_mask *m, size_t keys, size_t b, size_t h, size_t i, size_t j)
{
    size_t masked = keys - m->free_keys;
    if (j >= masked)
        return true;
    long long key = (long long)j;
    long long position = (long long)i + m->query_offset;
    bool far = (m->causal && key > position) ||
               (m->windowed && m->window_left >= 0 && key < position - m->window_left) ||
               (m->windowed && m->window_right >= 0 && key > position + m->window_right);
    if (far && j >= m->prefix)
        return false;
    if (m->key_blocks != NULL && m->key_blocks[j] != m->query_blocks[i])
        return false;
    if (m->key_lengths != NULL && key >= m->key_lengths[b])
        return false;
    if (m->key_hidden != NULL && m->key_hidden[b * masked + j] != 0)
        return false;
    if (m->hidden != NULL) {
        bool set = m->hidden[b * m->hidden_batch_stride + h * m->hidden_head_stride +
                             i * m->hidden_row_stride + j] != 0;
        if (set == (m->hidden_when == MH_HIDDEN_WHEN_TRUE))
            return false;
    }
    return m->bias == NULL || *bias_at(m, b, h, i, j) != -INFINITY;
}

/* ===== Dropout ============================================================================== */

/* SplitMix64 as its authors print it: advances the state, returns a number. */
static uint64_t split_mix_64(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Output number `index`, counted from 0, of the generator with this state. */
static uint64_t split_mix_at(uint64_t state, uint64_t index)
{
    state += index * 0x9E3779B97F4A7C15u;
    return split_mix_64(&state);
}

static bool is_dropped(const struct mh_attention *a, size_t b, size_t h, size_t i, size_t j)
{
    uint64_t state = a->dropout_seed;
    state = split_mix_64(&state);
    state = split_mix_at(state, b);
    state = split_mix_at(state, h);
    state = split_mix_at(state, i);
    double uniform = (double)(split_mix_at(state, j) >> 32) / 4294967296.0;
    return uniform < (double)a->dropout;
}

/* ===== Attention ============================================================================ */

/* Contiguous queries [B, H, T, D], keys [B, G, S, D], values [B, G, S, DV]. */
struct inputs {
    const double *queries, *keys, *values;
};

static double scale_of(const struct mh_attention *a)
{
    if (a->scale_mode == MH_SCALE_GIVEN)
        return (double)a->scale;
    return a->scale_mode == MH_SCALE_NONE ? 1.0 : 1.0 / sqrt((double)a->head_dim);
}

static void score_row(const struct mh_attention *a, const double *query, const double *keys,
                      size_t b, size_t h, size_t i, bool uniform, double *raw, double *scores)
{
    for (size_t j = 0; j < a->keys; j++) {
        raw[j] = 0.0;
        for (size_t d = 0; d < a->head_dim; d++)
            raw[j] += query[d] * keys[j * a->head_dim + d];
        if (!reference_shows(&a->mask, a->keys, b, h, i, j))
            scores[j] = -INFINITY;
        else if (uniform)
            scores[j] = 0.0;
        else if (a->mask.bias != NULL && j < a->keys - a->mask.free_keys)
            scores[j] = raw[j] * scale_of(a) + (double)*bias_at(&a->mask, b, h, i, j);
        else
            scores[j] = raw[j] * scale_of(a);
    }
}

/* False if no key is visible: zero weights. */
static bool softmax(const double *scores, size_t n, double *weights)
{
    double largest = -INFINITY, sum = 0.0;
    for (size_t j = 0; j < n; j++)
        largest = fmax(largest, scores[j]);
    for (size_t j = 0; j < n; j++) {
        weights[j] = largest == -INFINITY ? 0.0 : exp(scores[j] - largest);
        sum += weights[j];
    }
    for (size_t j = 0; j < n && sum > 0.0; j++)
        weights[j] /= sum;
    return sum > 0.0;
}

static void attend_row(const struct mh_attention *a, const struct inputs *in, size_t b, size_t h,
                       size_t i, bool uniform, struct reference *r)
{
    size_t g = h / (a->heads / a->kv_heads);
    size_t row = (b * a->heads + h) * a->queries + i;
    const double *keys = in->keys + (b * a->kv_heads + g) * a->keys * a->head_dim;
    const double *values = in->values + (b * a->kv_heads + g) * a->keys * a->value_dim;
    double *weights = r->weights + row * a->keys;
    double *dropped = r->dropped + row * a->keys;

    score_row(a, in->queries + row * a->head_dim, keys, b, h, i, uniform,
              r->raw_scores + row * a->keys, r->scores + row * a->keys);
    r->masked_rows += !softmax(r->scores + row * a->keys, a->keys, weights);
    for (size_t j = 0; j < a->keys; j++) {
        bool drop = a->dropout > 0.0f && is_dropped(a, b, h, i, j);
        dropped[j] = drop ? 0.0 : weights[j] / (1.0 - (double)a->dropout);
        for (size_t d = 0; d < a->value_dim && dropped[j] != 0.0; d++)
            r->output[row * a->value_dim + d] += dropped[j] * values[j * a->value_dim + d];
    }
}

static bool is_uniform(const struct mh_ablation *ablations, size_t count, size_t head)
{
    for (size_t i = 0; i < count; i++)
        if (ablations[i].kind == MH_ABLATE_UNIFORM && (size_t)ablations[i].head == head)
            return true;
    return false;
}

static struct reference attend(const struct mh_attention *a, const struct inputs *in,
                               const struct mh_ablation *ablations, size_t count)
{
    size_t rows = a->batch * a->heads * a->queries;
    struct reference r = {
        .output = numbers(rows * a->value_dim),
        .raw_scores = numbers(rows * a->keys),
        .scores = numbers(rows * a->keys),
        .weights = numbers(rows * a->keys),
        .dropped = numbers(rows * a->keys),
    };
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t i = 0; i < a->queries; i++)
                attend_row(a, in, b, h, i, is_uniform(ablations, count, h), &r);
    return r;
}

static double *gather(const struct mh_rows *rows, size_t batch, size_t heads, size_t count,
                      size_t width)
{
    double *out = numbers(batch * heads * count * width);
    size_t next = 0;
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t r = 0; r < count; r++)
                for (size_t d = 0; d < width; d++)
                    out[next++] =
                        (double)rows->data[b * rows->batch_stride + h * rows->head_stride +
                                           r * rows->row_stride + d];
    return out;
}

struct reference reference_attention(const struct mh_attention *a)
{
    double *queries = gather(&a->query, a->batch, a->heads, a->queries, a->head_dim);
    double *keys = gather(&a->key, a->batch, a->kv_heads, a->keys, a->head_dim);
    double *values = gather(&a->value, a->batch, a->kv_heads, a->keys, a->value_dim);
    struct inputs in = {queries, keys, values};
    struct reference r = attend(a, &in, NULL, 0);
    free(queries);
    free(keys);
    free(values);
    return r;
}

/* ===== Multi-head attention ================================================================= */

/* One input of the module: (b, r, i) by strides, `rows` rows of `width`. */
struct given {
    const float *data;
    size_t rows, width, batch_stride, row_stride;
};

/* [B, heads, rows + extra, D] from a given [B, rows, width]; the extra rows: first `bias` if it is
 * not NULL, then zeros. */
static double *project(const struct mh_linear_weights *w, const struct given *given, size_t batch,
                       size_t heads, size_t head_dim, size_t extra, const float *bias)
{
    size_t all = given->rows + extra;
    double *out = numbers(batch * heads * all * head_dim);
    for (size_t b = 0; b < batch; b++)
        for (size_t r = 0; r < all; r++)
            for (size_t o = 0; o < heads * head_dim; o++) {
                double sum = 0.0;
                if (r < given->rows) {
                    const float *x = given->data + b * given->batch_stride + r * given->row_stride;
                    sum = w->bias != NULL ? (double)w->bias[o] : 0.0;
                    for (size_t i = 0; i < given->width; i++)
                        sum += (double)x[i] * (double)w->data[o * w->out_stride + i * w->in_stride];
                } else if (bias != NULL && r == given->rows) {
                    sum = (double)bias[o];
                }
                out[((b * heads + o / head_dim) * all + r) * head_dim + o % head_dim] = sum;
            }
    return out;
}

static void ablate_head(const struct mh_attention *a, double *output,
                        const struct mh_ablation *ablation)
{
    if (ablation->kind == MH_ABLATE_UNIFORM)
        return;
    for (size_t b = 0; b < a->batch; b++)
        for (size_t d = 0; d < a->value_dim; d++) {
            double *column =
                output + (b * a->heads + (size_t)ablation->head) * a->queries * a->value_dim + d;
            double mean = 0.0;
            for (size_t t = 0; t < a->queries && ablation->kind == MH_ABLATE_MEAN; t++)
                mean += column[t * a->value_dim] / (double)a->queries;
            for (size_t t = 0; t < a->queries; t++)
                column[t * a->value_dim] = mean;
        }
}

/* [B, H, T, D] to [B, T, E] through the out-projection. */
static double *join_heads(const struct mh_attention *a, const double *heads,
                          const struct mh_linear_weights *w)
{
    size_t width = a->heads * a->value_dim;
    double *out = numbers(a->batch * a->queries * width);
    for (size_t b = 0; b < a->batch; b++)
        for (size_t t = 0; t < a->queries; t++)
            for (size_t o = 0; o < width; o++) {
                double sum = w->data != NULL && w->bias != NULL ? (double)w->bias[o] : 0.0;
                for (size_t i = 0; i < width; i++) {
                    double x =
                        heads[((b * a->heads + i / a->value_dim) * a->queries + t) * a->value_dim +
                              i % a->value_dim];
                    if (w->data != NULL)
                        sum += x * (double)w->data[o * w->out_stride + i * w->in_stride];
                    else if (i == o)
                        sum = x;
                }
                out[(b * a->queries + t) * width + o] = sum;
            }
    return out;
}

struct reference reference_multihead(const struct mh_multihead_config *c,
                                     const struct mh_multihead_pass *p,
                                     const struct mh_ablation *ablations, size_t count)
{
    size_t extra = (c->bias_key != NULL) + (size_t)c->add_zero_attention;
    size_t head_dim = c->embed_dim / c->heads;
    struct mh_attention a = {
        .batch = p->batch,
        .queries = p->queries,
        .keys = p->keys + extra,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .head_dim = head_dim,
        .value_dim = head_dim,
        .scale_mode = p->scale_mode,
        .scale = p->scale,
        .mask = p->mask,
        .dropout = p->dropout,
        .dropout_seed = p->dropout_seed,
    };
    a.mask.free_keys += extra;
    struct given query = {p->query, p->queries, c->embed_dim, p->query_batch_stride,
                          p->query_row_stride};
    struct given key = {p->key, p->keys, c->key_dim ? c->key_dim : c->embed_dim,
                        p->key_batch_stride, p->key_row_stride};
    struct given value = {p->value, p->keys, c->value_dim ? c->value_dim : c->embed_dim,
                          p->value_batch_stride, p->value_row_stride};
    double *queries = project(&c->query, &query, p->batch, c->heads, head_dim, 0, NULL);
    double *keys = project(&c->key, &key, p->batch, c->kv_heads, head_dim, extra, c->bias_key);
    double *values =
        project(&c->value, &value, p->batch, c->kv_heads, head_dim, extra, c->bias_value);
    struct inputs in = {queries, keys, values};

    struct reference r = attend(&a, &in, ablations, count);
    for (size_t i = 0; i < count; i++)
        ablate_head(&a, r.output, &ablations[i]);
    double *heads = r.output;
    r.output = join_heads(&a, heads, &c->out);
    free(heads);
    free(queries);
    free(keys);
    free(values);
    return r;
}

void reference_free(struct reference *r)
{
    free(r->output);
    free(r->raw_scores);
    free(r->scores);
    free(r->weights);
    free(r->dropped);
}
