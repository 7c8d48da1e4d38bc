/* A transformer block as the model calls it. */
#ifndef MH_BLOCK_H
#define MH_BLOCK_H

#include "ops/kept_rows.h"

/* mh_block_forward that goes on from the passes before: of the input, the rows from
 * kept->projected_from on are read, of the output those from kept->attended_from on written; the
 * others are there from before, so output may not be input. batch is 1. `kept` may be NULL. The index
 * of a number that is not finite counts from the first row that was computed. */
enum mh_status mh_block_forward_kept(const mh_block *block, const struct mh_block_pass *pass,
                                     const struct mh_kept_rows *kept, void *workspace,
                                     size_t workspace_bytes, struct mh_report *report,
                                     struct mh_error *error);

/* Floats of kept->projected. */
size_t mh_block_kept_size(const mh_block *block, size_t capacity);

#endif
