/* AdamW with a warm-up, a cosine and a clipped gradient (Loshchilov & Hutter 2019, "Decoupled weight
 * decay regularization", algorithm 2). One step of training:
 *
 *     clear the gradient; mh_training_gradient for each part of the batch;
 *     mh_clip_gradient; mh_adamw_step at mh_learning_rate(step)
 */
#ifndef MH_OPTIMISER_H
#define MH_OPTIMISER_H

#include "train/model_parameters.h"

#include <stdint.h>

struct mh_schedule {
    float peak, floor;
    uint64_t warm_up, steps; /* warm_up <= steps */
};

/* The learning rate of step 0, 1, …: rises linearly, peak (step + 1) / warm_up, then falls by half
 * a cosine from peak at `warm_up` to floor at `steps`, where it stays. */
float mh_learning_rate(const struct mh_schedule *schedule, uint64_t step);

/* Scales the gradient [n] so that its Euclidean norm is at most `most`, as
 * torch.nn.utils.clip_grad_norm_ does; most <= 0 leaves it. Returns the norm it had. A norm that is
 * not finite leaves it too: the caller should not take that step. */
float mh_clip_gradient(float *gradient, size_t n, float most);

struct mh_adamw {
    float beta1, beta2; /* 0.9 and 0.95 or 0.999 are usual */
    float epsilon;      /* 1e-8 */
    float weight_decay; /* of matrices; norms and biases never decay */
};

/* Memory of the caller's, mh_parameters_size floats each, all zero before the first step. */
struct mh_adamw_state {
    float *mean;     /* of the gradient */
    float *variance; /* of the gradient, about 0 */
    uint64_t step;   /* steps taken */
};

/* One step at this learning rate:
 *
 *     p *= 1 - rate * decay             m += (1 - β1)(g - m)         v = β2 v + (1 - β2) g²
 *     p -= rate m̂ / (sqrt(v̂) + ε)      m̂ = m / (1 - β1^t)           v̂ = v / (1 - β2^t) */
void mh_adamw_step(const struct mh_adamw *adamw, const struct mh_model_config *config, float rate,
                   struct mh_adamw_state *state, float *parameters, const float *gradient);

#endif
