/* The scan of the finite-ness guard. See kernels.h. */
#include <math.h>

#include "kernels/kernels.h"
#include "simd/f32x4.h"

size_t mh_row_first_nonfinite(const float *x, size_t n)
{
    const i32x4 exponent = i32x4_splat(0x7f800000); /* all ones in NaN and infinity only */
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const i32x4 bits = i32x4_and(f32x4_bits(f32x4_load(x + i)), exponent);
        if (i32x4_any(i32x4_equal(bits, exponent))) {
            break;
        }
    }
    while (i < n && isfinite(x[i])) {
        i++;
    }
    return i;
}
