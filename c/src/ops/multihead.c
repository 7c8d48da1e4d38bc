/* Multi-head attention: in-projections, attention, ablations, out-projection. */
#include "base/arena.h"
#include "base/error.h"
#include "base/size.h"
#include "ops/ablation.h"
#include "ops/attention.h"
#include "ops/guard.h"
#include "ops/multihead_handle.h"
#include "ops/strides.h"

#include <math.h>
#include <string.h>

/* ===== The pass and its workspace =========================================================== */

/* query, key or value as given: [B, rows, width] by strides. */
struct input {
    enum mh_tensor name;
    const float *data;
    size_t rows, width, batch_stride, row_stride;
};

struct scratch {
    struct mh_rows_out projected[MH_IN_PROJECTIONS]; /* [B, H or G, rows, D] */
    float *heads;                                    /* [B, T, E], or NULL: the pass's output */
    uint8_t *uniform_heads;                          /* [H] */
    void *linear;                                    /* scratch of the projections, and, in the */
    void *attention; /* same place, the workspace of the attention itself */
    size_t attention_bytes;
};

struct multihead_call {
    const mh_multihead *m;
    const struct mh_multihead_pass *pass;
    const struct mh_kept_rows *kept; /* may be NULL */
    struct input inputs[MH_IN_PROJECTIONS];
    struct scratch scratch;
    struct mh_report *report;
    struct mh_error *error;
};

static struct multihead_call begin(const mh_multihead *m, const struct mh_multihead_pass *pass,
                                   const struct mh_kept_rows *kept, struct mh_report *report,
                                   struct mh_error *error)
{
    return (struct multihead_call){
        .m = m,
        .pass = pass,
        .kept = kept,
        .inputs =
            {
                {MH_TENSOR_QUERY, pass->query, pass->queries, m->in[MH_IN_QUERY].in,
                 pass->query_batch_stride, pass->query_row_stride},
                {MH_TENSOR_KEY, pass->key, pass->keys, m->in[MH_IN_KEY].in, pass->key_batch_stride,
                 pass->key_row_stride},
                {MH_TENSOR_VALUE, pass->value, pass->keys, m->in[MH_IN_VALUE].in,
                 pass->value_batch_stride, pass->value_row_stride},
            },
        .report = report,
        .error = error,
    };
}

/* Rows before these have been projected, or output, by a pass before. */
static size_t projected_before(const struct multihead_call *call)
{
    return call->kept != NULL ? call->kept->projected_from : 0;
}

static size_t attended_before(const struct multihead_call *call)
{
    return call->kept != NULL ? call->kept->attended_from : 0;
}

static bool same_input(const struct input *a, const struct input *b)
{
    return a->data == b->data && a->rows == b->rows && a->width == b->width &&
           a->batch_stride == b->batch_stride && a->row_stride == b->row_stride;
}

/* Projections first .. end of the same input are computed in one product, and lie side by side in
 * one buffer [B, rows, columns]. */
struct run {
    size_t first, end;
    size_t rows; /* with room for the extra keys if there is a key or value among them */
    size_t columns;
};

static struct run run_from(const struct multihead_call *call, size_t first)
{
    struct run run = {.first = first, .end = first, .rows = call->inputs[first].rows};
    do {
        run.columns = mh_size_add(run.columns, mh_linear_columns(call->m->in[run.end].precision,
                                                                 call->m->in[run.end].out));
        run.end++;
    } while (run.end < MH_IN_PROJECTIONS &&
             same_input(&call->inputs[first], &call->inputs[run.end]));
    if (run.end > MH_IN_KEY)
        run.rows = mh_size_add(run.rows, call->m->extra_keys);
    return run;
}

static void lay_out_projections(struct multihead_call *call, struct mh_arena *arena)
{
    struct run run;
    for (size_t first = 0; first < MH_IN_PROJECTIONS; first = run.end) {
        run = run_from(call, first);
        size_t per_batch = mh_size_mul(run.rows, run.columns);
        float *data = call->kept != NULL
                          ? call->kept->projected
                          : mh_arena_floats(arena, mh_size_mul(call->pass->batch, per_batch));
        for (size_t i = first; i < run.end; i++) {
            call->scratch.projected[i] =
                (struct mh_rows_out){data, per_batch, call->m->head_dim, run.columns};
            if (data != NULL)
                data += mh_linear_columns(call->m->in[i].precision, call->m->in[i].out);
        }
    }
}

