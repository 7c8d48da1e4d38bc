/* The gradient of one multi-head attention module: projections, attention with its extra keys, and
 * back through both, of the parts that the trainer's blocks are made of. */
#include "base/arena.h"
#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "multihead_train.h"
#include "ops/multihead_handle.h"
#include "train/attention_gradient.h"
#include "train/linear_gradient.h"

#include <string.h>

/* An in-projection: from input rows by strides to rows of heads, with room for the extra keys. */
struct projection {
    struct mh_learned_linear linear;
    const float *input;
    size_t rows, places; /* of one batch element; places = rows + extra keys */
    size_t batch_stride, row_stride;
    const float *extra; /* bias_key or bias_value [out], or NULL */
    float *dinput, *dweight, *dbias, *dextra;
    float *x;      /* [B * rows, in] the input, rows following each other */
    float *y, *dy; /* [B * places, out] */
};

struct call {
    const struct mh_multihead_config *config;
    const struct mh_multihead_pass *pass;
    const struct mh_multihead_gradient *gradient;
    struct projection in[MH_IN_PROJECTIONS];
    struct mh_learned_linear out;    /* weight NULL: identity */
    float *heads, *dheads, *doutput; /* [B * T, E] */
    float *dx;                       /* [B * rows, in] of any projection */
    float *scores;                   /* [B, H, T, places] */
    float *scratch;
    size_t scratch_floats;
};

static size_t extra_keys(const struct mh_multihead_config *config)
{
    return (config->bias_key != NULL) + (size_t)config->add_zero_attention;
}

static struct mh_learned_linear linear_of(const struct mh_linear_weights *weights, size_t in,
                                          size_t out)
{
    return (struct mh_learned_linear){.in = in,
                                      .out = out,
                                      .in_stride = weights->in_stride,
                                      .out_stride = weights->out_stride,
                                      .weight = weights->data,
                                      .bias = weights->bias};
}

static void begin_query(struct call *c)
{
    const struct mh_multihead_pass *pass = c->pass;
    const struct mh_multihead_gradient *g = c->gradient;
    size_t width = c->config->embed_dim;
    c->in[MH_IN_QUERY] = (struct projection){
        .linear = linear_of(&c->config->query, width, width),
        .input = pass->query,
        .rows = pass->queries,
        .places = pass->queries,
        .batch_stride = pass->query_batch_stride,
        .row_stride = pass->query_row_stride,
        .dinput = g->query,
        .dweight = g->query_weight,
        .dbias = g->query_bias,
    };
}

static void begin_keys(struct call *c)
{
    const struct mh_multihead_config *config = c->config;
    const struct mh_multihead_pass *pass = c->pass;
    const struct mh_multihead_gradient *g = c->gradient;
    size_t e = config->embed_dim, width = config->kv_heads * (e / config->heads);
    size_t places = mh_size_add(pass->keys, extra_keys(config));
    c->in[MH_IN_KEY] = (struct projection){
        .linear = linear_of(&config->key, config->key_dim != 0 ? config->key_dim : e, width),
        .input = pass->key,
        .rows = pass->keys,
        .places = places,
        .batch_stride = pass->key_batch_stride,
        .row_stride = pass->key_row_stride,
        .extra = config->bias_key,
        .dinput = g->key,
        .dweight = g->key_weight,
        .dbias = g->key_bias,
        .dextra = g->bias_key,
    };
    c->in[MH_IN_VALUE] = (struct projection){
        .linear = linear_of(&config->value, config->value_dim != 0 ? config->value_dim : e, width),
        .input = pass->value,
        .rows = pass->keys,
        .places = places,
        .batch_stride = pass->value_batch_stride,
        .row_stride = pass->value_row_stride,
        .extra = config->bias_value,
        .dinput = g->value,
        .dweight = g->value_weight,
        .dbias = g->value_bias,
        .dextra = g->bias_value,
    };
}

