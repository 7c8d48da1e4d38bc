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

/* Σ d and Σ d^2 of one block, d = x - center. */
struct deviations {
    f32x4 sum, squares;
};

SIMD_INLINE void add_deviation(struct deviations *to, f32x4 x, f32x4 center)
{
    const f32x4 d = f32x4_sub(x, center);
    to->sum = f32x4_add(to->sum, d);
    to->squares = f32x4_madd(d, d, to->squares);
}

static struct deviations block_deviations(const float *x, float center, size_t n)
{
    const f32x4 centers = f32x4_splat(center);
    struct deviations all = {f32x4_splat(0.0F), f32x4_splat(0.0F)};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        add_deviation(&all, f32x4_load(x + i), centers);
    }
    if (i < n) {
        add_deviation(&all, f32x4_load_part(x + i, n - i, center), centers);
    }
    return all;
}

/* x normalised is (x - center) * scale + shift. */
struct normaliser {
    float center, scale, shift;
};

/* The corrected two-pass algorithm (Chan, Golub & LeVeque 1983): the mean of x rounded to f32 is only
 * a center; the deviations from it are small and say what is left of the mean, so a row far from 0
 * loses no digits. */
static struct normaliser find_normaliser(const float *x, float epsilon, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        sum += (double)block_sum(x + i, block_length(n - i));
    }
    const float center = (float)(sum / (double)n);

    double rest = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        const struct deviations d = block_deviations(x + i, center, block_length(n - i));
        rest += (double)f32x4_sum(d.sum);
        squares += (double)f32x4_sum(d.squares);
    }
    rest /= (double)n;
    const double variance = squares / (double)n - rest * rest;
    const double scale = 1.0 / sqrt(variance + (double)epsilon);
    return (struct normaliser){center, (float)scale, (float)(-rest * scale)};
}

void mh_row_layer_norm(float *out, const float *x, const float *weight, const float *bias,
                       float epsilon, size_t n)
{
    if (n == 0) {
        return;
    }
    const struct normaliser normal = find_normaliser(x, epsilon, n);
    const f32x4 center = f32x4_splat(normal.center);
    const f32x4 scale = f32x4_splat(normal.scale);
    const f32x4 shift = f32x4_splat(normal.shift);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4 y = f32x4_madd(f32x4_sub(f32x4_load(x + i), center), scale, shift);
        if (weight != NULL) {
            y = f32x4_mul(y, f32x4_load(weight + i));
        }
        if (bias != NULL) {
            y = f32x4_add(y, f32x4_load(bias + i));
        }
        f32x4_store(out + i, y);
    }
    for (; i < n; i++) {
        const float y = (x[i] - normal.center) * normal.scale + normal.shift;
        out[i] = y * (weight == NULL ? 1.0F : weight[i]) + (bias == NULL ? 0.0F : bias[i]);
    }
}
