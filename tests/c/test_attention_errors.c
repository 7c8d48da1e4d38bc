/* Attention: what is refused and with which words, and the finite-ness guard. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"

/* A sound call to spoil: B 2, T 3, S 4, H 4, G 2, D 2, DV 3. */
enum { B = 2, T = 3, S = 4, H = 4, G = 2, D = 2, DV = 3 };

struct sound {
    float query[B * H * T * D], key[B * G * S * D], value[B * G * S * DV];
    float output[B * H * T * DV], weights[B * H * T * S], bias[H * T * S];
    struct mh_attention a;
};

static struct sound *make_sound(void)
{
    struct sound *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->a = (struct mh_attention){
        .batch = B,
        .queries = T,
        .keys = S,
        .heads = H,
        .kv_heads = G,
        .head_dim = D,
        .value_dim = DV,
        .query = {s->query, H * T * D, T * D, D},
        .key = {s->key, G * S * D, S * D, D},
        .value = {s->value, G * S * DV, S * DV, DV},
        .output = {s->output, H * T * DV, T * DV, DV},
        .weights = {.mode = MH_WEIGHTS_ALL, .data = s->weights},
        .check_finite = 1,
    };
    return s;
}

/* Memory for any of the calls here. */
static _Alignas(16) unsigned char workspace[4096];

static enum mh_status run(const struct mh_attention *a, struct mh_report *report,
                          struct mh_error *error)
{
    memset(report, 0xff, sizeof *report);
    return mh_attention_forward(a, workspace, sizeof workspace, report, error);
}

/* ===== Arguments ============================================================================ */

static void assert_refused(const struct sound *s, enum mh_status status, const char *message)
{
    struct mh_error error = {0};
    struct mh_report report;
    assert_int_equal(run(&s->a, &report, &error), status);
    assert_string_equal(error.message, message);
    assert_int_equal(error.status, status);
    assert_int_equal(report.masked_rows, 0); /* written, also on failure */
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_NONE);
    assert_int_equal(run(&s->a, &report, NULL), status);
}

/* Spoils a sound call by one statement on `a`. */
#define ASSERT_REFUSED(spoil, status, message)                                                     \
    do {                                                                                           \
        struct sound *s_ = make_sound();                                                           \
        struct mh_attention *a = &s_->a;                                                           \
        spoil;                                                                                     \
        assert_refused(s_, status, message);                                                       \
        free(s_);                                                                                  \
    } while (0)

static void a_sound_call_is_not_refused(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    struct mh_report report;
    struct mh_error error;
    assert_int_equal(run(&s->a, &report, &error), MH_OK);
    assert_int_equal(mh_attention_forward(&s->a, workspace, sizeof workspace, NULL, NULL), MH_OK);
    free(s);
}

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    ASSERT_REFUSED(a->batch = 0, MH_ARGUMENT, "batch is 0: it must be at least 1");
    ASSERT_REFUSED(a->queries = 0, MH_ARGUMENT, "queries is 0: it must be at least 1");
    ASSERT_REFUSED(a->keys = 0, MH_ARGUMENT, "keys is 0: it must be at least 1");
    ASSERT_REFUSED(a->heads = 0, MH_ARGUMENT, "heads is 0: it must be at least 1");
    ASSERT_REFUSED(a->kv_heads = 0, MH_ARGUMENT, "kv_heads is 0: it must be at least 1");
    ASSERT_REFUSED(a->head_dim = 0, MH_ARGUMENT, "head_dim is 0: it must be at least 1");
    ASSERT_REFUSED(a->value_dim = 0, MH_ARGUMENT, "value_dim is 0: it must be at least 1");
    ASSERT_REFUSED(a->kv_heads = 3, MH_SHAPE, "heads 4 is not divisible by kv_heads 3");
}

static void missing_pointers_are_refused(void **state)
{
    (void)state;
    ASSERT_REFUSED(a->query.data = NULL, MH_ARGUMENT, "query.data is NULL");
    ASSERT_REFUSED(a->key.data = NULL, MH_ARGUMENT, "key.data is NULL");
    ASSERT_REFUSED(a->value.data = NULL, MH_ARGUMENT, "value.data is NULL");
    ASSERT_REFUSED(a->output.data = NULL, MH_ARGUMENT, "output.data is NULL");
    ASSERT_REFUSED(a->weights.data = NULL, MH_ARGUMENT,
                   "weights.data is NULL, but weights.mode is 1");
}

