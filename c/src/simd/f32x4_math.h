/* exp, exp2 and ln of four floats. Their constants are held by the caller, outside of its loop (see
 * f32x4_constant). */
#ifndef MH_F32X4_MATH_H
#define MH_F32X4_MATH_H

#include "simd/f32x4.h"

/* ln 2 in two parts (Cody & Waite 1980), the first short enough for its products with small
 * integers to be exact. */
#define LN2_HIGH 0x1.62E4p-1F
#define LN2_LOW 0x1.7F7D1Cp-20F

/* ===== exp ================================================================================== */

struct exp_constants {
    f32x4 lowest, highest, log2_e, round, ln2_high, ln2_low;
    f32x4 c[7]; /* of the polynomial */
};

SIMD_INLINE struct exp_constants exp_constants(void)
{
    return (struct exp_constants){
        .lowest = f32x4_constant(-87.3365F), /* n = -126 */
        .highest = f32x4_constant(89.0F),    /* n = 128 and 2 e^r > 2: overflows */
        .log2_e = f32x4_constant(0x1.715476p0F),
        .round = f32x4_constant(0x1.8p23F + 126.0F),
        .ln2_high = f32x4_constant(LN2_HIGH),
        .ln2_low = f32x4_constant(LN2_LOW),
        .c = {f32x4_constant(2.0F), f32x4_constant(2.0F * 1.00000003244F),
              f32x4_constant(2.0F * 0.499999942826F), f32x4_constant(2.0F * 0.166664300177F),
              f32x4_constant(2.0F * 0.0416679714739F), f32x4_constant(2.0F * 0.00837426043187F),
              f32x4_constant(2.0F * 0.00138461175756F)},
    };
}

/* c0 + c1 x + … + c6 x^6 (Horner's scheme). */
SIMD_INLINE f32x4 f32x4_polynomial6(const f32x4 c[7], f32x4 x)
{
    f32x4 p = c[6];
    p = f32x4_madd(p, x, c[5]);
    p = f32x4_madd(p, x, c[4]);
    p = f32x4_madd(p, x, c[3]);
    p = f32x4_madd(p, x, c[2]);
    p = f32x4_madd(p, x, c[1]);
    return f32x4_madd(p, x, c[0]);
}

/* e^x with a relative error below 1.2e-7 up to the largest finite result; +inf beyond; exactly 1 at
 * 0. Results below 2^-125.5 = 1.7e-38 are 0, so that no denormal (slow on many machines) comes out;
 * exp(-inf) is 0; NaN stays NaN.
 *
 *   x = n ln 2 + r, |r| <= ln(2)/2        e^x = 2^(n-1) * 2 e^r
 *
 * n is rounded by adding 1.5 * 2^23, whose last bit counts ones; n + 126 then stands in the low
 * bits and moves to the exponent field as 2^(n-1). Doubling the polynomial lets n reach 128 without
 * overflow, and makes n = -126 an exponent field of 0. The polynomial is 2 + c1 r + … + c6 r^6,
 * minimax for the relative error (Remez; 2.0e-9). */
SIMD_INLINE f32x4 f32x4_exp(f32x4 x, const struct exp_constants *k)
{
    x = f32x4_max(x, k->lowest);
    x = f32x4_min(x, k->highest);
    const f32x4 rounded = f32x4_madd(x, k->log2_e, k->round);
    const f32x4 power = f32x4_from_bits(i32x4_shift_left(f32x4_bits(rounded), 23));
    const f32x4 n = f32x4_sub(rounded, k->round);
    f32x4 r = f32x4_nmadd(n, k->ln2_high, x);
    r = f32x4_nmadd(n, k->ln2_low, r);

    return f32x4_mul(f32x4_polynomial6(k->c, r), power);
}

/* ===== 2^t for t <= 0 ======================================================================= */

struct exp2_constants {
    f32x4 lowest, round;
    f32x4 c[7]; /* of the polynomial */
};

SIMD_INLINE struct exp2_constants exp2_constants(void)
{
    return (struct exp2_constants){
        .lowest = f32x4_constant(-126.0F),
        .round = f32x4_constant(0x1.8p23F + 126.0F),
        .c = {f32x4_constant(2.0F), f32x4_constant(2.0F * 0.693147203046F),
              f32x4_constant(2.0F * 0.24022647949F), f32x4_constant(2.0F * 0.0555033205654F),
              f32x4_constant(2.0F * 0.00961843030293F), f32x4_constant(2.0F * 0.00133990426082F),
              f32x4_constant(2.0F * 0.000153560946892F)},
    };
}

