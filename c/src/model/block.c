/* One transformer layer: attention and feed-forward, each with its residual, norm and dropout. */
#include "model/block.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "model/feed_forward.h"
#include "model/rows.h"
#include "ops/ablation.h"
#include "ops/dropout.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Rows that go through the feed-forward part at a time, so that its [rows, F] stays in cache. A
 * multiple of the rows of both GEMM tiles. */
#define FFN_ROWS 96

/* With fewer rows for each thread, its layers are better split by columns. */
#define FFN_LEAST_ROWS 12

struct mh_block {
    size_t embed_dim, heads; /* E, H */
    int32_t norm_position;
    mh_multihead *attention;
    struct mh_feed_forward ffn;
    struct mh_norm norm1, norm2;
    float *storage; /* owned: what ffn, norm1 and norm2 point to */
};

/* ===== Creating ============================================================================= */

static enum mh_status check_config(const struct mh_block_config *config, struct mh_error *error)
{
    const struct mh_multihead_config *attention = &config->attention;
    size_t width = attention->embed_dim;
    if (width == 0 || config->ffn_dim == 0)
        return mh_fail(error, MH_ARGUMENT, "embed_dim %zu and ffn_dim %zu must be at least 1",
                       width, config->ffn_dim);
    if ((attention->key_dim != 0 && attention->key_dim != width) ||
        (attention->value_dim != 0 && attention->value_dim != width))
        return mh_fail(error, MH_SHAPE,
                       "a block attends to its own input: key_dim %zu and value_dim %zu must be "
                       "embed_dim %zu, or 0",
                       attention->key_dim, attention->value_dim, width);
    if (config->ffn_in.data == NULL || config->ffn_out.data == NULL)
        return mh_fail(error, MH_ARGUMENT, "ffn_in and ffn_out must have data");
    if (config->norm1.weight == NULL || config->norm2.weight == NULL)
        return mh_fail(error, MH_ARGUMENT, "norm1 and norm2 must have a weight");
    if (config->activation < MH_ACTIVATION_GELU || config->activation > MH_ACTIVATION_RELU)
        return mh_fail(error, MH_ARGUMENT, "activation %d is not in 0..%d", config->activation,
                       MH_ACTIVATION_RELU);
    if (config->norm_position != MH_NORM_PRE && config->norm_position != MH_NORM_POST)
        return mh_fail(error, MH_ARGUMENT, "norm_position %d is not 0 (before) or 1 (after)",
                       config->norm_position);
    if (!(config->norm_epsilon > 0 && isfinite(config->norm_epsilon)))
        return mh_fail(error, MH_ARGUMENT,
                       "norm_epsilon %g must be above 0 and finite: 1e-5 is usual",
                       (double)config->norm_epsilon);
    return MH_OK;
}

/* Where a block keeps its own copies of weights. */
struct storage {
    float *in_packed, *in_bias, *out_packed, *out_bias;
    float *norm_weight[2], *norm_bias[2];
};

static struct storage lay_out_storage(struct mh_arena *arena, int32_t precision, size_t embed_dim,
                                      size_t ffn_dim)
{
    struct storage storage;
    storage.in_packed =
        mh_arena_floats(arena, mh_linear_packed_size(precision, embed_dim, ffn_dim));
    storage.in_bias = mh_arena_floats(arena, mh_linear_columns(precision, ffn_dim));
    storage.out_packed =
        mh_arena_floats(arena, mh_linear_packed_size(precision, ffn_dim, embed_dim));
    storage.out_bias = mh_arena_floats(arena, mh_linear_columns(precision, embed_dim));
    for (int i = 0; i < 2; i++) {
        storage.norm_weight[i] = mh_arena_floats(arena, embed_dim);
        storage.norm_bias[i] = mh_arena_floats(arena, embed_dim);
    }
    return storage;
}

static struct mh_norm copy_norm(const struct mh_norm_weights *from, float epsilon, float *weight,
                                float *bias, size_t width)
{
    memcpy(weight, from->weight, width * sizeof *weight);
    if (from->bias != NULL)
        memcpy(bias, from->bias, width * sizeof *bias);
    else
        memset(bias, 0, width * sizeof *bias);
    return (struct mh_norm){.weight = weight, .bias = bias, .epsilon = epsilon};
}

