/* Layer normalisation of a row. See kernels.h. */
#include <math.h>

#include "kernels/kernels.h"
#include "simd/f32x4.h"

/* Σ (x - center) and Σ (x - center)^2 of one block; n is at most MH_SUM_BLOCK. */
static void block_moments(const float *x, float center, size_t n, float *sum, float *square_sum)
{
    const f32x4 centers = f32x4_splat(center);
    f32x4 sums = f32x4_splat(0.0F);
    f32x4 squares = sums;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const f32x4 d = f32x4_sub(f32x4_load(x + i), centers);
        sums = f32x4_add(sums, d);
        squares = f32x4_madd(d, d, squares);
    }
    if (i < n) {
        const f32x4 d = f32x4_sub(f32x4_load_part(x + i, n - i, center), centers);
        sums = f32x4_add(sums, d);
        squares = f32x4_madd(d, d, squares);
    }
    *sum = f32x4_sum(sums);
    *square_sum = f32x4_sum(squares);
}

static void moments(const float *x, float center, size_t n, double *sum, double *square_sum)
{
    *sum = 0.0;
    *square_sum = 0.0;
    for (size_t i = 0; i < n; i += MH_SUM_BLOCK) {
        const size_t length = n - i < MH_SUM_BLOCK ? n - i : MH_SUM_BLOCK;
        float block_sum;
        float block_squares;
        block_moments(x + i, center, length, &block_sum, &block_squares);
        *sum += (double)block_sum;
        *square_sum += (double)block_squares;
    }
}

void mh_row_layer_norm(float *out, const float *x, const float *weight, const float *bias,
                       float epsilon, size_t n)
{
    if (n == 0) {
        return;
    }
    double sum;
    double squares;
    moments(x, 0.0F, n, &sum, &squares);
    const float mean = (float)(sum / (double)n);
    moments(x, mean, n, &sum, &squares);
    const float inverse = (float)(1.0 / sqrt(squares / (double)n + (double)epsilon));

    const f32x4 means = f32x4_splat(mean);
    const f32x4 inverses = f32x4_splat(inverse);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4 y = f32x4_mul(f32x4_sub(f32x4_load(x + i), means), inverses);
        if (weight != NULL) {
            y = f32x4_mul(y, f32x4_load(weight + i));
        }
        if (bias != NULL) {
            y = f32x4_add(y, f32x4_load(bias + i));
        }
        f32x4_store(out + i, y);
    }
    for (; i < n; i++) {
        out[i] = (x[i] - mean) * inverse * (weight == NULL ? 1.0F : weight[i]) +
                 (bias == NULL ? 0.0F : bias[i]);
    }
}
