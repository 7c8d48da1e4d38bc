/* Scaled dot-product attention.
 *
 * K (transposed) and V of one key/value head are packed once. Then a few query rows at a time go
 * all the way, so that their scores stay in cache and memory is linear in S:
 *
 *     products     rows [R, S] = Q Kᵀ, over the keys that geometry lets any of the rows see
 *     each row     scale, mask, softmax over its own keys, dropout
 *     output       rows V, over the same keys
 *
 * A row's sums run over its own ranges of keys (see mask.h), one range after the other, whatever
 * rows are computed beside it: the same bits for one query or a thousand. */
#include "ops/attention.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "ops/attention_guard.h"
#include "ops/dropout.h"
#include "ops/maps_out.h"
#include "ops/mask.h"
#include "ops/masked_row.h"
#include "ops/statistics.h"

#include <math.h>
#include <string.h>

/* Query rows per block: several tiles of the product, so that a panel of keys or values is used
 * while it is in L1. */
enum { BLOCK_ROWS = 4 * MH_GEMM_ROWS };

struct scratch {
    float *keys;                   /* Kᵀ of one head, packed [D, S] */
    float *values;                 /* V of one head, packed [S, DV] */
    float *rows;                   /* [BLOCK_ROWS, S]: scores, then weights */
    float *part;                   /* [BLOCK_ROWS, DV]: the output's sum over one range of keys */
    float *scores;                 /* [S]: one row as the caller knows it */
    struct mh_row_record *records; /* [T] of one head, if statistics are wanted */
};

static bool wants_statistics(const struct mh_attention *a)
{
    return a->row_statistics != NULL || a->head_statistics != NULL;
}

/* `with` is the scratch of another thread that works on the same head; or NULL. */
static struct scratch lay_out(struct mh_arena *arena, const struct mh_attention *a,
                              const struct scratch *with)
{
    /* mh_packed_size cannot be asked before we know that it does not wrap. */
    size_t keys = mh_size_add(a->keys, MH_GEMM_COLUMNS);
    size_t values = mh_size_add(a->value_dim, MH_GEMM_COLUMNS);
    return (struct scratch){
        .keys = with ? with->keys : mh_arena_floats(arena, mh_size_mul(keys, a->head_dim)),
        .values = with ? with->values : mh_arena_floats(arena, mh_size_mul(values, a->keys)),
        .rows = mh_arena_floats(arena, mh_size_mul(BLOCK_ROWS, a->keys)),
        .part = mh_arena_floats(arena, mh_size_mul(BLOCK_ROWS, a->value_dim)),
        .scores = mh_arena_floats(arena, a->keys),
        .records = with ? with->records
                        : mh_arena_take(arena, wants_statistics(a) ? a->queries : 0,
                                        sizeof(struct mh_row_record)),
    };
}

float mh_scale_of(int32_t mode, float given, size_t head_dim)
{
    switch (mode) {
    case MH_SCALE_GIVEN:
        return given;
    case MH_SCALE_NONE:
        return 1.0f;
    default:
        return 1.0f / sqrtf((float)head_dim);
    }
}

/* ===== What the stages share ================================================================ */

struct pass {
    const struct mh_attention *a;
    const struct mh_attention_context *context;
    struct scratch scratch;
    float scale;  /* as the caller asked */
    float factor; /* the part of it that is left for the exponential, > 0 */
    struct mh_report *report;
    struct mh_error *error;
    struct shares *by_rows; /* who else takes rows of each head; NULL: nobody */
};

/* Rows first .. first + count of one head: the unit of work. */
struct row_block {
    size_t b, h, first, count;
    struct mh_range unpadded;
    struct mh_key_ranges hull;     /* the keys that geometry lets any of the rows see */
    float *rows;                   /* [count, S]: products, then the numerators of the weights */
    float reciprocals[BLOCK_ROWS]; /* weights = numerators * reciprocal of the row */
    bool output;                   /* false: the rows are computed only to be shown */
    struct mh_row_record *records; /* [T] of the head; NULL: no statistics are wanted */
};

