/* The gradient of every operation against central differences of a float64 reference: relative
 * error at most 1e-5, norm-wise (support/numeric_gradient.h). The loss is Σ c y with random c. */
#include "multihead_train.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/numeric_gradient.h"
#include "support/pool.h"
#include "support/random_case.h"
#include "support/train_reference.h"
#include "train/cross_entropy.h"
#include "train/embedding_gradient.h"
#include "train/linear_gradient.h"
#include "train/row_gradients.h"

static float *random_numbers(uint32_t *state, struct pool *pool, size_t n)
{
    float *x = pool_floats(pool, n);
    random_fill(state, x, n, -1.5F, 1.5F);
    return x;
}

static double weighted_sum(const double *c, const double *y, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += c[i] * y[i];
    return sum;
}

/* What a call adds to starts from this, so that a call which writes is found out. */
#define BEFORE 0.5F

static float *added_to(struct pool *pool, size_t n)
{
    float *x = pool_floats(pool, n);
    for (size_t i = 0; i < n; i++)
        x[i] = BEFORE;
    return x;
}

static float *without_before(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] -= BEFORE;
    return x;
}

/* ===== Linear =============================================================================== */

struct linear_case {
    size_t rows, in, out;
    bool out_by_in;
    double *x, *weight, *bias, *c, *y;
};

static double linear_loss(const void *context)
{
    const struct linear_case *t = context;
    ref_linear(t->y, t->x, t->weight, t->bias, t->rows, t->in, t->out, t->out_by_in);
    return weighted_sum(t->c, t->y, t->rows * t->out);
}

static void check_linear(uint32_t *state, bool out_by_in, bool biased)
{
    struct pool pool = {0};
    size_t rows = random_size(state, 1, 20), in = random_size(state, 1, 24);
    size_t out = random_size(state, 1, 24);
    float *x = random_numbers(state, &pool, rows * in);
    float *weight = random_numbers(state, &pool, in * out);
    float *bias = random_numbers(state, &pool, out);
    float *dy = random_numbers(state, &pool, rows * out), *y = pool_floats(&pool, rows * out);
    float *scratch = pool_floats(&pool, mh_learned_linear_scratch(in, out, rows));
    float *dx = pool_floats(&pool, rows * in), *dweight = added_to(&pool, in * out);
    float *dbias = added_to(&pool, out);
    struct mh_learned_linear linear = {.in = in,
                                       .out = out,
                                       .in_stride = out_by_in ? 1 : out,
                                       .out_stride = out_by_in ? in : 1,
                                       .weight = weight,
                                       .bias = biased ? bias : NULL};
    struct linear_case t = {rows,
                            in,
                            out,
                            out_by_in,
                            as_doubles(x, rows * in),
                            as_doubles(weight, in * out),
                            biased ? as_doubles(bias, out) : NULL,
                            as_doubles(dy, rows * out),
                            as_doubles(y, rows * out)};

    mh_learned_linear_forward(&linear, y, x, rows, scratch);
    linear_loss(&t);
    check_gradient("(forward) linear", y, t.y, rows * out);
    mh_learned_linear_backward(&linear, dx, dweight, biased ? dbias : NULL, dy, x, rows, scratch);
    check_by_differences("linear x", dx, t.x, rows * in, linear_loss, &t);
    check_by_differences("linear weight", without_before(dweight, in * out), t.weight, in * out,
                         linear_loss, &t);
    if (biased)
        check_by_differences("linear bias", without_before(dbias, out), t.bias, out, linear_loss,
                             &t);
    free(t.x);
    free(t.weight);
    free(t.bias);
    free(t.c);
    free(t.y);
    pool_free(&pool);
}

static void test_linear(void **unused)
{
    (void)unused;
    uint32_t state = 11;
    for (size_t n = 0; n < 40; n++)
        check_linear(&state, n % 2 == 1, n % 4 < 2);
}

/* ===== Layer norm =========================================================================== */

struct norm_case {
    size_t n;
    double *x, *weight, *bias, *c, *y;
};

static double norm_loss(const void *context)
{
    const struct norm_case *t = context;
    ref_layer_norm(t->y, t->x, t->weight, t->bias, 1e-5, t->n);
    return weighted_sum(t->c, t->y, t->n);
}

static void test_layer_norm(void **unused)
{
    (void)unused;
    uint32_t state = 12;
    for (size_t n = 2; n < 70; n++) {
        struct pool pool = {0};
        float *x = random_numbers(&state, &pool, n), *weight = random_numbers(&state, &pool, n);
        float *bias = random_numbers(&state, &pool, n), *dy = random_numbers(&state, &pool, n);
        float *dweight = added_to(&pool, n), *dbias = added_to(&pool, n);
        struct norm_case t = {n,
                              as_doubles(x, n),
                              as_doubles(weight, n),
                              as_doubles(bias, n),
                              as_doubles(dy, n),
                              as_doubles(dy, n)};
        float *dx = dy; /* in place */
        mh_row_layer_norm_gradient(dx, dweight, dbias, dy, x, weight, 1e-5F, n);
        /* Two numbers are normed to 1 and -1 whatever they are: nothing but cancellation. */
        if (n > 2)
            check_by_differences("layer norm x", dx, t.x, n, norm_loss, &t);
        check_by_differences("layer norm weight", without_before(dweight, n), t.weight, n,
                             norm_loss, &t);
        check_by_differences("layer norm bias", without_before(dbias, n), t.bias, n, norm_loss, &t);
        free(t.x);
        free(t.weight);
        free(t.bias);
        free(t.c);
        free(t.y);
        pool_free(&pool);
    }
}

