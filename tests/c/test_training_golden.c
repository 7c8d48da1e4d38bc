/* Encoder-decoders and classifiers against PyTorch (tests/golden/train): the gradient by every tensor,
 * and 20 steps of a trainer with AdamW or plain descent, schedule and clipping. Padded sources,
 * shared key heads, windows that shift from layer to layer, a mask of no pattern, supervised self- and
 * cross-attention. */
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
enum { LAYERS = 2, VOCABULARY = 11, SOURCE = 6, PATCH = 5, ASKED = 3 };

static const int32_t SOURCE_LENGTHS[BATCH] = {6, 4, 1};
static const int32_t WINDOWS[LAYERS][LENGTH] = {{0, 0, 0, 1, 1, 1, 2, 2}, {0, 1, 1, 1, 2, 2, 2, 0}};

static const struct mh_network TRANSLATOR = {.model = {.layers = LAYERS,
                                                       .heads = 4,
                                                       .kv_heads = 4,
                                                       .embed_dim = 8,
                                                       .ffn_dim = 12,
                                                       .vocabulary = VOCABULARY,
                                                       .positions = 9,
                                                       .activation = MH_ACTIVATION_GELU,
                                                       .norm_epsilon = 1e-5F},
                                             .architecture = MH_ENCODER_DECODER,
                                             .encoder_layers = 1};

static struct mh_network classifier(void)
{
    struct mh_network network = TRANSLATOR;
    network.architecture = MH_CLASSIFIER;
    network.encoder_layers = 0;
    network.patch_dim = PATCH;
    return network;
}

/* One of record_train.py's RUNS. */
struct run {
    const char *name;
    struct mh_network network;
    int32_t optimiser;
    bool windows, hidden, supervised;
};

/* ===== Input ================================================================================ */

static size_t length_of(const struct run *run)
{
    return LENGTH + (size_t)run->network.class_token;
}

/* A boolean mask of no pattern that leaves every place itself. */
static struct mh_mask hidden_mask(size_t layer, size_t length, struct pool *pool)
{
    char stream[32];
    snprintf(stream, sizeof stream, "train/hidden-%d", (int)layer);
    uint8_t *hidden = pool_take(pool, length * length, 1);
    for (size_t i = 0; i < length * length; i++)
        hidden[i] = i % (length + 1) != 0 && token_at(stream, i, 2) != 0;
    return (struct mh_mask){.hidden = hidden, .hidden_row_stride = length};
}

static const struct mh_mask *layer_masks(const struct run *run, struct pool *pool)
{
    if (!run->windows && !run->hidden)
        return NULL;
    struct mh_mask *masks = pool_take(pool, LAYERS, sizeof *masks);
    for (size_t l = 0; l < LAYERS; l++)
        masks[l] = run->hidden
                       ? hidden_mask(l, length_of(run), pool)
                       : (struct mh_mask){.query_blocks = WINDOWS[l], .key_blocks = WINDOWS[l]};
    return masks;
}

static bool in_sight(const struct mh_supervision *s, size_t b, size_t i, size_t j)
{
    return s->cross ? (int32_t)j < SOURCE_LENGTHS[b] : j <= i;
}

/* Row i of sequence b: whole numbers of the stream over their sum; every third asks nothing. */
static void fill_wanted(float *row, const struct mh_supervision *s, const char *stream, size_t b,
                        size_t i)
{
    size_t keys = s->cross ? SOURCE : LENGTH, first = (b * LENGTH + i) * keys;
    int32_t sum = 0;
    for (size_t j = 0; j < keys; j++) {
        int32_t number = i % 3 != 0 && in_sight(s, b, i, j) ? token_at(stream, first + j, 4) : 0;
        row[j] = (float)number;
        sum += number;
    }
    for (size_t j = 0; j < keys && sum > 0; j++)
        row[j] /= (float)sum;
}

