/* The trainer: it learns, the same from the same seed; parts of a batch add up to the whole; a file is
 * a model, a checkpoint goes on bit by bit; a number that is not finite is named; bad input is refused. */
#include "multihead_train.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "train/trainer.h"

enum { BATCH = 4, LENGTH = 6, PLACES = BATCH * LENGTH, VOCABULARY = 9 };

static const struct mh_network NETWORK = {.model = {.layers = 2,
                                                    .heads = 2,
                                                    .kv_heads = 2,
                                                    .embed_dim = 16,
                                                    .ffn_dim = 24,
                                                    .vocabulary = VOCABULARY,
                                                    .positions = 8,
                                                    .activation = MH_ACTIVATION_GELU_TANH,
                                                    .norm_epsilon = 1e-5F}};

static const struct mh_trainer_settings SETTINGS = {
    .seed = 3,
    .adamw = {.beta1 = 0.9F, .beta2 = 0.98F, .epsilon = 1e-8F, .weight_decay = 0.01F},
    .schedule = {.peak = 1e-2F, .floor = 1e-3F, .warm_up = 5, .steps = 60},
    .clip = 1.0F,
    .attention_dropout = 0.1F,
    .residual_dropout = 0.1F,
};

static struct mh_error error;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != MH_OK)                                                                       \
            fail_msg("%s", error.message);                                                         \
    } while (0)

/* Counting up by a step that differs from sequence to sequence. */
static struct mh_training_pass batch_of(uint32_t number)
{
    static int32_t tokens[PLACES], targets[PLACES];
    for (size_t r = 0; r < PLACES; r++) {
        size_t b = r / LENGTH, t = r % LENGTH, step = 1 + (b + number) % 3;
        tokens[r] = (int32_t)((number + b + t * step) % VOCABULARY);
        targets[r] = t == 0 ? -1 : (int32_t)((number + b + (t + 1) * step) % VOCABULARY);
    }
    return (struct mh_training_pass){.batch = BATCH,
                                     .length = LENGTH,
                                     .tokens = tokens,
                                     .targets = targets,
                                     .mask = {.causal = 1}};
}

static mh_trainer *make(const struct mh_trainer_settings *settings)
{
    mh_trainer *trainer;
    CHECK(mh_trainer_create(&trainer, &NETWORK, settings, &error));
    return trainer;
}

/* The mean loss before the step. */
static double learn(mh_trainer *trainer, uint32_t number, struct mh_step_report *report)
{
    struct mh_training_pass pass = batch_of(number);
    struct mh_training_result result;
    CHECK(mh_trainer_accumulate(trainer, &pass, &result, &error));
    CHECK(mh_trainer_apply(trainer, report, &error));
    return result.loss / (double)result.counted;
}

static void check_same(mh_trainer *a, mh_trainer *b)
{
    assert_int_equal(mh_trainer_step(a), mh_trainer_step(b));
    assert_memory_equal(mh_trainer_parameters(a), mh_trainer_parameters(b),
                        mh_parameters_size(&NETWORK) * sizeof(float));
}

static void test_learns_and_repeats(void **unused)
{
    (void)unused;
    mh_trainer *first = make(&SETTINGS), *again = make(&SETTINGS);
    struct mh_trainer_settings other = SETTINGS;
    other.seed = 4;
    mh_trainer *different = make(&other);
    double before = 0.0, after = 0.0;
    for (uint32_t step = 0; step < 60; step++) {
        double loss = learn(first, step, NULL);
        assert_true(loss == learn(again, step, NULL));
        assert_false(loss == learn(different, step, NULL));
        before = step == 0 ? loss : before;
        after = loss;
    }
    assert_true(before > 2.0 && after < 0.5 * before);
    check_same(first, again);
    mh_trainer_free(first);
    mh_trainer_free(again);
    mh_trainer_free(different);
}

