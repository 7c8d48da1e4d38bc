/* ref_model_loss: whole networks, forward only, in float64. */
#include "ops/mask.h"
#include "support/train_reference.h"
#include "train/model_parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One stack of blocks over x [rows, E]. */
struct ref_stack {
    const struct mh_network *network;
    const struct mh_model_config *config; /* &network->model */
    const struct mh_training_pass *pass;
    const double *parameters;
    enum mh_stack_kind kind;
    size_t layers, length, rows, first_seed;
    const struct mh_mask *masks; /* [layers] */
    const double *memory;        /* NULL: no cross-attention */
    size_t memory_length;
    double *x, *inside, *wide, *keys, *heads, *branch;
    double supervision; /* Σ weight * KL */
};

enum branch { SELF, FFN, CROSS };

static double *numbers(size_t n)
{
    double *block = calloc(n > 0 ? n : 1, sizeof *block);
    if (block == NULL)
        abort();
    return block;
}

static const double *at(const struct ref_stack *s, size_t index)
{
    return s->parameters + mh_parameter_place(s->network, index).offset;
}

static const double *of_layer(const struct ref_stack *s, size_t layer, enum mh_layer_tensor tensor)
{
    return at(s, mh_parameter_of_layer(s->network, s->kind, layer, tensor));
}

static void norm_rows(const struct ref_stack *s, double *y, const double *x, size_t weight)
{
    size_t width = s->config->embed_dim;
    for (size_t r = 0; r < s->rows; r++)
        ref_layer_norm(y + r * width, x + r * width, at(s, weight), at(s, weight + 1),
                       (double)s->config->norm_epsilon, width);
}

static size_t kv_width(const struct ref_stack *s)
{
    return s->config->kv_heads * (s->config->embed_dim / s->config->heads);
}

static struct mh_attention attention_of(const struct ref_stack *s, size_t layer, bool cross)
{
    const struct mh_model_config *c = s->config;
    size_t head = c->embed_dim / c->heads;
    return (struct mh_attention){
        .batch = s->pass->batch,
        .queries = s->length,
        .keys = cross ? s->memory_length : s->length,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .head_dim = head,
        .value_dim = head,
        .scale_mode = s->pass->scale_mode,
        .scale = s->pass->scale,
        .mask = cross ? (struct mh_mask){.key_lengths = s->pass->source_lengths} : s->masks[layer],
        .dropout = s->pass->attention_dropout,
        .dropout_seed = mh_training_layer_seed(s->pass->dropout_seed,
                                               s->first_seed + layer + (cross ? s->layers : 0)),
    };
}

/* Adds what supervision asks of this attention. */
static void supervise(struct ref_stack *s, const struct mh_attention *a, size_t layer, bool cross,
                      const double *q, size_t q_stride, const double *k, size_t k_stride)
{
    double *weights = numbers(a->keys);
    for (size_t n = 0; n < s->pass->supervision_count; n++) {
        const struct mh_supervision *asked = &s->pass->supervision[n];
        if (s->kind != MH_MAIN_STACK || (size_t)asked->layer != layer ||
            (asked->cross != 0) != cross)
            continue;
        size_t h = (size_t)asked->head, g = h / (a->heads / a->kv_heads);
        for (size_t row = 0; row < a->batch * a->queries; row++) {
            size_t b = row / a->queries;
            ref_weights(a, weights, q + row * q_stride + h * a->head_dim,
                        k + b * a->keys * k_stride + g * a->head_dim, k_stride, b, h,
                        row % a->queries);
            for (size_t j = 0; j < a->keys; j++) {
                double t = (double)asked->target[row * a->keys + j];
                s->supervision += t > 0.0 ? (double)asked->weight * t * log(t / weights[j]) : 0.0;
            }
        }
    }
    free(weights);
}

