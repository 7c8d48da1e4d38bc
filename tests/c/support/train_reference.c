#include "support/train_reference.h"

#include "base/random.h"
#include "ops/dropout.h"
#include "support/reference.h"

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

void ref_weights(const struct mh_attention *a, double *weights, const double *q, const double *k,
                 size_t k_stride, size_t b, size_t h, size_t i)
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
