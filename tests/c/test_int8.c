/* The int8 product: exact where numbers are integers, within its own rounding where they are not, and
 * bit by bit what the formula of kernels/int8.h says. Operands have exactly the size they need, so
 * that the address sanitizer sees any access beyond them. */
#include "kernels/int8.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/pool.h"
#include "support/random.h"

enum { LARGEST = 67, EVERY_UP_TO = 13, NR = MH_INT8_COLUMNS };

/* ===== Running ============================================================================== */

struct product {
    size_t m, n, k;
    const float *a; /* [m, k] */
    const float *b; /* [k, n] */
    const float *bias;
    float *c; /* [m, n] */
};

static struct product make(struct pool *pool, size_t m, size_t n, size_t k)
{
    struct product p = {.m = m, .n = n, .k = k};
    p.a = pool_floats(pool, m * k);
    p.b = pool_floats(pool, k * n);
    p.bias = pool_floats(pool, n);
    p.c = pool_floats(pool, m * n);
    for (size_t i = 0; i < m * n; i++)
        p.c[i] = 1e30f;
    return p;
}

/* In two parts of the rows and of the columns, as threads do. */
static void run(struct pool *pool, const struct product *p)
{
    float *packed = pool_floats(pool, mh_int8_packed_size(p->k, p->n));
    void *rows = pool_take(pool, mh_int8_rows_size(p->m, p->k), 1);
    size_t half_m = p->m / 2, half_n = p->n / 2 / NR * NR;
    mh_int8_pack(packed, p->b, p->k, p->n, p->n, 1);
    mh_int8_quantise(rows, p->a, p->k, p->k, 0, half_m);
    mh_int8_quantise(rows, p->a, p->k, p->k, half_m, p->m);
    const size_t m_parts[] = {0, half_m, p->m}, n_parts[] = {0, half_n, p->n};
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            mh_int8_gemm(p->c, p->n, rows, packed, p->bias, p->n, p->k, m_parts[i], m_parts[i + 1],
                         n_parts[j], n_parts[j + 1]);
}

/* ===== Exact integers ======================================================================= */

static int32_t random_integer(uint32_t *state, int32_t most)
{
    return (int32_t)(random_u32(state) % (uint32_t)(2 * most + 1)) - most;
}

/* Rows from -127 to 127 and columns up to ±63 have the scale 1, so that nothing is rounded. */
static void fill_with_integers(uint32_t *state, const struct product *p, int extreme)
{
    float *a = (float *)p->a, *b = (float *)p->b, *bias = (float *)p->bias;
    for (size_t i = 0; i < p->m * p->k; i++)
        a[i] = (float)(extreme ? (random_u32(state) % 2 ? 127 : -127) : random_integer(state, 127));
    for (size_t m = 0; p->k > 1 && m < p->m; m++) {
        size_t first = random_u32(state) % p->k;
        a[m * p->k + first] = 127.0f;
        a[m * p->k + (first + 1) % p->k] = -127.0f;
    }
    for (size_t i = 0; i < p->k * p->n; i++)
        b[i] = (float)(extreme ? (random_u32(state) % 2 ? 63 : -63) : random_integer(state, 63));
    for (size_t n = 0; p->k > 0 && n < p->n; n++)
        b[random_u32(state) % p->k * p->n + n] = random_u32(state) % 2 ? 63.0f : -63.0f;
    for (size_t n = 0; n < p->n; n++)
        bias[n] = (float)random_integer(state, 1000);
}

static void check_integers(size_t m, size_t n, size_t k, int extreme)
{
    struct pool pool = {0};
    uint32_t seed = (uint32_t)(1 + m * 10000 + n * 100 + k);
    struct product p = make(&pool, m, n, k);
    fill_with_integers(&seed, &p, extreme);
    run(&pool, &p);
    for (size_t i = 0; i < m * n; i++) {
        int64_t sum = (int64_t)p.bias[i % n];
        for (size_t d = 0; d < k; d++)
            sum += (int64_t)p.a[i / n * k + d] * (int64_t)p.b[d * n + i % n];
        if (p.c[i] != (float)sum)
            fail_msg("%zu x %zu x %zu: element %zu is %.9g, not %lld", m, n, k, i, (double)p.c[i],
                     (long long)sum);
    }
    pool_free(&pool);
}