/* Rows that a session has from the passes before. */
static size_t attended_before(const struct pass *pass)
{
    return pass->context->kept != NULL ? pass->context->kept->attended_from : 0;
}

static size_t described_before(const struct pass *pass)
{
    return pass->context->kept != NULL ? pass->context->kept->described_from : 0;
}

static struct mh_row_record *records_of_head(const struct pass *pass, size_t h)
{
    const struct mh_kept_rows *kept = pass->context->kept;
    if (!wants_statistics(pass->a))
        return NULL;
    return kept != NULL ? kept->records + h * kept->capacity : pass->scratch.records;
}

/* Is the row's record to be made? */
static bool described(const struct pass *pass, const struct row_block *block, size_t r)
{
    return block->records != NULL && block->first + r >= described_before(pass);
}

/* ===== Products ============================================================================= */

/* Columns [begin, end) of Q Kᵀ for the block's rows; a few columns before begin come with them. */
static void multiply_by_keys(const struct pass *pass, const struct row_block *block, float *out,
                             struct mh_range keys)
{
    const struct mh_attention *a = pass->a;
    const float *query = a->query.data + block->b * a->query.batch_stride +
                         block->h * a->query.head_stride + block->first * a->query.row_stride;
    size_t panel = keys.begin - keys.begin % MH_GEMM_COLUMNS;
    if (mh_range_length(keys) > 0)
        mh_gemm(out, a->keys, query, a->query.row_stride, pass->scratch.keys, NULL, block->count,
                a->keys, a->head_dim, panel, keys.end);
}

static void compute_products(const struct pass *pass, const struct row_block *block)
{
    const struct mh_attention *a = pass->a;
    if (mh_wants_raw_scores(a, block->b, block->h, block->first,
                            block->count)) { /* hidden keys too */
        multiply_by_keys(pass, block, block->rows, (struct mh_range){0, a->keys});
        for (size_t r = 0; r < block->count; r++)
            mh_put_raw_scores(a, block->b, block->h, block->first + r, block->rows + r * a->keys);
        return;
    }
    for (size_t r = 0; r < MH_KEY_RANGES; r++)
        multiply_by_keys(pass, block, block->rows, block->hull.of[r]);
}

/* ===== One row: scale, mask, softmax, dropout =============================================== */

static void drop_out(const struct mh_attention *a, const struct row_block *block, size_t i,
                     float *x, const struct mh_key_ranges *ranges)
{
    if (a->dropout == 0.0f)
        return;
    uint64_t stream = mh_random_stream(a->dropout_seed, block->b, block->h, i);
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range range = ranges->of[r];
        mh_dropout_row(x + range.begin, range.begin, mh_range_length(range), a->dropout, stream);
    }
}

/* Scores as the caller knows them, scaled, in a row of their own: x [S] goes on as it is. */
static void hand_out_scores(const struct pass *pass, struct row_block *block, size_t r,
                            const float *x, const struct mh_mask_row *mask)
{
    const struct mh_attention *a = pass->a;
    size_t i = block->first + r;
    bool wanted = mh_wants_scores(a, block->b, block->h, i);
    if (!wanted && !described(pass, block, r))
        return;
    float *scores = pass->scratch.scores;
    mh_row_copy(scores, x, a->keys, &mask->ranges, -INFINITY);
    mh_row_scale_ranges(scores, &mask->ranges, pass->factor);
    if (wanted)
        mh_put_scores(a, block->b, block->h, i, scores);
    if (described(pass, block, r))
        mh_record_scores(&block->records[i], scores, mask);
}

/* ===== Output =============================================================================== */

/* sum [DV] = weights V over a range of keys, leaving out those whose weight is zero. Each run of
 * the others goes on from the sum of the runs before it, as the bias of its product, so that the
 * bits are those of one product in which the zeros met numbers. */
