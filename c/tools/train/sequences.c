#include "sequences.h"

#include "base/random.h"
#include "say.h"

#include <stdbool.h>
#include <stdlib.h>

/* A number of the file: a token, and whether it is given, so that nobody asks for it. */
enum { GIVEN = 0x8000 };

static int32_t token_of(uint16_t number)
{
    return number & ~GIVEN;
}

static bool is_given(uint16_t number)
{
    return (number & GIVEN) != 0;
}

/* ===== Reading ============================================================================== */

static size_t check_sequence(const char *path, const struct settings *s, const uint16_t *numbers,
                             size_t at, size_t count)
{
    size_t length = numbers[at];
    if (length < 2 || length > s->positions || length > count - at - 1)
        fail("%s: the sequence at byte %zu has %zu tokens: there must be 2 to %zu, and as many in "
             "the file",
             path, 2 * at, length, s->positions);
    for (size_t i = 1; i <= length; i++)
        if (token_of(numbers[at + i]) >= (int32_t)s->vocabulary)
            fail("%s: token %d at byte %zu is not below vocabulary, %zu", path,
                 token_of(numbers[at + i]), 2 * (at + i), s->vocabulary);
    return length;
}

/* A sequence, or a pair. */
struct entry {
    size_t start, length; /* of a pair, its source's first token and its target's length */
    size_t source_length; /* 0: not a pair */
};

static struct entry read_entry(const char *path, const struct settings *s, const uint16_t *numbers,
                               size_t at, size_t count)
{
    struct entry entry = {.start = at + 1};
    if (s->encoder_layers > 0) {
        entry.source_length = check_sequence(path, s, numbers, at, count);
        at += 1 + entry.source_length;
        if (at == count)
            fail("%s ends with a source that has no target", path);
    }
    entry.length = check_sequence(path, s, numbers, at, count);
    return entry;
}

static size_t end_of(const struct entry *e)
{
    size_t target = e->source_length > 0 ? e->start + e->source_length + 1 : e->start;
    return target + e->length;
}

/* ===== Groups =============================================================================== */

/* Sources of a group differ by less than SOURCE_STEP tokens: less padding with few, more pairs to mix
 * with many. A slot is a group that there may be. */
enum {
    SOURCE_STEP = 4,
    SOURCE_SLOTS = MOST_POSITIONS / SOURCE_STEP + 1,
    SLOTS = (MOST_POSITIONS + 1) * SOURCE_SLOTS,
};

static size_t slot_of(const struct entry *e)
{
    return e->length * SOURCE_SLOTS + (e->source_length + SOURCE_STEP - 1) / SOURCE_STEP;
}

size_t group_tokens(const struct group *group)
{
    return group->length + group->source_length;
}

/* From how many there are in each slot; then slots [SLOTS] has where the next of each goes. */
static void make_groups(struct sequences *q, const struct settings *s, size_t *slots)
{
    size_t sum = 0, used = 0;
    for (size_t slot = 0; slot < SLOTS; slot++)
        used += slots[slot] > 0;
    q->groups = take(used, sizeof *q->groups);
    for (size_t slot = 0; slot < SLOTS; slot++) {
        size_t source = slot % SOURCE_SLOTS * SOURCE_STEP, count = slots[slot];
        if (count == 0)
            continue;
        struct group *group = &q->groups[q->group_count++];
        *group = (struct group){.length = slot / SOURCE_SLOTS,
                                .source_length = source < s->positions ? source : s->positions,
                                .first = sum,
                                .count = count};
        slots[slot] = sum;
        sum += count;
        q->total += count * group_tokens(group);
    }
}

struct sequences read_sequences(const char *path, const struct settings *settings)
{
    struct sequences q = {0};
    struct entry entry;
    size_t bytes, *slots = take(SLOTS, sizeof *slots);
    if (settings->positions > MOST_POSITIONS)
        fail("positions is %zu: the trainer has room for %d", settings->positions, MOST_POSITIONS);
    q.tokens = read_file(path, &bytes);
    for (size_t at = 0; at < bytes / 2; at = end_of(&entry)) {
        entry = read_entry(path, settings, q.tokens, at, bytes / 2);
        slots[slot_of(&entry)]++;
        q.count++;
    }
    if (q.count == 0)
        fail("%s has no sequence in it", path);
    make_groups(&q, settings, slots);
    q.starts = take(q.count, sizeof *q.starts);
    for (size_t at = 0; at < bytes / 2; at = end_of(&entry)) {
        entry = read_entry(path, settings, q.tokens, at, bytes / 2);
        q.starts[slots[slot_of(&entry)]++] = entry.start;
    }
    free(slots);
    return q;
}