/* Sequences one by one, in two trainers without dropout, one of which sees all at once. */
static void test_parts_add_up(void **unused)
{
    (void)unused;
    struct mh_trainer_settings settings = SETTINGS;
    settings.attention_dropout = settings.residual_dropout = 0.0F;
    mh_trainer *whole = make(&settings), *parts = make(&settings);
    struct mh_step_report of_whole = {0}, of_parts = {0};
    double loss = learn(whole, 1, &of_whole), sum = 0.0;
    struct mh_training_pass pass = batch_of(1);
    pass.batch = 1;
    for (size_t b = 0; b < BATCH; b++) {
        struct mh_training_result result;
        CHECK(mh_trainer_accumulate(parts, &pass, &result, &error));
        sum += result.loss;
        pass.tokens += LENGTH;
        pass.targets += LENGTH;
    }
    CHECK(mh_trainer_apply(parts, &of_parts, &error));
    assert_true(fabs(sum / (PLACES - BATCH) - loss) < 1e-6 * loss);
    assert_true(fabsf(of_parts.gradient_norm - of_whole.gradient_norm) <
                1e-5F * of_whole.gradient_norm);
    assert_int_equal(of_parts.step, 1);
    mh_trainer_free(whole);
    mh_trainer_free(parts);
}

static unsigned char *save(const mh_trainer *trainer, int32_t file, size_t *bytes)
{
    *bytes = mh_trainer_file_bytes(trainer, file);
    unsigned char *out = malloc(*bytes);
    assert_non_null(out);
    CHECK(mh_trainer_save(trainer, file, out, *bytes, &error));
    return out;
}

static void test_checkpoint_goes_on(void **unused)
{
    (void)unused;
    mh_trainer *straight = make(&SETTINGS), *resumed = make(&SETTINGS);
    for (uint32_t step = 0; step < 7; step++)
        learn(straight, step, NULL);
    size_t bytes;
    unsigned char *file = save(straight, MH_FILE_CHECKPOINT, &bytes);
    learn(resumed, 99, NULL); /* to have something to forget */
    CHECK(mh_trainer_load(resumed, file, bytes, &error));
    check_same(straight, resumed);
    for (uint32_t step = 7; step < 15; step++)
        assert_true(learn(straight, step, NULL) == learn(resumed, step, NULL));
    check_same(straight, resumed);
    free(file);

    file = save(straight, MH_FILE_MODEL, &bytes); /* starts the optimiser anew */
    CHECK(mh_trainer_load(resumed, file, bytes, &error));
    assert_int_equal(mh_trainer_step(resumed), 0);
    free(file);
    mh_trainer_free(straight);
    mh_trainer_free(resumed);
}

/* A trainer that only looks has no gradient and no optimiser's state; its checkpoint is that of a
 * trainer that has them, before its first step. */
static void test_looking_takes_no_memory_to_learn(void **unused)
{
    (void)unused;
    mh_trainer *looks = make(&SETTINGS), *learns = make(&SETTINGS);
    struct mh_training_pass pass = batch_of(1);
    struct mh_training_result result;
    size_t bytes, same_bytes;
    unsigned char *model = save(looks, MH_FILE_MODEL, &bytes);
    CHECK(mh_trainer_load(looks, model, bytes, &error));
    CHECK(mh_trainer_evaluate(looks, &pass, &result, &error));
    assert_int_equal(mh_trainer_apply(looks, NULL, &error), MH_ARGUMENT);
    unsigned char *checkpoint = save(looks, MH_FILE_CHECKPOINT, &bytes);
    assert_null(looks->gradient);
    assert_null(looks->state.mean);
    assert_null(looks->state.variance);

    assert_non_null(mh_trainer_gradient(learns));
    unsigned char *same = save(learns, MH_FILE_CHECKPOINT, &same_bytes);
    assert_int_equal(bytes, same_bytes);
    assert_memory_equal(checkpoint, same, bytes);
    CHECK(mh_trainer_load(looks, checkpoint, bytes, &error));
    assert_non_null(looks->gradient);
    for (uint32_t step = 0; step < 3; step++)
        assert_true(learn(looks, step, NULL) == learn(learns, step, NULL));
    check_same(looks, learns);
    free(model);
    free(checkpoint);
    free(same);
    mh_trainer_free(looks);
    mh_trainer_free(learns);
}

