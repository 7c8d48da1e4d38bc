/* Masks: which keys a query sees, against the words of multihead.h applied key by key. */
#include "ops/mask.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/random_case.h"
#include "support/reference.h"

/* ===== Pictures ============================================================================= */

enum { LARGEST = 16 };

/* One line for each query, x where it sees the key. */
static void assert_picture(const struct mh_mask *mask, size_t keys, const char *const *lines,
                           size_t queries)
{
    struct mh_range unpadded = mh_mask_unpadded(mask, 0, keys);
    for (size_t i = 0; i < queries; i++) {
        char line[LARGEST + 1] = {0};
        struct mh_mask_row row = mh_mask_row(mask, unpadded, 0, 0, i, keys);
        for (size_t j = 0; j < keys; j++)
            line[j] = mh_mask_shows(&row, j) ? 'x' : '.';
        assert_string_equal(line, lines[i]);
    }
}

#define ASSERT_PICTURE(mask, ...)                                                                  \
    do {                                                                                           \
        const char *const lines_[] = {__VA_ARGS__};                                                \
        assert_picture(mask, strlen(lines_[0]), lines_, sizeof lines_ / sizeof *lines_);           \
    } while (0)

static void causal_sees_the_past_and_itself(void **state)
{
    (void)state;
    struct mh_mask mask = {.causal = 1};
    ASSERT_PICTURE(&mask, "x...", "xx..", "xxx.", "xxxx", "xxxx");
    mask.query_offset = 2; /* two keys came before */
    ASSERT_PICTURE(&mask, "xxx.", "xxxx");
    mask.query_offset = -2;
    ASSERT_PICTURE(&mask, "....", "....", "x...", "xx..");
}

static void window_reaches_to_both_sides(void **state)
{
    (void)state;
    struct mh_mask mask = {.windowed = 1, .window_left = 1, .window_right = 2};
    ASSERT_PICTURE(&mask, "xxx...", "xxxx..", ".xxxx.", "..xxxx", "...xxx", "....xx", ".....x",
                   "......");
    mask.window_left = -1;
    ASSERT_PICTURE(&mask, "xxx...", "xxxx..", "xxxxx.");
    mask.causal = 1;
    mask.window_left = 1;
    ASSERT_PICTURE(&mask, "x.....", "xx....", ".xx...", "..xx..");
}

static void prefix_is_visible_whatever_the_geometry(void **state)
{
    (void)state;
    struct mh_mask mask = {.causal = 1, .prefix = 2};
    ASSERT_PICTURE(&mask, "xx...", "xx...", "xxx..", "xxxx.");
    mask.windowed = 1;
    ASSERT_PICTURE(&mask, "xx...", "xx...", "xxx..", "xx.x.");
    mask.prefix = 9;
    ASSERT_PICTURE(&mask, "xxxxx", "xxxxx");
}

static void padding_ends_the_keys(void **state)
{
    (void)state;
    const int32_t lengths[] = {3};
    struct mh_mask mask = {.key_lengths = lengths, .prefix = 4};
    ASSERT_PICTURE(&mask, "xxx..", "xxx..");
    const uint8_t hidden[] = {1, 0, 2, 0, 1};
    mask = (struct mh_mask){.key_hidden = hidden, .causal = 1};
    ASSERT_PICTURE(&mask, ".....", ".x...", ".x...", ".x.x.", ".x.x.");
    struct mh_range unpadded = mh_mask_unpadded(&mask, 0, 5);
    assert_int_equal(unpadded.begin, 1);
    assert_int_equal(unpadded.end, 4);
}

static void blocks_boolean_and_bias_hide_single_keys(void **state)
{
    (void)state;
    const int32_t queries[] = {0, 7}, keys[] = {0, 7, 0, 7};
    struct mh_mask mask = {.query_blocks = queries, .key_blocks = keys};
    ASSERT_PICTURE(&mask, "x.x.", ".x.x");
    const uint8_t set[] = {0, 1, 0, 1, 1, 0, 0, 0};
    mask = (struct mh_mask){.hidden = set, .hidden_row_stride = 4};
    ASSERT_PICTURE(&mask, "x.x.", ".xxx");
    mask.hidden_when = MH_HIDDEN_WHEN_FALSE;
    ASSERT_PICTURE(&mask, ".x.x", "x...");
    const float bias[] = {0.5f, -INFINITY, 0.0f};
    mask = (struct mh_mask){.bias = bias};
    ASSERT_PICTURE(&mask, "x.x", "x.x");
}

