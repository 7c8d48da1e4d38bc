#include "plan.h"

#include "base/random.h"

/* The length of the token that is number `token` when all stand in order of their lengths. */
static size_t length_at(const struct sequences *q, size_t token)
{
    size_t length = 0, before = 0;
    do {
        length++;
        before += length * (q->first_of[length + 1] - q->first_of[length]);
    } while (before <= token);
    return length;
}

static struct part plan_part(struct plan *plan, size_t shard)
{
    const struct sequences *q = plan->sequences;
    const struct settings *s = plan->settings;
    uint64_t stream = mh_random_stream((uint32_t)s->seed, plan->step, shard, 0);
    size_t token = ((uint64_t)mh_random_at(stream, 0) << 32 | mh_random_at(stream, 1)) % q->total;
    size_t length = length_at(q, token), first = plan->next[length];
    size_t batch = s->shard_tokens / length;
    plan->next[length] += batch;
    return (struct part){
        .length = length,
        .batch = batch,
        .first = first,
        .task = s->shards[shard],
        .stream = mh_random_stream((uint32_t)s->seed, plan->step, shard, 1),
    };
}

void plan_step(struct plan *plan, struct part *parts)
{
    for (size_t shard = 0; shard < plan->settings->shard_count; shard++)
        parts[shard] = plan_part(plan, shard);
    plan->step++;
}

struct plan begin_plan(const struct settings *settings, const struct sequences *sequences,
                       size_t step)
{
    struct plan plan = {.settings = settings, .sequences = sequences};
    struct part parts[MOST_SHARDS];
    while (plan.step < step)
        plan_step(&plan, parts);
    return plan;
}
