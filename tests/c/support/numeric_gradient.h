/* Gradients by central differences in float64, to hold the engine's against. Include after
 * <cmocka.h>.
 *
 * The measure is norm-wise: |actual - expected| / |expected|, Euclidean over one tensor. An element
 * far smaller than its neighbours is the rounded sum of terms as large as theirs, and has no more
 * correct digits after the point than they have. */
#ifndef MH_TEST_NUMERIC_GRADIENT_H
#define MH_TEST_NUMERIC_GRADIENT_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define GRADIENT_TOLERANCE 1e-5
#define GRADIENT_STEP 1e-5 /* error of the difference about step² + 1e-16 / step: 1e-10 */

static double worst_gradient_error;

/* Fails the test unless `actual` is within GRADIENT_TOLERANCE of `expected`. Where all is expected
 * to be 0, it must be: to 1e-9, what is left of the differences' rounding. */
static inline void check_gradient(const char *what, const float *actual, const double *expected,
                                  size_t n)
{
    double off = 0.0, norm = 0.0;
    for (size_t i = 0; i < n; i++) {
        double difference = (double)actual[i] - expected[i];
        off += difference * difference;
        norm += expected[i] * expected[i];
    }
    off = sqrt(off);
    norm = sqrt(norm);
    if (norm > 1e-9)
        worst_gradient_error = fmax(worst_gradient_error, off / norm);
    if (!(off <= GRADIENT_TOLERANCE * norm + 1e-9))
        fail_msg("gradient of %s: off by %.3g of %.3g, relative %.3g", what, off, norm, off / norm);
}

/* Checks `actual`, the gradient of loss(context) by the n numbers x that the context points to. */
static inline void check_by_differences(const char *what, const float *actual, double *x, size_t n,
                                        double (*loss)(const void *context), const void *context)
{
    double *expected = malloc((n > 0 ? n : 1) * sizeof *expected);
    assert_non_null(expected);
    for (size_t i = 0; i < n; i++) {
        double kept = x[i];
        x[i] = kept + GRADIENT_STEP;
        double above = loss(context);
        x[i] = kept - GRADIENT_STEP;
        expected[i] = (above - loss(context)) / (2.0 * GRADIENT_STEP);
        x[i] = kept;
    }
    check_gradient(what, actual, expected, n);
    free(expected);
}

static inline double *as_doubles(const float *x, size_t n)
{
    double *out = malloc((n > 0 ? n : 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = (double)x[i];
    return out;
}

#endif
