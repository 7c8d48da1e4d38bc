/* How the tools fail, and take memory. */
#ifndef TRAIN_SAY_H
#define TRAIN_SAY_H

#include <stddef.h>

/* Prints the message and ends the program. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2), noreturn))
#endif
void fail(const char *format, ...);

/* Zeroed memory, or the end of the program. */
void *take(size_t count, size_t size);

/* The bytes of a file; the caller frees them. Ends the program if it cannot be read. */
void *read_file(const char *path, size_t *bytes);

/* Writes a file so that, whatever happens, either the old or the new one is there. */
void write_file(const char *path, const void *data, size_t bytes);

#endif
