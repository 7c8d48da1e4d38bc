/* The elements of a tensor of an open safetensors file, as floats. Values are little-endian, as on
 * every host this engine runs on. Data has no alignment: bytes are copied, never cast. */
#include "model/safetensors.h"

#include "base/error.h"
#include "base/half.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SCALE_SUFFIX ".scale"
#define MOST_NAME_BYTES 256 /* of the name of a scale */

static void read_16_bits(const unsigned char *data, float *out, size_t count,
                         float (*from_bits)(uint16_t))
{
    for (size_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, data + i * sizeof bits, sizeof bits);
        out[i] = from_bits(bits);
    }
}

/* The tensor NAME.scale, checked; its values are per row, or per column. */
static enum mh_status find_scale(const struct mh_safetensors *safetensors,
                                 const struct mh_safetensor *tensor,
                                 const struct mh_safetensor **scale, struct mh_error *error)
{
    char name[MOST_NAME_BYTES];
    size_t length = strlen(tensor->name);
    if (tensor->rank != 2)
        return mh_fail(error, MH_CORRUPT,
                       "tensor \"%s\" is I8 with %zu dimensions: only a matrix can be, with a "
                       "scale for each row or column",
                       tensor->name, tensor->rank);
    if (length + sizeof SCALE_SUFFIX > sizeof name)
        return mh_fail(error, MH_UNSUPPORTED, "the name of tensor \"%s\" is too long",
                       tensor->name);
    memcpy(name, tensor->name, length);
    memcpy(name + length, SCALE_SUFFIX, sizeof SCALE_SUFFIX);

    *scale = mh_safetensors_find(safetensors, name);
    if (*scale == NULL)
        return mh_fail(error, MH_CORRUPT, "tensor \"%s\" is I8, but there is no \"%s\"",
                       tensor->name, name);
    size_t rows = tensor->shape[0], cols = tensor->shape[1];
    const size_t *shape = (*scale)->shape;
    bool vector = (*scale)->rank == 1 && shape[0] == rows;
    bool matrix = (*scale)->rank == 2 &&
                  ((shape[0] == rows && shape[1] == 1) || (shape[0] == 1 && shape[1] == cols));
    if ((*scale)->dtype != MH_DTYPE_F32 || !(vector || matrix))
        return mh_fail(error, MH_CORRUPT,
                       "tensor \"%s\" is not an F32 of shape [%zu], [%zu, 1] or [1, %zu], as "
                       "\"%s\" [%zu, %zu] needs",
                       name, rows, rows, cols, tensor->name, rows, cols);
    return MH_OK;
}

static enum mh_status read_i8(const struct mh_safetensors *safetensors,
                              const struct mh_safetensor *tensor, float *out,
                              struct mh_error *error)
{
    const struct mh_safetensor *scale;
    enum mh_status status = find_scale(safetensors, tensor, &scale, error);
    if (status != MH_OK)
        return status;

    const unsigned char *values = safetensors->data + tensor->begin;
    const unsigned char *scales = safetensors->data + scale->begin;
    size_t rows = tensor->shape[0], cols = tensor->shape[1];
    bool per_row = scale->shape[0] == rows; /* a single row may count as either: the same */
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            size_t value = values[r * cols + c];
            int integer = value < 128 ? (int)value : (int)value - 256;
            float factor;
            memcpy(&factor, scales + (per_row ? r : c) * sizeof factor, sizeof factor);
            out[r * cols + c] = factor * (float)integer;
        }
    }
    return MH_OK;
}

enum mh_status mh_safetensors_read(const struct mh_safetensors *safetensors,
                                   const struct mh_safetensor *tensor, float *out,
                                   struct mh_error *error)
{
    const unsigned char *data = safetensors->data + tensor->begin;
    size_t count = mh_safetensor_elements(tensor);
    switch (tensor->dtype) {
    case MH_DTYPE_F32:
        memcpy(out, data, count * sizeof *out);
        return MH_OK;
    case MH_DTYPE_F16:
        read_16_bits(data, out, count, mh_float_from_f16);
        return MH_OK;
    case MH_DTYPE_BF16:
        read_16_bits(data, out, count, mh_float_from_bf16);
        return MH_OK;
    case MH_DTYPE_I8:
        return read_i8(safetensors, tensor, out, error);
    default:
        return mh_fail(error, MH_UNSUPPORTED,
                       "tensor \"%s\" has a dtype that cannot be read as floats: convert it to "
                       "F32, F16, BF16, or I8 with a scale",
                       tensor->name);
    }
}
