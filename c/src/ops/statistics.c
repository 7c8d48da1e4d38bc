/* Statistics of attention weights: one row of numbers for each query, and their means per head. */
#include "ops/statistics.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* ===== Names ================================================================================ */

static const char *name_at(const char *const *names, int32_t index, int32_t count)
{
    return index >= 0 && index < count ? names[index] : NULL;
}

const char *mh_row_statistic_name(int32_t index)
{
    static const char *const names[] = {
#define X(name, text) text,
        MH_ROW_STATISTIC_LIST(X)
#undef X
    };
    return name_at(names, index, MH_ROW_STATISTICS);
}

const char *mh_head_statistic_name(int32_t index)
{
    static const char *const names[] = {
#define X(name, text) text,
        MH_HEAD_STATISTIC_LIST(X)
#undef X
    };
    return name_at(names, index, MH_HEAD_STATISTICS);
}

/* ===== One row ============================================================================== */

#define ENTROPY_EPSILON 1e-8f

static const double ln_2 = 0.69314718055994531;

static bool holds(const struct mh_key_ranges *ranges, int64_t key)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++)
        if (key >= (int64_t)ranges->of[r].begin && key < (int64_t)ranges->of[r].end)
            return true;
    return false;
}

/* Weights [S], read within the ranges only; elsewhere they are zero. The first `positions` keys have
 * a place on the axis on which the query stands at `position`; free keys behind them have none. */
struct weights_row {
    const float *weights;
    const struct mh_key_ranges *ranges;
    size_t positions;
    int64_t position;
};

/* The weight on the key at `position`; 0 if there is no such key. */
static float weight_at(const struct weights_row *row, int64_t position)
{
    bool seen = position < (int64_t)row->positions && holds(row->ranges, position);
    return seen ? row->weights[position] : 0.0f;
}

/* Largest weight and its key, the first of equals. */
static void find_maximum(const struct weights_row *row, float *out)
{
    const float *weights = row->weights;
    size_t best = 0;
    float largest = holds(row->ranges, 0) ? weights[0] : 0.0f;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range range = row->ranges->of[r];
        if (!(mh_row_max(weights + range.begin, mh_range_length(range)) > largest))
            continue;
        for (size_t j = range.begin; j < range.end; j++)
            if (weights[j] > largest) {
                largest = weights[j];
                best = j;
            }
    }
    out[MH_ROW_MAXIMUM] = largest;
    out[MH_ROW_ARGMAX] = (float)best;
}

static float distance_of(const struct weights_row *row)
{
    double sum = 0.0;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range range = row->ranges->of[r];
        for (size_t j = range.begin; j < mh_size_min(range.end, row->positions); j++) {
            int64_t steps = row->position - (int64_t)j;
            sum += (double)row->weights[j] * (double)(steps < 0 ? -steps : steps);
        }
    }
    return (float)sum;
}

static void describe_row(float *out, const struct weights_row *row, size_t visible)
{
    memset(out, 0, MH_ROW_STATISTICS * sizeof *out);
    if (visible == 0)
        return;
    float nats = 0.0f, epsilon = 0.0f;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        const float *part = row->weights + row->ranges->of[r].begin;
        size_t count = mh_range_length(row->ranges->of[r]);
        nats += mh_row_entropy(part, count);
        epsilon += mh_row_entropy_epsilon(part, ENTROPY_EPSILON, count);
    }
    out[MH_ROW_ENTROPY_NATS] = nats;
    out[MH_ROW_ENTROPY_BITS] = (float)((double)nats / ln_2);
    out[MH_ROW_ENTROPY_NORMALISED] = visible > 1 ? nats / logf((float)visible) : 0.0f;
    out[MH_ROW_ENTROPY_EPSILON] = epsilon;
    find_maximum(row, out);
    out[MH_ROW_DISTANCE] = distance_of(row);
    out[MH_ROW_FIRST] = holds(row->ranges, 0) ? row->weights[0] : 0.0f;
    out[MH_ROW_SELF] = weight_at(row, row->position);
    out[MH_ROW_PREVIOUS] = weight_at(row, row->position - 1);
    out[MH_ROW_NEXT] = weight_at(row, row->position + 1);
    out[MH_ROW_VISIBLE] = (float)visible;
}

