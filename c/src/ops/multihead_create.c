/* Making multi-head attention: checks the configuration and packs the weights into one block. */
#include "ops/multihead_handle.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ===== Checks =============================================================================== */

/* One weight of the configuration, with the shape it must have. */
struct matrix {
    const char *name;
    const struct mh_linear_weights *weights;
    size_t in, out;
};

enum { MATRICES = MH_IN_PROJECTIONS + 1 }; /* query, key, value, out */

static void list_matrices(const struct mh_multihead_config *c, struct matrix *matrices)
{
    size_t key_width = c->kv_heads * (c->embed_dim / c->heads);
    size_t key_dim = c->key_dim != 0 ? c->key_dim : c->embed_dim;
    size_t value_dim = c->value_dim != 0 ? c->value_dim : c->embed_dim;
    const struct matrix all[MATRICES] = {
        {"query", &c->query, c->embed_dim, c->embed_dim},
        {"key", &c->key, key_dim, key_width},
        {"value", &c->value, value_dim, key_width},
        {"out", &c->out, c->embed_dim, c->embed_dim},
    };
    memcpy(matrices, all, sizeof all);
}

static enum mh_status check_sizes(const struct mh_multihead_config *c, struct mh_error *error)
{
    if (c->embed_dim == 0 || c->heads == 0 || c->kv_heads == 0)
        return mh_fail(error, MH_ARGUMENT, "%s is 0: it must be at least 1",
                       c->embed_dim == 0 ? "embed_dim"
                       : c->heads == 0   ? "heads"
                                         : "kv_heads");
    if (c->embed_dim % c->heads != 0)
        return mh_fail(error, MH_SHAPE,
                       "embed_dim %zu is not divisible by heads %zu: each head takes an equal part",
                       c->embed_dim, c->heads);
    if (c->heads % c->kv_heads != 0)
        return mh_fail(error, MH_SHAPE, "heads %zu is not divisible by kv_heads %zu", c->heads,
                       c->kv_heads);
    return MH_OK;
}

static enum mh_status check_matrix(const struct matrix *matrix, struct mh_error *error)
{
    const struct mh_linear_weights *weights = matrix->weights;
    if (weights->data == NULL)
        return mh_fail(error, MH_ARGUMENT, "%s.data is NULL: only the out-projection may be absent",
                       matrix->name);
    if ((matrix->out > 1 && weights->out_stride == 0) ||
        (matrix->in > 1 && weights->in_stride == 0))
        return mh_fail(error, MH_ARGUMENT,
                       "%s has out_stride %zu and in_stride %zu: a [%zu, %zu] weight needs both",
                       matrix->name, weights->out_stride, weights->in_stride, matrix->out,
                       matrix->in);
    return MH_OK;
}

enum mh_status mh_multihead_check(const struct mh_multihead_config *c, struct mh_error *error)
{
    enum mh_status status = check_sizes(c, error);
    if (status != MH_OK)
        return status;
    if ((c->bias_key == NULL) != (c->bias_value == NULL))
        return mh_fail(error, MH_ARGUMENT, "%s is missing: give both bias_key and bias_value",
                       c->bias_key == NULL ? "bias_key" : "bias_value");
    if (c->add_zero_attention != 0 && c->add_zero_attention != 1)
        return mh_fail(error, MH_ARGUMENT, "add_zero_attention is %d: it must be 0 or 1",
                       c->add_zero_attention);
    struct matrix matrices[MATRICES];
    list_matrices(c, matrices);
    for (size_t i = 0; i < MATRICES; i++) {
        if (matrices[i].weights == &c->out && c->out.data == NULL)
            continue;
        status = check_matrix(&matrices[i], error);
        if (status == MH_OK)
            status = mh_linear_check(c->precision, matrices[i].in, error);
        if (status != MH_OK)
            return status;
    }
    return MH_OK;
}

/* ===== Weights that are not finite ========================================================== */

static const char *const weight_names[MATRICES] = {"query weight", "key weight", "value weight",
                                                   "out weight"};
static const char *const bias_names[MATRICES] = {"query bias", "key bias", "value bias",
                                                 "out bias"};

static bool find_in_row(const float *row, size_t n, size_t stride, const char *name, size_t first,
                        struct mh_weight_fault *fault)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(row[i * stride])) {
            *fault = (struct mh_weight_fault){name, first + i, row[i * stride]};
            return true;
        }
    return false;
}

