/* multihead: multi-head attention in C, built for WebAssembly SIMD and for native tests.
 *
 * This header is the manual. It is organised as:
 *
 *   1. Letters, layout, ownership       how to read every shape below
 *   2. Status and errors                every fallible call returns enum mh_status
 *   3. Masks                            which key a query may see
 *   4. Scaled dot-product attention     mh_attention_*   (Q, K, V given)
 *   5. Multi-head attention             mh_multihead_*   (with in- and out-projections)
 *   6. Transformer block                mh_block_*       (attention, feed-forward, residuals, norms)
 *   7. Model                            mh_model_*       (GPT-2 layout, from safetensors)
 *   8. Statistics of attention weights  mh_statistics_*
 *   9. Layout of these structs, for callers that are not C (mh_layout)
 *
 * A first call, for self-attention of T = 3 rows, one head of D = 4:
 *
 *     float q[12], k[12], v[12], out[12], weights[9];
 *     struct mh_attention a = {
 *         .batch = 1, .queries = 3, .keys = 3, .heads = 1, .kv_heads = 1, .head_dim = 4,
 *         .value_dim = 4,
 *         .query = {.data = q, .row_stride = 4}, .key = {.data = k, .row_stride = 4},
 *         .value = {.data = v, .row_stride = 4}, .output = {.data = out, .row_stride = 4},
 *         .mask = {.causal = 1},
 *         .weights = {.mode = MH_WEIGHTS_ALL, .data = weights},
 *     };
 *     struct mh_error error;
 *     size_t bytes;
 *     if (mh_attention_workspace(&a, &bytes, &error)) puts(error.message);
 *     void *workspace = malloc(bytes);
 *     struct mh_report report;
 *     if (mh_attention_forward(&a, workspace, bytes, &report, &error)) puts(error.message);
 *
 * A zeroed field always means the usual thing: default scale, nothing hidden, no dropout, no
 * weights wanted. Start every struct with `= {0}` or a designated initialiser.
 */
#ifndef MULTIHEAD_H
#define MULTIHEAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ===== 1. Letters, layout, ownership =========================================================
 *
 *   B  batch                     H  query heads              D   head size of queries and keys
 *   T  queries (target length)   G  key/value heads          DV  head size of values
 *   S  keys (source length)      E  embed_dim = H * D        F   feed-forward size
 *   L  layers                    V  vocabulary
 *
 * [X, Y] is a row-major matrix, Y contiguous. Strides count elements, not bytes. All floats are
 * IEEE f32. Pointers to inputs and outputs need only the alignment of their type. Outputs may not
 * overlap inputs unless a function says so.
 *
 * Nothing here keeps a pointer it was given after the call returns, except where the word
 * "borrowed" says so. Handles (mh_multihead, mh_block, mh_model, mh_session) are made by _create or
 * _load and ended by _free (NULL is fine). Only those calls allocate; forward passes work in a workspace
 * that the caller owns: ask _workspace for its size, reuse it from call to call. A workspace holds
 * nothing between calls. The same build, input and seed give the same bits.
 */

/* ===== 2. Status and errors ================================================================= */

/* Values are part of the ABI: append only. */
#define MH_STATUS_LIST(X)                                                                          \
    X(OK, "ok")                                                                                    \
    X(ARGUMENT, "argument")       /* a value outside its range, or a missing pointer */            \
    X(SHAPE, "shape")             /* sizes that do not fit one another */                          \
    X(MEMORY, "memory")           /* out of memory, or a workspace too small */                    \
    X(UNSUPPORTED, "unsupported") /* valid, but not something this engine does */                  \
    X(CORRUPT, "corrupt")         /* a file that is not what it claims to be */                    \
    X(NONFINITE, "nonfinite")     /* the finite-ness guard found NaN or Inf */

enum mh_status {
#define X(name, text) MH_##name,
    MH_STATUS_LIST(X)
#undef X
};

/* Stable lower-case name of a status, such as "shape"; "unknown" for any other number. */
const char *mh_status_name(int32_t status);

/* Filled by the call that failed. `message` says what was wrong, with the numbers, and what to do.
 * Every `struct mh_error *error` and `struct mh_report *report` below may be NULL; so may what a
 * comment says may be. Any other NULL is ARGUMENT. A handle that could not be made is NULL. */
struct mh_error {
    int32_t status;
    char message[252];
};

