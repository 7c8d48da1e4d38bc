#include "train/transposed_product.h"

#include "base/size.h"
#include "kernels/kernels.h"

size_t mh_transposed_product_scratch(size_t rows, size_t m, size_t n)
{
    size_t packed = mh_size_mul(rows, mh_size_add(n, MH_GEMM_COLUMNS));
    return mh_size_add(mh_size_mul(rows, m), packed);
}

/* out [columns, rows] from in [rows, columns]. Tiles of a cache line, so that neither side is read
 * or written a float at a time. */
static void transpose(float *out, const float *in, size_t stride, size_t rows, size_t columns)
{
    enum { TILE = 16 };
    for (size_t r0 = 0; r0 < rows; r0 += TILE)
        for (size_t c0 = 0; c0 < columns; c0 += TILE)
            for (size_t c = c0; c < mh_size_min(c0 + TILE, columns); c++)
                for (size_t r = r0; r < mh_size_min(r0 + TILE, rows); r++)
                    out[c * rows + r] = in[r * stride + c];
}

void mh_transposed_product(float *out, const float *m_rows, size_t m_stride, size_t m,
                           const float *n_rows, size_t n_stride, size_t n, size_t rows,
                           float *scratch)
{
    float *transposed = scratch, *packed = scratch + rows * m;
    transpose(transposed, m_rows, m_stride, rows, m);
    mh_pack(packed, n_rows, rows, n, n_stride, 1);
    mh_gemm(out, n, transposed, rows, packed, NULL, m, n, rows, 0, n);
}
