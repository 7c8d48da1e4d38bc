/* Models: loading, what a pass gives out, interventions, and errors. Agreement with PyTorch is in
 * test_gpt2.c and test_default_model.c. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/model_run.h"
#include "support/tiny_model.h"

enum { L = 3, H = 4, E = 16, D = E / H, F = 24, V = 37, P = 12, T = 9 };

static const struct mh_model_config CONFIG = {
    .layers = L,
    .heads = H,
    .kv_heads = H,
    .embed_dim = E,
    .ffn_dim = F,
    .vocabulary = V,
    .positions = P,
    .activation = MH_ACTIVATION_GELU,
    .norm_position = MH_NORM_PRE,
    .norm_epsilon = 1e-5F,
};

static const int32_t TOKENS[T] = {0, 36, 5, 5, 17, 2, 30, 9, 11};

/* ===== Running ============================================================================== */

static void must(enum mh_status status, const struct mh_error *error)
{
    if (status != MH_OK)
        fail_msg("%s: %s", mh_status_name((int32_t)status), error->message);
}

static mh_model *load_file(const struct mh_model_config *config, const unsigned char *file,
                           size_t bytes)
{
    struct mh_error error;
    mh_model *model;
    must(mh_model_load(&model, config, file, bytes, &error), &error);
    return model;
}

static mh_model *load(const struct tiny_model *tiny, const char *prefix)
{
    size_t bytes;
    unsigned char *file = tiny_model_file(tiny, prefix, &bytes);
    mh_model *model = load_file(&tiny->config, file, bytes);
    free(file); /* nothing of it is kept */
    return model;
}

/* Everything that a pass can give. */
struct result {
    float attention[L * H * T * T], raw_scores[L * H * T * T], scores[L * H * T * T];
    float hidden[(L + 1) * T * E];
    float logits[T * V];
};

static struct mh_model_pass pass_into(struct result *result)
{
    return (struct mh_model_pass){
        .tokens = TOKENS,
        .length = T,
        .attention = result->attention,
        .raw_scores = result->raw_scores,
        .scores = result->scores,
        .hidden = result->hidden,
        .logits = result->logits,
        .check_finite = 1,
    };
}

static void run(const mh_model *model, const struct mh_model_pass *pass)
{
    struct mh_error error;
    struct mh_report report;
    must(try_run(model, pass, &report, &error), &error);
}

static void run_tiny(const struct tiny_model *tiny, const struct mh_model_pass *pass)
{
    mh_model *model = load(tiny, "");
    run(model, pass);
    mh_model_free(model);
}

/* Two of them, to compare. */
static struct result one, two;

/* ===== What a pass gives ==================================================================== */

static void test_prefix_makes_no_difference(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&CONFIG, 1);
    struct mh_model_pass pass = pass_into(&one), again = pass_into(&two);
    run_tiny(&tiny, &pass);
    mh_model *prefixed = load(&tiny, "transformer.");
    run(prefixed, &again);
    assert_memory_equal(&one, &two, sizeof one);
    mh_model_free(prefixed);
    tiny_model_free(&tiny);
}

/* hidden[0] and the logits, from the formulas, for both kinds of block. */
static void test_embedding_and_head(void **state)
{
    (void)state;
    for (int32_t position = MH_NORM_PRE; position <= MH_NORM_POST; position++) {
        struct mh_model_config config = CONFIG;
        config.norm_position = position;
        struct tiny_model tiny = tiny_model_make(&config, 2);
        struct mh_model_pass pass = pass_into(&one);
        run_tiny(&tiny, &pass);
        const float *wte = tiny_model_tensor(&tiny, "wte.weight")->data;
        const float *wpe = tiny_model_tensor(&tiny, "wpe.weight")->data;
        for (size_t t = 0; t < T; t++) {
            for (size_t e = 0; e < E; e++)
                assert_close(one.hidden[t * E + e], wte[(size_t)TOKENS[t] * E + e] + wpe[t * E + e],
                             0);
            for (size_t v = 0; v < V; v++) {
                double sum = 0;
                for (size_t e = 0; e < E; e++)
                    sum += (double)one.hidden[(L * T + t) * E + e] * (double)wte[v * E + e];
                assert_close(one.logits[t * V + v], sum, 1e-5);
            }
        }
        tiny_model_free(&tiny);
    }
}

