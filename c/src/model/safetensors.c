#include "model/safetensors.h"

#include "base/error.h"
#include "base/size.h"
#include "model/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8
#define METADATA "__metadata__"
/* The shortest entry, with a name of no letters: bounds how many a header can hold. */
#define SHORTEST_ENTRY (sizeof "\"\":{\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[0,0]}" - 1)
#define MOST_KEY_BYTES sizeof "data_offsets" /* the longest key inside an entry, with its NUL */

static const char *const dtype_names[] = {
#define X(name, bytes) #name,
    MH_DTYPE_LIST(X)
#undef X
};

static const unsigned char dtype_bytes[] = {
#define X(name, bytes) bytes,
    MH_DTYPE_LIST(X)
#undef X
};

#define DTYPES (sizeof dtype_bytes / sizeof dtype_bytes[0])

/* ===== Header =============================================================================== */

struct reader {
    struct mh_json json;
    const unsigned char *header; /* where json began */
    struct mh_safetensors *out;
    char *names;     /* room for the next name */
    const char *key; /* the key whose value is being read */
    struct mh_error *error;
};

/* Fails at the cursor, naming the tensor (or metadata) at hand. */
static enum mh_status corrupt(const struct reader *reader, const char *expected)
{
    size_t offset = (size_t)(reader->json.at - reader->header);
    if (reader->key == NULL)
        return mh_fail(reader->error, MH_CORRUPT, "byte %zu of the safetensors header is not %s",
                       offset, expected);
    return mh_fail(reader->error, MH_CORRUPT,
                   "tensor \"%s\": byte %zu of the safetensors header is not %s", reader->key,
                   offset, expected);
}

/* A string into the pool of names. */
static bool take_name(struct reader *reader, const char **name)
{
    size_t length;
    *name = reader->names;
    if (!mh_json_string(&reader->json, reader->names, &length))
        return false;
    reader->names += length + 1;
    return true;
}

/* A string of at most size - 1 bytes into `out`. The first try only measures it. */
static bool take_word(struct reader *reader, char *out, size_t size)
{
    struct mh_json start = reader->json;
    size_t length;
    if (!mh_json_string(&reader->json, NULL, &length))
        return false;
    if (length >= size) {
        reader->json = start;
        return false;
    }
    return mh_json_string(&start, out, &length);
}

/* {"string": "string", ...}, of no use here. */
static enum mh_status skip_metadata(struct reader *reader)
{
    size_t length;
    if (!mh_json_take(&reader->json, '{'))
        return corrupt(reader, "an object of strings");
    if (mh_json_take(&reader->json, '}'))
        return MH_OK;
    do {
        if (!mh_json_string(&reader->json, NULL, &length) || !mh_json_take(&reader->json, ':') ||
            !mh_json_string(&reader->json, NULL, &length))
            return corrupt(reader, "part of a pair of strings");
    } while (mh_json_take(&reader->json, ','));
    return mh_json_take(&reader->json, '}') ? MH_OK : corrupt(reader, "',' or '}'");
}

static enum mh_status read_dtype(struct reader *reader, struct mh_safetensor *tensor)
{
    char name[MOST_KEY_BYTES];
    if (!take_word(reader, name, sizeof name))
        return corrupt(reader, "the name of a dtype");
    for (size_t i = 0; i < DTYPES; i++) {
        if (strcmp(name, dtype_names[i]) == 0) {
            tensor->dtype = (enum mh_dtype)i;
            return MH_OK;
        }
    }
    return mh_fail(reader->error, MH_UNSUPPORTED,
                   "tensor \"%s\" has dtype \"%s\", which is not known here", tensor->name, name);
}

static enum mh_status read_shape(struct reader *reader, struct mh_safetensor *tensor)
{
    if (!mh_json_take(&reader->json, '['))
        return corrupt(reader, "a list of sizes");
    tensor->rank = 0;
    if (mh_json_take(&reader->json, ']'))
        return MH_OK;
    do {
        if (tensor->rank == MH_SAFETENSORS_RANK)
            return mh_fail(reader->error, MH_UNSUPPORTED,
                           "tensor \"%s\" has more than %d dimensions", tensor->name,
                           MH_SAFETENSORS_RANK);
        if (!mh_json_size(&reader->json, &tensor->shape[tensor->rank++]))
            return corrupt(reader, "a size that memory could hold");
    } while (mh_json_take(&reader->json, ','));
    return mh_json_take(&reader->json, ']') ? MH_OK : corrupt(reader, "',' or ']' of a shape");
}

