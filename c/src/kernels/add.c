/* Residual sums. See kernels.h. */
#include "kernels/kernels.h"
#include "simd/f32x4.h"

void mh_row_add(float *out, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        f32x4_store(out + i, f32x4_add(f32x4_load(a + i), f32x4_load(b + i)));
    }
    for (; i < n; i++) {
        out[i] = a[i] + b[i];
    }
}