static void test_outputs_do_not_depend_on_each_other(void **state)
{
    (void)state;
    static const int32_t rows[] = {8, 0, 3, 3};
    struct tiny_model tiny = tiny_model_make(&CONFIG, 3);
    mh_model *model = load(&tiny, "");
    struct mh_model_pass all = pass_into(&one), pass = {.tokens = TOKENS, .length = T};
    run(model, &all);

    pass.attention = two.attention;
    run(model, &pass);
    assert_memory_equal(one.attention, two.attention, sizeof one.attention);
    pass.attention = NULL;
    pass.hidden = two.hidden;
    run(model, &pass);
    assert_memory_equal(one.hidden, two.hidden, sizeof one.hidden);
    pass.hidden = NULL;
    pass.logits = two.logits;
    pass.logit_count = 1; /* ignored without rows */
    run(model, &pass);
    assert_memory_equal(one.logits, two.logits, sizeof one.logits);

    pass.logit_rows = rows;
    pass.logit_count = 4;
    memset(two.logits, 0, sizeof two.logits);
    run(model, &pass);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(two.logits + i * V, one.logits + rows[i] * V, V * sizeof(float));
    assert_true(two.logits[4 * V] == 0);
    pass.logit_count = 0;
    run(model, &pass);
    pass = (struct mh_model_pass){.tokens = TOKENS, .length = T}; /* nothing at all */
    run(model, &pass);
    mh_model_free(model);
    tiny_model_free(&tiny);
}

/* Grouped key and value heads are the same as those heads written out for each query head. */
static void test_grouped_heads(void **state)
{
    (void)state;
    enum { G = 2 };
    struct mh_model_config config = CONFIG;
    config.kv_heads = G;
    struct tiny_model grouped = tiny_model_make(&config, 4), full = tiny_model_make(&CONFIG, 4);
    for (size_t i = 0; i < grouped.count; i++) {
        struct tiny_tensor *from = &grouped.tensors[i], *to = &full.tensors[i];
        bool is_attn = strstr(from->name, "c_attn") != NULL;
        size_t rows = from->columns > 0 ? from->rows : 1;
        size_t width = from->columns > 0 ? from->columns : from->rows;
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < (is_attn ? 3 * E : width); c++) {
                size_t part = c / E, h = c % E / D; /* query, key or value; head */
                size_t source =
                    !is_attn || part == 0 ? c : E + (part - 1) * G * D + h / (H / G) * D + c % D;
                to->data[r * (is_attn ? 3 * E : width) + c] = from->data[r * width + source];
            }
    }
    struct mh_model_pass pass = pass_into(&one), again = pass_into(&two);
    pass.mask.causal = again.mask.causal = 1;
    run_tiny(&grouped, &pass);
    run_tiny(&full, &again);
    assert_all_close(one.attention, two.attention, L * H * T * T, 1e-6);
    assert_all_close(one.logits, two.logits, T * V, 1e-5);
    tiny_model_free(&grouped);
    tiny_model_free(&full);
}

static void test_stages(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&CONFIG, 5);
    struct mh_model_pass pass = pass_into(&one);
    pass.mask.causal = 1;
    run_tiny(&tiny, &pass);
    for (size_t row = 0; row < L * H * T; row++) {
        const float *raw = one.raw_scores + row * T, *scores = one.scores + row * T;
        size_t i = row % T;
        double sum = 0;
        for (size_t j = 0; j < T; j++) {
            assert_close(scores[j], j > i ? -INFINITY : raw[j] / 2.0F, 1e-6); /* sqrt(D) = 2 */
            assert_true(isfinite(raw[j]));
            sum += exp((double)scores[j]);
        }
        for (size_t j = 0; j < T; j++)
            assert_close(one.attention[row * T + j], exp((double)scores[j]) / sum, 1e-6);
    }
    tiny_model_free(&tiny);
}

