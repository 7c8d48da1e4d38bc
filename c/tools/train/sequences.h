/* The texts as tokens, sorted by length, so that those of a batch are equally long: no place of a
 * batch is padding, and no sequence needs a mask of its own. */
#ifndef TRAIN_SEQUENCES_H
#define TRAIN_SEQUENCES_H

#include "settings.h"

#include <stdint.h>

enum { MOST_POSITIONS = 1024 };

struct sequences {
    uint16_t *tokens;                    /* the file: length, tokens, length, tokens, … */
    size_t *starts;                      /* [count] place of each sequence's first token … */
    size_t count;                        /* … sorted by length, else in the file's order */
    size_t first_of[MOST_POSITIONS + 2]; /* [length] the first of that length in `starts` */
    size_t total;                        /* tokens */
};

/* Reads a .tokens file (training/bilingual/prepare.mjs says what is in it). Ends the program if it
 * is not one, or has tokens or lengths that the model does not. */
struct sequences read_sequences(const char *path, const struct settings *settings);
void free_sequences(struct sequences *sequences);

/* A batch of equally long sequences, for one pass. tokens and targets [batch, length]. */
struct batch {
    size_t batch, length;
    int32_t *tokens, *targets; /* room for shard_tokens each */
    struct mh_mask mask;
};

/* The sequences first .. first + batch of that length (round again after the last of them), as a
 * task has them. `stream` (base/random.h) says which tokens are hidden. */
void fill_batch(struct batch *batch, const struct sequences *sequences,
                const struct settings *settings, enum task task, size_t first, uint64_t stream);

#endif