static void free_keys_are_always_visible(void **state)
{
    (void)state;
    const uint8_t hidden[] = {1, 1, 0};
    struct mh_mask mask = {.causal = 1, .key_hidden = hidden, .free_keys = 2};
    ASSERT_PICTURE(&mask, "...xx", "...xx", "..xxx");
    mask.free_keys = 3; /* no other keys: the arrays are empty */
    ASSERT_PICTURE(&mask, "xxx", "xxx");
}

/* ===== Sweeps =============================================================================== */

enum { CASES = 3000 };

struct mask_case {
    struct sizes sizes;
    struct mh_mask mask;
};

static struct mask_case make_case(uint32_t *random, struct pool *pool, size_t n)
{
    struct mask_case c = {.sizes = {random_size(random, 1, 3), random_size(random, 1, 3),
                                    random_size(random, 1, 12), random_size(random, 1, LARGEST)}};
    c.mask = random_mask(random, pool, &c.sizes, parts_of_case(random, n));
    return c;
}

static void check_row(const struct mask_case *c, const struct mh_mask_row *row, size_t b, size_t h,
                      size_t i)
{
    size_t visible = 0;
    for (size_t j = 0; j < c->sizes.keys; j++) {
        bool expected = reference_shows(&c->mask, c->sizes.keys, b, h, i, j);
        if (mh_mask_shows(row, j) != expected)
            fail_msg("b=%zu h=%zu query=%zu key=%zu should be %s", b, h, i, j,
                     expected ? "visible" : "hidden");
        visible += expected;
    }
    assert_int_equal(mh_mask_visible(row), visible);
}

/* Scores of 1: -inf where hidden, 1 + bias where visible, untouched outside the ranges. */
static void check_apply(const struct mask_case *c, const struct mh_mask_row *row, size_t b,
                        size_t h, size_t i)
{
    float scores[LARGEST];
    for (size_t j = 0; j < c->sizes.keys; j++)
        scores[j] = 1.0f;
    mh_mask_apply(row, scores);
    size_t positions = c->sizes.keys - c->mask.free_keys;
    for (size_t j = 0; j < c->sizes.keys; j++) {
        bool inside = false;
        for (size_t r = 0; r < MH_KEY_RANGES; r++)
            inside = inside || (j >= row->ranges.of[r].begin && j < row->ranges.of[r].end);
        float expected = 1.0f;
        if (inside && !mh_mask_shows(row, j))
            expected = -INFINITY;
        else if (inside && c->mask.bias != NULL && j < positions)
            expected += c->mask.bias[b * c->mask.bias_batch_stride + h * c->mask.bias_head_stride +
                                     i * c->mask.bias_row_stride + j];
        assert_true(scores[j] == expected);
    }
}

static void every_key_of_random_masks(void **state)
{
    (void)state;
    uint32_t random = 1;
    size_t rows = 0;
    for (size_t n = 0; n < CASES; n++) {
        struct pool pool = {0};
        struct mask_case c = make_case(&random, &pool, n);
        assert_int_equal(mh_mask_check(&c.mask, c.sizes.batch, c.sizes.keys, NULL), MH_OK);
        for (size_t b = 0; b < c.sizes.batch; b++) {
            struct mh_range unpadded = mh_mask_unpadded(&c.mask, b, c.sizes.keys);
            for (size_t h = 0; h < c.sizes.heads; h++)
                for (size_t i = 0; i < c.sizes.queries; i++, rows++) {
                    struct mh_mask_row row = mh_mask_row(&c.mask, unpadded, b, h, i, c.sizes.keys);
                    check_row(&c, &row, b, h, i);
                    check_apply(&c, &row, b, h, i);
                }
        }
        pool_free(&pool);
    }
    print_message("%d masks, %zu rows\n", CASES, rows);
}

static void check_hull(const struct mask_case *c, struct mh_range unpadded, size_t first,
                       size_t last)
{
    size_t keys = c->sizes.keys;
    struct mh_key_ranges hull = mh_mask_ranges(&c->mask, unpadded, first, last, keys);
    size_t end = 0;
    for (size_t r = 0; r < MH_KEY_RANGES; r++) {
        assert_true(hull.of[r].begin <= hull.of[r].end);
        assert_true(mh_range_length(hull.of[r]) == 0 || hull.of[r].begin >= end);
        if (mh_range_length(hull.of[r]) > 0)
            end = hull.of[r].end;
    }
    assert_true(end <= keys);
    for (size_t i = first; i <= last; i++) {
        struct mh_key_ranges row = mh_mask_ranges(&c->mask, unpadded, i, i, keys);
        for (size_t r = 0; r < MH_KEY_RANGES; r++) {
            assert_true(row.of[r].begin >= hull.of[r].begin || mh_range_length(row.of[r]) == 0);
            assert_true(row.of[r].end <= hull.of[r].end || mh_range_length(row.of[r]) == 0);
        }
    }
}

