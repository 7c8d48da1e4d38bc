#include "train/model_parameters.h"

#include "base/error.h"
#include "base/size.h"
#include "model/model.h"
#include "model/weights.h"

#include <math.h>

_Static_assert(MH_PARAMETER_NAME == MH_WEIGHT_NAME, "names fit");

enum { CROSS_TENSORS = MH_LAYER_TENSORS - MH_LAYER_CROSS_NORM_WEIGHT, NORM_TENSORS = 2 };

struct shape {
    const char *name;
    size_t rows, columns;
};

static size_t count_of(struct shape shape)
{
    return mh_size_mul(shape.rows == 0 ? 1 : shape.rows, shape.columns);
}

static bool has_final_norm(const struct mh_network *n)
{
    return n->model.norm_position == MH_NORM_PRE;
}

/* ===== Embeddings =========================================================================== */

enum { MOST_EMBEDDINGS = 4 };

struct embeddings {
    struct shape of[MOST_EMBEDDINGS];
    enum mh_embedding_tensor tensor[MOST_EMBEDDINGS];
    size_t count;
};

static void add(struct embeddings *e, enum mh_embedding_tensor tensor, struct shape shape)
{
    e->of[e->count] = shape;
    e->tensor[e->count++] = tensor;
}

static struct embeddings embeddings_of(const struct mh_network *n)
{
    const struct mh_model_config *c = &n->model;
    struct embeddings e = {.count = 0};
    if (n->architecture == MH_CLASSIFIER) {
        add(&e, MH_PATCH_WEIGHT, (struct shape){"patch.weight", n->patch_dim, c->embed_dim});
        add(&e, MH_PATCH_BIAS, (struct shape){"patch.bias", 0, c->embed_dim});
        if (n->class_token)
            add(&e, MH_CLASS_TOKEN, (struct shape){"class_token", 0, c->embed_dim});
    } else {
        add(&e, MH_WTE, (struct shape){"wte.weight", c->vocabulary, c->embed_dim});
    }
    if (!n->sinusoidal)
        add(&e, MH_WPE, (struct shape){"wpe.weight", c->positions, c->embed_dim});
    return e;
}

static size_t embeddings_size(const struct mh_network *n, size_t end)
{
    struct embeddings e = embeddings_of(n);
    size_t size = 0;
    for (size_t i = 0; i < end; i++)
        size = mh_size_add(size, count_of(e.of[i]));
    return size;
}

size_t mh_parameter_of_embedding(const struct mh_network *n, enum mh_embedding_tensor tensor)
{
    struct embeddings e = embeddings_of(n);
    size_t index = 0;
    while (index < e.count && e.tensor[index] != tensor)
        index++;
    return index;
}

/* ===== Stacks =============================================================================== */

static struct shape layer_shape(const struct mh_model_config *c, enum mh_layer_tensor tensor)
{
    const size_t E = c->embed_dim, F = c->ffn_dim, K = mh_size_mul(c->kv_heads, E / c->heads);
    const struct shape shapes[MH_LAYER_TENSORS] = {
#define X(name, text, rows, columns) {text, rows, columns},
        MH_LAYER_TENSOR_LIST(X)
#undef X
    };
    return shapes[tensor];
}

/* Floats of a layer's tensors before `end`. */
static size_t layer_size(const struct mh_model_config *c, size_t end)
{
    size_t size = 0;
    for (size_t t = 0; t < end; t++)
        size = mh_size_add(size, count_of(layer_shape(c, (enum mh_layer_tensor)t)));
    return size;
}

/* A stack's tensors: where they begin, and how many a layer has. */
struct stack {
    const char *prefix;
    size_t layers, tensors, layer_size, index, offset;
};

size_t mh_stack_layers(const struct mh_network *n, enum mh_stack_kind stack)
{
    if (stack == MH_MAIN_STACK)
        return n->model.layers;
    return n->architecture == MH_ENCODER_DECODER ? n->encoder_layers : 0;
}

static size_t stack_count(const struct stack *s, const struct mh_network *n)
{
    return s->layers == 0 ? 0 : s->layers * s->tensors + (has_final_norm(n) ? NORM_TENSORS : 0);
}

