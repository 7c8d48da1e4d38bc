/* Comparisons of floats for tests. Include after <cmocka.h>.
 *
 * Two values are close when |actual - expected| <= tolerance, or when both are NaN or the same
 * infinity. The expected side is a double, so that references can be computed in one. */
#ifndef MH_TEST_COMPARE_H
#define MH_TEST_COMPARE_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool is_close(double actual, double expected, double tolerance)
{
    if (isnan(expected)) {
        return isnan(actual);
    }
    return actual == expected || fabs(actual - expected) <= tolerance;
}

static inline void check_close(double actual, double expected, double tolerance, size_t index,
                               const char *what, const char *file, int line)
{
    if (is_close(actual, expected, tolerance)) {
        return;
    }
    print_error("%s: element %zu is %.9g, expected %.9g: off by %.3g, allowed %.3g\n", what, index,
                actual, expected, fabs(actual - expected), tolerance);
    _fail(file, line);
}

/* The test fails, naming values and difference, unless `actual` is close to `expected`. */
#define assert_close(actual, expected, tolerance)                                                  \
    check_close((double)(actual), (double)(expected), (double)(tolerance), 0, #actual, __FILE__,   \
                __LINE__)

/* The same for element i of `n`: two arrays of floats or doubles. */
#define assert_all_close(actual, expected, n, tolerance)                                           \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < (size_t)(n); i_++) {                                              \
            check_close((double)(actual)[i_], (double)(expected)[i_], (double)(tolerance), i_,     \
                        #actual, __FILE__, __LINE__);                                              \
        }                                                                                          \
    } while (0)

/* Largest |actual - expected| that a sum of n products in f32 may show, where `magnitude` is the sum
 * of the products' absolute values: each product and each addition rounds once. */
static inline double sum_tolerance(size_t n, double magnitude)
{
    return ((double)n + 2.0) * (double)FLT_EPSILON * magnitude;
}

#endif
