/* Packing of B into the panels that mh_gemm reads: see kernels.h. */
#include "kernels/kernels.h"
#include "simd/f32x4.h"

enum { NR = MH_GEMM_COLUMNS };

size_t mh_packed_size(size_t k, size_t n)
{
    return (n + NR - 1) / NR * NR * k;
}

/* A panel of NR whole columns, each contiguous in memory: four columns at a time, transposed. */
static void pack_columns(float *panel, const float *b, size_t k, size_t n_stride)
{
    for (size_t column = 0; column < NR; column += 4) {
        const float *source = b + column * n_stride;
        float *target = panel + column;
        size_t i = 0;
        for (; i + 4 <= k; i += 4) {
            f32x4 rows[4];
            for (size_t j = 0; j < 4; j++) {
                rows[j] = f32x4_load(source + j * n_stride + i);
            }
            f32x4_transpose(rows);
            for (size_t j = 0; j < 4; j++) {
                f32x4_store(target + (i + j) * NR, rows[j]);
            }
        }
        for (; i < k; i++) {
            for (size_t j = 0; j < 4; j++) {
                target[i * NR + j] = source[j * n_stride + i];
            }
        }
    }
}

/* A panel of NR whole columns, each row contiguous in memory. */
static void pack_rows(float *panel, const float *b, size_t k, size_t k_stride)
{
    for (size_t i = 0; i < k; i++) {
        for (size_t column = 0; column < NR; column += 4) {
            f32x4_store(panel + i * NR + column, f32x4_load(b + i * k_stride + column));
        }
    }
}

/* Any strides, and any number of columns up to NR: the rest become zeros. */
static void pack_any(float *panel, const float *b, size_t k, size_t columns, size_t k_stride,
                     size_t n_stride)
{
    for (size_t i = 0; i < k; i++) {
        for (size_t column = 0; column < NR; column++) {
            panel[i * NR + column] = column < columns ? b[i * k_stride + column * n_stride] : 0.0F;
        }
    }
}

void mh_pack(float *packed, const float *b, size_t k, size_t n, size_t k_stride, size_t n_stride)
{
    for (size_t column = 0; column < n; column += NR) {
        float *panel = packed + column * k;
        const float *source = b + column * n_stride;
        const size_t columns = n - column < NR ? n - column : NR;
        if (columns == NR && k_stride == 1) {
            pack_columns(panel, source, k, n_stride);
        } else if (columns == NR && n_stride == 1) {
            pack_rows(panel, source, k, k_stride);
        } else {
            pack_any(panel, source, k, columns, k_stride, n_stride);
        }
    }
}

void mh_transpose(float *out, const float *in, size_t in_stride, size_t rows, size_t columns)
{
    size_t column = 0;
    for (; column + 4 <= columns; column += 4) {
        const float *source = in + column;
        float *target = out + column * rows;
        size_t row = 0;
        for (; row + 4 <= rows; row += 4) {
            f32x4 block[4];
            for (size_t j = 0; j < 4; j++) {
                block[j] = f32x4_load(source + (row + j) * in_stride);
            }
            f32x4_transpose(block);
            for (size_t j = 0; j < 4; j++) {
                f32x4_store(target + j * rows + row, block[j]);
            }
        }
        for (; row < rows; row++) {
            for (size_t j = 0; j < 4; j++) {
                target[j * rows + row] = source[row * in_stride + j];
            }
        }
    }
    for (; column < columns; column++) {
        for (size_t row = 0; row < rows; row++) {
            out[column * rows + row] = in[row * in_stride + column];
        }
    }
}