static void sum_seen_values(const struct pass *pass, const float *weights, struct mh_range keys,
                            float *sum, float *sum_before)
{
    const struct mh_attention *a = pass->a;
    memset(sum, 0, a->value_dim * sizeof *sum);
    for (size_t j = keys.begin; j < keys.end;) {
        size_t begin = j;
        while (j < keys.end && weights[j] != 0.0f) /* NaN too */
            j++;
        if (j == begin) {
            j++;
            continue;
        }
        memcpy(sum_before, sum, a->value_dim * sizeof *sum);
        mh_gemm_range(sum, a->value_dim, weights, a->keys, pass->scratch.values, sum_before, 1,
                      a->value_dim, a->keys, 0, a->value_dim, begin, j);
    }
}

/* The output of one row without the products of weights that are zero. A hidden key must have no
 * influence at all, but in the block's product its value meets a zero weight, and 0 * NaN is NaN:
 * a row that came out NaN or infinite is done again here. */
static void output_row_carefully(const struct pass *pass, const struct row_block *block,
                                 const float *weights, float *out)
{
    size_t width = pass->a->value_dim;
    float *sum = pass->scratch.part, *sum_before = sum + width;
    memset(out, 0, width * sizeof *out);
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        sum_seen_values(pass, weights, block->hull.of[r], sum, sum_before);
        mh_row_add(out, out, sum, width);
    }
}

static bool is_finite(const float *x, size_t n)
{
    return mh_row_first_nonfinite(x, n) == n;
}

/* From the sum of numerators times values to that of weights times values. Where the former overflows, as it may
 * for values near the largest float, the weights come first. */
static void finish_output_row(const struct pass *pass, struct row_block *block, size_t row,
                              float *out)
{
    size_t width = pass->a->value_dim;
    float *x = block->rows + row * pass->a->keys;
    if (!is_finite(out, width))
        output_row_carefully(pass, block, x, out);
    if (!is_finite(out, width)) {
        mh_row_scale_ranges(x, &block->hull, block->reciprocals[row]);
        block->reciprocals[row] = 1.0f;
        output_row_carefully(pass, block, x, out);
    }
    mh_row_scale(out, out, block->reciprocals[row], width);
}

/* One range after the other, each summed by itself; then each row by its reciprocal. */
static void compute_output(const struct pass *pass, struct row_block *block)
{
    const struct mh_attention *a = pass->a;
    size_t stride = a->output.row_stride;
    float *out = a->output.data + block->b * a->output.batch_stride +
                 block->h * a->output.head_stride + block->first * stride;
    bool begun = false;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range keys = block->hull.of[r];
        if (mh_range_length(keys) == 0)
            continue;
        mh_gemm_range(begun ? pass->scratch.part : out, begun ? a->value_dim : stride, block->rows,
                      a->keys, pass->scratch.values, NULL, block->count, a->value_dim, a->keys, 0,
                      a->value_dim, keys.begin, keys.end);
        for (size_t row = 0; begun && row < block->count; row++)
            mh_row_add(out + row * stride, out + row * stride,
                       pass->scratch.part + row * a->value_dim, a->value_dim);
        begun = true;
    }
    for (size_t row = 0; row < block->count; row++, out += stride) {
        if (!begun)
            memset(out, 0, a->value_dim * sizeof *out);
        finish_output_row(pass, block, row, out);
    }
}

/* ===== The pass ============================================================================= */