/* What the model of the file computes is what the trainer computes. */
static void test_file_is_a_model(void **unused)
{
    (void)unused;
    mh_trainer *trainer = make(&SETTINGS);
    for (uint32_t step = 0; step < 3; step++)
        learn(trainer, step, NULL);
    enum { MAPS = 2 * 2 * LENGTH * LENGTH, LOGITS = LENGTH * VOCABULARY };
    float attention[MAPS], scores[MAPS], logits[LOGITS];
    float model_attention[MAPS], model_scores[MAPS], model_logits[LOGITS];
    struct mh_training_pass pass = batch_of(5);
    struct mh_training_result result;
    pass.batch = 1;
    pass.attention = attention;
    pass.scores = scores;
    pass.logits = logits;
    CHECK(mh_trainer_evaluate(trainer, &pass, &result, &error));
    for (int32_t kind = MH_FILE_MODEL; kind <= MH_FILE_CHECKPOINT; kind++) {
        size_t bytes;
        unsigned char *file = save(trainer, kind, &bytes);
        mh_model *model;
        CHECK(mh_model_load(&model, &NETWORK.model, file, bytes, &error));
        struct mh_model_pass forward = {.tokens = pass.tokens,
                                        .length = LENGTH,
                                        .mask = pass.mask,
                                        .attention = model_attention,
                                        .scores = model_scores,
                                        .logits = model_logits};
        CHECK(mh_model_workspace(model, &forward, &bytes, &error));
        void *workspace = malloc(bytes);
        CHECK(mh_model_forward(model, &forward, workspace, bytes, NULL, &error));
        for (size_t i = 0; i < MAPS; i++) {
            assert_true(fabsf(attention[i] - model_attention[i]) < 1e-6F);
            assert_true(scores[i] == model_scores[i] || fabsf(scores[i] - model_scores[i]) < 1e-5F);
        }
        for (size_t i = 0; i < LOGITS; i++)
            assert_true(fabsf(logits[i] - model_logits[i]) < 1e-5F);
        free(workspace);
        free(file);
        mh_model_free(model);
    }
    mh_trainer_free(trainer);
}

/* A file as it is being made: its header, a NUL behind it, and its data. */
struct small_file {
    char header[8192];
    unsigned char data[8192];
    size_t length, bytes;
};

static void put_tensor(struct small_file *file, const char *name, const char *dtype, size_t rows,
                       size_t columns, const void *data, size_t bytes)
{
    char shape[64];
    snprintf(shape, sizeof shape, rows == 0 ? "[%zu]" : "[%zu,%zu]", rows == 0 ? columns : rows,
             columns);
    int length = snprintf(file->header + file->length, sizeof file->header - file->length,
                          "%c\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                          file->bytes == 0 ? '{' : ',', name, dtype, shape, file->bytes,
                          file->bytes + bytes);
    file->length += (size_t)length;
    assert_true(file->length + 2 < sizeof file->header && file->bytes + bytes <= sizeof file->data);
    memcpy(file->data + file->bytes, data, bytes);
    file->bytes += bytes;
}

/* A matrix as I8 with one scale, a vector as F16 that is 0.5 everywhere; `values` are what they mean. */
static void put_small(struct small_file *file, const struct mh_parameter *p, float *values)
{
    int8_t whole[1024];
    uint16_t half[1024];
    char name[MH_PARAMETER_NAME + 8];
    float scale = ldexpf(1.0F, -(int)(p->offset % 7));
    assert_true(p->count <= 1024);
    for (size_t i = 0; i < p->count; i++) {
        whole[i] = (int8_t)((int)((i * 37 + p->offset) % 255) - 127);
        half[i] = 0x3800;
        values[p->offset + i] = p->rows > 0 ? scale * (float)whole[i] : 0.5F;
    }
    if (p->rows == 0) {
        put_tensor(file, p->name, "F16", 0, p->columns, half, 2 * p->count);
        return;
    }
    put_tensor(file, p->name, "I8", p->rows, p->columns, whole, p->count);
    snprintf(name, sizeof name, "%s.scale", p->name);
    put_tensor(file, name, "F32", 1, 1, &scale, sizeof scale);
}

