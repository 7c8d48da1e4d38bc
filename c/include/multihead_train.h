/* multihead: learning. Gradients of all that multihead.h computes, and a trainer around them.
 *
 * This header is the manual, after multihead.h, whose letters, layout and rules of ownership it
 * shares. It is organised as:
 *
 *   1. Network and parameters     mh_network, mh_parameter_*   the learned numbers, as one array
 *   2. Gradient of one batch      mh_training_*                into a buffer that the caller owns
 *   3. Gradient of one module     mh_multihead_backward*       for networks of one's own
 *   4. One step                   mh_gradient_*, mh_learning_rate, mh_adamw_step, mh_sgd_step
 *   5. Trainer                    mh_trainer_*                 all of it behind one handle
 *   6. Layout of these structs    mh_train_layout
 *
 * Sections 2 to 4 allocate nothing and share nothing, so that a batch may be cut into shards that
 * are computed at the same time, each with a workspace and a gradient of its own, and added up in a
 * fixed order: the same build, input, seed and number of shards give the same bits.
 *
 * A first step, of a model of one's own:
 *
 *     struct mh_network network = {.model = {.layers = 2, .heads = 4, .kv_heads = 4, .embed_dim = 64,
 *         .ffn_dim = 256, .vocabulary = 32, .positions = 32, .norm_epsilon = 1e-5f}};
 *     struct mh_trainer_settings settings = {.seed = 1, .adamw = {0.9f, 0.98f, 1e-8f, 0.01f},
 *         .schedule = {.peak = 3e-3f, .warm_up = 100, .steps = 1500}, .clip = 1.0f};
 *     mh_trainer *trainer;
 *     if (mh_trainer_create(&trainer, &network, &settings, &error)) puts(error.message);
 *     struct mh_training_pass batch = {.batch = 32, .length = 32, .tokens = tokens,
 *         .targets = targets, .mask = {.causal = 1}};
 *     mh_trainer_accumulate(trainer, &batch, &result, &error);
 *     mh_trainer_apply(trainer, &report, &error);
 */
#ifndef MULTIHEAD_TRAIN_H
#define MULTIHEAD_TRAIN_H

#include "multihead.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== 1. Network and parameters ==============================================================
 *
 * All learned numbers of a network are one array of floats, so that an optimiser, a norm or a sum is
 * one loop; a gradient is laid out the same. Three architectures, of the same blocks:
 *
 *   decoder           tokens -> blocks -> tied head: GPT-2's, and BERT's, as the mask has it. Tensors:
 *                     wte.weight, wpe.weight, the twelve of each layer h.N.…, ln_f.weight, ln_f.bias
 *   encoder-decoder   source tokens -> blocks -> memory; tokens -> blocks that also attend to the
 *                     memory -> tied head (Vaswani et al. 2017). Source and target share wte and wpe.
 *                     wte, wpe, encoder.h.N.…, encoder.ln_f, then h.N.… with eight more tensors each
 *                     (ln_cross_attn, crossattention.{q_attn, c_attn, c_proj}), ln_f
 *   classifier        patches -> linear -> blocks -> one place, or the mean -> head (Dosovitskiy et
 *                     al. 2021, ViT). patch.weight [P, E], patch.bias, class_token, wpe, h.N.…, ln_f,
 *                     head.weight [E, V], head.bias
 *
 * Weights are [in, out]; ln_f is there with pre-norm alone. */

enum mh_architecture {
    MH_DECODER = 0,
    MH_ENCODER_DECODER = 1,
    MH_CLASSIFIER = 2,
};

struct mh_network {
    struct mh_model_config model; /* layers are the decoder's; a classifier's vocabulary is its
                                     number of classes, its positions count the class token */
    int32_t architecture;         /* enum mh_architecture */
    size_t encoder_layers;        /* of an encoder-decoder */
    size_t patch_dim;             /* P of a classifier: numbers of a patch */
    int32_t class_token; /* of a classifier. 1: a learned token before the patches, whose place the
                             head reads; 0: the head reads the mean over all places */
    int32_t sinusoidal;  /* 1: positions are not learned: sin and cos (Vaswani et al. 2017, 3.5),
                             and embeddings are multiplied by sqrt(E), as there; no wpe.weight */
};

