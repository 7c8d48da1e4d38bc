/* The native trainer: its settings, its batches, and that a step has the same bits however many
 * threads compute it. */
#include "plan.h"
#include "say.h"
#include "sequences.h"
#include "settings.h"
#include "workers.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_NUMBERS = 4096 };

static const char SETTINGS[] =
    "layers 1\nheads 2\nembed_dim 8\nffn_dim 16\nvocabulary 30\npositions 12 # a comment\n\n"
    "seed 3\nsteps 20\nwarm_up 2\npeak 1e-2\nfloor 0\nbeta1 0.9\nbeta2 0.98\nepsilon 1e-8\n"
    "weight_decay 0.01\nclip 1\nattention_dropout 0.1\nresidual_dropout 0.1\n"
    "shards causal  bidirectional window causal\t\nshard_tokens 40\nmask_share 0.3\nmask_token 4\n"
    "first_word 6\nwindow 2\nreport_every 5\nsave_every 10\n";

/* The path of a file with these bytes, in a folder for temporary files. */
static const char *temporary(const char *name, const void *bytes, size_t count)
{
    static char path[512];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/multihead-%ld-%s", folder != NULL ? folder : "/tmp",
             (long)getpid(), name);
    write_file(path, bytes, count);
    return path;
}

static struct settings settings_from(const char *text)
{
    const char *path = temporary("settings.txt", text, strlen(text));
    struct settings settings = read_settings(path);
    remove(path);
    return settings;
}

/* 40 sequences of 3 to 12 tokens: 2, words, 3. The first word says which it is. */
static struct sequences some_sequences(const struct settings *settings)
{
    uint16_t numbers[MOST_NUMBERS];
    size_t count = 0;
    for (size_t i = 0; i < 40; i++) {
        size_t length = 3 + mh_random_at(1, i) % 10;
        numbers[count++] = (uint16_t)length;
        for (size_t t = 0; t < length; t++)
            numbers[count++] = (uint16_t)(t == 0            ? 2
                                          : t == length - 1 ? 3
                                                            : 6 + mh_random_at(i, t) % 24);
    }
    const char *path = temporary("some.tokens", numbers, count * sizeof numbers[0]);
    struct sequences sequences = read_sequences(path, settings);
    remove(path);
    return sequences;
}

static void settings_are_read(void **state)
{
    (void)state;
    struct settings s = settings_from(SETTINGS);
    assert_int_equal(s.positions, 12);
    assert_true(s.peak == 1e-2 && s.mask_share == 0.3);
    assert_int_equal(s.shard_count, 4);
    assert_int_equal(s.shards[2], TASK_WINDOW);
    assert_int_equal(network_of(&s).model.embed_dim, 8);
    assert_int_equal(trainer_settings_of(&s).schedule.steps, 20);
}

/* Does reading these settings end the program with a message that has `words` in it? */
static bool is_refused(const char *text, const char *words)
{
    int ends[2], status;
    char message[1024] = "";
    const char *path = temporary("refused.txt", text, strlen(text));
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        read_settings(path);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], message, sizeof message - 1);
    message[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    remove(path);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE &&
           strstr(message, words) != NULL;
}

static void settings_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    char text[2048];
    snprintf(text, sizeof text, "%slayer 2\n", SETTINGS);
    assert_true(is_refused(text, "no setting 'layer'"));
    snprintf(text, sizeof text, "%ssteps many\n", SETTINGS);
    assert_true(is_refused(text, "steps is 'many'"));
    snprintf(text, sizeof text, "%swindow 1.5\n", SETTINGS);
    assert_true(is_refused(text, "window is '1.5': it must be a whole number"));
    snprintf(text, sizeof text, "%sshards causal backwards\n", SETTINGS);
    assert_true(is_refused(text, "'backwards'"));
    snprintf(text, sizeof text, "%sheads 3\n", SETTINGS);
    assert_true(is_refused(text, "3"));
    assert_true(is_refused(SETTINGS + strlen("layers 1\n"), "layers is missing"));
}

static void batches_ask_for_what_their_task_says(void **state)
{
    (void)state;
    struct settings s = settings_from(SETTINGS);
    struct sequences q = some_sequences(&s);
    int32_t tokens[40], targets[40];
    struct batch batch = {.tokens = tokens, .targets = targets};
    for (batch.length = 3; batch.length <= 12; batch.length++) {
        size_t of_length = q.first_of[batch.length + 1] - q.first_of[batch.length];
        if (of_length == 0)
            continue;
        batch.batch = s.shard_tokens / batch.length;
        fill_batch(&batch, &q, &s, TASK_CAUSAL, 1, 7);
        assert_int_equal(batch.mask.causal, 1);
        for (size_t i = 0; i < batch.batch * batch.length; i++)
            assert_int_equal(targets[i], (i + 1) % batch.length == 0 ? -1 : tokens[i + 1]);
        fill_batch(&batch, &q, &s, TASK_WINDOW, 1, 7);
        assert_int_equal(batch.mask.window_left, 2);
        for (size_t b = 0; b < batch.batch; b++) {
            const uint16_t *from =
                q.tokens + q.starts[q.first_of[batch.length] + (1 + b) % of_length];
            size_t hidden = 0;
            for (size_t t = 0; t < batch.length; t++) {
                size_t i = b * batch.length + t;
                bool asked = targets[i] >= 0;
                assert_int_equal(tokens[i], asked ? 4 : from[t]);
                assert_true(!asked || (targets[i] == from[t] && from[t] >= 6));
                hidden += asked;
            }
            assert_true(hidden > 0);
        }
    }
    free_sequences(&q);
}

