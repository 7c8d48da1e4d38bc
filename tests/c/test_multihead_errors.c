/* Multi-head attention: what is refused and with which words, and the finite-ness guard. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/ablation.h"

/* A sound module and pass to spoil: E 4, H 2, B 2, T = S = 3. */
enum { E = 4, H = 2, B = 2, T = 3 };

struct sound {
    float weights[4][E * E], biases[4][E], bias_key[E], bias_value[E];
    float query[B * T * E], key[B * T * E], value[B * T * E], output[B * T * E];
    struct mh_multihead_config config;
    struct mh_multihead_pass pass;
};

static struct sound *make_sound(void)
{
    struct sound *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (size_t m = 0; m < 4; m++)
        for (size_t o = 0; o < E; o++)
            s->weights[m][o * E + o] = 1.0f; /* identity */
    s->config = (struct mh_multihead_config){
        .embed_dim = E,
        .heads = H,
        .kv_heads = H,
        .query = {s->weights[0], E, 1, s->biases[0]},
        .key = {s->weights[1], E, 1, s->biases[1]},
        .value = {s->weights[2], E, 1, s->biases[2]},
        .out = {s->weights[3], E, 1, s->biases[3]},
        .bias_key = s->bias_key,
        .bias_value = s->bias_value,
    };
    s->pass = (struct mh_multihead_pass){
        .batch = B,
        .queries = T,
        .keys = T,
        .query = s->query,
        .key = s->key,
        .value = s->value,
        .query_batch_stride = T * E,
        .query_row_stride = E,
        .key_batch_stride = T * E,
        .key_row_stride = E,
        .value_batch_stride = T * E,
        .value_row_stride = E,
        .output = s->output,
        .output_batch_stride = T * E,
        .output_row_stride = E,
        .check_finite = 1,
    };
    return s;
}

/* ===== Configurations ======================================================================= */

static void assert_create_refused(const struct sound *s, enum mh_status status, const char *message)
{
    struct mh_error error = {0};
    static char anything;
    mh_multihead *m = (void *)&anything; /* must become NULL */
    assert_int_equal(mh_multihead_create(&m, &s->config, &error), status);
    assert_string_equal(error.message, message);
    assert_null(m);
    assert_int_equal(mh_multihead_create(&m, &s->config, NULL), status);
}

#define ASSERT_CREATE_REFUSED(spoil, status, message)                                              \
    do {                                                                                           \
        struct sound *s_ = make_sound();                                                           \
        struct mh_multihead_config *c = &s_->config;                                               \
        spoil;                                                                                     \
        assert_create_refused(s_, status, message);                                                \
        free(s_);                                                                                  \
    } while (0)

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    ASSERT_CREATE_REFUSED(c->embed_dim = 0, MH_ARGUMENT, "embed_dim is 0: it must be at least 1");
    ASSERT_CREATE_REFUSED(c->heads = 0, MH_ARGUMENT, "heads is 0: it must be at least 1");
    ASSERT_CREATE_REFUSED(c->kv_heads = 0, MH_ARGUMENT, "kv_heads is 0: it must be at least 1");
    ASSERT_CREATE_REFUSED(c->heads = 3, MH_SHAPE,
                          "embed_dim 4 is not divisible by heads 3: each head takes an equal part");
    ASSERT_CREATE_REFUSED(c->kv_heads = 3, MH_SHAPE, "heads 2 is not divisible by kv_heads 3");
    ASSERT_CREATE_REFUSED(c->key.data = NULL, MH_ARGUMENT,
                          "key.data is NULL: only the out-projection may be absent");
    ASSERT_CREATE_REFUSED(c->query.in_stride = 0, MH_ARGUMENT,
                          "query has out_stride 4 and in_stride 0: a [4, 4] weight needs both");
    ASSERT_CREATE_REFUSED((c->value_dim = 6, c->value.out_stride = 0), MH_ARGUMENT,
                          "value has out_stride 0 and in_stride 1: a [4, 6] weight needs both");
    ASSERT_CREATE_REFUSED(c->out.out_stride = 0, MH_ARGUMENT,
                          "out has out_stride 0 and in_stride 1: a [4, 4] weight needs both");
    ASSERT_CREATE_REFUSED(c->bias_key = NULL, MH_ARGUMENT,
                          "bias_key is missing: give both bias_key and bias_value");
    ASSERT_CREATE_REFUSED(c->bias_value = NULL, MH_ARGUMENT,
                          "bias_value is missing: give both bias_key and bias_value");
    ASSERT_CREATE_REFUSED(c->add_zero_attention = 2, MH_ARGUMENT,
                          "add_zero_attention is 2: it must be 0 or 1");
    ASSERT_CREATE_REFUSED(c->precision = 2, MH_ARGUMENT,
                          "precision is 2: it must be 0 (f32) or 1 (int8)");
}

static void weights_beyond_the_address_space_are_refused(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    struct mh_error error;
    mh_multihead *m;
    s->config.embed_dim = SIZE_MAX / 2 - 1;
    s->config.heads = s->config.kv_heads = 1;
    assert_int_equal(mh_multihead_create(&m, &s->config, &error), MH_MEMORY);
    assert_null(m);
    free(s);
}

