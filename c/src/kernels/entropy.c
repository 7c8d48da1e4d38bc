/* Entropy of a row of weights. See kernels.h. */
#include "kernels/kernels.h"
#include "simd/f32x4.h"
#include "simd/f32x4_math.h"

/* Σ x ln x of one block; n is at most MH_SUM_BLOCK. 0 times the finite number that f32x4_log
 * gives for 0 is 0. */
static float block_sum(const float *x, size_t n)
{
    f32x4 sum = f32x4_splat(0.0F);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const f32x4 v = f32x4_load(x + i);
        sum = f32x4_madd(v, f32x4_log(v), sum);
    }
    if (i < n) {
        const f32x4 v = f32x4_load_part(x + i, n - i, 0.0F);
        sum = f32x4_madd(v, f32x4_log(v), sum);
    }
    return f32x4_sum(sum);
}

float mh_row_entropy(const float *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i += MH_SUM_BLOCK) {
        sum += (double)block_sum(x + i, n - i < MH_SUM_BLOCK ? n - i : MH_SUM_BLOCK);
    }
    return (float)(0.0 - sum);
}
