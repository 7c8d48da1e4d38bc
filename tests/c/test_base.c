/* The base: messages, sizes, the arena, random numbers by counter. */
#include "base/arena.h"
#include "base/error.h"
#include "base/random.h"
#include "base/size.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ===== Messages ============================================================================= */

#define ASSERT_MESSAGE(expected, ...)                                                              \
    do {                                                                                           \
        struct mh_error error_ = {0};                                                              \
        assert_int_equal(mh_fail(&error_, MH_SHAPE, __VA_ARGS__), MH_SHAPE);                       \
        assert_int_equal(error_.status, MH_SHAPE);                                                 \
        assert_string_equal(error_.message, expected);                                             \
    } while (0)

static void messages_hold_strings_and_whole_numbers(void **state)
{
    (void)state;
    ASSERT_MESSAGE("nothing", "nothing");
    ASSERT_MESSAGE("a head of 7 in 100%", "a %s of %d in 100%%", "head", 7);
    ASSERT_MESSAGE("-2147483648 4294967295", "%d %u", INT_MIN, UINT_MAX);
    ASSERT_MESSAGE("0 18446744073709551615", "%zu %zu", (size_t)0, (size_t)UINT64_MAX);
    ASSERT_MESSAGE("wte", "%.*s", 3, "wte.weight");
    ASSERT_MESSAGE("wte??", "%s", "wte\n\x7f");
}

static void messages_hold_floats(void **state)
{
    (void)state;
    ASSERT_MESSAGE("NaN infinity -infinity", "%g %g %g", (double)NAN, (double)INFINITY,
                   (double)-INFINITY);
    ASSERT_MESSAGE("0 1 -1.5 0.001 123456", "%g %g %g %g %g", 0.0, 1.0, -1.5, 0.001, 123456.0);
    ASSERT_MESSAGE("0.00001 1e-6 1e6 1.23457e6", "%g %g %g %g", 1e-5, 1e-6, 999999.9, 1234567.0);
    ASSERT_MESSAGE("3.40282e38 1.17549e-38", "%g %g", (double)FLT_MAX, (double)FLT_MIN);
    ASSERT_MESSAGE("1.79769e308", "%g", DBL_MAX);
}

/* What printf prints with as many digits, read back, for numbers of every magnitude. */
static void floats_have_six_right_digits(void **state)
{
    (void)state;
    struct mh_error error;
    double value = 1.0;
    for (int i = 0; i < 2000; i++) {
        value = i % 2 == 0 ? value * 2.718281828 : -1.0 / value;
        if (fabs(value) > 1e300 || fabs(value) < 1e-300)
            value = 1.0 + i;
        mh_fail(&error, MH_SHAPE, "%g", value);
        double read = strtod(error.message, NULL);
        if (!(fabs(read - value) <= 1.01e-5 * fabs(value) / 2.0))
            fail_msg("%.17g is printed as %s", value, error.message);
    }
}

static void long_messages_are_cut_between_characters(void **state)
{
    (void)state;
    char text[400];
    for (size_t i = 0; i + 3 < sizeof text; i += 3)
        memcpy(text + i, "\xe8\x8b\xb9", 4); /* 苹 */
    for (size_t lead = 0; lead < 3; lead++) {
        struct mh_error error;
        memset(&error, 'z', sizeof error);
        mh_fail(&error, MH_SHAPE, "%.*s%s", (int)lead, "ab", text);
        size_t length = strlen(error.message);
        assert_true(length > sizeof error.message - 5 && length < sizeof error.message);
        assert_int_equal((length - lead) % 3, 0);
    }
}

static void a_caller_may_not_want_the_message(void **state)
{
    (void)state;
    assert_int_equal(mh_fail(NULL, MH_MEMORY, "%d", 1), MH_MEMORY);
}

static void names_are_stable(void **state)
{
    (void)state;
    assert_string_equal(mh_status_name(MH_OK), "ok");
    assert_string_equal(mh_status_name(MH_NONFINITE), "nonfinite");
    assert_string_equal(mh_status_name(MH_NONFINITE + 1), "unknown");
    assert_string_equal(mh_status_name(-1), "unknown");
    assert_string_equal(mh_tensor_name(MH_TENSOR_PROJECTED_KEY), "projected key");
    assert_string_equal(mh_tensor_name(MH_TENSOR_LOGITS), "logits");
    assert_string_equal(mh_tensor_name(MH_TENSOR_LOGITS + 1), "unknown");
}

/* ===== Sizes and arena ====================================================================== */

