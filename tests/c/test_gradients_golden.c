/* Training against PyTorch (tests/golden/train): gradients of whole models by autograd, 20 steps of
 * torch.optim.AdamW with its schedulers and clipping, and 20 steps of the model itself. */
#include "multihead_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/recorded_training.h"

/* As record_train.py has them. */
enum { VOCABULARY = 19 };

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

static struct mh_training_pass make_pass(struct pool *pool)
{
    return (struct mh_training_pass){
        .batch = BATCH,
        .length = LENGTH,
        .tokens = tokens_of("train/tokens", PLACES, VOCABULARY, pool),
        .targets = targets_of(PLACES, VOCABULARY, pool),
        .mask = {.causal = 1},
    };
}

/* ===== Gradients ============================================================================ */

static void check_run(const char *name, const struct mh_network *config, struct mh_mask mask)
{
    struct pool pool = {0};
    struct mh_training_pass pass = make_pass(&pool);
    pass.mask = mask;
    check_recorded_gradient(name, config, pass);
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
    char what[32];
    snprintf(what, sizeof what, "parameters-%d", (int)step);
    const float *expected = stored(&pool, "adamw", what, size);
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
    const float *norms = stored(&pool, "adamw", "norms", STEPS);
    const float *rates = stored(&pool, "adamw", "rates", STEPS);
    for (uint32_t step = 0; step < STEPS; step++) {
        char of[64];
        snprintf(of, sizeof of, "train/gradient-%d", (int)step);
        fill_uniform(gradient, size, of, step % 2 == 1 ? 0.1F : 0.01F);
        double norm = (double)norms[step];
        assert_close(mh_gradient_clip(gradient, size, CLIP), norm, 1e-6 * norm);
        float rate = mh_learning_rate(&SCHEDULE, step);
        assert_close(rate, rates[step], 1e-9);
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
    const float *losses = stored(&pool, "curve", "losses", STEPS);
    double worst = 0.0;
    for (uint32_t step = 0; step < STEPS; step++) {
        double loss = run_pass(&BASE, &pass, workspace, bytes);
        double expected = (double)losses[step];
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
    if (!open_recorded())
        return EXIT_FAILURE;
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
    close_recorded();
    return failed;
}
