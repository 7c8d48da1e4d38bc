/* Loading a model of GPT-2's layout (Radford et al. 2019) from a safetensors file: tensors are found
 * by the names that Hugging Face gives them, checked, packed, and dropped. */
#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "model/weights.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ===== Checks before anything is read ======================================================= */

enum mh_status mh_model_check_sizes(const struct mh_model_config *config, struct mh_error *error)
{
    const struct {
        const char *name;
        size_t value;
    } sizes[] = {
        {"layers", config->layers},       {"heads", config->heads},
        {"kv_heads", config->kv_heads},   {"embed_dim", config->embed_dim},
        {"ffn_dim", config->ffn_dim},     {"vocabulary", config->vocabulary},
        {"positions", config->positions},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value == 0 || sizes[i].value > INT32_MAX)
            return mh_fail(error, MH_ARGUMENT, "%s is %zu, but must be in 1..%d", sizes[i].name,
                           sizes[i].value, INT32_MAX);
    if (config->embed_dim % config->heads != 0)
        return mh_fail(error, MH_SHAPE, "embed_dim %zu is not divisible by heads %zu",
                       config->embed_dim, config->heads);
    if (config->heads % config->kv_heads != 0)
        return mh_fail(error, MH_SHAPE, "heads %zu is not divisible by kv_heads %zu", config->heads,
                       config->kv_heads);
    return MH_OK; /* mh_block_create checks the rest */
}

struct loader {
    struct mh_safetensors file;
    const char *prefix; /* "" or "transformer." */
    mh_model *model;
    struct mh_error *error;
};

static enum mh_status find_prefix(struct loader *loader)
{
    static const char *const prefixes[] = {"", "transformer."};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char name[MH_WEIGHT_NAME];
        mh_weight_name(name, prefixes[i], MH_NO_LAYER, "wte.weight");
        if (mh_safetensors_find(&loader->file, name) != NULL) {
            loader->prefix = prefixes[i];
            return MH_OK;
        }
    }
    return mh_fail(loader->error, MH_CORRUPT,
                   "the file has no tensor \"wte.weight\" or \"transformer.wte.weight\": not a "
                   "model of GPT-2's layout");
}

/* A config that asks for less than the file has would give a model that nobody trained. */
static enum mh_status check_file(const struct loader *loader, const struct mh_model_config *config)
{
    char name[MH_WEIGHT_NAME];
    mh_weight_name(name, loader->prefix, config->layers, "ln_1.weight");
    if (mh_safetensors_find(&loader->file, name) != NULL)
        return mh_fail(loader->error, MH_SHAPE, "the config asks for %zu layers, the file has more",
                       config->layers);
    if (config->layers > loader->file.count)
        return mh_fail(loader->error, MH_SHAPE,
                       "the config asks for %zu layers, but the file has only %zu tensors",
                       config->layers, loader->file.count);

    mh_weight_name(name, loader->prefix, MH_NO_LAYER, "wte.weight");
    const struct mh_safetensor *tied = mh_safetensors_find(&loader->file, name);
    const struct mh_safetensor *head = mh_safetensors_find(&loader->file, "lm_head.weight");
    if (head != NULL &&
        (head->dtype != tied->dtype || head->end - head->begin != tied->end - tied->begin ||
         memcmp(loader->file.data + head->begin, loader->file.data + tied->begin,
                head->end - head->begin) != 0))
        return mh_fail(loader->error, MH_UNSUPPORTED,
                       "\"lm_head.weight\" is not \"%s\": only a head tied to the token "
                       "embedding can be run",
                       name);
    return MH_OK;
}

/* ===== Layers =============================================================================== */

enum layer_tensor {
    LN_1_WEIGHT,
    LN_1_BIAS,
    C_ATTN_WEIGHT,
    C_ATTN_BIAS,
    ATTN_C_PROJ_WEIGHT,
    ATTN_C_PROJ_BIAS,
    LN_2_WEIGHT,
    LN_2_BIAS,
    C_FC_WEIGHT,
    C_FC_BIAS,
    MLP_C_PROJ_WEIGHT,
    MLP_C_PROJ_BIAS,
    LAYER_TENSORS
};

