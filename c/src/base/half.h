/* 16-bit floats of files, as f32. Exact; NaN stays NaN, subnormal numbers keep their value. */
#ifndef MH_HALF_H
#define MH_HALF_H

#include <stdint.h>

/* bfloat16: the upper half of an f32. */
float mh_float_from_bf16(uint16_t bits);

/* IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
float mh_float_from_f16(uint16_t bits);

#endif
