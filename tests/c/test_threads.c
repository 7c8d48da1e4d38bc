/* Passes on several threads: the bits of one thread, whichever way the work is cut; and of several failures the first. */
#include "multihead.h"
#include "multihead_threads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/random.h"

/* Large enough to be worth several threads; between them, cut by heads and by rows. */
static const struct shape {
    size_t batch, heads, kv_heads, queries, keys, dim;
    int32_t weights;
} SHAPES[] = {
    {1, 8, 8, 90, 90, 32, MH_WEIGHTS_ALL},   {1, 1, 1, 150, 131, 64, MH_WEIGHTS_ALL},
    {2, 3, 3, 77, 120, 33, MH_WEIGHTS_ROWS}, {1, 6, 2, 100, 100, 40, MH_WEIGHTS_MEAN},
    {3, 8, 1, 64, 200, 16, MH_WEIGHTS_NONE}, {1, 8, 8, 1, 2000, 64, MH_WEIGHTS_ALL},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

struct attempt {
    struct mh_attention attention;
    float *results; /* output, weights, statistics of rows and of heads */
    size_t count;
    enum mh_status status;
    struct mh_report report;
    struct mh_error error;
};

static float *take(float **from, size_t n)
{
    float *taken = *from;
    *from += n;
    return taken;
}

/* One pass with so many threads. `inputs` holds queries, keys and values one after the other. */
static struct attempt attend(const struct shape *s, float *inputs, size_t threads, bool checked)
{
    size_t rows = s->batch * s->heads * s->queries, heads = s->batch * s->heads;
    size_t sizes[] = {rows * s->dim, rows * s->keys, rows * MH_ROW_STATISTICS,
                      heads * MH_HEAD_STATISTICS};
    struct attempt r = {.count = sizes[0] + sizes[1] + sizes[2] + sizes[3]};
    r.results = calloc(r.count, sizeof *r.results);
    assert_non_null(r.results);
    float *in = inputs, *out = r.results;
    size_t per_head[] = {s->queries * s->dim, s->keys * s->dim};
    struct mh_attention *a = &r.attention;
    *a = (struct mh_attention){
        .batch = s->batch,
        .queries = s->queries,
        .keys = s->keys,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .head_dim = s->dim,
        .value_dim = s->dim,
        .query = {take(&in, rows * s->dim), s->heads * per_head[0], per_head[0], s->dim},
        .key = {take(&in, s->batch * s->kv_heads * per_head[1]), s->kv_heads * per_head[1],
                per_head[1], s->dim},
        .value = {in, s->kv_heads * per_head[1], per_head[1], s->dim},
        .output = {take(&out, sizes[0]), s->heads * per_head[0], per_head[0], s->dim},
        .mask = {.causal = 1, .query_offset = (int32_t)s->keys - (int32_t)s->queries},
        .weights = {.mode = s->weights, .data = take(&out, sizes[1])},
        .row_statistics = take(&out, sizes[2]),
        .head_statistics = out,
        .dropout = 0.1F,
        .dropout_seed = 5,
        .check_finite = checked,
    };
    size_t bytes = 0;
    assert_int_equal(mh_threads_start(threads, &r.error), MH_OK);
    assert_int_equal(mh_attention_workspace(a, &bytes, &r.error), MH_OK);
    void *workspace = malloc(bytes);
    assert_non_null(workspace);
    r.status = mh_attention_forward(a, workspace, bytes, &r.report, &r.error);
    free(workspace);
    mh_threads_stop();
    return r;
}

static float *random_inputs(const struct shape *s)
{
    uint32_t state = 11;
    size_t n = s->batch * s->dim * (s->heads * s->queries + 2 * s->kv_heads * s->keys);
    float *inputs = malloc(n * sizeof *inputs);
    assert_non_null(inputs);
    random_fill(&state, inputs, n, -2.0F, 2.0F);
    return inputs;
}

static void the_bits_are_those_of_one_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        float *inputs = random_inputs(&SHAPES[i]);
        struct attempt one = attend(&SHAPES[i], inputs, 1, true);
        assert_int_equal(one.status, MH_OK);
        for (size_t threads = 2; threads <= 5; threads++) {
            struct attempt many = attend(&SHAPES[i], inputs, threads, true);
            assert_int_equal(many.status, MH_OK);
            assert_int_equal(many.report.masked_rows, one.report.masked_rows);
            if (memcmp(many.results, one.results, one.count * sizeof *one.results) != 0)
                fail_msg("shape %zu with %zu threads differs", i, threads);
            free(many.results);
        }
        free(one.results);
        free(inputs);
    }
}

/* Scores that overflow in many rows: what is reported is the first of them. */
static void the_first_failure_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        const struct shape *s = &SHAPES[i];
        float *inputs = random_inputs(s);
        size_t queries = s->batch * s->heads * s->queries;
        for (size_t row = queries / 5; row < queries; row++)
            for (size_t d = 0; d < s->dim; d++)
                inputs[row * s->dim + d] *= 1e38F;
        struct attempt one = attend(s, inputs, 1, true);
        assert_int_equal(one.status, MH_NONFINITE);
        for (size_t threads = 2; threads <= 4; threads++) {
            struct attempt many = attend(s, inputs, threads, true);
            assert_int_equal(many.status, MH_NONFINITE);
            assert_int_equal(many.report.nonfinite_tensor, one.report.nonfinite_tensor);
            assert_int_equal(many.report.nonfinite_index, one.report.nonfinite_index);
            assert_string_equal(many.error.message, one.error.message);
            free(many.results);
        }
        free(one.results);
        free(inputs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_are_those_of_one_thread),
        cmocka_unit_test(the_first_failure_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