/* Chosen maps are those of the pass that gives them all, and statistics those of its maps. */
static void test_chosen_maps(void **state)
{
    (void)state;
    static const int32_t heads[] = {1, H - 1, H, L * H - 1}, rows[] = {0, 5, T - 1};
    struct tiny_model tiny = tiny_model_make(&CONFIG, 15);
    mh_model *model = load(&tiny, "");
    struct mh_model_pass all = pass_into(&one);
    all.mask.causal = 1;
    run(model, &all);
    struct mh_model_pass pass = all;
    pass.attention = two.attention;
    pass.raw_scores = two.raw_scores;
    pass.scores = two.scores;
    pass.hidden = two.hidden;
    pass.logits = two.logits;
    pass.chosen_attention = (struct mh_choice){.heads = heads, .head_count = 4};
    pass.chosen_scores =
        (struct mh_choice){.heads = heads + 1, .head_count = 2, .rows = rows, .row_count = 3};
    run(model, &pass);
    assert_memory_equal(one.hidden, two.hidden, sizeof one.hidden);
    for (size_t h = 0; h < 4; h++)
        assert_memory_equal(two.attention + h * T * T, one.attention + (size_t)heads[h] * T * T,
                            T * T * sizeof(float));
    for (size_t h = 0; h < 2; h++)
        for (size_t r = 0; r < 3; r++) {
            size_t to = (h * 3 + r) * T, from = ((size_t)heads[h + 1] * T + (size_t)rows[r]) * T;
            assert_memory_equal(two.scores + to, one.scores + from, T * sizeof(float));
            assert_memory_equal(two.raw_scores + to, one.raw_scores + from, T * sizeof(float));
        }

    /* Rows alone: the last of every head. */
    pass.chosen_attention = (struct mh_choice){.rows = rows + 2, .row_count = 1};
    run(model, &pass);
    for (size_t h = 0; h < L * H; h++)
        assert_memory_equal(two.attention + h * T, one.attention + (h * T + T - 1) * T,
                            T * sizeof(float));
    /* None. */
    pass.chosen_attention = pass.chosen_scores = (struct mh_choice){.heads = heads};
    two.attention[0] = two.scores[0] = 42.0F;
    run(model, &pass);
    assert_true(two.attention[0] == 42.0F && two.scores[0] == 42.0F);
    mh_model_free(model);
    tiny_model_free(&tiny);
}

static void test_statistics(void **state)
{
    (void)state;
    static float of_rows[L * H * T * MH_ROW_STATISTICS], of_heads[L * H * MH_HEAD_STATISTICS];
    static float rows[H * T * MH_ROW_STATISTICS], heads[H * MH_HEAD_STATISTICS];
    struct tiny_model tiny = tiny_model_make(&CONFIG, 16);
    struct mh_model_pass pass = pass_into(&one);
    pass.mask.causal = 1;
    pass.row_statistics = of_rows;
    pass.head_statistics = of_heads;
    run_tiny(&tiny, &pass);
    for (size_t layer = 0; layer < L; layer++) {
        struct mh_statistics s = {
            .batch = 1,
            .heads = H,
            .queries = T,
            .keys = T,
            .weights = one.attention + layer * H * T * T,
            .scores = one.scores + layer * H * T * T,
            .mask = &pass.mask,
            .row_statistics = rows,
            .head_statistics = heads,
        };
        assert_int_equal(mh_statistics_compute(&s, NULL), MH_OK);
        assert_all_close(of_rows + layer * H * T * MH_ROW_STATISTICS, rows,
                         H * T * MH_ROW_STATISTICS, 1e-6);
        assert_all_close(of_heads + layer * H * MH_HEAD_STATISTICS, heads, H * MH_HEAD_STATISTICS,
                         1e-6);
    }
    tiny_model_free(&tiny);
}

/* ===== Interventions ======================================================================== */

