#include "settings.h"

#include "say.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TASK_NAMES[TASKS] = {"causal", "bidirectional", "window", "translation"};

const char *task_name(enum task task)
{
    return TASK_NAMES[task];
}

bool has_task(const struct settings *s, enum task task)
{
    for (size_t i = 0; i < s->shard_count; i++)
        if (s->shards[i] == task)
            return true;
    return false;
}

static bool hides_tokens(const struct settings *s)
{
    return has_task(s, TASK_BIDIRECTIONAL) || has_task(s, TASK_WINDOW);
}

/* ===== Fields =============================================================================== */

enum need {
    ALWAYS,
    HIDING, /* by tasks that hide tokens */
    LESSONS,
    NEVER, /* 0 if it is not there */
};

struct field {
    const char *name;
    bool real;
    enum need need;
    size_t offset;
};

#define WHOLE(name, need) {#name, false, need, offsetof(struct settings, name)}
#define REAL(name, need) {#name, true, need, offsetof(struct settings, name)}

static const struct field FIELDS[] = {
    WHOLE(layers, ALWAYS),
    WHOLE(encoder_layers, NEVER),
    WHOLE(heads, ALWAYS),
    WHOLE(embed_dim, ALWAYS),
    WHOLE(ffn_dim, ALWAYS),
    WHOLE(vocabulary, ALWAYS),
    WHOLE(positions, ALWAYS),
    WHOLE(seed, ALWAYS),
    WHOLE(steps, ALWAYS),
    WHOLE(warm_up, ALWAYS),
    REAL(peak, ALWAYS),
    REAL(floor, ALWAYS),
    REAL(beta1, ALWAYS),
    REAL(beta2, ALWAYS),
    REAL(epsilon, ALWAYS),
    REAL(weight_decay, ALWAYS),
    REAL(clip, ALWAYS),
    REAL(attention_dropout, ALWAYS),
    REAL(residual_dropout, ALWAYS),
    WHOLE(shard_tokens, ALWAYS),
    REAL(mask_share, HIDING),
    WHOLE(mask_token, HIDING),
    WHOLE(first_word, HIDING),
    WHOLE(window, HIDING),
    WHOLE(lesson_steps, LESSONS),
    REAL(lesson_weight, LESSONS),
    WHOLE(report_every, ALWAYS),
    WHOLE(save_every, ALWAYS),
};

enum { FIELD_COUNT = sizeof FIELDS / sizeof FIELDS[0] };

/* ===== Lines ================================================================================ */

struct line {
    const char *path;
    size_t number;
};

static void read_number(const struct line *line, const struct field *field, const char *text,
                        struct settings *settings)
{
    char *rest;
    void *to = (char *)settings + field->offset;
    errno = 0;
    double value = strtod(text, &rest);
    if (rest == text || *rest != '\0' || errno != 0 || !(value >= 0.0) || value > 1e9)
        fail("%s, line %zu: %s is '%s': it must be a number from 0 to 10^9", line->path,
             line->number, field->name, text);
    if (field->real) {
        *(double *)to = value;
        return;
    }
    if (value != (double)(size_t)value)
        fail("%s, line %zu: %s is '%s': it must be a whole number", line->path, line->number,
             field->name, text);
    *(size_t *)to = (size_t)value;
}

/* "shards causal bidirectional …" */
static void read_shards(const struct line *line, char *text, struct settings *settings)
{
    settings->shard_count = 0;
    for (char *word = strtok(text, " \t"); word != NULL; word = strtok(NULL, " \t")) {
        size_t task = 0;
        while (task < TASKS && strcmp(word, TASK_NAMES[task]) != 0)
            task++;
        if (task == TASKS || settings->shard_count == MOST_SHARDS)
            fail("%s, line %zu: '%s': shards are at most %d of causal, bidirectional, window, "
                 "translation",
                 line->path, line->number, word, MOST_SHARDS);
        settings->shards[settings->shard_count++] = (enum task)task;
    }
}

/* "lesson BACK LAYER HEAD" */
static void read_lesson(const struct line *line, char *text, struct settings *settings)
{
    char rest;
    struct lesson lesson;
    if (settings->lesson_count == MOST_LESSONS ||
        sscanf(text, "%zu %zu %zu %c", &lesson.back, &lesson.layer, &lesson.head, &rest) != 3)
        fail("%s, line %zu: '%s': at most %d lessons of three numbers: tokens back, layer, head",
             line->path, line->number, text, MOST_LESSONS);
    settings->lessons[settings->lesson_count++] = lesson;
}