/* Of any architecture a trainer reads F16, and I8 with scales. */
static void test_reads_small_files(void **unused)
{
    (void)unused;
    static struct small_file small;
    static unsigned char file[8 + sizeof small.header + sizeof small.data];
    struct mh_network network = NETWORK;
    network.architecture = MH_ENCODER_DECODER;
    network.encoder_layers = 1;
    network.model.layers = 1;
    network.model.embed_dim = 8;
    mh_trainer *trainer;
    CHECK(mh_trainer_create(&trainer, &network, &SETTINGS, &error));
    float *values = calloc(mh_parameters_size(&network), sizeof(float));
    for (size_t i = 0; i < mh_parameter_count(&network); i++) {
        struct mh_parameter parameter;
        mh_parameter_at(&network, i, &parameter);
        put_small(&small, &parameter, values);
    }
    small.header[small.length++] = '}';
    file[0] = (unsigned char)(small.length % 256);
    file[1] = (unsigned char)(small.length / 256);
    memcpy(file + 8, small.header, small.length);
    memcpy(file + 8 + small.length, small.data, small.bytes);
    CHECK(mh_trainer_load(trainer, file, 8 + small.length + small.bytes, &error));
    assert_memory_equal(mh_trainer_parameters(trainer), values,
                        mh_parameters_size(&network) * sizeof(float));
    free(values);
    mh_trainer_free(trainer);
}

/* ===== Optimisers, schedules, reports ======================================================= */

/* Without decay, momentum or clipping, the update is -rate times the gradient. */
static void test_sgd_report(void **unused)
{
    (void)unused;
    struct mh_trainer_settings settings = {
        .seed = 1, .optimiser = MH_SGD, .schedule = {.peak = 0.5F}};
    mh_trainer *trainer = make(&settings);
    enum { MOST = 64 };
    float gradients[MOST], updates[MOST], parameters[MOST];
    size_t count = mh_parameter_count(&NETWORK);
    assert_true(count <= MOST);
    struct mh_step_report report = {
        .gradient_norms = gradients, .update_norms = updates, .parameter_norms = parameters};
    learn(trainer, 0, &report);
    assert_true(report.learning_rate == 0.5F);
    double squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        struct mh_parameter p;
        mh_parameter_at(&NETWORK, i, &p);
        const float *x = mh_trainer_parameters(trainer) + p.offset;
        assert_true(parameters[i] == (float)mh_gradient_norm(x, p.count));
        assert_true(fabsf(updates[i] - 0.5F * gradients[i]) <= 1e-5F * gradients[i] + 1e-6F);
        squares += (double)gradients[i] * (double)gradients[i];
    }
    assert_true(fabs(sqrt(squares) - (double)report.gradient_norm) <=
                1e-5 * (double)report.gradient_norm);
    mh_trainer_free(trainer);
}

static void test_configure(void **unused)
{
    (void)unused;
    mh_trainer *trainer = make(&SETTINGS);
    struct mh_trainer_settings settings = SETTINGS;
    struct mh_step_report report = {0};
    settings.schedule = (struct mh_schedule){.peak = 0.25F};
    CHECK(mh_trainer_configure(trainer, &settings, &error));
    learn(trainer, 0, &report);
    assert_true(report.learning_rate == 0.25F);
    settings.attention_dropout = 1.0F;
    assert_int_equal(mh_trainer_configure(trainer, &settings, &error), MH_ARGUMENT);
    assert_non_null(strstr(error.message, "attention_dropout is 1"));
    mh_trainer_free(trainer);
}

/* ===== The finite guard ===================================================================== */

static void test_names_what_is_not_finite(void **unused)
{
    (void)unused;
    mh_trainer *trainer = make(&SETTINGS);
    learn(trainer, 0, NULL);
    struct mh_training_pass pass = batch_of(1);
    struct mh_training_result result;
    struct mh_parameter p;
    mh_parameter_at(&NETWORK, 6, &p);
    float *x = mh_trainer_parameters(trainer) + p.offset, kept = x[2];
    x[2] = NAN;
    assert_int_equal(mh_trainer_accumulate(trainer, &pass, &result, &error), MH_NONFINITE);
    assert_non_null(strstr(error.message, p.name));
    assert_non_null(strstr(error.message, "index 2"));
    assert_non_null(strstr(error.message, "step 2"));
    x[2] = kept;
    CHECK(mh_trainer_accumulate(trainer, &pass, &result, &error));
    mh_trainer_gradient(trainer)[p.offset + 3] = INFINITY;
    assert_int_equal(mh_trainer_apply(trainer, NULL, &error), MH_NONFINITE);
    assert_non_null(strstr(error.message, "gradient of "));
    assert_non_null(strstr(error.message, p.name));
    assert_int_equal(mh_trainer_step(trainer), 1);
    learn(trainer, 2, NULL); /* what was accumulated is gone: it goes on */
    mh_trainer_free(trainer);
}