/* The attention of this pass, between the projections. */
static struct mh_attention attention_of(const struct multihead_call *call)
{
    const mh_multihead *m = call->m;
    const struct mh_multihead_pass *pass = call->pass;
    const struct mh_rows_out *projected = call->scratch.projected;
    struct mh_attention a = {
        .batch = pass->batch,
        .queries = pass->queries,
        .keys = mh_size_add(pass->keys, m->extra_keys),
        .heads = m->heads,
        .kv_heads = m->kv_heads,
        .head_dim = m->head_dim,
        .value_dim = m->head_dim,
        .output = {pass->output, pass->output_batch_stride, m->head_dim, pass->output_row_stride},
        .scale_mode = pass->scale_mode,
        .scale = pass->scale,
        .mask = pass->mask,
        .dropout = pass->dropout,
        .dropout_seed = pass->dropout_seed,
        .weights = pass->weights,
        .raw_scores = pass->raw_scores,
        .scores = pass->scores,
        .chosen_scores = pass->chosen_scores,
        .row_statistics = pass->row_statistics,
        .head_statistics = pass->head_statistics,
        .check_finite = pass->check_finite,
    };
    struct mh_rows *rows[MH_IN_PROJECTIONS] = {&a.query, &a.key, &a.value};
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++)
        *rows[i] = (struct mh_rows){projected[i].data, projected[i].batch_stride,
                                    projected[i].head_stride, projected[i].row_stride};
    if (m->out.packed != NULL)
        a.output = (struct mh_rows_out){call->scratch.heads, pass->queries * m->embed_dim,
                                        m->head_dim, m->embed_dim};
    a.mask.free_keys = mh_size_add(pass->mask.free_keys, m->extra_keys);
    return a;
}

/* Scratch that the largest of the projections needs. */
static size_t linear_scratch(const struct multihead_call *call)
{
    const struct mh_multihead_pass *pass = call->pass;
    size_t bytes = 0;
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++) {
        size_t rows = mh_size_mul(pass->batch, call->inputs[i].rows);
        bytes = mh_size_max(bytes, mh_linear_scratch(&call->m->in[i], rows));
    }
    size_t rows = mh_size_mul(pass->batch, pass->queries);
    return mh_size_max(bytes, mh_linear_scratch(&call->m->out, rows));
}

static enum mh_status lay_out(struct multihead_call *call, struct mh_arena *arena)
{
    const mh_multihead *m = call->m;
    lay_out_projections(call, arena);
    if (m->out.packed != NULL)
        call->scratch.heads = mh_arena_floats(
            arena, mh_size_mul(mh_size_mul(call->pass->batch, call->pass->queries), m->embed_dim));
    call->scratch.uniform_heads = mh_arena_take(arena, m->heads, 1);
    size_t mark = mh_arena_mark(arena);
    call->scratch.linear = mh_arena_take(arena, linear_scratch(call), 1);
    mh_arena_release(arena, mark);

    struct mh_attention attention = attention_of(call);
    enum mh_status status =
        mh_attention_workspace(&attention, &call->scratch.attention_bytes, call->error);
    if (status == MH_OK)
        call->scratch.attention = mh_arena_take(arena, call->scratch.attention_bytes, 1);
    return status;
}

/* ===== Checks =============================================================================== */

enum mh_status mh_multihead_check_sizes(const struct mh_multihead_pass *pass,
                                        struct mh_error *error)
{
    if (pass->batch != 0 && pass->queries != 0 && pass->keys != 0)
        return MH_OK;
    return mh_fail(error, MH_ARGUMENT, "%s is 0: it must be at least 1",
                   pass->batch == 0     ? "batch"
                   : pass->queries == 0 ? "queries"
                                        : "keys");
}

