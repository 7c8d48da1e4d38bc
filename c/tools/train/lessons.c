#include "lessons.h"

#include "say.h"

#include <stdlib.h>
#include <string.h>

/* Floats of a target [batch, length, length], at most. */
static size_t most_target_floats(const struct settings *s)
{
    return s->shard_tokens * s->positions;
}

struct lessons make_lessons(const struct settings *s)
{
    struct lessons lessons = {0};
    if (s->lesson_count > 0)
        lessons.targets = take(s->lesson_count * most_target_floats(s), sizeof(float));
    return lessons;
}

void free_lessons(struct lessons *lessons)
{
    free(lessons->targets);
}

/* Row i of each sequence has all its weight at i - back; the first rows have none, and are free. */
static void look_back(float *target, size_t back, size_t batch, size_t length)
{
    memset(target, 0, batch * length * length * sizeof *target);
    for (size_t b = 0; b < batch; b++)
        for (size_t i = back; i < length; i++)
            target[(b * length + i) * length + i - back] = 1.0f;
}

void teach(struct lessons *lessons, const struct settings *s, struct mh_training_pass *pass)
{
    for (size_t i = 0; i < s->lesson_count; i++) {
        const struct lesson *lesson = &s->lessons[i];
        float *target = lessons->targets + i * most_target_floats(s);
        look_back(target, lesson->back, pass->batch, pass->length);
        lessons->of[i] = (struct mh_supervision){.layer = (int32_t)lesson->layer - 1,
                                                 .head = (int32_t)lesson->head - 1,
                                                 .weight = (float)s->lesson_weight,
                                                 .target = target};
    }
    pass->supervision = lessons->of;
    pass->supervision_count = s->lesson_count;
}