/* ===== 3. Masks ==============================================================================
 *
 * All parts combine: a key is visible to a query when every part that is set allows it. In order:
 *
 *   free_keys      the last `free_keys` keys are visible to every query, whatever the rest says
 *                  (the appended bias_k and zero keys of torch.nn.MultiheadAttention). They have no
 *                  position, and the arrays below leave them out: there S counts the other keys
 *   causal         key j <= query i + query_offset           (query_offset S - T for decoding)
 *   window         i + query_offset - window_left <= j <= i + query_offset + window_right
 *   prefix         keys j < prefix are visible whatever causal and window say (prefix LM)
 *   blocks         key_blocks[j] == query_blocks[i]          (Swin windows, packed documents)
 *   key_lengths    keys j >= key_lengths[b] are padding
 *   key_hidden     key_hidden[b * S + j] != 0 is padding
 *   hidden         boolean mask of any shape; hidden_when names the value that HIDES
 *   bias           additive: score += bias; -inf hides
 *
 * A query that can see no key gives zero weights and a zero output row, and is counted in
 * mh_report.masked_rows: never NaN. */

enum mh_hidden_when {
    MH_HIDDEN_WHEN_TRUE = 0,  /* nonzero hides: torch.nn.MultiheadAttention's convention */
    MH_HIDDEN_WHEN_FALSE = 1, /* zero hides: scaled_dot_product_attention's convention */
};

struct mh_mask {
    int32_t causal;       /* 0 or 1 */
    int32_t query_offset; /* position of query 0 on the key axis, any sign */
    int32_t windowed;     /* 0 or 1; 0 ignores the next two */
    int32_t window_left;  /* keys visible before the query's own position; < 0: no limit */
    int32_t window_right; /* keys visible after it; < 0: no limit */
    size_t prefix;
    size_t free_keys;

    const int32_t *query_blocks; /* [T], or NULL */
    const int32_t *key_blocks;   /* [S]; both or neither */
    const int32_t *key_lengths;  /* [B], each 0..S, or NULL */
    const uint8_t *key_hidden;   /* [B, S], or NULL */

    const uint8_t *hidden; /* (b, h, t, s) at b*batch + h*head + t*row + s, or NULL */
    int32_t hidden_when;   /* enum mh_hidden_when */
    size_t hidden_batch_stride, hidden_head_stride, hidden_row_stride; /* 0 broadcasts */

    const float *bias; /* the same indexing; or NULL. NaN and +inf are errors of the caller */
    size_t bias_batch_stride, bias_head_stride, bias_row_stride;
};

/* ===== 4. Scaled dot-product attention ========================================================
 *
 *   weights = softmax(scale * Q Kᵀ + mask)        [B, H, T, S]
 *   output  = dropout(weights) V                  [B, T, H, DV] by strides
 *
 * (Vaswani et al. 2017, "Attention Is All You Need", eq. 1.) With G < H, query heads share key and
 * value heads in groups of H / G, head h reading h / (H / G) (Ainslie et al. 2023, GQA; G = 1 is
 * MQA). Keys that a mask's geometry (causal, window, length) rules out cost no arithmetic. Scratch
 * is a few rows of S scores, never [T, S], so memory is linear in S when no weights are asked.
 *
 * A row of the result depends on its query and the keys it sees alone: the same bits whatever other
 * queries, heads or outputs are asked for. A hidden key, and any key whose weight is exactly 0, has
 * no influence even if it holds NaN. */

/* A [B, heads, rows, D] tensor by strides: element (b, h, r, d) is
 * data[b * batch_stride + h * head_stride + r * row_stride + d]. */
struct mh_rows {
    const float *data;
    size_t batch_stride, head_stride, row_stride;
};

struct mh_rows_out {
    float *data;
    size_t batch_stride, head_stride, row_stride;
};

enum mh_scale_mode {
    MH_SCALE_DEFAULT = 0, /* 1 / sqrt(D) */
    MH_SCALE_GIVEN = 1,   /* the field `scale` */
    MH_SCALE_NONE = 2,    /* 1 */
};

enum mh_weights_mode {
    MH_WEIGHTS_NONE = 0,
    MH_WEIGHTS_ALL = 1,  /* data [B, H, T, S] */
    MH_WEIGHTS_MEAN = 2, /* data [B, T, S], mean over heads (average_attn_weights) */
    MH_WEIGHTS_ROWS = 3, /* data [B, head_count, row_count, S]: chosen rows of chosen heads */
};

