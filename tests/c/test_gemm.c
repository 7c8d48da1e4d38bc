/* The packed matrix product, against plain loops. Operands have exactly the size they need, so that
 * the address sanitizer sees any access beyond them. */
#include "kernels/kernels.h"

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

enum { LARGEST = 67, EVERY_UP_TO = 17, NR = MH_GEMM_COLUMNS };

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ===== Packing ============================================================================== */

/* b[k * k_stride + n * n_stride] for all k and n, in exactly as many floats as that takes, `offset`
 * floats into its block. */
static const float *random_matrix(struct pool *pool, uint32_t *seed, size_t k, size_t n,
                                  size_t k_stride, size_t n_stride, size_t offset)
{
    size_t size = k == 0 || n == 0 ? 0 : (k - 1) * k_stride + (n - 1) * n_stride + 1;
    float *b = pool_floats(pool, offset + size) + offset;
    random_fill(seed, b, size, -1.0f, 1.0f);
    return b;
}

static void check_packing(size_t k, size_t n, size_t k_stride, size_t n_stride)
{
    struct pool pool = {0};
    uint32_t seed = (uint32_t)(1 + k * 100 + n);
    const float *b = random_matrix(&pool, &seed, k, n, k_stride, n_stride, 1);
    const size_t panels = (n + NR - 1) / NR;
    assert_int_equal(mh_packed_size(k, n), panels * NR * k);
    float *packed = pool_floats(&pool, 1 + panels * NR * k) + 1;
    mh_pack(packed, b, k, n, k_stride, n_stride);
    for (size_t column = 0; column < panels * NR; column++) {
        for (size_t row = 0; row < k; row++) {
            float expected = column < n ? b[row * k_stride + column * n_stride] : 0.0f;
            assert_true(packed[column / NR * NR * k + row * NR + column % NR] == expected);
        }
    }
    pool_free(&pool);
}

static void packing_follows_any_strides_and_pads_with_zeros(void **state)
{
    (void)state;
    for (size_t k = 0; k <= 19; k++) {
        for (size_t n = 0; n <= 2 * NR + 3; n++) {
            check_packing(k, n, n, 1);         /* B by rows */
            check_packing(k, n, n + 3, 1);     /* rows with a gap */
            check_packing(k, n, 1, k);         /* B by columns */
            check_packing(k, n, 1, k + 5);     /* columns with a gap */
            check_packing(k, n, 2, 2 * k + 1); /* neither is contiguous */
        }
    }
}

static void check_transpose(size_t rows, size_t columns, size_t gap)
{
    struct pool pool = {0};
    uint32_t seed = (uint32_t)(1 + rows * 100 + columns);
    size_t stride = columns + gap;
    const float *in = random_matrix(&pool, &seed, rows, columns, stride, 1, 1);
    float *out = pool_floats(&pool, rows * columns);
    mh_transpose(out, in, stride, rows, columns);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            assert_int_equal(bits_of(out[c * rows + r]), bits_of(in[r * stride + c]));
    pool_free(&pool);
}

static void transposes_of_every_small_size(void **state)
{
    (void)state;
    for (size_t rows = 0; rows <= 13; rows++)
        for (size_t columns = 0; columns <= 13; columns++)
            for (size_t gap = 0; gap <= 3; gap += 3)
                check_transpose(rows, columns, gap);
}

static void packing_of_every_size_along_each_axis(void **state)
{
    (void)state;
    for (size_t size = 1; size <= LARGEST; size++) {
        check_packing(size, 2 * NR + 5, 2 * NR + 5, 1);
        check_packing(size, 2 * NR + 5, 1, size);
        check_packing(19, size, size, 1);
        check_packing(19, size, 1, 19);
    }
}

/* ===== The product ========================================================================== */

struct product {
    size_t m, n, k;
    size_t n0, n1; /* columns wanted */
    size_t k0, k1; /* part of the sums wanted */
    size_t gap;    /* floats between the rows of A, and of C */
    size_t offset; /* floats from the start of every block */
    int with_bias;
    int summed_in_parts; /* call mh_gemm_range */
};

static struct product whole(size_t m, size_t n, size_t k)
{
    return (struct product){.m = m, .n = n, .k = k, .n1 = n, .k1 = k};
}

