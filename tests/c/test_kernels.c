/* The kernels that work on a row, against plain loops in double. Inputs have exactly the size they
 * need, so that the address sanitizer sees any access beyond them; outputs lie between marks that
 * must stay. */
#include "kernels/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simd/f32x4_math.h"
#include "support/compare.h"
#include "support/pool.h"
#include "support/random.h"

/* Every length up to 67, then some on both sides of where sums change blocks. */
static const size_t LONG[] = {255, 256, 257, 511, 517, 1000};
enum { LONGEST = 1000, EVERY_UP_TO = 67, LENGTHS = EVERY_UP_TO + 1 + sizeof LONG / sizeof *LONG };

static size_t length(size_t i)
{
    return i <= EVERY_UP_TO ? i : LONG[i - EVERY_UP_TO - 1];
}

/* ===== Rows in memory ======================================================================= */

enum { MARGIN = 4 };
static const float MARK = 12345.0f;

/* A row to be written: odd addresses, marks on both sides. */
static float *output_row(struct pool *pool, size_t n)
{
    float *block = pool_floats(pool, MARGIN + 1 + n + MARGIN);
    for (size_t i = 0; i < MARGIN + 1 + n + MARGIN; i++)
        block[i] = MARK;
    return block + MARGIN + 1;
}

static void check_marks(const float *row, size_t n)
{
    for (size_t i = 1; i <= MARGIN; i++) {
        assert_true(row[-(ptrdiff_t)i] == MARK);
        assert_true(row[n + i - 1] == MARK);
    }
}

/* A row to be read: exact, at an odd address. */
static float *input_row(struct pool *pool, size_t n, float low, float high)
{
    uint32_t seed = (uint32_t)(1 + n);
    float *row = pool_floats(pool, 1 + n) + 1;
    random_fill(&seed, row, n, low, high);
    return row;
}

/* Maps a row element by element; `reference` and the largest error for it are of doubles. */
struct map {
    void (*kernel)(float *out, const float *x, size_t n);
    double (*reference)(double x);
    double (*tolerance)(double x);
};

static void check_map_at(const struct map *map, float low, float high)
{
    for (size_t i = 0; i < LENGTHS; i++) {
        struct pool pool = {0};
        const size_t n = length(i);
        float *x = input_row(&pool, n, low, high);
        float *out = output_row(&pool, n);
        map->kernel(out, x, n);
        check_marks(out, n);
        for (size_t j = 0; j < n; j++)
            assert_close(out[j], map->reference((double)x[j]), map->tolerance((double)x[j]));
        map->kernel(x, x, n);
        assert_memory_equal(x, out, n * sizeof *x); /* in place */
        pool_free(&pool);
    }
}

/* ===== Softmax ============================================================================== */

static void max_of_rows_of_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTHS; i++) {
        struct pool pool = {0};
        const size_t n = length(i);
        float *x = input_row(&pool, n, -2.0f, -1.0f);
        for (size_t j = 0; j < n; j++) { /* the largest element at every place */
            const float before = x[j];
            x[j] = -0.5f;
            assert_true(mh_row_max(x, n) == -0.5f);
            x[j] = before;
        }
        pool_free(&pool);
    }
}

static void max_of_nothing_infinities_and_nan(void **state)
{
    (void)state;
    assert_true(mh_row_max(NULL, 0) == -INFINITY);
    for (size_t n = 1; n <= 19; n++) {
        float x[19];
        for (size_t j = 0; j < n; j++)
            x[j] = NAN;
        assert_true(isnan(mh_row_max(x, n)));
        for (size_t j = 0; j < n; j++) { /* one number among NaNs */
            x[j] = -INFINITY;
            assert_true(mh_row_max(x, n) == -INFINITY);
            x[j] = -3.0f;
            assert_true(mh_row_max(x, n) == -3.0f);
            x[j] = INFINITY;
            assert_true(mh_row_max(x, n) == INFINITY);
            x[j] = NAN;
        }
    }
}

