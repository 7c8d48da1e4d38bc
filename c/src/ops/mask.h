/* Which keys a query sees: the one source of truth for attention and statistics.
 *
 * Geometry (causal, window, prefix, padding at either end, free keys) gives a row at most three
 * ranges of keys; outside of them nothing is ever computed. Inside, the other parts (blocks,
 * holes of key_hidden, hidden, bias) hide single keys.
 *
 *      prefix      window                free
 *     [0 .. p)    [lo ....... hi)     [M .. S)         M = S - free_keys
 *
 * The window gives way to the prefix where both hold a key, so the three are disjoint. They are
 * never merged: sums over keys run range by range, and so a row's result depends on the row alone,
 * bit by bit, not on which rows are computed beside it. */
#ifndef MH_MASK_H
#define MH_MASK_H

#include "multihead.h"

#include <stdbool.h>

struct mh_range {
    size_t begin, end; /* begin <= end */
};

static inline size_t mh_range_length(struct mh_range range)
{
    return range.end - range.begin;
}

enum { MH_PREFIX_KEYS, MH_WINDOW_KEYS, MH_FREE_KEYS, MH_KEY_RANGES };

struct mh_key_ranges {
    struct mh_range of[MH_KEY_RANGES];
};

/* ARGUMENT or SHAPE if the mask does not fit B and S. Reads key_lengths, nothing larger. */
enum mh_status mh_mask_check(const struct mh_mask *mask, size_t batch, size_t keys,
                             struct mh_error *error);

/* The keys of batch element b between its padding at the left and at the right: from the first to
 * the last key that key_lengths and key_hidden leave. `keys` is S. Reads key_hidden once through:
 * call it once per batch element. */
struct mh_range mh_mask_unpadded(const struct mh_mask *mask, size_t b, size_t keys);

/* The keys that geometry lets any query of first <= i <= last see: exact for one row, the hull of
 * each range for several. */
struct mh_key_ranges mh_mask_ranges(const struct mh_mask *mask, struct mh_range unpadded,
                                    size_t first, size_t last, size_t keys);

/* One row of the mask, ready to be asked. Borrows what `mask` points to. */
struct mh_mask_row {
    struct mh_key_ranges ranges;
    const uint8_t *key_hidden; /* [M] or NULL */
    const uint8_t *hidden;     /* [M] or NULL */
    bool hidden_when_zero;     /* which value of `hidden` hides */
    const float *bias;         /* [M] or NULL */
    const int32_t *key_blocks; /* [M] or NULL */
    int32_t query_block;
};

struct mh_mask_row mh_mask_row(const struct mh_mask *mask, struct mh_range unpadded, size_t b,
                               size_t h, size_t i, size_t keys);

/* Is every key within the ranges visible? True if none of the parts that hide single keys is set. */
bool mh_mask_is_geometry(const struct mh_mask_row *row);

/* Is key j visible? j < S. */
bool mh_mask_shows(const struct mh_mask_row *row, size_t j);

/* Number of visible keys. */
size_t mh_mask_visible(const struct mh_mask_row *row);

/* scores [S]: within the row's ranges, adds the bias and writes -inf where a key is hidden. What
 * lies outside the ranges is neither read nor written. */
void mh_mask_apply(const struct mh_mask_row *row, float *scores);

#endif
