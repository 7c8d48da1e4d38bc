/* The micro-kernels: raw pointers in, raw pointers out. No allocation, no status, no globals.
 *
 * Everything with an intrinsic in it is behind this header; ops/ and model/ are portable C. For all
 * kernels:
 *
 *   sizes      any, 0 included (nothing happens); tails have no slow path
 *   memory     nothing is read or written beyond what the sizes say; pointers need only the
 *              alignment of a float
 *   aliasing   an output may be an input of the same kernel where that is said, and then it is the
 *              same pointer; other overlap is the caller's error
 *   NaN, inf   as in IEEE arithmetic, unless something else is said
 *   results    the same bits for the same input on every machine, but for the relaxed-SIMD build,
 *              whose multiply-adds round once or twice as the machine likes (simd/f32x4.h)
 */
#ifndef MH_KERNELS_H
#define MH_KERNELS_H

#include <stddef.h>

/* Register tile of the GEMM: MH_GEMM_ROWS rows of A by MH_GEMM_COLUMNS columns of B. A panel is read
 * once per tile, so give the product several tiles of rows at a time: 8 rows are enough. */
#define MH_GEMM_ROWS 2
#define MH_GEMM_COLUMNS 16

/* ===== Packing ================================================================================
 * B [K, N] is packed into panels of NR = MH_GEMM_COLUMNS columns, each [K, NR], the last one padded
 * with columns of zeros:
 *
 *     packed[p * K * NR + k * NR + j] = B[k, p * NR + j]
 */

/* Floats that a packed [K, N] takes. */
size_t mh_packed_size(size_t k, size_t n);

/* B's element (k, n) is b[k * k_stride + n * n_stride]. Quick where one stride is 1. `packed` may not
 * overlap b. */
void mh_pack(float *packed, const float *b, size_t k, size_t n, size_t k_stride, size_t n_stride);

/* out [columns, rows] is the transpose of in [rows, columns], whose rows are in_stride floats apart.
 * May not overlap. */
void mh_transpose(float *out, const float *in, size_t in_stride, size_t rows, size_t columns);

/* ===== Matrix product ========================================================================= */

/* C[m, n] = bias[n] + Σ_k A[m, k] B[k, n], for columns n0 <= n < n1 of C only; the others are not
 * touched. n0 is a multiple of MH_GEMM_COLUMNS, n1 any (clipped to n). bias may be NULL (zeros). C is
 * written, never read, and may not overlap an input. Strides are row strides in floats.
 *
 * Every element's sum starts from the bias and runs over k in ascending order, wherever it lies in
 * a tile: a result does not depend on m, n, n0, n1 or the row's position. */
void mh_gemm(float *c, size_t c_stride, const float *a, size_t a_stride, const float *packed_b,
             const float *bias, size_t m, size_t n, size_t k, size_t n0, size_t n1);

/* The same, summing only over k0 <= k < k1 (columns k0 .. k1 of A, rows k0 .. k1 of B): what a
 * mask hides costs nothing. a and packed_b are those of the whole product, k its full length;
 * k0 <= k1 <= k. A's other columns are not read. */
void mh_gemm_range(float *c, size_t c_stride, const float *a, size_t a_stride,
                   const float *packed_b, const float *bias, size_t m, size_t n, size_t k,
                   size_t n0, size_t n1, size_t k0, size_t k1);

/* ===== Rows ===================================================================================
 * `n` is the length of the row. `out` may be any of the inputs of its length. Sums run in blocks
 * that are added up in double: their error does not grow with n. */

/* max of x; -inf if n == 0. NaN is ignored unless all are NaN. */
float mh_row_max(const float *x, size_t n);

/* out[i] = exp(x[i] - shift); returns their sum. Relative error < 2e-7 (measured 1.2e-7). exp(0) is
 * exactly 1; results below 1.7e-38 are 0, never a denormal; exp(-inf) is 0; beyond the largest float
 * +inf. */
float mh_row_exp(float *out, const float *x, float shift, size_t n);

/* out[i] = exp(scale (x[i] - largest)) for x <= largest and scale > 0; returns their sum. As mh_row_exp,
 * which is slower, with the rounding of the exponent on top: relative error < 2e-7 (1 - ln out[i]). */
float mh_row_exp_below(float *out, const float *x, float largest, float scale, size_t n);

/* out = x * factor */
void mh_row_scale(float *out, const float *x, float factor, size_t n);

/* out = a + b; out may be a, b or both. */
void mh_row_add(float *out, const float *a, const float *b, size_t n);

/* out = (x - mean) / sqrt(variance + epsilon) * weight + bias (Ba et al. 2016, eq. 4, biased
 * variance). weight and bias may be NULL (1 and 0), and may not be `out`. A NaN or infinity makes
 * the whole row NaN. */
void mh_row_layer_norm(float *out, const float *x, const float *weight, const float *bias,
                       float epsilon, size_t n);

/* x Φ(x), Φ the normal distribution function (Hendrycks & Gimpel 2016). Error < 2e-7 max(1, |x|)
 * (measured 1.1e-7). -inf gives 0. */
void mh_row_gelu(float *out, const float *x, size_t n);

/* x/2 (1 + tanh(sqrt(2/π) (x + 0.044715 x^3))), GPT-2's form. Error as above (1.3e-7). -inf
 * gives NaN. */
void mh_row_gelu_tanh(float *out, const float *x, size_t n);

/* max(x, 0); NaN stays NaN. */
void mh_row_relu(float *out, const float *x, size_t n);

/* Index of the first NaN or infinity; n if there is none. */
size_t mh_row_first_nonfinite(const float *x, size_t n);

/* -Σ x ln x with 0 ln 0 = 0, for x >= 0, denormals too. For weights that sum to 1 within 1e-6 of the
 * double result, relative to max(1, it); +0 when all are 0 or 1. */
float mh_row_entropy(const float *x, size_t n);

/* -Σ x ln(x + epsilon), x >= 0, epsilon >= 0: the form that some code uses to keep away from ln 0. */
float mh_row_entropy_epsilon(const float *x, float epsilon, size_t n);

#endif