static const struct mh_supervision *supervision(struct pool *pool)
{
    static struct mh_supervision asked[ASKED] = {
        {.layer = 1, .head = 2, .weight = 0.7F},
        {.layer = 0, .head = 1, .cross = 1, .weight = 1.5F},
        {.layer = 1, .head = 3, .cross = 1, .weight = 0.25F},
    };
    for (size_t n = 0; n < ASKED; n++) {
        char stream[32];
        snprintf(stream, sizeof stream, "train/supervision-%d", (int)n);
        size_t keys = asked[n].cross ? SOURCE : LENGTH;
        float *target = pool_floats(pool, PLACES * keys);
        for (size_t r = 0; r < PLACES; r++)
            fill_wanted(target + r * keys, &asked[n], stream, r / LENGTH, r % LENGTH);
        asked[n].target = target;
    }
    return asked;
}

static struct mh_training_pass translation(const struct run *run, struct pool *pool)
{
    return (struct mh_training_pass){
        .batch = BATCH,
        .length = LENGTH,
        .tokens = tokens_of("train/tokens", PLACES, VOCABULARY, pool),
        .targets = targets_of(PLACES, VOCABULARY, pool),
        .mask = {.causal = 1},
        .source = tokens_of("train/source", BATCH * SOURCE, VOCABULARY, pool),
        .source_length = SOURCE,
        .source_lengths = SOURCE_LENGTHS,
        .supervision = run->supervised ? supervision(pool) : NULL,
        .supervision_count = run->supervised ? ASKED : 0,
    };
}

static struct mh_training_pass pictures(const struct run *run, struct pool *pool)
{
    float *patches = pool_floats(pool, PLACES * PATCH);
    fill_uniform(patches, PLACES * PATCH, "train/patches", 1.0F);
    return (struct mh_training_pass){
        .batch = BATCH,
        .length = LENGTH,
        .patches = patches,
        .targets = targets_of(BATCH, VOCABULARY, pool),
        .layer_masks = layer_masks(run, pool),
    };
}

static struct mh_training_pass pass_of(const struct run *run, struct pool *pool)
{
    return run->network.architecture == MH_CLASSIFIER ? pictures(run, pool)
                                                      : translation(run, pool);
}

/* ===== Steps ================================================================================ */

/* Plain descent learns ten times as fast. */
static struct mh_trainer_settings settings_of(const struct run *run)
{
    float factor = run->optimiser == MH_SGD ? 10.0F : 1.0F;
    return (struct mh_trainer_settings){
        .optimiser = run->optimiser,
        .adamw = {.beta1 = 0.9F, .beta2 = 0.95F, .epsilon = 1e-8F, .weight_decay = 0.1F},
        .schedule = {.peak = factor * 1e-2F, .floor = factor * 1e-3F, .warm_up = 5, .steps = STEPS},
        .clip = 1.0F,
    };
}

static double worst_loss;

static void check_relative(double actual, float recorded_loss)
{
    double expected = (double)recorded_loss;
    worst_loss = fmax(worst_loss, fabs(actual - expected) / expected);
    assert_close(actual, expected, 1e-5 * expected);
}

static void check_steps(const struct run *run, const struct mh_training_pass *pass)
{
    struct pool pool = {0};
    struct mh_error error;
    struct mh_training_result result;
    struct mh_trainer_settings settings = settings_of(run);
    mh_trainer *trainer;
    assert_int_equal(mh_trainer_create(&trainer, &run->network, &settings, &error), MH_OK);
    fill_parameters(&run->network, mh_trainer_parameters(trainer));
    const float *losses = stored(&pool, run->name, "losses", STEPS);
    const float *asked = run->supervised ? stored(&pool, run->name, "supervision", STEPS) : NULL;
    for (size_t step = 0; step < STEPS; step++) {
        if (mh_trainer_accumulate(trainer, pass, &result, &error) != MH_OK ||
            mh_trainer_apply(trainer, NULL, &error) != MH_OK)
            fail_msg("%s", error.message);
        check_relative(result.loss / (double)result.counted, losses[step]);
        if (run->supervised)
            check_relative(result.supervision, asked[step]);
    }
    size_t size = mh_parameters_size(&run->network);
    if (run->optimiser == MH_SGD) {
        const float *expected = stored(&pool, run->name, "parameters", size);
        assert_all_close(mh_trainer_parameters(trainer), expected, size, 2e-6);
    }
    mh_trainer_free(trainer);
    pool_free(&pool);
}

