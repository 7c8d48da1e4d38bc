/* A small random model of GPT-2's layout, and its safetensors file in memory, for tests that change
 * one thing in it. */
#ifndef MH_TEST_TINY_MODEL_H
#define MH_TEST_TINY_MODEL_H

#include "multihead.h"

#define TINY_TENSORS 64

struct tiny_tensor {
    char name[48];
    size_t rows, columns; /* columns 0: a vector */
    float *data;
};

struct tiny_model {
    struct mh_model_config config;
    struct tiny_tensor tensors[TINY_TENSORS];
    size_t count;
};

/* Every tensor that the config asks for, from a seed. */
struct tiny_model tiny_model_make(const struct mh_model_config *config, uint32_t seed);
void tiny_model_free(struct tiny_model *model);

/* The tensor of that name, which must be there. */
struct tiny_tensor *tiny_model_tensor(struct tiny_model *model, const char *name);

/* Adds a tensor of zeros. */
struct tiny_tensor *tiny_model_add(struct tiny_model *model, const char *name, size_t rows,
                                   size_t columns);

/* The file, all F32, names behind `prefix`. The caller frees it. */
unsigned char *tiny_model_file(const struct tiny_model *model, const char *prefix, size_t *bytes);

#endif