static size_t stack_size(const struct stack *s, const struct mh_network *n)
{
    size_t norm = has_final_norm(n) ? mh_size_mul(NORM_TENSORS, n->model.embed_dim) : 0;
    return s->layers == 0 ? 0 : mh_size_add(mh_size_mul(s->layers, s->layer_size), norm);
}

static struct stack stack_of(const struct mh_network *n, enum mh_stack_kind kind)
{
    struct embeddings e = embeddings_of(n);
    struct stack encoder = {.prefix = "encoder.",
                            .layers = mh_stack_layers(n, MH_ENCODER_STACK),
                            .tensors = MH_LAYER_TENSORS - CROSS_TENSORS,
                            .index = e.count,
                            .offset = embeddings_size(n, e.count)};
    encoder.layer_size = layer_size(&n->model, encoder.tensors);
    if (kind == MH_ENCODER_STACK)
        return encoder;
    bool cross = n->architecture == MH_ENCODER_DECODER;
    struct stack main = {.prefix = "",
                         .layers = n->model.layers,
                         .tensors = cross ? MH_LAYER_TENSORS : encoder.tensors,
                         .index = encoder.index + stack_count(&encoder, n),
                         .offset = mh_size_add(encoder.offset, stack_size(&encoder, n))};
    main.layer_size = layer_size(&n->model, main.tensors);
    return main;
}

size_t mh_parameter_of_layer(const struct mh_network *n, enum mh_stack_kind stack, size_t layer,
                             enum mh_layer_tensor tensor)
{
    struct stack s = stack_of(n, stack);
    return s.index + layer * s.tensors + (size_t)tensor;
}

size_t mh_parameter_final_norm(const struct mh_network *n, enum mh_stack_kind stack)
{
    struct stack s = stack_of(n, stack);
    return s.index + s.layers * s.tensors;
}

/* ===== All of it ============================================================================ */

/* The index after the stacks: of the head, if it is not tied. */
static size_t after_stacks(const struct mh_network *n)
{
    struct stack s = stack_of(n, MH_MAIN_STACK);
    return s.index + stack_count(&s, n);
}

size_t mh_parameter_head(const struct mh_network *n)
{
    return n->architecture == MH_CLASSIFIER ? after_stacks(n)
                                            : mh_parameter_of_embedding(n, MH_WTE);
}

size_t mh_parameter_count(const struct mh_network *n)
{
    return after_stacks(n) + (n->architecture == MH_CLASSIFIER ? 2 : 0);
}

size_t mh_parameters_size(const struct mh_network *n)
{
    struct stack s = stack_of(n, MH_MAIN_STACK);
    size_t size = mh_size_add(s.offset, stack_size(&s, n));
    if (n->architecture == MH_CLASSIFIER)
        size = mh_size_add(size, mh_size_mul(n->model.vocabulary, n->model.embed_dim + 1));
    return size;
}

static struct mh_place place(const char *prefix, struct shape shape, size_t layer, size_t offset,
                             enum mh_start start)
{
    return (struct mh_place){.prefix = prefix,
                             .suffix = shape.name,
                             .layer = layer,
                             .rows = shape.rows,
                             .columns = shape.columns,
                             .offset = offset,
                             .count = count_of(shape),
                             .start = start};
}

static enum mh_start layer_start(enum mh_layer_tensor tensor, struct shape shape)
{
    bool norm = tensor == MH_LAYER_NORM1_WEIGHT || tensor == MH_LAYER_NORM2_WEIGHT ||
                tensor == MH_LAYER_CROSS_NORM_WEIGHT;
    if (shape.rows > 0)
        return MH_START_MATRIX;
    return norm ? MH_START_ONE : MH_START_ZERO;
}

/* `index` counts from the stack's first tensor. */
static struct mh_place place_in_stack(const struct mh_network *n, const struct stack *s,
                                      size_t index)
{
    size_t layer = index / s->tensors, tensor = index % s->tensors, width = n->model.embed_dim;
    size_t offset = s->offset + layer * s->layer_size;
    if (layer == s->layers) { /* the final norm: tensor 0 is the weight */
        struct shape shape = {tensor == 0 ? "ln_f.weight" : "ln_f.bias", 0, width};
        return place(s->prefix, shape, MH_NO_LAYER, offset + tensor * width,
                     tensor == 0 ? MH_START_ONE : MH_START_ZERO);
    }
    struct shape shape = layer_shape(&n->model, (enum mh_layer_tensor)tensor);
    return place(s->prefix, shape, layer, offset + layer_size(&n->model, tensor),
                 layer_start((enum mh_layer_tensor)tensor, shape));
}

