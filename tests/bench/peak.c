/* The most that one thread can compute here: multiply-adds on registers, nothing loaded or stored.
 * Twelve independent chains hide the latency; more would not fit the registers of x86-64. */
#include <wasm_simd128.h>

#define CHAINS 12

#ifdef __wasm_relaxed_simd__
#define MULTIPLY_ADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) wasm_f32x4_add(wasm_f32x4_mul(a, b), c)
#endif

/* Multiply-adds and floats in each: 2 * CHAINS * 4 floating-point operations a step. */
int flops_per_step(void);
float peak(int steps);

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