struct mh_weights_out {
    int32_t mode;
    float *data;
    const int32_t *heads; /* MH_WEIGHTS_ROWS: [head_count], strictly ascending; NULL = all heads */
    size_t head_count;
    const int32_t *rows; /* MH_WEIGHTS_ROWS: [row_count], strictly ascending; NULL = all rows */
    size_t row_count;
};

/* Chosen rows of chosen heads of a map [B, H, T, S]. Zeroed: all of it. */
struct mh_choice {
    const int32_t *heads; /* [head_count], strictly ascending; NULL = all heads */
    size_t head_count;
    const int32_t *rows; /* [row_count], strictly ascending; NULL = all rows */
    size_t row_count;
};

struct mh_attention {
    size_t batch, queries, keys, heads, kv_heads, head_dim, value_dim;
    struct mh_rows query;      /* [B, H, T, D] */
    struct mh_rows key;        /* [B, G, S, D] */
    struct mh_rows value;      /* [B, G, S, DV] */
    struct mh_rows_out output; /* [B, H, T, DV] */
    int32_t scale_mode;        /* enum mh_scale_mode */
    float scale;               /* only for MH_SCALE_GIVEN; finite */
    struct mh_mask mask;
    float dropout;         /* probability 0 <= p < 1 of dropping a weight after softmax; kept ones
                              are divided by 1 - p */
    uint32_t dropout_seed; /* the same seed drops the same (b, h, t, s) on every build */
    struct mh_weights_out weights; /* the weights that multiply V, that is, after dropout */
    float *raw_scores;             /* [B, H, T, S] Q Kᵀ before scale and mask, or NULL. Asking for
                                      it computes hidden keys too */
    float *scores;                 /* [B, H, T, S] what softmax sees: scale and mask.bias are in,
                                      hidden keys have -inf; or NULL */
    struct mh_choice chosen_scores; /* raw_scores and scores have only these rows and heads:
                                       [B, head_count, row_count, S] */
    float *
        row_statistics; /* [B, H, T, MH_ROW_STATISTICS] and [B, H, MH_HEAD_STATISTICS] of weights */
    float *head_statistics; /* and scores, handed out or not: see section 8; or NULL */
    int32_t check_finite;   /* 1: fail with MH_NONFINITE at the first NaN or Inf */
};

/* The tensors that the finite-ness guard can name. */
#define MH_TENSOR_LIST(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(QUERY, "query")                                                                              \
    X(KEY, "key")                                                                                  \
    X(VALUE, "value")                                                                              \
    X(BIAS, "bias")                                                                                \
    X(PROJECTED_QUERY, "projected query")                                                          \
    X(PROJECTED_KEY, "projected key")                                                              \
    X(PROJECTED_VALUE, "projected value")                                                          \
    X(SCORES, "scores")                                                                            \
    X(OUTPUT, "output")                                                                            \
    X(WEIGHT, "weight")                                                                            \
    X(HIDDEN, "hidden state")                                                                      \
    X(LOGITS, "logits")

enum mh_tensor {
#define X(name, text) MH_TENSOR_##name,
    MH_TENSOR_LIST(X)
#undef X
};

const char *mh_tensor_name(int32_t tensor);

/* What a forward pass noticed. Always written, also on failure, unless `report` is NULL. */
struct mh_report {
    uint32_t masked_rows; /* (b, h, t) rows (over all layers, for a model) with no visible key */
    int32_t nonfinite_tensor; /* enum mh_tensor; MH_TENSOR_NONE if all finite or not checked */
    uint32_t nonfinite_layer; /* for a model: the layer, L after the last; else 0 */
    uint32_t nonfinite_index; /* flat index in the tensor's logical [B, H, rows, D] order */
    float nonfinite_value;
    /* Of a model's pass: what a session did not have already; without one, everything. A row of a
     * layer counts if its hidden state after the layer was computed. */
    uint32_t computed_rows; /* over all layers; L * T is everything */
    uint32_t first_layer;   /* the first layer with such a row; L if there is none */
    uint32_t first_row;     /* the first such row of any layer; T if there is none */
};

/* Bytes of workspace that a forward pass with these sizes needs. Reads the sizes, not the data. */
enum mh_status mh_attention_workspace(const struct mh_attention *attention, size_t *bytes,
                                      struct mh_error *error);

