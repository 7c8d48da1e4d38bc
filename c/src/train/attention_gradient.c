#include "train/attention_gradient.h"

#include "base/random.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "ops/attention.h"
#include "ops/dropout.h"
#include "ops/mask.h"
#include "ops/masked_row.h"
#include "train/transposed_product.h"

#include <math.h>
#include <string.h>

/* What a mask's geometry hides costs no products: they go from tile to tile of queries and of keys,
 * and over the other axis only as far as a tile is concerned. Elsewhere the maps are zero, so that
 * no sum changes. */
enum { TILE = 16 };

struct scratch {
    struct mh_range *keys;    /* for each tile of queries: the keys that it sees, in one range */
    struct mh_range *queries; /* for each tile of keys: the queries that see it */
    float *weights;           /* [T, S] P */
    float *dropped;           /* [T, S] Z */
    float *scores;            /* [T, S] dP, then scale dS */
    float *product;           /* [S, max(D, DV)] one head's share of dK or dV */
    float *panels;            /* a packed or transposed factor */
};

static size_t panel_floats(const struct mh_attention *a)
{
    size_t width = mh_size_max(a->head_dim, a->value_dim);
    size_t packed =
        mh_size_mul(mh_size_add(a->keys, MH_GEMM_COLUMNS), mh_size_add(width, MH_GEMM_COLUMNS));
    return mh_size_max(packed, mh_transposed_product_scratch(a->queries, a->keys, width));
}

static size_t tiles_of(size_t rows)
{
    return rows / TILE + (rows % TILE != 0);
}

/* Floats of the ranges, whole 16 bytes so that what follows them is aligned. */
static size_t range_floats(const struct mh_attention *a)
{
    size_t ranges = mh_size_add(tiles_of(a->queries), tiles_of(a->keys));
    return mh_size_mul(mh_size_add(ranges, 1), sizeof(struct mh_range) / sizeof(float)) / 4 * 4;
}

size_t mh_attention_backward_scratch(const struct mh_attention *a)
{
    size_t maps = mh_size_mul(3, mh_size_mul(a->queries, a->keys));
    size_t product = mh_size_mul(a->keys, mh_size_max(a->head_dim, a->value_dim));
    return mh_size_add(mh_size_add(range_floats(a), maps), mh_size_add(product, panel_floats(a)));
}

static struct scratch lay_out(const struct mh_attention *a, float *memory)
{
    size_t map = a->queries * a->keys;
    struct mh_range *ranges = (struct mh_range *)(void *)memory;
    memory += range_floats(a);
    return (struct scratch){
        .keys = ranges,
        .queries = ranges + tiles_of(a->queries),
        .weights = memory,
        .dropped = memory + map,
        .scores = memory + 2 * map,
        .product = memory + 3 * map,
        .panels = memory + 3 * map + a->keys * mh_size_max(a->head_dim, a->value_dim),
    };
}

/* One query head and the key/value head that it reads. */
struct head {
    const struct mh_attention_gradient *gradient;
    const struct mh_attention *a;
    struct scratch scratch;
    size_t b, h, g;
    struct mh_range unpadded;
};

/* ===== What a tile sees ===================================================================== */

static struct mh_range hull(const struct mh_key_ranges *ranges)
{
    struct mh_range all = {0, 0};
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        if (mh_range_length(ranges->of[r]) == 0)
            continue;
        all.begin = all.end == 0 ? ranges->of[r].begin : all.begin;
        all.end = ranges->of[r].end;
    }
    return all;
}

static struct mh_range tile_at(size_t tile, size_t rows)
{
    return (struct mh_range){tile * TILE, mh_size_min((tile + 1) * TILE, rows)};
}

static void find_ranges(const struct mh_attention *a, struct mh_range unpadded,
                        const struct scratch *scratch)
{
    struct mh_range *keys = scratch->keys, *queries = scratch->queries;
    memset(queries, 0, tiles_of(a->keys) * sizeof *queries);
    for (size_t t = 0; t < tiles_of(a->queries); t++) {
        struct mh_range tile = tile_at(t, a->queries);
        struct mh_key_ranges seen =
            mh_mask_ranges(&a->mask, unpadded, tile.begin, tile.end - 1, a->keys);
        keys[t] = hull(&seen);
        for (size_t s = keys[t].begin / TILE; s < tiles_of(keys[t].end); s++) {
            queries[s].begin = queries[s].end == 0 ? tile.begin : queries[s].begin;
            queries[s].end = tile.end;
        }
    }
}

/* Neighbouring tiles of `rows` rows with the same range, as one: its rows, and its range. */
struct run {
    struct mh_range rows, range;
};

