#include "model/weights.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ===== Names ================================================================================ */

static size_t append(char name[MH_WEIGHT_NAME], size_t length, const char *text)
{
    for (; *text != '\0' && length + 1 < MH_WEIGHT_NAME; text++)
        name[length++] = *text;
    name[length] = '\0';
    return length;
}

static size_t append_number(char name[MH_WEIGHT_NAME], size_t length, size_t number)
{
    char digits[21];
    size_t first = sizeof digits - 1;
    digits[first] = '\0';
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return append(name, length, digits + first);
}

void mh_weight_name(char name[MH_WEIGHT_NAME], const char *prefix, size_t layer, const char *suffix)
{
    size_t length = append(name, 0, prefix);
    if (layer != MH_NO_LAYER) {
        length = append(name, length, "h.");
        length = append_number(name, length, layer);
        length = append(name, length, ".");
    }
    append(name, length, suffix);
}

/* ===== Tensors ============================================================================== */

static enum mh_status check_shape(const struct mh_safetensor *tensor, size_t rows, size_t columns,
                                  struct mh_error *error)
{
    bool vector = columns == 0;
    if (tensor->rank != (vector ? 1 : 2))
        return mh_fail(error, MH_SHAPE, "tensor \"%s\" has %zu dimensions, not %d", tensor->name,
                       tensor->rank, vector ? 1 : 2);
    if (vector && tensor->shape[0] != rows)
        return mh_fail(error, MH_SHAPE, "tensor \"%s\" has shape [%zu]; the config asks for [%zu]",
                       tensor->name, tensor->shape[0], rows);
    if (!vector && (tensor->shape[0] != rows || tensor->shape[1] != columns))
        return mh_fail(error, MH_SHAPE,
                       "tensor \"%s\" has shape [%zu, %zu]; the config asks for [%zu, %zu]",
                       tensor->name, tensor->shape[0], tensor->shape[1], rows, columns);
    return MH_OK;
}

static enum mh_status check_values(const struct mh_safetensor *tensor, const float *values,
                                   size_t count, struct mh_error *error)
{
    size_t index = mh_row_first_nonfinite(values, count);
    if (index == count)
        return MH_OK;
    return mh_fail(error, MH_NONFINITE, "tensor \"%s\" holds %g at index %zu", tensor->name,
                   (double)values[index], index);
}

enum mh_status mh_weight_read(const struct mh_safetensors *file, const char *name, size_t rows,
                              size_t columns, float **out, struct mh_error *error)
{
    *out = NULL;
    const struct mh_safetensor *tensor = mh_safetensors_find(file, name);
    if (tensor == NULL)
        return mh_fail(error, MH_CORRUPT, "the file has no tensor \"%s\"", name);
    enum mh_status status = check_shape(tensor, rows, columns, error);
    if (status != MH_OK)
        return status;

    /* The elements are in the file, a byte each at least, so this cannot be absurd. */
    size_t count = mh_safetensor_elements(tensor);
    float *values = malloc(mh_size_mul(count, sizeof *values));
    if (values == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for the %zu numbers of tensor \"%s\"", count,
                       name);
    status = mh_safetensors_read(file, tensor, values, error);
    if (status == MH_OK)
        status = check_values(tensor, values, count, error);
    if (status != MH_OK) {
        free(values);
        return status;
    }
    *out = values;
    return MH_OK;
}
