/* libFuzzer: any bytes as a safetensors file, read whole and loaded as a model, which is run if it
 * loads. build.sh fuzz builds it; tests/fuzz/README.md says how to run it. */
#include "model/safetensors.h"
#include "multihead.h"

#include <stdlib.h>

#define MOST_ELEMENTS 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_tensors(const uint8_t *data, size_t size)
{
    struct mh_safetensors tensors;
    struct mh_error error;
    if (mh_safetensors_open(&tensors, data, size, &error) != MH_OK)
        return;
    for (size_t i = 0; i < tensors.count; i++) {
        const struct mh_safetensor *tensor = &tensors.tensors[i];
        size_t count = mh_safetensor_elements(tensor);
        if (mh_safetensors_find(&tensors, tensor->name) != tensor)
            abort();
        if (count > MOST_ELEMENTS)
            continue;
        float *values = malloc(count * sizeof *values);
        if (values != NULL)
            mh_safetensors_read(&tensors, tensor, values, &error);
        free(values);
    }
    mh_safetensors_close(&tensors);
}

/* make-corpus.mjs writes models of this config. */
static const struct mh_model_config config = {
    .layers = 1,
    .heads = 2,
    .kv_heads = 1,
    .embed_dim = 4,
    .ffn_dim = 3,
    .vocabulary = 5,
    .positions = 3,
    .norm_epsilon = 1e-5F,
};

static void run_model(const uint8_t *data, size_t size)
{
    static const int32_t tokens[3] = {4, 0, 2};
    float attention[2 * 3 * 3], logits[3 * 5];
    unsigned char workspace[65536];
    struct mh_error error;
    struct mh_report report;
    mh_model *model;
    if (mh_model_load(&model, &config, data, size, &error) != MH_OK)
        return;
    struct mh_model_pass pass = {.tokens = tokens,
                                 .length = 3,
                                 .mask = {.causal = 1},
                                 .attention = attention,
                                 .logits = logits,
                                 .check_finite = 1};
    size_t bytes;
    if (mh_model_workspace(model, &pass, &bytes, &error) != MH_OK || bytes > sizeof workspace)
        abort();
    enum mh_status status = mh_model_forward(model, &pass, workspace, bytes, &report, &error);
    if (status != MH_OK && status != MH_NONFINITE)
        abort();
    mh_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_tensors(data, size);
    run_model(data, size);
    return 0;
}
