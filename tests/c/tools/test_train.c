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

/* What hides tokens is left out: nobody asks. */
static const char PAIR_SETTINGS[] =
    "layers 1\nencoder_layers 2\nheads 2\nembed_dim 8\nffn_dim 16\nvocabulary 30\n"
    "positions 12\nseed 3\nsteps 20\nwarm_up 2\npeak 1e-2\nfloor 0\nbeta1 0.9\nbeta2 0.98\n"
    "epsilon 1e-8\nweight_decay 0.01\nclip 1\nattention_dropout 0.1\nresidual_dropout 0.1\n"
    "shards translation translation translation translation\nshard_tokens 40\nreport_every 5\n"
    "save_every 10\n";

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

/* 40 sequences of 3 to 12 tokens: 2, words, 3. They are 20 pairs too. */
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
    assert_int_equal(network_of(&s).architecture, MH_DECODER);
    assert_true(has_task(&s, TASK_WINDOW) && !has_task(&s, TASK_TRANSLATION));
    s = settings_from(PAIR_SETTINGS);
    assert_int_equal(network_of(&s).architecture, MH_ENCODER_DECODER);
    assert_int_equal(network_of(&s).encoder_layers, 2);
    assert_true(has_task(&s, TASK_TRANSLATION) && !has_task(&s, TASK_CAUSAL));
}

/* Does `read` end the program with a message that has `words` in it? */
static bool ends_with(void (*read_path)(const char *path), const char *path, const char *words)
{
    int ends[2], status;
    char message[1024] = "", mine[512];
    snprintf(mine, sizeof mine, "%s", path); /* what is read may need a temporary file too */
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        read_path(mine);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], message, sizeof message - 1);
    message[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE &&
           strstr(message, words) != NULL;
}

static void read_settings_with(const char *path)
{
    read_settings(path);
}

static bool is_refused(const char *text, const char *words)
{
    const char *path = temporary("refused.txt", text, strlen(text));
    bool refused = ends_with(read_settings_with, path, words);
    remove(path);
    return refused;
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
    snprintf(text, sizeof text, "%sencoder_layers 1\n", SETTINGS);
    assert_true(is_refused(text, "there is no task causal"));
    snprintf(text, sizeof text, "%sshards translation\n", SETTINGS);
    assert_true(is_refused(text, "there is no task translation"));
    snprintf(text, sizeof text, "%sshard_tokens 23\n", PAIR_SETTINGS);
    assert_true(is_refused(text, "shard_tokens"));
    snprintf(text, sizeof text, "%smask_share 1\n", SETTINGS);
    assert_true(is_refused(text, "mask_share"));
}

static const char LESSONS[] = "lesson 1 1 1\nlesson 2 1 2\nlesson_weight 1\nlesson_steps 60\n";

static void lessons_are_read(void **state)
{
    (void)state;
    char text[2048];
    snprintf(text, sizeof text, "%s%s", SETTINGS, LESSONS);
    struct settings s = settings_from(text);
    assert_int_equal(s.lesson_count, 2);
    assert_int_equal(s.lesson_steps, 60);
    assert_true(s.lessons[1].back == 2 && s.lessons[1].layer == 1 && s.lessons[1].head == 2);
    snprintf(text, sizeof text, "%slesson 1 1 1\n", SETTINGS);
    assert_true(is_refused(text, "lesson_steps is missing"));
    snprintf(text, sizeof text, "%s%slesson 1 1\n", SETTINGS, LESSONS);
    assert_true(is_refused(text, "'1 1'"));
    const char *const wrong[] = {"lesson 1 2 1", "lesson 1 1 3", "lesson 1 0 1", "lesson 3 1 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "%s%s%s\n", SETTINGS, LESSONS, wrong[i]);
        assert_true(is_refused(text, wrong[i]));
    }
}

static void read_pairs_with(const char *path)
{
    struct settings settings = settings_from(PAIR_SETTINGS);
    read_sequences(path, &settings);
}

static void sources_without_targets_are_refused(void **state)
{
    (void)state;
    const uint16_t numbers[] = {2, 7, 3, 2, 2, 3, 2, 7, 3}, unknown[] = {2, 7, 3, 2, 2, 30};
    const char *path = temporary("half.tokens", numbers, sizeof numbers);
    assert_true(ends_with(read_pairs_with, path, "ends with a source that has no target"));
    remove(path);
    path = temporary("unknown.tokens", unknown, sizeof unknown);
    assert_true(ends_with(read_pairs_with, path, "token 30 at byte 10"));
    remove(path);
}

/* Of [MASK]'s tasks: some of the tokens are hidden, and those asked for. */
static void check_hidden(const struct batch *batch, size_t b, const uint16_t *from)
{
    size_t hidden = 0;
    for (size_t t = 0; t < batch->length; t++) {
        size_t i = b * batch->length + t;
        bool asked = batch->targets[i] >= 0;
        assert_int_equal(batch->tokens[i], asked ? 4 : from[t]);
        assert_true(!asked || (batch->targets[i] == from[t] && from[t] >= 6));
        hidden += asked;
    }
    assert_true(hidden > 0);
}

