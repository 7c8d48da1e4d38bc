/* What can be wrong with a pass. */
#ifndef MH_TRAINING_CHECK_H
#define MH_TRAINING_CHECK_H

#include "multihead_train.h"

/* T of the blocks: with the class token. */
size_t mh_training_length(const struct mh_network *network, const struct mh_training_pass *pass);

/* Places with a target each: [B, T], or [B]. */
size_t mh_training_targets(const struct mh_network *network, const struct mh_training_pass *pass);

/* Network and sizes. ARGUMENT, SHAPE. */
enum mh_status mh_training_check_sizes(const struct mh_network *network,
                                       const struct mh_training_pass *pass, struct mh_error *error);

/* Everything else: pointers, tokens, targets, settings. Masks are checked where they are used. */
enum mh_status mh_training_check_numbers(const struct mh_network *network,
                                         const struct mh_training_pass *pass,
                                         struct mh_error *error);

#endif
