/* Named tensors of a safetensors file as floats, checked against what a model expects. */
#ifndef MH_WEIGHTS_H
#define MH_WEIGHTS_H

#include "model/safetensors.h"

#include <stdint.h>

#define MH_WEIGHT_NAME 128 /* bytes of the longest name, with its NUL */

/* "PREFIXh.LAYER.SUFFIX" with a layer, "PREFIXSUFFIX" if layer is MH_NO_LAYER, cut to fit. */
#define MH_NO_LAYER SIZE_MAX
void mh_weight_name(char name[MH_WEIGHT_NAME], const char *prefix, size_t layer,
                    const char *suffix);

/* The tensor `name` of shape [rows, columns], or [rows] if columns is 0, in new memory that the
 * caller frees. Errors: CORRUPT if it is missing, SHAPE if the shape is another, NONFINITE if it
 * holds NaN or infinity, MEMORY, and those of mh_safetensors_read. */
enum mh_status mh_weight_read(const struct mh_safetensors *file, const char *name, size_t rows,
                              size_t columns, float **out, struct mh_error *error);

#endif
