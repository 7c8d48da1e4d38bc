#include "support/train_reference.h"

#include "base/random.h"
#include "ops/dropout.h"
#include "support/reference.h"
#include "train/model_parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ref_linear(double *y, const double *x, const double *w, const double *b, size_t rows,
                size_t in, size_t out, bool out_by_in)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            double sum = b != NULL ? b[o] : 0.0;
            for (size_t i = 0; i < in; i++)
                sum += x[r * in + i] * (out_by_in ? w[o * in + i] : w[i * out + o]);
            y[r * out + o] = sum;
        }
}

void ref_layer_norm(double *y, const double *x, const double *weight, const double *bias,
                    double epsilon, size_t n)
{
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i];
}

double ref_activation(enum mh_activation activation, double x)
{
    const double pi = 3.14159265358979323846;
    if (activation == MH_ACTIVATION_RELU)
        return x > 0.0 ? x : 0.0;
    if (activation == MH_ACTIVATION_GELU_TANH)
        return 0.5 * x * (1.0 + tanh(sqrt(2.0 / pi) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
}

double ref_cross_entropy(const double *logits, const int32_t *targets, size_t rows,
                         size_t vocabulary)
{
    double loss = 0.0, count = 0.0;
    for (size_t r = 0; r < rows; r++) {
        if (targets[r] < 0)
            continue;
        double sum = 0.0;
        for (size_t v = 0; v < vocabulary; v++)
            sum += exp(logits[r * vocabulary + v]);
        loss += log(sum) - logits[r * vocabulary + (size_t)targets[r]];
        count += 1.0;
    }
    return count > 0.0 ? loss / count : 0.0;
}

void ref_dropout(double *x, size_t n, float probability, uint32_t seed, size_t a, size_t b,
                 size_t c)
{
    for (size_t i = 0; i < n; i++) {
        float kept = 1.0F;
        mh_dropout_row(&kept, i, 1, probability, mh_random_stream(seed, a, b, c));
        x[i] = kept != 0.0F ? x[i] / (1.0 - (double)probability) : 0.0;
    }
}

static double ref_scale(const struct mh_attention *a)
{
    if (a->scale_mode == MH_SCALE_GIVEN)
        return (double)a->scale;
    return a->scale_mode == MH_SCALE_NONE ? 1.0 : 1.0 / sqrt((double)a->head_dim);
}

/* The weights of one row, before dropout; zeros if it sees no key. */
static void ref_weights(const struct mh_attention *a, double *weights, const double *q,
                        const double *k, size_t k_stride, size_t b, size_t h, size_t i)
{
    const struct mh_mask *m = &a->mask;
    double sum = 0.0;
    for (size_t j = 0; j < a->keys; j++) {
        double score = 0.0;
        for (size_t d = 0; d < a->head_dim; d++)
            score += q[d] * k[j * k_stride + d];
        score *= ref_scale(a);
        bool shown = reference_shows(m, a->keys, b, h, i, j);
        if (shown && m->bias != NULL && j < a->keys - m->free_keys)
            score += (double)m->bias[b * m->bias_batch_stride + h * m->bias_head_stride +
                                     i * m->bias_row_stride + j];
        weights[j] = shown ? exp(score) : 0.0;
        sum += weights[j];
    }
    for (size_t j = 0; j < a->keys && sum > 0.0; j++)
        weights[j] /= sum;
}

void ref_attention(const struct mh_attention *a, double *out, const double *q, size_t q_stride,
                   const double *k, size_t k_stride, const double *v, size_t v_stride)
{
    double *weights = malloc(a->keys * sizeof *weights);
    if (weights == NULL)
        abort();
    for (size_t row = 0; row < a->batch * a->queries * a->heads; row++) {
        size_t h = row % a->heads, i = row / a->heads % a->queries;
        size_t b = row / a->heads / a->queries, g = h / (a->heads / a->kv_heads);
        const double *keys = k + b * a->keys * k_stride + g * a->head_dim;
        const double *values = v + b * a->keys * v_stride + g * a->value_dim;
        ref_weights(a, weights, q + (b * a->queries + i) * q_stride + h * a->head_dim, keys,
                    k_stride, b, h, i);
        ref_dropout(weights, a->keys, a->dropout, a->dropout_seed, b, h, i);
        for (size_t d = 0; d < a->value_dim; d++) {
            double sum = 0.0;
            for (size_t j = 0; j < a->keys; j++)
                sum += weights[j] * values[j * v_stride + d];
            out[row * a->value_dim + d] = sum;
        }
    }
    free(weights);
}

/* ===== Model ================================================================================ */

struct ref_model {
    const struct mh_network *network;
    const struct mh_model_config *config; /* &network->model */
    const struct mh_training_pass *pass;
    const double *parameters;
    size_t rows;
    double *x, *inside, *wide, *heads, *branch; /* x, inside, heads, branch [R, E] */
};

static double *ref_numbers(size_t n)
{
    double *block = calloc(n, sizeof *block);
    if (block == NULL)
        abort();
    return block;
}

static const double *ref_parameter(const struct ref_model *m, size_t index)
{
    return m->parameters + mh_parameter_place(m->network, index).offset;
}

static const double *ref_of_layer(const struct ref_model *m, size_t layer,
                                  enum mh_layer_tensor tensor)
{
    return ref_parameter(m, mh_parameter_of_layer(layer, tensor));
}

static void ref_norm_rows(const struct ref_model *m, double *y, const double *x, size_t weight)
{
    size_t width = m->config->embed_dim;
    for (size_t r = 0; r < m->rows; r++)
        ref_layer_norm(y + r * width, x + r * width, ref_parameter(m, weight),
                       ref_parameter(m, weight + 1), (double)m->config->norm_epsilon, width);
}

static void ref_attend(const struct ref_model *m, size_t layer)
{
    const struct mh_model_config *c = m->config;
    size_t width = c->embed_dim, head = width / c->heads, row = width + 2 * c->kv_heads * head;
    struct mh_attention a = {
        .batch = m->pass->batch,
        .queries = m->pass->length,
        .keys = m->pass->length,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .head_dim = head,
        .value_dim = head,
        .scale_mode = m->pass->scale_mode,
        .scale = m->pass->scale,
        .mask = m->pass->mask,
        .dropout = m->pass->attention_dropout,
        .dropout_seed = mh_training_layer_seed(m->pass->dropout_seed, layer),
    };
    ref_linear(m->wide, m->inside, ref_of_layer(m, layer, MH_LAYER_QKV_WEIGHT),
               ref_of_layer(m, layer, MH_LAYER_QKV_BIAS), m->rows, width, row, false);
    ref_attention(&a, m->heads, m->wide, row, m->wide + width, row,
                  m->wide + width + c->kv_heads * head, row);
    ref_linear(m->branch, m->heads, ref_of_layer(m, layer, MH_LAYER_PROJECTION_WEIGHT),
               ref_of_layer(m, layer, MH_LAYER_PROJECTION_BIAS), m->rows, width, width, false);
}

static void ref_feed_forward(const struct ref_model *m, size_t layer)
{
    const struct mh_model_config *c = m->config;
    ref_linear(m->wide, m->inside, ref_of_layer(m, layer, MH_LAYER_FFN_IN_WEIGHT),
               ref_of_layer(m, layer, MH_LAYER_FFN_IN_BIAS), m->rows, c->embed_dim, c->ffn_dim,
               false);
    for (size_t i = 0; i < m->rows * c->ffn_dim; i++)
        m->wide[i] = ref_activation((enum mh_activation)c->activation, m->wide[i]);
    ref_linear(m->branch, m->wide, ref_of_layer(m, layer, MH_LAYER_FFN_OUT_WEIGHT),
               ref_of_layer(m, layer, MH_LAYER_FFN_OUT_BIAS), m->rows, c->ffn_dim, c->embed_dim,
               false);
}

/* x = x + dropout(branch(LN(x))), or LN(x + dropout(branch(x))); branch 0 is attention, 1 the
 * feed-forward part. */
static void ref_residual(const struct ref_model *m, size_t layer, size_t branch)
{
    const struct mh_training_pass *p = m->pass;
    size_t width = m->config->embed_dim;
    size_t norm =
        mh_parameter_of_layer(layer, branch == 0 ? MH_LAYER_NORM1_WEIGHT : MH_LAYER_NORM2_WEIGHT);
    bool pre = m->config->norm_position == MH_NORM_PRE;
    memcpy(m->inside, m->x, m->rows * width * sizeof *m->x);
    if (pre)
        ref_norm_rows(m, m->inside, m->x, norm);
    if (branch == 0)
        ref_attend(m, layer);
    else
        ref_feed_forward(m, layer);
    for (size_t r = 0; r < m->rows; r++)
        ref_dropout(m->branch + r * width, width, p->residual_dropout,
                    mh_training_layer_seed(p->dropout_seed, layer), r / p->length,
                    m->config->heads + branch, r % p->length);
    for (size_t i = 0; i < m->rows * width; i++)
        m->x[i] += m->branch[i];
    if (!pre)
        ref_norm_rows(m, m->x, m->x, norm);
}

double ref_model_loss(const struct mh_network *network, const struct mh_training_pass *pass,
                      const double *parameters)
{
    const struct mh_model_config *c = &network->model;
    size_t rows = pass->batch * pass->length, narrow = rows * c->embed_dim;
    size_t widest = 3 * c->embed_dim > c->ffn_dim ? 3 * c->embed_dim : c->ffn_dim;
    struct ref_model m = {network,
                          c,
                          pass,
                          parameters,
                          rows,
                          ref_numbers(narrow),
                          ref_numbers(narrow),
                          ref_numbers(rows * widest),
                          ref_numbers(narrow),
                          ref_numbers(narrow)};
    double *logits = ref_numbers(rows * c->vocabulary);
    const double *wte = ref_parameter(&m, MH_PARAMETER_WTE);
    const double *wpe = ref_parameter(&m, MH_PARAMETER_WPE);
    for (size_t i = 0; i < narrow; i++) {
        size_t r = i / c->embed_dim, e = i % c->embed_dim;
        m.x[i] = wte[(size_t)pass->tokens[r] * c->embed_dim + e] +
                 wpe[r % pass->length * c->embed_dim + e];
    }
    for (size_t layer = 0; layer < c->layers; layer++) {
        ref_residual(&m, layer, 0);
        ref_residual(&m, layer, 1);
    }
    if (c->norm_position == MH_NORM_PRE)
        ref_norm_rows(&m, m.x, m.x, mh_parameter_final_norm(network));
    ref_linear(logits, m.x, wte, NULL, rows, c->embed_dim, c->vocabulary, true);
    double loss = ref_cross_entropy(logits, pass->targets, rows, c->vocabulary);
    free(m.x);
    free(m.inside);
    free(m.wide);
    free(m.heads);
    free(m.branch);
    free(logits);
    return loss;
}
