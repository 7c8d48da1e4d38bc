/* Scaled dot-product attention: agreement with the float64 reference over random sizes, layouts,
 * masks and outputs. What must hold beyond that is in test_attention_properties.c, what must be
 * refused in test_attention_errors.c. */
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

enum { CASES = 2500 };

static const double tolerance = 1e-5;

/* Largest differences seen, so that a regression below the tolerance shows too. */
static struct worst {
    double output, weights, scores;
} worst;

static void compare(const float *actual, const double *expected, size_t n, const char *what,
                    double *largest)
{
    for (size_t i = 0; i < n; i++) {
        check_close((double)actual[i], expected[i], tolerance, i, what, __FILE__, __LINE__);
        if (isfinite(expected[i]))
            *largest = fmax(*largest, fabs((double)actual[i] - expected[i]));
    }
}

/* ===== One case against the reference ======================================================= */

static void check_output(const struct mh_attention *a, const struct reference *r)
{
    const double *expected = r->output;
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t i = 0; i < a->queries; i++, expected += a->value_dim)
                compare(output_row(a, b, h, i), expected, a->value_dim, "output", &worst.output);
}

static void check_mean(const struct mh_attention *a, const struct reference *r)
{
    size_t row = a->queries * a->keys;
    for (size_t b = 0; b < a->batch; b++)
        for (size_t e = 0; e < row; e++) {
            double mean = 0.0;
            for (size_t h = 0; h < a->heads; h++)
                mean += r->dropped[(b * a->heads + h) * row + e] / (double)a->heads;
            compare(a->weights.data + b * row + e, &mean, 1, "mean weights", &worst.weights);
        }
}

/* Of a map [B, H, T, S], what was chosen. */
static void check_choice(const struct mh_attention *a, const struct mh_choice *choice,
                         const float *actual, const double *map, const char *what, double *largest)
{
    size_t heads = choice->heads != NULL ? choice->head_count : a->heads;
    size_t rows = choice->rows != NULL ? choice->row_count : a->queries;
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < rows; i++, actual += a->keys) {
                size_t head = choice->heads != NULL ? (size_t)choice->heads[h] : h;
                size_t row = choice->rows != NULL ? (size_t)choice->rows[i] : i;
                compare(actual, map + ((b * a->heads + head) * a->queries + row) * a->keys, a->keys,
                        what, largest);
            }
}

static void check_case(const struct attention_case *c)
{
    const struct mh_attention *a = &c->attention;
    size_t map = a->batch * a->heads * a->queries * a->keys;
    struct reference r = reference_attention(a);
    struct mh_report report = run_attention(a);

    assert_int_equal(report.masked_rows, r.masked_rows);
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_NONE);
    check_output(a, &r);
    assert_gaps_untouched(c);
    if (a->raw_scores != NULL)
        check_choice(a, &a->chosen_scores, a->raw_scores, r.raw_scores, "raw scores",
                     &worst.scores);
    if (a->scores != NULL)
        check_choice(a, &a->chosen_scores, a->scores, r.scores, "scores", &worst.scores);
    if (a->weights.mode == MH_WEIGHTS_ALL)
        compare(a->weights.data, r.dropped, map, "weights", &worst.weights);
    if (a->weights.mode == MH_WEIGHTS_MEAN)
        check_mean(a, &r);
    const struct mh_weights_out *w = &a->weights;
    const struct mh_choice chosen = {w->heads, w->head_count, w->rows, w->row_count};
    if (w->mode == MH_WEIGHTS_ROWS)
        check_choice(a, &chosen, w->data, r.dropped, "chosen weights", &worst.weights);
    reference_free(&r);
}

/* ===== Sweeps =============================================================================== */

static void random_cases_agree_with_the_reference(void **state)
{
    (void)state;
    uint32_t random = 20240607;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, n, 18);
        check_case(&c);
        free_attention_case(&c);
    }
    print_message("%d cases: output off by at most %.2g, weights %.2g, scores %.2g\n", CASES,
                  worst.output, worst.weights, worst.scores);
}

static void larger_cases_agree_with_the_reference(void **state)
{
    (void)state;
    uint32_t random = 77;
    for (size_t n = 0; n < 60; n++) {
        struct attention_case c = make_attention_case(&random, n, 150);
        check_case(&c);
        free_attention_case(&c);
    }
}

/* Scores up to 90: their exponentials overflow, those of their differences to the largest do not. */
static void large_scores_do_not_overflow(void **state)
{
    (void)state;
    const float query[] = {1.0f}, keys[] = {1000.0f, 999.0f, -1000.0f};
    const float values[] = {1.0f, 2.0f, 3.0f};
    float output, weights[3];
    struct mh_attention a = {
        .batch = 1,
        .queries = 1,
        .keys = 3,
        .heads = 1,
        .kv_heads = 1,
        .head_dim = 1,
        .value_dim = 1,
        .query = {.data = query},
        .key = {.data = keys, .row_stride = 1},
        .value = {.data = values, .row_stride = 1},
        .output = {.data = &output},
        .weights = {.mode = MH_WEIGHTS_ALL, .data = weights},
    };
    run_attention(&a);
    assert_close(weights[0], 1.0 / (1.0 + exp(-1.0)), 1e-6);
    assert_close(weights[1], 1.0 / (1.0 + exp(1.0)), 1e-6);
    assert_true(weights[2] == 0.0f);
    assert_close(output, 1.0 + 1.0 / (1.0 + exp(1.0)), 1e-6);
}

/* ===== Rows without a visible key =========================================================== */

static void assert_all_zero(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(x[i] == 0.0f);
}

static void rows_without_a_visible_key_are_zero_and_counted(void **state)
{
    (void)state;
    uint32_t random = 3;
    static const float nothing[40] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    const int32_t lengths[3] = {0};
    for (size_t n = 0; n < 100; n++) {
        struct attention_case c = make_attention_case(&random, 0, 5);
        struct mh_attention *a = &c.attention;
        size_t map = a->batch * a->heads * a->queries * a->keys;
        a->mask = n % 2 == 0 ? (struct mh_mask){.bias = nothing}
                             : (struct mh_mask){.key_lengths = lengths};
        a->weights =
            (struct mh_weights_out){.mode = MH_WEIGHTS_ALL, .data = pool_floats(&c.pool, map)};
        a->check_finite = 1;
        struct mh_report report = run_attention(a);
        assert_int_equal(report.masked_rows, a->batch * a->heads * a->queries);
        assert_all_zero(a->weights.data, map);
        for (size_t b = 0; b < a->batch; b++)
            for (size_t h = 0; h < a->heads; h++)
                for (size_t i = 0; i < a->queries; i++)
                    assert_all_zero(output_row(a, b, h, i), a->value_dim);
        free_attention_case(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases_agree_with_the_reference),
        cmocka_unit_test(larger_cases_agree_with_the_reference),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(rows_without_a_visible_key_are_zero_and_counted),
    };
    return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
