/* The settings of a training: a text file of lines "name value", '#' beginning a comment. */
#ifndef TRAIN_SETTINGS_H
#define TRAIN_SETTINGS_H

#include "multihead_train.h"

#include <stdbool.h>

/* How a part of a batch is masked, and what is learned from it. */
enum task {
    TASK_CAUSAL,        /* the next token */
    TASK_BIDIRECTIONAL, /* the tokens that [MASK] hides; every token sees all others */
    TASK_WINDOW,        /* the same, where a token sees `window` tokens on each side */
    TASK_TRANSLATION,   /* the next token of the target, with all of the source: an encoder's task,
                           and its only one */
    TASKS
};

enum { MOST_SHARDS = 64, MOST_LESSONS = 8 };

/* A head, counted from 1, that is taught to look so many tokens back: see lessons.h. */
struct lesson {
    size_t back, layer, head;
};

struct settings {
    size_t layers, heads, embed_dim, ffn_dim, vocabulary, positions;
    size_t encoder_layers; /* above 0: an encoder-decoder. 0 if not said */
    size_t seed;
    size_t steps, warm_up;
    double peak, floor; /* learning rate */
    double beta1, beta2, epsilon, weight_decay, clip;
    double attention_dropout, residual_dropout;
    enum task shards[MOST_SHARDS]; /* a step's batch is these, computed side by side */
    size_t shard_count;
    size_t shard_tokens; /* tokens of each, with those of sources, at most */
    /* Of tasks that hide tokens, which alone need them. */
    double mask_share; /* of the tokens that [MASK] hides */
    size_t mask_token;
    size_t first_word; /* ids below are special: never hidden */
    size_t window;
    struct lesson lessons[MOST_LESSONS];
    size_t lesson_count, lesson_steps; /* how many, and for how many steps from the first */
    double lesson_weight;              /* of the KL term, against the loss */
    size_t report_every, save_every;   /* steps */
};

const char *task_name(enum task task);

/* Is it the task of a shard? */
bool has_task(const struct settings *settings, enum task task);

/* Ends the program, saying what is wrong and in which line, unless all is there and makes sense. */
struct settings read_settings(const char *path);

struct mh_network network_of(const struct settings *settings);
struct mh_trainer_settings trainer_settings_of(const struct settings *settings);

#endif
