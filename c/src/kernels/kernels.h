/* The micro-kernels: raw pointers in, raw pointers out. No allocation, no status, no globals.
 *
 * Everything with an intrinsic in it is behind this header; ops/ and model/ are portable C. Each
 * kernel handles every size, tails included, never reads or writes out of bounds, and treats NaN
 * and infinity as IEEE does unless its contract says otherwise. Sizes may be 0 (nothing happens).
 */
#ifndef MH_KERNELS_H
#define MH_KERNELS_H

#include <stddef.h>

/* Register tile of the GEMM: MH_GEMM_ROWS rows of A by MH_GEMM_COLUMNS columns of B. A panel is read
 * once per tile, so give the product several tiles of rows at a time: 8 rows are enough. */
#define MH_GEMM_ROWS 2
#define MH_GEMM_COLUMNS 16

/* ===== Packing ================================================================================
 * B [K, N] is packed into panels of MH_GEMM_COLUMNS columns, each [K, MH_GEMM_COLUMNS], the last
 * panel padded with zeros:
 *
 *     panel p, row k:  B[k, p*NR + 0 .. p*NR + NR - 1]
 */

/* Floats that a packed [K, N] takes. */
size_t mh_packed_size(size_t k, size_t n);

/* B's element (k, n) is b[k * k_stride + n * n_stride]. `packed` needs no alignment. */
void mh_pack(float *packed, const float *b, size_t k, size_t n, size_t k_stride, size_t n_stride);

/* ===== Matrix product =========================================================================
 * C[m, n] = A[m, k] B[k, n] (+ bias[n]), for columns n0 <= n < n1 of C only (n0 a multiple of
 * MH_GEMM_COLUMNS; n1 clipped to n). bias may be NULL. C is written, never read. C may not overlap
 * A or B. Strides are row strides in elements. Sums run over k in ascending order for every
 * element, whatever its place in the tile, so that a result does not depend on m or on the row's
 * position. */
void mh_gemm(float *c, size_t c_stride, const float *a, size_t a_stride, const float *packed_b,
             const float *bias, size_t m, size_t n, size_t k, size_t n0, size_t n1);

/* The same, summing only over k0 <= k < k1 (columns k0 .. k1 of A, rows k0 .. k1 of B): what a
 * mask hides costs nothing. a and packed_b are those of the whole product, k its full length. */
void mh_gemm_range(float *c, size_t c_stride, const float *a, size_t a_stride,
                   const float *packed_b, const float *bias, size_t m, size_t n, size_t k,
                   size_t n0, size_t n1, size_t k0, size_t k1);

/* ===== Rows ===================================================================================
 * `n` is the length of the row. in and out may be the same pointer. */

/* max of x; -inf if n == 0. NaN is ignored unless all are NaN. */
float mh_row_max(const float *x, size_t n);

/* out[i] = exp(x[i] - shift); returns their sum. exp(-inf) is 0. Polynomial of relative error
 * < 2e-7 over the range that does not overflow. */
float mh_row_exp(float *out, const float *x, float shift, size_t n);

/* out = x * factor */
void mh_row_scale(float *out, const float *x, float factor, size_t n);

/* out = a + b */
void mh_row_add(float *out, const float *a, const float *b, size_t n);

/* out = (x - mean) / sqrt(variance + epsilon) * weight + bias (Ba et al. 2016, eq. 4, biased
 * variance; two passes over x). weight and bias may be NULL (1 and 0). */
void mh_row_layer_norm(float *out, const float *x, const float *weight, const float *bias,
                       float epsilon, size_t n);

void mh_row_gelu(float *out, const float *x,
                 size_t n); /* x Φ(x), absolute error < 2e-7 * max(1, |x|) */
void mh_row_gelu_tanh(float *out, const float *x, size_t n); /* tanh form */
void mh_row_relu(float *out, const float *x, size_t n);

/* Index of the first NaN or infinity; n if there is none. */
size_t mh_row_first_nonfinite(const float *x, size_t n);

/* -Σ x ln x with 0 ln 0 = 0, for x >= 0, to 1e-6 of the double result. */
float mh_row_entropy(const float *x, size_t n);

/* -Σ x ln(x + epsilon), x >= 0, epsilon >= 0: the form that some code uses to keep away from ln 0. */
float mh_row_entropy_epsilon(const float *x, float epsilon, size_t n);

#endif
