/* Reading safetensors files: 8 bytes of header length (little-endian), a JSON header that gives
 * each tensor's dtype, shape and place, then the data (github.com/huggingface/safetensors).
 *
 * The file is not trusted. Opening it checks everything that reading a tensor relies on, so that
 * what is found in an open file needs no further check: its shape times its dtype is its size,
 * and its bytes are inside the file and no other tensor's. */
#ifndef MH_SAFETENSORS_H
#define MH_SAFETENSORS_H

#include "multihead.h"

#include <stddef.h>

#define MH_SAFETENSORS_RANK 8            /* most dimensions */
#define MH_SAFETENSORS_HEADER 100000000u /* most bytes of a header, as in the reference reader */

/* Name and bytes of an element. The format has more types than can be read as floats here. */
#define MH_DTYPE_LIST(X)                                                                           \
    X(BOOL, 1)                                                                                     \
    X(U8, 1)                                                                                       \
    X(I8, 1)                                                                                       \
    X(F8_E5M2, 1)                                                                                  \
    X(F8_E4M3, 1)                                                                                  \
    X(F8_E8M0, 1)                                                                                  \
    X(I16, 2)                                                                                      \
    X(U16, 2)                                                                                      \
    X(F16, 2)                                                                                      \
    X(BF16, 2)                                                                                     \
    X(I32, 4)                                                                                      \
    X(U32, 4)                                                                                      \
    X(F32, 4)                                                                                      \
    X(I64, 8)                                                                                      \
    X(U64, 8)                                                                                      \
    X(F64, 8)                                                                                      \
    X(C64, 8)

enum mh_dtype {
#define X(name, bytes) MH_DTYPE_##name,
    MH_DTYPE_LIST(X)
#undef X
};

struct mh_safetensor {
    const char *name; /* UTF-8 */
    enum mh_dtype dtype;
    size_t rank;
    size_t shape[MH_SAFETENSORS_RANK];
    size_t begin, end; /* of its bytes, from the start of the data */
};

struct mh_safetensors {
    struct mh_safetensor *tensors; /* [count], by name */
    size_t count;
    const unsigned char *data; /* borrowed from the file */
};

/* Reads the header of a file of `bytes` bytes, which must outlive *out. Errors: CORRUPT, naming
 * the tensor; UNSUPPORTED for a dtype or rank beyond the lists above; MEMORY. */
enum mh_status mh_safetensors_open(struct mh_safetensors *out, const void *file, size_t bytes,
                                   struct mh_error *error);
void mh_safetensors_close(struct mh_safetensors *safetensors);

/* The tensor of that name, or NULL. */
const struct mh_safetensor *mh_safetensors_find(const struct mh_safetensors *safetensors,
                                                const char *name);

/* Product of the shape; 1 for a scalar. */
size_t mh_safetensor_elements(const struct mh_safetensor *tensor);

/* Writes all elements, row-major, as floats. F32, F16 and BF16 are taken as they are. An I8 matrix
 * NAME [rows, cols] is multiplied by the tensor NAME.scale [r, c], F32 or F16, where r divides rows
 * and c divides cols: each scale belongs to a block of rows/r x cols/c values. So [rows, 1], or for
 * short [rows], is a scale for each row, [1, cols] for each column. Errors: UNSUPPORTED for another
 * dtype; CORRUPT for a missing or misshapen scale. */
enum mh_status mh_safetensors_read(const struct mh_safetensors *safetensors,
                                   const struct mh_safetensor *tensor, float *out,
                                   struct mh_error *error);

#endif