/* ===== Spread =============================================================================== */

/* Sums of deviations from `origin`, so that nothing cancels. */
struct deviations {
    double origin, sum, squares;
};

static void add_deviation(struct deviations *d, float value)
{
    double step = (double)value - d->origin;
    d->sum += step;
    d->squares += step * step;
}

/* Of the visible keys' numbers among x [S]; `count` is their number. */
static struct mh_spread spread_of(const float *x, const struct mh_mask_row *mask, size_t count)
{
    if (count == 0)
        return (struct mh_spread){0};
    struct deviations d = {0};
    bool begun = false;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range range = mask->ranges.of[r];
        bool all = r == MH_FREE_KEYS || mh_mask_is_geometry(mask);
        for (size_t j = range.begin; j < range.end; j++) {
            if (!all && !mh_mask_shows(mask, j))
                continue;
            if (!begun)
                d.origin = (double)x[j];
            begun = true;
            add_deviation(&d, x[j]);
        }
    }
    double n = (double)count, step = d.sum / n;
    return (struct mh_spread){
        .count = n, .mean = d.origin + step, .squares = d.squares - d.sum * step};
}

/* The spread of two samples together (Chan et al. 1979, "Updating formulae", eq. 2.1). */
static struct mh_spread joined(struct mh_spread a, struct mh_spread b)
{
    if (a.count == 0.0 || b.count == 0.0)
        return a.count == 0.0 ? b : a;
    double count = a.count + b.count, step = b.mean - a.mean;
    return (struct mh_spread){
        .count = count,
        .mean = a.mean + step * (b.count / count),
        .squares = a.squares + b.squares + step * step * (a.count * b.count / count),
    };
}

/* Of the population; 0 for no number. */
static float deviation(const struct mh_spread *spread)
{
    if (spread->count == 0.0)
        return 0.0f;
    double variance = spread->squares / spread->count;
    return (float)sqrt(variance < 0.0 ? 0.0 : variance); /* NaN stays */
}

/* ===== Records ============================================================================== */

void mh_record_scores(struct mh_row_record *record, const float *scores,
                      const struct mh_mask_row *mask)
{
    record->scores = spread_of(scores, mask, mh_mask_visible(mask));
}

void mh_record_weights(struct mh_row_record *record, const float *weights,
                       const struct mh_key_ranges *ranges, const struct mh_mask_row *mask,
                       int64_t position)
{
    struct weights_row row = {.weights = weights,
                              .ranges = ranges,
                              .positions = mask->ranges.of[MH_FREE_KEYS].begin,
                              .position = position};
    size_t visible = mh_mask_visible(mask);
    describe_row(record->numbers, &row, visible);
    record->weights = spread_of(weights, mask, visible);
}

void mh_head_add(struct mh_head_sums *sums, const struct mh_row_record *record)
{
    for (size_t k = 0; k < MH_ROW_STATISTICS; k++)
        sums->rows[k] += (double)record->numbers[k];
    sums->seeing += record->numbers[MH_ROW_VISIBLE] > 0.0f;
    sums->weights = joined(sums->weights, record->weights);
    sums->scores = joined(sums->scores, record->scores);
}

