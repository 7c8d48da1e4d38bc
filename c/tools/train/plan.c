#include "plan.h"

#include "base/random.h"
#include "say.h"

#include <stdlib.h>

/* The group of the token that is number `token` when all stand in the order of their groups. */
static size_t group_at(const struct sequences *q, size_t token)
{
    size_t group = 0, before = 0;
    for (;; group++) {
        before += q->groups[group].count * group_tokens(&q->groups[group]);
        if (before > token)
            return group;
    }
}

static struct part plan_part(struct plan *plan, size_t shard)
{
    const struct sequences *q = plan->sequences;
    const struct settings *s = plan->settings;
    uint64_t stream = mh_random_stream((uint32_t)s->seed, plan->step, shard, 0);
    size_t token = ((uint64_t)mh_random_at(stream, 0) << 32 | mh_random_at(stream, 1)) % q->total;
    size_t group = group_at(q, token), first = plan->next[group];
    size_t batch = s->shard_tokens / group_tokens(&q->groups[group]);
    plan->next[group] += batch;
    return (struct part){
        .group = &q->groups[group],
        .batch = batch,
        .first = first,
        .task = s->shards[shard],
        .stream = mh_random_stream((uint32_t)s->seed, plan->step, shard, 1),
        .taught = plan->step < s->lesson_steps,
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
    plan.next = take(sequences->group_count, sizeof *plan.next);
    struct part parts[MOST_SHARDS];
    while (plan.step < step)
        plan_step(&plan, parts);
    return plan;
}

void free_plan(struct plan *plan)
{
    free(plan->next);
}