static struct call begin(const struct mh_multihead_config *config,
                         const struct mh_multihead_pass *pass,
                         const struct mh_multihead_gradient *gradient)
{
    struct call c = {.config = config, .pass = pass, .gradient = gradient};
    begin_query(&c);
    begin_keys(&c);
    c.out = linear_of(&config->out, config->embed_dim, config->embed_dim);
    return c;
}

/* ===== Workspace ============================================================================ */

/* Rows of heads side by side in a projection's y or dy. */
static struct mh_rows_out heads_in(const struct call *c, const struct projection *p, float *data)
{
    size_t width = p->linear.out, head = c->config->embed_dim / c->config->heads;
    return (struct mh_rows_out){data, p->places * width, head, width};
}

static struct mh_rows_out output_heads(const struct call *c, float *data)
{
    size_t width = c->config->embed_dim;
    return (struct mh_rows_out){data, c->pass->queries * width, width / c->config->heads, width};
}

static struct mh_rows read_of(struct mh_rows_out rows)
{
    return (struct mh_rows){rows.data, rows.batch_stride, rows.head_stride, rows.row_stride};
}

/* As mh_multihead_forward has it. */
static struct mh_attention attention_of(const struct call *c)
{
    const struct mh_multihead_pass *pass = c->pass;
    const struct projection *query = &c->in[MH_IN_QUERY], *key = &c->in[MH_IN_KEY],
                            *value = &c->in[MH_IN_VALUE];
    size_t head = c->config->embed_dim / c->config->heads;
    struct mh_attention a = {
        .batch = pass->batch,
        .queries = pass->queries,
        .keys = key->places,
        .heads = c->config->heads,
        .kv_heads = c->config->kv_heads,
        .head_dim = head,
        .value_dim = head,
        .query = read_of(heads_in(c, query, query->y)),
        .key = read_of(heads_in(c, key, key->y)),
        .value = read_of(heads_in(c, value, value->y)),
        .output = output_heads(c, c->heads),
        .scale_mode = pass->scale_mode,
        .scale = pass->scale,
        .mask = pass->mask,
        .dropout = pass->dropout,
        .dropout_seed = pass->dropout_seed,
        .scores = c->scores,
    };
    a.mask.free_keys = mh_size_add(a.mask.free_keys, extra_keys(c->config));
    return a;
}

static size_t rows_of(const struct call *c, size_t of_one)
{
    return mh_size_mul(c->pass->batch, of_one);
}

static enum mh_status plan_scratch(struct call *c, struct mh_error *error)
{
    struct mh_attention attention = attention_of(c);
    size_t bytes, rows = rows_of(c, c->pass->queries);
    enum mh_status status = mh_attention_workspace(&attention, &bytes, error);
    if (status != MH_OK)
        return status;
    size_t most = mh_size_max(bytes / sizeof(float) + 1, mh_attention_backward_scratch(&attention));
    most = mh_size_max(most, mh_learned_linear_scratch(c->out.in, c->out.out, rows));
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++) {
        const struct projection *p = &c->in[i];
        most = mh_size_max(
            most, mh_learned_linear_scratch(p->linear.in, p->linear.out, rows_of(c, p->rows)));
    }
    c->scratch_floats = most;
    return MH_OK;
}

static enum mh_status lay_out(struct call *c, struct mh_arena *arena, struct mh_error *error)
{
    size_t widest = 0, out = mh_size_mul(rows_of(c, c->pass->queries), c->config->embed_dim);
    size_t maps = mh_size_mul(rows_of(c, c->pass->queries), c->config->heads);
    enum mh_status status = plan_scratch(c, error);
    if (status != MH_OK)
        return status;
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++) {
        struct projection *p = &c->in[i];
        size_t input = mh_size_mul(rows_of(c, p->rows), p->linear.in);
        size_t projected = mh_size_mul(rows_of(c, p->places), p->linear.out);
        p->x = mh_arena_floats(arena, input);
        p->y = mh_arena_floats(arena, projected);
        p->dy = mh_arena_floats(arena, projected);
        widest = mh_size_max(widest, input);
    }
    c->dx = mh_arena_floats(arena, widest);
    c->heads = mh_arena_floats(arena, out);
    c->dheads = mh_arena_floats(arena, out);
    c->doutput = mh_arena_floats(arena, out);
    c->scores = mh_arena_floats(arena, mh_size_mul(maps, c->in[MH_IN_KEY].places));
    c->scratch = mh_arena_floats(arena, c->scratch_floats);
    return MH_OK;
}

