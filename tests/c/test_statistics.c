/* Statistics of attention weights against plain doubles, and against numbers known by hand. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/attention_case.h"
#include "support/compare.h"

enum { CASES = 1500 };

/* ===== The obvious way ====================================================================== */

/* One row, in doubles, from the words of multihead.h. */
static void describe_row(const struct mh_statistics *s, const struct mh_mask *mask, size_t b,
                         size_t h, size_t i, double *out)
{
    const float *a = s->weights + ((b * s->heads + h) * s->queries + i) * s->keys;
    double visible = 0.0;
    for (size_t k = 0; k < MH_ROW_STATISTICS; k++)
        out[k] = 0.0;
    for (size_t j = 0; j < s->keys; j++)
        visible += reference_shows(mask, s->keys, b, h, i, j);
    if (visible == 0.0)
        return;
    long position = (long)i + mask->query_offset;
    for (size_t j = 0; j < s->keys; j++) {
        double w = (double)a[j];
        out[MH_ROW_ENTROPY_NATS] -= w > 0.0 ? w * log(w) : 0.0;
        out[MH_ROW_ENTROPY_BITS] -= w > 0.0 ? w * log2(w) : 0.0;
        out[MH_ROW_ENTROPY_EPSILON] -= w * log(w + 1e-8);
        if (w > out[MH_ROW_MAXIMUM]) {
            out[MH_ROW_MAXIMUM] = w;
            out[MH_ROW_ARGMAX] = (double)j;
        }
        if (j >= s->keys - mask->free_keys)
            continue;
        long distance = labs(position - (long)j);
        out[MH_ROW_DISTANCE] += w * (double)distance;
        if (distance == 0)
            out[MH_ROW_SELF] = w;
        if ((long)j == position - 1)
            out[MH_ROW_PREVIOUS] = w;
        if ((long)j == position + 1)
            out[MH_ROW_NEXT] = w;
    }
    out[MH_ROW_FIRST] = (double)a[0];
    out[MH_ROW_VISIBLE] = visible;
    out[MH_ROW_ENTROPY_NORMALISED] = visible > 1.0 ? out[MH_ROW_ENTROPY_NATS] / log(visible) : 0.0;
}

/* Standard deviation of a map's numbers on visible keys, in two passes. */
static double deviation(const struct mh_statistics *s, const struct mh_mask *mask, size_t b,
                        size_t h, const float *map)
{
    double mean = 0.0, variance = 0.0, count = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < s->queries; i++)
            for (size_t j = 0; j < s->keys; j++) {
                double x = (double)map[((b * s->heads + h) * s->queries + i) * s->keys + j];
                if (!reference_shows(mask, s->keys, b, h, i, j))
                    continue;
                count += pass == 0;
                mean += pass == 0 ? x : 0.0;
                variance += pass == 1 ? (x - mean) * (x - mean) : 0.0;
            }
        if (pass == 0 && count > 0.0)
            mean /= count;
    }
    return count > 0.0 ? sqrt(variance / count) : 0.0;
}

/* ===== A sweep ============================================================================== */

/* Two roundings of the largest numbers (dropout may make weights, distances and entropies large). */
static double tolerance_for(double expected)
{
    return 2e-6 * fmax(1.0, fabs(expected));
}

static void check_row(const float *actual, const double *expected)
{
    for (int32_t k = 0; k < MH_ROW_STATISTICS; k++) {
        if (!is_close((double)actual[k], expected[k], tolerance_for(expected[k])))
            fail_msg("%s is %.9g, not %.9g", mh_row_statistic_name(k), (double)actual[k],
                     expected[k]);
    }
}

/* By name, so that the test does not share the engine's table of which is the mean of which. */
static int32_t row_statistic_named(const char *name)
{
    for (int32_t k = 0; k < MH_ROW_STATISTICS; k++)
        if (strcmp(mh_row_statistic_name(k), name) == 0)
            return k;
    return -1;
}

static void check_head(const struct mh_statistics *s, const struct mh_mask *mask, size_t b,
                       size_t h, const float *actual)
{
    double sums[MH_ROW_STATISTICS] = {0.0}, row[MH_ROW_STATISTICS], seeing = 0.0;
    for (size_t i = 0; i < s->queries; i++) {
        describe_row(s, mask, b, h, i, row);
        seeing += row[MH_ROW_VISIBLE] > 0.0;
        for (size_t k = 0; k < MH_ROW_STATISTICS; k++)
            sums[k] += row[k];
    }
    for (int32_t k = 0; k < MH_HEAD_STATISTICS; k++) {
        int32_t mean_of = row_statistic_named(mh_head_statistic_name(k));
        double expected = 0.0;
        if (mean_of >= 0)
            expected = seeing > 0.0 ? sums[mean_of] / seeing : 0.0;
        else if (k == MH_HEAD_WEIGHT_DEVIATION)
            expected = deviation(s, mask, b, h, s->weights);
        else if (k == MH_HEAD_SCORE_DEVIATION)
            expected = s->scores != NULL ? deviation(s, mask, b, h, s->scores) : 0.0;
        else
            expected = (double)s->queries - seeing;
        if (!is_close((double)actual[k], expected, tolerance_for(expected)))
            fail_msg("%s is %.9g, not %.9g", mh_head_statistic_name(k), (double)actual[k],
                     expected);
    }
}

