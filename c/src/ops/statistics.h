/* Statistics row by row: what attention keeps of each of its rows while scores and weights are in
 * cache, and a head's numbers from those of its rows. */
#ifndef MH_STATISTICS_H
#define MH_STATISTICS_H

#include "ops/mask.h"

/* Numbers of a sample: how many, their mean, and the sum of squared deviations from it. */
struct mh_spread {
    double count, mean, squares;
};

/* One row (b, h, i). */
struct mh_row_record {
    float numbers[MH_ROW_STATISTICS];
    struct mh_spread weights, scores; /* on visible keys */
};

/* scores [S]: what softmax will see, read on visible keys only. */
void mh_record_scores(struct mh_row_record *record, const float *scores,
                      const struct mh_mask_row *mask);

/* weights [S] of a query that stands at `position`, read within `ranges`; outside they are zero. The
 * ranges hold all visible keys. */
void mh_record_weights(struct mh_row_record *record, const float *weights,
                       const struct mh_key_ranges *ranges, const struct mh_mask_row *mask,
                       int64_t position);

/* Sums over the rows of a head. Begin with zeros. */
struct mh_head_sums {
    double rows[MH_ROW_STATISTICS];
    size_t seeing; /* rows that see a key */
    struct mh_spread weights, scores;
};

void mh_head_add(struct mh_head_sums *sums, const struct mh_row_record *record);

/* out [MH_HEAD_STATISTICS] of a head with `queries` rows, all of them added. */
void mh_head_describe(float *out, const struct mh_head_sums *sums, size_t queries);

#endif