/* ===== Activations ========================================================================== */

/* Number by number, from far left to far right: to 1e-6, and 1e-5 of the whole. */
static void test_activations(void **unused)
{
    (void)unused;
    enum { N = 4001 };
    static float x[N], dy[N], dx[N];
    static double expected[N];
    for (int32_t activation = 0; activation <= MH_ACTIVATION_RELU; activation++) {
        enum mh_activation kind = (enum mh_activation)activation;
        for (size_t i = 0; i < N; i++) {
            x[i] = ((float)i - 2000.25F) / 200.0F; /* ±10, never at the corner of ReLU */
            dy[i] = i % 2 == 0 ? 1.0F : -2.0F;
            double at = (double)x[i], h = 1e-5;
            double slope = (ref_activation(kind, at + h) - ref_activation(kind, at - h)) / (2 * h);
            expected[i] = (double)dy[i] * slope;
        }
        mh_row_activation_gradient(kind, dx, dy, x, N);
        for (size_t i = 0; i < N; i++)
            if (fabs((double)dx[i] - expected[i]) > 1e-6)
                fail_msg("activation %d at %g: %.9g, expected %.9g", (int)activation, (double)x[i],
                         (double)dx[i], expected[i]);
        check_gradient("activation", dx, expected, N);
    }
}

/* ===== Embeddings =========================================================================== */

/* Linear in its tables: the gradient by wte[v] is the sum of c over the places of v. */
static void test_embedding(void **unused)
{
    (void)unused;
    enum { V = 5, P = 6, E = 7, B = 3, T = 4 };
    static const int32_t tokens[B * T] = {0, 3, 3, 1, 4, 4, 4, 4, 1, 0, 3, 1}; /* never 2 */
    uint32_t state = 13;
    struct pool pool = {0};
    const struct mh_network network = {.model = {.layers = 1,
                                                 .heads = 1,
                                                 .kv_heads = 1,
                                                 .embed_dim = E,
                                                 .ffn_dim = 1,
                                                 .vocabulary = V,
                                                 .positions = P}};
    size_t size = mh_parameters_size(&network);
    float *parameters = random_numbers(&state, &pool, size);
    const float *wte = parameters, *wpe = parameters + V * E;
    struct mh_embedded embedded = {
        .network = &network, .parameters = parameters, .batch = B, .length = T, .tokens = tokens};
    float *dy = random_numbers(&state, &pool, B * T * E), *y = pool_floats(&pool, B * T * E);
    float *gradient = added_to(&pool, size), *dwte = gradient, *dwpe = gradient + V * E;
    double token_sum[V * E] = {0}, position_sum[P * E] = {0};

    mh_embedded_forward(&embedded, y);
    mh_embedded_backward(&embedded, dy, gradient);
    for (size_t i = 0; i < B * T * E; i++) {
        size_t token = (size_t)tokens[i / E] * E + i % E, position = i / E % T * E + i % E;
        assert_true(y[i] == wte[token] + wpe[position]);
        token_sum[token] += (double)dy[i];
        position_sum[position] += (double)dy[i];
    }
    without_before(gradient, size);
    check_gradient("token embedding", dwte, token_sum, V * E);
    check_gradient("position embedding", dwpe, position_sum, P * E);
    for (size_t e = 0; e < E; e++)
        assert_true(dwte[2 * E + e] == 0.0F);
    pool_free(&pool);
}

/* ===== Cross-entropy ======================================================================== */

struct loss_case {
    size_t rows, vocabulary;
    const int32_t *targets;
    double *logits;
};

static double cross_entropy_loss(const void *context)
{
    const struct loss_case *t = context;
    return ref_cross_entropy(t->logits, t->targets, t->rows, t->vocabulary);
}

static void check_cross_entropy(uint32_t *state, bool all_ignored)
{
    struct pool pool = {0};
    size_t rows = random_size(state, 1, 9), v = random_size(state, 1, 40);
    float *logits = pool_floats(&pool, rows * v);
    random_fill(state, logits, rows * v, -8.0F, 8.0F);
    int32_t *targets = pool_take(&pool, rows, sizeof *targets);
    for (size_t r = 0; r < rows; r++)
        targets[r] = all_ignored || one_in(state, 3) ? -100 : random_int(state, 0, (int32_t)v - 1);
    struct loss_case t = {rows, v, targets, as_doubles(logits, rows * v)};
    size_t count = mh_count_targets(targets, rows);
    float factor = count > 0 ? 1.0F / (float)count : 0.0F;
    double loss = mh_cross_entropy(logits, logits, targets, rows, v, factor); /* in place */
    assert_true(fabs(loss - cross_entropy_loss(&t) * (double)count) <= 1e-6 * (1.0 + loss));
    check_by_differences("cross-entropy", logits, t.logits, rows * v, cross_entropy_loss, &t);
    free(t.logits);
    pool_free(&pool);
}

static void test_cross_entropy(void **unused)
{
    (void)unused;
    uint32_t state = 14;
    for (size_t n = 0; n < 60; n++)
        check_cross_entropy(&state, n % 20 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_activations),   cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_cross_entropy),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# largest relative error of a gradient %.2e\n", worst_gradient_error);
    return failed;
}