enum mh_status mh_multihead_check_inputs(const struct mh_multihead_pass *pass,
                                         struct mh_error *error)
{
    enum mh_status status = mh_require(
        error, (const struct mh_pointer[]){
                   {"query", pass->query}, {"key", pass->key}, {"value", pass->value}, {0}});
    if (status == MH_OK && pass->mask.free_keys > pass->keys)
        status = mh_fail(error, MH_SHAPE, "mask.free_keys is %zu, but there are only %zu keys",
                         pass->mask.free_keys, pass->keys);
    return status;
}

static enum mh_status check_pass(const struct multihead_call *call)
{
    const struct mh_multihead_pass *pass = call->pass;
    enum mh_status status = mh_multihead_check_inputs(pass, call->error);
    if (status == MH_OK)
        status =
            mh_require(call->error, (const struct mh_pointer[]){{"output", pass->output}, {0}});
    if (status != MH_OK)
        return status;
    const struct mh_axis axes[] = {
        {"output_batch_stride", pass->batch, pass->output_batch_stride},
        {"output_row_stride", pass->queries, pass->output_row_stride},
    };
    return mh_check_strides(axes, sizeof axes / sizeof *axes, call->m->embed_dim, call->error);
}

static enum mh_status check_ablations(const mh_multihead *m, const struct mh_ablations *ablations,
                                      struct mh_error *error)
{
    for (size_t i = 0; i < ablations->count; i++) {
        const struct mh_ablation *ablation = &ablations->list[i];
        if (ablation->layer != ablations->layer)
            continue;
        if (ablation->head < 0 || (size_t)ablation->head >= m->heads)
            return mh_fail(error, MH_ARGUMENT, "ablations[%zu].head is %d: it must be 0 to %zu", i,
                           ablation->head, m->heads - 1);
        if (ablation->kind < MH_ABLATE_ZERO || ablation->kind > MH_ABLATE_UNIFORM)
            return mh_fail(error, MH_ARGUMENT,
                           "ablations[%zu].kind is %d: it must be 0 (zero), 1 (mean) or 2 "
                           "(uniform)",
                           i, ablation->kind);
    }
    return MH_OK;
}

static enum mh_status check_weights_finite(const struct multihead_call *call)
{
    const struct mh_weight_fault *fault = &call->m->fault;
    if (fault->tensor == NULL)
        return MH_OK;
    call->report->nonfinite_tensor = MH_TENSOR_WEIGHT;
    call->report->nonfinite_index = (uint32_t)fault->index;
    call->report->nonfinite_value = fault->value;
    return mh_fail(call->error, MH_NONFINITE, "%s[%zu] is %g", fault->tensor, fault->index,
                   (double)fault->value);
}

static enum mh_status check_inputs_finite(const struct multihead_call *call)
{
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++) {
        const struct input *input = &call->inputs[i];
        size_t first = projected_before(call);
        const struct mh_tensor_view view = {.name = input->name,
                                            .data = input->data + first * input->row_stride,
                                            .batch = call->pass->batch,
                                            .rows = input->rows - first,
                                            .columns = input->width,
                                            .batch_stride = input->batch_stride,
                                            .row_stride = input->row_stride};
        enum mh_status status = mh_check_finite(&view, call->report, call->error);
        if (status != MH_OK)
            return status;
    }
    return MH_OK;
}

static enum mh_status check_output_finite(const struct multihead_call *call)
{
    const struct mh_multihead_pass *pass = call->pass;
    size_t first = attended_before(call);
    const struct mh_tensor_view view = {.name = MH_TENSOR_OUTPUT,
                                        .data = pass->output + first * pass->output_row_stride,
                                        .batch = pass->batch,
                                        .rows = pass->queries - first,
                                        .columns = call->m->embed_dim,
                                        .batch_stride = pass->output_batch_stride,
                                        .row_stride = pass->output_row_stride};
    return mh_check_finite(&view, call->report, call->error);
}

/* ===== Projections ========================================================================== */

/* [B, rows, columns] by strides. */
struct matrix_rows {
    size_t batch_stride, row_stride;
};

