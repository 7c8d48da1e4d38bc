/* Trains a small model (2 layers, 4 heads, 64 wide) on induction, and prints loss, held-out accuracy
 * and tokens per second of one core:
 *
 *     build/native/induction [STEPS [SEED]]        1500 steps and seed 1 if not given
 *
 * The task: tokens in random order, none twice, then the same again: A B C D … A B C → ? After the
 * first period, each token has been seen once, and what followed it then is the exact answer. The
 * period is drawn anew for each sequence, so that position alone does not tell. Sequences are made
 * on the fly; the accuracy printed is on others, which are never trained on. */
#include "multihead_train.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCH = 32,
    LENGTH = 32,
    PLACES = BATCH * LENGTH,
    VOCABULARY = 32,
    SHORTEST_PERIOD = 8,
    LONGEST_PERIOD = 16,
    REPORT_EVERY = 100,
    HELD_OUT = 1 << 30, /* number of the batch that is never trained on */
};

static const struct mh_network CONFIG = {.model = {
                                             .layers = 2,
                                             .heads = 4,
                                             .kv_heads = 4,
                                             .embed_dim = 64,
                                             .ffn_dim = 256,
                                             .vocabulary = VOCABULARY,
                                             .positions = LENGTH,
                                             .activation = MH_ACTIVATION_GELU_TANH,
                                             .norm_position = MH_NORM_PRE,
                                             .norm_epsilon = 1e-5f,
                                         }};

static const struct mh_adamw ADAMW = {
    .beta1 = 0.9f, .beta2 = 0.98f, .epsilon = 1e-8f, .weight_decay = 0.01f};

struct trainer {
    uint32_t seed;
    int32_t tokens[PLACES], targets[PLACES];
    float *parameters, *gradient;
    struct mh_adamw_state state;
    void *workspace;
    size_t parameter_count, workspace_bytes;
};

static void *take(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (block == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    return block;
}

/* ===== The task ============================================================================= */

/* order = 0 .. VOCABULARY - 1, shuffled (Fisher & Yates). */
static void shuffle(int32_t *order, uint64_t stream)
{
    for (int32_t i = 0; i < VOCABULARY; i++)
        order[i] = i;
    for (size_t i = VOCABULARY - 1; i > 0; i--) {
        size_t other = mh_random_at(stream, i) % (i + 1);
        int32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static void make_batch(struct trainer *t, size_t number)
{
    for (size_t b = 0; b < BATCH; b++) {
        uint64_t stream = mh_random_stream(t->seed, number, b, 0);
        int32_t order[VOCABULARY];
        shuffle(order, stream);
        size_t periods = LONGEST_PERIOD - SHORTEST_PERIOD + 1;
        size_t period = SHORTEST_PERIOD + mh_random_at(stream, VOCABULARY) % periods;
        for (size_t i = 0; i < LENGTH; i++) {
            t->tokens[b * LENGTH + i] = order[i % period];
            t->targets[b * LENGTH + i] = i < period ? -1 : order[(i + 1) % period];
        }
    }
}

/* ===== Training ============================================================================= */

static struct mh_training_pass pass_of(const struct trainer *t, float *gradient)
{
    return (struct mh_training_pass){.parameters = t->parameters,
                                     .gradient = gradient,
                                     .batch = BATCH,
                                     .length = LENGTH,
                                     .tokens = t->tokens,
                                     .targets = t->targets,
                                     .mask = {.causal = 1}};
}

static void begin(struct trainer *t)
{
    struct mh_error error;
    struct mh_training_pass pass = pass_of(t, NULL);
    if (mh_training_workspace(&CONFIG, &pass, &t->workspace_bytes, &error) != MH_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(EXIT_FAILURE);
    }
    t->workspace = take(t->workspace_bytes, 1);
    t->parameter_count = mh_parameters_size(&CONFIG);
    t->parameters = take(t->parameter_count, sizeof(float));
    t->gradient = take(t->parameter_count, sizeof(float));
    t->state.mean = take(t->parameter_count, sizeof(float));
    t->state.variance = take(t->parameter_count, sizeof(float));
    mh_parameters_initialise(&CONFIG, MH_XAVIER_UNIFORM, t->seed, t->parameters);
}

static void end(struct trainer *t)
{
    free(t->workspace);
    free(t->parameters);
    free(t->gradient);
    free(t->state.mean);
    free(t->state.variance);
}

/* The gradient, unless `gradient` is NULL, of the batch of that number. */
static struct mh_training_result run(struct trainer *t, size_t number, float *gradient)
{
    struct mh_error error;
    struct mh_training_result result;
    make_batch(t, number);
    struct mh_training_pass pass = pass_of(t, gradient);
    if (mh_training_gradient(&CONFIG, &pass, t->workspace, t->workspace_bytes, &result, &error) !=
        MH_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(EXIT_FAILURE);
    }
    return result;
}

static double learn(struct trainer *t, const struct mh_schedule *schedule)
{
    uint32_t step = t->state.step;
    memset(t->gradient, 0, t->parameter_count * sizeof(float));
    struct mh_training_result result = run(t, (size_t)step, t->gradient);
    mh_gradient_clip(t->gradient, t->parameter_count, 1.0f);
    mh_adamw_step(&CONFIG, &ADAMW, mh_learning_rate(schedule, step), &t->state, t->parameters,
                  t->gradient);
    return result.loss / (double)result.counted;
}

static void report(struct trainer *t, double loss, clock_t since)
{
    struct mh_training_result held_out = run(t, HELD_OUT, NULL);
    double seconds = (double)(clock() - since) / CLOCKS_PER_SEC;
    printf("step %5d   loss %.4f   held-out accuracy %5.1f %%   %.0f tokens/s   %.1f s\n",
           (int)t->state.step, loss, 100.0 * (double)held_out.correct / (double)held_out.counted,
           (double)t->state.step * (double)PLACES / seconds, seconds);
    fflush(stdout);
}

/* A whole number of 1 .. 2^30 - 1; the program ends, saying so, if it is not one. */
static uint32_t number_from(const char *text, const char *name)
{
    char *rest;
    long number = strtol(text, &rest, 10);
    if (*text == '\0' || *rest != '\0' || number < 1 || number >= HELD_OUT) {
        fprintf(stderr, "%s is '%s': it must be a whole number from 1 to %d\n", name, text,
                HELD_OUT - 1);
        exit(EXIT_FAILURE);
    }
    return (uint32_t)number;
}

int main(int argc, char **argv)
{
    static struct trainer trainer;
    uint32_t steps = argc > 1 ? number_from(argv[1], "STEPS") : 1500;
    trainer.seed = argc > 2 ? number_from(argv[2], "SEED") : 1;
    struct mh_schedule schedule = {
        .peak = 3e-3f, .floor = 3e-4f, .warm_up = steps < 100 ? steps : 100, .steps = steps};
    begin(&trainer);
    printf("%zu parameters, workspace %zu bytes\n", trainer.parameter_count,
           trainer.workspace_bytes);
    clock_t since = clock();
    for (uint32_t step = 1; step <= steps; step++) {
        double loss = learn(&trainer, &schedule);
        if (step % REPORT_EVERY == 0 || step == steps)
            report(&trainer, loss, since);
    }
    end(&trainer);
    return EXIT_SUCCESS;
}
