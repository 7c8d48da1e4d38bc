/* A linear layer out = in Wᵀ + b with its weight packed for mh_gemm, or in 8-bit integers for
 * mh_int8_gemm.
 *
 * The memory is the caller's, so that layers which read the same input can lie side by side and be
 * computed in one product: a layer takes mh_linear_columns(out) columns of the packed matrix, the
 * last of them padding. */
#ifndef MH_LINEAR_H
#define MH_LINEAR_H

#include "multihead.h"

struct mh_linear {
    size_t in, out;
    int32_t precision;   /* enum mh_precision */
    const float *packed; /* [in, columns(out)] in panels */
    const float *bias;   /* [columns(out)], zeros where there is none; or NULL */
};

/* Is `precision` one that there is, and can it sum over `longest` inputs? */
enum mh_status mh_linear_check(int32_t precision, size_t longest, struct mh_error *error);

/* `out` rounded up to whole panels. */
size_t mh_linear_columns(int32_t precision, size_t out);

/* Floats that the packed weight takes. The bias takes mh_linear_columns more. */
size_t mh_linear_packed_size(int32_t precision, size_t in, size_t out);

/* Packs `weights` (data not NULL) into memory of the two sizes above; without a bias, `bias` may be
 * NULL. */
struct mh_linear mh_linear_pack(int32_t precision, const struct mh_linear_weights *weights,
                                size_t in, size_t out, float *packed, float *bias);

/* Bytes of scratch, aligned to 4, that a forward pass over so many rows needs; 0 for MH_F32. */
size_t mh_linear_scratch(const struct mh_linear *linear, size_t rows);

/* out[r, o] for `rows` rows. Strides are row strides. Row r depends on row r of `in` alone, bit by
 * bit, however many rows there are. */
void mh_linear_forward(const struct mh_linear *linear, float *out, size_t out_stride,
                       const float *in, size_t in_stride, size_t rows, void *scratch);

#endif
