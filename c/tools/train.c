/* Trains a language model of GPT-2's layout on texts, under several masks at once, or a translator on
 * pairs of sentences:
 *
 *     build/native/train SETTINGS TOKENS OUT [--start MODEL] [--until STEP] [--threads N]
 *
 * SETTINGS is a file like training/bilingual/texts.txt, TOKENS one like prepare.mjs makes. Into
 * the folder OUT go
 *
 *     log.csv               a line for every step: learning rate, mean loss of each task, …
 *     checkpoint            where the training is; if it is there, it goes on from it, bit by bit
 *     model.safetensors     the model as it is when the program ends
 *
 * Ctrl-C saves the checkpoint and ends; so does having reached the step of --until. --start takes
 * the first parameters from a model; else they are drawn from the seed. The numbers do not depend on
 * how many threads there are (one for each core, if not said). */
#include "train/plan.h"
#include "train/say.h"
#include "train/settings.h"
#include "train/trainer.h"
#include "train/workers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

struct arguments {
    const char *settings, *tokens, *out, *start;
    size_t until, threads;
};

struct training {
    struct settings settings;
    struct sequences sequences;
    struct plan plan;
    struct workers *workers;
    mh_trainer *trainer;
    char checkpoint[4096], log[4096], model[4096];
    /* Since the last report. */
    double loss[TASKS];
    size_t counted[TASKS], tokens, since_step;
    double since;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ===== Files ================================================================================ */

static void save(const struct training *t, const char *path, int32_t kind)
{
    struct mh_error error;
    size_t bytes = mh_trainer_file_bytes(t->trainer, kind);
    void *file = take(bytes, 1);
    if (mh_trainer_save(t->trainer, kind, file, bytes, &error) != MH_OK)
        fail("%s", error.message);
    write_file(path, file, bytes);
    free(file);
}

static void load(const struct training *t, const char *path)
{
    struct mh_error error;
    size_t bytes;
    void *file = read_file(path, &bytes);
    if (mh_trainer_load(t->trainer, file, bytes, &error) != MH_OK)
        fail("%s: %s", path, error.message);
    free(file);
}

/* Drops the lines of a log that are past the checkpoint: they will be written again. */
static void begin_log(const struct training *t)
{
    char line[1024];
    size_t bytes = 0, step = mh_trainer_step(t->trainer);
    char *kept = take(1, 1);
    FILE *log = fopen(t->log, "r");
    while (log != NULL && step > 0 && fgets(line, sizeof line, log) != NULL) {
        if (bytes > 0 && strtoul(line, NULL, 10) > step)
            break;
        kept = realloc(kept, bytes + strlen(line) + 1);
        if (kept == NULL)
            fail("out of memory");
        memcpy(kept + bytes, line, strlen(line));
        bytes += strlen(line);
    }
    if (log != NULL)
        fclose(log);
    char header[256];
    int length = snprintf(header, sizeof header, "step,tokens,learning_rate,gradient_norm");
    for (size_t task = 0; task < TASKS; task++)
        if (has_task(&t->settings, (enum task)task))
            length += snprintf(header + length, sizeof header - (size_t)length, ",%s",
                               task_name((enum task)task));
    length += snprintf(header + length, sizeof header - (size_t)length, "\n");
    write_file(t->log, bytes > 0 ? kept : header, bytes > 0 ? bytes : (size_t)length);
    free(kept);
}

/* ===== Reports ============================================================================== */

static void clear_report(struct training *t)
{
    memset(t->loss, 0, sizeof t->loss);
    memset(t->counted, 0, sizeof t->counted);
    t->tokens = 0;
    t->since = seconds();
    t->since_step = mh_trainer_step(t->trainer);
}

/* One step, a line: means of this step alone, so that a training that was interrupted has the same
 * lines as one that was not. */
static void write_log(const struct training *t, const struct mh_step_report *step,
                      const struct part *parts, const struct mh_training_result *results)
{
    double loss[TASKS] = {0}, counted[TASKS] = {0};
    size_t tokens = 0;
    for (size_t i = 0; i < t->settings.shard_count; i++) {
        loss[parts[i].task] += results[i].loss;
        counted[parts[i].task] += (double)results[i].counted;
        tokens += parts[i].batch * group_tokens(parts[i].group);
    }
    FILE *log = fopen(t->log, "a");
    if (log == NULL)
        fail("cannot write %s", t->log);
    fprintf(log, "%u,%zu,%.6g,%.6g", step->step, tokens, (double)step->learning_rate,
            (double)step->gradient_norm);
    for (size_t task = 0; task < TASKS; task++)
        if (has_task(&t->settings, (enum task)task))
            fprintf(log, ",%.6f", counted[task] > 0.0 ? loss[task] / counted[task] : 0.0);
    fprintf(log, "\n");
    fclose(log);
}

static void report(struct training *t, const struct mh_step_report *step)
{
    double passed = seconds() - t->since;
    double left =
        passed / (double)(step->step - t->since_step) * (double)(t->settings.steps - step->step);
    printf("step %u of %zu", step->step, t->settings.steps);
    for (size_t task = 0; task < TASKS; task++)
        if (t->counted[task] > 0)
            printf("   %s %.4f", task_name((enum task)task),
                   t->loss[task] / (double)t->counted[task]);
    printf("   rate %.2g   %.0f tokens/s   %.0f min left\n", (double)step->learning_rate,
           (double)t->tokens / passed, left / 60.0);
    fflush(stdout);
    clear_report(t);
}

/* ===== Training ============================================================================= */

static void step(struct training *t)
{
    struct part parts[MOST_SHARDS];
    struct mh_training_result results[MOST_SHARDS];
    struct mh_step_report taken = {0};
    struct mh_error error;
    float *gradient = mh_trainer_gradient(t->trainer);
    if (gradient == NULL)
        fail("out of memory");
    plan_step(&t->plan, parts);
    compute_step(t->workers, parts, mh_trainer_parameters(t->trainer), gradient, results);
    t->trainer->counted = 1; /* the gradient is of means already */
    if (mh_trainer_apply(t->trainer, &taken, &error) != MH_OK)
        fail("%s", error.message);
    for (size_t i = 0; i < t->settings.shard_count; i++) {
        t->loss[parts[i].task] += results[i].loss;
        t->counted[parts[i].task] += results[i].counted;
        t->tokens += parts[i].batch * group_tokens(parts[i].group);
    }
    write_log(t, &taken, parts, results);
    if (taken.step % t->settings.report_every == 0 || taken.step == t->settings.steps)
        report(t, &taken);
    if (taken.step % t->settings.save_every == 0)
        save(t, t->checkpoint, MH_FILE_CHECKPOINT);
}

static void begin(struct training *t, const struct arguments *a)
{
    struct mh_error error;
    t->settings = read_settings(a->settings);
    t->sequences = read_sequences(a->tokens, &t->settings);
    snprintf(t->checkpoint, sizeof t->checkpoint, "%s/checkpoint", a->out);
    snprintf(t->log, sizeof t->log, "%s/log.csv", a->out);
    snprintf(t->model, sizeof t->model, "%s/model.safetensors", a->out);
    struct mh_network network = network_of(&t->settings);
    struct mh_trainer_settings settings = trainer_settings_of(&t->settings);
    if (mh_trainer_create(&t->trainer, &network, &settings, &error) != MH_OK)
        fail("%s: %s", a->settings, error.message);
    if (access(t->checkpoint, F_OK) == 0)
        load(t, t->checkpoint);
    else if (a->start != NULL)
        load(t, a->start);
    begin_log(t);
    t->plan = begin_plan(&t->settings, &t->sequences, mh_trainer_step(t->trainer));
    t->workers = begin_workers(&t->settings, &t->sequences, a->threads);
    printf("%zu parameters; %zu sequences, %zu tokens; from step %u\n",
           mh_parameters_size(&network), t->sequences.count, t->sequences.total,
           mh_trainer_step(t->trainer));
}

static void end(struct training *t)
{
    save(t, t->checkpoint, MH_FILE_CHECKPOINT);
    save(t, t->model, MH_FILE_MODEL);
    end_workers(t->workers);
    free_plan(&t->plan);
    free_sequences(&t->sequences);
    mh_trainer_free(t->trainer);
}

/* ===== The command ========================================================================== */

static size_t number_from(const char *name, const char *text)
{
    char *rest;
    unsigned long number = strtoul(text, &rest, 10);
    if (*text < '0' || *text > '9' || *rest != '\0' || number == 0)
        fail("%s is '%s': it must be a whole number above 0", name, text);
    return number;
}

static struct arguments read_arguments(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct arguments a = {.until = SIZE_MAX, .threads = cores > 0 ? (size_t)cores : 1};
    const char **plain[] = {&a.settings, &a.tokens, &a.out};
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--start") == 0)
            a.start = argv[++i];
        else if (strcmp(argv[i], "--until") == 0)
            a.until = number_from(argv[i++], next);
        else if (strcmp(argv[i], "--threads") == 0)
            a.threads = number_from(argv[i++], next);
        else if (count < 3)
            *plain[count++] = argv[i];
        else
            count = 4;
    }
    if (count != 3)
        fail("train SETTINGS TOKENS OUT [--start MODEL] [--until STEP] [--threads N]");
    return a;
}

/* What this program was compiled for may be more than this machine has. */
static void check_machine(void)
{
#if defined(__x86_64__) && defined(__AVX512F__)
    if (!__builtin_cpu_supports("avx512f"))
        fail("built for a machine with AVX-512: build it here, with ./build.sh native");
#elif defined(__x86_64__) && defined(__AVX2__)
    if (!__builtin_cpu_supports("avx2"))
        fail("built for a machine with AVX2: build it here, with ./build.sh native");
#endif
}

int main(int argc, char **argv)
{
    static struct training training;
    check_machine();
    struct arguments arguments = read_arguments(argc, argv);
    begin(&training, &arguments);
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    clear_report(&training);
    size_t last =
        arguments.until < training.settings.steps ? arguments.until : training.settings.steps;
    while (!interrupted && mh_trainer_step(training.trainer) < last)
        step(&training);
    end(&training);
    printf("%s step %u\n", interrupted ? "interrupted: saved at" : "saved at",
           (unsigned)training.plan.step);
    return EXIT_SUCCESS;
}
