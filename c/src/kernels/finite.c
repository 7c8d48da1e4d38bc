/* The scan of the finite-ness guard. See kernels.h. */
#include <math.h>

#include "kernels/kernels.h"
#include "simd/f32x4.h"

/* All ones in the lanes that are NaN or infinite: those whose exponent bits are all ones. */
SIMD_INLINE i32x4 nonfinite(const float *x)
{
    const i32x4 exponent = i32x4_splat(0x7f800000);
    return i32x4_equal(i32x4_and(f32x4_bits(f32x4_load(x)), exponent), exponent);
}

size_t mh_row_first_nonfinite(const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const i32x4 low = i32x4_or(nonfinite(x + i), nonfinite(x + i + 4));
        const i32x4 high = i32x4_or(nonfinite(x + i + 8), nonfinite(x + i + 12));
        if (i32x4_any(i32x4_or(low, high))) {
            break;
        }
    }
    while (i < n && isfinite(x[i])) {
        i++;
    }
    return i;
}