/* Computes output and whatever else is asked for. `workspace` has at least the planned bytes, any
 * alignment. Errors: ARGUMENT, SHAPE, MEMORY, NONFINITE. */
enum mh_status mh_attention_forward(const struct mh_attention *attention, void *workspace,
                                    size_t workspace_bytes, struct mh_report *report,
                                    struct mh_error *error);

/* ===== 5. Multi-head attention ================================================================
 *
 * The module torch.nn.MultiheadAttention: in-projections, attention, out-projection.
 *
 *   q = query Wqᵀ + bq   k = key Wkᵀ + bk   v = value Wvᵀ + bv
 *   output = attention(q, k, v) Woᵀ + bo
 */

/* Weights as the caller has them; read by _create, which packs them. A weight is [out, in] by
 * strides: element (o, i) is data[o * out_stride + i * in_stride]. torch's Linear is
 * (out_stride = in, in_stride = 1); GPT-2's Conv1D, stored [in, out], is (1, out). The packed
 * in-projection [3E, E] is three of these into one block. */
struct mh_linear_weights {
    const float *data; /* NULL: no such projection (identity); only `out` may be absent */
    size_t out_stride, in_stride;
    const float *bias; /* [out], or NULL */
};

/* How linear layers are computed.
 *
 * MH_INT8: every weight [out, in] is rounded once to 127 levels an output channel, every input row
 * anew to 255 levels between its smallest and largest number; their products are sums of exact
 * integers, and all builds and machines give the same bits for the same input. Weights take a quarter
 * of the memory. A row that holds NaN or infinity gives NaN. Attention itself, norms and activations
 * stay in f32. */
enum mh_precision {
    MH_F32 = 0,
    MH_INT8 = 1,
};

struct mh_multihead_config {
    size_t embed_dim, key_dim, value_dim; /* widths of query, key and value inputs; 0 = embed_dim */
    size_t heads, kv_heads;               /* heads divides embed_dim, kv_heads divides heads */
    struct mh_linear_weights query;       /* [E, embed_dim] */
    struct mh_linear_weights key;         /* [G*D, key_dim] */
    struct mh_linear_weights value;       /* [G*D, value_dim] */
    struct mh_linear_weights out;         /* [E, E] */
    const float *bias_key,
        *bias_value;            /* [G*D] each, a learned extra key and value; both or neither */
    int32_t add_zero_attention; /* 1: an extra key and value of zeros */
    int32_t precision;          /* enum mh_precision, of all projections; of a block, of its
                                   feed-forward part too */
};

typedef struct mh_multihead mh_multihead;

/* Packs the weights; none of the config's pointers is kept. */
enum mh_status mh_multihead_create(mh_multihead **out, const struct mh_multihead_config *config,
                                   struct mh_error *error);
void mh_multihead_free(mh_multihead *multihead);

/* One pass. Weights and scores have S' = keys + (bias_key ? 1 : 0) + (add_zero_attention ? 1 : 0)
 * columns; masks are indexed by S (the extra keys are never hidden). Row strides let batch-first
 * and sequence-first input be read in place: (b, t, e) at b*batch_stride + t*row_stride + e. */
struct mh_multihead_pass {
    size_t batch, queries, keys;
    const float *query, *key, *value; /* the same pointer twice or thrice saves nothing to say:
                                         equal pointers and strides are projected in one product */
    size_t query_batch_stride, query_row_stride;
    size_t key_batch_stride, key_row_stride;
    size_t value_batch_stride, value_row_stride;
    float *output; /* (b, t, e) */
    size_t output_batch_stride, output_row_stride;
    int32_t scale_mode;
    float scale;
    struct mh_mask mask;
    float dropout;
    uint32_t dropout_seed;
    struct mh_weights_out weights;
    float *raw_scores, *scores; /* this and what follows: as in mh_attention */
    struct mh_choice chosen_scores;
    float *row_statistics, *head_statistics;
    int32_t check_finite;
};

enum mh_status mh_multihead_workspace(const mh_multihead *multihead,
                                      const struct mh_multihead_pass *pass, size_t *bytes,
                                      struct mh_error *error);
enum mh_status mh_multihead_forward(const mh_multihead *multihead,
                                    const struct mh_multihead_pass *pass, void *workspace,
                                    size_t workspace_bytes, struct mh_report *report,
                                    struct mh_error *error);