/* The block's copies of everything but the attention. */
static enum mh_status store_weights(mh_block *block, const struct mh_block_config *config,
                                    struct mh_error *error)
{
    size_t width = config->attention.embed_dim, ffn_dim = config->ffn_dim, bytes;
    int32_t precision = config->attention.precision;
    struct mh_arena plan = mh_arena_plan();
    lay_out_storage(&plan, precision, width, ffn_dim);
    enum mh_status status = mh_arena_planned(&plan, &bytes, error);
    if (status != MH_OK)
        return status;
    block->storage = malloc(bytes);
    if (block->storage == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for %zu bytes of weights", bytes);

    struct mh_arena arena = mh_arena_over(block->storage, bytes);
    struct storage to = lay_out_storage(&arena, precision, width, ffn_dim);
    block->ffn = (struct mh_feed_forward){
        .in = mh_linear_pack(precision, &config->ffn_in, width, ffn_dim, to.in_packed, to.in_bias),
        .out =
            mh_linear_pack(precision, &config->ffn_out, ffn_dim, width, to.out_packed, to.out_bias),
        .activation = config->activation,
    };
    block->norm1 =
        copy_norm(&config->norm1, config->norm_epsilon, to.norm_weight[0], to.norm_bias[0], width);
    block->norm2 =
        copy_norm(&config->norm2, config->norm_epsilon, to.norm_weight[1], to.norm_bias[1], width);
    return MH_OK;
}

enum mh_status mh_block_create(mh_block **out, const struct mh_block_config *config,
                               struct mh_error *error)
{
    if (out == NULL)
        return mh_fail(error, MH_ARGUMENT, "out is NULL");
    *out = NULL;
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"config", config}, {0}});
    if (status == MH_OK)
        status = check_config(config, error);
    if (status != MH_OK)
        return status;
    mh_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for a block");
    block->embed_dim = config->attention.embed_dim;
    block->heads = config->attention.heads;
    block->norm_position = config->norm_position;
    status = mh_linear_check(config->attention.precision, config->ffn_dim, error);
    if (status == MH_OK)
        status = mh_multihead_create(&block->attention, &config->attention, error);
    if (status == MH_OK)
        status = store_weights(block, config, error);
    if (status != MH_OK) {
        mh_block_free(block);
        return status;
    }
    *out = block;
    return MH_OK;
}

void mh_block_free(mh_block *block)
{
    if (block == NULL)
        return;
    mh_multihead_free(block->attention);
    free(block->storage);
    free(block);
}

/* ===== Workspace ============================================================================ */

struct scratch {
    float *normed;   /* [B * T, E], with pre-norm */
    float *branch;   /* [B * T, E] */
    void *attention; /* the workspace of the attention */
    size_t attention_bytes;
    size_t ffn_threads, ffn_rows;
    struct ffn_scratch
        *ffn; /* [ffn_threads]; what it points to is in the same place as attention */
};

struct ffn_scratch {
    float *normed; /* [ffn_rows, E] */
    float *hidden; /* [ffn_rows, F] */
    float *out;    /* [ffn_rows, E] */
    void *linear;  /* of its linear layers */
};

/* How the feed-forward part is cut into tasks of rows. */
static void cut_feed_forward(const mh_block *block, size_t rows, struct scratch *scratch)
{
    size_t products = mh_size_mul(mh_size_mul(2 * block->ffn.in.out, block->embed_dim), rows);
    size_t tasks = mh_parallel_worth(products);
    bool split = tasks > 1 && rows / FFN_LEAST_ROWS >= tasks;
    scratch->ffn_threads = split ? mh_parallel_threads() : 1;
    scratch->ffn_rows = mh_size_min(rows, FFN_ROWS);
    if (split) { /* as many tasks for every thread */
        size_t fewest = (rows - 1) / FFN_ROWS + 1;
        scratch->ffn_rows = mh_parallel_part(rows, (fewest + tasks - 1) / tasks * tasks, 4);
    }
}

static void lay_out_feed_forward(const mh_block *block, struct mh_arena *arena,
                                 struct scratch *scratch)
{
    size_t width = block->embed_dim, inner = block->ffn.in.out;
    for (size_t t = 0; t < scratch->ffn_threads; t++) {
        struct ffn_scratch one = {
            .normed = mh_arena_floats(arena, mh_size_mul(scratch->ffn_rows, width)),
            .hidden = mh_arena_floats(arena, mh_size_mul(scratch->ffn_rows, inner)),
            .out = mh_arena_floats(arena, mh_size_mul(scratch->ffn_rows, width)),
            .linear =
                mh_arena_take(arena, mh_feed_forward_scratch(&block->ffn, scratch->ffn_rows), 1),
        };
        if (scratch->ffn != NULL)
            scratch->ffn[t] = one;
    }
}