/* Finite weights whose queries and keys are finite, but not their products. */
static void test_names_the_activation(void **unused)
{
    (void)unused;
    mh_trainer *trainer = make(&SETTINGS);
    struct mh_training_pass pass = batch_of(1);
    struct mh_training_result result;
    struct mh_parameter p = {0};
    size_t index = 0;
    while (strcmp(p.name, "h.1.attn.c_attn.weight") != 0)
        mh_parameter_at(&NETWORK, index++, &p);
    float *weight = mh_trainer_parameters(trainer) + p.offset;
    for (size_t i = 0; i < p.count; i++)
        weight[i] *= 1e25F;
    assert_int_equal(mh_trainer_accumulate(trainer, &pass, &result, &error), MH_NONFINITE);
    if (strstr(error.message, "the activation h.1.attn.scores is ") == NULL ||
        strstr(error.message, "in step 1") == NULL)
        fail_msg("%s", error.message);
    mh_trainer_free(trainer);
}

/* ===== Refusals ============================================================================= */

static void check_says(enum mh_status status, enum mh_status expected, const char *words)
{
    assert_int_equal(status, expected);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
}

static void test_refusals(void **unused)
{
    (void)unused;
    mh_trainer *trainer = NULL;
    struct mh_network network = NETWORK;
    struct mh_trainer_settings settings = SETTINGS;
    struct mh_training_result result;
    check_says(mh_trainer_create(NULL, &network, &settings, &error), MH_ARGUMENT, "out is NULL");
    check_says(mh_trainer_create(&trainer, NULL, &settings, &error), MH_ARGUMENT, "network");
    check_says(mh_trainer_create(&trainer, &network, NULL, &error), MH_ARGUMENT, "settings");
    settings.adamw.beta1 = 1.0F;
    check_says(mh_trainer_create(&trainer, &network, &settings, &error), MH_ARGUMENT, "beta1");
    settings = SETTINGS;
    settings.schedule.warm_up = 61;
    check_says(mh_trainer_create(&trainer, &network, &settings, &error), MH_ARGUMENT, "warm_up");
    network.model.heads = 3;
    check_says(mh_trainer_create(&trainer, &network, &SETTINGS, &error), MH_SHAPE, "heads 3");
    assert_null(trainer);

    trainer = make(&SETTINGS);
    check_says(mh_trainer_apply(trainer, NULL, &error), MH_ARGUMENT, "nothing to learn from");
    struct mh_training_pass pass = batch_of(0);
    CHECK(mh_trainer_accumulate(trainer, &pass, &result, &error));
    size_t bytes = mh_trainer_file_bytes(trainer, MH_FILE_CHECKPOINT);
    unsigned char *file = malloc(bytes);
    check_says(mh_trainer_save(trainer, MH_FILE_CHECKPOINT, file, bytes, &error), MH_ARGUMENT,
               "whole step");
    CHECK(mh_trainer_apply(trainer, NULL, &error));
    check_says(mh_trainer_save(trainer, MH_FILE_CHECKPOINT, file, bytes - 1, &error), MH_ARGUMENT,
               "bytes");
    CHECK(mh_trainer_save(trainer, MH_FILE_CHECKPOINT, file, bytes, &error));
    check_says(mh_trainer_load(trainer, file, bytes - 1, &error), MH_CORRUPT, "");
    network = NETWORK;
    network.model.embed_dim = 8;
    mh_trainer *narrower;
    CHECK(mh_trainer_create(&narrower, &network, &SETTINGS, &error));
    check_says(mh_trainer_load(narrower, file, bytes, &error), MH_SHAPE, "wte.weight");
    free(file);
    mh_trainer_free(narrower);
    mh_trainer_free(trainer);
    mh_trainer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns_and_repeats),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_checkpoint_goes_on),
        cmocka_unit_test(test_looking_takes_no_memory_to_learn),
        cmocka_unit_test(test_file_is_a_model),
        cmocka_unit_test(test_reads_small_files),
        cmocka_unit_test(test_sgd_report),
        cmocka_unit_test(test_configure),
        cmocka_unit_test(test_names_what_is_not_finite),
        cmocka_unit_test(test_names_the_activation),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