static void ranges_of_several_rows_hold_those_of_each(void **state)
{
    (void)state;
    uint32_t random = 2;
    for (size_t n = 0; n < CASES; n++) {
        struct pool pool = {0};
        struct mask_case c = make_case(&random, &pool, n);
        struct mh_range unpadded = mh_mask_unpadded(&c.mask, 0, c.sizes.keys);
        for (size_t first = 0; first < c.sizes.queries; first++)
            for (size_t last = first; last < c.sizes.queries; last++)
                check_hull(&c, unpadded, first, last);
        pool_free(&pool);
    }
}

/* ===== Errors =============================================================================== */

static void assert_refused(const struct mh_mask *mask, enum mh_status status, const char *message)
{
    struct mh_error error = {0};
    assert_int_equal(mh_mask_check(mask, 2, 5, &error), status);
    assert_int_equal(error.status, status);
    assert_string_equal(error.message, message);
}

static void bad_masks_are_refused_with_their_numbers(void **state)
{
    (void)state;
    const int32_t ids[5] = {0};
    const int32_t too_long[] = {5, 6}, negative[] = {-1, 0};
    assert_refused(&(struct mh_mask){.causal = 2}, MH_ARGUMENT,
                   "mask.causal is 2: it must be 0 or 1");
    assert_refused(&(struct mh_mask){.windowed = -1}, MH_ARGUMENT,
                   "mask.windowed is -1: it must be 0 or 1");
    assert_refused(&(struct mh_mask){.free_keys = 6}, MH_SHAPE,
                   "mask.free_keys is 6, but there are only 5 keys");
    assert_refused(&(struct mh_mask){.key_blocks = ids}, MH_ARGUMENT,
                   "mask.query_blocks is missing: give block ids for both queries and keys, or "
                   "neither");
    assert_refused(&(struct mh_mask){.query_blocks = ids}, MH_ARGUMENT,
                   "mask.key_blocks is missing: give block ids for both queries and keys, or "
                   "neither");
    assert_refused(&(struct mh_mask){.hidden_when = 2}, MH_ARGUMENT,
                   "mask.hidden_when is 2: it must be 0 (nonzero hides) or 1 (zero hides)");
    assert_refused(&(struct mh_mask){.key_lengths = too_long}, MH_SHAPE,
                   "mask.key_lengths[1] is 6: it must be 0 to 5, the number of keys");
    assert_refused(&(struct mh_mask){.key_lengths = negative}, MH_SHAPE,
                   "mask.key_lengths[0] is -1: it must be 0 to 5, the number of keys");
    assert_refused(&(struct mh_mask){.key_lengths = too_long, .free_keys = 1}, MH_SHAPE,
                   "mask.key_lengths[0] is 5: it must be 0 to 4, the number of keys");
}

static void extreme_positions_do_not_overflow(void **state)
{
    (void)state;
    struct mh_mask mask = {.causal = 1,
                           .query_offset = INT32_MAX,
                           .windowed = 1,
                           .window_left = INT32_MAX,
                           .window_right = INT32_MAX};
    ASSERT_PICTURE(&mask, "xxx", ".xx", "..x", "...");
    mask.query_offset = INT32_MIN;
    ASSERT_PICTURE(&mask, "...", "...");
    mask.causal = 0;
    ASSERT_PICTURE(&mask, "...", "x..", "xx.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causal_sees_the_past_and_itself),
        cmocka_unit_test(window_reaches_to_both_sides),
        cmocka_unit_test(prefix_is_visible_whatever_the_geometry),
        cmocka_unit_test(padding_ends_the_keys),
        cmocka_unit_test(blocks_boolean_and_bias_hide_single_keys),
        cmocka_unit_test(free_keys_are_always_visible),
        cmocka_unit_test(every_key_of_random_masks),
        cmocka_unit_test(ranges_of_several_rows_hold_those_of_each),
        cmocka_unit_test(bad_masks_are_refused_with_their_numbers),
        cmocka_unit_test(extreme_positions_do_not_overflow),
    };
    return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}