/* ===== Passes =============================================================================== */

static enum mh_status run(const struct sound *s, const struct mh_ablations *ablations,
                          struct mh_report *report, struct mh_error *error)
{
    static _Alignas(16) unsigned char workspace[8192];
    mh_multihead *m;
    assert_int_equal(mh_multihead_create(&m, &s->config, NULL), MH_OK);
    memset(report, 0xff, sizeof *report);
    enum mh_status status = mh_multihead_forward_ablated(m, &s->pass, ablations, NULL, workspace,
                                                         sizeof workspace, report, error);
    mh_multihead_free(m);
    return status;
}

static void assert_pass_refused(const struct sound *s, enum mh_status status, const char *message)
{
    struct mh_error error = {0};
    struct mh_report report;
    assert_int_equal(run(s, NULL, &report, &error), status);
    assert_string_equal(error.message, message);
    assert_int_equal(report.masked_rows, 0);
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_NONE);
}

#define ASSERT_PASS_REFUSED(spoil, status, message)                                                \
    do {                                                                                           \
        struct sound *s_ = make_sound();                                                           \
        struct mh_multihead_pass *p = &s_->pass;                                                   \
        spoil;                                                                                     \
        assert_pass_refused(s_, status, message);                                                  \
        free(s_);                                                                                  \
    } while (0)

static void bad_passes_are_refused(void **state)
{
    (void)state;
    static const int32_t lengths[B] = {3, 4};
    ASSERT_PASS_REFUSED(p->batch = 0, MH_ARGUMENT, "batch is 0: it must be at least 1");
    ASSERT_PASS_REFUSED(p->queries = 0, MH_ARGUMENT, "queries is 0: it must be at least 1");
    ASSERT_PASS_REFUSED(p->keys = 0, MH_ARGUMENT, "keys is 0: it must be at least 1");
    ASSERT_PASS_REFUSED(p->query = NULL, MH_ARGUMENT, "query is NULL");
    ASSERT_PASS_REFUSED(p->key = NULL, MH_ARGUMENT, "key is NULL");
    ASSERT_PASS_REFUSED(p->value = NULL, MH_ARGUMENT, "value is NULL");
    ASSERT_PASS_REFUSED(p->output = NULL, MH_ARGUMENT, "output is NULL");
    ASSERT_PASS_REFUSED(p->output_row_stride = 3, MH_SHAPE,
                        "output_row_stride is 3, less than the 4 elements it must step over");
    ASSERT_PASS_REFUSED(p->mask.free_keys = 4, MH_SHAPE,
                        "mask.free_keys is 4, but there are only 3 keys");
    ASSERT_PASS_REFUSED(p->mask.key_lengths = lengths, MH_SHAPE,
                        "mask.key_lengths[1] is 4: it must be 0 to 3, the number of keys");
    ASSERT_PASS_REFUSED(p->dropout = 2.0f, MH_ARGUMENT,
                        "dropout is 2: it must be at least 0 and less than 1");
    ASSERT_PASS_REFUSED(p->weights.mode = MH_WEIGHTS_MEAN, MH_ARGUMENT,
                        "weights.data is NULL, but weights.mode is 2");
}

static void assert_ablation_refused(struct mh_ablation ablation, const char *message)
{
    struct sound *s = make_sound();
    struct mh_report report;
    struct mh_error error;
    const struct mh_ablation list[] = {{1, 0, MH_ABLATE_ZERO}, ablation};
    struct mh_ablations ablations = {list, 2, 1};
    assert_int_equal(run(s, &ablations, &report, &error), MH_ARGUMENT);
    assert_string_equal(error.message, message);
    ablations.layer = 7; /* another layer's affair */
    assert_int_equal(run(s, &ablations, &report, &error), MH_OK);
    free(s);
}

static void bad_ablations_are_refused(void **state)
{
    (void)state;
    assert_ablation_refused((struct mh_ablation){1, 2, MH_ABLATE_ZERO},
                            "ablations[1].head is 2: it must be 0 to 1");
    assert_ablation_refused((struct mh_ablation){1, -1, MH_ABLATE_ZERO},
                            "ablations[1].head is -1: it must be 0 to 1");
    assert_ablation_refused((struct mh_ablation){1, 0, 3},
                            "ablations[1].kind is 3: it must be 0 (zero), 1 (mean) or 2 (uniform)");
}

static void a_workspace_too_small_is_refused(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    struct mh_report report;
    struct mh_error error;
    size_t bytes;
    mh_multihead *m;
    assert_int_equal(mh_multihead_create(&m, &s->config, NULL), MH_OK);
    assert_int_equal(mh_multihead_workspace(m, &s->pass, &bytes, NULL), MH_OK);
    void *workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);
    assert_non_null(workspace);
    assert_int_equal(mh_multihead_forward(m, &s->pass, workspace, bytes - 15, &report, &error),
                     MH_OK);
    assert_int_equal(mh_multihead_forward(m, &s->pass, workspace, bytes - 16, &report, &error),
                     MH_MEMORY);
    s->pass.keys = SIZE_MAX / 8;
    assert_int_equal(mh_multihead_workspace(m, &s->pass, &bytes, &error), MH_MEMORY);
    free(workspace);
    mh_multihead_free(m);
    free(s);
}

