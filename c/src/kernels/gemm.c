/* The matrix product on packed B: see kernels.h.
 *
 * The micro-kernel keeps a tile of C in registers: 2 rows by one panel of B, 4 vectors wide. For
 * each k it multiplies a column of A, one broadcast per row, by a row of the panel: 8 sums, 4
 * loads of B and 2 of A fit the 15 registers that V8 has to give on x86-64, and 8 independent
 * sums are what it takes to hide the latency of a multiply-add. Larger tiles spill. */
#if !defined(MULTIHEAD_WIDE) /* else gemm_wide.c */

#include "kernels/kernels.h"
#include "simd/f32x4.h"

enum {
    MR = MH_GEMM_ROWS,
    NR = MH_GEMM_COLUMNS,
    VECTORS = NR / 4, /* of a panel's row */
};

/* What a tile needs to know, beside its place. */
struct product {
    const float *a;
    size_t a_stride, c_stride;
    size_t k; /* length of the sums */
};

/* A tile of `rows` rows: C[r, 0 .. columns] = bias + Σ A[r, k] B[k, 0 .. columns], where columns is
 * in (4 vectors - 4, 4 vectors]. rows and vectors are constants: every loop over them unrolls, and
 * `sums` lives in registers. */
SIMD_INLINE void tile(const struct product *p, float *c, const float *a, const float *b,
                      const float *bias, size_t columns, const size_t rows, const size_t vectors)
{
    const size_t last = vectors - 1;
    const size_t in_last = columns - 4 * last;
    f32x4 sums[MR][VECTORS];
    const float *a_row[MR];

    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++) {
        f32x4 start = f32x4_splat(0.0F);
        if (bias != NULL) {
            start = v < last || in_last == 4 ? f32x4_load(bias + 4 * v)
                                             : f32x4_load_part(bias + 4 * v, in_last, 0.0F);
        }
        SIMD_UNROLL
        for (size_t r = 0; r < rows; r++) {
            sums[r][v] = start;
        }
    }
    SIMD_UNROLL
    for (size_t r = 0; r < rows; r++) {
        a_row[r] = a + r * p->a_stride;
    }

    for (const float *end = b + p->k * NR; b != end; b += NR) {
        f32x4 b_row[VECTORS];
        SIMD_OPAQUE(b);
        SIMD_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            b_row[v] = f32x4_load(b + 4 * v);
        }
        SIMD_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const f32x4 a_value = f32x4_load_splat(a_row[r]++);
            SIMD_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                sums[r][v] = f32x4_madd(a_value, b_row[v], sums[r][v]);
            }
        }
    }

    SIMD_UNROLL
    for (size_t r = 0; r < rows; r++) {
        float *c_row = c + r * p->c_stride;
        SIMD_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            if (v < last || in_last == 4) {
                f32x4_store(c_row + 4 * v, sums[r][v]);
            } else {
                f32x4_store_part(c_row + 4 * v, sums[r][v], in_last);
            }
        }
    }
}

/* Pairs of rows of C in one panel, which stays in L1 while A streams by; m is even. */
SIMD_INLINE void panel(const struct product *p, float *c, const float *b, const float *bias,
                       size_t m, size_t columns, const size_t vectors)
{
    for (size_t i = 0; i < m; i += MR) {
        tile(p, c + i * p->c_stride, p->a + i * p->a_stride, b, bias, columns, MR, vectors);
    }
}

/* One row of C in two whole panels, the second one at `next`: as many sums as a pair of rows has. Its
 * speed is that of reading B. */
static void row_in_two_panels(const struct product *p, float *c, const float *a, const float *b,
                              const float *next, const float *bias)
{
    f32x4 sums[2 * VECTORS];
    SIMD_UNROLL
    for (size_t v = 0; v < 2 * VECTORS; v++) {
        sums[v] = bias == NULL ? f32x4_splat(0.0F) : f32x4_load(bias + 4 * v);
    }
    for (const float *end = b + p->k * NR; b != end; b += NR, next += NR) {
        const f32x4 a_value = f32x4_load_splat(a++);
        SIMD_OPAQUE(b);
        SIMD_OPAQUE(next);
        SIMD_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            sums[v] = f32x4_madd(a_value, f32x4_load(b + 4 * v), sums[v]);
            sums[VECTORS + v] = f32x4_madd(a_value, f32x4_load(next + 4 * v), sums[VECTORS + v]);
        }
    }
    SIMD_UNROLL
    for (size_t v = 0; v < 2 * VECTORS; v++) {
        f32x4_store(c + 4 * v, sums[v]);
    }
}

static void row_in_panel(const struct product *p, float *c, const float *a, const float *b,
                         const float *bias, size_t columns)
{
    switch ((columns + 3) / 4) {
    case 1:
        tile(p, c, a, b, bias, columns, 1, 1);
        break;
    case 2:
        tile(p, c, a, b, bias, columns, 1, 2);
        break;
    case 3:
        tile(p, c, a, b, bias, columns, 1, 3);
        break;
    default:
        tile(p, c, a, b, bias, columns, 1, 4);
        break;
    }
}

/* Columns 0 .. columns of one row of C; a panel takes `panel_size` floats of B. */
static void row(const struct product *p, float *c, const float *a, const float *b,
                size_t panel_size, const float *bias, size_t columns)
{
    size_t column = 0;
    for (; column + 2 * NR <= columns; column += 2 * NR, b += 2 * panel_size) {
        row_in_two_panels(p, c + column, a, b, b + panel_size, bias == NULL ? NULL : bias + column);
    }
    for (; column < columns; column += NR, b += panel_size) {
        const size_t left = columns - column;
        row_in_panel(p, c + column, a, b, bias == NULL ? NULL : bias + column,
                     left < NR ? left : NR);
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
        .a = a + k0,
        .a_stride = a_stride,
        .c_stride = c_stride,
        .k = k1 - k0,
    };
    const size_t end = n1 < n ? n1 : n;
    const size_t paired = m - m % MR;

    for (size_t column = n0; paired > 0 && column < end; column += NR) {
        float *c_panel = c + column;
        const float *b = packed_b + column * k + k0 * NR;
        const float *b_bias = bias == NULL ? NULL : bias + column;
        const size_t columns = end - column;
        switch ((columns + 3) / 4) {
        case 1:
            panel(&p, c_panel, b, b_bias, paired, columns, 1);
            break;
        case 2:
            panel(&p, c_panel, b, b_bias, paired, columns, 2);
            break;
        case 3:
            panel(&p, c_panel, b, b_bias, paired, columns, 3);
            break;
        default:
            panel(&p, c_panel, b, b_bias, paired, columns < NR ? columns : NR, 4);
            break;
        }
    }
    if (paired < m && n0 < end) {
        row(&p, c + paired * c_stride + n0, p.a + paired * a_stride, packed_b + n0 * k + k0 * NR,
            k * NR, bias == NULL ? NULL : bias + n0, end - n0);
    }
}

#else

typedef int mh_gemm_is_elsewhere; /* a C file may not be empty */

#endif
