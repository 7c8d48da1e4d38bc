/* The default model against what PyTorch recorded of it (tests/golden/bilingual): eight texts under
 * three masks, with the F32 weights to 1e-4; the shipped weights against the same, and these with
 * all layers computed in int8. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/golden.h"

#define F32_FILE "tests/golden/bilingual/model.safetensors"
#define SHIPPED_FILE "web/models/bilingual/model.safetensors"
#define REFERENCE "tests/golden/bilingual/reference/"

enum { L = 4, H = 8, E = 128, V = 8016, P = 64, TEXTS = 8, MASKS = 3 };

static const struct mh_model_config CONFIG = {
    .layers = L,
    .heads = H,
    .kv_heads = H,
    .embed_dim = E,
    .ffn_dim = 512,
    .vocabulary = V,
    .positions = P,
    .activation = MH_ACTIVATION_GELU,
    .norm_position = MH_NORM_PRE,
    .norm_epsilon = 1e-5F,
};

static const struct {
    const char *name;
    struct mh_mask mask;
} masks[MASKS] = {
    {"causal", {.causal = 1}},
    {"bidirectional", {0}},
    {"window", {.windowed = 1, .window_left = 8, .window_right = 8}},
};

/* ===== Recordings =========================================================================== */

struct recording {
    char *file;
    struct mh_safetensors tensors;
};

static void open_recording(struct recording *recording, const char *path)
{
    size_t bytes;
    struct mh_error error;
    recording->file = golden_read_file(path, &bytes);
    assert_non_null(recording->file);
    if (mh_safetensors_open(&recording->tensors, recording->file, bytes, &error) != MH_OK)
        fail_msg("%s: %s", path, error.message);
}

static void close_recording(struct recording *recording)
{
    mh_safetensors_close(&recording->tensors);
    free(recording->file);
}

static const struct mh_safetensor *find(const struct recording *recording, const char *name)
{
    const struct mh_safetensor *tensor = mh_safetensors_find(&recording->tensors, name);
    assert_non_null(tensor);
    return tensor;
}

/* At most `most` floats; how many there are. */
static size_t read_floats(const struct recording *recording, const char *name, float *out,
                          size_t most)
{
    struct mh_error error;
    const struct mh_safetensor *tensor = find(recording, name);
    size_t count = mh_safetensor_elements(tensor);
    assert_in_range(count, 1, most);
    if (mh_safetensors_read(&recording->tensors, tensor, out, &error) != MH_OK)
        fail_msg("%s", error.message);
    return count;
}

static size_t read_tokens(const struct recording *recording, int32_t tokens[P])
{
    const struct mh_safetensor *tensor = find(recording, "input_ids");
    assert_int_equal(tensor->dtype, MH_DTYPE_I32);
    size_t length = mh_safetensor_elements(tensor);
    assert_in_range(length, 1, P);
    memcpy(tokens, recording->tensors.data + tensor->begin, length * sizeof *tokens);
    return length;
}

/* ===== Passes =============================================================================== */

struct result {
    size_t length;
    float attention[L * H * P * P], hidden[(L + 1) * P * E], logits[V];
};

static mh_model *load(const char *path, int32_t precision, size_t *bytes)
{
    struct mh_error error;
    struct mh_model_config config = CONFIG;
    mh_model *model;
    config.precision = precision;
    char *file = golden_read_file(path, bytes);
    assert_non_null(file);
    if (mh_model_load(&model, &config, file, *bytes, &error) != MH_OK)
        fail_msg("%s: %s", path, error.message);
    free(file);
    return model;
}