static void attend(struct ref_stack *s, size_t layer, bool cross)
{
    size_t width = s->config->embed_dim, kv = kv_width(s);
    size_t row = cross ? width : width + 2 * kv, key_row = cross ? 2 * kv : row;
    struct mh_attention a = attention_of(s, layer, cross);
    ref_linear(s->wide, s->inside,
               of_layer(s, layer, cross ? MH_LAYER_CROSS_QUERY_WEIGHT : MH_LAYER_QKV_WEIGHT),
               of_layer(s, layer, cross ? MH_LAYER_CROSS_QUERY_BIAS : MH_LAYER_QKV_BIAS), s->rows,
               width, row, false);
    if (cross)
        ref_linear(s->keys, s->memory, of_layer(s, layer, MH_LAYER_CROSS_KV_WEIGHT),
                   of_layer(s, layer, MH_LAYER_CROSS_KV_BIAS), a.batch * a.keys, width, key_row,
                   false);
    const double *keys = cross ? s->keys : s->wide + width;
    ref_attention(&a, s->heads, s->wide, row, keys, key_row, keys + kv, key_row);
    supervise(s, &a, layer, cross, s->wide, row, keys, key_row);
    ref_linear(
        s->branch, s->heads,
        of_layer(s, layer, cross ? MH_LAYER_CROSS_PROJECTION_WEIGHT : MH_LAYER_PROJECTION_WEIGHT),
        of_layer(s, layer, cross ? MH_LAYER_CROSS_PROJECTION_BIAS : MH_LAYER_PROJECTION_BIAS),
        s->rows, width, width, false);
}

static void feed_forward(const struct ref_stack *s, size_t layer)
{
    const struct mh_model_config *c = s->config;
    ref_linear(s->wide, s->inside, of_layer(s, layer, MH_LAYER_FFN_IN_WEIGHT),
               of_layer(s, layer, MH_LAYER_FFN_IN_BIAS), s->rows, c->embed_dim, c->ffn_dim, false);
    for (size_t i = 0; i < s->rows * c->ffn_dim; i++)
        s->wide[i] = ref_activation((enum mh_activation)c->activation, s->wide[i]);
    ref_linear(s->branch, s->wide, of_layer(s, layer, MH_LAYER_FFN_OUT_WEIGHT),
               of_layer(s, layer, MH_LAYER_FFN_OUT_BIAS), s->rows, c->ffn_dim, c->embed_dim, false);
}

static const enum mh_layer_tensor NORMS[] = {MH_LAYER_NORM1_WEIGHT, MH_LAYER_NORM2_WEIGHT,
                                             MH_LAYER_CROSS_NORM_WEIGHT};

/* x = x + dropout(branch(LN(x))), or LN(x + dropout(branch(x))). */
static void residual(struct ref_stack *s, size_t layer, enum branch branch)
{
    size_t width = s->config->embed_dim;
    size_t norm = mh_parameter_of_layer(s->network, s->kind, layer, NORMS[branch]);
    bool pre = s->config->norm_position == MH_NORM_PRE;
    memcpy(s->inside, s->x, s->rows * width * sizeof *s->x);
    if (pre)
        norm_rows(s, s->inside, s->x, norm);
    if (branch == FFN)
        feed_forward(s, layer);
    else
        attend(s, layer, branch == CROSS);
    for (size_t r = 0; r < s->rows; r++)
        ref_dropout(s->branch + r * width, width, s->pass->residual_dropout,
                    mh_training_layer_seed(s->pass->dropout_seed, s->first_seed + layer),
                    r / s->length, s->config->heads + branch, r % s->length);
    for (size_t i = 0; i < s->rows * width; i++)
        s->x[i] += s->branch[i];
    if (!pre)
        norm_rows(s, s->x, s->x, norm);
}

static void run_stack(struct ref_stack *s)
{
    size_t narrow = s->rows * s->config->embed_dim;
    s->inside = numbers(narrow);
    s->wide = numbers(s->rows * (3 * s->config->embed_dim + s->config->ffn_dim));
    s->keys = numbers(s->pass->batch * s->memory_length * 2 * s->config->embed_dim);
    s->heads = numbers(narrow);
    s->branch = numbers(narrow);
    for (size_t layer = 0; layer < s->layers; layer++) {
        residual(s, layer, SELF);
        if (s->memory != NULL)
            residual(s, layer, CROSS);
        residual(s, layer, FFN);
    }
    if (s->config->norm_position == MH_NORM_PRE)
        norm_rows(s, s->x, s->x, mh_parameter_final_norm(s->network, s->kind));
    free(s->inside);
    free(s->wide);
    free(s->keys);
    free(s->heads);
    free(s->branch);
}

/* ===== Embeddings =========================================================================== */

static double position(const struct ref_stack *s, size_t t, size_t e)
{
    size_t width = s->config->embed_dim;
    if (!s->network->sinusoidal)
        return at(s, mh_parameter_of_embedding(s->network, MH_WPE))[t * width + e];
    double angle = (double)t * pow(10000.0, -(double)(e / 2 * 2) / (double)width);
    return e % 2 == 0 ? sin(angle) : cos(angle);
}

