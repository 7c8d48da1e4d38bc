/* f32x4 on wasm SIMD128 and relaxed SIMD. Include simd/f32x4.h, not this. */
#ifndef MH_F32X4_WASM_H
#define MH_F32X4_WASM_H

#include <wasm_simd128.h>

typedef v128_t f32x4;
typedef v128_t i32x4;

/* ===== Making, loading, storing ============================================================= */

SIMD_INLINE f32x4 f32x4_splat(float x)
{
    return wasm_f32x4_splat(x);
}

SIMD_INLINE f32x4 f32x4_set(float a, float b, float c, float d)
{
    return wasm_f32x4_make(a, b, c, d);
}

SIMD_INLINE f32x4 f32x4_load(const float *p)
{
    return wasm_v128_load(p);
}

SIMD_INLINE f32x4 f32x4_load_splat(const float *p)
{
    return wasm_v128_load32_splat(p);
}

SIMD_INLINE void f32x4_store(float *p, f32x4 v)
{
    wasm_v128_store(p, v);
}

/* A macro, since the lane must be a constant. */
#define f32x4_lane(v, lane) wasm_f32x4_extract_lane(v, lane)

/* rows[i][j] becomes rows[j][i]. */
SIMD_INLINE void f32x4_transpose(f32x4 rows[4])
{
    const f32x4 ab_low = wasm_i32x4_shuffle(rows[0], rows[1], 0, 4, 1, 5);
    const f32x4 ab_high = wasm_i32x4_shuffle(rows[0], rows[1], 2, 6, 3, 7);
    const f32x4 cd_low = wasm_i32x4_shuffle(rows[2], rows[3], 0, 4, 1, 5);
    const f32x4 cd_high = wasm_i32x4_shuffle(rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = wasm_i64x2_shuffle(ab_low, cd_low, 0, 2);
    rows[1] = wasm_i64x2_shuffle(ab_low, cd_low, 1, 3);
    rows[2] = wasm_i64x2_shuffle(ab_high, cd_high, 0, 2);
    rows[3] = wasm_i64x2_shuffle(ab_high, cd_high, 1, 3);
}

/* ===== Arithmetic =========================================================================== */

SIMD_INLINE f32x4 f32x4_add(f32x4 a, f32x4 b)
{
    return wasm_f32x4_add(a, b);
}

SIMD_INLINE f32x4 f32x4_sub(f32x4 a, f32x4 b)
{
    return wasm_f32x4_sub(a, b);
}

SIMD_INLINE f32x4 f32x4_mul(f32x4 a, f32x4 b)
{
    return wasm_f32x4_mul(a, b);
}

SIMD_INLINE f32x4 f32x4_div(f32x4 a, f32x4 b)
{
    return wasm_f32x4_div(a, b);
}

/* a * b + c */
SIMD_INLINE f32x4 f32x4_madd(f32x4 a, f32x4 b, f32x4 c)
{
#if defined(__wasm_relaxed_simd__)
    return wasm_f32x4_relaxed_madd(a, b, c);
#else
    return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}

/* c - a * b */
SIMD_INLINE f32x4 f32x4_nmadd(f32x4 a, f32x4 b, f32x4 c)
{
#if defined(__wasm_relaxed_simd__)
    return wasm_f32x4_relaxed_nmadd(a, b, c);
#else
    return wasm_f32x4_sub(c, wasm_f32x4_mul(a, b));
#endif
}

SIMD_INLINE f32x4 f32x4_abs(f32x4 v)
{
    return wasm_f32x4_abs(v);
}

/* a < b ? b : a. So NaN in a stays, NaN in b is ignored. */
SIMD_INLINE f32x4 f32x4_max(f32x4 a, f32x4 b)
{
    return wasm_f32x4_pmax(a, b);
}

/* b < a ? b : a. So NaN in a stays, NaN in b is ignored. */
SIMD_INLINE f32x4 f32x4_min(f32x4 a, f32x4 b)
{
    return wasm_f32x4_pmin(a, b);
}

SIMD_INLINE i32x4 f32x4_less(f32x4 a, f32x4 b)
{
    return wasm_f32x4_lt(a, b);
}

/* mask ? a : b */
SIMD_INLINE f32x4 f32x4_select(i32x4 mask, f32x4 a, f32x4 b)
{
    return wasm_v128_bitselect(a, b, mask);
}

/* ===== Bits and integers ==================================================================== */

SIMD_INLINE i32x4 f32x4_bits(f32x4 v)
{
    return v;
}

SIMD_INLINE f32x4 f32x4_from_bits(i32x4 bits)
{
    return bits;
}

/* Each integer as the nearest float. */
SIMD_INLINE f32x4 f32x4_from_i32(i32x4 v)
{
    return wasm_f32x4_convert_i32x4(v);
}

SIMD_INLINE i32x4 i32x4_splat(int32_t x)
{
    return wasm_i32x4_splat(x);
}

SIMD_INLINE i32x4 i32x4_add(i32x4 a, i32x4 b)
{
    return wasm_i32x4_add(a, b);
}

SIMD_INLINE i32x4 i32x4_sub(i32x4 a, i32x4 b)
{
    return wasm_i32x4_sub(a, b);
}

SIMD_INLINE i32x4 i32x4_and(i32x4 a, i32x4 b)
{
    return wasm_v128_and(a, b);
}

SIMD_INLINE i32x4 i32x4_or(i32x4 a, i32x4 b)
{
    return wasm_v128_or(a, b);
}

SIMD_INLINE i32x4 i32x4_equal(i32x4 a, i32x4 b)
{
    return wasm_i32x4_eq(a, b);
}

/* Bits leave at the top. */
SIMD_INLINE i32x4 i32x4_shift_left(i32x4 v, uint32_t bits)
{
    return wasm_i32x4_shl(v, bits);
}

/* The sign is copied in from the left: a division by 2^bits, rounded down. */
SIMD_INLINE i32x4 i32x4_shift_right(i32x4 v, uint32_t bits)
{
    return wasm_i32x4_shr(v, bits);
}

/* Is any bit set? */
SIMD_INLINE int i32x4_any(i32x4 v)
{
    return wasm_v128_any_true(v);
}

#endif
