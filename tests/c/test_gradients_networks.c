/* The gradient of whole encoder-decoders and classifiers by each of their parameters, and of
 * supervised attention, against central differences of a float64 reference. Relative error at most
 * 1e-5, norm-wise, tensor by tensor. */
#include "multihead_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/network_case.h"

enum { BATCH = 2, LENGTH = 4, SOURCE = 3, PATCH = 5, LAYERS = 2 };

static const int32_t TOKENS[BATCH * LENGTH] = {0, 3, 6, 3, 1, 5, 5, 0};
static const int32_t TARGETS[BATCH * LENGTH] = {3, -100, 3, 1, 0, 5, 0, -1};
static const int32_t SOURCES[BATCH * SOURCE] = {2, 6, 1, 4, 4, 0};
static const int32_t SOURCE_LENGTHS[BATCH] = {3, 2};
static const int32_t CLASSES[BATCH] = {6, 2};

static struct mh_network network_of(int32_t architecture)
{
    return (struct mh_network){.model = {.layers = LAYERS,
                                         .heads = 2,
                                         .kv_heads = 2,
                                         .embed_dim = 6,
                                         .ffn_dim = 7,
                                         .vocabulary = 7,
                                         .positions = 6,
                                         .activation = MH_ACTIVATION_GELU,
                                         .norm_epsilon = 1e-5F},
                               .architecture = architecture,
                               .encoder_layers = architecture == MH_ENCODER_DECODER ? 1 : 0,
                               .patch_dim = PATCH};
}

static struct mh_training_pass translation(void)
{
    return (struct mh_training_pass){.batch = BATCH,
                                     .length = LENGTH,
                                     .tokens = TOKENS,
                                     .targets = TARGETS,
                                     .mask = {.causal = 1},
                                     .source = SOURCES,
                                     .source_length = SOURCE,
                                     .source_lengths = SOURCE_LENGTHS};
}

static struct mh_training_pass pictures(struct pool *pool)
{
    uint32_t state = 5;
    float *patches = pool_floats(pool, BATCH * LENGTH * PATCH);
    random_fill(&state, patches, BATCH * LENGTH * PATCH, -1.0F, 1.0F);
    return (struct mh_training_pass){
        .batch = BATCH, .length = LENGTH, .patches = patches, .targets = CLASSES};
}

static void check_network(const struct mh_network *network, struct mh_training_pass pass)
{
    struct pool pool = {0};
    size_t size = mh_parameters_size(network);
    pass.parameters = random_parameters(network, &pool);
    pass.gradient = zeros(&pool, size);
    struct mh_training_result result = run_training(network, &pass, &pool);
    struct network_loss n = {network, &pass, as_doubles(pass.parameters, size)};
    double expected = network_loss(&n);
    double actual = (result.loss + result.supervision) / (double)result.counted;
    if (!(fabs(actual - expected) <= 2e-6 * expected))
        fail_msg("the loss is %.9g, expected %.9g", actual, expected);
    check_all_tensors(&n);
    free(n.parameters);
    pool_free(&pool);
}

/* ===== Encoder-decoder ====================================================================== */

static void test_encoder_decoder(void **unused)
{
    (void)unused;
    struct mh_network network = network_of(MH_ENCODER_DECODER);
    check_network(&network, translation());
    network.model.norm_position = MH_NORM_POST;
    network.model.activation = MH_ACTIVATION_RELU;
    network.sinusoidal = 1;
    check_network(&network, translation());
}

static void test_encoder_decoder_shared_keys_dropout(void **unused)
{
    (void)unused;
    struct mh_network network = network_of(MH_ENCODER_DECODER);
    struct mh_training_pass pass = translation();
    network.model.kv_heads = 1;
    network.encoder_layers = 2;
    network.model.layers = 1;
    pass.attention_dropout = 0.2F;
    pass.residual_dropout = 0.3F;
    pass.dropout_seed = 17;
    pass.source_lengths = NULL;
    check_network(&network, pass);
}

/* ===== Classifier =========================================================================== */

static void test_classifier(void **unused)
{
    (void)unused;
    struct pool pool = {0};
    struct mh_network network = network_of(MH_CLASSIFIER);
    struct mh_training_pass pass = pictures(&pool);
    check_network(&network, pass);
    network.class_token = 1;
    check_network(&network, pass);
    network.sinusoidal = 1;
    network.model.norm_position = MH_NORM_POST;
    pass.residual_dropout = 0.3F;
    check_network(&network, pass);
    pool_free(&pool);
}

/* Windows of two places, shifted by one in the second layer. */
static void test_shifted_windows(void **unused)
{
    (void)unused;
    static const int32_t windows[LENGTH] = {0, 0, 1, 1}, shifted[LENGTH] = {0, 1, 1, 2};
    const struct mh_mask masks[LAYERS] = {{.query_blocks = windows, .key_blocks = windows},
                                          {.query_blocks = shifted, .key_blocks = shifted}};
    struct pool pool = {0};
    struct mh_network network = network_of(MH_CLASSIFIER);
    struct mh_training_pass pass = pictures(&pool);
    pass.layer_masks = masks;
    check_network(&network, pass);
    pool_free(&pool);
}

/* ===== Supervised attention ================================================================= */

