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

/* Scales of a matrix: scale (i, j) belongs to a block of block_rows x block_columns values. */
struct scales {
    enum mh_dtype dtype;
    const unsigned char *data; /* [rows / block_rows, columns of scales] */
    size_t columns;
    size_t block_rows, block_columns;
};

/* The name of the scales of `tensor`; false if it is too long. */
static bool scale_name(char name[MOST_NAME_BYTES], const struct mh_safetensor *tensor)
{
    size_t length = strlen(tensor->name);
    if (length + sizeof SCALE_SUFFIX > MOST_NAME_BYTES)
        return false;
    memcpy(name, tensor->name, length);
    memcpy(name + length, SCALE_SUFFIX, sizeof SCALE_SUFFIX);
    return true;
}

static bool divides(size_t divisor, size_t n)
{
    return divisor != 0 && n % divisor == 0;
}

/* The tensor NAME.scale, checked against the matrix NAME. */
static enum mh_status find_scales(const struct mh_safetensors *safetensors,
                                  const struct mh_safetensor *tensor, struct scales *scales,
                                  struct mh_error *error)
{
    char name[MOST_NAME_BYTES];
    if (tensor->rank != 2)
        return mh_fail(error, MH_CORRUPT,
                       "tensor \"%s\" is I8 with %zu dimensions: only a matrix can be",
                       tensor->name, tensor->rank);
    if (!scale_name(name, tensor))
        return mh_fail(error, MH_UNSUPPORTED, "the name of tensor \"%s\" is too long",
                       tensor->name);
    const struct mh_safetensor *found = mh_safetensors_find(safetensors, name);
    if (found == NULL)
        return mh_fail(error, MH_CORRUPT, "tensor \"%s\" is I8, but there is no \"%s\"",
                       tensor->name, name);

    size_t rows = found->rank > 0 ? found->shape[0] : 0;
    size_t columns = found->rank == 1 ? 1 : found->shape[1];
    if (found->rank > 2 || !divides(rows, tensor->shape[0]) || !divides(columns, tensor->shape[1]))
        return mh_fail(error, MH_CORRUPT,
                       "the shape of tensor \"%s\" does not divide that of \"%s\", [%zu, %zu]",
                       name, tensor->name, tensor->shape[0], tensor->shape[1]);
    if (found->dtype != MH_DTYPE_F32 && found->dtype != MH_DTYPE_F16)
        return mh_fail(error, MH_CORRUPT, "tensor \"%s\" is neither F32 nor F16", name);
    *scales = (struct scales){
        .dtype = found->dtype,
        .data = safetensors->data + found->begin,
        .columns = columns,
        .block_rows = tensor->shape[0] / rows,
        .block_columns = tensor->shape[1] / columns,
    };
    return MH_OK;
}

static float scale_at(const struct scales *scales, size_t index)
{
    float scale;
    if (scales->dtype == MH_DTYPE_F16)
        read_16_bits(scales->data + 2 * index, &scale, 1, mh_float_from_f16);
    else
        memcpy(&scale, scales->data + index * sizeof scale, sizeof scale);
    return scale;
}

static enum mh_status read_i8(const struct mh_safetensors *safetensors,
                              const struct mh_safetensor *tensor, float *out,
                              struct mh_error *error)
{
    struct scales scales = {0};
    enum mh_status status = find_scales(safetensors, tensor, &scales, error);
    if (status != MH_OK)
        return status;

    const unsigned char *values = safetensors->data + tensor->begin;
    for (size_t r = 0; r < tensor->shape[0]; r++) {
        for (size_t block = 0; block < scales.columns; block++) {
            float scale = scale_at(&scales, r / scales.block_rows * scales.columns + block);
            for (size_t c = 0; c < scales.block_columns; c++, values++)
                *out++ = scale * (float)(*values < 128 ? *values : *values - 256);
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
