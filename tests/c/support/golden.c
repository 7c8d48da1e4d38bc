#include "support/golden.h"

#include "support/streams.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "tests/golden/attention/"

char *golden_read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        print_error("cannot read %s: the tests run in the repository's root\n", path);
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(*bytes + 1);
    if (content && fread(content, 1, *bytes, file) == *bytes) {
        content[*bytes] = '\0';
    } else {
        free(content);
        content = NULL;
    }
    fclose(file);
    return content;
}

/* ===== The record =========================================================================== */

static bool read_cases(struct golden_record *record)
{
    size_t lines = 0;
    for (const char *c = record->text; *c; c++) {
        lines += *c == '\n';
    }
    record->cases = calloc(lines, sizeof *record->cases);
    if (!record->cases) {
        return false;
    }
    for (char *line = strtok(record->text, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] == '#') {
            continue;
        }
        struct golden_case *golden = &record->cases[record->count++];
        golden->settings = strchr(line, ' ');
        golden->values = &record->values;
        if (!golden->settings || (size_t)(golden->settings - line) >= sizeof golden->name) {
            return false;
        }
        memcpy(golden->name, line, (size_t)(golden->settings - line));
    }
    return record->count > 0;
}

bool golden_open(struct golden_record *record)
{
    *record = (struct golden_record){0};
    size_t text_bytes, file_bytes;
    record->text = golden_read_file(FOLDER "cases.txt", &text_bytes);
    record->file = golden_read_file(FOLDER "values.safetensors", &file_bytes);
    if (!record->text || !record->file) {
        return false;
    }
    struct mh_error error;
    if (mh_safetensors_open(&record->values, record->file, file_bytes, &error)) {
        print_error("values.safetensors: %s\n", error.message);
        return false;
    }
    return read_cases(record);
}

void golden_close(struct golden_record *record)
{
    mh_safetensors_close(&record->values);
    free(record->cases);
    free(record->text);
    free(record->file);
}

/* ===== Settings ============================================================================= */

static const char *find_setting(const struct golden_case *golden, const char *setting)
{
    size_t length = strlen(setting);
    for (const char *at = golden->settings; at; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, setting, length) == 0 && at[1 + length] == '=') {
            return at + length + 2;
        }
    }
    fail_msg("%s has no setting %s", golden->name, setting);
    return NULL;
}

size_t golden_number(const struct golden_case *golden, const char *setting)
{
    return (size_t)strtoul(find_setting(golden, setting), NULL, 10);
}

float golden_real(const struct golden_case *golden, const char *setting)
{
    return strtof(find_setting(golden, setting), NULL);
}

bool golden_is(const struct golden_case *golden, const char *setting, const char *word)
{
    const char *found = find_setting(golden, setting);
    size_t length = strlen(word);
    return strncmp(found, word, length) == 0 && (found[length] == ' ' || found[length] == '\0');
}

/* ===== Tensors ============================================================================== */

void *golden_workspace(struct golden_case *golden, size_t bytes)
{
    assert_true(golden->owned_count < sizeof golden->owned / sizeof golden->owned[0]);
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    assert_non_null(memory);
    golden->owned[golden->owned_count++] = memory;
    return memory;
}

float *golden_floats(struct golden_case *golden, size_t count)
{
    return golden_workspace(golden, count * sizeof(float));
}

float *golden_uniform(struct golden_case *golden, const char *name, size_t count, float amplitude)
{
    uint32_t key = stream_key(stream_key(stream_key(STREAM_START, golden->name), "/"), name);
    float *values = golden_floats(golden, count);
    for (size_t i = 0; i < count; i++) {
        values[i] = stream_uniform(key, i, amplitude);
    }
    return values;
}

const struct mh_safetensor *golden_find(const struct golden_case *golden, const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "%s/%s", golden->name, name);
    return mh_safetensors_find(golden->values, full);
}

float *golden_recorded(struct golden_case *golden, const char *name)
{
    const struct mh_safetensor *tensor = golden_find(golden, name);
    assert_non_null(tensor);
    float *values = golden_floats(golden, mh_safetensor_elements(tensor));
    struct mh_error error;
    if (mh_safetensors_read(golden->values, tensor, values, &error)) {
        fail_msg("%s", error.message);
    }
    return values;
}

const uint8_t *golden_hidden(const struct golden_case *golden, const char *name)
{
    const struct mh_safetensor *tensor = golden_find(golden, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->dtype, MH_DTYPE_U8);
    return golden->values->data + tensor->begin;
}

float *golden_additive(struct golden_case *golden, const char *name, const char *hidden)
{
    const uint8_t *hides = golden_hidden(golden, hidden);
    size_t count = mh_safetensor_elements(golden_find(golden, hidden));
    float *mask = golden_uniform(golden, name, count, 2.0F);
    for (size_t i = 0; i < count; i++) {
        mask[i] = hides[i] ? -INFINITY : mask[i];
    }
    return mask;
}

void golden_release(struct golden_case *golden)
{
    while (golden->owned_count > 0) {
        free(golden->owned[--golden->owned_count]);
    }
}
