/* How a call fails: one line that fills the caller's mh_error and gives back the status.
 *
 *     if (heads == 0 || embed_dim % heads != 0)
 *         return mh_fail(error, MH_SHAPE, "embed_dim %zu is not divisible by heads %zu", ...);
 */
#ifndef MH_ERROR_H
#define MH_ERROR_H

#include "multihead.h"

#if defined(__GNUC__)
#define MH_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define MH_PRINTF_LIKE(text, first)
#endif

/* Writes status and message into *error (which may be NULL) and returns status. The format knows
 * exactly %s %.*s %d %u %zu %g and %%: libc's printf family would be a third of the wasm module.
 * Bytes of a string that are control characters become '?' (names come from files); what does not
 * fit is cut, never inside a UTF-8 sequence. */
enum mh_status mh_fail(struct mh_error *error, enum mh_status status, const char *format, ...)
    MH_PRINTF_LIKE(3, 4);

/* A pointer that a call cannot do without, and what the caller knows it as. */
struct mh_pointer {
    const char *name;
    const void *address;
};

/* ARGUMENT, naming the first of them that is NULL. The list ends with a NULL name:
 *
 *     enum mh_status status =
 *         mh_require(error, (const struct mh_pointer[]){{"pass", pass}, {"bytes", bytes}, {0}});
 */
enum mh_status mh_require(struct mh_error *error, const struct mh_pointer *pointers);

#endif