/* From products to numerators, for query i = block->first + r: scale, mask, exponential, dropout. */
static enum mh_status weigh_row(const struct pass *pass, struct row_block *block, size_t r,
                                const struct mh_mask_row *mask)
{
    const struct mh_attention *a = pass->a;
    size_t i = block->first + r;
    float *x = block->rows + r * a->keys;
    const struct mh_key_ranges *ranges = &mask->ranges;

    if (pass->factor != pass->scale)
        mh_row_scale_ranges(x, ranges, pass->scale);
    /* What is finite before it is masked stays so, a bias aside. */
    bool finite =
        a->check_finite == 0 || (a->mask.bias == NULL && mh_attention_row_is_finite(x, ranges));
    mh_mask_apply(mask, x);
    if (pass->context->uniform_heads != NULL && pass->context->uniform_heads[block->h] != 0)
        mh_row_level(x, ranges);
    hand_out_scores(pass, block, r, x, mask);
    if (!finite) {
        enum mh_status status = mh_attention_check_scores(a, block->b, block->h, i, x, pass->factor,
                                                          mask, pass->report, pass->error);
        if (status != MH_OK)
            return status;
    }
    bool sees = mh_row_exp_ranges(x, ranges, pass->factor, &block->reciprocals[r]);
    pass->report->masked_rows += !sees;
    if (pass->context->kept != NULL)
        pass->context->kept->blind[block->h * pass->context->kept->capacity + i] = !sees;
    drop_out(a, block, i, x, ranges);
    /* Its neighbours in the block may see keys that this row does not. */
    for (size_t k = 0; k < MH_KEY_RANGES; k++)
        mh_row_fill_outside(x, block->hull.of[k].begin, block->hull.of[k].end, ranges, 0.0f);
    return MH_OK;
}

static struct mh_mask_row mask_of_row(const struct pass *pass, const struct row_block *block,
                                      size_t r)
{
    return mh_mask_row(&pass->a->mask, block->unpadded, block->b, block->h, block->first + r,
                       pass->a->keys);
}

/* The output has been computed: x [S] may become weights. */
static void hand_out_weights(const struct pass *pass, struct row_block *block, size_t r)
{
    const struct mh_attention *a = pass->a;
    size_t i = block->first + r;
    float *x = block->rows + r * a->keys;
    if (a->weights.mode == MH_WEIGHTS_NONE && !described(pass, block, r))
        return;
    struct mh_mask_row mask = mask_of_row(pass, block, r);
    if (described(pass, block, r)) {
        mh_row_scale_ranges(x, &mask.ranges, block->reciprocals[r]);
        block->reciprocals[r] = 1.0f;
        mh_record_weights(&block->records[i], x, &mask.ranges, &mask,
                          (int64_t)i + a->mask.query_offset);
    }
    mh_put_weights(a, block->b, block->h, i, x, &mask.ranges, block->reciprocals[r]);
}

/* Of one head, all of whose rows have their records. */
static void hand_out_statistics(const struct mh_attention *a, size_t b, size_t h,
                                const struct mh_row_record *records)
{
    struct mh_head_sums sums = {0};
    size_t head = b * a->heads + h;
    for (size_t i = 0; i < a->queries; i++) {
        mh_head_add(&sums, &records[i]);
        if (a->row_statistics != NULL)
            memcpy(a->row_statistics + (head * a->queries + i) * MH_ROW_STATISTICS,
                   records[i].numbers, sizeof records[i].numbers);
    }
    if (a->head_statistics != NULL)
        mh_head_describe(a->head_statistics + head * MH_HEAD_STATISTICS, &sums, a->queries);
}

static enum mh_status attend_block(const struct pass *pass, struct row_block *block)
{
    compute_products(pass, block);
    for (size_t r = 0; r < block->count; r++) {
        struct mh_mask_row mask = mask_of_row(pass, block, r);
        enum mh_status status = weigh_row(pass, block, r, &mask);
        if (status != MH_OK)
            return status;
    }
    if (block->output)
        compute_output(pass, block);
    for (size_t r = 0; r < block->count; r++)
        hand_out_weights(pass, block, r);
    return MH_OK;
}

/* Is anything of these queries wanted besides their output? */
static bool shows_any(const struct pass *pass, size_t b, size_t h, struct mh_range queries)
{
    return (wants_statistics(pass->a) && queries.end > described_before(pass)) ||
           mh_wants_maps(pass->a, b, h, queries);
}