/* Reads all tensors of a layer; the caller frees those that are not NULL, also on failure. */
static enum mh_status read_layer(const struct loader *loader, size_t layer,
                                 float *tensors[LAYER_TENSORS])
{
    const struct mh_model_config *config = &loader->model->config;
    size_t e = config->embed_dim, f = config->ffn_dim;
    size_t qkv = e + 2 * (e / config->heads * config->kv_heads);
    const struct {
        const char *suffix;
        size_t rows, columns; /* a Conv1D is [in, out] */
    } expected[LAYER_TENSORS] = {
        [LN_1_WEIGHT] = {"ln_1.weight", e, 0},
        [LN_1_BIAS] = {"ln_1.bias", e, 0},
        [C_ATTN_WEIGHT] = {"attn.c_attn.weight", e, qkv},
        [C_ATTN_BIAS] = {"attn.c_attn.bias", qkv, 0},
        [ATTN_C_PROJ_WEIGHT] = {"attn.c_proj.weight", e, e},
        [ATTN_C_PROJ_BIAS] = {"attn.c_proj.bias", e, 0},
        [LN_2_WEIGHT] = {"ln_2.weight", e, 0},
        [LN_2_BIAS] = {"ln_2.bias", e, 0},
        [C_FC_WEIGHT] = {"mlp.c_fc.weight", e, f},
        [C_FC_BIAS] = {"mlp.c_fc.bias", f, 0},
        [MLP_C_PROJ_WEIGHT] = {"mlp.c_proj.weight", f, e},
        [MLP_C_PROJ_BIAS] = {"mlp.c_proj.bias", e, 0},
    };
    for (size_t i = 0; i < LAYER_TENSORS; i++) {
        char name[MH_WEIGHT_NAME];
        mh_weight_name(name, loader->prefix, layer, expected[i].suffix);
        enum mh_status status = mh_weight_read(&loader->file, name, expected[i].rows,
                                               expected[i].columns, &tensors[i], loader->error);
        if (status != MH_OK)
            return status;
    }
    return MH_OK;
}

/* Columns first .. of a Conv1D weight [in, width]. */
static struct mh_linear_weights conv1d(const float *weight, const float *bias, size_t width,
                                       size_t first)
{
    return (struct mh_linear_weights){
        .data = weight + first, .out_stride = 1, .in_stride = width, .bias = bias + first};
}

static struct mh_block_config block_config(const struct mh_model_config *config,
                                           float *const tensors[LAYER_TENSORS])
{
    size_t e = config->embed_dim, kv = e / config->heads * config->kv_heads;
    const float *qkv = tensors[C_ATTN_WEIGHT], *qkv_bias = tensors[C_ATTN_BIAS];
    return (struct mh_block_config){
        .attention =
            {
                .embed_dim = e,
                .heads = config->heads,
                .kv_heads = config->kv_heads,
                .query = conv1d(qkv, qkv_bias, e + 2 * kv, 0),
                .key = conv1d(qkv, qkv_bias, e + 2 * kv, e),
                .value = conv1d(qkv, qkv_bias, e + 2 * kv, e + kv),
                .out = conv1d(tensors[ATTN_C_PROJ_WEIGHT], tensors[ATTN_C_PROJ_BIAS], e, 0),
                .precision = config->precision,
            },
        .ffn_dim = config->ffn_dim,
        .ffn_in = conv1d(tensors[C_FC_WEIGHT], tensors[C_FC_BIAS], config->ffn_dim, 0),
        .ffn_out = conv1d(tensors[MLP_C_PROJ_WEIGHT], tensors[MLP_C_PROJ_BIAS], e, 0),
        .norm1 = {tensors[LN_1_WEIGHT], tensors[LN_1_BIAS]},
        .norm2 = {tensors[LN_2_WEIGHT], tensors[LN_2_BIAS]},
        .activation = config->activation,
        .norm_position = config->norm_position,
        .norm_epsilon = config->norm_epsilon,
    };
}