/* ===== The guard ============================================================================ */

static void assert_guarded(struct sound *s, enum mh_tensor tensor, uint32_t index,
                           const char *message)
{
    struct mh_report report;
    struct mh_error error;
    assert_int_equal(run(s, NULL, &report, &error), MH_NONFINITE);
    assert_string_equal(error.message, message);
    assert_int_equal(report.nonfinite_tensor, tensor);
    assert_int_equal(report.nonfinite_index, index);
    assert_true(!isfinite(report.nonfinite_value));
    s->pass.check_finite = 0;
    assert_int_equal(run(s, NULL, &report, &error), MH_OK);
    free(s);
}

static void the_guard_names_inputs(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    s->query[(1 * T + 2) * E + 3] = NAN;
    assert_guarded(s, MH_TENSOR_QUERY, (1 * T + 2) * E + 3, "query[b=1, row=2, e=3] is NaN");
    s = make_sound();
    s->key[(0 * T + 1) * E + 2] = INFINITY;
    assert_guarded(s, MH_TENSOR_KEY, (0 * T + 1) * E + 2, "key[b=0, row=1, e=2] is infinity");
    s = make_sound();
    s->value[0] = -INFINITY;
    assert_guarded(s, MH_TENSOR_VALUE, 0, "value[b=0, row=0, e=0] is -infinity");
}

static void the_guard_names_weights(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    s->weights[1][2 * E + 1] = NAN; /* the key weight, output 2, input 1 */
    s->biases[3][0] = NAN;
    assert_guarded(s, MH_TENSOR_WEIGHT, 2 * E + 1, "key weight[9] is NaN");
    s = make_sound();
    s->weights[0][2 * E + 1] = INFINITY; /* by columns: output 1, input 2 */
    s->config.query.out_stride = 1;
    s->config.query.in_stride = E;
    assert_guarded(s, MH_TENSOR_WEIGHT, 1 * E + 2, "query weight[6] is infinity");
    s = make_sound();
    s->biases[3][2] = NAN;
    assert_guarded(s, MH_TENSOR_WEIGHT, 2, "out bias[2] is NaN");
    s = make_sound();
    s->bias_value[3] = -INFINITY;
    assert_guarded(s, MH_TENSOR_WEIGHT, 3, "bias_value[3] is -infinity");
}

/* Finite numbers whose projections are too large. Heads have D = 2; there are T + 1 keys. */
static void the_guard_names_projections(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    s->query[(1 * T + 2) * E + 3] = 3e38f;
    s->weights[0][3 * E + 3] = 2.0f;
    assert_guarded(s, MH_TENSOR_PROJECTED_QUERY, ((1 * H + 1) * T + 2) * 2 + 1,
                   "projected query[b=1, h=1, row=2, d=1] is infinity");
    s = make_sound();
    s->key[(0 * T + 1) * E + 2] = -3e38f;
    s->weights[1][2 * E + 2] = 2.0f;
    assert_guarded(s, MH_TENSOR_PROJECTED_KEY, ((0 * H + 1) * (T + 1) + 1) * 2 + 0,
                   "projected key[b=0, h=1, row=1, d=0] is -infinity");
    s = make_sound();
    s->value[0] = 3e38f;
    s->weights[2][0] = 2.0f;
    assert_guarded(s, MH_TENSOR_PROJECTED_VALUE, 0,
                   "projected value[b=0, h=0, row=0, d=0] is infinity");
}

static void the_guard_names_scores_and_output(void **state)
{
    (void)state;
    struct sound *s = make_sound();
    s->query[0] = s->key[2 * E] = 1e20f;
    assert_guarded(s, MH_TENSOR_SCORES, 2, "scores[b=0, h=0, query=0, key=2] is infinity");
    s = make_sound();
    for (size_t r = 0; r < T; r++)
        s->value[(1 * T + r) * E + 1] = 2e38f;
    s->bias_value[1] = 2e38f;
    s->weights[3][1 * E + 1] = 2.0f;
    assert_guarded(s, MH_TENSOR_OUTPUT, (1 * T + 0) * E + 1, "output[b=1, row=0, e=1] is infinity");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(weights_beyond_the_address_space_are_refused),
        cmocka_unit_test(bad_passes_are_refused),
        cmocka_unit_test(bad_ablations_are_refused),
        cmocka_unit_test(a_workspace_too_small_is_refused),
        cmocka_unit_test(the_guard_names_inputs),
        cmocka_unit_test(the_guard_names_weights),
        cmocka_unit_test(the_guard_names_projections),
        cmocka_unit_test(the_guard_names_scores_and_output),
    };
    return cmocka_run_group_tests_name("multihead errors", tests, NULL, NULL);
}