/* Some queries of one head, a few at a time. */
static enum mh_status attend_rows(const struct pass *pass, size_t b, size_t h,
                                  struct mh_range unpadded, struct mh_range queries, bool output)
{
    const struct mh_attention *a = pass->a;
    for (size_t first = queries.begin; first < queries.end; first += BLOCK_ROWS) {
        size_t count = mh_size_min(BLOCK_ROWS, queries.end - first);
        if (!output && !shows_any(pass, b, h, (struct mh_range){first, first + count}))
            continue;
        struct row_block block = {
            .b = b,
            .h = h,
            .first = first,
            .count = count,
            .unpadded = unpadded,
            .hull = mh_mask_ranges(&a->mask, unpadded, first, first + count - 1, a->keys),
            .rows = pass->scratch.rows,
            .output = output,
            .records = records_of_head(pass, h),
        };
        enum mh_status status = attend_block(pass, &block);
        if (status != MH_OK)
            return status;
    }
    return MH_OK;
}

/* Some queries of one head, whether or not a session has their output from before. */
static enum mh_status attend_queries(const struct pass *pass, size_t b, size_t h,
                                     struct mh_range unpadded, struct mh_range queries)
{
    size_t split = mh_size_max(queries.begin, mh_size_min(queries.end, attended_before(pass)));
    enum mh_status status =
        attend_rows(pass, b, h, unpadded, (struct mh_range){queries.begin, split}, false);
    return status == MH_OK
               ? attend_rows(pass, b, h, unpadded, (struct mh_range){split, queries.end}, true)
               : status;
}

static enum mh_status share_queries(struct shares *shares, size_t b, size_t h,
                                    struct mh_range unpadded);

static enum mh_status attend_head(const struct pass *pass, size_t b, size_t h,
                                  struct mh_range unpadded)
{
    enum mh_status status =
        pass->by_rows != NULL
            ? share_queries(pass->by_rows, b, h, unpadded)
            : attend_queries(pass, b, h, unpadded, (struct mh_range){0, pass->a->queries});
    if (status == MH_OK && wants_statistics(pass->a))
        hand_out_statistics(pass->a, b, h, records_of_head(pass, h));
    return status;
}

static void pack_head(const struct pass *pass, size_t b, size_t g)
{
    const struct mh_attention *a = pass->a;
    mh_pack(pass->scratch.keys, a->key.data + b * a->key.batch_stride + g * a->key.head_stride,
            a->head_dim, a->keys, 1, a->key.row_stride);
    mh_pack(pass->scratch.values,
            a->value.data + b * a->value.batch_stride + g * a->value.head_stride, a->keys,
            a->value_dim, a->value.row_stride, 1);
}

static bool group_shows_any(const struct pass *pass, size_t b, size_t g)
{
    const struct mh_attention *a = pass->a;
    size_t group = a->heads / a->kv_heads;
    for (size_t h = g * group; h < (g + 1) * group; h++)
        if (shows_any(pass, b, h, (struct mh_range){0, a->queries}))
            return true;
    return false;
}

/* One key/value head with all the query heads that read it. Units differ in scratch alone: any of them
 * may be computed without the others, but a mean over heads adds up in the order of heads. */
static enum mh_status attend_unit(const struct pass *pass, size_t b, size_t g)
{
    const struct mh_attention *a = pass->a;
    struct mh_range unpadded = mh_mask_unpadded(&a->mask, b, a->keys);
    size_t group = a->heads / a->kv_heads;
    if (attended_before(pass) < a->queries || group_shows_any(pass, b, g))
        pack_head(pass, b, g);
    for (size_t h = g * group; h < (g + 1) * group; h++) {
        enum mh_status status = attend_head(pass, b, h, unpadded);
        if (status != MH_OK)
            return status;
    }
    return MH_OK;
}

