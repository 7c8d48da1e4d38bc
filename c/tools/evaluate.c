/* The mean loss of a model on texts, in each task that it was trained for:
 *
 *     build/native/evaluate SETTINGS MODEL TOKENS...
 *
 * SETTINGS and TOKENS are files as build/native/train takes them. Which tokens are hidden depends on
 * the seed of the settings and the text alone, so that two models answer the same questions. Prints
 * lines "file,task,counted,loss": places that counted, and nats per place. */
#include "train/say.h"
#include "train/sequences.h"
#include "train/settings.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>

static mh_trainer *load(const struct settings *settings, const char *path)
{
    struct mh_error error;
    struct mh_network network = network_of(settings);
    struct mh_trainer_settings trainer_settings = trainer_settings_of(settings);
    mh_trainer *trainer;
    size_t bytes;
    void *file = read_file(path, &bytes);
    if (mh_trainer_create(&trainer, &network, &trainer_settings, &error) != MH_OK ||
        mh_trainer_load(trainer, file, bytes, &error) != MH_OK)
        fail("%s: %s", path, error.message);
    free(file);
    return trainer;
}

static void add(mh_trainer *trainer, const struct batch *batch, struct mh_training_result *sum)
{
    struct mh_error error;
    struct mh_training_result result;
    struct mh_training_pass pass = pass_over(batch);
    if (mh_trainer_evaluate(trainer, &pass, &result, &error) != MH_OK)
        fail("%s", error.message);
    sum->loss += result.loss;
    sum->counted += result.counted;
}

/* All sequences, each once. */
static struct mh_training_result evaluate(mh_trainer *trainer, const struct settings *settings,
                                          const struct sequences *q, enum task task)
{
    struct mh_training_result sum = {0};
    struct batch batch = make_batch(settings);
    for (size_t g = 0; g < q->group_count; g++) {
        const struct group *group = &q->groups[g];
        size_t most = settings->shard_tokens / group_tokens(group);
        for (size_t first = 0; first < group->count; first += batch.batch) {
            uint64_t stream = mh_random_stream((uint32_t)settings->seed, group->length, first, 0);
            size_t count = group->count - first < most ? group->count - first : most;
            fill_batch(&batch, q, settings, group, task, first, count, stream);
            add(trainer, &batch, &sum);
        }
    }
    free_batch(&batch);
    return sum;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        fail("evaluate SETTINGS MODEL TOKENS...");
    struct settings settings = read_settings(argv[1]);
    mh_trainer *trainer = load(&settings, argv[2]);
    printf("file,task,counted,loss\n");
    for (int i = 3; i < argc; i++) {
        struct sequences sequences = read_sequences(argv[i], &settings);
        for (enum task task = 0; task < TASKS; task++) {
            if (!has_task(&settings, task))
                continue;
            struct mh_training_result result = evaluate(trainer, &settings, &sequences, task);
            printf("%s,%s,%zu,%.4f\n", argv[i], task_name(task), result.counted,
                   result.loss / (double)result.counted);
            fflush(stdout);
        }
        free_sequences(&sequences);
    }
    mh_trainer_free(trainer);
    return EXIT_SUCCESS;
}
