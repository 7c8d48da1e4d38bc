/* The three passes of a softmax row: max, exp with sum, scale. See kernels.h. */
#include <math.h>

#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "simd/f32x4.h"
#include "simd/f32x4_math.h"

static float largest_or_nan(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isnan(x[i])) {
            return -INFINITY;
        }
    }
    return n == 0 ? -INFINITY : NAN;
}

float mh_row_max(const float *x, size_t n)
{
    f32x4 a = f32x4_splat(-INFINITY);
    f32x4 b = a;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        a = f32x4_max(a, f32x4_load(x + i));
        b = f32x4_max(b, f32x4_load(x + i + 4));
    }
    for (; i + 4 <= n; i += 4) {
        a = f32x4_max(a, f32x4_load(x + i));
    }
    if (i < n) {
        b = f32x4_max(b, f32x4_load_part(x + i, n - i, -INFINITY));
    }
    const float largest = f32x4_largest(f32x4_max(a, b));
    return largest == -INFINITY ? largest_or_nan(x, n) : largest;
}

/* The sum of one block in four accumulators; n is at most SUM_BLOCK. */
static float exp_block(float *out, const float *x, f32x4 shift, size_t n,
                       const struct exp_constants *k)
{
    f32x4 sum[2] = {f32x4_splat(0.0F), f32x4_splat(0.0F)};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const f32x4 e0 = f32x4_exp(f32x4_sub(f32x4_load(x + i), shift), k);
        const f32x4 e1 = f32x4_exp(f32x4_sub(f32x4_load(x + i + 4), shift), k);
        f32x4_store(out + i, e0);
        f32x4_store(out + i + 4, e1);
        sum[0] = f32x4_add(sum[0], e0);
        sum[1] = f32x4_add(sum[1], e1);
    }
    if (i + 4 <= n) {
        const f32x4 e = f32x4_exp(f32x4_sub(f32x4_load(x + i), shift), k);
        f32x4_store(out + i, e);
        sum[0] = f32x4_add(sum[0], e);
        i += 4;
    }
    if (i < n) {
        const f32x4 tail = f32x4_load_part(x + i, n - i, -INFINITY);
        const f32x4 e = f32x4_exp(f32x4_sub(tail, shift), k);
        f32x4_store_part(out + i, e, n - i);
        sum[1] = f32x4_add(sum[1], e);
    }
    return f32x4_sum(f32x4_add(sum[0], sum[1]));
}

float mh_row_exp(float *out, const float *x, float shift, size_t n)
{
    const struct exp_constants k = exp_constants();
    const f32x4 shifts = f32x4_splat(shift);
    double sum = 0.0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        const size_t length = block_length(n - i);
        sum += (double)exp_block(out + i, x + i, shifts, length, &k);
    }
    return (float)sum;
}

/* As exp_block, of 2^(factor (x - largest)). One chain of sums is enough: a step takes longer than a sum. */
static float exp_below_block(float *out, const float *x, f32x4 largest, f32x4 factor, size_t n,
                             const struct exp2_constants *k)
{
    f32x4 sum = f32x4_splat(0.0F);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const f32x4 e = f32x4_exp2(f32x4_mul(f32x4_sub(f32x4_load(x + i), largest), factor), k);
        f32x4_store(out + i, e);
        sum = f32x4_add(sum, e);
    }
    if (i < n) {
        const f32x4 tail = f32x4_sub(f32x4_load_part(x + i, n - i, -INFINITY), largest);
        const f32x4 e = f32x4_exp2(f32x4_mul(tail, factor), k);
        f32x4_store_part(out + i, e, n - i);
        sum = f32x4_add(sum, e);
    }
    return f32x4_sum(sum);
}

float mh_row_exp_below(float *out, const float *x, float largest, float scale, size_t n)
{
    const struct exp2_constants k = exp2_constants();
    const f32x4 largests = f32x4_splat(largest);
    const f32x4 factor = f32x4_splat(scale * 0x1.715476p0F); /* log2 e */
    double sum = 0.0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        const size_t length = block_length(n - i);
        sum += (double)exp_below_block(out + i, x + i, largests, factor, length, &k);
    }
    return (float)sum;
}

void mh_row_scale(float *out, const float *x, float factor, size_t n)
{
    const f32x4 factors = f32x4_splat(factor);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4_store(out + i, f32x4_mul(f32x4_load(x + i), factors));
    }
    for (; i < n; i++) {
        out[i] = x[i] * factor;
    }
}