static double exp_tolerance(double x)
{
    return 1.2e-7 * exp(x);
}

static void exp_is_accurate_wherever_it_is_a_normal_number(void **state)
{
    (void)state;
    enum { STEPS = 400000 };
    const struct exp_constants k = exp_constants();
    for (size_t i = 0; i <= STEPS; i++) {
        const float x = -86.98f + (88.722f + 86.98f) * (float)i / (float)STEPS;
        const double actual = (double)f32x4_lane(f32x4_exp(f32x4_splat(x), &k), 0);
        assert_close(actual, exp((double)x), exp_tolerance((double)x));
    }
}

static void exp_of_special_numbers(void **state)
{
    (void)state;
    const float x[] = {0.0f,      -0.0f,  1e-30f, -87.4f, -104.0f, -1e30f,
                       -INFINITY, 88.73f, 89.5f,  1e30f,  INFINITY};
    const float expected[] = {1.0f, 1.0f,     1.0f,     0.0f,     0.0f,    0.0f,
                              0.0f, INFINITY, INFINITY, INFINITY, INFINITY};
    enum { COUNT = sizeof x / sizeof *x };
    float out[COUNT], nan = NAN;
    assert_true(mh_row_exp(out, x, 0.0f, COUNT) == INFINITY);
    assert_all_close(out, expected, COUNT, 0.0);
    assert_true(isnan(mh_row_exp(&nan, &nan, 0.0f, 1)) && isnan(nan));
    for (float tiny = -86.5f; tiny > -104.0f; tiny -= 0.01f) { /* normal or zero */
        mh_row_exp(out, &tiny, 0.0f, 1);
        assert_true(out[0] == 0.0f || out[0] >= FLT_MIN);
    }
}

/* exp(x) would overflow; exp(x - max) does not. Some keys are hidden. */
static void exp_of_rows_and_their_sum(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTHS; i++) {
        struct pool pool = {0};
        const size_t n = length(i);
        float *x = input_row(&pool, n, 90.0f, 100.0f);
        for (size_t j = 3; j < n; j += 5)
            x[j] = -INFINITY;
        float *out = output_row(&pool, n);
        const float shift = n == 0 ? 0.0f : mh_row_max(x, n);
        const float sum = mh_row_exp(out, x, shift, n);
        check_marks(out, n);
        double expected = 0.0;
        for (size_t j = 0; j < n; j++) {
            const double term = (double)(x[j] - shift);
            assert_close(out[j], exp(term), exp_tolerance(term));
            expected += exp(term);
        }
        assert_close(sum, expected, 1e-6 * expected);
        assert_true(mh_row_exp(x, x, shift, n) == sum);
        assert_memory_equal(x, out, n * sizeof *x); /* in place */
        pool_free(&pool);
    }
}

/* What softmax needs: numbers up to the largest, a scale, some keys hidden. */
static void exp_below_the_largest_and_its_sum(void **state)
{
    (void)state;
    static const float scales[] = {1.0f, 0.125f, 0.7f};
    for (size_t i = 0; i < 3 * LENGTHS; i++) {
        struct pool pool = {0};
        const size_t n = length(i / 3);
        const float scale = scales[i % 3], largest = 60.0f;
        float *x = input_row(&pool, n, -40.0f, largest);
        for (size_t j = 3; j < n; j += 5)
            x[j] = -INFINITY;
        if (n > 0)
            x[n / 2] = largest;
        float *out = output_row(&pool, n);
        const float sum = mh_row_exp_below(out, x, largest, scale, n);
        check_marks(out, n);
        double expected = 0.0;
        for (size_t j = 0; j < n; j++) {
            const double term = (double)scale * ((double)x[j] - (double)largest);
            const double value = term < -86.98 ? 0.0 : exp(term);
            assert_close(out[j], value, term < -86.98 ? 2e-38 : 2e-7 * (1.0 - term) * value);
            assert_true(out[j] == 0.0f || out[j] >= FLT_MIN);
            expected += value;
        }
        assert_true(n == 0 || out[n / 2] == 1.0f);
        assert_close(sum, expected, 2e-6 * expected);
        assert_true(mh_row_exp_below(x, x, largest, scale, n) == sum);
        assert_memory_equal(x, out, n * sizeof *x); /* in place */
        pool_free(&pool);
    }
    float nan[] = {1.0f, NAN};
    assert_true(isnan(mh_row_exp_below(nan, nan, 1.0f, 1.0f, 2)));
    assert_true(nan[0] == 1.0f && isnan(nan[1]));
}