static struct mh_place place_of_embedding(const struct mh_network *n, size_t index)
{
    struct embeddings e = embeddings_of(n);
    enum mh_start start = MH_START_EMBEDDING;
    if (e.tensor[index] == MH_PATCH_WEIGHT)
        start = MH_START_MATRIX;
    if (e.tensor[index] == MH_PATCH_BIAS)
        start = MH_START_ZERO;
    return place("", e.of[index], MH_NO_LAYER, embeddings_size(n, index), start);
}

struct mh_place mh_parameter_place(const struct mh_network *n, size_t index)
{
    struct stack encoder = stack_of(n, MH_ENCODER_STACK), main = stack_of(n, MH_MAIN_STACK);
    size_t width = n->model.embed_dim, classes = n->model.vocabulary, head = after_stacks(n);
    if (index < encoder.index)
        return place_of_embedding(n, index);
    if (index < main.index)
        return place_in_stack(n, &encoder, index - encoder.index);
    if (index < head)
        return place_in_stack(n, &main, index - main.index);
    size_t offset = main.offset + stack_size(&main, n);
    if (index == head)
        return place("", (struct shape){"head.weight", width, classes}, MH_NO_LAYER, offset,
                     MH_START_MATRIX);
    return place("", (struct shape){"head.bias", 0, classes}, MH_NO_LAYER, offset + width * classes,
                 MH_START_ZERO);
}

void mh_parameter_at(const struct mh_network *n, size_t index, struct mh_parameter *parameter)
{
    struct mh_place p = mh_parameter_place(n, index);
    *parameter = (struct mh_parameter){.rows = p.rows,
                                       .columns = p.columns,
                                       .offset = p.offset,
                                       .count = p.count,
                                       .decays = p.rows > 0};
    mh_weight_name(parameter->name, p.prefix, p.layer, p.suffix);
}

/* ===== Checks =============================================================================== */

static enum mh_status check_architecture(const struct mh_network *n, struct mh_error *error)
{
    if (n->architecture < MH_DECODER || n->architecture > MH_CLASSIFIER)
        return mh_fail(error, MH_ARGUMENT, "architecture is %d: it must be 0 to 2",
                       n->architecture);
    if (n->architecture == MH_ENCODER_DECODER &&
        (n->encoder_layers == 0 || n->encoder_layers > INT32_MAX))
        return mh_fail(error, MH_ARGUMENT, "encoder_layers is %zu, but must be in 1..%d",
                       n->encoder_layers, INT32_MAX);
    if (n->architecture == MH_CLASSIFIER && (n->patch_dim == 0 || n->patch_dim > INT32_MAX))
        return mh_fail(error, MH_ARGUMENT, "patch_dim is %zu, but must be in 1..%d", n->patch_dim,
                       INT32_MAX);
    if (mh_parameters_size(n) > SIZE_MAX / (4 * sizeof(float)))
        return mh_fail(
            error, MH_MEMORY,
            "the network's parameters would exceed the address space: use smaller sizes");
    return MH_OK;
}

enum mh_status mh_network_check(const struct mh_network *network, struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"network", network}, {0}});
    if (status == MH_OK)
        status = mh_model_check_sizes(&network->model, error);
    if (status != MH_OK)
        return status;
    const struct mh_model_config *c = &network->model;
    if (c->activation < MH_ACTIVATION_GELU || c->activation > MH_ACTIVATION_RELU)
        return mh_fail(error, MH_ARGUMENT, "activation is %d: it must be 0 to 2", c->activation);
    if (c->norm_position != MH_NORM_PRE && c->norm_position != MH_NORM_POST)
        return mh_fail(error, MH_ARGUMENT, "norm_position is %d: it must be 0 (pre) or 1 (post)",
                       c->norm_position);
    if (c->precision != MH_F32)
        return mh_fail(error, MH_ARGUMENT, "precision is %d: a network learns in f32, 0",
                       c->precision);
    if (!(c->norm_epsilon > 0.0f && isfinite(c->norm_epsilon)))
        return mh_fail(error, MH_ARGUMENT, "norm_epsilon is %g: it must be finite and above 0",
                       (double)c->norm_epsilon);
    return check_architecture(network, error);
}
