/* Safetensors files: what is read, and that a hostile file gets an error and never a bad read (the
 * buffers are exactly as long as the file, so that the address sanitizer sees one byte too many). */
#include "base/half.h"
#include "model/safetensors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"

/* ===== Files ================================================================================ */

struct file {
    unsigned char *bytes;
    size_t size;
};

/* Length, header, then data_bytes of 0, 1, 2, … */
static struct file make_file(const char *header, size_t data_bytes)
{
    size_t length = strlen(header);
    struct file file = {.size = 8 + length + data_bytes};
    file.bytes = malloc(file.size);
    assert_non_null(file.bytes);
    for (size_t i = 0; i < 8; i++)
        file.bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(file.bytes + 8, header, length);
    for (size_t i = 0; i < data_bytes; i++)
        file.bytes[8 + length + i] = (unsigned char)i;
    return file;
}

static unsigned char *data_of(const struct file *file, size_t data_bytes)
{
    return file->bytes + file->size - data_bytes;
}

/* Opens a copy of exactly `size` bytes and, if that goes well, reads every tensor to the end. */
static enum mh_status read_all(const unsigned char *bytes, size_t size, struct mh_error *error)
{
    unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    struct mh_safetensors tensors;
    enum mh_status status = mh_safetensors_open(&tensors, copy, size, error);
    for (size_t i = 0; status == MH_OK && i < tensors.count; i++) {
        const struct mh_safetensor *tensor = &tensors.tensors[i];
        size_t count = mh_safetensor_elements(tensor);
        assert_true(count <= size);
        assert_ptr_equal(mh_safetensors_find(&tensors, tensor->name), tensor);
        float *values = malloc(count * sizeof *values + 1);
        assert_non_null(values);
        mh_safetensors_read(&tensors, tensor, values, error);
        free(values);
    }
    if (status == MH_OK)
        mh_safetensors_close(&tensors);
    free(copy);
    return status;
}

/* ===== What is read ========================================================================= */

/* One of everything. */
#define GOOD_HEADER                                                                                \
    "{\"__metadata__\": {\"format\": \"pt\", \"\\u4f60\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\"},\n"      \
    " \"f32\": {\"dtype\":\"F32\",\"shape\":[2, 3],\"data_offsets\":[0,24]},\n"                    \
    " \"half\": {\"data_offsets\":[24,30],\"shape\":[3],\"dtype\":\"F16\"},\n"                     \
    " \"\\u006e\\u00e9\\ud83d\\ude00\": {\"dtype\":\"BF16\",\"shape\":[1],"                        \
    "\"data_offsets\":[30,32]},\n"                                                                 \
    " \"rows\": {\"dtype\":\"I8\",\"shape\":[2,3],\"data_offsets\":[32,38]},\n"                    \
    " \"rows.scale\": {\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[38,46]},\n"               \
    " \"columns\": {\"dtype\":\"I8\",\"shape\":[2,3],\"data_offsets\":[46,52]},\n"                 \
    " \"columns.scale\": {\"dtype\":\"F32\",\"shape\":[1,3],\"data_offsets\":[52,64]},\n"          \
    " \"blocks\": {\"dtype\":\"I8\",\"shape\":[2,4],\"data_offsets\":[76,84]},\n"                  \
    " \"blocks.scale\": {\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[84,92]},\n"           \
    " \"scalar\": {\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[64,68]},\n"                    \
    " \"empty\": {\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[68,68]},\n"                  \
    " \"ids\": {\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[68,76]}}   "
#define GOOD_DATA 92

static struct file good_file(void)
{
    static const float f32[] = {1, -2, 3.5F, 0, 1e-30F, 1e30F};
    static const uint16_t half[] = {0x3C00, 0xC500, 0x0001}, bf16 = 0x4049;
    static const int8_t integers[] = {1, -128, 127, 0, -1, 100};
    static const int8_t in_blocks[] = {1, 2, 3, 4, -1, -2, -3, -4};
    static const uint16_t block_scales[] = {0x3C00, 0x4000, 0x4400, 0xC000}; /* 1, 2, 4, -2 */
    static const float row_scales[] = {0.5F, 2}, column_scales[] = {1, 10, 100}, scalar = 42;
    struct file file = make_file(GOOD_HEADER, GOOD_DATA);
    unsigned char *data = data_of(&file, GOOD_DATA);
    memcpy(data, f32, sizeof f32);
    memcpy(data + 24, half, sizeof half);
    memcpy(data + 30, &bf16, sizeof bf16);
    memcpy(data + 32, integers, sizeof integers);
    memcpy(data + 38, row_scales, sizeof row_scales);
    memcpy(data + 46, integers, sizeof integers);
    memcpy(data + 52, column_scales, sizeof column_scales);
    memcpy(data + 64, &scalar, sizeof scalar);
    memcpy(data + 76, in_blocks, sizeof in_blocks);
    memcpy(data + 84, block_scales, sizeof block_scales);
    return file;
}