static enum mh_status read_offsets(struct reader *reader, struct mh_safetensor *tensor)
{
    struct mh_json *json = &reader->json;
    if (!mh_json_take(json, '[') || !mh_json_size(json, &tensor->begin) ||
        !mh_json_take(json, ',') || !mh_json_size(json, &tensor->end) || !mh_json_take(json, ']'))
        return corrupt(reader, "part of a pair of offsets [begin, end]");
    return MH_OK;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, in any order, each once. */
static enum mh_status read_entry(struct reader *reader, struct mh_safetensor *tensor)
{
    static const struct {
        const char *key;
        enum mh_status (*read)(struct reader *reader, struct mh_safetensor *tensor);
    } fields[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};
    enum { FIELDS = sizeof fields / sizeof fields[0] };

    if (!mh_json_take(&reader->json, '{'))
        return corrupt(reader, "an object with dtype, shape and data_offsets");
    unsigned seen = 0;
    do {
        char key[MOST_KEY_BYTES];
        size_t i = 0;
        if (!take_word(reader, key, sizeof key))
            return corrupt(reader, "\"dtype\", \"shape\" or \"data_offsets\"");
        while (i < FIELDS && strcmp(key, fields[i].key) != 0)
            i++;
        if (i == FIELDS)
            return mh_fail(reader->error, MH_CORRUPT,
                           "tensor \"%s\" has the key \"%s\", not one of dtype, shape and "
                           "data_offsets",
                           tensor->name, key);
        if ((seen & 1u << i) != 0)
            return mh_fail(reader->error, MH_CORRUPT, "tensor \"%s\" has the key \"%s\" twice",
                           tensor->name, key);
        seen |= 1u << i;
        if (!mh_json_take(&reader->json, ':'))
            return corrupt(reader, "':'");
        enum mh_status status = fields[i].read(reader, tensor);
        if (status != MH_OK)
            return status;
    } while (mh_json_take(&reader->json, ','));
    if (!mh_json_take(&reader->json, '}'))
        return corrupt(reader, "',' or '}'");
    if (seen != (1u << FIELDS) - 1)
        return mh_fail(reader->error, MH_CORRUPT,
                       "tensor \"%s\" lacks one of dtype, shape and data_offsets", tensor->name);
    return MH_OK;
}

/* "name": {entry}, or the metadata. */
static enum mh_status read_member(struct reader *reader, bool *has_metadata)
{
    const char *key;
    reader->key = NULL;
    if (!take_name(reader, &key))
        return corrupt(reader, "part of a name (a string in UTF-8)");
    reader->key = key;
    if (!mh_json_take(&reader->json, ':'))
        return corrupt(reader, "':'");
    if (strcmp(key, METADATA) == 0) {
        if (*has_metadata)
            return corrupt(reader, "the first metadata");
        *has_metadata = true;
        return skip_metadata(reader);
    }
    struct mh_safetensor *tensor = &reader->out->tensors[reader->out->count++];
    *tensor = (struct mh_safetensor){.name = key};
    return read_entry(reader, tensor);
}

static enum mh_status read_header(struct reader *reader)
{
    bool has_metadata = false;
    if (!mh_json_take(&reader->json, '{'))
        return corrupt(reader, "'{'");
    if (!mh_json_take(&reader->json, '}')) {
        do {
            enum mh_status status = read_member(reader, &has_metadata);
            if (status != MH_OK)
                return status;
        } while (mh_json_take(&reader->json, ','));
        reader->key = NULL;
        if (!mh_json_take(&reader->json, '}'))
            return corrupt(reader, "',' or '}'");
    }
    mh_json_skip_space(&reader->json);
    return reader->json.at == reader->json.end ? MH_OK : corrupt(reader, "padding (white space)");
}

/* ===== Places =============================================================================== */

static int by_place(const void *left, const void *right)
{
    const struct mh_safetensor *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end); /* an empty tensor before the one it touches */
}