static void long_sums_stay_accurate(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct pool pool = {0};
    float *x = input_row(&pool, N, -0.1f, 0.0f);
    double expected = 0.0;
    for (size_t j = 0; j < N; j++)
        expected += exp((double)x[j]);
    assert_close(mh_row_exp(x, x, 0.0f, N), expected, 2e-7 * expected);
    pool_free(&pool);
}

/* ===== Scale, add =========================================================================== */

static void scale_by_0_3(float *out, const float *x, size_t n)
{
    mh_row_scale(out, x, 0.3f, n);
}

static double times_0_3(double x)
{
    return (double)((float)x * 0.3f);
}

static double exactly(double x)
{
    (void)x;
    return 0.0;
}

static void scale_is_one_product_for_each_element(void **state)
{
    (void)state;
    check_map_at(&(struct map){scale_by_0_3, times_0_3, exactly}, -3.0f, 3.0f);
}

static void add_is_one_sum_for_each_element(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTHS; i++) {
        struct pool pool = {0};
        const size_t n = length(i);
        float *a = input_row(&pool, n, -1.0f, 1.0f);
        float *b = input_row(&pool, n, 1.0f, 9.0f);
        float *twice = input_row(&pool, n, -1.0f, 1.0f);
        float *out = output_row(&pool, n);
        mh_row_add(out, a, b, n);
        check_marks(out, n);
        for (size_t j = 0; j < n; j++)
            assert_true(out[j] == a[j] + b[j]);
        mh_row_add(b, a, b, n); /* in place, on either side, or both */
        assert_memory_equal(b, out, n * sizeof *b);
        mh_row_add(twice, twice, twice, n);
        for (size_t j = 0; j < n; j++)
            assert_true(twice[j] == 2.0f * a[j]);
        pool_free(&pool);
    }
}

/* ===== Layer norm =========================================================================== */

static void layer_norm_reference(double *out, const float *x, const float *weight,
                                 const float *bias, double epsilon, size_t n)
{
    double mean = 0.0, variance = 0.0;
    for (size_t j = 0; j < n; j++)
        mean += (double)x[j] / (double)n;
    for (size_t j = 0; j < n; j++)
        variance += ((double)x[j] - mean) * ((double)x[j] - mean) / (double)n;
    for (size_t j = 0; j < n; j++) {
        out[j] = ((double)x[j] - mean) / sqrt(variance + epsilon);
        out[j] = out[j] * (weight == NULL ? 1.0 : (double)weight[j]);
        out[j] += bias == NULL ? 0.0 : (double)bias[j];
    }
}

static void check_layer_norm(size_t n, int with_weight, int with_bias, float middle)
{
    struct pool pool = {0};
    const float epsilon = 1e-5f;
    float *x = input_row(&pool, n, middle - 2.0f, middle + 2.0f);
    const float *weight = with_weight ? input_row(&pool, n, 0.5f, 2.0f) : NULL;
    const float *bias = with_bias ? input_row(&pool, n, -1.0f, 1.0f) : NULL;
    float *out = output_row(&pool, n);
    double expected[LONGEST];
    layer_norm_reference(expected, x, weight, bias, (double)epsilon, n);
    mh_row_layer_norm(out, x, weight, bias, epsilon, n);
    check_marks(out, n);
    assert_all_close(out, expected, n, 2e-6);
    mh_row_layer_norm(x, x, weight, bias, epsilon, n);
    assert_memory_equal(x, out, n * sizeof *x); /* in place */
    pool_free(&pool);
}

