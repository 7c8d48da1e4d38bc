#include "train/transposed_product.h"

#include "base/size.h"
#include "kernels/kernels.h"

size_t mh_transposed_product_scratch(size_t rows, size_t m, size_t n)
{
    size_t packed = mh_size_mul(rows, mh_size_add(n, MH_GEMM_COLUMNS));
    return mh_size_add(mh_size_mul(rows, m), packed);
}

void mh_transposed_product(float *out, const float *m_rows, size_t m_stride, size_t m,
                           const float *n_rows, size_t n_stride, size_t n, size_t rows,
                           float *scratch)
{
    float *transposed = scratch, *packed = scratch + rows * m;
    mh_transpose(transposed, m_rows, m_stride, rows, m);
    mh_pack(packed, n_rows, rows, n, n_stride, 1);
    mh_gemm(out, n, transposed, rows, packed, NULL, m, n, rows, 0, n);
}