static void bad_numbers_are_refused(void **state)
{
    (void)state;
    ASSERT_REFUSED(a->scale_mode = 3, MH_ARGUMENT,
                   "scale_mode is 3: it must be 0 (1/sqrt of head_dim), 1 (given) or 2 (none)");
    ASSERT_REFUSED((a->scale_mode = MH_SCALE_GIVEN, a->scale = NAN), MH_ARGUMENT,
                   "scale is NaN: it must be finite");
    ASSERT_REFUSED((a->scale_mode = MH_SCALE_GIVEN, a->scale = -INFINITY), MH_ARGUMENT,
                   "scale is -infinity: it must be finite");
    ASSERT_REFUSED(a->dropout = 1.0f, MH_ARGUMENT,
                   "dropout is 1: it must be at least 0 and less than 1");
    ASSERT_REFUSED(a->dropout = -0.5f, MH_ARGUMENT,
                   "dropout is -0.5: it must be at least 0 and less than 1");
    ASSERT_REFUSED(a->dropout = NAN, MH_ARGUMENT,
                   "dropout is NaN: it must be at least 0 and less than 1");
    ASSERT_REFUSED(a->mask.causal = 7, MH_ARGUMENT, "mask.causal is 7: it must be 0 or 1");
}

static void outputs_that_overlap_are_refused(void **state)
{
    (void)state;
    ASSERT_REFUSED(a->output.row_stride = 2, MH_SHAPE,
                   "output.row_stride is 2, less than the 3 elements it must step over");
    ASSERT_REFUSED(a->output.head_stride = 8, MH_SHAPE,
                   "output.head_stride is 8, less than the 9 elements it must step over");
    ASSERT_REFUSED(a->output.batch_stride = 0, MH_SHAPE,
                   "output.batch_stride is 0, less than the 3 elements it must step over");
}

static void bad_choices_of_weights_are_refused(void **state)
{
    (void)state;
    static const int32_t heads[] = {0, 4}, rows[] = {2, 2}, negative[] = {-1};
    ASSERT_REFUSED(a->weights.mode = 4, MH_ARGUMENT,
                   "weights.mode is 4: it must be 0 (none), 1 (all), 2 (mean) or 3 (rows)");
    ASSERT_REFUSED(
        (a->weights.mode = MH_WEIGHTS_ROWS, a->weights.heads = heads, a->weights.head_count = 2),
        MH_ARGUMENT, "weights.heads[1] is 4: it must be 0 to 3");
    ASSERT_REFUSED(
        (a->weights.mode = MH_WEIGHTS_ROWS, a->weights.heads = negative, a->weights.head_count = 1),
        MH_ARGUMENT, "weights.heads[0] is -1: it must be 0 to 3");
    ASSERT_REFUSED(
        (a->weights.mode = MH_WEIGHTS_ROWS, a->weights.rows = rows, a->weights.row_count = 2),
        MH_ARGUMENT, "weights.rows[1] is 2 after 2: the list must be strictly ascending");
}

static void bad_choices_of_scores_are_refused(void **state)
{
    (void)state;
    static float scores[256];
    static const int32_t heads[] = {0, 4}, rows[] = {2, 1};
    ASSERT_REFUSED(
        (a->scores = scores, a->chosen_scores.heads = heads, a->chosen_scores.head_count = 2),
        MH_ARGUMENT, "chosen_scores.heads[1] is 4: it must be 0 to 3");
    ASSERT_REFUSED(
        (a->raw_scores = scores, a->chosen_scores.rows = rows, a->chosen_scores.row_count = 2),
        MH_ARGUMENT, "chosen_scores.rows[1] is 1 after 2: the list must be strictly ascending");
}

/* ===== Workspace ============================================================================ */

static void a_workspace_too_small_is_refused(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    struct mh_report report;
    struct mh_error error;
    size_t bytes;
    assert_int_equal(mh_attention_workspace(&s->a, &bytes, &error), MH_OK);
    assert_true(bytes > 16 && bytes <= sizeof workspace);
    /* Fifteen bytes of the plan are for alignment, which this workspace does not need. */
    assert_int_equal(mh_attention_forward(&s->a, workspace, bytes - 15, &report, &error), MH_OK);
    assert_int_equal(mh_attention_forward(&s->a, workspace, bytes - 16, &report, &error),
                     MH_MEMORY);
    char expected[200];
    snprintf(expected, sizeof expected,
             "the workspace has %zu bytes but %zu are needed: ask the _workspace function",
             bytes - 16, bytes);
    assert_string_equal(error.message, expected);
    assert_int_equal(mh_attention_forward(&s->a, workspace, 0, &report, &error), MH_MEMORY);
    free(s);
}

static void sizes_beyond_the_address_space_are_refused(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    struct mh_error error;
    size_t bytes;
    s->a.keys = SIZE_MAX / 4;
    assert_int_equal(mh_attention_workspace(&s->a, &bytes, &error), MH_MEMORY);
    assert_string_equal(error.message,
                        "the workspace would exceed the address space: use smaller sizes");
    s->a.keys = SIZE_MAX;
    assert_int_equal(mh_attention_workspace(&s->a, &bytes, NULL), MH_MEMORY);
    s->a.keys = 1;
    s->a.value_dim = SIZE_MAX - 3;
    assert_int_equal(mh_attention_workspace(&s->a, &bytes, NULL), MH_MEMORY);
    free(s);
}

