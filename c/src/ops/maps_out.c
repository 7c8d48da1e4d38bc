#include "ops/maps_out.h"

#include "kernels/kernels.h"
#include "ops/masked_row.h"

#include <string.h>

/* ===== Choice =============================================================================== */

/* Place of `value` in an ascending list; `count` if it is not there. NULL lists every number. */
static size_t place_in(const int32_t *list, size_t count, size_t value)
{
    if (list == NULL)
        return value;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((size_t)list[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && (size_t)list[low] == value ? low : count;
}

/* Place of row (b, h, i) in a map of the chosen rows: the row's number there; SIZE_MAX if it was not
 * chosen. */
static size_t chosen_row(const struct mh_attention *a, const struct mh_choice *choice, size_t b,
                         size_t h, size_t i)
{
    size_t heads = choice->heads == NULL ? a->heads : choice->head_count;
    size_t rows = choice->rows == NULL ? a->queries : choice->row_count;
    size_t head = place_in(choice->heads, heads, h);
    size_t row = place_in(choice->rows, rows, i);
    return head < heads && row < rows ? (b * heads + head) * rows + row : SIZE_MAX;
}

static bool any_chosen(const struct mh_attention *a, const struct mh_choice *choice, size_t b,
                       size_t h, struct mh_range queries)
{
    for (size_t i = queries.begin; i < queries.end; i++)
        if (chosen_row(a, choice, b, h, i) != SIZE_MAX)
            return true;
    return false;
}

static struct mh_choice chosen_weights(const struct mh_weights_out *out)
{
    return (struct mh_choice){out->heads, out->head_count, out->rows, out->row_count};
}

bool mh_wants_maps(const struct mh_attention *a, size_t b, size_t h, struct mh_range queries)
{
    const struct mh_choice weights = chosen_weights(&a->weights);
    if (a->weights.mode == MH_WEIGHTS_ALL || a->weights.mode == MH_WEIGHTS_MEAN)
        return true;
    if (a->weights.mode == MH_WEIGHTS_ROWS && any_chosen(a, &weights, b, h, queries))
        return true;
    return (a->scores != NULL || a->raw_scores != NULL) &&
           any_chosen(a, &a->chosen_scores, b, h, queries);
}

/* ===== Scores =============================================================================== */

bool mh_wants_raw_scores(const struct mh_attention *a, size_t b, size_t h, size_t first,
                         size_t count)
{
    return a->raw_scores != NULL &&
           any_chosen(a, &a->chosen_scores, b, h, (struct mh_range){first, first + count});
}

bool mh_wants_scores(const struct mh_attention *a, size_t b, size_t h, size_t i)
{
    return a->scores != NULL && chosen_row(a, &a->chosen_scores, b, h, i) != SIZE_MAX;
}

void mh_put_raw_scores(const struct mh_attention *a, size_t b, size_t h, size_t i, const float *x)
{
    size_t row = chosen_row(a, &a->chosen_scores, b, h, i);
    if (row != SIZE_MAX)
        memcpy(a->raw_scores + row * a->keys, x, a->keys * sizeof *x);
}

void mh_put_scores(const struct mh_attention *a, size_t b, size_t h, size_t i, const float *x)
{
    memcpy(a->scores + chosen_row(a, &a->chosen_scores, b, h, i) * a->keys, x, a->keys * sizeof *x);
}

/* ===== Weights ============================================================================== */

/* One pass from numerators to weights, straight to their place. */
static void write_scaled(float *out, const float *x, size_t keys,
                         const struct mh_key_ranges *ranges, float reciprocal)
{
    mh_row_fill_outside(out, 0, keys, ranges, 0.0f);
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        size_t begin = ranges->of[r].begin;
        mh_row_scale(out + begin, x + begin, reciprocal, mh_range_length(ranges->of[r]));
    }
}

static void add_to_mean(const struct mh_attention *a, size_t b, size_t h, size_t i, float *x,
                        const struct mh_key_ranges *ranges, float reciprocal)
{
    float *mean = a->weights.data + (b * a->queries + i) * a->keys;
    if (h == 0) {
        write_scaled(mean, x, a->keys, ranges, reciprocal);
    } else {
        mh_row_scale_ranges(x, ranges, reciprocal);
        mh_row_add_ranges(mean, x, ranges);
    }
    if (h == a->heads - 1)
        mh_row_scale(mean, mean, 1.0f / (float)a->heads, a->keys);
}

static void write_if_chosen(const struct mh_attention *a, size_t b, size_t h, size_t i,
                            const float *x, const struct mh_key_ranges *ranges, float reciprocal)
{
    const struct mh_choice choice = chosen_weights(&a->weights);
    size_t row = chosen_row(a, &choice, b, h, i);
    if (row != SIZE_MAX)
        write_scaled(a->weights.data + row * a->keys, x, a->keys, ranges, reciprocal);
}

void mh_put_weights(const struct mh_attention *a, size_t b, size_t h, size_t i, float *x,
                    const struct mh_key_ranges *ranges, float reciprocal)
{
    switch (a->weights.mode) {
    case MH_WEIGHTS_ALL:
        write_scaled(a->weights.data + ((b * a->heads + h) * a->queries + i) * a->keys, x, a->keys,
                     ranges, reciprocal);
        break;
    case MH_WEIGHTS_MEAN:
        add_to_mean(a, b, h, i, x, ranges, reciprocal);
        break;
    case MH_WEIGHTS_ROWS:
        write_if_chosen(a, b, h, i, x, ranges, reciprocal);
        break;
    default:
        break;
    }
}
