/* f32x4 on the vector extensions of GCC >= 12 and Clang. Include simd/f32x4.h, not this. */
#ifndef MH_F32X4_VECTOR_H
#define MH_F32X4_VECTOR_H

#include <string.h>

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));

/* ===== Making, loading, storing ============================================================= */

SIMD_INLINE f32x4 f32x4_splat(float x)
{
    return (f32x4){x, x, x, x};
}

SIMD_INLINE f32x4 f32x4_set(float a, float b, float c, float d)
{
    return (f32x4){a, b, c, d};
}

SIMD_INLINE f32x4 f32x4_load(const float *p)
{
    f32x4 v;
    memcpy(&v, p, sizeof v);
    return v;
}

SIMD_INLINE f32x4 f32x4_load_splat(const float *p)
{
    return f32x4_splat(*p);
}

SIMD_INLINE void f32x4_store(float *p, f32x4 v)
{
    memcpy(p, &v, sizeof v);
}

/* A macro, as in the wasm back end. */
#define f32x4_lane(v, lane) ((v)[lane])

/* rows[i][j] becomes rows[j][i]. */
SIMD_INLINE void f32x4_transpose(f32x4 rows[4])
{
    const f32x4 ab_low = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    const f32x4 ab_high = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    const f32x4 cd_low = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    const f32x4 cd_high = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    rows[1] = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    rows[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    rows[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

/* ===== Bits and integers ==================================================================== */

SIMD_INLINE i32x4 f32x4_bits(f32x4 v)
{
    return (i32x4)v;
}

SIMD_INLINE f32x4 f32x4_from_bits(i32x4 bits)
{
    return (f32x4)bits;
}

/* Each integer as the nearest float. */
SIMD_INLINE f32x4 f32x4_from_i32(i32x4 v)
{
    return __builtin_convertvector(v, f32x4);
}

SIMD_INLINE i32x4 i32x4_splat(int32_t x)
{
    return (i32x4){x, x, x, x};
}

/* Sums and shifts are of unsigned lanes, which wrap as wasm's do; signed ones may not overflow. */
typedef uint32_t u32x4 __attribute__((vector_size(16)));

SIMD_INLINE i32x4 i32x4_add(i32x4 a, i32x4 b)
{
    return (i32x4)((u32x4)a + (u32x4)b);
}

SIMD_INLINE i32x4 i32x4_sub(i32x4 a, i32x4 b)
{
    return (i32x4)((u32x4)a - (u32x4)b);
}

SIMD_INLINE i32x4 i32x4_and(i32x4 a, i32x4 b)
{
    return a & b;
}

SIMD_INLINE i32x4 i32x4_or(i32x4 a, i32x4 b)
{
    return a | b;
}

SIMD_INLINE i32x4 i32x4_equal(i32x4 a, i32x4 b)
{
    return (i32x4)(a == b);
}

/* Bits leave at the top. */
SIMD_INLINE i32x4 i32x4_shift_left(i32x4 v, uint32_t bits)
{
    return (i32x4)((u32x4)v << bits);
}

/* The sign is copied in from the left: a division by 2^bits, rounded down. */
SIMD_INLINE i32x4 i32x4_shift_right(i32x4 v, uint32_t bits)
{
    return v >> (int32_t)bits;
}

/* Is any bit set? */
SIMD_INLINE int i32x4_any(i32x4 v)
{
    return (v[0] | v[1] | v[2] | v[3]) != 0;
}

/* ===== Arithmetic =========================================================================== */

SIMD_INLINE f32x4 f32x4_add(f32x4 a, f32x4 b)
{
    return a + b;
}

SIMD_INLINE f32x4 f32x4_sub(f32x4 a, f32x4 b)
{
    return a - b;
}

SIMD_INLINE f32x4 f32x4_mul(f32x4 a, f32x4 b)
{
    return a * b;
}

SIMD_INLINE f32x4 f32x4_div(f32x4 a, f32x4 b)
{
    return a / b;
}

/* a * b + c; two roundings under -ffp-contract=off, as in plain SIMD128. */
SIMD_INLINE f32x4 f32x4_madd(f32x4 a, f32x4 b, f32x4 c)
{
    return a * b + c;
}

/* c - a * b */
SIMD_INLINE f32x4 f32x4_nmadd(f32x4 a, f32x4 b, f32x4 c)
{
    return c - a * b;
}

SIMD_INLINE f32x4 f32x4_abs(f32x4 v)
{
    return (f32x4)((i32x4)v & i32x4_splat(INT32_MAX));
}

SIMD_INLINE i32x4 f32x4_less(f32x4 a, f32x4 b)
{
    return (i32x4)(a < b);
}

/* mask ? a : b */
SIMD_INLINE f32x4 f32x4_select(i32x4 mask, f32x4 a, f32x4 b)
{
    return (f32x4)(((i32x4)a & mask) | ((i32x4)b & ~mask));
}

/* a < b ? b : a. So NaN in a stays, NaN in b is ignored. */
SIMD_INLINE f32x4 f32x4_max(f32x4 a, f32x4 b)
{
    return f32x4_select(f32x4_less(a, b), b, a);
}

/* b < a ? b : a. So NaN in a stays, NaN in b is ignored. */
SIMD_INLINE f32x4 f32x4_min(f32x4 a, f32x4 b)
{
    return f32x4_select(f32x4_less(b, a), b, a);
}

#endif