static void test_supervision(void **unused)
{
    (void)unused;
    static const float diagonal[BATCH * LENGTH * LENGTH] = {
        1, 0, 0, 0, 0.5F, 0.5F, 0, 0, 0, 0, 0, 0, 0, 0, 0.9F, 0.1F,
        1, 0, 0, 0, 0,    1,    0, 0, 0, 1, 0, 0, 0, 0, 1,    0};
    static const float alignment[BATCH * LENGTH * SOURCE] = {
        1, 0, 0, 0, 0, 1, 0, 0.5F, 0.5F, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0.2F, 0, 0, 1, 0};
    const struct mh_supervision asked[] = {
        {.layer = 1, .head = 1, .weight = 0.7F, .target = diagonal},
        {.layer = 0, .head = 1, .cross = 1, .weight = 1.5F, .target = alignment},
        {.layer = 0, .head = 0, .weight = 0.25F, .target = diagonal},
    };
    struct mh_network network = network_of(MH_ENCODER_DECODER);
    struct mh_training_pass pass = translation();
    pass.supervision = asked;
    pass.supervision_count = 3;
    check_network(&network, pass);
    network.model.kv_heads = 1;
    pass.attention_dropout = 0.3F; /* what is supervised is before dropout */
    pass.scale_mode = MH_SCALE_NONE;
    check_network(&network, pass);
}

/* ===== Outputs, refusals ==================================================================== */

/* Rows of cross-attention are probabilities over the source without its padding. */
static void test_outputs(void **unused)
{
    (void)unused;
    enum { MAPS = LAYERS * BATCH * 2 * LENGTH * SOURCE, ENCODER = BATCH * 2 * SOURCE * SOURCE };
    struct pool pool = {0};
    struct mh_network network = network_of(MH_ENCODER_DECODER);
    struct mh_training_pass pass = translation();
    pass.parameters = random_parameters(&network, &pool);
    pass.cross_attention = pool_floats(&pool, MAPS);
    pass.encoder_attention = pool_floats(&pool, ENCODER);
    pass.logits = pool_floats(&pool, BATCH * LENGTH * 7);
    run_training(&network, &pass, &pool);
    for (size_t row = 0; row < MAPS / SOURCE; row++) {
        const float *x = pass.cross_attention + row * SOURCE;
        size_t b = row / (2 * LENGTH) % BATCH;
        assert_true(fabsf(x[0] + x[1] + x[2] - 1.0F) < 1e-6F);
        assert_true(b == 0 ? x[2] > 0.0F : x[2] == 0.0F);
    }
    for (size_t row = 0; row < ENCODER / SOURCE; row++) {
        const float *x = pass.encoder_attention + row * SOURCE;
        assert_true(fabsf(x[0] + x[1] + x[2] - 1.0F) < 1e-6F);
    }
    /* Decoding step by step: a prefix alone has the logits that it has in the whole. */
    float *whole = pass.logits, *prefix = pool_floats(&pool, BATCH * LENGTH * 7);
    pass.batch = 1;
    pass.length = 2;
    pass.logits = prefix;
    run_training(&network, &pass, &pool);
    for (size_t i = 0; i < 2 * 7; i++)
        assert_true(fabsf(whole[i] - prefix[i]) < 1e-5F);
    pool_free(&pool);
}

static void check_refused(const struct mh_network *network, const struct mh_training_pass *pass,
                          const char *words)
{
    static char workspace[1 << 20];
    struct mh_error error = {0};
    struct mh_training_result result;
    assert_int_equal(
        mh_training_gradient(network, pass, workspace, sizeof workspace, &result, &error),
        MH_ARGUMENT);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
}

static void test_refusals(void **unused)
{
    (void)unused;
    static const int32_t bad_sources[BATCH * SOURCE] = {2, 6, 1, 4, 7, 0}, too_long[BATCH] = {3, 4};
    struct pool pool = {0};
    struct mh_network network = network_of(MH_ENCODER_DECODER);
    struct mh_training_pass usual = translation(), pass;
    usual.parameters = random_parameters(&network, &pool);
    pass = usual;
    pass.source = bad_sources;
    check_refused(&network, &pass, "source[4] is 7");
    pass.source = NULL;
    check_refused(&network, &pass, "source is NULL");
    pass = usual;
    pass.source_lengths = too_long;
    check_refused(&network, &pass, "source_lengths[1] is 4");
    pass.source_length = 0;
    check_refused(&network, &pass, "source_length is 0");
    pass = usual;
    struct mh_supervision asked = {.layer = 2, .target = pass.parameters};
    pass.supervision = &asked;
    pass.supervision_count = 1;
    check_refused(&network, &pass, "supervision 0 is of layer 2");
    network.encoder_layers = 0;
    check_refused(&network, &usual, "encoder_layers is 0");
    network = network_of(MH_CLASSIFIER);
    check_refused(&network, &usual, "patches is NULL");
    network.class_token = 1;
    pass = pictures(&pool);
    pass.length = 6;
    check_refused(&network, &pass, "length 1 to 5");
    network.architecture = 3;
    check_refused(&network, &pass, "architecture is 3");
    pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoder_decoder),
        cmocka_unit_test(test_encoder_decoder_shared_keys_dropout),
        cmocka_unit_test(test_classifier),
        cmocka_unit_test(test_shifted_windows),
        cmocka_unit_test(test_supervision),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_refusals),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("# largest relative error of a gradient %.2e\n", worst_gradient_error);
    return failed;
}