static void test_scale_and_temperature(void **state)
{
    (void)state;
    static const struct {
        int32_t mode;
        float scale, temperature, factor; /* factor: what multiplies the raw scores */
    } cases[] = {
        {MH_SCALE_DEFAULT, 0, 0, 0.5F},    {MH_SCALE_DEFAULT, 0, 1, 0.5F},
        {MH_SCALE_DEFAULT, 0, 2, 0.25F},   {MH_SCALE_GIVEN, 0.75F, 0, 0.75F},
        {MH_SCALE_GIVEN, 0.75F, 3, 0.25F}, {MH_SCALE_NONE, 0, 0, 1},
        {MH_SCALE_NONE, 0, 0.5F, 2},
    };
    struct tiny_model tiny = tiny_model_make(&CONFIG, 6);
    mh_model *model = load(&tiny, "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mh_model_pass pass = pass_into(&one);
        pass.scale_mode = cases[i].mode;
        pass.scale = cases[i].scale;
        pass.temperature = cases[i].temperature;
        run(model, &pass);
        for (size_t j = 0; j < L * H * T * T; j++)
            assert_close(one.scores[j], one.raw_scores[j] * cases[i].factor, 1e-6);
    }
    mh_model_free(model);
    tiny_model_free(&tiny);
}

/* A mask for each layer: a row of layer 1, head 2 sees only key 4; nothing before it changes. */
static void test_hidden_by_layer(void **state)
{
    (void)state;
    static uint8_t hidden[L * H * T * T];
    struct tiny_model tiny = tiny_model_make(&CONFIG, 7);
    mh_model *model = load(&tiny, "");
    struct mh_model_pass plain = pass_into(&one), masked = pass_into(&two);
    size_t row = ((1 * H + 2) * T + 6) * T;
    for (size_t j = 0; j < T; j++)
        hidden[row + j] = j != 4;
    masked.mask.hidden = hidden;
    masked.mask.hidden_head_stride = T * T;
    masked.mask.hidden_row_stride = T;
    masked.hidden_layer_stride = H * T * T;
    run(model, &plain);
    run(model, &masked);
    assert_memory_equal(one.hidden, two.hidden, 2 * T * E * sizeof(float));
    assert_memory_equal(one.attention, two.attention, row * sizeof(float));
    for (size_t j = 0; j < T; j++)
        assert_close(two.attention[row + j], j == 4, 0);
    assert_memory_equal(one.attention + row + T, two.attention + row + T,
                        (2 * H * T * T - row - T) * sizeof(float));
    assert_memory_not_equal(one.hidden + 2 * T * E, two.hidden + 2 * T * E, T * E * sizeof(float));

    masked.hidden_layer_stride = 0; /* layer 0's mask, which hides nothing, for all */
    run(model, &masked);
    assert_memory_equal(&one, &two, sizeof one);
    mh_model_free(model);
    tiny_model_free(&tiny);
}

static void test_rows_without_keys_are_counted(void **state)
{
    (void)state;
    static uint8_t key_hidden[T] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct tiny_model tiny = tiny_model_make(&CONFIG, 8);
    mh_model *model = load(&tiny, "");
    struct mh_model_pass pass = pass_into(&one);
    struct mh_report report;
    struct mh_error error;
    pass.mask.key_hidden = key_hidden;
    must(try_run(model, &pass, &report, &error), &error);
    assert_int_equal(report.masked_rows, L * H * T);
    for (size_t i = 0; i < L * H * T * T; i++)
        assert_true(one.attention[i] == 0);
    mh_model_free(model);
    tiny_model_free(&tiny);
}