/* ===== Forward ============================================================================== */

/* to [batch * rows, width] = rows by strides */
static void gather(float *to, const float *from, size_t batch, size_t rows, size_t width,
                   size_t batch_stride, size_t row_stride)
{
    for (size_t r = 0; r < batch * rows; r++)
        memcpy(to + r * width, from + r / rows * batch_stride + r % rows * row_stride,
               width * sizeof *to);
}

/* A projection is one product, unless extra keys lie between the rows of the batch. */
struct parts {
    size_t count, rows; /* rows of one part */
    size_t x, y;        /* floats from part to part */
};

static struct parts parts_of(const struct call *c, const struct projection *p)
{
    bool one = p->places == p->rows;
    return (struct parts){.count = one ? 1 : c->pass->batch,
                          .rows = one ? rows_of(c, p->rows) : p->rows,
                          .x = p->rows * p->linear.in,
                          .y = p->places * p->linear.out};
}

/* The learned row, then that of zeros. */
static void append_extra_keys(const struct call *c, const struct projection *p)
{
    size_t width = p->linear.out;
    for (size_t b = 0; b < c->pass->batch; b++) {
        float *row = p->y + (b * p->places + p->rows) * width;
        memset(row, 0, (p->places - p->rows) * width * sizeof *row);
        if (p->extra != NULL)
            memcpy(row, p->extra, width * sizeof *row);
    }
}

static void project(const struct call *c, const struct projection *p)
{
    struct parts parts = parts_of(c, p);
    gather(p->x, p->input, c->pass->batch, p->rows, p->linear.in, p->batch_stride, p->row_stride);
    for (size_t i = 0; i < parts.count; i++)
        mh_learned_linear_forward(&p->linear, p->y + i * parts.y, p->x + i * parts.x, parts.rows,
                                  c->scratch);
    append_extra_keys(c, p);
}

/* ===== Backward ============================================================================= */

static void backward_output(const struct call *c)
{
    const struct mh_multihead_pass *pass = c->pass;
    size_t width = c->config->embed_dim, rows = rows_of(c, pass->queries);
    float *d = c->out.weight != NULL ? c->doutput : c->dheads;
    gather(d, c->gradient->output, pass->batch, pass->queries, width, pass->output_batch_stride,
           pass->output_row_stride);
    if (c->out.weight != NULL)
        mh_learned_linear_backward(&c->out, c->dheads, c->gradient->out_weight,
                                   c->gradient->out_bias, d, c->heads, rows, c->scratch);
}

static void backward_attention(const struct call *c, const struct mh_attention *attention)
{
    const struct projection *query = &c->in[MH_IN_QUERY], *key = &c->in[MH_IN_KEY],
                            *value = &c->in[MH_IN_VALUE];
    struct mh_attention_gradient gradient = {
        .attention = attention,
        .output = read_of(output_heads(c, c->dheads)),
        .query = heads_in(c, query, query->dy),
        .key = heads_in(c, key, key->dy),
        .value = heads_in(c, value, value->dy),
    };
    mh_attention_backward(&gradient, c->scratch);
}

/* dinput += dx, by the input's strides */
static void add_input_gradient(const struct call *c, const struct projection *p)
{
    size_t width = p->linear.in;
    for (size_t r = 0; r < rows_of(c, p->rows); r++) {
        float *row = p->dinput + r / p->rows * p->batch_stride + r % p->rows * p->row_stride;
        mh_row_add(row, row, c->dx + r * width, width);
    }
}