static void check_run(const struct run *run)
{
    struct pool pool = {0};
    struct mh_training_pass pass = pass_of(run, &pool);
    check_recorded_gradient(run->name, &run->network, pass);
    check_steps(run, &pass);
    pool_free(&pool);
}

/* ===== Runs ================================================================================= */

static void test_translate_pre_norm(void **unused)
{
    (void)unused;
    struct run run = {.name = "translate-pre", .network = TRANSLATOR};
    run.network.encoder_layers = 2;
    check_run(&run);
}

static void test_translate_post_norm_sinusoidal(void **unused)
{
    (void)unused;
    struct run run = {.name = "translate-post", .network = TRANSLATOR, .optimiser = MH_SGD};
    run.network.model.norm_position = MH_NORM_POST;
    run.network.model.activation = MH_ACTIVATION_RELU;
    run.network.sinusoidal = 1;
    check_run(&run);
}

static void test_translate_shared_keys(void **unused)
{
    (void)unused;
    struct run run = {.name = "translate-shared", .network = TRANSLATOR, .optimiser = MH_SGD};
    run.network.model.kv_heads = 2;
    run.network.model.activation = MH_ACTIVATION_GELU_TANH;
    check_run(&run);
}

static void test_supervised_pre_norm(void **unused)
{
    (void)unused;
    struct run run = {.name = "supervised-pre", .network = TRANSLATOR, .supervised = true};
    run.network.model.kv_heads = 2;
    run.network.sinusoidal = 1;
    check_run(&run);
}

static void test_supervised_post_norm(void **unused)
{
    (void)unused;
    struct run run = {
        .name = "supervised-post", .network = TRANSLATOR, .optimiser = MH_SGD, .supervised = true};
    run.network.model.kv_heads = 1;
    run.network.model.norm_position = MH_NORM_POST;
    check_run(&run);
}

static void test_picture_class_token(void **unused)
{
    (void)unused;
    struct run run = {.name = "picture-token", .network = classifier(), .optimiser = MH_SGD};
    run.network.class_token = 1;
    check_run(&run);
}

static void test_picture_mean_shifted_windows(void **unused)
{
    (void)unused;
    struct run run = {.name = "picture-windows", .network = classifier(), .windows = true};
    run.network.model.norm_position = MH_NORM_POST;
    run.network.model.kv_heads = 2;
    check_run(&run);
}

static void test_picture_hidden_sinusoidal(void **unused)
{
    (void)unused;
    struct run run = {.name = "picture-hidden", .network = classifier(), .hidden = true};
    run.network.class_token = 1;
    run.network.sinusoidal = 1;
    check_run(&run);
}

int main(void)
{
    if (!open_recorded())
        return EXIT_FAILURE;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_translate_pre_norm),
        cmocka_unit_test(test_translate_post_norm_sinusoidal),
        cmocka_unit_test(test_translate_shared_keys),
        cmocka_unit_test(test_supervised_pre_norm),
        cmocka_unit_test(test_supervised_post_norm),
        cmocka_unit_test(test_picture_class_token),
        cmocka_unit_test(test_picture_mean_shifted_windows),
        cmocka_unit_test(test_picture_hidden_sinusoidal),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# largest relative error of a gradient %.2e, of a loss %.2e\n", worst_gradient_error,
           worst_loss);
    close_recorded();
    return failed;
}