static void batches_ask_for_what_their_task_says(void **state)
{
    (void)state;
    struct settings s = settings_from(SETTINGS);
    struct sequences q = some_sequences(&s);
    struct batch batch = make_batch(&s);
    assert_int_equal(q.count, 40);
    for (size_t g = 0; g < q.group_count; g++) {
        const struct group *group = &q.groups[g];
        size_t length = group->length, count = s.shard_tokens / length;
        assert_int_equal(group->source_length, 0);
        fill_batch(&batch, &q, &s, group, TASK_CAUSAL, 1, count, 7);
        assert_int_equal(batch.mask.causal, 1);
        assert_null(pass_over(&batch).source);
        for (size_t i = 0; i < count * length; i++)
            assert_int_equal(batch.targets[i], (i + 1) % length == 0 ? -1 : batch.tokens[i + 1]);
        fill_batch(&batch, &q, &s, group, TASK_WINDOW, 1, count, 7);
        assert_int_equal(batch.mask.window_left, 2);
        for (size_t b = 0; b < count; b++)
            check_hidden(&batch, b, q.tokens + q.starts[group->first + (1 + b) % group->count]);
    }
    free_batch(&batch);
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
    struct batch batch = make_batch(&s);
    const int32_t *tokens = batch.tokens, *targets = batch.targets;
    remove(path);
    fill_batch(&batch, &q, &s, q.groups, TASK_CAUSAL, 0, 1, 1);
    assert_memory_equal(tokens, words, sizeof words);
    assert_memory_equal(targets, next, sizeof next);
    for (uint64_t stream = 0; stream < 50; stream++) {
        fill_batch(&batch, &q, &s, q.groups, TASK_BIDIRECTIONAL, 0, 1, stream);
        for (size_t i = 0; i < 6; i++)
            assert_true(i == 3 || i == 4 ? targets[i] < 0 || targets[i] == words[i]
                                         : targets[i] < 0 && tokens[i] == words[i]);
        assert_true(targets[3] >= 0 || targets[4] >= 0);
    }
    free_batch(&batch);
    free_sequences(&q);
}

/* Pairs of tokens in both orders, with sources up to the longest that there may be. */
static void pairs_are_grouped_and_sources_padded(void **state)
{
    (void)state;
    struct settings s = settings_from(PAIR_SETTINGS);
    const uint16_t numbers[] = {3,  7,  8,  3,  2,  2,  3,  /**/ 2, 9, 3,       3,  2,  7,
                                3,  4,  6,  7,  8,  3,  2,  2,      3, /**/ 11, 21, 22, 23,
                                24, 25, 26, 27, 28, 29, 10, 3,      2, 2,       3};
    const int32_t sources[] = {7, 8, 3, 0, 6, 7, 8, 3}, source_lengths[] = {3, 4};
    const int32_t tokens[] = {2, 3, 2, 3}, targets[] = {3, -1, 3, -1};
    const char *path = temporary("pairs.tokens", numbers, sizeof numbers);
    struct sequences q = read_sequences(path, &s);
    struct batch batch = make_batch(&s);
    remove(path);
    assert_int_equal(q.count, 4);
    assert_int_equal(q.group_count, 3);
    assert_int_equal(q.total, 2 * (2 + 4) + (2 + 12) + (3 + 4));
    assert_int_equal(q.groups[1].source_length, 12);
    assert_int_equal(q.groups[2].length, 3);
    fill_batch(&batch, &q, &s, &q.groups[0], TASK_TRANSLATION, 2, 2, 1);
    struct mh_training_pass pass = pass_over(&batch);
    assert_int_equal(pass.batch, 2);
    assert_int_equal(pass.source_length, 4);
    assert_int_equal(pass.mask.causal, 1);
    assert_memory_equal(pass.source, sources, sizeof sources);
    assert_memory_equal(pass.source_lengths, source_lengths, sizeof source_lengths);
    assert_memory_equal(pass.tokens, tokens, sizeof tokens);
    assert_memory_equal(pass.targets, targets, sizeof targets);
    free_batch(&batch);
    free_sequences(&q);
}

