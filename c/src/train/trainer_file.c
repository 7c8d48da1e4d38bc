/* A trainer as a safetensors file, and back: see model/safetensors.h for the format. */
#include "base/error.h"
#include "base/size.h"
#include "kernels/kernels.h"
#include "model/safetensors.h"
#include "model/weights.h"
#include "train/model_parameters.h"
#include "train/trainer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MEAN "trainer.mean"
#define VARIANCE "trainer.variance"
#define STEP "trainer.step"

/* ===== Writing ============================================================================== */

/* Counts while `out` is NULL. */
struct writer {
    char *out;
    size_t length;
    size_t offset; /* of the next tensor's data */
};

static void put_bytes(struct writer *w, const void *bytes, size_t count)
{
    if (w->out != NULL)
        memcpy(w->out + w->length, bytes, count);
    w->length += count;
}

static void put(struct writer *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

static void put_number(struct writer *w, size_t number)
{
    char digits[24];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put_bytes(w, digits + first, sizeof digits - first);
}

/* "NAME":{"dtype":…,"shape":[…],"data_offsets":[…]}; rows 0: a vector. Elements of four bytes. */
static void put_entry(struct writer *w, const char *name, const char *dtype, size_t rows,
                      size_t columns)
{
    size_t bytes = (rows == 0 ? 1 : rows) * columns * 4;
    put(w, w->offset == 0 ? "{\"" : ",\"");
    put(w, name);
    put(w, "\":{\"dtype\":\"");
    put(w, dtype);
    put(w, "\",\"shape\":[");
    if (rows > 0) {
        put_number(w, rows);
        put(w, ",");
    }
    put_number(w, columns);
    put(w, "],\"data_offsets\":[");
    put_number(w, w->offset);
    put(w, ",");
    w->offset += bytes;
    put_number(w, w->offset);
    put(w, "]}");
}

static void put_header(struct writer *w, const mh_trainer *t, int32_t file)
{
    for (size_t i = 0; i < mh_parameter_count(&t->network); i++) {
        struct mh_parameter p;
        mh_parameter_at(&t->network, i, &p);
        put_entry(w, p.name, "F32", p.rows, p.columns);
    }
    if (file == MH_FILE_CHECKPOINT) {
        put_entry(w, MEAN, "F32", 0, t->size);
        put_entry(w, VARIANCE, "F32", 0, t->size);
        put_entry(w, STEP, "U32", 0, 1);
    }
    put(w, "}");
}

/* With spaces behind, so that the data is aligned. */
static size_t header_bytes(const mh_trainer *t, int32_t file)
{
    struct writer w = {0};
    put_header(&w, t, file);
    return (w.length + 7) / 8 * 8;
}

size_t mh_trainer_file_bytes(const mh_trainer *t, int32_t file)
{
    size_t floats = t->size * (file == MH_FILE_CHECKPOINT ? 3 : 1);
    return 8 + header_bytes(t, file) + floats * sizeof(float) +
           (file == MH_FILE_CHECKPOINT ? sizeof t->state.step : 0);
}

static void put_length(struct writer *w, uint64_t length)
{
    for (int i = 0; i < 8; i++) {
        char byte = (char)(unsigned char)(length >> (8 * i));
        put_bytes(w, &byte, 1);
    }
}

/* NULL: zeros. */
static void put_floats(struct writer *w, const float *x, size_t count)
{
    if (x != NULL)
        put_bytes(w, x, count * sizeof *x);
    for (size_t i = 0; x == NULL && i < count; i++)
        put_bytes(w, &(float){0}, sizeof *x);
}

enum mh_status mh_trainer_save(const mh_trainer *t, int32_t file, void *out, size_t bytes,
                               struct mh_error *error)
{
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"trainer", t}, {"out", out}, {0}});
    if (status != MH_OK)
        return status;
    if (file != MH_FILE_MODEL && file != MH_FILE_CHECKPOINT)
        return mh_fail(error, MH_ARGUMENT, "file is %d: it must be 0 (model) or 1 (checkpoint)",
                       file);
    if (bytes != mh_trainer_file_bytes(t, file))
        return mh_fail(error, MH_ARGUMENT, "bytes is %zu: the file has %zu", bytes,
                       mh_trainer_file_bytes(t, file));
    if (file == MH_FILE_CHECKPOINT && t->parts > 0)
        return mh_fail(error, MH_ARGUMENT,
                       "a checkpoint is of a whole step: apply what was accumulated first");
    struct writer w = {.out = out};
    size_t header = header_bytes(t, file);
    put_length(&w, header);
    put_header(&w, t, file);
    while (w.length < 8 + header)
        put(&w, " ");
    put_floats(&w, t->parameters, t->size);
    if (file == MH_FILE_CHECKPOINT) {
        put_floats(&w, t->state.mean, t->size);
        put_floats(&w, t->state.variance, t->size);
        put_bytes(&w, &t->state.step, sizeof t->state.step);
    }
    return MH_OK;
}

/* ===== Reading ============================================================================== */

/* Of a file that is being read, until all of it is known to be right. */
struct loaded {
    struct mh_safetensors file;
    bool checkpoint;
    float *numbers; /* parameters; of a checkpoint mean and variance too */
    uint32_t step;
};

