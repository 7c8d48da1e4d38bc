/* Which activation of a pass was the first that is not finite: looked for when a loss is not. */
#ifndef MH_STACK_FINITE_H
#define MH_STACK_FINITE_H

#include "train/stack_gradient.h"

#include <stdbool.h>

struct mh_offence {
    char name[MH_PARAMETER_NAME]; /* "encoder.h.0.attn.scores" */
    size_t index;                 /* flat */
    float value;
};

/* Looks through what forward left in the stack, in the order in which it was computed. False if all
 * of it is finite; scores may be -inf. `prefix` comes before the names. */
bool mh_stack_find_nonfinite(const struct mh_stack *stack, const char *prefix,
                             struct mh_offence *offence);

/* The same for a whole network, in the workspace that mh_training_gradient of this pass left. */
bool mh_training_find_nonfinite(const struct mh_network *network,
                                const struct mh_training_pass *pass, void *workspace,
                                size_t workspace_bytes, struct mh_offence *offence);

#endif
