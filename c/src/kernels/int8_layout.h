/* How the operands of the int8 product lie in memory: shared by the files int8_*.c. */
#ifndef MH_KERNELS_INT8_LAYOUT_H
#define MH_KERNELS_INT8_LAYOUT_H

#include "kernels/int8.h"
#include "simd/dot.h"

enum {
    INT8_ZERO = 64,     /* the byte that stands for a weight of 0 */
    INT8_WEIGHT = 63,   /* largest weight */
    INT8_VALUE = 127,   /* largest value of a row */
    INT8_ROW_BLOCK = 16 /* a row's values are stored so many at a time */
};

/* Before the values of a row. */
struct int8_row {
    float scale, middle;
    int32_t zero; /* -INT8_ZERO Σ q */
    int32_t unused;
};

/* Sums run over whole groups of DOT_DEPTH. */
static inline size_t int8_groups(size_t k)
{
    return (k + DOT_DEPTH - 1) / DOT_DEPTH;
}

static inline size_t int8_row_bytes(size_t k)
{
    const size_t values = (k + INT8_ROW_BLOCK - 1) / INT8_ROW_BLOCK * INT8_ROW_BLOCK;
    return sizeof(struct int8_row) + values * sizeof(dot_value);
}

/* Floats of a panel: scales, sums, and the bytes [groups, MH_INT8_COLUMNS, DOT_DEPTH]. */
static inline size_t int8_panel_floats(size_t k)
{
    return 2 * MH_INT8_COLUMNS + int8_groups(k) * MH_INT8_COLUMNS * DOT_DEPTH / sizeof(float);
}

#endif