/* ===== 6. Transformer block ===================================================================
 *
 *   post-norm (Vaswani 2017):  x = LN1(x + attention(x));      x = LN2(x + ffn(x))
 *   pre-norm  (GPT-2):         x = x + attention(LN1(x));      x = x + ffn(LN2(x))
 *   ffn(x) = activation(x W1ᵀ + b1) W2ᵀ + b2
 */

enum mh_activation {
    MH_ACTIVATION_GELU = 0,      /* x Φ(x), exact form (Hendrycks & Gimpel 2016) */
    MH_ACTIVATION_GELU_TANH = 1, /* its tanh approximation, GPT-2's "gelu_new" */
    MH_ACTIVATION_RELU = 2,
};

enum mh_norm_position {
    MH_NORM_PRE = 0,
    MH_NORM_POST = 1,
};

struct mh_norm_weights {
    const float *weight, *bias; /* [E]; bias may be NULL */
};

struct mh_block_config {
    struct mh_multihead_config attention; /* key_dim and value_dim are embed_dim */
    size_t ffn_dim;                       /* F */
    struct mh_linear_weights ffn_in;      /* [F, E] */
    struct mh_linear_weights ffn_out;     /* [E, F] */
    struct mh_norm_weights norm1, norm2;
    int32_t activation;    /* enum mh_activation */
    int32_t norm_position; /* enum mh_norm_position */
    float norm_epsilon;    /* added to the variance; 1e-5 is usual */
};

typedef struct mh_block mh_block;

enum mh_ablation_kind {
    MH_ABLATE_ZERO = 0,    /* the head's output is zero */
    MH_ABLATE_MEAN = 1,    /* its output at every position is its mean over the positions */
    MH_ABLATE_UNIFORM = 2, /* it looks equally at every visible key */
};

/* One head of one layer. Weights and scores show what its softmax saw: of a uniform head, a score
 * of 0 on each visible key (raw_scores stay its own); of the others, what it would have looked at. */
struct mh_ablation {
    int32_t layer, head;
    int32_t kind; /* enum mh_ablation_kind */
};

struct mh_block_pass {
    size_t batch, length; /* B, T */
    const float *input;   /* [B, T, E] */
    float *output;        /* [B, T, E]; may be `input` */
    int32_t scale_mode;
    float scale;
    struct mh_mask mask;
    float dropout; /* on weights after softmax and on both residual branches */
    uint32_t dropout_seed;
    struct mh_weights_out weights;
    float *raw_scores, *scores; /* these five: as in mh_attention */
    struct mh_choice chosen_scores;
    float *row_statistics, *head_statistics;
    const struct mh_ablation *ablations; /* those whose `layer` is `layer` apply */
    size_t ablation_count;
    int32_t layer;
    int32_t check_finite;
};

enum mh_status mh_block_create(mh_block **out, const struct mh_block_config *config,
                               struct mh_error *error);
void mh_block_free(mh_block *block);
enum mh_status mh_block_workspace(const mh_block *block, const struct mh_block_pass *pass,
                                  size_t *bytes, struct mh_error *error);
enum mh_status mh_block_forward(const mh_block *block, const struct mh_block_pass *pass,
                                void *workspace, size_t workspace_bytes, struct mh_report *report,
                                struct mh_error *error);

/* ===== 7. Model ===============================================================================
 *
 *   hidden[0] = wte[tokens] + wpe[0..T)          hidden[l] = block_l(hidden[l-1])
 *   logits = LN_f(hidden[L]) wteᵀ  (tied head)    attention[l] = weights of block l
 *
 * Tensor names are GPT-2's (wte.weight, wpe.weight, h.N.ln_1.weight, h.N.attn.c_attn.weight [in,
 * out], …, ln_f.weight), with or without a leading "transformer.". Dtypes: F32, F16, BF16, and I8
 * with scales: an I8 matrix NAME [rows, cols] needs a tensor NAME.scale [r, c], F32 or F16, whose
 * sizes divide the matrix's. Each scale belongs to a block of rows/r x cols/c, value = scale * int8:
 * [rows, 1], or [rows], is a scale for each row, [1, cols] for each column.
 *
 * hidden[L] as given out is after the final norm, as Hugging Face's hidden_states[-1]. */

struct mh_model_config {
    size_t layers, heads, kv_heads, embed_dim, ffn_dim, vocabulary, positions;
    int32_t activation;    /* enum mh_activation */
    int32_t norm_position; /* enum mh_norm_position; MH_NORM_PRE has a final norm ln_f */
    float norm_epsilon;
    int32_t precision; /* enum mh_precision: of all linear layers, the tied head among them. The
                          embedding that tokens look up keeps 15 bits a number beside MH_INT8 */
};