#define MH_PARAMETER_NAME 128 /* bytes of the longest name, with its NUL */

struct mh_parameter {
    char name[MH_PARAMETER_NAME]; /* as in a file: "h.0.attn.c_attn.weight" */
    size_t rows, columns;         /* rows 0: a vector */
    size_t offset, count;         /* of its floats in the array */
    int32_t decays;               /* 1: a matrix, which weight decay shrinks; norms and biases, 0 */
};

/* Errors: ARGUMENT, SHAPE for sizes that make no network. */
enum mh_status mh_network_check(const struct mh_network *network, struct mh_error *error);

/* For a network that mh_network_check accepts: number of tensors, what tensor `index` is, and floats
 * of all together (SIZE_MAX if they cannot be counted). */
size_t mh_parameter_count(const struct mh_network *network);
void mh_parameter_at(const struct mh_network *network, size_t index,
                     struct mh_parameter *parameter);
size_t mh_parameters_size(const struct mh_network *network);

/* How matrices [in, out] start (Glorot & Bengio 2010, eq. 16). */
enum mh_initialisation {
    MH_XAVIER_UNIFORM = 0, /* on ± sqrt(6 / (in + out)) */
    MH_XAVIER_NORMAL = 1,  /* with standard deviation sqrt(2 / (in + out)) */
};

/* Fills all parameters; the same seed gives the same ones. Embeddings are normal with standard
 * deviation 0.02 (GPT-2's), as are positions and class token; biases 0; norms 1 and 0. */
void mh_parameters_initialise(const struct mh_network *network, int32_t initialisation,
                              uint32_t seed, float *parameters);

/* ===== 2. Gradient of one batch ===============================================================
 *
 * The forward pass is that of mh_model_forward, for several sequences, with dropout (Srivastava et
 * al. 2014) at its two places: on attention weights after softmax, and on each residual branch
 * before it is added. The loss is the cross-entropy of softmax(logits) with one right token a place.
 * Logits of places without a target are not computed, unless `logits` asks for them. */

/* Attention weights P of one head that are to be like given ones: adds
 * factor * weight * Σ KL(target ‖ P) over its rows to what is minimised. A row of zeros asks nothing. */
struct mh_supervision {
    int32_t layer, head;
    int32_t cross;       /* 0: self-attention (the decoder's); 1: cross-attention */
    float weight;        /* >= 0 */
    const float *target; /* [B, T, S], rows of probabilities; keys that the mask hides have 0 */
};

struct mh_training_pass {
    const float *parameters; /* mh_parameters_size(network) floats */
    float *gradient;         /* as many, added to: that is how gradients are accumulated; clear it
                                before the first pass. NULL: no gradient */
    size_t batch, length;    /* B, T <= positions. Of a classifier T is the number of patches */
    const int32_t *tokens;   /* [B, T], each 0..V-1; a classifier has none */
    const int32_t *targets;  /* [B, T], of a classifier [B]: each < V; < 0: this place does not
                                count. NULL: none does */
    struct mh_mask mask;     /* for every layer; key_lengths, key_hidden, … for each sequence */
    const struct mh_mask
        *layer_masks; /* [L] one for each layer instead, as shifted windows need; or
                                          NULL. With a class token masks count it as place 0 */

    const int32_t *source;         /* [B, S] of an encoder-decoder */
    size_t source_length;          /* S <= positions */
    const int32_t *source_lengths; /* [B], each 1..S: the rest is padding; or NULL */
    const float *patches;          /* [B, T, P] of a classifier */

