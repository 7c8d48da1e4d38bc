/* The cases of tests/golden/attention: settings, inputs made anew, and what PyTorch gave.
 *
 * Whatever a case is asked for belongs to it, and golden_release frees it. A setting or tensor that
 * is not there fails the test. */
#ifndef MH_TEST_GOLDEN_H
#define MH_TEST_GOLDEN_H

#include "model/safetensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole file; NULL, with a message, if it cannot be read. The path is from the repository's root,
 * where the tests run. The caller frees it. */
char *golden_read_file(const char *path, size_t *bytes);

struct golden_case {
    char name[32];
    const char *settings; /* the rest of its line */
    const struct mh_safetensors *values;
    void *owned[32];
    size_t owned_count;
};

/* cases.txt and values.safetensors. */
struct golden_record {
    char *text, *file;
    struct mh_safetensors values;
    struct golden_case *cases;
    size_t count;
};

bool golden_open(struct golden_record *record);
void golden_close(struct golden_record *record);

size_t golden_number(const struct golden_case *golden, const char *setting);
float golden_real(const struct golden_case *golden, const char *setting);
bool golden_is(const struct golden_case *golden, const char *setting, const char *word);

/* Zeroed. */
float *golden_floats(struct golden_case *golden, size_t count);
void *golden_workspace(struct golden_case *golden, size_t bytes);

/* The input NAME, uniform on ± amplitude. */
float *golden_uniform(struct golden_case *golden, const char *name, size_t count, float amplitude);

/* A tensor that PyTorch gave; NULL if the case has none of that name. */
const struct mh_safetensor *golden_find(const struct golden_case *golden, const char *name);
float *golden_recorded(struct golden_case *golden, const char *name);

/* A stored mask, where 1 hides, and the additive mask that hides the same. */
const uint8_t *golden_hidden(const struct golden_case *golden, const char *name);
float *golden_additive(struct golden_case *golden, const char *name, const char *hidden);

void golden_release(struct golden_case *golden);

#endif