typedef struct mh_model mh_model;

/* Reads a safetensors file of `bytes` bytes at `file`; copies and packs what it needs. A hostile
 * file gets MH_CORRUPT with a message that names the tensor, never a bad read. */
enum mh_status mh_model_load(mh_model **out, const struct mh_model_config *config, const void *file,
                             size_t bytes, struct mh_error *error);
void mh_model_free(mh_model *model);

/* What a model computed last, kept so that the next pass computes only what can have changed:
 *
 *   tokens changed from position p on     the rows that see position p or a later one: with a causal
 *                                         mask those from p on (so that a token more is one row: the
 *                                         "KV cache"), with a bidirectional one all of them
 *   mask changed for some rows of layer l     layer l, from the first of these rows on, and what follows
 *   ablation changed in layer l               all rows of layer l and what follows
 *   scale or temperature                      everything but the first projections
 *
 * A pass with a session gives what it gives without one, bit by bit; mh_report says how much was
 * computed. Any passes may follow one another; after one that failed, the next computes everything.
 * Weights and scores that are asked for again are recomputed from kept queries and keys: what is kept
 * is linear in the number of tokens. */
typedef struct mh_session mh_session;

/* A session for passes of at most `positions` tokens, 0 for the model's own limit. The model is
 * borrowed: free the session first. Errors: ARGUMENT, MEMORY. */
enum mh_status mh_session_create(mh_session **out, const mh_model *model, size_t positions,
                                 struct mh_error *error);
void mh_session_free(mh_session *session);

/* One pass over T tokens. Every output may be NULL. */
struct mh_model_pass {
    const int32_t *tokens;      /* [T], each 0..V-1 */
    size_t length;              /* T, 1..positions */
    struct mh_mask mask;        /* for every layer; batch is 1 */
    size_t hidden_layer_stride; /* layer l reads mask.hidden + l * this; 0 = the same mask */
    int32_t scale_mode;
    float scale;
    float temperature; /* softmax(scale * QKᵀ / temperature + mask); 0 means 1; else > 0 */
    const struct mh_ablation *ablations;
    size_t ablation_count;
    float *attention;  /* [L, H, T, T] */
    float *raw_scores; /* [L, H, T, T] QKᵀ */
    float *scores;     /* [L, H, T, T] what softmax sees: scale and temperature are in,
                                  hidden keys have -inf */
    struct mh_choice chosen_attention; /* `attention` has only these rows and heads, heads of all
                                          layers being numbered layer * H + head:
                                          [head_count, row_count, T] */
    struct mh_choice chosen_scores;    /* the same for raw_scores and scores */
    float *row_statistics;             /* [L, H, T, MH_ROW_STATISTICS], see section 8 */
    float *head_statistics;            /* [L, H, MH_HEAD_STATISTICS] */
    float *hidden;                     /* [L + 1, T, E] */
    float *logits;                     /* [logit_count, V] */
    const int32_t *logit_rows; /* [logit_count] positions whose logits are wanted; NULL = all T */
    size_t logit_count;        /* ignored when logit_rows is NULL */
    int32_t check_finite;
    mh_session *session; /* of this model, with room for T tokens; NULL: everything is computed */
};

enum mh_status mh_model_workspace(const mh_model *model, const struct mh_model_pass *pass,
                                  size_t *bytes, struct mh_error *error);
enum mh_status mh_model_forward(const mh_model *model, const struct mh_model_pass *pass,
                                void *workspace, size_t workspace_bytes, struct mh_report *report,
                                struct mh_error *error);

/* The k most probable tokens of one row of logits: ids and softmax probabilities, most probable
 * first; ties by lower id. k is at most V. */
enum mh_status mh_top_k(const float *logits, size_t vocabulary, size_t k, int32_t *ids,
                        float *probabilities, struct mh_error *error);

/* ===== 8. Statistics of attention weights =====================================================
 *
 * A forward pass computes them beside the weights, while these are in cache; for maps from elsewhere,
 * one call reads those of one layer. Results are in the order of these lists. 0 log 0 is 0; a row
 * with no visible key has all zeros, and is left out of head means. Free keys (mask.free_keys) have
 * no position: they are not in DISTANCE, and are nobody's self, previous or next. */

