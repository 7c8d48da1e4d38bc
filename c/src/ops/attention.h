/* Scaled dot-product attention as multi-head attention calls it. */
#ifndef MH_ATTENTION_H
#define MH_ATTENTION_H

#include "ops/kept_rows.h"

/* What a caller inside the library adds to mh_attention. */
struct mh_attention_context {
    const uint8_t *uniform_heads; /* [H], nonzero: the head looks equally at every visible key;
                                     NULL: none does */
    enum mh_tensor query_name, key_name, value_name; /* for the finite-ness guard */
    const struct mh_kept_rows *kept; /* NULL: all rows are computed. Else rows before
                                        kept->attended_from have no output and are computed only to
                                        show their weights, scores or statistics */
};

/* The factor on Q Kᵀ that a mode (enum mh_scale_mode) means; `given` is for MH_SCALE_GIVEN. */
float mh_scale_of(int32_t mode, float given, size_t head_dim);

/* Everything that can be wrong with the arguments, numbers in the data aside. */
enum mh_status mh_attention_check(const struct mh_attention *attention, struct mh_error *error);

/* The part of it that needs only sizes. */
enum mh_status mh_attention_check_sizes(const struct mh_attention *attention,
                                        struct mh_error *error);

/* ARGUMENT unless a choice's lists are strictly ascending and below `heads` and `rows`. `name` is for
 * the message. */
enum mh_status mh_choice_check(const struct mh_choice *choice, size_t heads, size_t rows,
                               const char *name, struct mh_error *error);

/* mh_attention_forward, within a context. `report` is not NULL, and zero. */
enum mh_status mh_attention_run(const struct mh_attention *attention,
                                const struct mh_attention_context *context, void *workspace,
                                size_t workspace_bytes, struct mh_report *report,
                                struct mh_error *error);

#endif
