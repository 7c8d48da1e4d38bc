#include "ops/masked_row.h"

#include "base/size.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

void mh_row_fill_outside(float *x, size_t begin, size_t end, const struct mh_key_ranges *ranges,
                         float value)
{
    size_t j = begin;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range range = ranges->of[r];
        if (mh_range_length(range) == 0)
            continue;
        for (; j < range.begin && j < end; j++)
            x[j] = value;
        j = mh_size_max(j, range.end);
    }
    for (; j < end; j++)
        x[j] = value;
}

void mh_row_copy(float *out, const float *x, size_t keys, const struct mh_key_ranges *ranges,
                 float outside)
{
    mh_row_fill_outside(out, 0, keys, ranges, outside);
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        size_t begin = ranges->of[r].begin;
        memcpy(out + begin, x + begin, mh_range_length(ranges->of[r]) * sizeof *x);
    }
}

void mh_row_add_ranges(float *out, const float *x, const struct mh_key_ranges *ranges)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        size_t begin = ranges->of[r].begin;
        mh_row_add(out + begin, out + begin, x + begin, mh_range_length(ranges->of[r]));
    }
}

void mh_row_scale_ranges(float *x, const struct mh_key_ranges *ranges, float factor)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        float *part = x + ranges->of[r].begin;
        size_t length = mh_range_length(ranges->of[r]);
        if (length > 0)
            mh_row_scale(part, part, factor, length);
    }
}

void mh_row_level(float *x, const struct mh_key_ranges *ranges)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++)
        for (size_t j = ranges->of[r].begin; j < ranges->of[r].end; j++)
            x[j] = x[j] == -INFINITY ? -INFINITY : 0.0f;
}

static bool all_hidden(const float *x, const struct mh_key_ranges *ranges)
{
    for (size_t r = 0; r < MH_KEY_RANGES; r++)
        for (size_t j = ranges->of[r].begin; j < ranges->of[r].end; j++)
            if (x[j] != -INFINITY) /* NaN too: it must not vanish */
                return false;
    return true;
}

static float largest_in(const float *x, const struct mh_key_ranges *ranges)
{
    float largest = -INFINITY;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        size_t length = mh_range_length(ranges->of[r]);
        float here = length > 0 ? mh_row_max(x + ranges->of[r].begin, length) : -INFINITY;
        if (here > largest)
            largest = here;
    }
    return largest;
}

bool mh_row_exp_ranges(float *x, const struct mh_key_ranges *ranges, float scale, float *reciprocal)
{
    float largest = largest_in(x, ranges);
    if (largest == -INFINITY && all_hidden(x, ranges)) {
        for (size_t r = 0; r < MH_KEY_RANGES; r++)
            for (size_t j = ranges->of[r].begin; j < ranges->of[r].end; j++)
                x[j] = 0.0f;
        *reciprocal = 1.0f;
        return false;
    }
    float sum = 0.0f;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        float *part = x + ranges->of[r].begin;
        size_t length = mh_range_length(ranges->of[r]);
        if (length > 0)
            sum += mh_row_exp_below(part, part, largest, scale, length);
    }
    *reciprocal = 1.0f / sum;
    return true;
}

bool mh_row_softmax(float *x, const struct mh_key_ranges *ranges)
{
    float reciprocal;
    bool visible = mh_row_exp_ranges(x, ranges, 1.0f, &reciprocal);
    mh_row_scale_ranges(x, ranges, reciprocal);
    return visible;
}