static void check_turns(const char *text)
{
    struct settings s = settings_from(text);
    struct sequences q = some_sequences(&s);
    struct plan plan = begin_plan(&s, &q, 0);
    struct part parts[MOST_SHARDS];
    size_t *next = take(q.group_count, sizeof *next), drawn = 0;
    for (size_t step = 0; step < 30; step++) {
        plan_step(&plan, parts);
        for (size_t i = 0; i < s.shard_count; i++) {
            size_t group = (size_t)(parts[i].group - q.groups);
            assert_true(group < q.group_count && q.groups[group].count > 0);
            assert_int_equal(parts[i].first, next[group]);
            assert_int_equal(parts[i].batch, s.shard_tokens / group_tokens(parts[i].group));
            drawn += next[group] == 0;
            next[group] += parts[i].batch;
        }
    }
    assert_true(drawn > 1);
    struct plan resumed = begin_plan(&s, &q, 30);
    assert_int_equal(resumed.step, plan.step);
    assert_memory_equal(resumed.next, plan.next, q.group_count * sizeof *next);
    free(next);
    free_plan(&plan);
    free_plan(&resumed);
    free_sequences(&q);
}

/* Each sequence of a group has its turn before any comes again. */
static void a_plan_goes_round(void **state)
{
    (void)state;
    check_turns(SETTINGS);
    check_turns(PAIR_SETTINGS);
}

static void check_threads(const char *text)
{
    struct settings s = settings_from(text);
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
        free_plan(&plan);
        end_workers(workers);
    }
    free(parameters);
    free(first);
    free_sequences(&q);
}

static void a_step_has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    check_threads(SETTINGS);
    check_threads(PAIR_SETTINGS);
    char text[2048];
    snprintf(text, sizeof text, "%s%s", SETTINGS, LESSONS);
    check_threads(text);
}

/* Takes `steps` steps of AdamW. */
static void learn(const struct settings *s, const struct sequences *q, float *parameters,
                  size_t steps)
{
    struct mh_network network = network_of(s);
    struct workers *workers = begin_workers(s, q, 1);
    struct plan plan = begin_plan(s, q, 0);
    struct part parts[MOST_SHARDS];
    struct mh_training_result results[MOST_SHARDS];
    size_t size = mh_parameters_size(&network);
    float *gradient = take(size, sizeof(float));
    struct mh_adamw adamw = trainer_settings_of(s).adamw;
    struct mh_adamw_state state = {.mean = take(size, sizeof(float)),
                                   .variance = take(size, sizeof(float))};
    for (size_t step = 0; step < steps; step++) {
        plan_step(&plan, parts);
        assert_true(parts[0].taught == (step < s->lesson_steps));
        compute_step(workers, parts, parameters, gradient, results);
        mh_adamw_step(&network, &adamw, 0.01f, &state, parameters, gradient);
    }
    free(gradient);
    free(state.mean);
    free(state.variance);
    free_plan(&plan);
    end_workers(workers);
}

/* Of layer 1, over a sequence of ten words: mean weight of each head on the token `back` before. */
static double weight_back(const struct settings *s, const float *parameters, size_t head,
                          size_t back)
{
    enum { LENGTH = 10 };
    const int32_t tokens[LENGTH] = {2, 9, 23, 11, 7, 29, 14, 8, 17, 12};
    float attention[2 * LENGTH * LENGTH];
    struct mh_network network = network_of(s);
    struct mh_training_pass pass = {.parameters = parameters,
                                    .batch = 1,
                                    .length = LENGTH,
                                    .tokens = tokens,
                                    .mask = {.causal = 1},
                                    .attention = attention};
    struct mh_training_result result;
    struct mh_error error;
    size_t bytes;
    double sum = 0.0;
    assert_int_equal(mh_training_workspace(&network, &pass, &bytes, &error), MH_OK);
    void *workspace = take(bytes, 1);
    assert_int_equal(mh_training_gradient(&network, &pass, workspace, bytes, &result, &error),
                     MH_OK);
    free(workspace);
    for (size_t i = back; i < LENGTH; i++)
        sum += (double)attention[(head * LENGTH + i) * LENGTH + i - back];
    return sum / (double)(LENGTH - back);
}

static void heads_look_where_they_are_taught_to(void **state)
{
    (void)state;
    char text[2048];
    snprintf(text, sizeof text, "%s%s", SETTINGS, LESSONS);
    struct settings s = settings_from(text);
    struct sequences q = some_sequences(&s);
    struct mh_network network = network_of(&s);
    float *parameters = take(mh_parameters_size(&network), sizeof(float));
    mh_parameters_initialise(&network, MH_XAVIER_UNIFORM, 1, parameters);
    s.lesson_steps = 600;
    learn(&s, &q, parameters, 601);
    for (size_t head = 0; head < 2; head++)
        assert_true(weight_back(&s, parameters, head, head + 1) > 0.9);
    free(parameters);
    free_sequences(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(settings_that_make_no_sense_are_refused),
        cmocka_unit_test(lessons_are_read),
        cmocka_unit_test(sources_without_targets_are_refused),
        cmocka_unit_test(batches_ask_for_what_their_task_says),
        cmocka_unit_test(given_tokens_are_not_asked_for),
        cmocka_unit_test(pairs_are_grouped_and_sources_padded),
        cmocka_unit_test(a_plan_goes_round),
        cmocka_unit_test(a_step_has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(heads_look_where_they_are_taught_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
