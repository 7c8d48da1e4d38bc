/* The matrix product on packed B: see kernels.h.
 *
 * The micro-kernel holds a tile of C in registers, `rows` rows by `panels` panels of B, and for
 * each k multiplies a column of A (one broadcast per row) by a row of B. A full tile is MR x 1.
 * Fewer rows (the tail of m, or a thin A) take more panels instead, so that there are always
 * enough independent sums to hide the latency of the multiply-adds, and B is read once. */
#include "kernels/kernels.h"
#include "simd/f32x4.h"

enum {
    MR = MH_GEMM_ROWS,
    NR = MH_GEMM_COLUMNS,
    VECTORS = NR / 4,    /* of a panel's row */
    PANELS_OF_1_ROW = 4, /* 8 (4x8) or 12 (3x12) vectors of sums */
    PANELS_OF_2_ROWS = 2,
};

/* What does not change from tile to tile. */
struct product {
    float *c;
    const float *a, *b, *bias;
    size_t c_stride, a_stride;
    size_t panel_stride; /* floats from a panel of B to the next */
    size_t k;            /* length of the sums */
};

/* Stores the first `columns` floats of a tile's row in one panel. */
SIMD_INLINE void store_row(float *c, const f32x4 *sums, size_t columns)
{
    SIMD_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        if (columns >= 4 * v + 4) {
            f32x4_store(c + 4 * v, sums[v]);
        } else if (columns > 4 * v) {
            f32x4_store_part(c + 4 * v, sums[v], columns - 4 * v);
        }
    }
}

/* The bias of one panel; columns from `columns` on do not exist. */
SIMD_INLINE void load_bias(f32x4 *out, const float *bias, size_t columns)
{
    SIMD_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        if (bias == NULL || columns <= 4 * v) {
            out[v] = f32x4_splat(0.0F);
        } else if (columns >= 4 * v + 4) {
            out[v] = f32x4_load(bias + 4 * v);
        } else {
            out[v] = f32x4_load_part(bias + 4 * v, columns - 4 * v, 0.0F);
        }
    }
}

/* C[i .. i + rows, column .. column + columns], which lie in `panels` panels. rows and panels are
 * constants, so that every loop over them unrolls and `sums` lives in registers. */
SIMD_INLINE void tile(const struct product *p, size_t i, size_t column, size_t columns,
                      const size_t rows, const size_t panels)
{
    f32x4 sums[MR][PANELS_OF_1_ROW][VECTORS];
    const float *a = p->a + i * p->a_stride;
    const float *b = p->b + column / NR * p->panel_stride;

    SIMD_UNROLL
    for (size_t q = 0; q < panels; q++) {
        load_bias(sums[0][q], p->bias == NULL ? NULL : p->bias + column + q * NR, columns - q * NR);
        SIMD_UNROLL
        for (size_t r = 1; r < rows; r++) {
            SIMD_UNROLL
            for (size_t v = 0; v < VECTORS; v++) {
                sums[r][q][v] = sums[0][q][v];
            }
        }
    }
    for (size_t k = 0; k < p->k; k++) {
        SIMD_UNROLL
        for (size_t q = 0; q < panels; q++) {
            f32x4 b_row[VECTORS];
            SIMD_UNROLL
            for (size_t v = 0; v < VECTORS; v++) {
                b_row[v] = f32x4_load(b + q * p->panel_stride + k * NR + 4 * v);
            }
            SIMD_UNROLL
            for (size_t r = 0; r < rows; r++) {
                const f32x4 a_value = f32x4_load_splat(a + r * p->a_stride + k);
                SIMD_UNROLL
                for (size_t v = 0; v < VECTORS; v++) {
                    sums[r][q][v] = f32x4_madd(a_value, b_row[v], sums[r][q][v]);
                }
            }
        }
    }
    SIMD_UNROLL
    for (size_t r = 0; r < rows; r++) {
        float *c = p->c + (i + r) * p->c_stride + column;
        SIMD_UNROLL
        for (size_t q = 0; q < panels; q++) {
            store_row(c + q * NR, sums[r][q], columns - q * NR);
        }
    }
}

/* Rows i .. i + rows of C in columns n0 .. n1: `panels` panels at a time, then one at a time. */
SIMD_INLINE void band(const struct product *p, size_t i, size_t n0, size_t n1, const size_t rows,
                      const size_t panels)
{
    size_t column = n0;
    if (panels > 1) {
        for (; column + panels * NR <= n1; column += panels * NR) {
            tile(p, i, column, panels * NR, rows, panels);
        }
    }
    for (; column < n1; column += NR) {
        tile(p, i, column, n1 - column, rows, 1);
    }
}

void mh_gemm(float *c, size_t c_stride, const float *a, size_t a_stride, const float *packed_b,
             const float *bias, size_t m, size_t n, size_t k, size_t n0, size_t n1)
{
    mh_gemm_range(c, c_stride, a, a_stride, packed_b, bias, m, n, k, n0, n1, 0, k);
}

void mh_gemm_range(float *c, size_t c_stride, const float *a, size_t a_stride,
                   const float *packed_b, const float *bias, size_t m, size_t n, size_t k,
                   size_t n0, size_t n1, size_t k0, size_t k1)
{
    const struct product p = {
        .c = c,
        .a = a + k0,
        .b = packed_b + k0 * NR,
        .bias = bias,
        .c_stride = c_stride,
        .a_stride = a_stride,
        .panel_stride = k * NR,
        .k = k1 - k0,
    };
    const size_t end = n1 < n ? n1 : n;
    const size_t whole = m - m % MR;

    /* One panel of B stays in L1 while A streams by. */
    for (size_t column = n0; column < end; column += NR) {
        for (size_t i = 0; i < whole; i += MR) {
            tile(&p, i, column, end - column, MR, 1);
        }
    }
    switch (m - whole) {
    case 1:
        band(&p, whole, n0, end, 1, PANELS_OF_1_ROW);
        break;
    case 2:
        band(&p, whole, n0, end, 2, PANELS_OF_2_ROWS);
        break;
    case 3:
        band(&p, whole, n0, end, 3, 1);
        break;
    default:
        break;
    }
}
