/* Rounding rows of activations to 8 bits a number: see int8.h. */
#include "kernels/int8_layout.h"

#include <math.h>
#include <string.h>

size_t mh_int8_rows_size(size_t m, size_t k)
{
    return m * int8_row_bytes(k);
}

/* Of a row of at least one number. */
struct range {
    float low, high;
    float fault; /* 0, or NaN if a number is not finite */
};

static struct range range_of(const float *x, size_t k)
{
    f32x4 low = f32x4_splat(x[0]), high = low, fault = f32x4_splat(0.0F);
    for (size_t i = 0; i < k; i += 4) {
        const f32x4 v = k - i >= 4 ? f32x4_load(x + i) : f32x4_load_part(x + i, k - i, x[i]);
        low = f32x4_min(low, v);
        high = f32x4_max(high, v);
        fault = f32x4_add(fault, f32x4_sub(v, v));
    }
    return (struct range){
        .low = -f32x4_largest(f32x4_sub(f32x4_splat(0.0F), low)),
        .high = f32x4_largest(high),
        .fault = f32x4_sum(fault),
    };
}

struct rounding {
    f32x4 middle, inverse;
    f32x4 round; /* adding it rounds to the nearest integer, ties to even, which is then in the low
                    bits */
};

/* Sixteen numbers; returns the sum of their integers, in four parts. */
SIMD_INLINE i32x4 quantise_block(dot_value *out, const float *x, const struct rounding *by)
{
    i32x4 q[4];
    SIMD_UNROLL
    for (size_t v = 0; v < 4; v++) {
        const f32x4 off = f32x4_sub(f32x4_load(x + 4 * v), by->middle);
        const f32x4 rounded = f32x4_add(f32x4_mul(off, by->inverse), by->round);
        q[v] = i32x4_sub(f32x4_bits(rounded), f32x4_bits(by->round));
    }
    dot_store(out, q);
    return i32x4_add(i32x4_add(q[0], q[1]), i32x4_add(q[2], q[3]));
}

/* Fewer than sixteen: a copy filled up with the middle, which becomes 0. */
static i32x4 quantise_rest(dot_value *out, const float *x, size_t count, const struct rounding *by)
{
    float block[INT8_ROW_BLOCK];
    for (size_t i = 0; i < INT8_ROW_BLOCK; i++) {
        block[i] = i < count ? x[i] : f32x4_lane(by->middle, 0);
    }
    return quantise_block(out, block, by);
}

/* All integers of a row; returns their sum. */
static int32_t quantise_values(dot_value *out, const float *x, size_t k, float middle,
                               float inverse)
{
    const struct rounding by = {
        .middle = f32x4_splat(middle),
        .inverse = f32x4_splat(inverse),
        .round = f32x4_constant(0x1.8p23F),
    };
    i32x4 sum = i32x4_splat(0);
    size_t i = 0;
    for (; i + INT8_ROW_BLOCK <= k; i += INT8_ROW_BLOCK) {
        sum = i32x4_add(sum, quantise_block(out + i, x + i, &by));
    }
    if (i < k) {
        sum = i32x4_add(sum, quantise_rest(out + i, x + i, k - i, &by));
    }
    int32_t lanes[4];
    memcpy(lanes, &sum, sizeof lanes);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

static struct int8_row quantise_row(dot_value *out, const float *x, size_t k)
{
    const struct range range = range_of(x, k);
    if (range.fault != 0.0F) {
        memset(out, 0, int8_row_bytes(k) - sizeof(struct int8_row));
        return (struct int8_row){.scale = range.fault};
    }
    const float middle = 0.5F * range.low + 0.5F * range.high; /* their sum may overflow */
    const float above = range.high - middle, below = middle - range.low;
    const float scale = (above < below ? below : above) / (float)INT8_VALUE;
    const float inverse = 1.0F / scale;
    /* Where all numbers are equal, or nearly so among the smallest of floats, all are the middle. */
    const float factor = isfinite(inverse) ? inverse : 0.0F;
    const int32_t sum = quantise_values(out, x, k, middle, factor);
    return (struct int8_row){.scale = scale, .middle = middle, .zero = -INT8_ZERO * sum};
}

void mh_int8_quantise(void *rows, const float *a, size_t a_stride, size_t k, size_t m0, size_t m1)
{
    for (size_t m = m0; m < m1; m++) {
        unsigned char *place = (unsigned char *)rows + m * int8_row_bytes(k);
        struct int8_row row = {0};
        if (k > 0) {
            row = quantise_row((dot_value *)(place + sizeof row), a + m * a_stride, k);
        }
        memcpy(place, &row, sizeof row);
    }
}