static void check_all(const struct mh_statistics *s)
{
    static const struct mh_mask everything = {0};
    const struct mh_mask *mask = s->mask != NULL ? s->mask : &everything;
    for (size_t b = 0; b < s->batch; b++)
        for (size_t h = 0; h < s->heads; h++) {
            for (size_t i = 0; i < s->queries; i++) {
                double expected[MH_ROW_STATISTICS];
                describe_row(s, mask, b, h, i, expected);
                size_t row = (b * s->heads + h) * s->queries + i;
                check_row(s->row_statistics + row * MH_ROW_STATISTICS, expected);
            }
            check_head(s, mask, b, h, s->head_statistics + (b * s->heads + h) * MH_HEAD_STATISTICS);
        }
}

/* Room for the statistics of the maps that attention gives out, all of them. */
static struct mh_statistics statistics_of(struct attention_case *c, bool scores)
{
    struct mh_attention *a = &c->attention;
    size_t rows = a->batch * a->heads * a->queries;
    a->weights = (struct mh_weights_out){.mode = MH_WEIGHTS_ALL,
                                         .data = pool_floats(&c->pool, rows * a->keys)};
    a->chosen_scores = (struct mh_choice){0};
    a->scores = scores ? pool_floats(&c->pool, rows * a->keys) : NULL;
    a->raw_scores = NULL;
    return (struct mh_statistics){
        .batch = a->batch,
        .heads = a->heads,
        .queries = a->queries,
        .keys = a->keys,
        .weights = a->weights.data,
        .scores = a->scores,
        .mask = &a->mask,
        .row_statistics = pool_floats(&c->pool, rows * MH_ROW_STATISTICS),
        .head_statistics = pool_floats(&c->pool, a->batch * a->heads * MH_HEAD_STATISTICS),
    };
}

static void check_case(struct attention_case *c, uint32_t *random)
{
    struct mh_statistics s = statistics_of(c, one_in(random, 2));
    if (one_in(random, 8) && s.scores == NULL)
        s.mask = NULL;
    run_attention(&c->attention);
    struct mh_error error;
    if (mh_statistics_compute(&s, &error) != MH_OK)
        fail_msg("%s", error.message);
    check_all(&s);
}

static void random_maps_agree_with_plain_doubles(void **state)
{
    (void)state;
    uint32_t random = 41;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, n, 20);
        check_case(&c, &random);
        free_attention_case(&c);
    }
}

/* The pass itself computes them, and whatever else it is asked for makes no difference. */
static void a_pass_describes_its_own_maps(void **state)
{
    (void)state;
    uint32_t random = 43;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, n, 20);
        struct mh_attention *a = &c.attention;
        struct mh_statistics s = statistics_of(&c, true);
        a->row_statistics = s.row_statistics;
        a->head_statistics = s.head_statistics;
        run_attention(a);
        check_all(&s);

        size_t rows = a->batch * a->heads * a->queries * MH_ROW_STATISTICS;
        size_t heads = a->batch * a->heads * MH_HEAD_STATISTICS;
        struct mh_attention alone = *a;
        alone.weights = (struct mh_weights_out){0};
        alone.scores = NULL;
        alone.row_statistics = one_in(&random, 2) ? pool_floats(&c.pool, rows) : NULL;
        alone.head_statistics = pool_floats(&c.pool, heads);
        run_attention(&alone);
        assert_memory_equal(alone.head_statistics, a->head_statistics, heads * sizeof(float));
        if (alone.row_statistics != NULL)
            assert_memory_equal(alone.row_statistics, a->row_statistics, rows * sizeof(float));
        free_attention_case(&c);
    }
}

/* ===== Numbers known by hand ================================================================ */