/* Zero is the same as a head's rows of c_proj being zero; uniform as its query being zero. */
static void test_ablations_as_edits_of_weights(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&CONFIG, 9), edited = tiny_model_make(&CONFIG, 9);
    static const struct mh_ablation ablations[] = {
        {.layer = 1, .head = 2, .kind = MH_ABLATE_ZERO},
        {.layer = 2, .head = 0, .kind = MH_ABLATE_UNIFORM}};
    float *c_proj = tiny_model_tensor(&edited, "h.1.attn.c_proj.weight")->data;
    float *c_attn = tiny_model_tensor(&edited, "h.2.attn.c_attn.weight")->data;
    float *c_attn_bias = tiny_model_tensor(&edited, "h.2.attn.c_attn.bias")->data;
    memset(c_proj + 2 * D * E, 0, D * E * sizeof *c_proj);
    memset(c_attn_bias, 0, D * sizeof *c_attn_bias);
    for (size_t in = 0; in < E; in++)
        memset(c_attn + in * 3 * E, 0, D * sizeof *c_attn);

    struct mh_model_pass pass = pass_into(&one), of_edited = pass_into(&two);
    pass.mask.causal = of_edited.mask.causal = 1;
    pass.ablations = ablations;
    pass.ablation_count = 2;
    run_tiny(&tiny, &pass);
    run_tiny(&edited, &of_edited);
    assert_all_close(one.attention, two.attention, L * H * T * T, 1e-6);
    assert_all_close(one.hidden, two.hidden, (L + 1) * T * E, 1e-5);
    assert_all_close(one.logits, two.logits, T * V, 1e-5);
    const float *uniform = one.attention + (2 * H + 0) * T * T;
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            assert_close(uniform[i * T + j], j > i ? 0 : 1.0 / (double)(i + 1), 1e-7);

    pass.ablation_count = 0; /* and they do something */
    run_tiny(&tiny, &pass);
    assert_memory_not_equal(one.logits, two.logits, sizeof one.logits);
    tiny_model_free(&tiny);
    tiny_model_free(&edited);
}

/* ===== The guard ============================================================================ */

static void test_guard_names_the_layer(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&CONFIG, 10);
    float *weight = tiny_model_tensor(&tiny, "h.1.mlp.c_proj.weight")->data;
    for (size_t i = 0; i < F * E; i++)
        weight[i] = i % 2 ? 3e38F : -3e38F;
    mh_model *model = load(&tiny, "");
    struct mh_model_pass pass = pass_into(&one);
    struct mh_report report;
    struct mh_error error;
    assert_int_equal(try_run(model, &pass, &report, &error), MH_NONFINITE);
    assert_non_null(strstr(error.message, "layer 1: hidden state"));
    assert_int_equal(report.nonfinite_layer, 1);
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_HIDDEN);
    assert_true(!isfinite(report.nonfinite_value));
    pass.check_finite = 0;
    must(try_run(model, &pass, &report, &error), &error);
    mh_model_free(model);

    tiny_model_free(&tiny);
    tiny = tiny_model_make(&CONFIG, 10);
    float *wte = tiny_model_tensor(&tiny, "wte.weight")->data;
    for (size_t e = 0; e < E; e++)
        wte[20 * E + e] = e % 2 ? 3e38F : 3.1e38F; /* token 20 is not in the text: only its logit */
    float *norm = tiny_model_tensor(&tiny, "ln_f.weight")->data;
    for (size_t e = 0; e < E; e++)
        norm[e] = 100;
    model = load(&tiny, "");
    pass.check_finite = 1;
    assert_int_equal(try_run(model, &pass, &report, &error), MH_NONFINITE);
    assert_non_null(strstr(error.message, "after the last layer: logits"));
    assert_int_equal(report.nonfinite_layer, L);
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_LOGITS);
    assert_int_equal(report.nonfinite_index % V, 20);
    mh_model_free(model);
    tiny_model_free(&tiny);
}

static void test_nan_in_the_file(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&CONFIG, 11);
    for (size_t i = 0; i < tiny.count; i++) {
        float kept = tiny.tensors[i].data[1];
        size_t bytes;
        struct mh_error error = {0};
        mh_model *model;
        tiny.tensors[i].data[1] = i % 2 ? NAN : -INFINITY;
        unsigned char *file = tiny_model_file(&tiny, "transformer.", &bytes);
        assert_int_equal(mh_model_load(&model, &CONFIG, file, bytes, &error), MH_NONFINITE);
        assert_null(model);
        assert_non_null(strstr(error.message, tiny.tensors[i].name));
        assert_non_null(strstr(error.message, "index 1"));
        tiny.tensors[i].data[1] = kept;
        free(file);
    }
    tiny_model_free(&tiny);
}

