/* Entropy of a row of weights. See kernels.h. */
#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "simd/f32x4.h"
#include "simd/f32x4_math.h"

/* Σ x ln(x + epsilon) of one block; n is at most SUM_BLOCK. With epsilon 0, 0 times the finite
 * number that f32x4_log gives for 0 is 0. */
static float block_sum(const float *x, f32x4 epsilon, size_t n, const struct log_constants *k)
{
    f32x4 sum = f32x4_splat(0.0F);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const f32x4 v = f32x4_load(x + i);
        sum = f32x4_madd(v, f32x4_log(f32x4_add(v, epsilon), k), sum);
    }
    if (i < n) {
        const f32x4 v = f32x4_load_part(x + i, n - i, 0.0F);
        sum = f32x4_madd(v, f32x4_log(f32x4_add(v, epsilon), k), sum);
    }
    return f32x4_sum(sum);
}

float mh_row_entropy_epsilon(const float *x, float epsilon, size_t n)
{
    const struct log_constants k = log_constants();
    const f32x4 epsilons = f32x4_splat(epsilon);
    double sum = 0.0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        sum += (double)block_sum(x + i, epsilons, block_length(n - i), &k);
    }
    return (float)(0.0 - sum);
}

float mh_row_entropy(const float *x, size_t n)
{
    return mh_row_entropy_epsilon(x, 0.0F, n);
}
