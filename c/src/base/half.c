#include "base/half.h"

#include <string.h>

static float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float mh_float_from_bf16(uint16_t bits)
{
    return float_from_bits((uint32_t)bits << 16);
}

float mh_float_from_f16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu;
    uint32_t fraction = bits & 0x3ffu;

    if (exponent == 0x1f) /* infinity, or NaN with its payload */
        return float_from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) /* f32 has an exponent bias of 127, f16 of 15 */
        return float_from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f; /* zero and subnormals: fraction * 2^-24 */
    return sign ? -magnitude : magnitude;
}
