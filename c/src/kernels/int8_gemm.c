/* The int8 product: see int8.h. As gemm.c: a tile of C in registers, a panel of B in L1. */
#include "kernels/int8_layout.h"

#include <string.h>

enum { MR = MH_INT8_ROWS, NR = MH_INT8_COLUMNS, VECTORS = NR / 4 };

/* Columns of C in one panel. */
struct panel {
    const float *scales, *sums; /* sums times scales */
    const uint8_t *bytes;
    const float *bias; /* or NULL */
    size_t columns;    /* wanted, 1..NR */
    size_t groups;     /* length of the sums, in DOT_DEPTH */
};

/* Four columns of a row from their integer sums. Nothing here may be fused. */
SIMD_INLINE f32x4 dequantise(const struct panel *p, size_t v, const struct int8_row *row, i32x4 sum)
{
    const f32x4 scale = f32x4_mul(f32x4_splat(row->scale), f32x4_load(p->scales + 4 * v));
    const f32x4 constant = f32x4_mul(f32x4_splat(row->middle), f32x4_load(p->sums + 4 * v));
    return f32x4_add(f32x4_mul(scale, f32x4_from_i32(sum)), constant);
}

SIMD_INLINE void store_row(const struct panel *p, float *c, const struct int8_row *row,
                           const i32x4 *sums)
{
    SIMD_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        const size_t column = 4 * v;
        if (column >= p->columns) {
            return;
        }
        const size_t count = p->columns - column;
        f32x4 value = dequantise(p, v, row, sums[v]);
        if (p->bias != NULL) {
            value = f32x4_add(value, count >= 4 ? f32x4_load(p->bias + column)
                                                : f32x4_load_part(p->bias + column, count, 0.0F));
        }
        if (count >= 4) {
            f32x4_store(c + column, value);
        } else {
            f32x4_store_part(c + column, value, count);
        }
    }
}

/* `count` rows of C in one panel; `rows` are those of A. count and one_step (simd/dot.h) are
 * constants. */
SIMD_INLINE void tile(const struct panel *p, float *c, size_t c_stride, const unsigned char *rows,
                      size_t row_bytes, const size_t count, const int one_step)
{
    struct int8_row row[MR];
    const dot_value *a[MR];
    i32x4 sums[MR][VECTORS];
    SIMD_UNROLL
    for (size_t r = 0; r < count; r++) {
        memcpy(&row[r], rows + r * row_bytes, sizeof row[r]);
        a[r] = (const dot_value *)(rows + r * row_bytes + sizeof row[r]);
        SIMD_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            sums[r][v] = i32x4_splat(row[r].zero);
        }
    }

    const uint8_t *b = p->bytes;
    for (const uint8_t *end = b + p->groups * NR * DOT_DEPTH; b != end; b += NR * DOT_DEPTH) {
        dot_vector b_row[VECTORS];
        SIMD_OPAQUE(b);
        SIMD_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            b_row[v] = dot_load(b + 4 * DOT_DEPTH * v);
        }
        SIMD_UNROLL
        for (size_t r = 0; r < count; r++) {
            const dot_vector a_value = dot_load_splat(a[r]);
            a[r] += DOT_DEPTH;
            SIMD_UNROLL
            for (size_t v = 0; v < VECTORS; v++) {
                sums[r][v] = dot_add(a_value, b_row[v], sums[r][v], one_step);
            }
        }
    }

    SIMD_UNROLL
    for (size_t r = 0; r < count; r++) {
        store_row(p, c + r * c_stride, &row[r], sums[r]);
    }
}

/* Rows m0 .. m1 of C in one panel, which stays in L1 while A streams by. */
SIMD_INLINE void panel_rows(const struct panel *p, float *c, size_t c_stride,
                            const unsigned char *rows, size_t row_bytes, size_t m0, size_t m1,
                            const int one_step)
{
    size_t m = m0;
    for (; m + MR <= m1; m += MR) {
        tile(p, c + m * c_stride, c_stride, rows + m * row_bytes, row_bytes, MR, one_step);
    }
    for (; m < m1; m++) {
        tile(p, c + m * c_stride, c_stride, rows + m * row_bytes, row_bytes, 1, one_step);
    }
}

void mh_int8_gemm(float *c, size_t c_stride, const void *rows, const float *packed,
                  const float *bias, size_t n, size_t k, size_t m0, size_t m1, size_t n0, size_t n1)
{
    const int one_step = dot_is_one_step();
    const size_t end = n1 < n ? n1 : n;
    for (size_t column = n0; column < end; column += NR) {
        const float *constants = packed + column / NR * int8_panel_floats(k);
        const struct panel p = {
            .scales = constants,
            .sums = constants + NR,
            .bytes = (const uint8_t *)(constants + 2 * NR),
            .bias = bias == NULL ? NULL : bias + column,
            .columns = end - column < NR ? end - column : NR,
            .groups = int8_groups(k),
        };
        if (one_step) {
            panel_rows(&p, c + column, c_stride, rows, int8_row_bytes(k), m0, m1, 1);
        } else {
            panel_rows(&p, c + column, c_stride, rows, int8_row_bytes(k), m0, m1, 0);
        }
    }
}