/* ===== Bad files, configs and passes ======================================================== */

static void refuse(const struct tiny_model *tiny, const struct mh_model_config *config,
                   enum mh_status status, const char *message)
{
    size_t bytes;
    struct mh_error error = {0};
    mh_model *model;
    unsigned char *file = tiny_model_file(tiny, "", &bytes);
    enum mh_status got = mh_model_load(&model, config, file, bytes, &error);
    if (got != status || strstr(error.message, message) == NULL)
        fail_msg("expected %s with \"%s\", got %s with \"%s\"", mh_status_name((int32_t)status),
                 message, mh_status_name((int32_t)got), error.message);
    assert_null(model);
    free(file);
}

static void test_bad_files(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&CONFIG, 12);
    for (size_t i = 0; i < tiny.count; i++) {
        char name[48];
        memcpy(name, tiny.tensors[i].name, sizeof name);
        tiny.tensors[i].name[2] = '?';
        refuse(&tiny, &CONFIG, MH_CORRUPT, i == 0 ? "GPT-2" : name);
        memcpy(tiny.tensors[i].name, name, sizeof name);
        tiny.tensors[i].rows--; /* one row is cut off */
        refuse(&tiny, &CONFIG, MH_SHAPE, name);
        tiny.tensors[i].rows++;
    }
    struct tiny_tensor *vector = tiny_model_tensor(&tiny, "ln_f.bias");
    vector->columns = 1;
    refuse(&tiny, &CONFIG, MH_SHAPE, "\"ln_f.bias\" has 2 dimensions");
    vector->columns = 0;

    struct tiny_tensor *head = tiny_model_add(&tiny, "lm_head.weight", V, E);
    refuse(&tiny, &CONFIG, MH_UNSUPPORTED, "lm_head.weight");
    memcpy(head->data, tiny_model_tensor(&tiny, "wte.weight")->data, V * E * sizeof *head->data);
    mh_model_free(load(&tiny, ""));
    tiny_model_free(&tiny);
}

static void test_bad_configs(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&CONFIG, 13);
    static const struct {
        size_t offset, value;
        enum mh_status status;
        const char *message;
    } cases[] = {
        {offsetof(struct mh_model_config, layers), 0, MH_ARGUMENT, "layers"},
        {offsetof(struct mh_model_config, layers), 2, MH_SHAPE, "the file has more"},
        {offsetof(struct mh_model_config, layers), 4, MH_CORRUPT, "h.3.ln_1.weight"},
        {offsetof(struct mh_model_config, layers), INT32_MAX, MH_SHAPE, "2147483647 layers"},
        {offsetof(struct mh_model_config, heads), 0, MH_ARGUMENT, "heads"},
        {offsetof(struct mh_model_config, heads), 3, MH_SHAPE, "heads 3"},
        {offsetof(struct mh_model_config, kv_heads), 3, MH_SHAPE, "kv_heads 3"},
        {offsetof(struct mh_model_config, kv_heads), 0, MH_ARGUMENT, "kv_heads"},
        {offsetof(struct mh_model_config, kv_heads), 2, MH_SHAPE, "c_attn"},
        {offsetof(struct mh_model_config, embed_dim), 20, MH_SHAPE, "wpe.weight"},
        {offsetof(struct mh_model_config, embed_dim), SIZE_MAX, MH_ARGUMENT, "embed_dim"},
        {offsetof(struct mh_model_config, ffn_dim), 25, MH_SHAPE, "c_fc"},
        {offsetof(struct mh_model_config, vocabulary), 36, MH_SHAPE, "wte.weight"},
        {offsetof(struct mh_model_config, positions), 13, MH_SHAPE, "wpe.weight"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mh_model_config config = CONFIG;
        memcpy((char *)&config + cases[i].offset, &cases[i].value, sizeof(size_t));
        refuse(&tiny, &config, cases[i].status, cases[i].message);
    }
    struct mh_model_config config = CONFIG;
    config.activation = 9;
    refuse(&tiny, &config, MH_ARGUMENT, "activation 9");
    config = CONFIG;
    config.norm_epsilon = -1;
    refuse(&tiny, &config, MH_ARGUMENT, "norm_epsilon -1");
    tiny_model_free(&tiny);
}

