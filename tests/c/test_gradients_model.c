/* The gradient of a whole small model by each of its parameters, against central differences of a
 * float64 reference: pre- and post-norm, every activation, shared key heads, masks, dropout,
 * ignored targets. Relative error at most 1e-5, norm-wise, tensor by tensor. */
#include "multihead_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/network_case.h"

enum { BATCH = 2, LENGTH = 5, PLACES = BATCH * LENGTH };

static const struct mh_network BASE = {.model = {
                                           .layers = 2,
                                           .heads = 4,
                                           .kv_heads = 4,
                                           .embed_dim = 8,
                                           .ffn_dim = 10,
                                           .vocabulary = 7,
                                           .positions = 6,
                                           .activation = MH_ACTIVATION_GELU_TANH,
                                           .norm_position = MH_NORM_PRE,
                                           .norm_epsilon = 1e-5F,
                                       }};

static const int32_t TOKENS[PLACES] = {0, 3, 6, 3, 1, 5, 5, 0, 2, 4};
static const int32_t TARGETS[PLACES] = {3, -100, 3, 1, 0, 5, 0, -1, 4, 6};

static struct mh_training_pass usual_pass(void)
{
    return (struct mh_training_pass){.batch = BATCH,
                                     .length = LENGTH,
                                     .tokens = TOKENS,
                                     .targets = TARGETS,
                                     .mask = {.causal = 1}};
}

static void check_model(const struct mh_network *config, struct mh_training_pass pass)
{
    struct pool pool = {0};
    size_t size = mh_parameters_size(config);
    pass.parameters = random_parameters(config, &pool);
    pass.gradient = zeros(&pool, size);
    struct mh_training_result result = run_training(config, &pass, &pool);
    struct network_loss m = {config, &pass, as_doubles(pass.parameters, size)};
    double expected = network_loss(&m);
    assert_int_equal(result.counted, 8);
    assert_true(fabs(result.loss / 8.0 - expected) <= 1e-6 * expected);
    check_all_tensors(&m);
    free(m.parameters);
    pool_free(&pool);
}

static void test_pre_norm(void **unused)
{
    (void)unused;
    check_model(&BASE, usual_pass());
}

static void test_post_norm(void **unused)
{
    (void)unused;
    struct mh_network config = BASE;
    config.model.norm_position = MH_NORM_POST;
    check_model(&config, usual_pass());
}

static void test_activations(void **unused)
{
    (void)unused;
    struct mh_network config = BASE;
    config.model.activation = MH_ACTIVATION_GELU;
    check_model(&config, usual_pass());
    config.model.activation = MH_ACTIVATION_RELU;
    check_model(&config, usual_pass());
}

static void test_shared_keys_dropout_scale(void **unused)
{
    (void)unused;
    struct mh_network config = BASE;
    struct mh_training_pass pass = usual_pass();
    pass.attention_dropout = pass.residual_dropout = 0.3F;
    pass.dropout_seed = 99;
    pass.scale_mode = MH_SCALE_GIVEN;
    pass.scale = 0.4F;
    config.model.kv_heads = 2;
    check_model(&config, pass);
    config.model.kv_heads = 1;
    config.model.norm_position = MH_NORM_POST;
    check_model(&config, pass);
}

/* Sentences of unequal length under a window: some places see nothing. */
static void test_padding_and_window(void **unused)
{
    (void)unused;
    static const int32_t lengths[BATCH] = {5, 2};
    struct mh_training_pass pass = usual_pass();
    pass.mask = (struct mh_mask){
        .windowed = 1, .window_left = 1, .window_right = 1, .key_lengths = lengths};
    check_model(&BASE, pass);
}

/* ===== Accumulation, loss alone, refusals =================================================== */

/* One sequence at a time, with the factor of all, gives the gradient of the whole batch. */
static void test_accumulation(void **unused)
{
    (void)unused;
    struct pool pool = {0};
    size_t size = mh_parameters_size(&BASE);
    struct mh_training_pass pass = usual_pass();
    pass.parameters = random_parameters(&BASE, &pool);
    pass.gradient = zeros(&pool, size);
    double whole = run_training(&BASE, &pass, &pool).loss, parts = 0.0;
    double *expected = as_doubles(pass.gradient, size);
    pass.gradient = zeros(&pool, size);
    pass.batch = 1;
    pass.factor = 1.0F / 8.0F;
    for (size_t b = 0; b < BATCH; b++) {
        pass.tokens = TOKENS + b * LENGTH;
        pass.targets = TARGETS + b * LENGTH;
        parts += run_training(&BASE, &pass, &pool).loss;
    }
    assert_true(fabs(parts - whole) <= 1e-6 * whole);
    check_gradient("accumulated", pass.gradient, expected, size);
    free(expected);
    pool_free(&pool);
}

