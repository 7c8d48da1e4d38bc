/* The matrix product of kernels.h for the widest vectors of the machine it is compiled on: what the
 * native trainer runs on (build.sh, -DMULTIHEAD_WIDE). Elsewhere gemm.c.
 *
 * A tile of C in registers is 6 rows by one panel of B: with 8-wide vectors 12 sums, 2 vectors of B
 * and 1 of A, of the 16 registers that AVX2 has; with 16-wide ones 12 rows, whose sums alone hide
 * the latency. The product is cut into blocks of k, so that a panel's block stays in L1, and of rows,
 * so that A's block stays in L2 from panel to panel; what one block of k has summed is kept in C. */
#if defined(MULTIHEAD_WIDE)

#include "kernels/kernels.h"
#include "simd/f32x4.h"

#include <stdbool.h>
#include <string.h>

#if defined(__AVX512F__)
enum { LANES = 16, MR = 12 };
#elif defined(__AVX__)
enum { LANES = 8, MR = 6 };
#else
enum { LANES = 4, MR = 2 };
#endif

enum {
    NR = MH_GEMM_COLUMNS,
    VECTORS = NR / LANES, /* of a panel's row */
    K_BLOCK = 256,        /* 16 KB of a panel */
    M_BLOCK = 120,        /* with K_BLOCK 120 KB of A; a multiple of MR */
};

typedef float wide __attribute__((vector_size(LANES * 4)));

struct product {
    const float *a;
    size_t a_stride, c_stride;
    size_t k;     /* length of the sums, of this block */
    bool goes_on; /* C holds the sums of the blocks before */
};

SIMD_INLINE wide load(const float *p)
{
    wide v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* C[r, 0 .. columns] for `rows` rows, a constant; columns <= NR. */
SIMD_INLINE void tile(const struct product *p, float *c, const float *a, const float *b,
                      const float *start, size_t columns, const size_t rows)
{
    wide sums[MR][VECTORS];
    const bool whole = columns == NR;

    SIMD_UNROLL
    for (size_t r = 0; r < rows; r++) {
        float part[NR];
        const float *from = start;
        if (p->goes_on && whole)
            from = c + r * p->c_stride;
        if (p->goes_on && !whole)
            from = memcpy(part, c + r * p->c_stride, columns * sizeof *c);
        SIMD_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[r][v] = load(from + LANES * v);
    }
    for (size_t k = 0; k < p->k; k++) {
        wide b_row[VECTORS];
        SIMD_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            b_row[v] = load(b + k * NR + LANES * v);
        SIMD_UNROLL
        for (size_t r = 0; r < rows; r++)
            SIMD_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[r][v] += a[r * p->a_stride + k] * b_row[v];
    }
    SIMD_UNROLL
    for (size_t r = 0; r < rows; r++) {
        if (whole)
            memcpy(c + r * p->c_stride, sums[r], sizeof sums[r]);
        else
            memcpy(c + r * p->c_stride, sums[r], columns * sizeof *c);
    }
}

/* Rows i0 .. i1 of one panel. */
static void panel(const struct product *p, float *c, const float *b, const float *start, size_t i0,
                  size_t i1, size_t columns)
{
    size_t i = i0;
    for (; i + MR <= i1; i += MR)
        tile(p, c + i * p->c_stride, p->a + i * p->a_stride, b, start, columns, MR);
    for (; i + 2 <= i1; i += 2)
        tile(p, c + i * p->c_stride, p->a + i * p->a_stride, b, start, columns, 2);
    if (i < i1)
        tile(p, c + i * p->c_stride, p->a + i * p->a_stride, b, start, columns, 1);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
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
    const size_t end = n1 < n ? n1 : n;
    size_t first = k0;
    do {
        const size_t length = least(k1 - first, K_BLOCK);
        const struct product p = {a + first, a_stride, c_stride, length, first > k0};
        for (size_t row = 0; row < m; row += M_BLOCK)
            for (size_t column = n0; column < end; column += NR) {
                const size_t columns = least(end - column, NR);
                float start[NR] = {0};
                if (bias != NULL)
                    memcpy(start, bias + column, columns * sizeof *start);
                panel(&p, c + column, packed_b + column * k + first * NR, start, row,
                      least(m, row + M_BLOCK), columns);
            }
        first += length;
    } while (first < k1);
}

#else

typedef int mh_gemm_wide_is_not_here; /* a C file may not be empty */

#endif
