/* Statistics of attention weights: one row of numbers for each query, and their means per head. */
#include "base/error.h"
#include "kernels/kernels.h"
#include "ops/mask.h"

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

/* The weight on the key at `position`; 0 if there is no such key. */
static float weight_at(const float *weights, int64_t position, size_t positions)
{
    return position >= 0 && position < (int64_t)positions ? weights[position] : 0.0f;
}

/* Largest weight and its key, the first of equals. */
static void find_maximum(const float *weights, size_t keys, float *out)
{
    size_t best = 0;
    for (size_t j = 1; j < keys; j++)
        if (weights[j] > weights[best])
            best = j;
    out[MH_ROW_MAXIMUM] = weights[best];
    out[MH_ROW_ARGMAX] = (float)best;
}

static float distance_from(int64_t position, const float *weights, size_t positions)
{
    double sum = 0.0;
    for (size_t j = 0; j < positions; j++) {
        int64_t steps = position - (int64_t)j;
        sum += (double)weights[j] * (double)(steps < 0 ? -steps : steps);
    }
    return (float)sum;
}

/* out [MH_ROW_STATISTICS] of a row of S weights whose query stands at `position`; the first
 * `positions` keys have a place on that axis, free keys behind them have none. */
static void describe_row(float *out, const float *weights, size_t keys, size_t positions,
                         int64_t position, size_t visible)
{
    memset(out, 0, MH_ROW_STATISTICS * sizeof *out);
    if (visible == 0)
        return;
    float nats = mh_row_entropy(weights, keys);
    out[MH_ROW_ENTROPY_NATS] = nats;
    out[MH_ROW_ENTROPY_BITS] = (float)((double)nats / ln_2);
    out[MH_ROW_ENTROPY_NORMALISED] = visible > 1 ? nats / logf((float)visible) : 0.0f;
    out[MH_ROW_ENTROPY_EPSILON] = mh_row_entropy_epsilon(weights, ENTROPY_EPSILON, keys);
    find_maximum(weights, keys, out);
    out[MH_ROW_DISTANCE] = distance_from(position, weights, positions);
    out[MH_ROW_FIRST] = weights[0];
    out[MH_ROW_SELF] = weight_at(weights, position, positions);
    out[MH_ROW_PREVIOUS] = weight_at(weights, position - 1, positions);
    out[MH_ROW_NEXT] = weight_at(weights, position + 1, positions);
    out[MH_ROW_VISIBLE] = (float)visible;
}

/* ===== One head ============================================================================= */

/* Standard deviation in one pass, from deviations to the first number so that nothing cancels. */
struct spread {
    size_t count;
    double origin, sum, squares;
};

static void add_to_spread(struct spread *spread, float value)
{
    if (spread->count++ == 0)
        spread->origin = (double)value;
    double step = (double)value - spread->origin;
    spread->sum += step;
    spread->squares += step * step;
}

/* Of the population; 0 for no number. */
static float deviation(const struct spread *spread)
{
    if (spread->count == 0)
        return 0.0f;
    double mean = spread->sum / (double)spread->count;
    double variance = spread->squares / (double)spread->count - mean * mean;
    return (float)sqrt(variance < 0.0 ? 0.0 : variance); /* NaN stays */
}

/* What a head's numbers are made from, row by row. */
struct head_sums {
    double rows[MH_ROW_STATISTICS];
    size_t seeing; /* rows that see a key */
    struct spread weights, scores;
};

static void add_visible(struct head_sums *sums, const struct mh_mask_row *mask,
                        const float *weights, const float *scores)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++)
        for (size_t j = mask->ranges.of[r].begin; j < mask->ranges.of[r].end; j++) {
            if (!mh_mask_shows(mask, j))
                continue;
            add_to_spread(&sums->weights, weights[j]);
            if (scores != NULL)
                add_to_spread(&sums->scores, scores[j]);
        }
}

static void describe_head(float *out, const struct head_sums *sums, size_t queries)
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
    struct head_sums sums = {0};
    size_t map = (b * s->heads + h) * s->queries;
    for (size_t i = 0; i < s->queries; i++) {
        struct mh_mask_row row = mh_mask_row(mask, unpadded, b, h, i, s->keys);
        const float *weights = s->weights + (map + i) * s->keys;
        size_t visible = mh_mask_visible(&row);
        float numbers[MH_ROW_STATISTICS];
        describe_row(numbers, weights, s->keys, s->keys - mask->free_keys,
                     (int64_t)i + mask->query_offset, visible);
        if (s->row_statistics != NULL)
            memcpy(s->row_statistics + (map + i) * MH_ROW_STATISTICS, numbers, sizeof numbers);

        sums.seeing += visible > 0;
        for (size_t k = 0; k < MH_ROW_STATISTICS; k++)
            sums.rows[k] += (double)numbers[k];
        if (s->head_statistics != NULL)
            add_visible(&sums, &row, weights,
                        s->scores != NULL ? s->scores + (map + i) * s->keys : NULL);
    }
    if (s->head_statistics != NULL)
        describe_head(s->head_statistics + (b * s->heads + h) * MH_HEAD_STATISTICS, &sums,
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