static struct mh_multihead_pass attention_pass(const mh_block *block,
                                               const struct mh_block_pass *pass, const float *x,
                                               float *branch)
{
    size_t row = block->embed_dim, batch = mh_size_mul(pass->length, row);
    return (struct mh_multihead_pass){
        .batch = pass->batch,
        .queries = pass->length,
        .keys = pass->length,
        .query = x,
        .key = x,
        .value = x,
        .query_batch_stride = batch,
        .query_row_stride = row,
        .key_batch_stride = batch,
        .key_row_stride = row,
        .value_batch_stride = batch,
        .value_row_stride = row,
        .output = branch,
        .output_batch_stride = batch,
        .output_row_stride = row,
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
}

static enum mh_status lay_out(const mh_block *block, const struct mh_block_pass *pass,
                              struct mh_arena *arena, struct scratch *scratch,
                              struct mh_error *error)
{
    if (pass->batch == 0 || pass->length == 0)
        return mh_fail(error, MH_ARGUMENT, "batch %zu and length %zu must be at least 1",
                       pass->batch, pass->length);
    struct mh_multihead_pass attention = attention_pass(block, pass, pass->input, pass->output);
    enum mh_status status =
        mh_multihead_workspace(block->attention, &attention, &scratch->attention_bytes, error);
    if (status != MH_OK)
        return status;

    size_t rows = mh_size_mul(pass->batch, pass->length);
    size_t floats = mh_size_mul(rows, block->embed_dim);
    bool pre = block->norm_position == MH_NORM_PRE;
    scratch->normed = pre ? mh_arena_floats(arena, floats) : NULL;
    scratch->branch = mh_arena_floats(arena, floats);
    cut_feed_forward(block, rows, scratch);
    scratch->ffn = mh_arena_take(arena, scratch->ffn_threads, sizeof *scratch->ffn);
    size_t mark = mh_arena_mark(arena);
    scratch->attention = mh_arena_take(arena, scratch->attention_bytes, 1);
    mh_arena_release(arena, mark);
    lay_out_feed_forward(block, arena, scratch);
    return MH_OK;
}

enum mh_status mh_block_workspace(const mh_block *block, const struct mh_block_pass *pass,
                                  size_t *bytes, struct mh_error *error)
{
    enum mh_status status = mh_require(
        error,
        (const struct mh_pointer[]){{"block", block}, {"pass", pass}, {"bytes", bytes}, {0}});
    if (status != MH_OK)
        return status;
    struct mh_arena arena = mh_arena_plan();
    struct scratch scratch;
    status = lay_out(block, pass, &arena, &scratch, error);
    return status == MH_OK ? mh_arena_planned(&arena, bytes, error) : status;
}

/* ===== Forward ============================================================================== */

/* The residual branches drop as if they were two more heads, so that no two dropouts of a pass
 * share a stream. */
enum branch { ATTENTION_BRANCH, FFN_BRANCH };

static void drop_branch(const mh_block *block, const struct mh_block_pass *pass, enum branch branch,
                        float *x, size_t row)
{
    if (pass->dropout == 0.0f)
        return;
    uint64_t stream = mh_random_stream(pass->dropout_seed, row / pass->length,
                                       block->heads + (size_t)branch, row % pass->length);
    mh_dropout_row(x, 0, block->embed_dim, pass->dropout, stream);
}

/* The first row whose output is to be computed. */
static size_t attended_before(const struct mh_kept_rows *kept)
{
    return kept != NULL ? kept->attended_from : 0;
}

static enum mh_status attend(const mh_block *block, const struct mh_block_pass *pass,
                             const struct mh_kept_rows *kept, const struct scratch *scratch,
                             struct mh_report *report, struct mh_error *error)
{
    const float *x = pass->input;
    if (block->norm_position == MH_NORM_PRE) {
        size_t width = block->embed_dim, first = kept != NULL ? kept->projected_from : 0;
        mh_norm_rows(&block->norm1, scratch->normed + first * width, x + first * width,
                     pass->batch * pass->length - first, width);
        x = scratch->normed;
    }
    struct mh_multihead_pass attention = attention_pass(block, pass, x, scratch->branch);
    struct mh_ablations ablations = {
        .list = pass->ablations, .count = pass->ablation_count, .layer = pass->layer};
    return mh_multihead_forward_ablated(block->attention, &attention, &ablations, kept,
                                        scratch->attention, scratch->attention_bytes, report,
                                        error);
}

/* output = input + dropout(branch), and LN1 of it with post-norm, from row `first` on. */
static void add_attention(const mh_block *block, const struct mh_block_pass *pass, float *branch,
                          size_t first)
{
    size_t width = block->embed_dim, rows = pass->batch * pass->length;
    for (size_t r = first; r < rows; r++) {
        drop_branch(block, pass, ATTENTION_BRANCH, branch + r * width, r);
        mh_row_add(pass->output + r * width, pass->input + r * width, branch + r * width, width);
    }
    float *output = pass->output + first * width;
    if (block->norm_position == MH_NORM_POST)
        mh_norm_rows(&block->norm1, output, output, rows - first, width);
}

/* output = output + dropout(ffn(LN2(output))), or LN2(output + dropout(ffn(output))), for `rows`
 * rows from `first` on. */
static void add_feed_forward(const mh_block *block, const struct mh_block_pass *pass,
                             const struct ffn_scratch *scratch, size_t first, size_t rows)
{
    size_t width = block->embed_dim;
    float *output = pass->output + first * width;
    bool pre = block->norm_position == MH_NORM_PRE;
    if (pre)
        mh_norm_rows(&block->norm2, scratch->normed, output, rows, width);
    mh_feed_forward_rows(&block->ffn, scratch->out, pre ? scratch->normed : output, scratch->hidden,
                         rows, scratch->linear);
    for (size_t r = 0; r < rows; r++) {
        float *branch = scratch->out + r * width;
        drop_branch(block, pass, FFN_BRANCH, branch, first + r);
        mh_row_add(output + r * width, output + r * width, branch, width);
    }
    if (!pre)
        mh_norm_rows(&block->norm2, output, output, rows, width);
}

struct ffn_job {
    const mh_block *block;
    const struct mh_block_pass *pass;
    const struct scratch *scratch;
    size_t begin, end; /* rows */
};

static void feed_forward_task(void *context, size_t index, size_t thread)
{
    const struct ffn_job *job = context;
    size_t most = job->scratch->ffn_rows, first = job->begin + index * most;
    add_feed_forward(job->block, job->pass, &job->scratch->ffn[thread], first,
                     mh_size_min(most, job->end - first));
}

/* The whole feed-forward part, some rows at a time. */
static void feed_forward(const mh_block *block, const struct mh_block_pass *pass,
                         const struct scratch *scratch, size_t begin, size_t end)
{
    struct ffn_job job = {block, pass, scratch, begin, end};
    size_t each = mh_size_max(scratch->ffn_rows, 1); /* as it is: a pass has rows */
    size_t tasks = (end - begin + each - 1) / each;
    if (scratch->ffn_threads > 1)
        mh_parallel_for(tasks, feed_forward_task, &job);
    else
        for (size_t i = 0; i < tasks; i++)
            feed_forward_task(&job, i, 0);
}

static enum mh_status check_hidden(const mh_block *block, const struct mh_block_pass *pass,
                                   const float *x, size_t first, struct mh_report *report,
                                   struct mh_error *error)
{
    return pass->check_finite
               ? mh_check_rows(MH_TENSOR_HIDDEN, x + first * block->embed_dim, pass->batch,
                               pass->length - first, block->embed_dim, report, error)
               : MH_OK;
}

static enum mh_status run(const mh_block *block, const struct mh_block_pass *pass,
                          const struct mh_kept_rows *kept, struct scratch *scratch,
                          struct mh_report *report, struct mh_error *error)
{
    size_t read = kept != NULL ? kept->projected_from : 0, rows = pass->batch * pass->length;
    enum mh_status status = check_hidden(block, pass, pass->input, read, report, error);
    if (status == MH_OK)
        status = attend(block, pass, kept, scratch, report, error);
    if (status != MH_OK)
        return status;
    size_t begin = attended_before(kept);
    add_attention(block, pass, scratch->branch, begin);
    feed_forward(block, pass, scratch, begin, rows);
    return check_hidden(block, pass, pass->output, begin, report, error);
}

size_t mh_block_kept_size(const mh_block *block, size_t capacity)
{
    return mh_multihead_kept_size(block->attention, capacity);
}

enum mh_status mh_block_forward(const mh_block *block, const struct mh_block_pass *pass,
                                void *workspace, size_t workspace_bytes, struct mh_report *report,
                                struct mh_error *error)
{
    return mh_block_forward_kept(block, pass, NULL, workspace, workspace_bytes, report, error);
}

enum mh_status mh_block_forward_kept(const mh_block *block, const struct mh_block_pass *pass,
                                     const struct mh_kept_rows *kept, void *workspace,
                                     size_t workspace_bytes, struct mh_report *report,
                                     struct mh_error *error)
{
    struct mh_report unread;
    report = report != NULL ? report : &unread;
    *report = (struct mh_report){0};
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){
                              {"block", block}, {"pass", pass}, {"workspace", workspace}, {0}});
    if (status == MH_OK)
        status = mh_require(error, (const struct mh_pointer[]){
                                       {"input", pass->input}, {"output", pass->output}, {0}});
    if (status != MH_OK)
        return status;
    if (pass->ablations == NULL && pass->ablation_count > 0)
        return mh_fail(error, MH_ARGUMENT, "ablation_count is %zu, but ablations is NULL",
                       pass->ablation_count);
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    struct scratch scratch;
    status = lay_out(block, pass, &arena, &scratch, error);
    if (status == MH_OK)
        status = mh_arena_check(&arena, error);
    if (status == MH_OK)
        status = run(block, pass, kept, &scratch, report, error);
    return status;
}