/* A token that the file marks as given is read, and never asked for. */
static void given_tokens_are_not_asked_for(void **state)
{
    (void)state;
    struct settings s = settings_from(SETTINGS);
    const uint16_t numbers[] = {6, 2, 0x8000 | 7, 0x8000 | 8, 7, 8, 3};
    const int32_t words[] = {2, 7, 8, 7, 8, 3}, next[] = {-1, -1, 7, 8, 3, -1};
    const char *path = temporary("given.tokens", numbers, sizeof numbers);
    struct sequences q = read_sequences(path, &s);
    int32_t tokens[6], targets[6];
    struct batch batch = {.batch = 1, .length = 6, .tokens = tokens, .targets = targets};
    remove(path);
    fill_batch(&batch, &q, &s, TASK_CAUSAL, 0, 1);
    assert_memory_equal(tokens, words, sizeof words);
    assert_memory_equal(targets, next, sizeof next);
    for (uint64_t stream = 0; stream < 50; stream++) {
        fill_batch(&batch, &q, &s, TASK_BIDIRECTIONAL, 0, stream);
        for (size_t i = 0; i < 6; i++)
            assert_true(i == 3 || i == 4 ? targets[i] < 0 || targets[i] == words[i]
                                         : targets[i] < 0 && tokens[i] == words[i]);
        assert_true(targets[3] >= 0 || targets[4] >= 0);
    }
    free_sequences(&q);
}

/* Each sequence of a length has its turn before any comes again. */
static void a_plan_goes_round(void **state)
{
    (void)state;
    struct settings s = settings_from(SETTINGS);
    struct sequences q = some_sequences(&s);
    struct plan plan = begin_plan(&s, &q, 0);
    struct part parts[MOST_SHARDS];
    size_t next[13] = {0}, drawn = 0;
    for (size_t step = 0; step < 30; step++) {
        plan_step(&plan, parts);
        for (size_t i = 0; i < s.shard_count; i++) {
            assert_true(q.first_of[parts[i].length + 1] > q.first_of[parts[i].length]);
            assert_int_equal(parts[i].first, next[parts[i].length]);
            assert_int_equal(parts[i].batch, s.shard_tokens / parts[i].length);
            next[parts[i].length] += parts[i].batch;
            drawn |= (size_t)1 << parts[i].length;
        }
    }
    assert_true((drawn & (drawn - 1)) != 0);
    struct plan resumed = begin_plan(&s, &q, 30);
    assert_memory_equal(&plan, &resumed, sizeof plan);
    free_sequences(&q);
}

static void a_step_has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    struct settings s = settings_from(SETTINGS);
    struct sequences q = some_sequences(&s);
    struct mh_network network = network_of(&s);
    size_t size = mh_parameters_size(&network);
    float *parameters = take(size, sizeof(float)), *first = take(size, sizeof(float));
    mh_parameters_initialise(&network, MH_XAVIER_UNIFORM, 1, parameters);
    double loss = 0.0;
    for (size_t threads = 1; threads <= 6; threads++) {
        struct workers *workers = begin_workers(&s, &q, threads);
        struct plan plan = begin_plan(&s, &q, 0);
        struct part parts[MOST_SHARDS];
        struct mh_training_result results[MOST_SHARDS];
        float *gradient = take(size, sizeof(float));
        for (size_t step = 0; step < 3; step++) {
            plan_step(&plan, parts);
            compute_step(workers, parts, parameters, gradient, results);
        }
        if (threads == 1) {
            memcpy(first, gradient, size * sizeof(float));
            loss = results[3].loss;
        }
        assert_memory_equal(gradient, first, size * sizeof(float));
        assert_true(results[3].loss == loss && loss > 0.0);
        free(gradient);
        end_workers(workers);
    }
    free(parameters);
    free(first);
    free_sequences(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(settings_that_make_no_sense_are_refused),
        cmocka_unit_test(batches_ask_for_what_their_task_says),
        cmocka_unit_test(given_tokens_are_not_asked_for),
        cmocka_unit_test(a_plan_goes_round),
        cmocka_unit_test(a_step_has_the_same_bits_on_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
