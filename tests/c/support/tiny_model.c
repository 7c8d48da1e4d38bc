#include "support/tiny_model.h"

#include "support/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t element_count(const struct tiny_tensor *tensor)
{
    return tensor->rows * (tensor->columns > 0 ? tensor->columns : 1);
}

struct tiny_tensor *tiny_model_add(struct tiny_model *model, const char *name, size_t rows,
                                   size_t columns)
{
    assert_true(model->count < TINY_TENSORS);
    struct tiny_tensor *tensor = &model->tensors[model->count++];
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    tensor->rows = rows;
    tensor->columns = columns;
    tensor->data = calloc(element_count(tensor), sizeof *tensor->data);
    assert_non_null(tensor->data);
    return tensor;
}

/* Weights that keep the variance, biases, and norms near 1. */
static void fill(struct tiny_tensor *tensor, uint32_t *seed)
{
    bool bias = strstr(tensor->name, "bias") != NULL;
    bool norm = strstr(tensor->name, "ln_") != NULL && !bias;
    float amplitude =
        tensor->columns > 0 && tensor->name[0] == 'h' ? 1.7F / sqrtf((float)tensor->rows) : 0.5F;
    random_fill(seed, tensor->data, element_count(tensor), -amplitude, amplitude);
    for (size_t i = 0; norm && i < tensor->rows; i++)
        tensor->data[i] += 1;
}

struct tiny_model tiny_model_make(const struct mh_model_config *config, uint32_t seed)
{
    struct tiny_model model = {.config = *config};
    size_t e = config->embed_dim, f = config->ffn_dim;
    size_t qkv = e + 2 * (e / config->heads * config->kv_heads);
    tiny_model_add(&model, "wte.weight", config->vocabulary, e);
    tiny_model_add(&model, "wpe.weight", config->positions, e);
    const struct {
        const char *suffix;
        size_t rows, columns;
    } of_layer[] = {
        {"ln_1.weight", e, 0},        {"ln_1.bias", e, 0},          {"attn.c_attn.weight", e, qkv},
        {"attn.c_attn.bias", qkv, 0}, {"attn.c_proj.weight", e, e}, {"attn.c_proj.bias", e, 0},
        {"ln_2.weight", e, 0},        {"ln_2.bias", e, 0},          {"mlp.c_fc.weight", e, f},
        {"mlp.c_fc.bias", f, 0},      {"mlp.c_proj.weight", f, e},  {"mlp.c_proj.bias", e, 0},
    };
    for (size_t layer = 0; layer < config->layers; layer++)
        for (size_t i = 0; i < sizeof of_layer / sizeof of_layer[0]; i++) {
            char name[48];
            snprintf(name, sizeof name, "h.%zu.%s", layer, of_layer[i].suffix);
            tiny_model_add(&model, name, of_layer[i].rows, of_layer[i].columns);
        }
    if (config->norm_position == MH_NORM_PRE) {
        tiny_model_add(&model, "ln_f.weight", e, 0);
        tiny_model_add(&model, "ln_f.bias", e, 0);
    }
    for (size_t i = 0; i < model.count; i++)
        fill(&model.tensors[i], &seed);
    return model;
}

void tiny_model_free(struct tiny_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        free(model->tensors[i].data);
    model->count = 0;
}

struct tiny_tensor *tiny_model_tensor(struct tiny_model *model, const char *name)
{
    for (size_t i = 0; i < model->count; i++)
        if (strcmp(model->tensors[i].name, name) == 0)
            return &model->tensors[i];
    fail_msg("the tiny model has no tensor %s", name);
    return NULL;
}

unsigned char *tiny_model_file(const struct tiny_model *model, const char *prefix, size_t *bytes)
{
    size_t data = 0, most = 16;
    for (size_t i = 0; i < model->count; i++) {
        data += element_count(&model->tensors[i]) * sizeof(float);
        most += 256;
    }
    unsigned char *file = malloc(8 + most + data);
    assert_non_null(file);
    char *header = (char *)file + 8;
    size_t length = 0, offset = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct tiny_tensor *tensor = &model->tensors[i];
        size_t end = offset + element_count(tensor) * sizeof(float);
        char shape[48];
        if (tensor->columns > 0)
            snprintf(shape, sizeof shape, "[%zu,%zu]", tensor->rows, tensor->columns);
        else
            snprintf(shape, sizeof shape, "[%zu]", tensor->rows);
        length += (size_t)snprintf(
            header + length, most - length,
            "%c\"%s%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
            i == 0 ? '{' : ',', prefix, tensor->name, shape, offset, end);
        offset = end;
    }
    header[length++] = '}';
    for (size_t i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)length >> (8 * i));
    for (size_t i = 0, at = 8 + length; i < model->count; i++) {
        size_t size = element_count(&model->tensors[i]) * sizeof(float);
        memcpy(file + at, model->tensors[i].data, size);
        at += size;
    }
    *bytes = 8 + length + data;
    unsigned char *exact = realloc(file, *bytes); /* so that a sanitizer sees its end */
    assert_non_null(exact);
    return exact;
}