static void known_rows_have_known_numbers(void **state)
{
    (void)state;
    /* Uniform; one-hot on the first key; the third query sees nothing; tied maxima. */
    static const float weights[] = {0.25f, 0.25f, 0.25f, 0.25f, 1.0f, 0.0f, 0.0f, 0.0f,
                                    0.0f,  0.0f,  0.0f,  0.0f,  0.0f, 0.5f, 0.0f, 0.5f};
    static const uint8_t hidden[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0};
    struct mh_mask mask = {.hidden = hidden, .hidden_row_stride = 4};
    float rows[4][MH_ROW_STATISTICS], head[MH_HEAD_STATISTICS];
    struct mh_statistics s = {.batch = 1,
                              .heads = 1,
                              .queries = 4,
                              .keys = 4,
                              .weights = weights,
                              .mask = &mask,
                              .row_statistics = rows[0],
                              .head_statistics = head};
    assert_int_equal(mh_statistics_compute(&s, NULL), MH_OK);
    assert_close(rows[0][MH_ROW_ENTROPY_NATS], log(4.0), 1e-6);
    assert_close(rows[0][MH_ROW_ENTROPY_BITS], 2.0, 1e-6);
    assert_close(rows[0][MH_ROW_ENTROPY_NORMALISED], 1.0, 1e-6);
    assert_close(rows[0][MH_ROW_DISTANCE], 1.5, 1e-6);
    assert_close(rows[0][MH_ROW_NEXT], 0.25, 0.0);
    assert_close(rows[0][MH_ROW_PREVIOUS], 0.0, 0.0);
    assert_close(rows[1][MH_ROW_ENTROPY_NATS], 0.0, 0.0);
    assert_close(rows[1][MH_ROW_ENTROPY_EPSILON], 0.0, 1e-7);
    assert_close(rows[1][MH_ROW_PREVIOUS], 1.0, 0.0);
    assert_close(rows[1][MH_ROW_FIRST], 1.0, 0.0);
    for (size_t k = 0; k < MH_ROW_STATISTICS; k++)
        assert_true(rows[2][k] == 0.0f);
    assert_close(rows[3][MH_ROW_ARGMAX], 1.0, 0.0);
    assert_close(rows[3][MH_ROW_SELF], 0.5, 0.0);
    assert_close(rows[3][MH_ROW_DISTANCE], 1.0, 1e-6);
    assert_close(head[MH_HEAD_ENTROPY_BITS], 1.0, 1e-6); /* (2 + 0 + 1) / 3 */
    assert_close(head[MH_HEAD_MASKED_ROWS], 1.0, 0.0);
    assert_close(head[MH_HEAD_WEIGHT_DEVIATION], sqrt(1.75 / 12.0 - 0.0625), 1e-6);
    assert_close(head[MH_HEAD_SCORE_DEVIATION], 0.0, 0.0);
}

/* A large common offset must not eat the deviation. */
static void deviation_survives_a_large_mean(void **state)
{
    (void)state;
    static const float weights[] = {0.5f, 0.5f}, scores[] = {100000.0f, 100000.125f};
    float head[MH_HEAD_STATISTICS];
    struct mh_statistics s = {.batch = 1,
                              .heads = 1,
                              .queries = 1,
                              .keys = 2,
                              .weights = weights,
                              .scores = scores,
                              .head_statistics = head};
    assert_int_equal(mh_statistics_compute(&s, NULL), MH_OK);
    assert_close(head[MH_HEAD_SCORE_DEVIATION], 0.0625, 1e-9);
}

/* ===== Names and errors ===================================================================== */

static void names_are_those_of_the_lists(void **state)
{
    (void)state;
    assert_string_equal(mh_row_statistic_name(0), "entropyNats");
    assert_string_equal(mh_row_statistic_name(MH_ROW_VISIBLE), "visible");
    assert_null(mh_row_statistic_name(MH_ROW_STATISTICS));
    assert_null(mh_row_statistic_name(-1));
    assert_string_equal(mh_head_statistic_name(MH_HEAD_MASKED_ROWS), "maskedRows");
    assert_null(mh_head_statistic_name(MH_HEAD_STATISTICS));
    assert_null(mh_head_statistic_name(INT32_MIN));
}

static void assert_refused(const struct mh_statistics *s, enum mh_status status,
                           const char *message)
{
    struct mh_error error;
    assert_int_equal(mh_statistics_compute(s, &error), status);
    assert_string_equal(error.message, message);
    assert_int_equal(mh_statistics_compute(s, NULL), status);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    static const float weights[4];
    static const struct mh_mask bad = {.free_keys = 5};
    const struct mh_statistics sound = {
        .batch = 1, .heads = 1, .queries = 1, .keys = 4, .weights = weights};
    struct mh_statistics s = sound;
    assert_int_equal(mh_statistics_compute(&s, NULL), MH_OK); /* nothing asked for */
    s.batch = 0;
    assert_refused(&s, MH_ARGUMENT, "batch is 0: it must be at least 1");
    s = sound;
    s.heads = 0;
    assert_refused(&s, MH_ARGUMENT, "heads is 0: it must be at least 1");
    s = sound;
    s.queries = 0;
    assert_refused(&s, MH_ARGUMENT, "queries is 0: it must be at least 1");
    s = sound;
    s.keys = 0;
    assert_refused(&s, MH_ARGUMENT, "keys is 0: it must be at least 1");
    s = sound;
    s.weights = NULL;
    assert_refused(&s, MH_ARGUMENT, "weights is NULL");
    s = sound;
    s.mask = &bad;
    assert_refused(&s, MH_SHAPE, "mask.free_keys is 5, but there are only 4 keys");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_maps_agree_with_plain_doubles),
        cmocka_unit_test(a_pass_describes_its_own_maps),
        cmocka_unit_test(known_rows_have_known_numbers),
        cmocka_unit_test(deviation_survives_a_large_mean),
        cmocka_unit_test(names_are_those_of_the_lists),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