static void layer_norm_of_rows_of_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTHS; i++) {
        check_layer_norm(length(i), 1, 1, 0.0f);
        check_layer_norm(length(i), 1, 0, 0.0f);
        check_layer_norm(length(i), 0, 1, 0.0f);
        check_layer_norm(length(i), 0, 0, 0.0f);
        check_layer_norm(length(i), 1, 1, 1000.0f); /* far from 0 */
    }
}

static void layer_norm_of_a_row_with_nan_or_infinity_is_nan(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * 11; i++) {
        float x[11] = {1.0f, 2.0f, 3.0f};
        float out[11];
        x[i / 3] = bad[i % 3];
        mh_row_layer_norm(out, x, NULL, NULL, 1e-5f, 11);
        for (size_t j = 0; j < 11; j++)
            assert_true(isnan(out[j]));
    }
}

static void layer_norm_of_a_constant_row_is_the_bias(void **state)
{
    (void)state;
    const float x[] = {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f};
    const float bias[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f};
    float out[7];
    mh_row_layer_norm(out, x, NULL, bias, 1e-5f, 7);
    assert_all_close(out, bias, 7, 1e-5);
}

/* ===== Activations ========================================================================== */

static double gelu(double x)
{
    return x * 0.5 * erfc(-x * sqrt(0.5));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static double gelu_tolerance(double x)
{
    return 2e-7 * fmax(1.0, fabs(x));
}

static double relu(double x)
{
    return x > 0.0 ? x : 0.0;
}

static void activations_of_rows_of_every_length(void **state)
{
    (void)state;
    check_map_at(&(struct map){mh_row_gelu, gelu, gelu_tolerance}, -6.0f, 6.0f);
    check_map_at(&(struct map){mh_row_gelu_tanh, gelu_tanh, gelu_tolerance}, -6.0f, 6.0f);
    check_map_at(&(struct map){mh_row_relu, relu, exactly}, -6.0f, 6.0f);
}

static void gelu_is_accurate_everywhere(void **state)
{
    (void)state;
    enum { STEPS = 60000 };
    for (size_t i = 0; i <= STEPS; i++) {
        const float x = -30.0f + 60.0f * (float)i / (float)STEPS;
        float out;
        mh_row_gelu(&out, &x, 1);
        assert_close(out, gelu((double)x), gelu_tolerance((double)x));
        mh_row_gelu_tanh(&out, &x, 1);
        assert_close(out, gelu_tanh((double)x), gelu_tolerance((double)x));
    }
}

static void activations_of_special_numbers(void **state)
{
    (void)state;
    const float x[] = {0.0f, 1e30f, INFINITY, -1e30f, -50.0f, NAN};
    float out[6];
    const double expected[] = {0.0, 1e30, (double)INFINITY, 0.0, 0.0, (double)NAN};
    mh_row_gelu(out, x, 6);
    assert_all_close(out, expected, 6, 1e24);
    mh_row_gelu_tanh(out, x, 6);
    assert_all_close(out, expected, 6, 1e24);
    mh_row_relu(out, x, 6);
    assert_all_close(out, expected, 6, 1e24);
    const float least = -INFINITY;
    mh_row_gelu(out, &least, 1);
    assert_close(out[0], 0.0, 0.0);
    mh_row_gelu_tanh(out, &least, 1);
    assert_true(isnan(out[0]));
}

/* ===== Guard, entropy ======================================================================= */

static void first_nonfinite_at_every_place(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < LENGTHS; i++) {
        struct pool pool = {0};
        const size_t n = length(i);
        float *x = input_row(&pool, n, -FLT_MAX / 2.0f, FLT_MAX / 2.0f);
        assert_int_equal(mh_row_first_nonfinite(x, n), n);
        for (size_t j = n; j-- > 0;) { /* every later one is bad too */
            x[j] = bad[j % 3];
            assert_int_equal(mh_row_first_nonfinite(x, n), j);
        }
        pool_free(&pool);
    }
}