static void read_line(const struct line *line, char *text, struct settings *settings, bool *found)
{
    text[strcspn(text, "#\r\n")] = '\0';
    char *name = text + strspn(text, " \t");
    char *value = name + strcspn(name, " \t");
    if (*name == '\0')
        return;
    if (*value != '\0')
        *value++ = '\0';
    value += strspn(value, " \t");
    for (size_t end = strlen(value); end > 0 && strchr(" \t", value[end - 1]) != NULL; end--)
        value[end - 1] = '\0';
    if (strcmp(name, "shards") == 0) {
        read_shards(line, value, settings);
        return;
    }
    if (strcmp(name, "lesson") == 0) {
        read_lesson(line, value, settings);
        return;
    }
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (strcmp(name, FIELDS[i].name) == 0) {
            read_number(line, &FIELDS[i], value, settings);
            found[i] = true;
            return;
        }
    fail("%s, line %zu: there is no setting '%s'", line->path, line->number, name);
}

static void check_shards(const char *path, const struct settings *s)
{
    if (s->shard_count == 0)
        fail("%s: shards is missing: name at least one task", path);
    for (size_t i = 0; i < s->shard_count; i++)
        if ((s->encoder_layers > 0) != (s->shards[i] == TASK_TRANSLATION))
            fail("%s: with encoder_layers %zu there is no task %s: an encoder-decoder has "
                 "translation, any other network has not",
                 path, s->encoder_layers, task_name(s->shards[i]));
    if (s->shard_tokens < s->positions * (s->encoder_layers > 0 ? 2 : 1))
        fail("%s: shard_tokens must be at least positions, of an encoder-decoder twice that", path);
}

static void check_hiding(const char *path, const struct settings *s)
{
    if (!(s->mask_share > 0.0 && s->mask_share < 1.0) || s->mask_token >= s->vocabulary ||
        s->first_word >= s->vocabulary || s->window >= s->positions)
        fail("%s: mask_share must be between 0 and 1, mask_token and first_word below vocabulary, "
             "window below positions",
             path);
}

static void check_lessons(const char *path, const struct settings *s)
{
    for (size_t i = 0; i < s->lesson_count; i++) {
        const struct lesson *lesson = &s->lessons[i];
        bool seen = !has_task(s, TASK_WINDOW) || lesson->back <= s->window;
        if (lesson->back >= s->positions || !seen || lesson->layer - 1 >= s->layers ||
            lesson->head - 1 >= s->heads)
            fail("%s: lesson %zu %zu %zu: there must be such a layer and head, counted from 1, and "
                 "the tokens back be fewer than positions, and within the window",
                 path, lesson->back, lesson->layer, lesson->head);
    }
}

static void check(const char *path, const struct settings *s)
{
    struct mh_error error;
    struct mh_network network = network_of(s);
    if (mh_network_check(&network, &error) != MH_OK)
        fail("%s: %s", path, error.message);
    if (s->report_every == 0 || s->save_every == 0 || s->steps == 0)
        fail("%s: report_every, save_every and steps must be at least 1", path);
    check_shards(path, s);
    check_lessons(path, s);
    if (hides_tokens(s))
        check_hiding(path, s);
}

static bool is_needed(const struct settings *s, enum need need)
{
    switch (need) {
    case HIDING:
        return hides_tokens(s);
    case LESSONS:
        return s->lesson_count > 0;
    default:
        return need == ALWAYS;
    }
}

struct settings read_settings(const char *path)
{
    struct settings settings = {0};
    bool found[FIELD_COUNT] = {false};
    char text[1024];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail("cannot read %s: %s", path, strerror(errno));
    for (struct line line = {path, 1}; fgets(text, sizeof text, file) != NULL; line.number++)
        read_line(&line, text, &settings, found);
    fclose(file);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (!found[i] && is_needed(&settings, FIELDS[i].need))
            fail("%s: the setting %s is missing", path, FIELDS[i].name);
    check(path, &settings);
    return settings;
}

/* ===== For the engine ======================================================================= */

struct mh_network network_of(const struct settings *s)
{
    return (struct mh_network){.architecture =
                                   s->encoder_layers > 0 ? MH_ENCODER_DECODER : MH_DECODER,
                               .encoder_layers = s->encoder_layers,
                               .model = {.layers = s->layers,
                                         .heads = s->heads,
                                         .kv_heads = s->heads,
                                         .embed_dim = s->embed_dim,
                                         .ffn_dim = s->ffn_dim,
                                         .vocabulary = s->vocabulary,
                                         .positions = s->positions,
                                         .activation = MH_ACTIVATION_GELU,
                                         .norm_position = MH_NORM_PRE,
                                         .norm_epsilon = 1e-5f}};
}

struct mh_trainer_settings trainer_settings_of(const struct settings *s)
{
    return (struct mh_trainer_settings){
        .seed = (uint32_t)s->seed,
        .adamw = {.beta1 = (float)s->beta1,
                  .beta2 = (float)s->beta2,
                  .epsilon = (float)s->epsilon,
                  .weight_decay = (float)s->weight_decay},
        .schedule = {.peak = (float)s->peak,
                     .floor = (float)s->floor,
                     .warm_up = (uint32_t)s->warm_up,
                     .steps = (uint32_t)s->steps},
        .clip = (float)s->clip,
        .attention_dropout = (float)s->attention_dropout,
        .residual_dropout = (float)s->residual_dropout,
    };
}