/* a * b + c, rounded as the kernels do: the wide one, where the machine can, only once. */
static float multiply_add(float a, float b, float c)
{
#if defined(MULTIHEAD_WIDE) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
    return fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* One element: near the sum in double, and the very bits of a plain float loop, which says that the
 * sum starts from the bias and runs over k in ascending order, wherever the element lies. */
static void check_element(const struct product *p, float actual, const float *a, const float *b,
                          float bias)
{
    float in_order = p->with_bias ? bias : 0.0f;
    double sum = (double)in_order;
    double magnitude = fabs(sum);
    for (size_t k = p->k0; k < p->k1; k++) {
        double term = (double)a[k] * (double)b[k * p->n];
        sum += term;
        magnitude += fabs(term);
        in_order = multiply_add(a[k], b[k * p->n], in_order);
    }
    assert_close(actual, sum, sum_tolerance(p->k1 - p->k0, magnitude));
    assert_int_equal(bits_of(actual), bits_of(in_order));
}

static void check_product(struct product p)
{
    struct pool pool = {0};
    uint32_t seed = (uint32_t)(1 + p.m * 10000 + p.n * 100 + p.k);
    const size_t a_stride = p.k + p.gap, c_stride = p.n + p.gap;
    const size_t c_size = p.m == 0 ? 0 : (p.m - 1) * c_stride + p.n;
    const float *a = random_matrix(&pool, &seed, p.m, p.k, a_stride, 1, p.offset);
    const float *b = random_matrix(&pool, &seed, p.k, p.n, p.n, 1, p.offset);
    const float *bias = random_matrix(&pool, &seed, 1, p.n, 1, 1, p.offset);
    float *packed = pool_floats(&pool, p.offset + mh_packed_size(p.k, p.n)) + p.offset;
    float *c = pool_floats(&pool, p.offset + c_size) + p.offset;
    for (size_t i = 0; i < c_size; i++)
        c[i] = NAN; /* spoils what reads it, and must stay where nothing is asked for */

    mh_pack(packed, b, p.k, p.n, p.n, 1);
    const float *given_bias = p.with_bias ? bias : NULL;
    if (p.summed_in_parts)
        mh_gemm_range(c, c_stride, a, a_stride, packed, given_bias, p.m, p.n, p.k, p.n0, p.n1, p.k0,
                      p.k1);
    else
        mh_gemm(c, c_stride, a, a_stride, packed, given_bias, p.m, p.n, p.k, p.n0, p.n1);

    for (size_t i = 0; i < c_size; i++) {
        const size_t row = i / c_stride, column = i % c_stride;
        if (column >= p.n0 && column < p.n1 && column < p.n)
            check_element(&p, c[i], a + row * a_stride, b + column, bias[column]);
        else
            assert_true(isnan(c[i]));
    }
    pool_free(&pool);
}

static void products_of_every_small_size(void **state)
{
    (void)state;
    for (size_t m = 1; m <= EVERY_UP_TO; m++) {
        for (size_t n = 1; n <= EVERY_UP_TO; n++) {
            for (size_t k = 1; k <= EVERY_UP_TO; k++) {
                struct product p = whole(m, n, k);
                p.with_bias = (int)((m + n + k) % 2);
                check_product(p);
            }
        }
    }
}

static void products_of_every_size_along_each_axis(void **state)
{
    (void)state;
    for (size_t size = 1; size <= LARGEST; size++) {
        check_product(whole(size, 21, 19));
        check_product(whole(5, size, 19));
        check_product(whole(5, 21, size));
        check_product(whole(1, size, size));
        check_product(whole(size, size, 3));
    }
}

static void products_of_long_sums(void **state)
{
    (void)state;
    for (size_t k = 255; k <= 1023; k += 256) {
        struct product p = whole(3, NR + 7, k);
        p.with_bias = 1;
        check_product(p);
        p.summed_in_parts = 1;
        p.k0 = 3;
        p.k1 = k - 2;
        check_product(p);
    }
}

static void products_of_rows_with_gaps_and_odd_addresses(void **state)
{
    (void)state;
    for (size_t size = 1; size <= LARGEST; size += 3) {
        struct product p = whole(7, size, size);
        p.with_bias = 1;
        p.gap = 3;
        p.offset = 1;
        check_product(p);
    }
}

static void only_the_columns_asked_for_are_written(void **state)
{
    (void)state;
    const size_t n = 3 * NR + 5;
    for (size_t n0 = 0; n0 <= n; n0 += NR) {
        for (size_t n1 = 0; n1 <= n + 2; n1++) {
            struct product p = whole(3, n, 6);
            p.with_bias = 1;
            p.n0 = n0;
            p.n1 = n1;
            check_product(p);
        }
    }
}

static void sums_over_a_part_of_k(void **state)
{
    (void)state;
    for (size_t k0 = 0; k0 <= 9; k0++) {
        for (size_t k1 = k0; k1 <= 9; k1++) {
            struct product p = whole(3, 3 * NR + 3, 9);
            p.summed_in_parts = 1;
            p.k0 = k0;
            p.k1 = k1;
            p.n0 = k0 % 2 == 0 ? 0 : NR;
            check_product(p);
        }
    }
}

static void empty_products(void **state)
{
    (void)state;
    struct product p = whole(4, NR + 1, 0);
    check_product(p); /* zeros */
    p.with_bias = 1;
    check_product(p); /* the bias */
    check_product(whole(0, 5, 5));
    check_product(whole(5, 0, 5));
}

/* A row of A that holds NaN or infinity spoils its own row of C only, and a column of B its own
 * column: nothing leaks through the padding of a panel or to the neighbours in a tile. */
static void nonfinite_numbers_stay_in_their_row_and_column(void **state)
{
    (void)state;
    enum { M = 5, N = NR + 3, K = 4 };
    float a[M * K], b[K * N], packed[2 * NR * K], c[M * N];
    for (size_t i = 0; i < M * K; i++)
        a[i] = 1.0f;
    for (size_t i = 0; i < K * N; i++)
        b[i] = 2.0f;
    a[1 * K + 2] = NAN;
    a[3 * K + 0] = INFINITY;
    b[2 * N + N - 1] = -INFINITY;
    mh_pack(packed, b, K, N, N, 1);
    mh_gemm(c, N, a, K, packed, NULL, M, N, K, 0, N);
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            double expected = i == 1 ? (double)NAN : i == 3 ? (double)INFINITY : 8.0;
            if (j == N - 1 && i != 1)
                expected = i == 3 ? (double)NAN : -(double)INFINITY; /* inf - inf */
            assert_close(c[i * N + j], expected, 0.0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_follows_any_strides_and_pads_with_zeros),
        cmocka_unit_test(packing_of_every_size_along_each_axis),
        cmocka_unit_test(transposes_of_every_small_size),
        cmocka_unit_test(products_of_every_small_size),
        cmocka_unit_test(products_of_every_size_along_each_axis),
        cmocka_unit_test(products_of_long_sums),
        cmocka_unit_test(products_of_rows_with_gaps_and_odd_addresses),
        cmocka_unit_test(only_the_columns_asked_for_are_written),
        cmocka_unit_test(sums_over_a_part_of_k),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(nonfinite_numbers_stay_in_their_row_and_column),
    };
    return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