    int32_t scale_mode; /* enum mh_scale_mode */
    float scale;
    float attention_dropout; /* 0 <= p < 1 */
    float residual_dropout;  /* 0 <= p < 1 */
    uint32_t
        dropout_seed; /* layer l drops by mh_training_layer_seed(dropout_seed, l); cross-attention
                                as layer L + l, the encoder as layer 2 L + l */
    float factor;     /* the gradient is that of factor * Σ losses. 0: of their mean, as
                                torch's cross_entropy, over the places of this pass that count. For
                                the mean over several passes: 1 / all places that count */
    const struct mh_supervision *supervision; /* [supervision_count], or NULL */
    size_t supervision_count;

    /* Outputs, each may be NULL. Weights are after softmax, before dropout; with a class token T
     * counts it. */
    float *attention;         /* [L, B, H, T, T] */
    float *scores;            /* [L, B, H, T, T] what softmax saw, -inf where hidden */
    float *cross_attention;   /* [L, B, H, T, S] */
    float *encoder_attention; /* [encoder layers, B, H, S, S] */
    float *logits;            /* [B, T, V]; of a classifier [B, V] */
};

struct mh_training_result {
    double loss; /* Σ of the losses (nats) of the places that count; their mean is loss / counted */
    size_t counted;     /* places with a target */
    size_t correct;     /* of them, those where the target has the largest logit */
    double supervision; /* Σ weight * KL */
};

uint32_t mh_training_layer_seed(uint32_t seed, size_t layer);

/* Bytes of workspace for a pass of these sizes and outputs; more is fine too. Errors: ARGUMENT, SHAPE, MEMORY. */
enum mh_status mh_training_workspace(const struct mh_network *network,
                                     const struct mh_training_pass *pass, size_t *bytes,
                                     struct mh_error *error);

/* Loss, gradient, and what else is asked for. Errors: ARGUMENT (a token, target or setting out of
 * range, with the place), SHAPE, MEMORY. */
enum mh_status mh_training_gradient(const struct mh_network *network,
                                    const struct mh_training_pass *pass, void *workspace,
                                    size_t workspace_bytes, struct mh_training_result *result,
                                    struct mh_error *error);

/* ===== 3. Gradient of one module ==============================================================
 *
 * The gradient of what mh_multihead_forward computes, torch.nn.MultiheadAttention: by its inputs, by
 * every projection and its bias, by the learned extra key and value; under every mask, scale and
 * dropout, with shared key heads. */

/* `output` is given: the gradient of a loss by the module's output. The others may each be NULL, if
 * nobody wants them. They are laid out as what they are the gradient of, by the same strides, and
 * added to: clear them first. So where query, key and value are one input, one array may stand for
 * the gradient by all three. A bias that is absent counts as zeros. */
struct mh_multihead_gradient {
    const float *output; /* (b, t, e) by the pass's output strides */
    float *query, *key, *value;
    float *query_weight, *key_weight, *value_weight, *out_weight;
    float *query_bias, *key_bias, *value_bias, *out_bias;
    float *bias_key, *bias_value;
};

/* Bytes of workspace. Reads the sizes of the pass alone. */
enum mh_status mh_multihead_backward_workspace(const struct mh_multihead_config *config,
                                               const struct mh_multihead_pass *pass, size_t *bytes,
                                               struct mh_error *error);

/* Computes the pass again, from weights as they lie in the config, and then back. Of `pass` it takes
 * sizes, inputs, strides, scale, mask and dropout with its seed; outputs that it asks for are not
 * written. Inputs must be finite, also where a mask hides them. Errors: those of mh_multihead_create
 * and _forward; ARGUMENT for a gradient by a part that is not there; UNSUPPORTED for integer
 * precision. */
enum mh_status mh_multihead_backward(const struct mh_multihead_config *config,
                                     const struct mh_multihead_pass *pass,
                                     const struct mh_multihead_gradient *gradient, void *workspace,
                                     size_t workspace_bytes, struct mh_error *error);