static void run(const mh_model *model, const struct recording *recording,
                const struct mh_mask *mask, struct result *result)
{
    int32_t tokens[P];
    size_t bytes;
    result->length = read_tokens(recording, tokens);
    int32_t last = (int32_t)result->length - 1;
    struct mh_model_pass pass = {
        .tokens = tokens,
        .length = result->length,
        .mask = *mask,
        .attention = result->attention,
        .hidden = result->hidden,
        .logits = result->logits,
        .logit_rows = &last,
        .logit_count = 1,
        .check_finite = 1,
    };
    struct mh_error error;
    struct mh_report report;
    enum mh_status status = mh_model_workspace(model, &pass, &bytes, &error);
    void *workspace = malloc(bytes);
    if (status == MH_OK)
        status = mh_model_forward(model, &pass, workspace, bytes, &report, &error);
    free(workspace);
    if (status != MH_OK)
        fail_msg("%s: %s", mh_status_name((int32_t)status), error.message);
}

static double largest_difference(const float *a, const float *b, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        largest = difference > largest || isnan(difference) ? difference : largest;
    }
    return largest;
}

/* ===== Tests ================================================================================ */

static struct result result, expected;

/* Runs all texts under all masks; the largest differences of attention, hidden states, logits. */
static void compare_all(const mh_model *model, double worst[3])
{
    worst[0] = worst[1] = worst[2] = 0;
    for (size_t i = 0; i < TEXTS * MASKS; i++) {
        char path[96];
        struct recording recording;
        snprintf(path, sizeof path, REFERENCE "%zu-%s.safetensors", i / MASKS,
                 masks[i % MASKS].name);
        open_recording(&recording, path);
        run(model, &recording, &masks[i % MASKS].mask, &result);
        size_t t = result.length;
        assert_int_equal(read_floats(&recording, "attention", expected.attention, L * H * P * P),
                         L * H * t * t);
        assert_int_equal(read_floats(&recording, "hidden", expected.hidden, (L + 1) * P * E),
                         (L + 1) * t * E);
        assert_int_equal(read_floats(&recording, "logits_last", expected.logits, V), V);
        double differences[3] = {
            largest_difference(result.attention, expected.attention, L * H * t * t),
            largest_difference(result.hidden, expected.hidden, (L + 1) * t * E),
            largest_difference(result.logits, expected.logits, V),
        };
        for (size_t d = 0; d < 3; d++)
            worst[d] = fmax(worst[d], isnan(differences[d]) ? INFINITY : differences[d]);
        close_recording(&recording);
    }
}

static void test_f32_weights(void **state)
{
    (void)state;
    size_t bytes;
    double worst[3];
    mh_model *model = load(F32_FILE, MH_F32, &bytes);
    compare_all(model, worst);
    mh_model_free(model);
    print_message("             largest errors: attention %.2g, hidden %.2g, logits %.2g\n",
                  worst[0], worst[1], worst[2]);
    for (size_t d = 0; d < 3; d++)
        assert_true(worst[d] <= 1e-4);
}

/* Attention weights may move by less than 0.01. */
static void test_shipped_weights(void **state)
{
    (void)state;
    size_t bytes;
    double worst[3];
    mh_model *model = load(SHIPPED_FILE, MH_F32, &bytes);
    compare_all(model, worst);
    mh_model_free(model);
    print_message("             %zu bytes; attention moves by at most %.4f, logits by %.3f\n",
                  bytes, worst[0], worst[2]);
    assert_true(worst[0] < 0.01);
    assert_true(worst[0] > 0);    /* it is not the F32 file */
    assert_true(bytes < 3800000); /* with the tokenizer under 4 MB */
}

/* With every linear layer in int8 attention moves by more than the 0.01 we would like: what has been
 * measured, and no more. */
static void test_int8_layers(void **state)
{
    (void)state;
    size_t bytes;
    double worst[3];
    mh_model *model = load(SHIPPED_FILE, MH_INT8, &bytes);
    compare_all(model, worst);
    mh_model_free(model);
    print_message("             attention moves by at most %.4f, logits by %.3f\n", worst[0],
                  worst[2]);
    assert_true(worst[0] < 0.1);
    assert_true(worst[2] < 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32_weights),
        cmocka_unit_test(test_shipped_weights),
        cmocka_unit_test(test_int8_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