/* ===== Sharing between threads ==============================================================
 *
 * Threads take units, each with scratch of its own. Where units would leave some without work, or
 * their order matters, they take rows of one head after the other instead, and share its keys and
 * values. Neither way changes a bit. */

/* What a thread has for itself. */
struct share {
    struct pass pass;
    struct mh_report report;
    struct mh_error error;
    enum mh_status status; /* of its last task: none is begun after one has failed */
    size_t task;
};

struct shares {
    struct share *of; /* [count] */
    size_t count;
    bool by_rows;
    size_t rows; /* by rows: of a task */
};

static struct shares cut(const struct mh_attention *a)
{
    size_t units = a->batch * a->kv_heads;
    size_t products = mh_size_mul(mh_size_mul(a->batch, a->heads), a->queries);
    products = mh_size_mul(mh_size_mul(products, a->keys), a->head_dim + a->value_dim);
    size_t tasks = mh_parallel_worth(products);
    bool uneven = units < 4 * tasks && units % tasks != 0;
    return (struct shares){
        .count = tasks == 1 ? 1 : mh_parallel_threads(),
        .by_rows = tasks > 1 && (uneven || a->weights.mode == MH_WEIGHTS_MEAN),
        /* Later rows of a causal mask are longer: several tasks a thread even that out. */
        .rows = mh_parallel_part(a->queries, 4 * tasks, BLOCK_ROWS),
    };
}

/* Memory for each share; `base` is the pass that all of them compute. */
static struct shares lay_out_shares(struct mh_arena *arena, const struct pass *base)
{
    struct shares shares = cut(base->a);
    shares.of = mh_arena_take(arena, shares.count, sizeof *shares.of);
    struct scratch first = {0};
    for (size_t t = 0; t < shares.count; t++) {
        struct scratch scratch = lay_out(arena, base->a, shares.by_rows && t > 0 ? &first : NULL);
        if (t == 0)
            first = scratch;
        if (shares.of == NULL)
            continue;
        struct share *share = &shares.of[t];
        *share = (struct share){.pass = *base};
        share->pass.scratch = scratch;
        share->pass.report = &share->report;
        share->pass.error = &share->error;
    }
    return shares;
}

/* The share that failed, at the earliest place if there are several; NULL if none did. */
static const struct share *failed_share(const struct shares *shares)
{
    const struct share *failed = NULL;
    for (size_t t = 0; t < shares->count; t++)
        if (shares->of[t].status != MH_OK && (failed == NULL || shares->of[t].task < failed->task))
            failed = &shares->of[t];
    return failed;
}

/* What all noticed together, as if one thread had done it all. */
static enum mh_status gather(const struct shares *shares, struct mh_report *report,
                             struct mh_error *error)
{
    const struct share *failed = failed_share(shares);
    if (failed != NULL)
        *report = failed->report;
    report->masked_rows = 0;
    for (size_t t = 0; t < shares->count; t++)
        report->masked_rows += shares->of[t].report.masked_rows;
    if (failed != NULL && error != NULL)
        *error = failed->error;
    return failed != NULL ? failed->status : MH_OK;
}

struct rows_job {
    struct shares *shares;
    size_t b, h;
    struct mh_range unpadded;
};

static void rows_task(void *context, size_t index, size_t thread)
{
    const struct rows_job *job = context;
    struct share *share = &job->shares->of[thread];
    size_t first = index * job->shares->rows;
    size_t end = mh_size_min(first + job->shares->rows, share->pass.a->queries);
    if (share->status != MH_OK)
        return;
    share->task = index;
    share->status =
        attend_queries(&share->pass, job->b, job->h, job->unpadded, (struct mh_range){first, end});
}

static enum mh_status share_queries(struct shares *shares, size_t b, size_t h,
                                    struct mh_range unpadded)
{
    struct rows_job job = {shares, b, h, unpadded};
    mh_parallel_for((shares->of->pass.a->queries - 1) / shares->rows + 1, rows_task, &job);
    return failed_share(shares) != NULL ? failed_share(shares)->status : MH_OK;
}