/* ===== The guard ============================================================================ */

static void assert_guarded(struct sound *s, enum mh_tensor tensor, uint32_t index,
                           const char *message)
{
    struct mh_report report;
    struct mh_error error;
    assert_int_equal(run(&s->a, &report, &error), MH_NONFINITE);
    assert_string_equal(error.message, message);
    assert_int_equal(report.nonfinite_tensor, tensor);
    assert_int_equal(report.nonfinite_index, index);
    s->a.check_finite = 0;
    assert_int_equal(run(&s->a, &report, &error), MH_OK);
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_NONE);
}

static void the_guard_names_the_first_tensor(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    s->value[((1 * G + 0) * S + 2) * DV + 1] = INFINITY;
    assert_guarded(s, MH_TENSOR_VALUE, ((1 * G + 0) * S + 2) * DV + 1,
                   "value[b=1, h=0, row=2, d=1] is infinity");
    s->a.check_finite = 1;
    s->key[((0 * G + 1) * S + 3) * D + 0] = NAN;
    assert_guarded(s, MH_TENSOR_KEY, ((0 * G + 1) * S + 3) * D + 0,
                   "key[b=0, h=1, row=3, d=0] is NaN");
    s->a.check_finite = 1;
    s->query[((1 * H + 3) * T + 2) * D + 1] = -INFINITY;
    assert_guarded(s, MH_TENSOR_QUERY, ((1 * H + 3) * T + 2) * D + 1,
                   "query[b=1, h=3, row=2, d=1] is -infinity");
    free(s);
}

static void the_guard_lets_a_bias_hide(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    struct mh_report report;
    struct mh_error error;
    s->a.mask = (struct mh_mask){.bias = s->bias, .bias_head_stride = T * S, .bias_row_stride = S};
    for (size_t e = 0; e < H * T * S; e++)
        s->bias[e] = e % 3 == 0 ? 0.0f : -INFINITY;
    assert_int_equal(run(&s->a, &report, &error), MH_OK);
    s->bias[(2 * T + 1) * S + 3] = INFINITY;
    assert_guarded(s, MH_TENSOR_BIAS, (2 * T + 1) * S + 3,
                   "bias[b=0, h=2, query=1, key=3] is infinity");
    free(s);
}

/* Finite inputs whose products are too large. */
static void the_guard_looks_at_visible_scores(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    struct mh_report report;
    struct mh_error error;
    s->query[(1 * T + 0) * D] = 3e38f; /* b 0, h 1, query 0 */
    s->key[(0 * S + 2) * D] = -3e38f;  /* g 0, key 2 */
    s->a.mask.causal = 1;
    assert_int_equal(run(&s->a, &report, &error), MH_OK); /* query 0 does not see key 2 */
    s->a.mask.causal = 0;
    assert_guarded(s, MH_TENSOR_SCORES, (1 * T + 0) * S + 2,
                   "scores[b=0, h=1, query=0, key=2] is -infinity");
    assert_true(isinf(report.nonfinite_value) == 0); /* of the call that succeeded */
    s->a.check_finite = 1;
    assert_int_equal(run(&s->a, &report, &error), MH_NONFINITE);
    assert_true(report.nonfinite_value == -INFINITY);
    free(s);
}

static void the_guard_looks_at_the_output(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    for (size_t j = 0; j < S; j++) /* every weight is 1/4, kept ones are doubled by dropout */
        s->value[((1 * G + 1) * S + j) * DV + 2] = 3.4e38f;
    s->a.dropout = 0.5f;
    struct mh_report report;
    struct mh_error error;
    assert_int_equal(run(&s->a, &report, &error), MH_NONFINITE);
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_OUTPUT);
    assert_int_equal(report.nonfinite_index % DV, 2);
    assert_true(report.nonfinite_index >= (1 * H + 2) * T * DV);
    assert_memory_equal(error.message, "output[b=1, h=", 14);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_call_is_not_refused),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(missing_pointers_are_refused),
        cmocka_unit_test(bad_numbers_are_refused),
        cmocka_unit_test(outputs_that_overlap_are_refused),
        cmocka_unit_test(bad_choices_of_weights_are_refused),
        cmocka_unit_test(bad_choices_of_scores_are_refused),
        cmocka_unit_test(a_workspace_too_small_is_refused),
        cmocka_unit_test(sizes_beyond_the_address_space_are_refused),
        cmocka_unit_test(the_guard_names_the_first_tensor),
        cmocka_unit_test(the_guard_lets_a_bias_hide),
        cmocka_unit_test(the_guard_looks_at_visible_scores),
        cmocka_unit_test(the_guard_looks_at_the_output),
    };
    return cmocka_run_group_tests_name("attention errors", tests, NULL, NULL);
}