void free_sequences(struct sequences *q)
{
    free(q->tokens);
    free(q->starts);
    free(q->groups);
}

/* ===== Batches ============================================================================== */

static void fill_causal(int32_t *tokens, int32_t *targets, const uint16_t *from, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool asked = i + 1 < length && !is_given(from[i + 1]);
        tokens[i] = token_of(from[i]);
        targets[i] = asked ? token_of(from[i + 1]) : -1;
    }
}

static bool can_hide(uint16_t number, const struct settings *s)
{
    return !is_given(number) && number >= s->first_word;
}

/* Each word hides behind [MASK] with that probability, and is asked for; one does at least, if there
 * is one. */
static void fill_masked(int32_t *tokens, int32_t *targets, const uint16_t *from, size_t length,
                        const struct settings *s, uint64_t stream)
{
    size_t hidden = 0;
    for (size_t i = 0; i < length; i++) {
        bool hide =
            can_hide(from[i], s) && (double)mh_random_at(stream, i) < s->mask_share * 4294967296.0;
        tokens[i] = hide ? (int32_t)s->mask_token : token_of(from[i]);
        targets[i] = hide ? token_of(from[i]) : -1;
        hidden += hide;
    }
    size_t place = mh_random_at(stream, length) % length;
    for (size_t i = 0; hidden == 0 && i < length; i++, place = (place + 1) % length)
        if (can_hide(from[place], s)) {
            tokens[place] = (int32_t)s->mask_token;
            targets[place] = token_of(from[place]);
            hidden = 1;
        }
}

/* The rest of the source is padding, whose number is never looked at. */
static void fill_source(int32_t *source, size_t padded, const uint16_t *from, size_t length)
{
    for (size_t i = 0; i < padded; i++)
        source[i] = i < length ? token_of(from[i]) : 0;
}

static struct mh_mask mask_of(const struct settings *s, enum task task)
{
    int32_t window = (int32_t)s->window;
    switch (task) {
    case TASK_CAUSAL:
    case TASK_TRANSLATION:
        return (struct mh_mask){.causal = 1};
    case TASK_WINDOW:
        return (struct mh_mask){.windowed = 1, .window_left = window, .window_right = window};
    default:
        return (struct mh_mask){0};
    }
}

struct batch make_batch(const struct settings *settings)
{
    struct batch batch = {0};
    int32_t **arrays[] = {&batch.tokens, &batch.targets, &batch.source, &batch.source_lengths};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        *arrays[i] = take(settings->shard_tokens, sizeof(int32_t));
    return batch;
}

void free_batch(struct batch *batch)
{
    free(batch->tokens);
    free(batch->targets);
    free(batch->source);
    free(batch->source_lengths);
}

void fill_batch(struct batch *batch, const struct sequences *q, const struct settings *s,
                const struct group *group, enum task task, size_t first, size_t count,
                uint64_t stream)
{
    batch->batch = count;
    batch->length = group->length;
    batch->source_length = group->source_length;
    batch->mask = mask_of(s, task);
    for (size_t b = 0; b < count; b++) {
        const uint16_t *from = q->tokens + q->starts[group->first + (first + b) % group->count];
        int32_t *tokens = batch->tokens + b * group->length;
        int32_t *targets = batch->targets + b * group->length;
        if (task == TASK_TRANSLATION) {
            size_t source_length = from[-1];
            batch->source_lengths[b] = (int32_t)source_length;
            fill_source(batch->source + b * group->source_length, group->source_length, from,
                        source_length);
            from += source_length + 1;
        }
        if (task == TASK_CAUSAL || task == TASK_TRANSLATION)
            fill_causal(tokens, targets, from, group->length);
        else
            fill_masked(tokens, targets, from, group->length, s, mh_random_mix(stream + b));
    }
}

struct mh_training_pass pass_over(const struct batch *batch)
{
    bool has_source = batch->source_length > 0;
    return (struct mh_training_pass){
        .batch = batch->batch,
        .length = batch->length,
        .tokens = batch->tokens,
        .targets = batch->targets,
        .mask = batch->mask,
        .source = has_source ? batch->source : NULL,
        .source_length = batch->source_length,
        .source_lengths = has_source ? batch->source_lengths : NULL,
    };
}