static struct run run_from(const struct mh_range *ranges, size_t begin, size_t rows)
{
    size_t t = begin / TILE;
    struct run run = {.rows = tile_at(t, rows), .range = ranges[t]};
    while (run.rows.end < rows && ranges[t + 1].begin == run.range.begin &&
           ranges[t + 1].end == run.range.end)
        run.rows.end = tile_at(++t, rows).end;
    return run;
}

/* ===== One head ============================================================================= */

static const float *part(const struct mh_rows *rows, size_t b, size_t head)
{
    return rows->data + b * rows->batch_stride + head * rows->head_stride;
}

static float *part_out(const struct mh_rows_out *rows, size_t b, size_t head)
{
    return rows->data + b * rows->batch_stride + head * rows->head_stride;
}

/* `keys` of row i, which begins at x. */
static void drop_out(const struct head *head, size_t i, float *x, struct mh_range keys)
{
    const struct mh_attention *a = head->a;
    mh_dropout_row(x + keys.begin, keys.begin, mh_range_length(keys), a->dropout,
                   mh_random_stream(a->dropout_seed, head->b, head->h, i));
}

/* P and Z again from the scores. */
static void weigh(const struct head *head)
{
    const struct mh_attention *a = head->a;
    const float *scores = a->scores + (head->b * a->heads + head->h) * a->queries * a->keys;
    for (size_t i = 0; i < a->queries; i++) {
        struct mh_key_ranges ranges = mh_mask_ranges(&a->mask, head->unpadded, i, i, a->keys);
        float *weights = head->scratch.weights + i * a->keys;
        float *dropped = head->scratch.dropped + i * a->keys;
        mh_row_copy(weights, scores + i * a->keys, a->keys, &ranges, 0.0f);
        mh_row_softmax(weights, &ranges);
        memcpy(dropped, weights, a->keys * sizeof *dropped);
        drop_out(head, i, dropped, (struct mh_range){0, a->keys});
    }
}

static bool concerns(const struct mh_supervision *s, const struct head *head)
{
    const struct mh_attention_gradient *gradient = head->gradient;
    return (size_t)s->layer == gradient->layer && (size_t)s->head == head->h &&
           (s->cross != 0) == gradient->cross;
}

/* scale dS of one row += that of what supervision asks of it. */
static void supervise_row(const struct head *head, size_t i, float scale, float *x)
{
    const struct mh_attention *a = head->a;
    const float *weights = head->scratch.weights + i * a->keys;
    for (size_t n = 0; n < head->gradient->supervision_count; n++) {
        const struct mh_supervision *s = &head->gradient->supervision[n];
        if (!concerns(s, head))
            continue;
        const float *target = s->target + (head->b * a->queries + i) * a->keys;
        float sum = 0.0f, factor = scale * head->gradient->factor * s->weight;
        for (size_t j = 0; j < a->keys; j++)
            sum += target[j];
        for (size_t j = 0; j < a->keys; j++)
            x[j] += factor * (sum * weights[j] - target[j]);
    }
}

/* scale dS of one row, in place of dO Vᵀ, which is there for `keys`. */
static void differentiate_row(const struct head *head, size_t i, struct mh_range keys)
{
    const struct mh_attention *a = head->a;
    const float *weights = head->scratch.weights + i * a->keys;
    float *x = head->scratch.scores + i * a->keys;
    drop_out(head, i, x, keys);
    double mean = 0.0;
    for (size_t j = keys.begin; j < keys.end; j++)
        mean += (double)weights[j] * (double)x[j];
    float scale = mh_scale_of(a->scale_mode, a->scale, a->head_dim);
    memset(x, 0, keys.begin * sizeof *x);
    for (size_t j = keys.begin; j < keys.end; j++)
        x[j] = scale * weights[j] * (x[j] - (float)mean);
    memset(x + keys.end, 0, (a->keys - keys.end) * sizeof *x);
    supervise_row(head, i, scale, x);
}

static void differentiate_scores(const struct head *head)
{
    const struct mh_attention *a = head->a;
    const struct mh_rows *output = &head->gradient->output;
    mh_pack(head->scratch.panels, part(&a->value, head->b, head->g), a->value_dim, a->keys, 1,
            a->value.row_stride);
    struct run run;
    for (size_t i = 0; i < a->queries; i = run.rows.end) {
        run = run_from(head->scratch.keys, i, a->queries);
        mh_gemm(head->scratch.scores + i * a->keys, a->keys,
                part(output, head->b, head->h) + i * output->row_stride, output->row_stride,
                head->scratch.panels, NULL, mh_range_length(run.rows), a->keys, a->value_dim,
                run.range.begin / MH_GEMM_COLUMNS * MH_GEMM_COLUMNS, run.range.end);
        for (size_t r = i; r < run.rows.end; r++)
            differentiate_row(head, r, run.range);
    }
}