static void unit_task(void *context, size_t unit, size_t thread)
{
    struct share *share = (struct share *)context + thread;
    size_t kv_heads = share->pass.a->kv_heads;
    if (share->status != MH_OK)
        return;
    share->task = unit;
    share->status = attend_unit(&share->pass, unit / kv_heads, unit % kv_heads);
}

static void attend(struct shares *shares)
{
    const struct mh_attention *a = shares->of->pass.a;
    size_t units = a->batch * a->kv_heads;
    if (shares->by_rows) {
        struct pass *pass = &shares->of->pass;
        pass->by_rows = shares;
        for (size_t unit = 0; unit < units; unit++)
            if (attend_unit(pass, unit / a->kv_heads, unit % a->kv_heads) != MH_OK)
                return; /* the share that failed remembers it */
    } else if (shares->count > 1) {
        mh_parallel_for(units, unit_task, shares->of);
    } else {
        for (size_t unit = 0; unit < units; unit++)
            unit_task(shares->of, unit, 0);
    }
}

enum mh_status mh_attention_workspace(const struct mh_attention *a, size_t *bytes,
                                      struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"attention", a}, {"bytes", bytes}, {0}});
    if (status == MH_OK)
        status = mh_attention_check_sizes(a, error);
    if (status != MH_OK)
        return status;
    struct mh_arena arena = mh_arena_plan();
    struct pass base = {.a = a};
    lay_out_shares(&arena, &base);
    return mh_arena_planned(&arena, bytes, error);
}

/* The scale goes into the argument of the exponential, for nothing, unless numbers must be scaled before: to add a
 * bias; because a scale of 0 or below would not keep the order; because one above 1 might overflow. What else the
 * caller asks for has no say: it may not change a bit. */
static float factor_of(const struct mh_attention *a, float scale)
{
    return a->mask.bias == NULL && scale > 0.0f && scale <= 1.0f ? scale : 1.0f;
}

enum mh_status mh_attention_run(const struct mh_attention *a,
                                const struct mh_attention_context *context, void *workspace,
                                size_t workspace_bytes, struct mh_report *report,
                                struct mh_error *error)
{
    enum mh_status status = mh_attention_check(a, error);
    if (status != MH_OK)
        return status;
    struct mh_arena arena = mh_arena_over(workspace, workspace_bytes);
    float scale = mh_scale_of(a->scale_mode, a->scale, a->head_dim);
    struct pass pass = {.a = a, .context = context, .scale = scale, .factor = factor_of(a, scale)};
    struct shares shares = lay_out_shares(&arena, &pass);
    status = mh_arena_check(&arena, error);
    if (status == MH_OK && a->check_finite != 0)
        status = mh_attention_check_inputs(a, context, report, error);
    if (status != MH_OK)
        return status;
    attend(&shares);
    status = gather(&shares, report, error);
    if (status == MH_OK && a->check_finite != 0)
        status = mh_attention_check_output(a, attended_before(&pass), report, error);
    return status;
}

enum mh_status mh_attention_forward(const struct mh_attention *a, void *workspace,
                                    size_t workspace_bytes, struct mh_report *report,
                                    struct mh_error *error)
{
    static const struct mh_attention_context context = {
        .query_name = MH_TENSOR_QUERY, .key_name = MH_TENSOR_KEY, .value_name = MH_TENSOR_VALUE};
    struct mh_report unread;
    report = report != NULL ? report : &unread;
    *report = (struct mh_report){0};
    enum mh_status status = mh_require(
        error, (const struct mh_pointer[]){{"attention", a}, {"workspace", workspace}, {0}});
    return status == MH_OK
               ? mh_attention_run(a, &context, workspace, workspace_bytes, report, error)
               : status;
}
