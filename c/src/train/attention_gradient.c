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

struct scratch {
    float *weights; /* [T, S] P */
    float *dropped; /* [T, S] Z */
    float *scores;  /* [T, S] dP, then scale dS */
    float *product; /* [S, max(D, DV)] one head's share of dK or dV */
    float *panels;  /* a packed or transposed factor */
};

static size_t panel_floats(const struct mh_attention *a)
{
    size_t width = mh_size_max(a->head_dim, a->value_dim);
    size_t packed =
        mh_size_mul(mh_size_add(a->keys, MH_GEMM_COLUMNS), mh_size_add(width, MH_GEMM_COLUMNS));
    return mh_size_max(packed, mh_transposed_product_scratch(a->queries, a->keys, width));
}

size_t mh_attention_backward_scratch(const struct mh_attention *a)
{
    size_t maps = mh_size_mul(3, mh_size_mul(a->queries, a->keys));
    size_t product = mh_size_mul(a->keys, mh_size_max(a->head_dim, a->value_dim));
    return mh_size_add(mh_size_add(maps, product), panel_floats(a));
}

static struct scratch lay_out(const struct mh_attention *a, float *memory)
{
    size_t map = a->queries * a->keys;
    return (struct scratch){
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

static const float *part(const struct mh_rows *rows, size_t b, size_t head)
{
    return rows->data + b * rows->batch_stride + head * rows->head_stride;
}

static float *part_out(const struct mh_rows_out *rows, size_t b, size_t head)
{
    return rows->data + b * rows->batch_stride + head * rows->head_stride;
}

static void drop_out(const struct head *head, size_t i, float *x)
{
    const struct mh_attention *a = head->a;
    mh_dropout_row(x, 0, a->keys, a->dropout,
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
        drop_out(head, i, dropped);
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

/* scale dS of one row, in place of dO Vᵀ. */
static void differentiate_row(const struct head *head, size_t i)
{
    const struct mh_attention *a = head->a;
    const float *weights = head->scratch.weights + i * a->keys;
    float *x = head->scratch.scores + i * a->keys;
    drop_out(head, i, x);
    double mean = 0.0;
    for (size_t j = 0; j < a->keys; j++)
        mean += (double)weights[j] * (double)x[j];
    float scale = mh_scale_of(a->scale_mode, a->scale, a->head_dim);
    for (size_t j = 0; j < a->keys; j++)
        x[j] = scale * weights[j] * (x[j] - (float)mean);
    supervise_row(head, i, scale, x);
}

static void differentiate_scores(const struct head *head)
{
    const struct mh_attention *a = head->a;
    const struct mh_rows *output = &head->gradient->output;
    mh_pack(head->scratch.panels, part(&a->value, head->b, head->g), a->value_dim, a->keys, 1,
            a->value.row_stride);
    mh_gemm(head->scratch.scores, a->keys, part(output, head->b, head->h), output->row_stride,
            head->scratch.panels, NULL, a->queries, a->keys, a->value_dim, 0, a->keys);
    for (size_t i = 0; i < a->queries; i++)
        differentiate_row(head, i);
}

/* to [S, width] += mapᵀ rows: a head's share of what its group has in common. */
static void add_to_keys(const struct head *head, const struct mh_rows_out *to, const float *map,
                        const struct mh_rows *rows, size_t width)
{
    const struct mh_attention *a = head->a;
    float *product = head->scratch.product, *sum = part_out(to, head->b, head->g);
    mh_transposed_product(product, map, a->keys, a->keys, part(rows, head->b, head->h),
                          rows->row_stride, width, a->queries, head->scratch.panels);
    for (size_t j = 0; j < a->keys; j++)
        mh_row_add(sum + j * to->row_stride, sum + j * to->row_stride, product + j * width, width);
}

static void write_query(const struct head *head)
{
    const struct mh_attention *a = head->a;
    const struct mh_rows_out *query = &head->gradient->query;
    mh_pack(head->scratch.panels, part(&a->key, head->b, head->g), a->keys, a->head_dim,
            a->key.row_stride, 1);
    mh_gemm(part_out(query, head->b, head->h), query->row_stride, head->scratch.scores, a->keys,
            head->scratch.panels, NULL, a->queries, a->head_dim, a->keys, 0, a->head_dim);
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
    struct head head = {.gradient = gradient, .a = a, .scratch = lay_out(a, scratch)};
    for (head.b = 0; head.b < a->batch; head.b++) {
        head.unpadded = mh_mask_unpadded(&a->mask, head.b, a->keys);
        for (head.h = 0; head.h < a->heads; head.h++) {
            head.g = head.h / group;
            if (head.h % group == 0) {
                clear_keys(&head, &gradient->key, a->head_dim);
                clear_keys(&head, &gradient->value, a->value_dim);
            }
            backward_head(&head);
        }
    }
}
