/* What a session keeps of one layer's attention from pass to pass, and which rows a pass computes.
 * Self-attention with batch 1; `capacity` is the number of rows there is room for. */
#ifndef MH_KEPT_ROWS_H
#define MH_KEPT_ROWS_H

#include "ops/statistics.h"

struct mh_kept_rows {
    size_t projected_from; /* the rows before it have their query, key and value here */
    size_t attended_from;  /* those before it, their output elsewhere; at most projected_from */
    size_t described_from; /* those before it, their records here; at most attended_from */
    size_t capacity;
    float *projected;              /* [capacity, columns]: query, key and value side by side */
    struct mh_row_record *records; /* [H, capacity] */
    uint8_t *blind;                /* [H, capacity]: 1, the row sees no key */
};

#endif
