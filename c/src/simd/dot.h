/* Dot products of small integers, exact in all builds:
 *
 *     lane i of dot_add(a, b, sum, …) = sum[i] + Σ a[i, d] b[i, d],  d < DOT_DEPTH
 *
 * with a in -128..127 and b in 0..127. Relaxed SIMD multiplies bytes; a b of 8 bits would give what
 * the machine likes, one of 7 bits gives the exact sum everywhere. The other builds multiply 16-bit
 * integers. So `a` is kept as dot_value, which differs, and b as bytes in all. */
#ifndef MH_DOT_H
#define MH_DOT_H

#include "simd/f32x4.h"

#if defined(__wasm_relaxed_simd__)

enum { DOT_DEPTH = 4 };
typedef int8_t dot_value;
typedef v128_t dot_vector;

/* The same DOT_DEPTH values in each lane. */
SIMD_INLINE dot_vector dot_load_splat(const dot_value *p)
{
    return wasm_v128_load32_splat(p);
}

/* DOT_DEPTH bytes for each lane, one lane after the other. */
SIMD_INLINE dot_vector dot_load(const uint8_t *p)
{
    return wasm_v128_load(p);
}

/* Is one instruction the quick way here? Where the machine has it, as x86 with VNNI and ARM with
 * SDOT, it is 1.5 to 4 times as fast as the way in steps. Elsewhere the engine makes it of more
 * steps than we do, and the baseline compiler of early ones (V8 11.3) makes it wrongly. A b of 8
 * bits, which is never used but here, shows what there is: unsigned in full, signed in full, or
 * sums cut to 16 bits. */
SIMD_INLINE int dot_is_one_step(void)
{
    static const int8_t bytes[2] = {127, -1};
    const int8_t *p = bytes;
    SIMD_OPAQUE(p);
    const v128_t all = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_v128_load8_splat(p), wasm_v128_load8_splat(p + 1), wasm_i32x4_splat(0));
    const int32_t sum = wasm_i32x4_extract_lane(all, 0);
    return sum == 4 * 127 * 255 || sum == 4 * 127 * -1;
}

SIMD_INLINE i32x4 dot_add(dot_vector a, dot_vector b, i32x4 sum, const int one_step)
{
    if (one_step) {
        return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, sum);
    }
    const v128_t pairs = wasm_i16x8_relaxed_dot_i8x16_i7x16(a, b);
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(pairs, wasm_i16x8_const_splat(1)));
}

/* Sixteen integers of -128..127, kept as dot_value. */
SIMD_INLINE void dot_store(dot_value *p, const i32x4 v[4])
{
    const v128_t low = wasm_i16x8_narrow_i32x4(v[0], v[1]);
    const v128_t high = wasm_i16x8_narrow_i32x4(v[2], v[3]);
    wasm_v128_store(p, wasm_i8x16_narrow_i16x8(low, high));
}

#else

enum { DOT_DEPTH = 2 };
typedef int16_t dot_value;

SIMD_INLINE int dot_is_one_step(void)
{
    return 1;
}

#if defined(__wasm_simd128__)

typedef v128_t dot_vector;

SIMD_INLINE dot_vector dot_load_splat(const dot_value *p)
{
    return wasm_v128_load32_splat(p);
}

SIMD_INLINE dot_vector dot_load(const uint8_t *p)
{
    return wasm_u16x8_load8x8(p);
}

SIMD_INLINE i32x4 dot_add(dot_vector a, dot_vector b, i32x4 sum, const int one_step)
{
    (void)one_step;
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(a, b));
}

SIMD_INLINE void dot_store(dot_value *p, const i32x4 v[4])
{
    wasm_v128_store(p, wasm_i16x8_narrow_i32x4(v[0], v[1]));
    wasm_v128_store(p + 8, wasm_i16x8_narrow_i32x4(v[2], v[3]));
}

#else

typedef int16_t dot_vector __attribute__((vector_size(16)));

SIMD_INLINE dot_vector dot_load_splat(const dot_value *p)
{
    return (dot_vector){p[0], p[1], p[0], p[1], p[0], p[1], p[0], p[1]};
}

SIMD_INLINE dot_vector dot_load(const uint8_t *p)
{
    uint8_t bytes __attribute__((vector_size(8)));
    memcpy(&bytes, p, sizeof bytes);
    return __builtin_convertvector(bytes, dot_vector);
}

SIMD_INLINE i32x4 dot_add(dot_vector a, dot_vector b, i32x4 sum, const int one_step)
{
    (void)one_step;
#if defined(__SSE2__)
    typedef short i16x8 __attribute__((vector_size(16)));
    return i32x4_add(sum, (i32x4)__builtin_ia32_pmaddwd128((i16x8)a, (i16x8)b));
#else
    const i32x4 low = i32x4_shift_right(i32x4_shift_left((i32x4)a, 16), 16) *
                      i32x4_shift_right(i32x4_shift_left((i32x4)b, 16), 16);
    const i32x4 high = i32x4_shift_right((i32x4)a, 16) * i32x4_shift_right((i32x4)b, 16);
    return i32x4_add(sum, i32x4_add(low, high));
#endif
}

SIMD_INLINE void dot_store(dot_value *p, const i32x4 v[4])
{
    for (int i = 0; i < 16; i++) {
        p[i] = (dot_value)v[i / 4][i % 4];
    }
}

#endif
#endif
#endif
