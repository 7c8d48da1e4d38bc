/* The model against Hugging Face's GPT-2: the files that transformers wrote, in three dtypes, and
 * what it computed from them (tests/golden/gpt2), to 1e-4. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/golden.h"

#define FOLDER "tests/golden/gpt2/"
#define TOLERANCE 1e-4

/* As config.json has it; n_inner is null there, which means 4 n_embd. */
enum { LAYERS = 2, HEADS = 4, WIDTH = 32, POSITIONS = 32, VOCABULARY = 101 };

struct run {
    const char *name; /* ACTIVATION-DTYPE-LENGTH */
    const char *file;
    size_t length;
    enum mh_activation activation;
};

static const struct run RUNS[] = {
    {"gelu_new-f32-1", "model.safetensors", 1, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-f32-7", "model.safetensors", 7, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-f32-32", "model.safetensors", 32, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-f16-1", "model-f16.safetensors", 1, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-f16-7", "model-f16.safetensors", 7, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-f16-32", "model-f16.safetensors", 32, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-bf16-1", "model-bf16.safetensors", 1, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-bf16-7", "model-bf16.safetensors", 7, MH_ACTIVATION_GELU_TANH},
    {"gelu_new-bf16-32", "model-bf16.safetensors", 32, MH_ACTIVATION_GELU_TANH},
    {"gelu-f32-1", "model.safetensors", 1, MH_ACTIVATION_GELU},
    {"gelu-f32-7", "model.safetensors", 7, MH_ACTIVATION_GELU},
    {"gelu-f32-32", "model.safetensors", 32, MH_ACTIVATION_GELU},
};
enum { RUN_COUNT = sizeof RUNS / sizeof RUNS[0] };

static struct mh_safetensors reference;
static double worst_error;

static void check_status(enum mh_status status, const struct mh_error *error)
{
    if (status) {
        fail_msg("%s: %s", mh_status_name((int32_t)status), error->message);
    }
}

static mh_model *load(const struct run *run)
{
    struct mh_model_config config = {.layers = LAYERS,
                                     .heads = HEADS,
                                     .kv_heads = HEADS,
                                     .embed_dim = WIDTH,
                                     .ffn_dim = (size_t)4 * WIDTH,
                                     .vocabulary = VOCABULARY,
                                     .positions = POSITIONS,
                                     .activation = (int32_t)run->activation,
                                     .norm_position = MH_NORM_PRE,
                                     .norm_epsilon = 1e-5F};
    char path[64];
    snprintf(path, sizeof path, FOLDER "%s", run->file);
    size_t bytes;
    char *file = golden_read_file(path, &bytes);
    assert_non_null(file);
    mh_model *model = NULL;
    struct mh_error error;
    enum mh_status status = mh_model_load(&model, &config, file, bytes, &error);
    free(file); /* nothing of it is kept */
    check_status(status, &error);
    return model;
}

static const void *stored(const struct run *run, const char *name, size_t count)
{
    char full[64];
    snprintf(full, sizeof full, "%s/%s", run->name, name);
    const struct mh_safetensor *tensor = mh_safetensors_find(&reference, full);
    assert_non_null(tensor);
    assert_int_equal(mh_safetensor_elements(tensor), count);
    return reference.data + tensor->begin;
}

static void check_tensor(const struct run *run, const char *name, const float *actual, size_t count)
{
    const unsigned char *bytes = stored(run, name, count);
    for (size_t i = 0; i < count; i++) {
        float expected;
        memcpy(&expected, bytes + i * sizeof expected, sizeof expected);
        check_close((double)actual[i], (double)expected, TOLERANCE, i, name, __FILE__, __LINE__);
        worst_error = fmax(worst_error, fabs((double)actual[i] - (double)expected));
    }
}

static void test_run(void **state)
{
    const struct run *run = *state;
    enum { MOST = POSITIONS * POSITIONS };
    static float attention[LAYERS * HEADS * MOST], hidden[(LAYERS + 1) * POSITIONS * WIDTH];
    static float logits[POSITIONS * VOCABULARY];
    size_t t = run->length;
    int32_t tokens[POSITIONS];
    memcpy(tokens, stored(run, "tokens", t), t * sizeof *tokens);
    struct mh_model_pass pass = {.tokens = tokens,
                                 .length = t,
                                 .mask = {.causal = 1},
                                 .attention = attention,
                                 .hidden = hidden,
                                 .logits = logits,
                                 .check_finite = 1};
    mh_model *model = load(run);
    struct mh_error error;
    struct mh_report report;
    size_t bytes = 0;
    enum mh_status status = mh_model_workspace(model, &pass, &bytes, &error);
    void *workspace = malloc(bytes);
    if (!status && workspace) {
        status = mh_model_forward(model, &pass, workspace, bytes, &report, &error);
    }
    free(workspace);
    mh_model_free(model);
    check_status(status, &error);
    check_tensor(run, "attention", attention, LAYERS * HEADS * t * t);
    check_tensor(run, "hidden", hidden, (LAYERS + 1) * t * WIDTH);
    check_tensor(run, "logits", logits, t * VOCABULARY);
}

int main(void)
{
    size_t bytes;
    char *file = golden_read_file(FOLDER "reference.safetensors", &bytes);
    struct mh_error error;
    if (!file || mh_safetensors_open(&reference, file, bytes, &error)) {
        free(file);
        return EXIT_FAILURE;
    }
    struct CMUnitTest tests[RUN_COUNT];
    for (size_t i = 0; i < RUN_COUNT; i++) {
        tests[i] = (struct CMUnitTest){
            .name = RUNS[i].name, .test_func = test_run, .initial_state = (void *)&RUNS[i]};
    }
    int failed = _cmocka_run_group_tests("gpt2", tests, RUN_COUNT, NULL, NULL);
    printf("# %d runs, largest error %.2e\n", (int)RUN_COUNT, worst_error);
    mh_safetensors_close(&reference);
    free(file);
    return failed;
}