static double patch_value(const struct ref_stack *s, size_t b, size_t t, size_t e)
{
    const struct mh_network *n = s->network;
    size_t width = s->config->embed_dim, before = n->class_token ? 1 : 0;
    if (t < before)
        return at(s, mh_parameter_of_embedding(n, MH_CLASS_TOKEN))[e];
    const double *weight = at(s, mh_parameter_of_embedding(n, MH_PATCH_WEIGHT));
    const float *patch = s->pass->patches + (b * s->pass->length + t - before) * n->patch_dim;
    double sum = at(s, mh_parameter_of_embedding(n, MH_PATCH_BIAS))[e];
    for (size_t i = 0; i < n->patch_dim; i++)
        sum += (double)patch[i] * weight[i * width + e];
    return sum;
}

static void embed(struct ref_stack *s, const int32_t *tokens)
{
    size_t width = s->config->embed_dim;
    double scale = s->network->sinusoidal ? sqrt((double)width) : 1.0;
    s->x = numbers(s->rows * width);
    for (size_t i = 0; i < s->rows * width; i++) {
        size_t r = i / width, e = i % width;
        double what = 0.0;
        if (s->network->architecture == MH_CLASSIFIER)
            what = patch_value(s, r / s->length, r % s->length, e);
        else
            what =
                at(s, mh_parameter_of_embedding(s->network, MH_WTE))[(size_t)tokens[r] * width + e];
        s->x[i] = scale * what + position(s, r % s->length, e);
    }
}

/* ===== The network ========================================================================== */

static struct ref_stack stack_of(const struct mh_network *n, const struct mh_training_pass *pass,
                                 const double *parameters, enum mh_stack_kind kind, size_t length)
{
    return (struct ref_stack){.network = n,
                              .config = &n->model,
                              .pass = pass,
                              .parameters = parameters,
                              .kind = kind,
                              .layers = mh_stack_layers(n, kind),
                              .length = length,
                              .rows = pass->batch * length,
                              .first_seed = kind == MH_ENCODER_STACK ? 2 * n->model.layers : 0};
}

/* The rows that the head reads: all, or one a picture. */
static double *pooled(const struct ref_stack *s)
{
    size_t width = s->config->embed_dim, batch = s->pass->batch;
    double *out = numbers(batch * width);
    for (size_t i = 0; i < s->rows * width; i++) {
        size_t r = i / width, t = r % s->length;
        double share = s->network->class_token ? (double)(t == 0) : 1.0 / (double)s->length;
        out[r / s->length * width + i % width] += share * s->x[i];
    }
    return out;
}

static double head_loss(const struct ref_stack *s)
{
    size_t width = s->config->embed_dim, vocabulary = s->config->vocabulary;
    bool classifies = s->network->architecture == MH_CLASSIFIER;
    size_t rows = classifies ? s->pass->batch : s->rows, head = mh_parameter_head(s->network);
    double *logits = numbers(rows * vocabulary), *x = classifies ? pooled(s) : NULL;
    ref_linear(logits, classifies ? x : s->x, at(s, head), classifies ? at(s, head + 1) : NULL,
               rows, width, vocabulary, !classifies);
    double loss = ref_cross_entropy(logits, s->pass->targets, rows, vocabulary), count = 0.0;
    for (size_t r = 0; r < rows; r++)
        count += s->pass->targets[r] >= 0 ? 1.0 : 0.0;
    free(logits);
    free(x);
    return loss + s->supervision / count;
}

double ref_model_loss(const struct mh_network *n, const struct mh_training_pass *pass,
                      const double *parameters)
{
    enum { MOST_LAYERS = 4 };
    struct mh_mask masks[MOST_LAYERS], source_masks[MOST_LAYERS];
    bool class_token = n->architecture == MH_CLASSIFIER && n->class_token;
    for (size_t l = 0; l < MOST_LAYERS; l++) {
        bool own = pass->layer_masks != NULL && l < n->model.layers;
        masks[l] = own ? pass->layer_masks[l] : pass->mask;
        source_masks[l] = (struct mh_mask){.key_lengths = pass->source_lengths};
    }
    struct ref_stack encoder = stack_of(n, pass, parameters, MH_ENCODER_STACK, pass->source_length);
    struct ref_stack main =
        stack_of(n, pass, parameters, MH_MAIN_STACK, pass->length + (class_token ? 1 : 0));
    main.masks = masks;
    encoder.masks = source_masks;
    if (encoder.layers > 0) {
        embed(&encoder, pass->source);
        run_stack(&encoder);
        main.memory = encoder.x;
        main.memory_length = pass->source_length;
    }
    embed(&main, pass->tokens);
    run_stack(&main);
    double loss = head_loss(&main);
    free(encoder.x);
    free(main.x);
    return loss;
}
