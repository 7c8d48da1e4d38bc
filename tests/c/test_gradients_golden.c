/* Training against PyTorch (tests/golden/train): gradients of whole models by autograd, 20 steps of
 * torch.optim.AdamW with its schedulers and clipping, and 20 steps of the model itself. */
#include "multihead_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/safetensors.h"
#include "support/compare.h"
#include "support/golden.h"
#include "support/numeric_gradient.h"
#include "support/pool.h"
#include "support/streams.h"

/* As record_train.py has them. */
enum { BATCH = 3, LENGTH = 8, PLACES = BATCH * LENGTH, VOCABULARY = 19, STEPS = 20 };

static const struct mh_network BASE = {.model = {
                                           .layers = 2,
                                           .heads = 4,
                                           .kv_heads = 4,
                                           .embed_dim = 16,
                                           .ffn_dim = 24,
                                           .vocabulary = VOCABULARY,
                                           .positions = 8,
                                           .activation = MH_ACTIVATION_GELU_TANH,
                                           .norm_position = MH_NORM_PRE,
                                           .norm_epsilon = 1e-5F,
                                       }};
static const struct mh_schedule SCHEDULE = {
    .peak = 1e-2F, .floor = 1e-3F, .warm_up = 5, .steps = STEPS};
static const struct mh_adamw ADAMW = {
    .beta1 = 0.9F, .beta2 = 0.95F, .epsilon = 1e-8F, .weight_decay = 0.1F};
#define CLIP 1.0F

static struct mh_safetensors recorded;

/* `count` numbers; the pool owns them. */
static float *stored(struct pool *pool, const char *name, size_t count)
{
    const struct mh_safetensor *tensor = mh_safetensors_find(&recorded, name);
    if (tensor == NULL)
        fail_msg("%s is not recorded", name);
    assert_int_equal(mh_safetensor_elements(tensor), count);
    float *out = pool_floats(pool, count);
    memcpy(out, recorded.data + tensor->begin, count * sizeof *out);
    return out;
}

static double stored_number(const char *name, size_t i, size_t count)
{
    struct pool pool = {0};
    double number = (double)stored(&pool, name, count)[i];
    pool_free(&pool);
    return number;
}

static float *make_parameters(const struct mh_network *config, struct pool *pool)
{
    size_t size = mh_parameters_size(config);
    float *parameters = pool_floats(pool, size);
    for (size_t i = 0; i < size; i++)
        parameters[i] = stream_uniform(stream_key(STREAM_START, "train/parameters"), i, 0.4F);
    for (size_t i = 0; i < mh_parameter_count(config); i++) {
        struct mh_parameter p;
        mh_parameter_at(config, i, &p);
        bool norm_weight = strstr(p.name, "ln_") != NULL && strstr(p.name, "weight") != NULL;
        for (size_t e = 0; e < p.count && norm_weight; e++)
            parameters[p.offset + e] += 1.0F;
    }
    return parameters;
}

static int32_t token_at(const char *stream, size_t i, uint32_t below)
{
    return (int32_t)(stream_integer(stream_key(STREAM_START, stream), i) % below);
}

static struct mh_training_pass make_pass(struct pool *pool)
{
    int32_t *tokens = pool_take(pool, PLACES, sizeof *tokens);
    int32_t *targets = pool_take(pool, PLACES, sizeof *targets);
    for (size_t i = 0; i < PLACES; i++) {
        bool ignored = token_at("train/ignored", i, 4) == 0;
        tokens[i] = token_at("train/tokens", i, VOCABULARY);
        targets[i] = ignored ? -100 : token_at("train/targets", i, VOCABULARY);
    }
    return (struct mh_training_pass){.batch = BATCH,
                                     .length = LENGTH,
                                     .tokens = tokens,
                                     .targets = targets,
                                     .mask = {.causal = 1}};
}