static void assert_tensor(const struct mh_safetensors *tensors, const char *name,
                          const float *expected, size_t count)
{
    struct mh_error error = {0};
    float values[16];
    const struct mh_safetensor *tensor = mh_safetensors_find(tensors, name);
    assert_non_null(tensor);
    assert_int_equal(mh_safetensor_elements(tensor), count);
    assert_int_equal(mh_safetensors_read(tensors, tensor, values, &error), MH_OK);
    assert_all_close(values, expected, count, 0);
}

static void test_reads_every_kind(void **state)
{
    (void)state;
    struct file file = good_file();
    struct mh_safetensors tensors;
    struct mh_error error = {0};
    if (mh_safetensors_open(&tensors, file.bytes, file.size, &error) != MH_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tensors.count, 12);

    assert_tensor(&tensors, "f32", (const float[]){1, -2, 3.5F, 0, 1e-30F, 1e30F}, 6);
    assert_tensor(&tensors, "half", (const float[]){1, -5, 0x1p-24F}, 3);
    assert_tensor(&tensors, "n\u00e9\U0001F600", (const float[]){3.140625F}, 1);
    assert_tensor(&tensors, "rows", (const float[]){0.5F, -64, 63.5F, 0, -2, 200}, 6);
    assert_tensor(&tensors, "columns", (const float[]){1, -1280, 12700, 0, -10, 10000}, 6);
    assert_tensor(&tensors, "blocks", (const float[]){1, 2, 6, 8, -4, -8, 6, 8}, 8);
    assert_tensor(&tensors, "scalar", (const float[]){42}, 1);
    assert_tensor(&tensors, "empty", NULL, 0);
    const struct mh_safetensor *f32 = mh_safetensors_find(&tensors, "f32");
    assert_int_equal(f32->rank, 2);
    assert_int_equal(f32->shape[0], 2);
    assert_int_equal(f32->shape[1], 3);
    assert_null(mh_safetensors_find(&tensors, "F32"));
    assert_null(mh_safetensors_find(&tensors, "__metadata__"));

    float value[2];
    const struct mh_safetensor *ids = mh_safetensors_find(&tensors, "ids");
    assert_int_equal(mh_safetensors_read(&tensors, ids, value, &error), MH_UNSUPPORTED);
    assert_non_null(strstr(error.message, "\"ids\""));
    mh_safetensors_close(&tensors);
    free(file.bytes);
}

static void test_empty_file(void **state)
{
    (void)state;
    struct mh_error error;
    struct file file = make_file("{}", 0);
    assert_int_equal(read_all(file.bytes, file.size, &error), MH_OK);
    free(file.bytes);
}

static double f16_by_formula(uint16_t bits)
{
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double magnitude = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                       : exponent == 0 ? ldexp(fraction, -24)
                                       : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void test_every_half(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float f16 = mh_float_from_f16((uint16_t)bits);
        double expected = f16_by_formula((uint16_t)bits);
        assert_close(f16, expected, 0);
        assert_int_equal(signbit(f16) != 0, bits >> 15);
        uint32_t wide = bits << 16;
        float upper, bf16 = mh_float_from_bf16((uint16_t)bits);
        memcpy(&upper, &wide, sizeof upper);
        assert_memory_equal(&bf16, &upper, sizeof upper);
    }
}

/* ===== Hostile files ======================================================================== */

#define ENTRY(fields) "{\"w\":{" fields "}}"
#define F32(shape, offsets) ENTRY("\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets)