void mh_head_describe(float *out, const struct mh_head_sums *sums, size_t queries)
{
    static const struct {
        enum mh_head_statistic head;
        enum mh_row_statistic row;
    } means[] = {
        {MH_HEAD_ENTROPY_NATS, MH_ROW_ENTROPY_NATS},
        {MH_HEAD_ENTROPY_BITS, MH_ROW_ENTROPY_BITS},
        {MH_HEAD_ENTROPY_NORMALISED, MH_ROW_ENTROPY_NORMALISED},
        {MH_HEAD_ENTROPY_EPSILON, MH_ROW_ENTROPY_EPSILON},
        {MH_HEAD_MAXIMUM, MH_ROW_MAXIMUM},
        {MH_HEAD_DISTANCE, MH_ROW_DISTANCE},
        {MH_HEAD_FIRST, MH_ROW_FIRST},
        {MH_HEAD_SELF, MH_ROW_SELF},
        {MH_HEAD_PREVIOUS, MH_ROW_PREVIOUS},
        {MH_HEAD_NEXT, MH_ROW_NEXT},
    };
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        out[means[i].head] =
            sums->seeing > 0 ? (float)(sums->rows[means[i].row] / (double)sums->seeing) : 0.0f;
    out[MH_HEAD_WEIGHT_DEVIATION] = deviation(&sums->weights);
    out[MH_HEAD_SCORE_DEVIATION] = deviation(&sums->scores);
    out[MH_HEAD_MASKED_ROWS] = (float)(queries - sums->seeing);
}

/* ===== The call ============================================================================= */

static enum mh_status check(const struct mh_statistics *s, const struct mh_mask *mask,
                            struct mh_error *error)
{
    const struct {
        const char *name;
        size_t value;
    } sizes[] = {
        {"batch", s->batch},
        {"heads", s->heads},
        {"queries", s->queries},
        {"keys", s->keys},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value == 0)
            return mh_fail(error, MH_ARGUMENT, "%s is 0: it must be at least 1", sizes[i].name);
    if (s->weights == NULL)
        return mh_fail(error, MH_ARGUMENT, "weights is NULL");
    return mh_mask_check(mask, s->batch, s->keys, error);
}

static void compute_head(const struct mh_statistics *s, const struct mh_mask *mask,
                         struct mh_range unpadded, size_t b, size_t h)
{
    /* All of the row is read: weights from elsewhere may lie on keys that the mask hides. */
    const struct mh_key_ranges all = {.of = {[MH_PREFIX_KEYS] = {0, s->keys}}};
    struct mh_head_sums sums = {0};
    size_t map = (b * s->heads + h) * s->queries;
    for (size_t i = 0; i < s->queries; i++) {
        struct mh_mask_row row = mh_mask_row(mask, unpadded, b, h, i, s->keys);
        struct mh_row_record record = {0};
        if (s->scores != NULL)
            mh_record_scores(&record, s->scores + (map + i) * s->keys, &row);
        mh_record_weights(&record, s->weights + (map + i) * s->keys, &all, &row,
                          (int64_t)i + mask->query_offset);
        if (s->row_statistics != NULL)
            memcpy(s->row_statistics + (map + i) * MH_ROW_STATISTICS, record.numbers,
                   sizeof record.numbers);
        mh_head_add(&sums, &record);
    }
    if (s->head_statistics != NULL)
        mh_head_describe(s->head_statistics + (b * s->heads + h) * MH_HEAD_STATISTICS, &sums,
                         s->queries);
}

enum mh_status mh_statistics_compute(const struct mh_statistics *s, struct mh_error *error)
{
    static const struct mh_mask all_visible = {0};
    enum mh_status status = mh_require(error, (const struct mh_pointer[]){{"statistics", s}, {0}});
    if (status != MH_OK)
        return status;
    const struct mh_mask *mask = s->mask != NULL ? s->mask : &all_visible;
    status = check(s, mask, error);
    if (status != MH_OK)
        return status;
    for (size_t b = 0; b < s->batch; b++) {
        struct mh_range unpadded = mh_mask_unpadded(mask, b, s->keys);
        for (size_t h = 0; h < s->heads; h++)
            compute_head(s, mask, unpadded, b, h);
    }
    return MH_OK;
}