static void backward_projection(const struct call *c, const struct projection *p)
{
    struct parts parts = parts_of(c, p);
    for (size_t i = 0; i < parts.count; i++)
        mh_learned_linear_backward(&p->linear, p->dinput != NULL ? c->dx + i * parts.x : NULL,
                                   p->dweight, p->dbias, p->dy + i * parts.y, p->x + i * parts.x,
                                   parts.rows, c->scratch);
    if (p->dinput != NULL)
        add_input_gradient(c, p);
    for (size_t b = 0; p->dextra != NULL && b < c->pass->batch; b++)
        mh_row_add(p->dextra, p->dextra, p->dy + (b * p->places + p->rows) * p->linear.out,
                   p->linear.out);
}

static enum mh_status compute(const struct call *c, struct mh_error *error)
{
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++)
        project(c, &c->in[i]);
    struct mh_attention attention = attention_of(c);
    enum mh_status status = mh_attention_forward(&attention, c->scratch,
                                                 c->scratch_floats * sizeof(float), NULL, error);
    if (status != MH_OK)
        return status;
    backward_output(c);
    backward_attention(c, &attention);
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++)
        backward_projection(c, &c->in[i]);
    return MH_OK;
}

/* ===== The calls ============================================================================ */

static enum mh_status check(const struct mh_multihead_config *config,
                            const struct mh_multihead_pass *pass, struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"config", config}, {"pass", pass}, {0}});
    if (status == MH_OK)
        status = mh_multihead_check(config, error);
    if (status == MH_OK && config->precision != MH_F32)
        status = mh_fail(error, MH_UNSUPPORTED, "precision is %d: a module learns in f32, 0",
                         config->precision);
    return status == MH_OK ? mh_multihead_check_sizes(pass, error) : status;
}

/* What is asked for must be there. */
static enum mh_status check_gradient(const struct mh_multihead_config *config,
                                     const struct mh_multihead_gradient *g, struct mh_error *error)
{
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"gradient", g}, {0}});
    if (status == MH_OK)
        status =
            mh_require(error, (const struct mh_pointer[]){{"gradient->output", g->output}, {0}});
    if (status != MH_OK)
        return status;
    if (config->bias_key == NULL && (g->bias_key != NULL || g->bias_value != NULL))
        return mh_fail(error, MH_ARGUMENT,
                       "the gradient of bias_key or bias_value is asked for: there are none");
    if (config->out.data == NULL && (g->out_weight != NULL || g->out_bias != NULL))
        return mh_fail(error, MH_ARGUMENT,
                       "the gradient of the out-projection is asked for: there is none");
    return MH_OK;
}

enum mh_status mh_multihead_backward_workspace(const struct mh_multihead_config *config,
                                               const struct mh_multihead_pass *pass, size_t *bytes,
                                               struct mh_error *error)
{
    static const struct mh_multihead_gradient none = {0};
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"bytes", bytes}, {0}});
    if (status == MH_OK)
        status = check(config, pass, error);
    if (status != MH_OK)
        return status;
    struct call c = begin(config, pass, &none);
    struct mh_arena arena = mh_arena_plan();
    status = lay_out(&c, &arena, error);
    return status == MH_OK ? mh_arena_planned(&arena, bytes, error) : status;
}

enum mh_status mh_multihead_backward(const struct mh_multihead_config *config,
                                     const struct mh_multihead_pass *pass,
                                     const struct mh_multihead_gradient *gradient, void *workspace,
                                     size_t workspace_bytes, struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"workspace", workspace}, {0}});
    if (status == MH_OK)
        status = check(config, pass, error);
    if (status == MH_OK)
        status = mh_multihead_check_inputs(pass, error);
    if (status == MH_OK)
        status = check_gradient(config, gradient, error);
    if (status != MH_OK)
        return status;
    struct call c = begin(config, pass, gradient);
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    status = lay_out(&c, &arena, error);
    if (status == MH_OK)
        status = mh_arena_check(&arena, error);
    return status == MH_OK ? compute(&c, error) : status;
}
