#include "ops/mask.h"

#include "base/error.h"
#include "base/size.h"

#include <math.h>

/* ===== Checks =============================================================================== */

static enum mh_status check_switch(int32_t value, const char *name, struct mh_error *error)
{
    if (value == 0 || value == 1)
        return MH_OK;
    return mh_fail(error, MH_ARGUMENT, "mask.%s is %d: it must be 0 or 1", name, value);
}

static enum mh_status check_lengths(const struct mh_mask *mask, size_t batch, size_t keys,
                                    struct mh_error *error)
{
    if (mask->key_lengths == NULL)
        return MH_OK;
    for (size_t b = 0; b < batch; b++) {
        int32_t length = mask->key_lengths[b];
        if (length < 0 || (size_t)length > keys)
            return mh_fail(error, MH_SHAPE,
                           "mask.key_lengths[%zu] is %d: it must be 0 to %zu, the number of keys",
                           b, length, keys);
    }
    return MH_OK;
}

enum mh_status mh_mask_check(const struct mh_mask *mask, size_t batch, size_t keys,
                             struct mh_error *error)
{
    enum mh_status status = check_switch(mask->causal, "causal", error);
    if (status == MH_OK)
        status = check_switch(mask->windowed, "windowed", error);
    if (status != MH_OK)
        return status;
    if (mask->free_keys > keys)
        return mh_fail(error, MH_SHAPE, "mask.free_keys is %zu, but there are only %zu keys",
                       mask->free_keys, keys);
    if ((mask->query_blocks == NULL) != (mask->key_blocks == NULL))
        return mh_fail(error, MH_ARGUMENT,
                       "mask.%s is missing: give block ids for both queries and keys, or neither",
                       mask->query_blocks == NULL ? "query_blocks" : "key_blocks");
    if (mask->hidden_when != MH_HIDDEN_WHEN_TRUE && mask->hidden_when != MH_HIDDEN_WHEN_FALSE)
        return mh_fail(error, MH_ARGUMENT,
                       "mask.hidden_when is %d: it must be 0 (nonzero hides) or 1 (zero hides)",
                       mask->hidden_when);
    return check_lengths(mask, batch, keys - mask->free_keys, error);
}

/* ===== Geometry ============================================================================= */

struct mh_range mh_mask_unpadded(const struct mh_mask *mask, size_t b, size_t keys)
{
    size_t masked = keys - mask->free_keys;
    struct mh_range range = {0, masked};
    if (mask->key_lengths != NULL)
        range.end = (size_t)mask->key_lengths[b];
    if (mask->key_hidden != NULL) {
        const uint8_t *hidden = mask->key_hidden + b * masked;
        while (range.begin < range.end && hidden[range.begin] != 0)
            range.begin++;
        while (range.begin < range.end && hidden[range.end - 1] != 0)
            range.end--;
    }
    return range;
}

/* A position on the key axis, which may lie off either end, as a key within the range. */
static size_t clamp(int64_t position, struct mh_range range)
{
    if (position < (int64_t)range.begin)
        return range.begin;
    return position > (int64_t)range.end ? range.end : (size_t)position;
}

/* The keys that causal and window leave: from where the first query may begin to look, to where
 * the last one must end. Both bounds grow with the query, so this is the hull of all of them. */
static struct mh_range window_of(const struct mh_mask *mask, struct mh_range unpadded, size_t first,
                                 size_t last)
{
    struct mh_range range = unpadded;
    if (mask->windowed && mask->window_left >= 0)
        range.begin = clamp((int64_t)first + mask->query_offset - mask->window_left, unpadded);
    if (mask->windowed && mask->window_right >= 0)
        range.end = clamp((int64_t)last + mask->query_offset + mask->window_right + 1, unpadded);
    if (mask->causal)
        range.end = mh_size_min(range.end, clamp((int64_t)last + mask->query_offset + 1, unpadded));
    return range;
}

struct mh_key_ranges mh_mask_ranges(const struct mh_mask *mask, struct mh_range unpadded,
                                    size_t first, size_t last, size_t keys)
{
    struct mh_range window = window_of(mask, unpadded, first, last);
    struct mh_range prefix = {unpadded.begin, unpadded.begin};
    if (mask->prefix > unpadded.begin)
        prefix.end = mh_size_min(mask->prefix, unpadded.end);
    window.begin = mh_size_max(window.begin, prefix.end);
    window.end = mh_size_max(window.begin, window.end);
    return (struct mh_key_ranges){{prefix, window, {keys - mask->free_keys, keys}}};
}

