/* Products that sum over rows: what the gradients of weights, keys and values are made of. */
#ifndef MH_TRANSPOSED_PRODUCT_H
#define MH_TRANSPOSED_PRODUCT_H

#include <stddef.h>

/* Floats of scratch for M [rows, m] and N [rows, n]. */
size_t mh_transposed_product_scratch(size_t rows, size_t m, size_t n);

/* out [m, n] = Mᵀ N, for M [rows, m] and N [rows, n] by row strides. `out` is written, never read,
 * its rows following each other, and may not overlap an input. */
void mh_transposed_product(float *out, const float *m_rows, size_t m_stride, size_t m,
                           const float *n_rows, size_t n_stride, size_t n, size_t rows,
                           float *scratch);

#endif