static void test_bad_passes(void **state)
{
    (void)state;
    static const struct mh_ablation bad_layer = {.layer = L}, bad_head = {.head = H},
                                    bad_kind = {.kind = 3};
    static const int32_t bad_tokens[T] = {0, 1, 2, V}, negative[T] = {-1}, bad_rows[] = {0, T};
    static const int32_t too_long[] = {T + 1}, bad_heads[] = {0, L * H};
    struct tiny_model tiny = tiny_model_make(&CONFIG, 14);
    mh_model *model = load(&tiny, "");
    const struct mh_model_pass good = pass_into(&one);
    struct mh_model_pass bad[16];
    for (size_t i = 0; i < 16; i++)
        bad[i] = good;
    bad[0].tokens = NULL;
    bad[1].length = 0;
    bad[2].length = P + 1;
    bad[3].tokens = bad_tokens;
    bad[4].tokens = negative;
    bad[5].temperature = -1;
    bad[6].temperature = NAN;
    bad[7].scale_mode = 3;
    bad[8].ablation_count = 1;
    bad[9].ablations = &bad_layer;
    bad[10].ablations = &bad_head;
    bad[11].ablations = &bad_kind;
    bad[9].ablation_count = bad[10].ablation_count = bad[11].ablation_count = 1;
    bad[12].logit_rows = bad_rows;
    bad[12].logit_count = 2;
    bad[13].mask.key_lengths = too_long;
    bad[14].chosen_attention = (struct mh_choice){.heads = bad_heads, .head_count = 2};
    bad[15].chosen_scores = (struct mh_choice){.rows = bad_rows, .row_count = 2};
    static const char *const messages[16] = {"tokens",
                                             "length 0",
                                             "1..12",
                                             "token 37 at position 3",
                                             "token -1",
                                             "temperature",
                                             "temperature",
                                             "scale_mode",
                                             "ablation_count",
                                             "layer 3",
                                             "head is 4",
                                             "kind is 3",
                                             "logit row 1",
                                             "key_lengths",
                                             "chosen_attention.heads[1] is 12",
                                             "chosen_scores.rows[1] is 9"};
    for (size_t i = 0; i < 16; i++) {
        struct mh_error error = {0};
        struct mh_report report;
        enum mh_status status = try_run(model, &bad[i], &report, &error);
        if (status == MH_OK || status == MH_NONFINITE || !strstr(error.message, messages[i]))
            fail_msg("pass %zu: %s, \"%s\"", i, mh_status_name((int32_t)status), error.message);
    }
    struct mh_error error;
    size_t bytes;
    must(mh_model_workspace(model, &good, &bytes, &error), &error);
    void *workspace = malloc(bytes);
    assert_int_equal(mh_model_forward(model, &good, workspace, bytes / 2, NULL, &error), MH_MEMORY);
    assert_int_equal(mh_model_forward(model, &good, workspace, 0, NULL, NULL), MH_MEMORY);
    assert_int_equal(mh_model_forward(NULL, &good, workspace, bytes, NULL, &error), MH_ARGUMENT);
    free(workspace);
    mh_model_free(model);
    mh_model_free(NULL);
    tiny_model_free(&tiny);
}

