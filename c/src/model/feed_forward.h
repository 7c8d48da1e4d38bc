/* The feed-forward part of a transformer block: activation(x W1ᵀ + b1) W2ᵀ + b2. */
#ifndef MH_FEED_FORWARD_H
#define MH_FEED_FORWARD_H

#include "ops/linear.h"

struct mh_feed_forward {
    struct mh_linear in, out; /* [F, E], [E, F] */
    int32_t activation;       /* enum mh_activation */
};

/* x = activation(x), in place; activation is an enum mh_activation. */
void mh_activate(int32_t activation, float *x, size_t n);

/* Bytes of `scratch` for so many rows. */
size_t mh_feed_forward_scratch(const struct mh_feed_forward *ffn, size_t rows);

/* out [rows, E] from x [rows, E]; `hidden` is scratch of [rows, F]. out may not overlap x. */
void mh_feed_forward_rows(const struct mh_feed_forward *ffn, float *out, const float *x,
                          float *hidden, size_t rows, void *scratch);

#endif
