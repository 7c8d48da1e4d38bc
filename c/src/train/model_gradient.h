/* The loss of a GPT-2 layout model on a batch of token sequences, and its gradient by every
 * parameter. */
#ifndef MH_MODEL_GRADIENT_H
#define MH_MODEL_GRADIENT_H

#include "multihead.h"

#include "train/model_parameters.h"

/* Same letters as multihead.h. The forward pass is that of mh_model_forward, with dropout. */
struct mh_training_pass {
    const float *parameters; /* mh_parameters_size(config) floats */
    float *gradient;         /* as many, added to: that is how gradients are accumulated; clear it
                                before the first pass. NULL: the loss alone */
    size_t batch, length;    /* B, T <= positions */
    const int32_t *tokens;   /* [B, T], each 0..V-1 */
    const int32_t *targets;  /* [B, T], each < V; < 0: this place does not count */
    struct mh_mask mask;     /* for every layer */
    int32_t scale_mode;
    float scale;
    float dropout;         /* on attention weights and on both residual branches; 0 <= p < 1 */
    uint32_t dropout_seed; /* layer l drops by mh_training_layer_seed(dropout_seed, l) */
    float factor;          /* the gradient is that of factor * Σ losses. 0: of their mean, as
                              torch's cross_entropy, over the places of this pass that count. For the
                              mean over several passes: 1 / all places that count */
};

struct mh_training_result {
    double loss; /* Σ of the losses (nats) of the places that count; their mean is loss / counted */
    size_t counted; /* places with a target */
    size_t correct; /* of them, those where the target has the largest logit */
};

uint32_t mh_training_layer_seed(uint32_t seed, size_t layer);

/* Bytes of workspace for a pass of these sizes. Errors: ARGUMENT, SHAPE, MEMORY. */
enum mh_status mh_training_workspace(const struct mh_model_config *config,
                                     const struct mh_training_pass *pass, size_t *bytes,
                                     struct mh_error *error);

/* Allocates nothing; the same build, input and seed give the same bits. Errors: ARGUMENT (a token,
 * target or setting out of range, with the place), SHAPE, MEMORY. */
enum mh_status mh_training_gradient(const struct mh_model_config *config,
                                    const struct mh_training_pass *pass, void *workspace,
                                    size_t workspace_bytes, struct mh_training_result *result,
                                    struct mh_error *error);

#endif