/* A damaged header or a cut file gives an error or a good model, and no bad read or leak. */
static void test_damaged_files(void **state)
{
    (void)state;
    static const unsigned char values[] = {0, ' ', '"', '0', '9', ',', '[', '}', 0x80, 0xFF};
    struct mh_model_config config = CONFIG;
    config.layers = 1;
    struct tiny_model tiny = tiny_model_make(&config, 15);
    size_t bytes, refused = 0;
    unsigned char *file = tiny_model_file(&tiny, "", &bytes);
    size_t header = 8 + (size_t)file[0] + 256 * (size_t)file[1];
    struct mh_error error;
    mh_model *model;
    for (size_t at = 0; at < header; at++) {
        unsigned char kept = file[at];
        for (size_t i = 0; i < sizeof values; i++) {
            file[at] = values[i];
            refused += mh_model_load(&model, &config, file, bytes, &error) != MH_OK;
            mh_model_free(model);
        }
        file[at] = kept;
    }
    assert_true(refused > header * (sizeof values - 1));
    for (size_t size = 0; size < bytes; size += size < header ? 1 : 101) {
        unsigned char *cut = malloc(size > 0 ? size : 1);
        assert_non_null(cut);
        memcpy(cut, file, size);
        assert_int_equal(mh_model_load(&model, &config, cut, size, &error), MH_CORRUPT);
        free(cut);
    }
    mh_model_free(load_file(&config, file, bytes));
    free(file);
    tiny_model_free(&tiny);
}

/* ===== The most probable tokens ============================================================= */

static void test_top_k(void **state)
{
    (void)state;
    static const float logits[] = {1, 3, -2, 3, 0, 2.5F, 3, -80};
    static const int32_t order[] = {1, 3, 6, 5, 0, 4, 2, 7};
    double sum = 0;
    for (size_t i = 0; i < 8; i++)
        sum += exp((double)logits[i]);
    for (size_t k = 0; k <= 8; k++) {
        int32_t ids[9] = {[8] = -7};
        float probabilities[9] = {[8] = -7};
        struct mh_error error;
        must(mh_top_k(logits, 8, k, ids, probabilities, &error), &error);
        for (size_t i = 0; i < k; i++) {
            assert_int_equal(ids[i], order[i]);
            assert_close(probabilities[i], exp((double)logits[order[i]]) / sum, 1e-6);
        }
        assert_int_equal(ids[8], -7);
    }
}

static void test_top_k_of_many(void **state)
{
    (void)state;
    enum { MANY = 5000, K = 7 };
    static float logits[MANY];
    int32_t ids[K];
    float probabilities[K];
    struct mh_error error;
    for (size_t i = 0; i < MANY; i++)
        logits[i] = (float)(i * 7919 % MANY) * 0.01F + 1000; /* a permutation; exp would overflow */
    must(mh_top_k(logits, MANY, K, ids, probabilities, &error), &error);
    for (size_t i = 0; i < K; i++)
        assert_int_equal((size_t)ids[i] * 7919 % MANY, MANY - 1 - i);
    assert_close(probabilities[0], (1 - exp(-0.01)) / (1 - exp(-0.01 * (double)MANY)), 1e-5);
}

static void test_top_k_errors(void **state)
{
    (void)state;
    static const float nan[] = {1, NAN, 2}, fine[] = {1, 2};
    int32_t ids[3];
    float probabilities[3];
    struct mh_error error;
    assert_int_equal(mh_top_k(nan, 3, 1, ids, probabilities, &error), MH_NONFINITE);
    assert_non_null(strstr(error.message, "token 1"));
    assert_int_equal(mh_top_k(fine, 2, 3, ids, probabilities, &error), MH_ARGUMENT);
    assert_int_equal(mh_top_k(fine, 0, 0, ids, probabilities, &error), MH_ARGUMENT);
    assert_int_equal(mh_top_k(NULL, 2, 1, ids, probabilities, NULL), MH_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix_makes_no_difference),
        cmocka_unit_test(test_embedding_and_head),
        cmocka_unit_test(test_outputs_do_not_depend_on_each_other),
        cmocka_unit_test(test_grouped_heads),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_chosen_maps),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_scale_and_temperature),
        cmocka_unit_test(test_hidden_by_layer),
        cmocka_unit_test(test_rows_without_keys_are_counted),
        cmocka_unit_test(test_ablations_as_edits_of_weights),
        cmocka_unit_test(test_guard_names_the_layer),
        cmocka_unit_test(test_nan_in_the_file),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_bad_configs),
        cmocka_unit_test(test_bad_passes),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_k_of_many),
        cmocka_unit_test(test_top_k_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
