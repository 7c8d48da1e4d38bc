/* What training computes, forward only, in float64, the obvious way: its differences are the
 * gradients that the engine must give. Nothing is shared with the engine but the choice of what
 * dropout drops. All matrices are row-major. */
#ifndef MH_TEST_TRAIN_REFERENCE_H
#define MH_TEST_TRAIN_REFERENCE_H

#include "multihead_train.h"

#include <stdbool.h>

/* y [rows, out] = x W + b; W is [in, out], or [out, in]. b may be NULL. */
void ref_linear(double *y, const double *x, const double *w, const double *b, size_t rows,
                size_t in, size_t out, bool out_by_in);

/* One row; y may be x. */
void ref_layer_norm(double *y, const double *x, const double *weight, const double *bias,
                    double epsilon, size_t n);

double ref_activation(enum mh_activation activation, double x);

/* Mean over the rows whose target is not negative. */
double ref_cross_entropy(const double *logits, const int32_t *targets, size_t rows,
                         size_t vocabulary);

/* q [B, T, H, D], k [B, S, G, D], v [B, S, G, DV] with rows `*_stride` apart, out [B, T, H, DV].
 * Sizes, scale, mask and dropout are those of `a`; its pointers are not looked at. */
void ref_attention(const struct mh_attention *a, double *out, const double *q, size_t q_stride,
                   const double *k, size_t k_stride, const double *v, size_t v_stride);

/* x [n] as dropout leaves the row that (seed, a, b, c) names. */
void ref_dropout(double *x, size_t n, float probability, uint32_t seed, size_t a, size_t b,
                 size_t c);

/* The weights of one row, before dropout; zeros if it sees no key. q and k are those of its head. */
void ref_weights(const struct mh_attention *a, double *weights, const double *q, const double *k,
                 size_t k_stride, size_t b, size_t h, size_t i);

/* The mean loss of a network whose parameters, laid out as multihead_train.h says, are doubles;
 * those of the pass are not looked at. With what supervision adds, at factor 1 / places that count. */
double ref_model_loss(const struct mh_network *network, const struct mh_training_pass *pass,
                      const double *parameters);

#endif