/* One product for all the batch where the rows of both sides follow each other evenly. */
static void project(const struct mh_linear *linear, float *out, struct matrix_rows to,
                    const float *in, struct matrix_rows from, size_t batch, size_t rows,
                    void *scratch)
{
    if (to.batch_stride == rows * to.row_stride && from.batch_stride == rows * from.row_stride) {
        rows *= batch;
        batch = 1;
    }
    for (size_t b = 0; b < batch; b++)
        mh_linear_forward(linear, out + b * to.batch_stride, to.row_stride,
                          in + b * from.batch_stride, from.row_stride, rows, scratch);
}

static void project_inputs(const struct multihead_call *call)
{
    struct run run;
    for (size_t first = 0; first < MH_IN_PROJECTIONS; first = run.end) {
        run = run_from(call, first);
        struct mh_linear together = call->m->in[first];
        together.out = run.columns;
        const struct input *input = &call->inputs[first];
        const struct mh_rows_out *out = &call->scratch.projected[first];
        size_t before = projected_before(call);
        project(&together, out->data + before * out->row_stride,
                (struct matrix_rows){out->batch_stride, out->row_stride},
                input->data + before * input->row_stride,
                (struct matrix_rows){input->batch_stride, input->row_stride}, call->pass->batch,
                input->rows - before, call->scratch.linear);
    }
}

static void put_row(const struct multihead_call *call, size_t which, size_t row, const float *from)
{
    const struct mh_rows_out *projected = &call->scratch.projected[which];
    size_t bytes = call->m->in[which].out * sizeof(float);
    for (size_t b = 0; b < call->pass->batch; b++) {
        float *to = projected->data + b * projected->batch_stride + row * projected->row_stride;
        if (from != NULL)
            memcpy(to, from, bytes);
        else
            memset(to, 0, bytes);
    }
}

/* The learned key and value, then those of zeros, behind the projected ones. */
static void append_extra_keys(const struct multihead_call *call)
{
    const mh_multihead *m = call->m;
    size_t row = call->pass->keys;
    if (m->bias_key != NULL) {
        put_row(call, MH_IN_KEY, row, m->bias_key);
        put_row(call, MH_IN_VALUE, row, m->bias_value);
        row++;
    }
    if (m->add_zero_attention) {
        put_row(call, MH_IN_KEY, row, NULL);
        put_row(call, MH_IN_VALUE, row, NULL);
    }
}

static void project_output(const struct multihead_call *call)
{
    const struct mh_multihead_pass *pass = call->pass;
    size_t width = call->m->embed_dim, before = attended_before(call);
    project(&call->m->out, pass->output + before * pass->output_row_stride,
            (struct matrix_rows){pass->output_batch_stride, pass->output_row_stride},
            call->scratch.heads + before * width,
            (struct matrix_rows){pass->queries * width, width}, pass->batch, pass->queries - before,
            call->scratch.linear);
}

/* ===== Ablations ============================================================================ */

static void mark_uniform_heads(const struct multihead_call *call,
                               const struct mh_ablations *ablations)
{
    memset(call->scratch.uniform_heads, 0, call->m->heads);
    for (size_t i = 0; i < ablations->count; i++) {
        const struct mh_ablation *ablation = &ablations->list[i];
        if (ablation->layer == ablations->layer && ablation->kind == MH_ABLATE_UNIFORM)
            call->scratch.uniform_heads[ablation->head] = 1;
    }
}

/* One column of a head's output, over the rows of one batch element: its mean, or zero. */
static void ablate_column(float *column, size_t rows, size_t stride, int32_t kind)
{
    double sum = 0.0;
    if (kind == MH_ABLATE_MEAN)
        for (size_t t = 0; t < rows; t++)
            sum += (double)column[t * stride];
    for (size_t t = 0; t < rows; t++)
        column[t * stride] = (float)(sum / (double)rows);
}

static void ablate_outputs(const struct mh_attention *a, const struct mh_ablations *ablations)
{
    for (size_t i = 0; i < ablations->count; i++) {
        const struct mh_ablation *ablation = &ablations->list[i];
        if (ablation->layer != ablations->layer || ablation->kind == MH_ABLATE_UNIFORM)
            continue;
        for (size_t b = 0; b < a->batch; b++)
            for (size_t d = 0; d < a->value_dim; d++)
                ablate_column(a->output.data + b * a->output.batch_stride +
                                  (size_t)ablation->head * a->output.head_stride + d,
                              a->queries, a->output.row_stride, ablation->kind);
    }
}