/* ===== 4. One step ============================================================================
 *
 *     clear the gradients; mh_training_gradient for each part of the batch, into one gradient or
 *     several; mh_gradient_add them up; mh_gradient_clip; mh_adamw_step at mh_learning_rate(step)
 */

struct mh_schedule {
    float peak, floor;
    uint32_t warm_up, steps; /* warm_up <= steps. steps 0: `peak` for ever, after the warm-up */
};

/* The learning rate of step 0, 1, …: rises linearly, peak (step + 1) / warm_up, then falls by half
 * a cosine from peak at `warm_up` to floor at `steps`, where it stays. */
float mh_learning_rate(const struct mh_schedule *schedule, uint32_t step);

/* sum [n] += gradient [n]. May run on parts of the arrays at the same time. */
void mh_gradient_add(float *sum, const float *gradient, size_t n);

/* gradient [n] *= factor */
void mh_gradient_scale(float *gradient, float factor, size_t n);

/* Euclidean norm of [n] floats, summed in double. */
double mh_gradient_norm(const float *gradient, size_t n);

/* Scales the gradient [n] so that its Euclidean norm is at most `most`, as
 * torch.nn.utils.clip_grad_norm_ does; most <= 0 leaves it. Returns the norm it had. A norm that is
 * not finite leaves it too: the caller should not take that step. */
float mh_gradient_clip(float *gradient, size_t n, float most);

struct mh_adamw {
    float beta1, beta2; /* 0.9 and 0.95 or 0.999 are usual */
    float epsilon;      /* 1e-8 */
    float weight_decay; /* of matrices; norms and biases never decay */
};

/* Memory of the caller's, mh_parameters_size floats each, all zero before the first step. */
struct mh_adamw_state {
    float *mean;     /* of the gradient */
    float *variance; /* of the gradient, about 0 */
    uint32_t step;   /* steps taken */
};

/* One step at this learning rate (Loshchilov & Hutter 2019, "Decoupled weight decay
 * regularization", algorithm 2):
 *
 *     p *= 1 - rate * decay             m += (1 - β1)(g - m)         v = β2 v + (1 - β2) g²
 *     p -= rate m̂ / (sqrt(v̂) + ε)      m̂ = m / (1 - β1^t)           v̂ = v / (1 - β2^t) */
void mh_adamw_step(const struct mh_network *network, const struct mh_adamw *adamw, float rate,
                   struct mh_adamw_state *state, float *parameters, const float *gradient);

/* p = p (1 - rate * decay) - rate g: plain gradient descent, with the same decoupled decay. */
void mh_sgd_step(const struct mh_network *network, float weight_decay, float rate,
                 float *parameters, const float *gradient);

/* ===== 5. Trainer =============================================================================
 *
 * Owns parameters and a workspace that grows to the largest batch it has seen; from the first batch to
 * learn from on, or the first checkpoint loaded, a gradient and the optimiser's state too: one that
 * only evaluates keeps a quarter of that. One step is mh_trainer_accumulate for each part of the batch, then mh_trainer_apply. The
 * gradient is that of the mean loss over all places that counted since the last step. */

enum mh_optimiser {
    MH_ADAMW = 0,
    MH_SGD = 1,
};

struct mh_trainer_settings {
    uint32_t seed;          /* of the first parameters, and of dropout */
    int32_t initialisation; /* enum mh_initialisation */
    int32_t optimiser;      /* enum mh_optimiser */
    struct mh_adamw adamw;  /* SGD reads weight_decay alone */
    struct mh_schedule schedule;
    float clip;              /* largest norm of the gradient; <= 0: any */
    float attention_dropout; /* while learning, not in mh_trainer_evaluate */
    float residual_dropout;
    int32_t scale_mode; /* enum mh_scale_mode: MH_SCALE_NONE leaves out √d */
    float scale;
};

typedef struct mh_trainer mh_trainer;

