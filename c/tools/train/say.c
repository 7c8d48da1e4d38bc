#include "say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void *take(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (block == NULL)
        fail("out of memory: no %zu times %zu bytes", count, size);
    return block;
}

void *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        fail("cannot read %s: %s", path, strerror(errno));
    long length = ftell(file);
    if (length < 0 || fseek(file, 0, SEEK_SET) != 0)
        fail("cannot read %s: %s", path, strerror(errno));
    void *data = take((size_t)length + 1, 1);
    if (fread(data, 1, (size_t)length, file) != (size_t)length)
        fail("cannot read %s: it changed while it was read", path);
    fclose(file);
    *bytes = (size_t)length;
    return data;
}

void write_file(const char *path, const void *data, size_t bytes)
{
    char part[4096];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        fail("cannot write %s: %s", part, strerror(errno));
    if (rename(part, path) != 0)
        fail("cannot rename %s to %s: %s", part, path, strerror(errno));
}
