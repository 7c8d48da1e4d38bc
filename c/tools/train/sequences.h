/* The texts as tokens, in groups of equal length, so that no place of a batch is padding, and no
 * sequence needs a mask of its own. For an encoder-decoder each is a target, and its source is
 * another; in a group sources are nearly as long as one another, and the shorter ones padded. */
#ifndef TRAIN_SEQUENCES_H
#define TRAIN_SEQUENCES_H

#include "settings.h"

#include <stdint.h>

enum { MOST_POSITIONS = 1024 };

struct group {
    size_t length;        /* of each of its sequences */
    size_t source_length; /* of the longest source that fits; 0 without sources */
    size_t first, count;  /* in `starts` */
};

struct sequences {
    uint16_t *tokens;     /* the file: length, tokens, length, tokens, … */
    size_t *starts;       /* [count] place of each sequence's first token, of a pair its source's;
                             those of a group in the file's order */
    size_t count;         /* sequences, or pairs */
    struct group *groups; /* [group_count] sorted by length, then source_length; none is empty */
    size_t group_count;
    size_t total; /* tokens, source and padding counted */
};

/* Tokens of a sequence of this group, with its padded source. */
size_t group_tokens(const struct group *group);

/* Reads a .tokens file (training/tokens.mjs says what is in it); for an encoder-decoder, one where
 * each sequence is a source, and the next its target. Ends the program if it is not one, or has tokens
 * or lengths that the model does not. */
struct sequences read_sequences(const char *path, const struct settings *settings);
void free_sequences(struct sequences *sequences);

/* A batch of equally long sequences, for one pass. tokens and targets [batch, length], source
 * [batch, source_length], source_lengths [batch]. */
struct batch {
    size_t batch, length, source_length;
    int32_t *tokens, *targets, *source, *source_lengths;
    struct mh_mask mask;
};

/* Room for any batch of these settings. */
struct batch make_batch(const struct settings *settings);
void free_batch(struct batch *batch);

/* `count` sequences of a group from number `first` on (round again after the last of them), as a task
 * has them. `stream` (base/random.h) says which tokens are hidden. */
void fill_batch(struct batch *batch, const struct sequences *sequences,
                const struct settings *settings, const struct group *group, enum task task,
                size_t first, size_t count, uint64_t stream);

/* The fields of a pass that say what is learned from. */
struct mh_training_pass pass_over(const struct batch *batch);

#endif
