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

/* Counting sort by length. */
static void sort(struct sequences *q, size_t numbers)
{
    size_t next[MOST_POSITIONS + 2];
    size_t sum = 0;
    for (size_t length = 0; length < MOST_POSITIONS + 2; length++) {
        size_t count = q->first_of[length];
        q->first_of[length] = next[length] = sum;
        sum += count;
    }
    q->starts = take(q->count, sizeof *q->starts);
    for (size_t at = 0; at < numbers; at += 1u + q->tokens[at])
        q->starts[next[q->tokens[at]]++] = at + 1;
}

struct sequences read_sequences(const char *path, const struct settings *settings)
{
    struct sequences q = {0};
    size_t bytes;
    if (settings->positions > MOST_POSITIONS)
        fail("positions is %zu: the trainer has room for %d", settings->positions, MOST_POSITIONS);
    q.tokens = read_file(path, &bytes);
    for (size_t at = 0; at < bytes / 2;) {
        size_t length = check_sequence(path, settings, q.tokens, at, bytes / 2);
        q.first_of[length]++;
        q.count++;
        q.total += length;
        at += 1 + length;
    }
    if (q.count == 0)
        fail("%s has no sequence in it", path);
    sort(&q, bytes / 2);
    return q;
}

void free_sequences(struct sequences *q)
{
    free(q->tokens);
    free(q->starts);
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

static struct mh_mask mask_of(const struct settings *s, enum task task)
{
    int32_t window = (int32_t)s->window;
    switch (task) {
    case TASK_CAUSAL:
        return (struct mh_mask){.causal = 1};
    case TASK_WINDOW:
        return (struct mh_mask){.windowed = 1, .window_left = window, .window_right = window};
    default:
        return (struct mh_mask){0};
    }
}

void fill_batch(struct batch *batch, const struct sequences *q, const struct settings *s,
                enum task task, size_t first, uint64_t stream)
{
    size_t of_length = q->first_of[batch->length + 1] - q->first_of[batch->length];
    batch->mask = mask_of(s, task);
    for (size_t b = 0; b < batch->batch; b++) {
        size_t index = q->first_of[batch->length] + (first + b) % of_length;
        const uint16_t *from = q->tokens + q->starts[index];
        int32_t *tokens = batch->tokens + b * batch->length;
        int32_t *targets = batch->targets + b * batch->length;
        if (task == TASK_CAUSAL)
            fill_causal(tokens, targets, from, batch->length);
        else
            fill_masked(tokens, targets, from, batch->length, s, mh_random_mix(stream + b));
    }
}
