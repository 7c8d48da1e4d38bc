/* The product of floats rounded to 8-bit integers, and its two operands: a linear layer that reads a
 * quarter of the bytes and multiplies four numbers where floats multiply one. Conventions as in
 * kernels.h.
 *
 *   a row of A [m, K]       a[k] ≈ middle + scale * q[k], q in -127..127: made anew for every product
 *   a column of B [K, n]    b[k] ≈ scale' * w[k], w in -63..63: made once
 *
 *   Σ a[k] b[k] ≈ scale * scale' * Σ q[k] w[k] + middle * scale' * Σ w[k]
 *
 * Σ q w is an exact integer. It is computed as Σ q (w + 64) - 64 Σ q: w + 64 is in 1..127 and so
 * has the 7 bits that make the dot product the same on every machine (simd/dot.h). No operation
 * after it may be fused: all builds and machines give the same bits. */
#ifndef MH_KERNELS_INT8_H
#define MH_KERNELS_INT8_H

#include <stddef.h>

/* Register tile, as MH_GEMM_ROWS and MH_GEMM_COLUMNS. */
#define MH_INT8_ROWS 2
#define MH_INT8_COLUMNS 16

/* Longest sum that cannot overflow: 2^17 * 128 * 127 < 2^31. */
#define MH_INT8_LONGEST ((size_t)1 << 17)

/* Floats that a packed [K, N] takes: panels of NR = MH_INT8_COLUMNS columns, each with the scales'
 * and the sums scale' * Σ w of its columns before the bytes w + 64. The layout of the bytes is the build's own. */
size_t mh_int8_packed_size(size_t k, size_t n);

/* As mh_pack. Columns of padding give 0. A column with NaN or infinity gives NaN. K is at most
 * MH_INT8_LONGEST. */
void mh_int8_pack(float *packed, const float *b, size_t k, size_t n, size_t k_stride,
                  size_t n_stride);

/* out[k] = B[k, column] as the packed matrix has it, scale' * w; returns scale'. */
float mh_int8_column(float *out, const float *packed, size_t k, size_t column);

/* Bytes of m rows of length k after mh_int8_quantise, aligned to 4 bytes. */
size_t mh_int8_rows_size(size_t m, size_t k);

/* Rounds rows m0 <= m < m1 of A into their places in `rows`. A row that holds NaN or infinity
 * becomes one that gives NaN. */
void mh_int8_quantise(void *rows, const float *a, size_t a_stride, size_t k, size_t m0, size_t m1);

/* C[m, n] = bias[n] + Σ_k A[m, k] B[k, n] for rows m0 <= m < m1 and columns n0 <= n < n1, as
 * mh_gemm. n0 is a multiple of MH_INT8_COLUMNS. */
void mh_int8_gemm(float *c, size_t c_stride, const void *rows, const float *packed,
                  const float *bias, size_t n, size_t k, size_t m0, size_t m1, size_t n0,
                  size_t n1);

#endif
