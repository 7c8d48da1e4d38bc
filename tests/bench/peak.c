/* What one thread can do here at most: compute (multiply-adds on registers, nothing loaded or stored)
 * and load (floats of a buffer that lies in a cache or in memory). The two roofs of a roofline
 * (Williams, Waterman, Patterson 2009). */
#include <stddef.h>
#include <wasm_simd128.h>

/* Independent chains hide the latency; more than twelve would not fit the registers of x86-64. */

#define CHAINS 12

#ifdef __wasm_relaxed_simd__
#define MULTIPLY_ADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) wasm_f32x4_add(wasm_f32x4_mul(a, b), c)
#endif

/* Multiply-adds and floats in each: 2 * CHAINS * 4 floating-point operations a step. */
int flops_per_step(void);
float peak(int steps);

/* Loads `floats` floats, a multiple of 32, `rounds` times. The sum keeps the loads from being left out. */
float load(const float *buffer, size_t floats, int rounds);

int flops_per_step(void)
{
    return 2 * CHAINS * 4;
}

float peak(int steps)
{
    v128_t sum[CHAINS];
    const v128_t factor = wasm_f32x4_splat(0.999F);
    for (int chain = 0; chain < CHAINS; chain++) {
        sum[chain] = wasm_f32x4_splat((float)chain);
    }
    for (int step = 0; step < steps; step++) {
#pragma clang loop unroll(full)
        for (int chain = 0; chain < CHAINS; chain++) {
            sum[chain] = MULTIPLY_ADD(sum[chain], factor, factor);
        }
    }
    v128_t total = sum[0];
    for (int chain = 1; chain < CHAINS; chain++) {
        total = wasm_f32x4_add(total, sum[chain]);
    }
    return wasm_f32x4_extract_lane(total, 0);
}

/* Vectors that are on their way at once. */
#define LOADS 8

float load(const float *buffer, size_t floats, int rounds)
{
    v128_t sum[LOADS];
    for (int i = 0; i < LOADS; i++) {
        sum[i] = wasm_f32x4_splat(0.0F);
    }
    for (int round = 0; round < rounds; round++) {
        for (size_t at = 0; at < floats; at += 4 * LOADS) {
#pragma clang loop unroll(full)
            for (int i = 0; i < LOADS; i++) {
                sum[i] = wasm_v128_or(sum[i], wasm_v128_load(buffer + at + 4 * i));
            }
        }
    }
    v128_t total = sum[0];
    for (int i = 1; i < LOADS; i++) {
        total = wasm_v128_or(total, sum[i]);
    }
    return wasm_f32x4_extract_lane(total, 0);
}