static void ln_is_accurate_for_every_positive_number(void **state)
{
    (void)state;
    const struct log_constants k = log_constants();
    for (uint32_t bits = 1; bits < 0x7f800000; bits += 9973) {
        float x;
        memcpy(&x, &bits, sizeof x);
        const double expected = log((double)x);
        assert_close(f32x4_lane(f32x4_log(f32x4_splat(x), &k), 0), expected, 1e-7 * fabs(expected));
    }
    assert_true(f32x4_lane(f32x4_log(f32x4_splat(1.0f), &k), 0) == 0.0f);
}

/* Weights as a softmax gives them: positive, of sum 1, some 0. */
static void fill_weights(float *x, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) {
        x[j] = j % 7 == 6 ? 0.0f : expf(x[j]);
        sum += (double)x[j];
    }
    for (size_t j = 0; j < n; j++)
        x[j] = (float)((double)x[j] / sum);
}

static double entropy_reference(const float *x, double epsilon, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++)
        sum -= x[j] > 0.0f ? (double)x[j] * log((double)x[j] + epsilon) : 0.0;
    return sum;
}

static void entropy_of_rows_of_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTHS; i++) {
        struct pool pool = {0};
        const size_t n = length(i);
        float *x = input_row(&pool, n, -8.0f, 3.0f);
        fill_weights(x, n);
        assert_close(mh_row_entropy(x, n), entropy_reference(x, 0.0, n), 1e-6);
        assert_close(mh_row_entropy_epsilon(x, 1e-8f, n), entropy_reference(x, 1e-8, n), 1e-6);
        pool_free(&pool);
    }
}

static void entropy_of_known_rows(void **state)
{
    (void)state;
    enum { N = 5000 };
    struct pool pool = {0};
    float *x = pool_floats(&pool, N);
    for (size_t j = 0; j < N; j++)
        x[j] = 1.0f / (float)N;
    assert_close(mh_row_entropy(x, N), log(N), 1e-6 * log(N)); /* uniform */
    memset(x, 0, N * sizeof *x);
    assert_int_equal(signbit(mh_row_entropy(x, N)), 0);
    assert_true(mh_row_entropy(x, N) == 0.0f);
    x[17] = 1.0f; /* one-hot */
    assert_true(mh_row_entropy(x, N) == 0.0f);
    assert_int_equal(signbit(mh_row_entropy(x, N)), 0);
    for (size_t j = 0; j < N; j++) /* denormals */
        x[j] = 1e-40f;
    const double expected = entropy_reference(x, 0.0, N);
    assert_close(mh_row_entropy(x, N), expected, 1e-5 * expected);
    pool_free(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_of_rows_of_every_length),
        cmocka_unit_test(max_of_nothing_infinities_and_nan),
        cmocka_unit_test(exp_is_accurate_wherever_it_is_a_normal_number),
        cmocka_unit_test(exp_of_special_numbers),
        cmocka_unit_test(exp_of_rows_and_their_sum),
        cmocka_unit_test(exp_below_the_largest_and_its_sum),
        cmocka_unit_test(long_sums_stay_accurate),
        cmocka_unit_test(scale_is_one_product_for_each_element),
        cmocka_unit_test(add_is_one_sum_for_each_element),
        cmocka_unit_test(layer_norm_of_rows_of_every_length),
        cmocka_unit_test(layer_norm_of_a_row_with_nan_or_infinity_is_nan),
        cmocka_unit_test(layer_norm_of_a_constant_row_is_the_bias),
        cmocka_unit_test(activations_of_rows_of_every_length),
        cmocka_unit_test(gelu_is_accurate_everywhere),
        cmocka_unit_test(activations_of_special_numbers),
        cmocka_unit_test(first_nonfinite_at_every_place),
        cmocka_unit_test(ln_is_accurate_for_every_positive_number),
        cmocka_unit_test(entropy_of_rows_of_every_length),
        cmocka_unit_test(entropy_of_known_rows),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
