#include "train/row_gradients.h"

#include "base/size.h"
#include "kernels/kernels.h"

#include <math.h>

/* ===== Layer norm =========================================================================== */

void mh_row_layer_norm_gradient(float *dx, float *dweight, float *dbias, const float *dy,
                                const float *x, const float *weight, float epsilon, size_t n)
{
    double mean = 0.0, variance = 0.0, mean_g = 0.0, mean_gx = 0.0, count = (double)n;
    for (size_t i = 0; i < n; i++)
        mean += (double)x[i];
    mean /= count;
    for (size_t i = 0; i < n; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean);
    double r = 1.0 / sqrt(variance / count + (double)epsilon);
    for (size_t i = 0; i < n; i++) {
        double g = (double)dy[i] * (double)weight[i];
        mean_g += g;
        mean_gx += g * ((double)x[i] - mean) * r;
    }
    mean_g /= count;
    mean_gx /= count;
    for (size_t i = 0; i < n; i++) {
        double normed = ((double)x[i] - mean) * r;
        float dy_i = dy[i];
        dweight[i] += dy_i * (float)normed;
        dbias[i] += dy_i;
        dx[i] = (float)(r * ((double)dy_i * (double)weight[i] - mean_g - normed * mean_gx));
    }
}

/* ===== Activations ========================================================================== */

enum { CHUNK = 64 };

#define NORMAL_DENSITY_0 0.398942280F /* 1 / sqrt(2 π) */

/* Φ(x), from gelu = x Φ(x); near 0, where that quotient loses its digits, from the series of Φ. */
static float normal_distribution(float x, float gelu)
{
    if (fabsf(x) >= 0.5F)
        return gelu / x;
    float s = x * x;
    float series =
        1.0F - s * (1.0F / 6.0F - s * (1.0F / 40.0F - s * (1.0F / 336.0F - s / 3456.0F)));
    return 0.5F + NORMAL_DENSITY_0 * x * series;
}

static void gelu_slope(float *slope, const float *x, size_t n)
{
    float gelu[CHUNK];
    mh_row_gelu(gelu, x, n);
    for (size_t i = 0; i < n; i++)
        slope[i] = -0.5F * x[i] * x[i];
    mh_row_exp(slope, slope, 0.0F, n);
    for (size_t i = 0; i < n; i++)
        slope[i] = normal_distribution(x[i], gelu[i]) + x[i] * NORMAL_DENSITY_0 * slope[i];
}

static void gelu_tanh_slope(float *slope, const float *x, size_t n)
{
    const float factor = 0.797884561F /* sqrt(2 / π) */, cubic = 0.044715F;
    for (size_t i = 0; i < n; i++)
        slope[i] = 2.0F * factor * (x[i] + cubic * x[i] * x[i] * x[i]);
    mh_row_exp(slope, slope, 0.0F, n); /* e^2u */
    for (size_t i = 0; i < n; i++) {
        float e = slope[i], s = 1.0F / (e + 1.0F); /* t = 1 - 2 s, 1 - t² = 4 s (1 - s) */
        float other = e < 1.0F ? e * s : 1.0F - s; /* 1 - s without cancellation */
        float du = factor * (1.0F + 3.0F * cubic * x[i] * x[i]);
        slope[i] = other + 2.0F * x[i] * s * other * du;
    }
}

static void relu_slope(float *slope, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        slope[i] = x[i] > 0.0F ? 1.0F : 0.0F;
}

void mh_row_activation_gradient(enum mh_activation activation, float *dx, const float *dy,
                                const float *x, size_t n)
{
    float slope[CHUNK];
    for (size_t first = 0; first < n; first += CHUNK) {
        size_t count = mh_size_min(CHUNK, n - first);
        if (activation == MH_ACTIVATION_GELU_TANH)
            gelu_tanh_slope(slope, x + first, count);
        else if (activation == MH_ACTIVATION_RELU)
            relu_slope(slope, x + first, count);
        else
            gelu_slope(slope, x + first, count);
        for (size_t i = 0; i < count; i++)
            dx[first + i] = dy[first + i] * slope[i];
    }
}
