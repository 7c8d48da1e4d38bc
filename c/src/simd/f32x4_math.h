/* exp and ln of four floats. */
#ifndef MH_F32X4_MATH_H
#define MH_F32X4_MATH_H

#include "simd/f32x4.h"

/* e^x with a relative error below 2e-7 up to the largest finite result; +inf beyond; exactly 1 at
 * 0. Results below 2^-125.5 = 1.7e-38 are 0, so that no denormal (slow on many machines) comes out;
 * exp(-inf) is 0; NaN stays NaN.
 *
 *   x = n ln 2 + r, |r| <= ln(2)/2        e^x = 2^(n-1) * 2 e^r
 *
 * n is rounded by adding 1.5 * 2^23, whose last bit counts ones; n + 126 then stands in the low
 * bits and moves to the exponent field as 2^(n-1). Doubling the polynomial lets n reach 128 without
 * overflow, and makes n = -126 an exponent field of 0. ln 2 is split in two (Cody & Waite 1980),
 * the first part short enough for its product with n to be exact. The polynomial is
 * 2 + 2 r (c1 + c2 r + … + c6 r^5), minimax for the relative error (Remez; 2.0e-9). */
SIMD_INLINE f32x4 f32x4_exp(f32x4 x)
{
    const f32x4 magic = f32x4_splat(0x1.8p23F + 126.0F);

    x = f32x4_max(x, f32x4_splat(-87.3365F)); /* n = -126 */
    x = f32x4_min(x, f32x4_splat(89.0F));     /* n = 128 and 2 e^r > 2: overflows */
    const f32x4 shifted = f32x4_madd(x, f32x4_splat(0x1.715476p0F), magic);
    const f32x4 power = f32x4_from_bits(i32x4_shift_left(f32x4_bits(shifted), 23));
    const f32x4 n = f32x4_sub(shifted, magic);
    f32x4 r = f32x4_nmadd(n, f32x4_splat(0x1.62E4p-1F), x);
    r = f32x4_nmadd(n, f32x4_splat(0x1.7F7D1Cp-20F), r);

    f32x4 p = f32x4_splat(2.0F * 0.00138461175756F);
    p = f32x4_madd(p, r, f32x4_splat(2.0F * 0.00837426043187F));
    p = f32x4_madd(p, r, f32x4_splat(2.0F * 0.0416679714739F));
    p = f32x4_madd(p, r, f32x4_splat(2.0F * 0.166664300177F));
    p = f32x4_madd(p, r, f32x4_splat(2.0F * 0.499999942826F));
    p = f32x4_madd(p, r, f32x4_splat(2.0F * 1.00000003244F));
    p = f32x4_madd(p, r, f32x4_splat(2.0F));
    return f32x4_mul(p, power);
}

/* ln x for finite x > 0, denormals too, with a relative error below 3e-7; some finite number for
 * the other x.
 *
 *   x = 2^n (1 + f), 1/sqrt(2) <= 1 + f < sqrt(2)        ln x = n ln 2 + ln(1 + f)
 *
 * ln(1 + f) = f - f^2/2 + f^3 (c0 + c1 f + … + c7 f^7), minimax for the relative error (Remez;
 * 5.8e-9), summed in pairs (Estrin's scheme: a short chain). A denormal is first made normal: its bits, read as an integer, are x * 2^149. */
SIMD_INLINE f32x4 f32x4_log(f32x4 x)
{
    const i32x4 sqrt_half = i32x4_splat(0x3f3504f3); /* bits of 1/sqrt(2) */

    const i32x4 denormal = f32x4_less(x, f32x4_splat(0x1p-126F));
    const f32x4 normal = f32x4_select(denormal, f32x4_from_i32(f32x4_bits(x)), x);
    const i32x4 offset = i32x4_and(denormal, i32x4_splat(149));
    const i32x4 exponent = i32x4_shift_right(i32x4_sub(f32x4_bits(normal), sqrt_half), 23);
    const f32x4 n = f32x4_from_i32(i32x4_sub(exponent, offset));
    const f32x4 m = f32x4_from_bits(i32x4_sub(f32x4_bits(normal), i32x4_shift_left(exponent, 23)));
    const f32x4 f = f32x4_sub(m, f32x4_splat(1.0F));
    const f32x4 square = f32x4_mul(f, f);

    const f32x4 c01 = f32x4_madd(f, f32x4_splat(-0.250008210191F), f32x4_splat(0.333333317066F));
    const f32x4 c23 = f32x4_madd(f, f32x4_splat(-0.166233578348F), f32x4_splat(0.200012269278F));
    const f32x4 c45 = f32x4_madd(f, f32x4_splat(-0.131601775991F), f32x4_splat(0.142017573958F));
    const f32x4 c67 = f32x4_madd(f, f32x4_splat(-0.0763450981049F), f32x4_splat(0.127615785952F));
    const f32x4 fourth = f32x4_mul(square, square);
    f32x4 p = f32x4_madd(fourth, f32x4_madd(square, c67, c45), f32x4_madd(square, c23, c01));
    p = f32x4_mul(p, f32x4_mul(square, f));
    p = f32x4_madd(n, f32x4_splat(0x1.7F7D1Cp-20F), p); /* the small parts first */
    p = f32x4_nmadd(square, f32x4_splat(0.5F), p);
    p = f32x4_add(p, f);
    return f32x4_madd(n, f32x4_splat(0x1.62E4p-1F), p);
}

#endif