static const struct {
    const char *header;
    size_t data_bytes;
    enum mh_status status;
    const char *message; /* a part of it */
} bad_headers[] = {
    /* not JSON */
    {"", 0, MH_CORRUPT, "byte 0"},
    {"[]", 0, MH_CORRUPT, "'{'"},
    {"{", 0, MH_CORRUPT, "part of a name"},
    {"{}}", 0, MH_CORRUPT, "padding"},
    {"{} x", 0, MH_CORRUPT, "padding"},
    {"{,}", 0, MH_CORRUPT, "part of a name"},
    {"{\"w\"}", 0, MH_CORRUPT, "':'"},
    {"{\"w\":1}", 0, MH_CORRUPT, "\"w\""},
    {"{\"w\":{}}", 0, MH_CORRUPT, "\"w\""},
    {"{\"w", 0, MH_CORRUPT, "part of a name"},
    {F32("[1]", "[0,4]"), 4, MH_OK, NULL}, /* good, as all that follow but for one thing */
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},}", 4, MH_CORRUPT, "name"},
    /* strings */
    {"{\"\xff\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\xc0\x80\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\xe0\x80\x80\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\xed\xa0\x80\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\xf4\x90\x80\x80\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\xf5\x80\x80\x80\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\xe4\xbd", 0, MH_CORRUPT, "UTF-8"},
    {"{\"a\nb\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\x\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\u12g4\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\ud800\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\ud800\\u0041\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\udc00\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\u0000\":1}", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\", 0, MH_CORRUPT, "UTF-8"},
    {"{\"\\u00", 0, MH_CORRUPT, "UTF-8"},
    /* metadata */
    {"{\"__metadata__\":1}", 0, MH_CORRUPT, "__metadata__"},
    {"{\"__metadata__\":{\"a\":1}}", 0, MH_CORRUPT, "__metadata__"},
    {"{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", 0, MH_CORRUPT, "__metadata__"},
    {"{\"__metadata__\":{\"a\":\"b\",}}", 0, MH_CORRUPT, "__metadata__"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, MH_CORRUPT, "first metadata"},
    /* fields */
    {ENTRY("\"dtype\":\"F32\",\"shape\":[1]"), 4, MH_CORRUPT, "\"w\" lacks"},
    {ENTRY("\"dtype\":\"F32\",\"dtype\":\"F32\""), 4, MH_CORRUPT, "twice"},
    {ENTRY("\"shape\":[1],\"extra\":1"), 4, MH_CORRUPT, "\"extra\""},
    {ENTRY("\"a key longer than any\":1"), 4, MH_CORRUPT, "\"w\""},
    {ENTRY("\"dtype\":\"F31\""), 4, MH_UNSUPPORTED, "\"F31\""},
    {ENTRY("\"dtype\":32"), 4, MH_CORRUPT, "dtype"},
    {F32("1", "[0,4]"), 4, MH_CORRUPT, "list of sizes"},
    {F32("[1}", "[0,4]"), 4, MH_CORRUPT, "of a shape"},
    {F32("[1,]", "[0,4]"), 4, MH_CORRUPT, "size"},
    {F32("[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, MH_UNSUPPORTED, "more than 8"},
    {F32("[1]", "[0]"), 4, MH_CORRUPT, "pair of offsets"},
    {F32("[1]", "[0,4,8]"), 4, MH_CORRUPT, "pair of offsets"},
    /* numbers */
    {F32("[-1]", "[0,4]"), 4, MH_CORRUPT, "size"},
    {F32("[01]", "[0,4]"), 4, MH_CORRUPT, "size"},
    {F32("[1.0]", "[0,4]"), 4, MH_CORRUPT, "of a shape"},
    {F32("[1e0]", "[0,4]"), 4, MH_CORRUPT, "of a shape"},
    {F32("[\"1\"]", "[0,4]"), 4, MH_CORRUPT, "size"},
    {F32("[18446744073709551616]", "[0,4]"), 4, MH_CORRUPT, "size"},
    {F32("[99999999999999999999999999999999]", "[0,4]"), 4, MH_CORRUPT, "size"},
    /* places */
    {F32("[1]", "[0,8]"), 8, MH_CORRUPT, "\"w\" has 8 bytes"},
    {F32("[3]", "[0,8]"), 8, MH_CORRUPT, "need 12"},
    {F32("[2]", "[0,8]"), 4, MH_CORRUPT, "\"w\" is said to lie at bytes 0 to 8 of 4"},
    {F32("[1]", "[4,0]"), 4, MH_CORRUPT, "\"w\" is said to lie"},
    {F32("[1]", "[4,8]"), 8, MH_CORRUPT, "hole"},
    {F32("[1]", "[0,4]"), 8, MH_CORRUPT, "4 bytes after the last tensor, w"},
    {F32("[]", "[0,0]"), 0, MH_CORRUPT, "need 4"},
    {"{}", 1, MH_CORRUPT, "1 bytes after"},
    {F32("[1]", "[0,18446744073709551615]"), 4, MH_CORRUPT, "\"w\""},
    {F32("[1]", "[18446744073709551612,0]"), 4, MH_CORRUPT, "\"w\""},
    {F32("[4611686018427387905]", "[0,4]"), 4, MH_CORRUPT, "\"w\""},   /* * 4 wraps to 4 */
    {F32("[4294967296,4294967296]", "[0,0]"), 0, MH_CORRUPT, "\"w\""}, /* wraps to 0 */
    {F32("[4294967297,4294967297,1073741823]", "[0,4]"), 4, MH_CORRUPT, "\"w\""},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}",
     5, MH_CORRUPT, "\"b\" begins at byte 2, inside"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}",
     3, MH_CORRUPT, "inside"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
     2, MH_CORRUPT, "two tensors \"a\""},
};