/* out [S, width] = mapᵀ rows */
static void sum_over_queries(const struct head *head, float *out, const float *map,
                             const struct mh_rows *rows, size_t width)
{
    const struct mh_attention *a = head->a;
    size_t queries = a->queries;
    float *transposed = head->scratch.panels, *packed = transposed + queries * a->keys;
    mh_transpose(transposed, map, a->keys, queries, a->keys);
    mh_pack(packed, part(rows, head->b, head->h), queries, width, rows->row_stride, 1);
    struct run run;
    for (size_t j = 0; j < a->keys; j = run.rows.end) {
        run = run_from(head->scratch.queries, j, a->keys);
        mh_gemm_range(out + j * width, width, transposed + j * queries, queries, packed, NULL,
                      mh_range_length(run.rows), width, queries, 0, width, run.range.begin,
                      run.range.end);
    }
}

/* to [S, width] += mapᵀ rows: a head's share of what its group has in common. */
static void add_to_keys(const struct head *head, const struct mh_rows_out *to, const float *map,
                        const struct mh_rows *rows, size_t width)
{
    const struct mh_attention *a = head->a;
    float *product = head->scratch.product, *sum = part_out(to, head->b, head->g);
    sum_over_queries(head, product, map, rows, width);
    for (size_t j = 0; j < a->keys; j++)
        mh_row_add(sum + j * to->row_stride, sum + j * to->row_stride, product + j * width, width);
}

static void write_query(const struct head *head)
{
    const struct mh_attention *a = head->a;
    const struct mh_rows_out *query = &head->gradient->query;
    mh_pack(head->scratch.panels, part(&a->key, head->b, head->g), a->keys, a->head_dim,
            a->key.row_stride, 1);
    struct run run;
    for (size_t i = 0; i < a->queries; i = run.rows.end) {
        run = run_from(head->scratch.keys, i, a->queries);
        mh_gemm_range(part_out(query, head->b, head->h) + i * query->row_stride, query->row_stride,
                      head->scratch.scores + i * a->keys, a->keys, head->scratch.panels, NULL,
                      mh_range_length(run.rows), a->head_dim, a->keys, 0, a->head_dim,
                      run.range.begin, run.range.end);
    }
}

static void clear_keys(const struct head *head, const struct mh_rows_out *rows, size_t width)
{
    for (size_t j = 0; j < head->a->keys; j++)
        memset(part_out(rows, head->b, head->g) + j * rows->row_stride, 0,
               width * sizeof *rows->data);
}

static void backward_head(const struct head *head)
{
    const struct mh_attention *a = head->a;
    const struct mh_attention_gradient *gradient = head->gradient;
    weigh(head);
    add_to_keys(head, &gradient->value, head->scratch.dropped, &gradient->output, a->value_dim);
    differentiate_scores(head);
    write_query(head);
    add_to_keys(head, &gradient->key, head->scratch.scores, &a->query, a->head_dim);
}

/* Σ t ln(t / P) of one row. */
static double divergence(const float *target, const float *weights, size_t keys)
{
    const double least = 1e-37; /* a weight that rounded to 0 */
    double sum = 0.0;
    for (size_t j = 0; j < keys; j++)
        if (target[j] > 0.0f)
            sum += (double)target[j] * log((double)target[j] / fmax((double)weights[j], least));
    return sum;
}

double mh_attention_divergence(const struct mh_attention *a, const struct mh_supervision *s,
                               float *scratch)
{
    double sum = 0.0;
    for (size_t b = 0; b < a->batch; b++) {
        struct mh_range unpadded = mh_mask_unpadded(&a->mask, b, a->keys);
        size_t map = (b * a->heads + (size_t)s->head) * a->queries;
        for (size_t i = 0; i < a->queries; i++) {
            struct mh_key_ranges ranges = mh_mask_ranges(&a->mask, unpadded, i, i, a->keys);
            mh_row_copy(scratch, a->scores + (map + i) * a->keys, a->keys, &ranges, 0.0f);
            mh_row_softmax(scratch, &ranges);
            sum += divergence(s->target + (b * a->queries + i) * a->keys, scratch, a->keys);
        }
    }
    return (double)s->weight * sum;
}

void mh_attention_backward(const struct mh_attention_gradient *gradient, float *scratch)
{
    const struct mh_attention *a = gradient->attention;
    size_t group = a->heads / a->kv_heads;
    struct scratch parts = lay_out(a, scratch);
    for (size_t b = 0; b < a->batch; b++) {
        struct mh_range unpadded = mh_mask_unpadded(&a->mask, b, a->keys);
        find_ranges(a, unpadded, &parts);
        for (size_t h = 0; h < a->heads; h++) {
            struct head head = {gradient, a, parts, b, h, h / group, unpadded};
            if (h % group == 0) {
                clear_keys(&head, &gradient->key, a->head_dim);
                clear_keys(&head, &gradient->value, a->value_dim);
            }
            backward_head(&head);
        }
    }
}
