/* Layer normalisation of a row. See kernels.h. */
#include <math.h>

#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "simd/f32x4.h"

/* Σ x of one block. */
static float block_sum(const float *x, size_t n)
{
    f32x4 sums[2] = {f32x4_splat(0.0F), f32x4_splat(0.0F)};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        sums[0] = f32x4_add(sums[0], f32x4_load(x + i));
        sums[1] = f32x4_add(sums[1], f32x4_load(x + i + 4));
    }
    if (i + 4 <= n) {
        sums[0] = f32x4_add(sums[0], f32x4_load(x + i));
        i += 4;
    }
    if (i < n) {
        sums[1] = f32x4_add(sums[1], f32x4_load_part(x + i, n - i, 0.0F));
    }
    return f32x4_sum(f32x4_add(sums[0], sums[1]));
}

SIMD_INLINE f32x4 add_square(f32x4 sum, f32x4 x, f32x4 mean)
{
    const f32x4 d = f32x4_sub(x, mean);
    return f32x4_madd(d, d, sum);
}

/* Σ (x - mean)^2 of one block. */
static float block_squares(const float *x, float mean, size_t n)
{
    const f32x4 means = f32x4_splat(mean);
    f32x4 sums[2] = {f32x4_splat(0.0F), f32x4_splat(0.0F)};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        sums[0] = add_square(sums[0], f32x4_load(x + i), means);
        sums[1] = add_square(sums[1], f32x4_load(x + i + 4), means);
    }
    if (i + 4 <= n) {
        sums[0] = add_square(sums[0], f32x4_load(x + i), means);
        i += 4;
    }
    if (i < n) {
        sums[1] = add_square(sums[1], f32x4_load_part(x + i, n - i, mean), means);
    }
    return f32x4_sum(f32x4_add(sums[0], sums[1]));
}

static float mean_of(const float *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        sum += (double)block_sum(x + i, block_length(n - i));
    }
    return (float)(sum / (double)n);
}

static double variance_of(const float *x, float mean, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        sum += (double)block_squares(x + i, mean, block_length(n - i));
    }
    return sum / (double)n;
}

void mh_row_layer_norm(float *out, const float *x, const float *weight, const float *bias,
                       float epsilon, size_t n)
{
    if (n == 0) {
        return;
    }
    const float mean = mean_of(x, n);
    const float inverse = (float)(1.0 / sqrt(variance_of(x, mean, n) + (double)epsilon));

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