static int by_name(const void *left, const void *right)
{
    const struct mh_safetensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

size_t mh_safetensor_elements(const struct mh_safetensor *tensor)
{
    size_t elements = 1;
    for (size_t i = 0; i < tensor->rank; i++)
        elements = mh_size_mul(elements, tensor->shape[i]);
    return elements;
}

/* Inside the data, and of the size that shape and dtype give. */
static enum mh_status check_extent(const struct mh_safetensor *tensor, size_t data_bytes,
                                   struct mh_error *error)
{
    if (tensor->begin > tensor->end || tensor->end > data_bytes)
        return mh_fail(error, MH_CORRUPT,
                       "tensor \"%s\" is said to lie at bytes %zu to %zu of %zu: the file may be "
                       "cut short",
                       tensor->name, tensor->begin, tensor->end, data_bytes);
    size_t bytes = mh_size_mul(mh_safetensor_elements(tensor), dtype_bytes[tensor->dtype]);
    if (bytes != tensor->end - tensor->begin) /* a product that overflowed is never equal */
        return mh_fail(
            error, MH_CORRUPT, "tensor \"%s\" has %zu bytes, but its shape and dtype %s need %zu",
            tensor->name, tensor->end - tensor->begin, dtype_names[tensor->dtype], bytes);
    return MH_OK;
}

/* The format allows neither overlaps nor holes. Sorts by place. */
static enum mh_status check_places(struct mh_safetensors *out, size_t data_bytes,
                                   struct mh_error *error)
{
    for (size_t i = 0; i < out->count; i++) {
        enum mh_status status = check_extent(&out->tensors[i], data_bytes, error);
        if (status != MH_OK)
            return status;
    }
    if (out->count > 0)
        qsort(out->tensors, out->count, sizeof *out->tensors, by_place);
    size_t end = 0;
    for (size_t i = 0; i < out->count; i++) {
        const struct mh_safetensor *tensor = &out->tensors[i];
        if (tensor->begin != end)
            return mh_fail(error, MH_CORRUPT, "tensor \"%s\" begins at byte %zu, %s at %zu",
                           tensor->name, tensor->begin,
                           tensor->begin < end ? "inside the one that ends"
                                               : "with a hole after the one that ends",
                           end);
        end = tensor->end;
    }
    if (end != data_bytes)
        return mh_fail(error, MH_CORRUPT, "%zu bytes after the last tensor%s%s belong to none",
                       data_bytes - end, out->count > 0 ? ", " : "",
                       out->count > 0 ? out->tensors[out->count - 1].name : "");
    return MH_OK;
}

/* Sorts by name. */
static enum mh_status check_names(struct mh_safetensors *out, struct mh_error *error)
{
    if (out->count > 0)
        qsort(out->tensors, out->count, sizeof *out->tensors, by_name);
    for (size_t i = 1; i < out->count; i++)
        if (strcmp(out->tensors[i - 1].name, out->tensors[i].name) == 0)
            return mh_fail(error, MH_CORRUPT, "there are two tensors \"%s\"", out->tensors[i].name);
    return MH_OK;
}

/* ===== Opening ============================================================================== */

/* The header's length, checked against the file's. */
static enum mh_status header_length(const unsigned char *file, size_t bytes, size_t *length,
                                    struct mh_error *error)
{
    if (bytes < LENGTH_BYTES)
        return mh_fail(error, MH_CORRUPT,
                       "a safetensors file begins with 8 bytes of length, but this one has only "
                       "%zu bytes",
                       bytes);
    uint64_t value = 0;
    for (size_t i = LENGTH_BYTES; i-- > 0;)
        value = value << 8 | file[i];
    if (value > bytes - LENGTH_BYTES || value > MH_SAFETENSORS_HEADER)
        return mh_fail(error, MH_CORRUPT,
                       "the header is longer than the file (%zu bytes) or than %u bytes: not a "
                       "safetensors file, or cut short",
                       bytes, MH_SAFETENSORS_HEADER);
    *length = (size_t)value;
    return MH_OK;
}

/* One block: the table, then the pool of names, which decoded take no more than the header. */
static struct mh_safetensor *allocate_table(size_t header_bytes, char **names)
{
    size_t entries = header_bytes / SHORTEST_ENTRY + 1;
    size_t table = mh_size_mul(entries, sizeof(struct mh_safetensor));
    unsigned char *block = malloc(mh_size_add(table, header_bytes));
    if (block != NULL)
        *names = (char *)block + table;
    return (struct mh_safetensor *)(void *)block;
}

enum mh_status mh_safetensors_open(struct mh_safetensors *out, const void *file, size_t bytes,
                                   struct mh_error *error)
{
    const unsigned char *start = file;
    size_t length = 0;
    *out = (struct mh_safetensors){0};
    enum mh_status status = header_length(start, bytes, &length, error);
    if (status != MH_OK)
        return status;

    const unsigned char *header = start + LENGTH_BYTES;
    struct reader reader = {.json = {.at = header, .end = header + length},
                            .header = header,
                            .out = out,
                            .error = error};
    out->data = header + length;
    out->tensors = allocate_table(length, &reader.names);
    if (out->tensors == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for the table of a header of %zu bytes",
                       length);

    size_t data_bytes = bytes - LENGTH_BYTES - length;
    status = read_header(&reader);
    if (status == MH_OK)
        status = check_places(out, data_bytes, error);
    if (status == MH_OK)
        status = check_names(out, error);
    if (status != MH_OK)
        mh_safetensors_close(out);
    return status;
}

void mh_safetensors_close(struct mh_safetensors *safetensors)
{
    free(safetensors->tensors);
    *safetensors = (struct mh_safetensors){0};
}

const struct mh_safetensor *mh_safetensors_find(const struct mh_safetensors *safetensors,
                                                const char *name)
{
    struct mh_safetensor key = {.name = name};
    if (safetensors->count == 0)
        return NULL;
    return bsearch(&key, safetensors->tensors, safetensors->count, sizeof key, by_name);
}