/* The prefix that the file's names have: none, or "transformer." */
static const char *find_prefix(const struct mh_safetensors *file)
{
    return mh_safetensors_find(file, "transformer.wte.weight") != NULL ? "transformer." : "";
}

/* The tensor NAME as `count` finite floats. rows 0: a vector. */
static enum mh_status read_tensor(const struct loaded *loaded, const char *name, size_t rows,
                                  size_t columns, float *out, struct mh_error *error)
{
    const struct mh_safetensor *tensor = mh_safetensors_find(&loaded->file, name);
    if (tensor == NULL)
        return mh_fail(error, MH_CORRUPT, "the file has no tensor \"%s\"", name);
    size_t rank = rows == 0 ? 1 : 2, first = rows == 0 ? columns : rows;
    if (tensor->rank != rank || tensor->shape[0] != first || tensor->shape[rank - 1] != columns)
        return mh_fail(error, MH_SHAPE,
                       "tensor \"%s\" has not the network's shape, %zu rows (0: a vector) of %zu",
                       name, rows, columns);
    enum mh_status status = mh_safetensors_read(&loaded->file, tensor, out, error);
    size_t count = mh_safetensor_elements(tensor), index;
    if (status != MH_OK)
        return status;
    index = mh_row_first_nonfinite(out, count);
    if (index < count)
        return mh_fail(error, MH_NONFINITE, "tensor \"%s\" holds %g at index %zu", name,
                       (double)out[index], index);
    return MH_OK;
}

static enum mh_status read_parameters(const struct loaded *loaded, const mh_trainer *t,
                                      struct mh_error *error)
{
    const char *prefix = find_prefix(&loaded->file);
    enum mh_status status = MH_OK;
    for (size_t i = 0; status == MH_OK && i < mh_parameter_count(&t->network); i++) {
        struct mh_place p = mh_parameter_place(&t->network, i);
        char name[MH_WEIGHT_NAME];
        mh_weight_name(name, *p.prefix != '\0' ? p.prefix : prefix, p.layer, p.suffix);
        status = read_tensor(loaded, name, p.rows, p.columns, loaded->numbers + p.offset, error);
    }
    return status;
}

static enum mh_status read_state(struct loaded *loaded, const mh_trainer *t, struct mh_error *error)
{
    const struct mh_safetensor *step = mh_safetensors_find(&loaded->file, STEP);
    if (step->dtype != MH_DTYPE_U32 || mh_safetensor_elements(step) != 1)
        return mh_fail(error, MH_CORRUPT, "tensor \"%s\" is not one U32", STEP);
    memcpy(&loaded->step, loaded->file.data + step->begin, sizeof loaded->step);
    enum mh_status status = read_tensor(loaded, MEAN, 0, t->size, loaded->numbers + t->size, error);
    if (status == MH_OK)
        status = read_tensor(loaded, VARIANCE, 0, t->size, loaded->numbers + 2 * t->size, error);
    return status;
}

/* The state of a checkpoint, or that of no step yet. */
static enum mh_status adopt_state(mh_trainer *t, const struct loaded *loaded,
                                  struct mh_error *error)
{
    enum mh_status status = loaded->checkpoint ? mh_trainer_begin_learning(t, error) : MH_OK;
    if (status != MH_OK)
        return status;
    size_t bytes = 2 * t->size * sizeof(float); /* mean, and the variance behind it */
    if (loaded->checkpoint)
        memcpy(t->state.mean, loaded->numbers + t->size, bytes);
    else if (t->state.mean != NULL)
        memset(t->state.mean, 0, bytes);
    t->state.step = loaded->step;
    return MH_OK;
}

static enum mh_status adopt(mh_trainer *t, const struct loaded *loaded, struct mh_error *error)
{
    enum mh_status status = adopt_state(t, loaded, error);
    if (status != MH_OK)
        return status;
    memcpy(t->parameters, loaded->numbers, t->size * sizeof(float));
    mh_trainer_clear(t);
    return MH_OK;
}

static enum mh_status read_file(struct loaded *loaded, const mh_trainer *t, struct mh_error *error)
{
    loaded->checkpoint = mh_safetensors_find(&loaded->file, STEP) != NULL;
    size_t arrays = loaded->checkpoint ? 3 : 1;
    loaded->numbers = malloc(mh_size_mul(t->size, arrays * sizeof(float)));
    if (loaded->numbers == NULL)
        return mh_fail(error, MH_MEMORY, "no memory for the %zu numbers of the file", t->size);
    enum mh_status status = read_parameters(loaded, t, error);
    return status == MH_OK && loaded->checkpoint ? read_state(loaded, t, error) : status;
}

enum mh_status mh_trainer_load(mh_trainer *t, const void *file, size_t bytes,
                               struct mh_error *error)
{
    struct loaded loaded = {0};
    enum mh_status status =
        mh_require(error, (const struct mh_pointer[]){{"trainer", t}, {"file", file}, {0}});
    if (status == MH_OK)
        status = mh_safetensors_open(&loaded.file, file, bytes, error);
    if (status != MH_OK)
        return status;
    status = read_file(&loaded, t, error);
    if (status == MH_OK)
        status = adopt(t, &loaded, error);
    free(loaded.numbers);
    mh_safetensors_close(&loaded.file);
    return status;
}