static void sizes_stick_at_the_largest(void **state)
{
    (void)state;
    assert_int_equal(mh_size_mul(3, 5), 15);
    assert_int_equal(mh_size_mul(0, SIZE_MAX), 0);
    assert_int_equal(mh_size_mul(SIZE_MAX / 2, 2), SIZE_MAX - 1);
    assert_true(mh_size_mul(SIZE_MAX / 2 + 1, 2) == SIZE_MAX);
    assert_true(mh_size_mul(SIZE_MAX, SIZE_MAX) == SIZE_MAX);
    assert_true(mh_size_add(SIZE_MAX, 1) == SIZE_MAX);
    assert_int_equal(mh_size_add(SIZE_MAX - 1, 1), SIZE_MAX);
    assert_int_equal(mh_size_add(2, 3), 5);
}

struct layout {
    float *kept, *first, *second, *last;
};

/* `first` and `second` share memory, one after the other. */
static struct layout lay_out(struct mh_arena *arena)
{
    struct layout layout = {.kept = mh_arena_floats(arena, 5)};
    size_t mark = mh_arena_mark(arena);
    layout.first = mh_arena_floats(arena, 100);
    mh_arena_release(arena, mark);
    layout.second = mh_arena_floats(arena, 3);
    layout.last = mh_arena_floats(arena, 1);
    return layout;
}

static void an_arena_uses_what_it_planned(void **state)
{
    (void)state;
    struct mh_arena plan = mh_arena_plan();
    size_t bytes;
    assert_null(lay_out(&plan).last);
    assert_int_equal(mh_arena_planned(&plan, &bytes, NULL), MH_OK);
    assert_int_equal(bytes, 32 + 400 + 15);

    for (size_t offset = 0; offset < 16; offset++) {
        unsigned char *memory = malloc(bytes + offset);
        assert_non_null(memory);
        struct mh_arena arena = mh_arena_over(memory + offset, bytes);
        struct layout layout = lay_out(&arena);
        assert_int_equal(mh_arena_check(&arena, NULL), MH_OK);
        assert_ptr_equal(layout.first, layout.second);
        assert_int_equal((uintptr_t)layout.kept % 16, 0);
        memset(layout.kept, 1, 5 * sizeof(float));
        memset(layout.first, 1, 100 * sizeof(float)); /* the sanitizer sees one byte too many */
        assert_true((unsigned char *)(layout.first + 100) <= memory + offset + bytes);
        free(memory);
    }
}

static void an_arena_too_small_says_so(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char memory[447];
    struct mh_error error;
    struct mh_arena arena = mh_arena_over(memory, 431);
    lay_out(&arena);
    assert_int_equal(mh_arena_check(&arena, &error), MH_MEMORY);
    assert_string_equal(
        error.message,
        "the workspace has 431 bytes but 447 are needed: ask the _workspace function");
    arena = mh_arena_over(memory + 1, 3);
    assert_null(mh_arena_take(&arena, 1, 1));
    assert_int_equal(mh_arena_check(&arena, NULL), MH_MEMORY);
    arena = mh_arena_plan();
    mh_arena_take(&arena, SIZE_MAX / 2, 4);
    size_t bytes;
    assert_int_equal(mh_arena_planned(&arena, &bytes, &error), MH_MEMORY);
    assert_string_equal(error.message,
                        "the workspace would exceed the address space: use smaller sizes");
}

/* ===== Random numbers ======================================================================= */

/* The published outputs of SplitMix64 from state 0, upper halves. */
static void random_numbers_are_those_of_split_mix_64(void **state)
{
    (void)state;
    static const uint32_t expected[] = {0xE220A839u, 0x6E789E6Au, 0x06C45D18u, 0xF88BB8A8u,
                                        0x1B39896Au};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(mh_random_at(0, i), expected[i]);
}

static void streams_differ_by_every_number(void **state)
{
    (void)state;
    uint64_t base = mh_random_stream(1, 2, 3, 4);
    assert_true(base == mh_random_stream(1, 2, 3, 4));
    assert_true(base != mh_random_stream(0, 2, 3, 4));
    assert_true(base != mh_random_stream(1, 3, 2, 4));
    assert_true(base != mh_random_stream(1, 2, 4, 3));
    assert_true(base != mh_random_stream(1, 2, 3, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_hold_strings_and_whole_numbers),
        cmocka_unit_test(messages_hold_floats),
        cmocka_unit_test(floats_have_six_right_digits),
        cmocka_unit_test(long_messages_are_cut_between_characters),
        cmocka_unit_test(a_caller_may_not_want_the_message),
        cmocka_unit_test(names_are_stable),
        cmocka_unit_test(sizes_stick_at_the_largest),
        cmocka_unit_test(an_arena_uses_what_it_planned),
        cmocka_unit_test(an_arena_too_small_says_so),
        cmocka_unit_test(random_numbers_are_those_of_split_mix_64),
        cmocka_unit_test(streams_differ_by_every_number),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