/* A workspace for passes like this one. */
static void *make_workspace(const struct mh_network *config, const struct mh_training_pass *pass,
                            struct pool *pool, size_t *bytes)
{
    struct mh_error error;
    if (mh_training_workspace(config, pass, bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
    return pool_take(pool, *bytes, 1);
}

/* The mean loss; the gradient is cleared first. */
static double run(const struct mh_network *config, const struct mh_training_pass *pass,
                  void *workspace, size_t bytes)
{
    struct mh_error error;
    struct mh_training_result result;
    memset(pass->gradient, 0, mh_parameters_size(config) * sizeof(float));
    if (mh_training_gradient(config, pass, workspace, bytes, &result, &error) != MH_OK)
        fail_msg("%s", error.message);
    return result.loss / (double)result.counted;
}

/* ===== Gradients ============================================================================ */

static void check_run(const char *name, const struct mh_network *config, struct mh_mask mask)
{
    struct pool pool = {0};
    char of[64];
    size_t size = mh_parameters_size(config), bytes;
    struct mh_training_pass pass = make_pass(&pool);
    pass.mask = mask;
    pass.parameters = make_parameters(config, &pool);
    pass.gradient = pool_floats(&pool, size);
    void *workspace = make_workspace(config, &pass, &pool, &bytes);
    double loss = run(config, &pass, workspace, bytes);
    snprintf(of, sizeof of, "%s/loss", name);
    assert_close(loss, stored_number(of, 0, 1), 1e-6);
    snprintf(of, sizeof of, "%s/gradient", name);
    double *expected = as_doubles(stored(&pool, of, size), size);
    for (size_t i = 0; i < mh_parameter_count(config); i++) {
        struct mh_parameter p;
        mh_parameter_at(config, i, &p);
        check_gradient(p.name, pass.gradient + p.offset, expected + p.offset, p.count);
    }
    free(expected);
    pool_free(&pool);
}

static void test_causal(void **unused)
{
    (void)unused;
    check_run("causal", &BASE, (struct mh_mask){.causal = 1});
}

static void test_window_with_shared_keys(void **unused)
{
    (void)unused;
    struct mh_network config = BASE;
    config.model.activation = MH_ACTIVATION_GELU;
    config.model.kv_heads = 2;
    check_run("window", &config,
              (struct mh_mask){.windowed = 1, .window_left = 2, .window_right = 1});
}

static void test_post_norm_with_one_key_head(void **unused)
{
    (void)unused;
    struct mh_network config = BASE;
    config.model.activation = MH_ACTIVATION_RELU;
    config.model.norm_position = MH_NORM_POST;
    config.model.kv_heads = 1;
    check_run("post", &config, (struct mh_mask){.causal = 1});
}

static void test_padded(void **unused)
{
    (void)unused;
    static const int32_t lengths[BATCH] = {8, 5, 2};
    struct mh_network config = BASE;
    config.model.activation = MH_ACTIVATION_GELU;
    check_run("padded", &config, (struct mh_mask){.key_lengths = lengths});
}

/* ===== AdamW ================================================================================ */

static struct mh_adamw_state fresh_state(struct pool *pool, size_t size)
{
    struct mh_adamw_state state = {pool_floats(pool, size), pool_floats(pool, size), 0};
    memset(state.mean, 0, size * sizeof *state.mean);
    memset(state.variance, 0, size * sizeof *state.variance);
    return state;
}

static void check_parameters(uint32_t step, const float *parameters, size_t size)
{
    struct pool pool = {0};
    char of[64];
    snprintf(of, sizeof of, "adamw/parameters-%d", (int)step);
    const float *expected = stored(&pool, of, size);
    assert_all_close(parameters, expected, size, 1e-6);
    pool_free(&pool);
}

static void test_adamw(void **unused)
{
    (void)unused;
    struct pool pool = {0};
    size_t size = mh_parameters_size(&BASE);
    float *parameters = make_parameters(&BASE, &pool), *gradient = pool_floats(&pool, size);
    struct mh_adamw_state state = fresh_state(&pool, size);
    for (uint32_t step = 0; step < STEPS; step++) {
        char of[64];
        snprintf(of, sizeof of, "train/gradient-%d", (int)step);
        for (size_t i = 0; i < size; i++)
            gradient[i] =
                stream_uniform(stream_key(STREAM_START, of), i, step % 2 == 1 ? 0.1F : 0.01F);
        double norm = stored_number("adamw/norms", step, STEPS);
        assert_close(mh_gradient_clip(gradient, size, CLIP), norm, 1e-6 * norm);
        float rate = mh_learning_rate(&SCHEDULE, step);
        assert_close(rate, stored_number("adamw/rates", step, STEPS), 1e-9);
        mh_adamw_step(&BASE, &ADAMW, rate, &state, parameters, gradient);
        if (step == 0 || step == 6 || step == 19)
            check_parameters(step + 1, parameters, size);
    }
    assert_true(mh_learning_rate(&SCHEDULE, STEPS) == SCHEDULE.floor);
    pool_free(&pool);
}

/* A norm that is not finite is told, and scales nothing; no limit clips nothing. */
static void test_clipping_at_the_edges(void **unused)
{
    (void)unused;
    float x[3] = {3.0F, INFINITY, 4.0F};
    assert_true(mh_gradient_clip(x, 3, 1.0F) == INFINITY);
    assert_true(x[0] == 3.0F);
    x[1] = 0.0F;
    assert_true(mh_gradient_clip(x, 3, 0.0F) == 5.0F);
    assert_true(x[2] == 4.0F);
    assert_true(mh_gradient_clip(x, 3, 1.0F) == 5.0F);
    assert_close(x[2], 0.8, 1e-6);
}

/* Adam turns even the smallest gradient into a step of full length, so what rounding leaves of a
 * zero gradient (the key biases: softmax does not see them) moves its parameter; the loss does not
 * depend on those. */
static void test_curve(void **unused)
{
    (void)unused;
    struct pool pool = {0};
    size_t size = mh_parameters_size(&BASE), bytes;
    float *parameters = make_parameters(&BASE, &pool);
    struct mh_training_pass pass = make_pass(&pool);
    pass.parameters = parameters;
    pass.gradient = pool_floats(&pool, size);
    void *workspace = make_workspace(&BASE, &pass, &pool, &bytes);
    struct mh_adamw_state state = fresh_state(&pool, size);
    double worst = 0.0;
    for (uint32_t step = 0; step < STEPS; step++) {
        double loss = run(&BASE, &pass, workspace, bytes);
        double expected = stored_number("curve/losses", step, STEPS);
        worst = fmax(worst, fabs(loss - expected) / expected);
        assert_close(loss, expected, 1e-5 * expected);
        mh_gradient_clip(pass.gradient, size, CLIP);
        mh_adamw_step(&BASE, &ADAMW, mh_learning_rate(&SCHEDULE, step), &state, parameters,
                      pass.gradient);
    }
    printf("# loss over %d steps: largest relative error %.2e\n", STEPS, worst);
    pool_free(&pool);
}

int main(void)
{
    size_t bytes;
    char *file = golden_read_file("tests/golden/train/values.safetensors", &bytes);
    struct mh_error error;
    if (file == NULL || mh_safetensors_open(&recorded, file, bytes, &error) != MH_OK) {
        free(file);
        return EXIT_FAILURE;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causal),
        cmocka_unit_test(test_window_with_shared_keys),
        cmocka_unit_test(test_post_norm_with_one_key_head),
        cmocka_unit_test(test_padded),
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_clipping_at_the_edges),
        cmocka_unit_test(test_curve),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# largest relative error of a gradient %.2e\n", worst_gradient_error);
    mh_safetensors_close(&recorded);
    free(file);
    return failed;
}