/* ===== One row ============================================================================== */

struct mh_mask_row mh_mask_row(const struct mh_mask *mask, struct mh_range unpadded, size_t b,
                               size_t h, size_t i, size_t keys)
{
    struct mh_mask_row row = {.ranges = mh_mask_ranges(mask, unpadded, i, i, keys)};
    if (mask->key_hidden != NULL)
        row.key_hidden = mask->key_hidden + b * (keys - mask->free_keys);
    if (mask->hidden != NULL)
        row.hidden = mask->hidden + b * mask->hidden_batch_stride + h * mask->hidden_head_stride +
                     i * mask->hidden_row_stride;
    row.hidden_when_zero = mask->hidden_when == MH_HIDDEN_WHEN_FALSE;
    if (mask->bias != NULL)
        row.bias = mask->bias + b * mask->bias_batch_stride + h * mask->bias_head_stride +
                   i * mask->bias_row_stride;
    if (mask->key_blocks != NULL) {
        row.key_blocks = mask->key_blocks;
        row.query_block = mask->query_blocks[i];
    }
    return row;
}

static bool holds(struct mh_range range, size_t j)
{
    return j >= range.begin && j < range.end;
}

/* Of a key inside the prefix or window. */
static bool hidden_by_detail(const struct mh_mask_row *row, size_t j)
{
    return (row->key_hidden != NULL && row->key_hidden[j] != 0) ||
           (row->key_blocks != NULL && row->key_blocks[j] != row->query_block) ||
           (row->hidden != NULL && (row->hidden[j] == 0) == row->hidden_when_zero) ||
           (row->bias != NULL && row->bias[j] == -INFINITY);
}

bool mh_mask_shows(const struct mh_mask_row *row, size_t j)
{
    if (holds(row->ranges.of[MH_FREE_KEYS], j))
        return true;
    return (holds(row->ranges.of[MH_PREFIX_KEYS], j) || holds(row->ranges.of[MH_WINDOW_KEYS], j)) &&
           !hidden_by_detail(row, j);
}

bool mh_mask_is_geometry(const struct mh_mask_row *row)
{
    return row->key_hidden == NULL && row->key_blocks == NULL && row->hidden == NULL &&
           row->bias == NULL;
}

size_t mh_mask_visible(const struct mh_mask_row *row)
{
    size_t count = 0;
    bool geometry_only = mh_mask_is_geometry(row);
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        struct mh_range range = row->ranges.of[r];
        if (geometry_only || r == MH_FREE_KEYS) {
            count += mh_range_length(range);
            continue;
        }
        for (size_t j = range.begin; j < range.end; j++)
            count += !hidden_by_detail(row, j);
    }
    return count;
}

/* One pass for each part, so that each is a simple loop the compiler can vectorise. */
static void apply_in(const struct mh_mask_row *row, struct mh_range range, float *scores)
{
    if (row->bias != NULL)
        for (size_t j = range.begin; j < range.end; j++)
            scores[j] = row->bias[j] == -INFINITY ? -INFINITY : scores[j] + row->bias[j];
    if (row->key_hidden != NULL)
        for (size_t j = range.begin; j < range.end; j++)
            scores[j] = row->key_hidden[j] != 0 ? -INFINITY : scores[j];
    if (row->key_blocks != NULL)
        for (size_t j = range.begin; j < range.end; j++)
            scores[j] = row->key_blocks[j] != row->query_block ? -INFINITY : scores[j];
    if (row->hidden != NULL)
        for (size_t j = range.begin; j < range.end; j++)
            scores[j] = (row->hidden[j] == 0) == row->hidden_when_zero ? -INFINITY : scores[j];
}

void mh_mask_apply(const struct mh_mask_row *row, float *scores)
{
    apply_in(row, row->ranges.of[MH_PREFIX_KEYS], scores);
    apply_in(row, row->ranges.of[MH_WINDOW_KEYS], scores);
}