/* 2^t, t <= 0, with the relative error, the zeros and the NaN of f32x4_exp; exactly 1 at 0. What a softmax
 * needs, in fewer steps: a fraction of t is exact, and nothing can overflow. The polynomial is that
 * of f32x4_exp in f = r / ln 2. */
SIMD_INLINE f32x4 f32x4_exp2(f32x4 t, const struct exp2_constants *k)
{
    t = f32x4_max(t, k->lowest);
    const f32x4 rounded = f32x4_add(t, k->round);
    const f32x4 power = f32x4_from_bits(i32x4_shift_left(f32x4_bits(rounded), 23));
    const f32x4 f = f32x4_sub(t, f32x4_sub(rounded, k->round));

    return f32x4_mul(f32x4_polynomial6(k->c, f), power);
}

/* ===== ln =================================================================================== */

struct log_constants {
    f32x4 least_normal, denormal_exponent, sqrt_half, one, half, ln2_high, ln2_low;
    f32x4 c[8]; /* of the polynomial */
};

SIMD_INLINE struct log_constants log_constants(void)
{
    return (struct log_constants){
        .least_normal = f32x4_constant(0x1p-126F),
        .denormal_exponent = f32x4_constant(149.0F),
        .sqrt_half = f32x4_constant(0.707106781187F),
        .one = f32x4_constant(1.0F),
        .half = f32x4_constant(0.5F),
        .ln2_high = f32x4_constant(LN2_HIGH),
        .ln2_low = f32x4_constant(LN2_LOW),
        .c = {f32x4_constant(0.333333317066F), f32x4_constant(-0.250008210191F),
              f32x4_constant(0.200012269278F), f32x4_constant(-0.166233578348F),
              f32x4_constant(0.142017573958F), f32x4_constant(-0.131601775991F),
              f32x4_constant(0.127615785952F), f32x4_constant(-0.0763450981049F)},
    };
}

/* ln x for finite x > 0, denormals too, with a relative error below 1e-7; some finite number for
 * the other x.
 *
 *   x = 2^n (1 + f), 1/sqrt(2) <= 1 + f < sqrt(2)        ln x = n ln 2 + ln(1 + f)
 *
 * ln(1 + f) = f - f^2/2 + f^3 (c0 + c1 f + … + c7 f^7), minimax for the relative error (Remez;
 * 5.8e-9), summed in pairs (Estrin's scheme: a short chain). A denormal is first made normal: its
 * bits, read as an integer, are x * 2^149. */
SIMD_INLINE f32x4 f32x4_log(f32x4 x, const struct log_constants *k)
{
    const i32x4 denormal = f32x4_less(x, k->least_normal);
    const f32x4 normal = f32x4_select(denormal, f32x4_from_i32(f32x4_bits(x)), x);
    const i32x4 above = i32x4_sub(f32x4_bits(normal), f32x4_bits(k->sqrt_half));
    const i32x4 exponent = i32x4_shift_right(above, 23);
    const i32x4 shifted = i32x4_and(denormal, f32x4_bits(k->denormal_exponent));
    const f32x4 n = f32x4_sub(f32x4_from_i32(exponent), f32x4_from_bits(shifted));
    const i32x4 mantissa = i32x4_sub(f32x4_bits(normal), i32x4_shift_left(exponent, 23));
    const f32x4 f = f32x4_sub(f32x4_from_bits(mantissa), k->one);

    const f32x4 f2 = f32x4_mul(f, f);
    const f32x4 c01 = f32x4_madd(f, k->c[1], k->c[0]);
    const f32x4 c23 = f32x4_madd(f, k->c[3], k->c[2]);
    const f32x4 c45 = f32x4_madd(f, k->c[5], k->c[4]);
    const f32x4 c67 = f32x4_madd(f, k->c[7], k->c[6]);
    f32x4 p = f32x4_madd(f32x4_mul(f2, f2), f32x4_madd(f2, c67, c45), f32x4_madd(f2, c23, c01));
    p = f32x4_mul(p, f32x4_mul(f2, f));
    p = f32x4_madd(n, k->ln2_low, p); /* the small parts first */
    p = f32x4_nmadd(f2, k->half, p);
    p = f32x4_add(p, f);
    return f32x4_madd(n, k->ln2_high, p);
}

#endif