static void test_same_bits_and_loss_alone(void **unused)
{
    (void)unused;
    struct pool pool = {0};
    size_t size = mh_parameters_size(&BASE);
    struct mh_training_pass pass = usual_pass();
    pass.parameters = random_parameters(&BASE, &pool);
    pass.attention_dropout = pass.residual_dropout = 0.5F;
    pass.dropout_seed = 7;
    float *first = pass.gradient = zeros(&pool, size);
    struct mh_training_result result = run_training(&BASE, &pass, &pool);
    pass.gradient = zeros(&pool, size);
    run_training(&BASE, &pass, &pool);
    assert_memory_equal(first, pass.gradient, size * sizeof *first);
    pass.gradient = NULL;
    assert_true(run_training(&BASE, &pass, &pool).loss == result.loss);
    pass.dropout_seed = 8;
    assert_false(run_training(&BASE, &pass, &pool).loss == result.loss);
    pool_free(&pool);
}

static void check_refused(const struct mh_training_pass *pass, enum mh_status status,
                          const char *words)
{
    struct pool pool = {0};
    struct mh_error error = {0};
    struct mh_training_result result;
    struct mh_training_pass usual = usual_pass();
    size_t bytes;
    void *workspace = take_workspace(&BASE, &usual, &pool, &bytes);
    assert_int_equal(mh_training_gradient(&BASE, pass, workspace, bytes, &result, &error), status);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    pool_free(&pool);
}

static void test_refusals(void **unused)
{
    (void)unused;
    struct pool pool = {0};
    struct mh_training_pass usual = usual_pass(), pass;
    check_refused(&usual, MH_ARGUMENT, "parameters is NULL");
    check_refused(NULL, MH_ARGUMENT, "pass is NULL");
    usual.parameters = random_parameters(&BASE, &pool);
    int32_t tokens[PLACES], targets[PLACES];
    memcpy(tokens, TOKENS, sizeof tokens);
    memcpy(targets, TARGETS, sizeof targets);
    pass = usual;
    pass.tokens = tokens;
    tokens[4] = 7;
    check_refused(&pass, MH_ARGUMENT, "tokens[4] is 7");
    pass = usual;
    pass.targets = targets;
    targets[9] = 7;
    check_refused(&pass, MH_ARGUMENT, "targets[9] is 7");
    pass = usual;
    pass.length = 7;
    check_refused(&pass, MH_ARGUMENT, "length 7");
    pass = usual;
    pass.attention_dropout = pass.residual_dropout = 1.0F;
    check_refused(&pass, MH_ARGUMENT, "dropout");
    pass = usual;
    pass.batch = 3;
    check_refused(&pass, MH_MEMORY, "workspace");
    assert_int_equal(mh_training_gradient(&BASE, &usual, NULL, 0, NULL, NULL), MH_ARGUMENT);
    assert_int_equal(mh_training_workspace(&BASE, &usual, NULL, NULL), MH_ARGUMENT);
    pool_free(&pool);
}

/* ===== Where learning starts ================================================================ */

static void check_constant(const float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        assert_true(x[i] == value);
}

/* Mean 0 and this variance, within what so many numbers can show. */
static void check_spread(const float *x, size_t n, double variance)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    assert_true(fabs(sum / (double)n) <= 4.0 * sqrt(variance / (double)n));
    assert_true(fabs(squares / (double)n / variance - 1.0) <= 6.0 / sqrt((double)n));
}

static void test_initialise(void **unused)
{
    (void)unused;
    struct pool pool = {0};
    struct mh_network config = BASE;
    config.model.embed_dim = 64;
    config.model.ffn_dim = 128;
    config.model.vocabulary = 100;
    config.model.positions = 50;
    size_t size = mh_parameters_size(&config);
    float *x = pool_floats(&pool, size), *again = pool_floats(&pool, size);
    mh_parameters_initialise(&config, MH_XAVIER_UNIFORM, 5, x);
    for (size_t i = 0; i < mh_parameter_count(&config); i++) {
        struct mh_parameter p;
        mh_parameter_at(&config, i, &p);
        bool norm_weight = strstr(p.name, "ln_") != NULL && strstr(p.name, "weight") != NULL;
        if (strncmp(p.name, "wte", 3) == 0 || strncmp(p.name, "wpe", 3) == 0)
            check_spread(x + p.offset, p.count, 0.02 * 0.02);
        else if (p.rows > 0) /* of a uniform number on ± a: a² / 3 */
            check_spread(x + p.offset, p.count, 2.0 / (double)(p.rows + p.columns));
        else
            check_constant(x + p.offset, p.count, norm_weight ? 1.0F : 0.0F);
    }
    mh_parameters_initialise(&config, MH_XAVIER_UNIFORM, 5, again);
    assert_memory_equal(x, again, size * sizeof *x);
    mh_parameters_initialise(&config, MH_XAVIER_UNIFORM, 6, again);
    assert_memory_not_equal(x, again, size * sizeof *x);
    pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pre_norm),
        cmocka_unit_test(test_post_norm),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_shared_keys_dropout_scale),
        cmocka_unit_test(test_padding_and_window),
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_same_bits_and_loss_alone),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_initialise),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# largest relative error of a gradient %.2e\n", worst_gradient_error);
    return failed;
}
