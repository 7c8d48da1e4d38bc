/* Multi-head attention with heads ablated and rows kept: what the transformer block needs beyond the
 * public header. */
#ifndef MH_ABLATION_H
#define MH_ABLATION_H

#include "ops/kept_rows.h"

/* Ablations for one layer: entries of `list` with another layer are passed over. Several for one
 * head combine: uniform first, then the others in the order of the list. */
struct mh_ablations {
    const struct mh_ablation *list; /* may be NULL if count is 0 */
    size_t count;
    int32_t layer;
};

/* mh_multihead_forward with heads ablated, before the out-projection. Weights and scores of a
 * uniform head are what it looks at (1 / visible keys; 0 where visible); of the other kinds, what
 * the head would have looked at. `ablations` may be NULL. The workspace is that of
 * mh_multihead_workspace. Errors: also ARGUMENT for a head or kind that does not exist.
 *
 * With `kept` (not NULL; self-attention, one query, key and value input, batch 1), only the rows of
 * the input from kept->projected_from on are read, and only those of the output from
 * kept->attended_from on written; a mean over positions needs that to be 0. The index of a number
 * that is not finite counts from there. */
enum mh_status mh_multihead_forward_ablated(const mh_multihead *multihead,
                                            const struct mh_multihead_pass *pass,
                                            const struct mh_ablations *ablations,
                                            const struct mh_kept_rows *kept, void *workspace,
                                            size_t workspace_bytes, struct mh_report *report,
                                            struct mh_error *error);

/* Floats of kept->projected: rows for the module's own extra keys are among them. */
size_t mh_multihead_kept_size(const mh_multihead *multihead, size_t capacity);

#endif