static bool find_in_matrix(const struct matrix *matrix, size_t which, struct mh_weight_fault *fault)
{
    const struct mh_linear_weights *weights = matrix->weights;
    if (weights->data == NULL)
        return false;
    for (size_t o = 0; o < matrix->out; o++)
        if (find_in_row(weights->data + o * weights->out_stride, matrix->in, weights->in_stride,
                        weight_names[which], o * matrix->in, fault))
            return true;
    return weights->bias != NULL &&
           find_in_row(weights->bias, matrix->out, 1, bias_names[which], 0, fault);
}

static struct mh_weight_fault find_fault(const struct mh_multihead_config *c)
{
    struct mh_weight_fault fault = {0};
    struct matrix matrices[MATRICES];
    list_matrices(c, matrices);
    for (size_t i = 0; i < MATRICES; i++)
        if (find_in_matrix(&matrices[i], i, &fault))
            return fault;
    size_t key_width = matrices[MH_IN_KEY].out;
    if (c->bias_key != NULL && !find_in_row(c->bias_key, key_width, 1, "bias_key", 0, &fault))
        find_in_row(c->bias_value, key_width, 1, "bias_value", 0, &fault);
    return fault;
}

/* ===== Packing ============================================================================== */

static size_t floats_needed(int32_t precision, const struct matrix *matrices)
{
    size_t floats = mh_size_mul(2, matrices[MH_IN_KEY].out); /* bias_key, bias_value */
    for (size_t i = 0; i < MATRICES; i++) {
        floats =
            mh_size_add(floats, mh_linear_packed_size(precision, matrices[i].in, matrices[i].out));
        floats = mh_size_add(floats, mh_linear_columns(precision, matrices[i].out));
    }
    return floats;
}

/* All packed weights first, then all biases: projections that lie side by side make one layer. */
static void pack(mh_multihead *m, const struct mh_multihead_config *c,
                 const struct matrix *matrices)
{
    int32_t precision = c->precision;
    float *packed = m->data;
    float *bias = m->data;
    for (size_t i = 0; i < MATRICES; i++)
        bias += mh_linear_packed_size(precision, matrices[i].in, matrices[i].out);
    for (size_t i = 0; i < MATRICES; i++) {
        struct mh_linear *linear = i < MH_IN_PROJECTIONS ? &m->in[i] : &m->out;
        if (matrices[i].weights->data != NULL)
            *linear = mh_linear_pack(precision, matrices[i].weights, matrices[i].in,
                                     matrices[i].out, packed, bias);
        packed += mh_linear_packed_size(precision, matrices[i].in, matrices[i].out);
        bias += mh_linear_columns(precision, matrices[i].out);
    }
    if (c->bias_key != NULL) {
        size_t width = matrices[MH_IN_KEY].out;
        m->bias_key = memcpy(bias, c->bias_key, width * sizeof *bias);
        m->bias_value = memcpy(bias + width, c->bias_value, width * sizeof *bias);
    }
}

enum mh_status mh_multihead_create(mh_multihead **out, const struct mh_multihead_config *config,
                                   struct mh_error *error)
{
    if (out == NULL)
        return mh_fail(error, MH_ARGUMENT, "out is NULL");
    *out = NULL;
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"config", config}, {0}});
    if (status == MH_OK)
        status = mh_multihead_check(config, error);
    if (status != MH_OK)
        return status;
    struct matrix matrices[MATRICES];
    list_matrices(config, matrices);
    size_t bytes = mh_size_add(
        sizeof **out, mh_size_mul(floats_needed(config->precision, matrices), sizeof(float)));
    mh_multihead *m = bytes == SIZE_MAX ? NULL : malloc(bytes);
    if (m == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for the %zu bytes of weights", bytes);
    *m = (mh_multihead){
        .embed_dim = config->embed_dim,
        .heads = config->heads,
        .kv_heads = config->kv_heads,
        .head_dim = config->embed_dim / config->heads,
        .add_zero_attention = config->add_zero_attention != 0,
        .extra_keys = (config->bias_key != NULL) + (size_t)config->add_zero_attention,
        .fault = find_fault(config),
    };
    pack(m, config, matrices);
    *out = m;
    return MH_OK;
}

void mh_multihead_free(mh_multihead *multihead)
{
    free(multihead);
}