enum mh_status mh_trainer_create(mh_trainer **out, const struct mh_network *network,
                                 const struct mh_trainer_settings *settings,
                                 struct mh_error *error);
void mh_trainer_free(mh_trainer *trainer);

/* Other settings from the next batch on. Parameters and the optimiser's state stay. */
enum mh_status mh_trainer_configure(mh_trainer *trainer, const struct mh_trainer_settings *settings,
                                    struct mh_error *error);

/* Adds the gradient of a batch. Of `pass` the trainer takes sizes, tokens, targets, mask and
 * outputs; parameters, gradient, scale, dropout and factor are its own. Errors: those of
 * mh_training_gradient; NONFINITE, naming the first parameter with NaN or infinity, else the first
 * activation, and the step. */
enum mh_status mh_trainer_accumulate(mh_trainer *trainer, const struct mh_training_pass *pass,
                                     struct mh_training_result *result, struct mh_error *error);

struct mh_step_report {
    uint32_t step;         /* steps taken, with this one */
    float learning_rate;   /* of this one */
    float gradient_norm;   /* before clipping */
    float *gradient_norms, /* [mh_parameter_count] of each tensor, after clipping; or NULL */
        *update_norms,     /* … of what the step added to it; or NULL */
        *parameter_norms;  /* … of the tensor after the step; or NULL */
};

/* Takes one step with what was accumulated, and clears it. The pointers in `report` are the
 * caller's. Errors: ARGUMENT if no place counted; NONFINITE, naming the tensor of the gradient and
 * the step: then parameters and state are as they were, and the gradient is cleared. */
enum mh_status mh_trainer_apply(mh_trainer *trainer, struct mh_step_report *report,
                                struct mh_error *error);

/* Loss, weights, scores and logits of a batch as it is now: no dropout, no gradient, nothing
 * changed. Errors: those of mh_training_gradient. */
enum mh_status mh_trainer_evaluate(mh_trainer *trainer, const struct mh_training_pass *pass,
                                   struct mh_training_result *result, struct mh_error *error);

/* The trainer's own arrays, of mh_parameters_size floats, until it is freed. Parameters may be
 * written between calls. The gradient is as accumulated: of the sum of the losses; NULL if there is
 * no memory for it. */
float *mh_trainer_parameters(mh_trainer *trainer);
float *mh_trainer_gradient(mh_trainer *trainer);
const struct mh_network *mh_trainer_network(const mh_trainer *trainer);
uint32_t mh_trainer_step(const mh_trainer *trainer); /* steps taken */

/* A file is safetensors that mh_model_load reads. With the optimiser's state (trainer.mean,
 * trainer.variance, trainer.step) it is a checkpoint: a trainer of the same network and settings that
 * loads it goes on bit by bit as this one would, given the same batches. */
enum mh_file {
    MH_FILE_MODEL = 0,
    MH_FILE_CHECKPOINT = 1,
};

/* Bytes of the file. Then writes it: `bytes` must be just that. Errors: ARGUMENT, also for a
 * checkpoint between mh_trainer_accumulate and mh_trainer_apply. */
size_t mh_trainer_file_bytes(const mh_trainer *trainer, int32_t file);
enum mh_status mh_trainer_save(const mh_trainer *trainer, int32_t file, void *out, size_t bytes,
                               struct mh_error *error);

/* Takes the parameters of a file of the same network, in any dtype that mh_model_load reads, and the optimiser's state if it is a
 * checkpoint; else the optimiser starts anew at step 0. What was accumulated is dropped. On failure
 * the trainer is as it was. Errors: those of mh_model_load. */
enum mh_status mh_trainer_load(mh_trainer *trainer, const void *file, size_t bytes,
                               struct mh_error *error);

/* ===== 6. Layout ============================================================================== */

/* The structs of this header, as mh_layout has those of multihead.h. */
const struct mh_field *mh_train_layout(void);

#ifdef __cplusplus
}
#endif

#endif
