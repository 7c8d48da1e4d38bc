/* Rounding a weight to 7 bits a number, and packing it: see int8.h. */
#include "kernels/int8_layout.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { NR = MH_INT8_COLUMNS };

size_t mh_int8_packed_size(size_t k, size_t n)
{
    return (n + NR - 1) / NR * int8_panel_floats(k);
}

static float largest_magnitude(const float *column, size_t k, size_t stride)
{
    float largest = 0.0F;
    for (size_t i = 0; i < k; i++) {
        const float magnitude = fabsf(column[i * stride]);
        if (!isfinite(magnitude)) {
            return NAN;
        }
        largest = largest < magnitude ? magnitude : largest;
    }
    return largest;
}

/* Half away from zero. */
static int32_t nearest(float x)
{
    return (int32_t)(x < 0.0F ? x - 0.5F : x + 0.5F);
}

/* Column j of a panel. A scale so small that its inverse overflows is taken for 0. */
static void pack_column(float *panel, size_t j, const float *column, size_t k, size_t stride)
{
    uint8_t *bytes = (uint8_t *)(panel + 2 * NR) + j * DOT_DEPTH;
    const float scale = largest_magnitude(column, k, stride) / (float)INT8_WEIGHT;
    const float inverse = 1.0F / scale;
    int32_t sum = 0;
    panel[j] = scale;
    for (size_t i = 0; i < int8_groups(k) * DOT_DEPTH; i++) {
        const int32_t weight =
            i < k && isfinite(inverse) ? nearest(column[i * stride] * inverse) : 0;
        bytes[i / DOT_DEPTH * DOT_DEPTH * NR + i % DOT_DEPTH] = (uint8_t)(weight + INT8_ZERO);
        sum += weight;
    }
    panel[NR + j] = scale * (float)sum;
}

static void pack_padding(float *panel, size_t j, size_t k)
{
    uint8_t *bytes = (uint8_t *)(panel + 2 * NR) + j * DOT_DEPTH;
    for (size_t group = 0; group < int8_groups(k); group++) {
        memset(bytes + group * DOT_DEPTH * NR, INT8_ZERO, DOT_DEPTH);
    }
    panel[j] = 0.0F;
    panel[NR + j] = 0.0F;
}

void mh_int8_pack(float *packed, const float *b, size_t k, size_t n, size_t k_stride,
                  size_t n_stride)
{
    for (size_t column = 0; column < (n + NR - 1) / NR * NR; column++) {
        float *panel = packed + column / NR * int8_panel_floats(k);
        if (column < n) {
            pack_column(panel, column % NR, b + column * n_stride, k, k_stride);
        } else {
            pack_padding(panel, column % NR, k);
        }
    }
}

float mh_int8_column(float *out, const float *packed, size_t k, size_t column)
{
    const float *panel = packed + column / NR * int8_panel_floats(k);
    const size_t j = column % NR;
    const uint8_t *bytes = (const uint8_t *)(panel + 2 * NR) + j * DOT_DEPTH;
    for (size_t i = 0; i < k; i++) {
        const int32_t weight = bytes[i / DOT_DEPTH * DOT_DEPTH * NR + i % DOT_DEPTH] - INT8_ZERO;
        out[i] = panel[j] * (float)weight;
    }
    return panel[j];
}