static enum mh_status load_layer(const struct loader *loader, size_t layer)
{
    float *tensors[LAYER_TENSORS] = {0};
    enum mh_status status = read_layer(loader, layer, tensors);
    if (status == MH_OK) {
        struct mh_block_config config = block_config(&loader->model->config, tensors);
        status = mh_block_create(&loader->model->blocks[layer], &config, loader->error);
    }
    for (size_t i = 0; i < LAYER_TENSORS; i++)
        free(tensors[i]);
    return status;
}

/* ===== The rest ============================================================================= */

/* A tensor outside the layers. */
static enum mh_status read_global(const struct loader *loader, const char *suffix, size_t rows,
                                  size_t columns, float **out)
{
    char name[MH_WEIGHT_NAME];
    mh_weight_name(name, loader->prefix, MH_NO_LAYER, suffix);
    return mh_weight_read(&loader->file, name, rows, columns, out, loader->error);
}

static enum mh_status load_embedding(const struct loader *loader)
{
    const struct mh_model_config *config = &loader->model->config;
    struct mh_embedding *embedding = &loader->model->embedding;
    size_t v = config->vocabulary, e = config->embed_dim;
    float *tokens;
    *embedding = (struct mh_embedding){.vocabulary = v,
                                       .positions = config->positions,
                                       .width = e,
                                       .precision = config->precision};
    enum mh_status status =
        read_global(loader, "wpe.weight", config->positions, e, &embedding->position);
    if (status == MH_OK)
        status = read_global(loader, "wte.weight", v, e, &tokens);
    if (status != MH_OK)
        return status;

    status = mh_embedding_create(embedding, tokens, loader->error);
    free(tokens);
    return status;
}

static enum mh_status load_final_norm(const struct loader *loader)
{
    mh_model *model = loader->model;
    size_t e = model->config.embed_dim;
    if (model->config.norm_position == MH_NORM_POST)
        return MH_OK;
    enum mh_status status = read_global(loader, "ln_f.weight", e, 0, &model->norm_weight);
    if (status == MH_OK)
        status = read_global(loader, "ln_f.bias", e, 0, &model->norm_bias);
    return status;
}

static enum mh_status load(struct loader *loader, const struct mh_model_config *config)
{
    enum mh_status status = find_prefix(loader);
    if (status == MH_OK)
        status = check_file(loader, config);
    if (status != MH_OK)
        return status;
    loader->model = calloc(1, sizeof *loader->model + config->layers * sizeof(mh_block *));
    if (loader->model == NULL)
        return mh_fail(loader->error, MH_MEMORY, "no memory for a model of %zu layers",
                       config->layers);
    loader->model->config = *config;
    status = load_embedding(loader);
    for (size_t layer = 0; status == MH_OK && layer < config->layers; layer++)
        status = load_layer(loader, layer);
    return status == MH_OK ? load_final_norm(loader) : status;
}

enum mh_status mh_model_load(mh_model **out, const struct mh_model_config *config, const void *file,
                             size_t bytes, struct mh_error *error)
{
    if (out == NULL)
        return mh_fail(error, MH_ARGUMENT, "out is NULL");
    *out = NULL;
    struct loader loader = {.error = error};
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"config", config}, {"file", file}, {0}});
    if (status == MH_OK)
        status = mh_model_check_sizes(config, error);
    if (status == MH_OK)
        status = mh_safetensors_open(&loader.file, file, bytes, error);
    if (status != MH_OK)
        return status;
    status = load(&loader, config);
    mh_safetensors_close(&loader.file);
    if (status == MH_OK)
        *out = loader.model;
    else
        mh_model_free(loader.model);
    return status;
}

void mh_model_free(mh_model *model)
{
    if (model == NULL)
        return;
    for (size_t layer = 0; layer < model->config.layers; layer++)
        mh_block_free(model->blocks[layer]);
    free(model->embedding.packed);
    free(model->embedding.remainder);
    free(model->embedding.position);
    free(model->norm_weight);
    free(model->norm_bias);
    free(model);
}
