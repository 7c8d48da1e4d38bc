/* The activations of the feed-forward layer. See kernels.h. */
#include "kernels/kernels.h"
#include "simd/f32x4.h"
#include "simd/f32x4_math.h"

/* x Φ(x) = max(x, 0) - |x| Q(|x|), where Q(u) = erfc(u / sqrt 2) / 2 is the upper tail of the
 * normal distribution: small where the second term is wanted exactly, and smooth enough for
 *
 *     ln Q(u) = -ln 2 + c1 u + … + c9 u^9        0 <= u <= 13.3
 *
 * minimax for the error of u Q(u), which is 2.6e-8 (Remez, weight u Q(u) + 1e-7: the second part
 * keeps the far tail decaying), summed in pairs (Estrin's scheme: a short chain). From 13.3 on, exp
 * gives 0. */
SIMD_INLINE f32x4 gelu(f32x4 x)
{
    const f32x4 u = f32x4_min(f32x4_abs(x), f32x4_splat(13.3F));
    const f32x4 c01 = f32x4_madd(u, f32x4_splat(-0.797896123064F), f32x4_splat(-0.69314718056F));
    const f32x4 c23 = f32x4_madd(u, f32x4_splat(-0.0366092358777F), f32x4_splat(-0.318217643211F));
    const f32x4 c45 =
        f32x4_madd(u, f32x4_splat(-0.000302285887834F), f32x4_splat(0.00518935318294F));
    const f32x4 c67 = f32x4_madd(u, f32x4_splat(1.23307178969e-5F), f32x4_splat(-4.9975394007e-5F));
    const f32x4 c89 =
        f32x4_madd(u, f32x4_splat(2.72852188071e-8F), f32x4_splat(-9.81494807323e-7F));
    const f32x4 u2 = f32x4_mul(u, u);
    const f32x4 u4 = f32x4_mul(u2, u2);
    f32x4 p = f32x4_madd(u4, c89, f32x4_madd(u2, c67, c45));
    p = f32x4_madd(u4, p, f32x4_madd(u2, c23, c01));
    return f32x4_nmadd(u, f32x4_exp(p), f32x4_max(x, f32x4_splat(0.0F)));
}

/* x/2 (1 + tanh y) = x / (1 + e^(-2y)), y = sqrt(2/π) (x + 0.044715 x^3). */
SIMD_INLINE f32x4 gelu_tanh(f32x4 x)
{
    const f32x4 one = f32x4_splat(1.0F);
    const f32x4 square = f32x4_mul(x, x);
    const f32x4 cubic = f32x4_madd(square, f32x4_splat(0.044715F), one);
    const f32x4 minus_2y = f32x4_mul(f32x4_mul(x, f32x4_splat(-1.59576912161F)), cubic);
    return f32x4_div(x, f32x4_add(one, f32x4_exp(minus_2y)));
}

void mh_row_gelu(float *out, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4_store(out + i, gelu(f32x4_load(x + i)));
    }
    if (i < n) {
        f32x4_store_part(out + i, gelu(f32x4_load_part(x + i, n - i, 0.0F)), n - i);
    }
}

void mh_row_gelu_tanh(float *out, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4_store(out + i, gelu_tanh(f32x4_load(x + i)));
    }
    if (i < n) {
        f32x4_store_part(out + i, gelu_tanh(f32x4_load_part(x + i, n - i, 0.0F)), n - i);
    }
}

void mh_row_relu(float *out, const float *x, size_t n)
{
    const f32x4 zero = f32x4_splat(0.0F);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4_store(out + i, f32x4_max(f32x4_load(x + i), zero));
    }
    for (; i < n; i++) {
        out[i] = x[i] < 0.0F ? 0.0F : x[i];
    }
}