static void sums_of_integers_are_exact_at_every_size(void **state)
{
    (void)state;
    for (size_t m = 1; m <= EVERY_UP_TO; m++)
        for (size_t n = 1; n <= EVERY_UP_TO; n++)
            for (size_t k = 0; k <= EVERY_UP_TO; k++)
                check_integers(m, n, k, (int)((m + n + k) % 2));
    for (size_t size = 1; size <= LARGEST; size++) {
        check_integers(size, 21, 19, 0);
        check_integers(5, size, 19, 1);
        check_integers(5, 21, size, 0);
        check_integers(1, size, size, 1);
        check_integers(size, size, 3, 0);
        check_integers(size, size, size, 1);
    }
}

/* 2^17 products of the largest magnitudes, of one sign: no sum overflows. */
static void the_longest_sum_does_not_overflow(void **state)
{
    (void)state;
    struct pool pool = {0};
    size_t k = MH_INT8_LONGEST;
    struct product p = make(&pool, 2, 2, k);
    float *a = (float *)p.a, *b = (float *)p.b;
    for (size_t i = 0; i < k; i++) {
        a[i] = i == 0 ? -127.0f : 127.0f;
        a[k + i] = i == 0 ? 127.0f : -127.0f;
        b[2 * i] = 63.0f;
        b[2 * i + 1] = -63.0f;
    }
    memset((float *)p.bias, 0, 2 * sizeof(float));
    run(&pool, &p);
    double sum = 127.0 * 63.0 * ((double)k - 2.0);
    const double expected[4] = {sum, -sum, -sum, sum};
    assert_all_close(p.c, expected, 4, sum * (double)FLT_EPSILON);
    pool_free(&pool);
}

/* ===== Floats =============================================================================== */

/* The formula of kernels/int8.h, one number at a time. */
static float in_plain_floats(const struct product *p, size_t m, size_t n)
{
    const float *a = p->a + m * p->k;
    float low = a[0], high = a[0], largest = 0.0f;
    for (size_t d = 0; d < p->k; d++) {
        low = fminf(low, a[d]);
        high = fmaxf(high, a[d]);
        largest = fmaxf(largest, fabsf(p->b[d * p->n + n]));
    }
    float middle = 0.5f * low + 0.5f * high;
    float scale = fmaxf(high - middle, middle - low) / 127.0f, weight_scale = largest / 63.0f;
    float inverse = isfinite(1.0f / scale) ? 1.0f / scale : 0.0f;
    float weight_inverse = isfinite(1.0f / weight_scale) ? 1.0f / weight_scale : 0.0f;
    int32_t sum = 0, weight_sum = 0;
    for (size_t d = 0; d < p->k; d++) {
        int32_t q = (int32_t)rintf((a[d] - middle) * inverse);
        int32_t w = (int32_t)roundf(p->b[d * p->n + n] * weight_inverse);
        sum += q * w;
        weight_sum += w;
    }
    float constant = middle * (weight_scale * (float)weight_sum);
    return scale * weight_scale * (float)sum + constant + p->bias[n];
}

static void results_are_the_bits_of_the_formula(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (size_t k = 1; k <= 2 * LARGEST; k++) {
        struct pool pool = {0};
        struct product p = make(&pool, 3, NR + 5, k);
        float shift = random_between(&seed, -3.0f, 3.0f);
        random_fill(&seed, (float *)p.a, p.m * k, shift - 2.0f, shift + 2.0f);
        random_fill(&seed, (float *)p.b, k * p.n, -0.3f, 0.3f);
        random_fill(&seed, (float *)p.bias, p.n, -1.0f, 1.0f);
        run(&pool, &p);
        for (size_t i = 0; i < p.m * p.n; i++) {
            float expected = in_plain_floats(&p, i / p.n, i % p.n);
            assert_memory_equal(&p.c[i], &expected, sizeof expected);
        }
        pool_free(&pool);
    }
}

/* Half a step of the row and of the column in every product. */
static void rounding_errors_stay_within_half_a_step(void **state)
{
    (void)state;
    uint32_t seed = 11;
    for (size_t k = 1; k <= 512; k = 2 * k + 1) {
        struct pool pool = {0};
        struct product p = make(&pool, 4, NR + 1, k);
        random_fill(&seed, (float *)p.a, p.m * k, -1.0f, 2.0f);
        random_fill(&seed, (float *)p.b, k * p.n, -0.5f, 0.5f);
        memset((float *)p.bias, 0, p.n * sizeof(float));
        run(&pool, &p);
        for (size_t i = 0; i < p.m * p.n; i++) {
            double sum = 0.0, allowed = 1e-5;
            for (size_t d = 0; d < k; d++) {
                double a = (double)p.a[i / p.n * k + d], b = (double)p.b[d * p.n + i % p.n];
                sum += a * b;
                allowed += 1.5 / 254 * 0.5 + 0.5 / 126 * (fabs(a) + 1.5 / 254);
            }
            assert_close(p.c[i], sum, allowed);
        }
        pool_free(&pool);
    }
}

