#include "workers.h"

#include "base/random.h"
#include "lessons.h"
#include "say.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where all wait for all. (POSIX has pthread_barrier_t for that, macOS has not.) */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    size_t waiting, times; /* how many wait; how often it has opened */
};

struct worker {
    struct workers *all;
    size_t number;
    pthread_t thread; /* of all but number 0, which is the caller's */
    struct batch batch;
    struct lessons lessons;
    void *workspace;
    size_t workspace_bytes;
};

struct workers {
    const struct settings *settings;
    const struct sequences *sequences;
    struct mh_network network;
    size_t count, size; /* workers; floats of a gradient */
    struct worker *of;
    float *shards; /* [shard_count, size] */
    struct gate gate;
    /* The step: set before the workers come through the gate, read after it. */
    bool stop;
    const struct part *parts;
    const float *parameters;
    float *gradient;
    struct mh_training_result *results;
    atomic_size_t next_shard;
};

static void pass_gate(struct workers *w)
{
    struct gate *gate = &w->gate;
    pthread_mutex_lock(&gate->lock);
    size_t times = gate->times;
    if (++gate->waiting == w->count) {
        gate->waiting = 0;
        gate->times++;
        pthread_cond_broadcast(&gate->opened);
    }
    while (times == gate->times)
        pthread_cond_wait(&gate->opened, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

/* ===== One shard ============================================================================ */

static struct mh_training_pass pass_of(struct worker *worker, size_t shard)
{
    struct workers *w = worker->all;
    const struct part *part = &w->parts[shard];
    fill_batch(&worker->batch, w->sequences, w->settings, part->group, part->task, part->first,
               part->batch, part->stream);
    struct mh_training_pass pass = pass_over(&worker->batch);
    pass.parameters = w->parameters;
    pass.gradient = w->shards + shard * w->size;
    pass.attention_dropout = (float)w->settings->attention_dropout;
    pass.residual_dropout = (float)w->settings->residual_dropout;
    pass.dropout_seed = mh_random_at(part->stream, SIZE_MAX / 2);
    if (part->taught)
        teach(&worker->lessons, w->settings, &pass);
    return pass;
}

static void grow_workspace(struct worker *worker, const struct mh_training_pass *pass)
{
    struct mh_error error;
    size_t bytes;
    if (mh_training_workspace(&worker->all->network, pass, &bytes, &error) != MH_OK)
        fail("%s", error.message);
    if (bytes <= worker->workspace_bytes)
        return;
    free(worker->workspace);
    worker->workspace = take(bytes, 1);
    worker->workspace_bytes = bytes;
}

static void compute_shard(struct worker *worker, size_t shard)
{
    struct workers *w = worker->all;
    struct mh_error error;
    struct mh_training_pass pass = pass_of(worker, shard);
    grow_workspace(worker, &pass);
    memset(pass.gradient, 0, w->size * sizeof *pass.gradient);
    if (mh_training_gradient(&w->network, &pass, worker->workspace, worker->workspace_bytes,
                             &w->results[shard], &error) != MH_OK)
        fail("%s", error.message);
}

/* This worker's share of the sum. */
static void add_up(const struct worker *worker)
{
    const struct workers *w = worker->all;
    size_t begin = w->size * worker->number / w->count;
    size_t length = w->size * (worker->number + 1) / w->count - begin;
    memcpy(w->gradient + begin, w->shards + begin, length * sizeof(float));
    for (size_t shard = 1; shard < w->settings->shard_count; shard++)
        mh_gradient_add(w->gradient + begin, w->shards + shard * w->size + begin, length);
    mh_gradient_scale(w->gradient + begin, 1.0f / (float)w->settings->shard_count, length);
}

static void take_part(struct worker *worker)
{
    struct workers *w = worker->all;
    for (;;) {
        size_t shard = atomic_fetch_add(&w->next_shard, 1);
        if (shard >= w->settings->shard_count)
            break;
        compute_shard(worker, shard);
    }
    pass_gate(w);
    add_up(worker);
    pass_gate(w);
}

/* ===== All of them ========================================================================== */

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (;;) {
        pass_gate(worker->all);
        if (worker->all->stop)
            return NULL;
        take_part(worker);
    }
}

struct workers *begin_workers(const struct settings *settings, const struct sequences *sequences,
                              size_t count)
{
    struct workers *w = take(1, sizeof *w);
    w->settings = settings;
    w->sequences = sequences;
    w->network = network_of(settings);
    w->count = count < settings->shard_count ? count : settings->shard_count;
    w->size = mh_parameters_size(&w->network);
    w->of = take(w->count, sizeof *w->of);
    w->shards = take(settings->shard_count * w->size, sizeof(float));
    if (pthread_mutex_init(&w->gate.lock, NULL) != 0 ||
        pthread_cond_init(&w->gate.opened, NULL) != 0)
        fail("no gate for %zu threads", w->count);
    for (size_t i = 0; i < w->count; i++) {
        w->of[i].all = w;
        w->of[i].number = i;
        w->of[i].batch = make_batch(settings);
        w->of[i].lessons = make_lessons(settings);
        if (i > 0 && pthread_create(&w->of[i].thread, NULL, work, &w->of[i]) != 0)
            fail("cannot start thread %zu of %zu", i + 1, w->count);
    }
    return w;
}

void end_workers(struct workers *w)
{
    w->stop = true;
    pass_gate(w);
    for (size_t i = 0; i < w->count; i++) {
        if (i > 0)
            pthread_join(w->of[i].thread, NULL);
        free_batch(&w->of[i].batch);
        free_lessons(&w->of[i].lessons);
        free(w->of[i].workspace);
    }
    pthread_cond_destroy(&w->gate.opened);
    pthread_mutex_destroy(&w->gate.lock);
    free(w->shards);
    free(w->of);
    free(w);
}

void compute_step(struct workers *w, const struct part *parts, const float *parameters,
                  float *gradient, struct mh_training_result *results)
{
    w->parts = parts;
    w->parameters = parameters;
    w->gradient = gradient;
    w->results = results;
    atomic_store(&w->next_shard, 0);
    pass_gate(w);
    take_part(&w->of[0]);
}