#define MH_ROW_STATISTIC_LIST(X)                                                                   \
    X(ENTROPY_NATS, "entropyNats")             /* -Σ a ln a */                                     \
    X(ENTROPY_BITS, "entropyBits")             /* -Σ a log2 a */                                   \
    X(ENTROPY_NORMALISED, "entropyNormalised") /* nats / ln(visible keys), 0..1; 0 if one key */   \
    X(ENTROPY_EPSILON, "entropyEpsilon")       /* -Σ a ln(a + 1e-8), for comparison */             \
    X(MAXIMUM, "maximum")                      /* the largest weight */                            \
    X(ARGMAX, "argmax")                        /* its key, the first if tied; an exact float */    \
    X(DISTANCE, "distance")                    /* Σ a |i + query_offset - j|, in tokens */         \
    X(FIRST, "first")                          /* weight on key 0 */                               \
    X(SELF, "self")                            /* on key i + query_offset; 0 if there is none */   \
    X(PREVIOUS, "previous")                    /* on the key before that */                        \
    X(NEXT, "next")                            /* on the key after that */                         \
    X(VISIBLE, "visible")                      /* number of visible keys */

enum mh_row_statistic {
#define X(name, text) MH_ROW_##name,
    MH_ROW_STATISTIC_LIST(X)
#undef X
        MH_ROW_STATISTICS
};

#define MH_HEAD_STATISTIC_LIST(X)                                                                  \
    X(ENTROPY_NATS, "entropyNats") /* means over rows that see a key */                            \
    X(ENTROPY_BITS, "entropyBits")                                                                 \
    X(ENTROPY_NORMALISED, "entropyNormalised")                                                     \
    X(ENTROPY_EPSILON, "entropyEpsilon")                                                           \
    X(MAXIMUM, "maximum")                                                                          \
    X(DISTANCE, "distance")                                                                        \
    X(FIRST, "first")                                                                              \
    X(SELF, "self")                                                                                \
    X(PREVIOUS, "previous")                                                                        \
    X(NEXT, "next")                                                                                \
    X(WEIGHT_DEVIATION, "weightDeviation") /* std of the weights on visible keys */                \
    X(SCORE_DEVIATION, "scoreDeviation") /* std of the scores on visible keys; 0 without scores */ \
    X(MASKED_ROWS, "maskedRows")         /* rows with no visible key */

enum mh_head_statistic {
#define X(name, text) MH_HEAD_##name,
    MH_HEAD_STATISTIC_LIST(X)
#undef X
        MH_HEAD_STATISTICS
};

/* camelCase names for callers that are not C; NULL past the end. */
const char *mh_row_statistic_name(int32_t index);
const char *mh_head_statistic_name(int32_t index);

struct mh_statistics {
    size_t batch, heads, queries, keys; /* a model's layer: batch 1 */
    const float *weights;               /* [B, H, T, S] */
    const float *scores;                /* [B, H, T, S] after scale and mask, or NULL */
    const struct mh_mask *mask;         /* says which keys are visible; NULL = all */
    float *row_statistics;              /* [B, H, T, MH_ROW_STATISTICS], or NULL */
    float *head_statistics;             /* [B, H, MH_HEAD_STATISTICS], or NULL */
};

enum mh_status mh_statistics_compute(const struct mh_statistics *statistics,
                                     struct mh_error *error);

/* ===== 9. Layout ==============================================================================
 *
 * A caller that is not C (our TypeScript) reads this table once and writes structs by field name,
 * so that no offset is ever written down twice. Nested fields are "mask.causal". Ends with an
 * entry whose structure is NULL; an entry with name "" gives the struct's size in `offset`. */

enum mh_field_kind {
    MH_FIELD_SIZE = 0,    /* size_t */
    MH_FIELD_POINTER = 1, /* address */
    MH_FIELD_INT32 = 2,
    MH_FIELD_UINT32 = 3,
    MH_FIELD_FLOAT = 4,
    MH_FIELD_TEXT = 5, /* char array, NUL-terminated */
    MH_FIELD_DOUBLE = 6,
};

struct mh_field {
    const char *structure, *name;
    uint32_t offset;
    uint32_t kind;
};

const struct mh_field *mh_layout(void);

/* The build in words: "simd128", "relaxed-simd" or "native". */
const char *mh_build(void);

#ifdef __cplusplus
}
#endif

#endif