static void test_bad_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        struct mh_error error = {0};
        struct file file = make_file(bad_headers[i].header, bad_headers[i].data_bytes);
        enum mh_status status = read_all(file.bytes, file.size, &error);
        const char *part = bad_headers[i].message;
        if (status != bad_headers[i].status || (part != NULL && !strstr(error.message, part)))
            fail_msg("%s: got status %d, \"%s\"", bad_headers[i].header, status, error.message);
        free(file.bytes);
    }
}

static void test_bad_lengths(void **state)
{
    (void)state;
    static const unsigned char huge[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    static const unsigned char nine[17] = {10, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    struct mh_error error;
    assert_int_equal(read_all(huge, 0, &error), MH_CORRUPT);
    assert_int_equal(read_all(huge, 7, &error), MH_CORRUPT);
    assert_int_equal(read_all(huge, 8, &error), MH_CORRUPT);
    assert_int_equal(read_all(nine, sizeof nine, &error), MH_CORRUPT);
    assert_non_null(strstr(error.message, "17 bytes"));
    assert_int_equal(mh_safetensors_open(&(struct mh_safetensors){0}, nine, 17, NULL), MH_CORRUPT);
}

#define SCALE_FILE(dtype, shape, offsets)                                                          \
    "{\"w\":{\"dtype\":\"I8\",\"shape\":[2,3],\"data_offsets\":[0,6]},"                            \
    "\"w.scale\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_bad_scales(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *message;
    } cases[] = {
        {"{\"w\":{\"dtype\":\"I8\",\"shape\":[2,3],\"data_offsets\":[0,6]}}", 6, "no \"w.scale\""},
        {"{\"w\":{\"dtype\":\"I8\",\"shape\":[6],\"data_offsets\":[0,6]}}", 6, "only a matrix"},
        {SCALE_FILE("BF16", "[2]", "[6,10]"), 10, "\"w.scale\" is neither F32 nor F16"},
        {SCALE_FILE("F32", "[3]", "[6,18]"), 18, "\"w.scale\" does not divide"},
        {SCALE_FILE("F32", "[1,2]", "[6,14]"), 14, "\"w.scale\" does not divide"},
        {SCALE_FILE("F32", "[3,1]", "[6,18]"), 18, "\"w.scale\" does not divide"},
        {SCALE_FILE("F32", "[4,3]", "[6,54]"), 54, "\"w.scale\" does not divide"},
        {SCALE_FILE("F32", "[2,3,1]", "[6,30]"), 30, "\"w.scale\" does not divide"},
        {SCALE_FILE("F32", "[]", "[6,10]"), 10, "\"w.scale\" does not divide"},
        {SCALE_FILE("F32", "[0]", "[6,6]"), 6, "\"w.scale\" does not divide"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mh_error error = {0};
        struct mh_safetensors tensors;
        float values[6];
        struct file file = make_file(cases[i].header, cases[i].data_bytes);
        assert_int_equal(mh_safetensors_open(&tensors, file.bytes, file.size, &error), MH_OK);
        assert_int_equal(
            mh_safetensors_read(&tensors, mh_safetensors_find(&tensors, "w"), values, &error),
            MH_CORRUPT);
        if (!strstr(error.message, cases[i].message))
            fail_msg("%s: \"%s\"", cases[i].header, error.message);
        mh_safetensors_close(&tensors);
        free(file.bytes);
    }
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    struct file file = good_file();
    for (size_t size = 0; size < file.size; size++) {
        struct mh_error error = {0};
        assert_int_equal(read_all(file.bytes, size, &error), MH_CORRUPT);
        assert_true(strlen(error.message) > 0);
    }
    free(file.bytes);
}

/* Each byte of length and header set to each value: many are still good files, none may be read
 * out of bounds, and each refusal says why. */
static void test_any_byte_changed(void **state)
{
    (void)state;
    struct file file = good_file();
    size_t refused = 0, accepted = 0;
    for (size_t at = 0; at < file.size - GOOD_DATA; at++) {
        unsigned char original = file.bytes[at];
        for (unsigned value = 0; value < 256; value++) {
            struct mh_error error = {0};
            file.bytes[at] = (unsigned char)value;
            enum mh_status status = read_all(file.bytes, file.size, &error);
            assert_true(status == MH_OK || status == MH_CORRUPT || status == MH_UNSUPPORTED);
            assert_true(status == MH_OK || strlen(error.message) > 0);
            if (status == MH_OK)
                accepted++;
            else
                refused++;
        }
        file.bytes[at] = original;
    }
    assert_true(accepted > 0 && refused > accepted);
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_kind), cmocka_unit_test(test_empty_file),
        cmocka_unit_test(test_every_half),       cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_bad_lengths),      cmocka_unit_test(test_bad_scales),
        cmocka_unit_test(test_cut_anywhere),     cmocka_unit_test(test_any_byte_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