static void rows_without_a_range_are_exact(void **state)
{
    (void)state;
    const float values[] = {0.0f, 1.0f, -3.5f, 1e-40f, 1e30f};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        struct pool pool = {0};
        struct product p = make(&pool, 1, 3, 21);
        for (size_t d = 0; d < p.k; d++) {
            ((float *)p.a)[d] = values[v];
            for (size_t n = 0; n < p.n; n++)
                ((float *)p.b)[d * p.n + n] = n == 0 ? 63.0f : n == 1 ? -21.0f : 0.0f;
        }
        memset((float *)p.bias, 0, p.n * sizeof(float));
        run(&pool, &p);
        assert_close(p.c[0], 63.0 * 21.0 * (double)values[v], 1e-6 * fabs((double)p.c[0]));
        assert_close(p.c[1], -21.0 * 21.0 * (double)values[v], 1e-6 * fabs((double)p.c[1]));
        assert_true(p.c[2] == 0.0f);
        pool_free(&pool);
    }
}

/* A number far larger than its neighbours takes the steps for itself: they become one step or none,
 * and the outlier's own product is right. Up to the largest float, nothing overflows on the way. */
static void one_huge_outlier(void **state)
{
    (void)state;
    const float outliers[] = {1e6f, -1e30f, FLT_MAX, -FLT_MAX};
    for (size_t o = 0; o < sizeof outliers / sizeof *outliers; o++) {
        struct pool pool = {0};
        struct product p = make(&pool, 2, 2, 33);
        for (size_t i = 0; i < p.m * p.k; i++)
            ((float *)p.a)[i] = (float)(i % 3) - 1.0f;
        ((float *)p.a)[5] = outliers[o];
        for (size_t i = 0; i < p.k * p.n; i++)
            ((float *)p.b)[i] = i % 2 == 0 ? 0x1p-10f : 0.0f;
        memset((float *)p.bias, 0, p.n * sizeof(float));
        run(&pool, &p);
        double outlier = (double)outliers[o];
        assert_close(p.c[0], outlier * 0x1p-10, 33.0 * fabs(outlier) / 254.0 * 0x1p-10);
        assert_true(p.c[1] == 0.0f);
        assert_close(p.c[2], 0.0, 33.0 / 254.0 * 0x1p-10); /* the other row knows nothing of it */
        pool_free(&pool);
    }
}

static void nonfinite_numbers_stay_in_their_row_and_column(void **state)
{
    (void)state;
    enum { M = 5, N = NR + 3, K = 19 };
    struct pool pool = {0};
    struct product p = make(&pool, M, N, K);
    for (size_t i = 0; i < M * K; i++)
        ((float *)p.a)[i] = 1.0f;
    for (size_t i = 0; i < K * N; i++)
        ((float *)p.b)[i] = 2.0f;
    memset((float *)p.bias, 0, N * sizeof(float));
    ((float *)p.a)[1 * K + 2] = NAN;
    ((float *)p.a)[3 * K + K - 1] = INFINITY;
    ((float *)p.b)[2 * N + N - 1] = -INFINITY;
    ((float *)p.b)[2 * N] = NAN;
    run(&pool, &p);
    for (size_t i = 0; i < M * N; i++) {
        int spoilt = i / N == 1 || i / N == 3 || i % N == 0 || i % N == N - 1;
        assert_close(p.c[i], spoilt ? (double)NAN : 38.0, 1e-4);
    }
    pool_free(&pool);
}

static void a_packed_matrix_is_a_quarter_of_the_floats(void **state)
{
    (void)state;
    assert_true((double)mh_int8_packed_size(128, 512) < 0.27 * 128 * 512);
    assert_true((double)mh_int8_packed_size(384, 1536) < 0.26 * 384 * 1536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_integers_are_exact_at_every_size),
        cmocka_unit_test(the_longest_sum_does_not_overflow),
        cmocka_unit_test(results_are_the_bits_of_the_formula),
        cmocka_unit_test(rounding_errors_stay_within_half_a_step),
        cmocka_unit_test(rows_without_a_range_are_exact),
        cmocka_unit_test(one_huge_outlier),
        cmocka_unit_test(nonfinite_numbers_stay_in_their_row_and_column),
        cmocka_unit_test(a_packed_matrix_is_a_quarter_of_the_floats),
    };
    return cmocka_run_group_tests_name("int8", tests, NULL, NULL);
}