/* ===== The pass ============================================================================= */

size_t mh_multihead_kept_size(const mh_multihead *m, size_t capacity)
{
    size_t columns = 0;
    for (size_t i = 0; i < MH_IN_PROJECTIONS; i++)
        columns = mh_size_add(columns, mh_linear_columns(m->in[i].precision, m->in[i].out));
    return mh_size_mul(mh_size_add(capacity, m->extra_keys), columns);
}

enum mh_status mh_multihead_workspace(const mh_multihead *m, const struct mh_multihead_pass *pass,
                                      size_t *bytes, struct mh_error *error)
{
    enum mh_status status = mh_require(
        error,
        (const struct mh_pointer[]){{"multihead", m}, {"pass", pass}, {"bytes", bytes}, {0}});
    if (status == MH_OK)
        status = mh_multihead_check_sizes(pass, error);
    if (status != MH_OK)
        return status;
    struct mh_arena arena = mh_arena_plan();
    struct multihead_call call = begin(m, pass, NULL, NULL, error);
    status = lay_out(&call, &arena);
    return status == MH_OK ? mh_arena_planned(&arena, bytes, error) : status;
}

/* Attention between the projections, with heads ablated. */
static enum mh_status attend(const struct multihead_call *call,
                             const struct mh_ablations *ablations)
{
    const struct mh_attention_context context = {
        .uniform_heads = call->scratch.uniform_heads,
        .query_name = MH_TENSOR_PROJECTED_QUERY,
        .key_name = MH_TENSOR_PROJECTED_KEY,
        .value_name = MH_TENSOR_PROJECTED_VALUE,
        .kept = call->kept,
    };
    struct mh_attention attention = attention_of(call);
    mark_uniform_heads(call, ablations);
    enum mh_status status =
        mh_attention_run(&attention, &context, call->scratch.attention,
                         call->scratch.attention_bytes, call->report, call->error);
    if (status == MH_OK)
        ablate_outputs(&attention, ablations);
    return status;
}

static enum mh_status compute(const struct multihead_call *call,
                              const struct mh_ablations *ablations)
{
    bool guarded = call->pass->check_finite != 0;
    enum mh_status status = guarded ? check_weights_finite(call) : MH_OK;
    if (status == MH_OK && guarded)
        status = check_inputs_finite(call);
    if (status != MH_OK)
        return status;
    project_inputs(call);
    append_extra_keys(call);
    status = attend(call, ablations);
    if (status != MH_OK || call->m->out.packed == NULL)
        return status;
    project_output(call);
    return guarded ? check_output_finite(call) : MH_OK;
}

enum mh_status mh_multihead_forward_ablated(const mh_multihead *m,
                                            const struct mh_multihead_pass *pass,
                                            const struct mh_ablations *ablations,
                                            const struct mh_kept_rows *kept, void *workspace,
                                            size_t workspace_bytes, struct mh_report *report,
                                            struct mh_error *error)
{
    static const struct mh_ablations none = {0};
    struct mh_report unread;
    report = report != NULL ? report : &unread;
    *report = (struct mh_report){0};
    if (ablations == NULL)
        ablations = &none;

    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){
                              {"multihead", m}, {"pass", pass}, {"workspace", workspace}, {0}});
    if (status == MH_OK)
        status = mh_multihead_check_sizes(pass, error);
    if (status != MH_OK)
        return status;
    struct multihead_call call = begin(m, pass, kept, report, error);
    status = check_pass(&call);
    if (status == MH_OK)
        status = check_ablations(m, ablations, error);
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    if (status == MH_OK)
        status = lay_out(&call, &arena);
    if (status == MH_OK)
        status = mh_arena_check(&arena, error);
    return status == MH_OK ? compute(&call, ablations) : status;
}

enum mh_status mh_multihead_forward(const mh_multihead *m, const struct mh_multihead_pass *pass,
                                    void *workspace, size_t workspace_bytes,
                                    struct mh_report *report, struct mh_error *error)
{
    return mh_multihead_forward_ablated(m, pass, NULL, NULL, workspace, workspace_bytes, report,
                                        error);
}
