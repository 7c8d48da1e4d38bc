/* The recorded cases of torch.nn.MultiheadAttention: module, inputs and masks. Everything belongs to
 * the case. */
#ifndef MH_TEST_GOLDEN_MODULE_H
#define MH_TEST_GOLDEN_MODULE_H

#include "multihead.h"

#include "support/golden.h"

struct golden_module {
    struct mh_multihead_config config;
    struct mh_multihead_pass pass; /* asks for the output alone */
    size_t sizes[4];               /* B, H, T, S */
    size_t columns;                /* of weights: S and the extra keys */
};

struct golden_module golden_module(struct golden_case *golden);

/* The settings attn_mask and key_padding, for sizes B, H, T, S. */
struct mh_mask golden_module_mask(struct golden_case *golden, const size_t sizes[4]);

/* A mask by its strides: batch, head, row. */
void golden_set_hidden(struct mh_mask *mask, const uint8_t *hidden, const size_t strides[3]);
void golden_set_bias(struct mh_mask *mask, const float *bias, const size_t strides[3]);

/* Weights under PyTorch's names, which start with `prefix`: "" for the module itself, "self_attn."
 * inside a layer. */
struct mh_multihead_config golden_module_config(struct golden_case *golden, const char *prefix,
                                                size_t key_dim, size_t value_dim, bool has_bias);

/* One linear layer from torch's weights, rows of `columns`. */
struct mh_linear_weights golden_linear(const float *weight, size_t columns, const float *bias);

#endif
