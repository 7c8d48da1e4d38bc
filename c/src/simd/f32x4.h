/* The vocabulary of 4-wide floats. Kernels are written in it once; a build picks one back end:
 *
 *   f32x4_wasm.h     wasm SIMD128; with relaxed SIMD the same, except that madd and nmadd are one
 *                    instruction
 *   f32x4_vector.h   GCC and Clang vector extensions: native builds, sanitizers
 *
 * Types: f32x4 is four floats; i32x4 four 32-bit integers, or a mask whose lanes are all ones or
 * all zeros. Loads and stores need no alignment.
 *
 * Results. Plain SIMD128 and native builds round every operation once, so they give the same bits
 * everywhere. The relaxed build may or may not round between the product and the sum of madd,
 * as the machine likes: bits can differ from machine to machine, but not from run to run.
 *
 * NaN. min and max are comparisons (below), the same in all back ends: never the relaxed ones. */
#ifndef MH_F32X4_H
#define MH_F32X4_H

#include <stddef.h>
#include <stdint.h>

#define SIMD_INLINE static inline __attribute__((always_inline))

/* Before a loop of constant trip count whose arrays must become registers. */
#if defined(__clang__)
#define SIMD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 32")
#endif

/* Hides from the compiler where a pointer came from. Else LLVM rewrites the addresses of a loop that
 * advances it, so that constant offsets no longer fold into wasm's loads, at the price of an
 * addition for each; and it turns loads of constants back into literals. */
#if defined(__wasm__)
#define SIMD_OPAQUE(pointer) __asm__("" : "+r"(pointer))
#else
#define SIMD_OPAQUE(pointer) (void)(pointer)
#endif

#if defined(__wasm_simd128__)
#include "simd/f32x4_wasm.h"
#else
#include "simd/f32x4_vector.h"
#endif

/* A constant in all lanes, read from memory; to be held in a variable outside of a loop. V8 builds
 * the splat of a literal anew, by three instructions, wherever a loop uses it; what came from
 * memory stays in a register, or one load away. */
#define f32x4_constant(value)                                                                      \
    __extension__({                                                                                \
        static const float held_ = (value);                                                        \
        const float *where_ = &held_;                                                              \
        SIMD_OPAQUE(where_);                                                                       \
        f32x4_load_splat(where_);                                                                  \
    })

/* Lane 0 + lane 2, lane 1 + lane 3, then their sum. */
SIMD_INLINE float f32x4_sum(f32x4 v)
{
    return (f32x4_lane(v, 0) + f32x4_lane(v, 2)) + (f32x4_lane(v, 1) + f32x4_lane(v, 3));
}

/* The largest lane; a lane that is NaN only counts if lane 0 is. */
SIMD_INLINE float f32x4_largest(f32x4 v)
{
    float largest = f32x4_lane(v, 0);
    largest = largest < f32x4_lane(v, 1) ? f32x4_lane(v, 1) : largest;
    largest = largest < f32x4_lane(v, 2) ? f32x4_lane(v, 2) : largest;
    return largest < f32x4_lane(v, 3) ? f32x4_lane(v, 3) : largest;
}

/* The first `count` (1, 2 or 3) floats at p, the other lanes `fill`. Reads no further. */
SIMD_INLINE f32x4 f32x4_load_part(const float *p, size_t count, float fill)
{
    return f32x4_set(p[0], count > 1 ? p[1] : fill, count > 2 ? p[2] : fill, fill);
}

/* Writes the first `count` (1, 2 or 3) lanes, and nothing else. */
SIMD_INLINE void f32x4_store_part(float *p, f32x4 v, size_t count)
{
    p[0] = f32x4_lane(v, 0);
    if (count > 1) {
        p[1] = f32x4_lane(v, 1);
    }
    if (count > 2) {
        p[2] = f32x4_lane(v, 2);
    }
}

#endif
