/* The activations of the feed-forward layer. See kernels.h. */
#include "kernels/kernels.h"
#include "simd/f32x4.h"
#include "simd/f32x4_math.h"

/* ===== GELU, exact form ===================================================================== */

struct gelu_constants {
    struct exp_constants exp;
    f32x4 end, zero;
    f32x4 c[10]; /* of the polynomial */
};

SIMD_INLINE struct gelu_constants gelu_constants(void)
{
    return (struct gelu_constants){
        .exp = exp_constants(),
        .end = f32x4_constant(13.3F),
        .zero = f32x4_constant(0.0F),
        .c = {f32x4_constant(-0.69314718056F), f32x4_constant(-0.797896123064F),
              f32x4_constant(-0.318217643211F), f32x4_constant(-0.0366092358777F),
              f32x4_constant(0.00518935318294F), f32x4_constant(-0.000302285887834F),
              f32x4_constant(-4.9975394007e-5F), f32x4_constant(1.23307178969e-5F),
              f32x4_constant(-9.81494807323e-7F), f32x4_constant(2.72852188071e-8F)},
    };
}

/* x Φ(x) = max(x, 0) - |x| Q(|x|), where Q(u) = erfc(u / sqrt 2) / 2 is the upper tail of the
 * normal distribution: small where the second term is wanted exactly, and smooth enough for
 *
 *     ln Q(u) = -ln 2 + c1 u + … + c9 u^9        0 <= u <= 13.3
 *
 * minimax for the error of u Q(u), which is 2.6e-8 (Remez, weight u Q(u) + 1e-7: the second part
 * keeps the far tail decaying), summed in pairs (Estrin's scheme: a short chain). At 13.3 and
 * beyond, exp gives 0. */
SIMD_INLINE f32x4 gelu(f32x4 x, const struct gelu_constants *k)
{
    const f32x4 u = f32x4_min(f32x4_abs(x), k->end);
    const f32x4 u2 = f32x4_mul(u, u);
    const f32x4 u4 = f32x4_mul(u2, u2);
    const f32x4 c01 = f32x4_madd(u, k->c[1], k->c[0]);
    const f32x4 c23 = f32x4_madd(u, k->c[3], k->c[2]);
    const f32x4 c45 = f32x4_madd(u, k->c[5], k->c[4]);
    const f32x4 c67 = f32x4_madd(u, k->c[7], k->c[6]);
    const f32x4 c89 = f32x4_madd(u, k->c[9], k->c[8]);
    f32x4 p = f32x4_madd(u4, c89, f32x4_madd(u2, c67, c45));
    p = f32x4_madd(u4, p, f32x4_madd(u2, c23, c01));
    return f32x4_nmadd(u, f32x4_exp(p, &k->exp), f32x4_max(x, k->zero));
}

void mh_row_gelu(float *out, const float *x, size_t n)
{
    const struct gelu_constants k = gelu_constants();
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4_store(out + i, gelu(f32x4_load(x + i), &k));
    }
    if (i < n) {
        f32x4_store_part(out + i, gelu(f32x4_load_part(x + i, n - i, 0.0F), &k), n - i);
    }
}

/* ===== GELU, tanh form ====================================================================== */

struct gelu_tanh_constants {
    struct exp_constants exp;
    f32x4 one, cubic, minus_2_sqrt_2_over_pi;
};

SIMD_INLINE struct gelu_tanh_constants gelu_tanh_constants(void)
{
    return (struct gelu_tanh_constants){
        .exp = exp_constants(),
        .one = f32x4_constant(1.0F),
        .cubic = f32x4_constant(0.044715F),
        .minus_2_sqrt_2_over_pi = f32x4_constant(-1.59576912161F),
    };
}

/* x/2 (1 + tanh y) = x / (1 + e^(-2y)), y = sqrt(2/π) (x + 0.044715 x^3). */
SIMD_INLINE f32x4 gelu_tanh(f32x4 x, const struct gelu_tanh_constants *k)
{
    const f32x4 stretch = f32x4_madd(f32x4_mul(x, x), k->cubic, k->one);
    const f32x4 minus_2y = f32x4_mul(f32x4_mul(x, k->minus_2_sqrt_2_over_pi), stretch);
    return f32x4_div(x, f32x4_add(k->one, f32x4_exp(minus_2y, &k->exp)));
}

void mh_row_gelu_tanh(float *out, const float *x, size_t n)
{
    const struct gelu_tanh_constants k = gelu_tanh_constants();
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4_store(out + i, gelu_tanh(f32x4_load(x + i), &k));
    }
    if (i < n) {
        f32x4_store_part(out + i, gelu_tanh(f32x4_load_part(x + i, n - i, 0.0F), &k), n - i);
    }
}

/* ===== ReLU ================================================================================= */

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
