/* The inside of mh_multihead: packed weights. Made by multihead_create.c, used by multihead.c. */
#ifndef MH_MULTIHEAD_HANDLE_H
#define MH_MULTIHEAD_HANDLE_H

#include "multihead.h"
#include "ops/linear.h"

#include <stdbool.h>

enum { MH_IN_QUERY, MH_IN_KEY, MH_IN_VALUE, MH_IN_PROJECTIONS };

/* The first number among the weights that is not finite, remembered for the guard. */
struct mh_weight_fault {
    const char *tensor; /* "query weight", ...; NULL: all are finite */
    size_t index;       /* flat, in the logical [out, in] order */
    float value;
};

struct mh_multihead {
    size_t embed_dim, heads, kv_heads, head_dim;
    struct mh_linear in[MH_IN_PROJECTIONS]; /* one behind the other in memory, biases too: those
                                               with inputs of equal width are also one layer */
    struct mh_linear out;                   /* packed is NULL: identity */
    const float *bias_key, *bias_value;     /* [G*D], or NULL */
    bool add_zero_attention;
    size_t extra_keys; /* 0, 1 or 2 keys after the caller's: bias_key, then zero */
    struct mh_weight_fault fault;
    float data[]; /* all of the above */
};

/* ARGUMENT, SHAPE or UNSUPPORTED if the configuration makes no module. */
enum mh_status mh_multihead_check(const struct mh_multihead_config *config, struct mh_error *error);

/* ARGUMENT if a size of the pass is 0. */
enum mh_status mh_multihead_check_sizes(const struct mh_multihead_pass *pass,
                                        struct mh_error *error);

/* ARGUMENT or SHAPE if an input is missing, or there are more free keys than keys. */
enum mh_status mh_multihead_check_inputs(const struct mh_multihead_pass *pass,
                                         struct mh_error *error);

#endif
