/* Every call of multihead.h that takes pointers, with each of them missing in turn. */
#include "multihead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/tiny_model.h"

/* ===== Sound arguments ====================================================================== */

/* Sizes that every call here can share: B 1, T = S = 2, H 1, E = D = F 2. */
enum { B = 1, T = 2, H = 1, E = 2, VOCABULARY = 3, WORKSPACE = 1 << 16 };

static float weight[E * E] = {1, 0, 0, 1};
static float rows[T * E] = {1, 2, 3, 4};
static float result[T * E];
static float maps[B * H * T * T] = {1, 0, 0.5F, 0.5F};
static float row_statistics[B * H * T * MH_ROW_STATISTICS];
static const int32_t tokens[T] = {0, 2};
static unsigned char workspace[WORKSPACE];
static size_t bytes;

static const struct mh_attention attention = {
    .batch = B,
    .queries = T,
    .keys = T,
    .heads = H,
    .kv_heads = H,
    .head_dim = E,
    .value_dim = E,
    .query = {rows, T *E, E, E},
    .key = {rows, T *E, E, E},
    .value = {rows, T *E, E, E},
    .output = {result, T *E, E, E},
};

static const struct mh_multihead_config multihead_config = {
    .embed_dim = E,
    .heads = H,
    .kv_heads = H,
    .query = {weight, E, 1, NULL},
    .key = {weight, E, 1, NULL},
    .value = {weight, E, 1, NULL},
    .out = {weight, E, 1, NULL},
};

static const struct mh_multihead_pass multihead_pass = {
    .batch = B,
    .queries = T,
    .keys = T,
    .query = rows,
    .key = rows,
    .value = rows,
    .query_row_stride = E,
    .key_row_stride = E,
    .value_row_stride = E,
    .output = result,
    .output_row_stride = E,
};

static const struct mh_block_config block_config = {
    .attention = {.embed_dim = E,
                  .heads = H,
                  .kv_heads = H,
                  .query = {weight, E, 1, NULL},
                  .key = {weight, E, 1, NULL},
                  .value = {weight, E, 1, NULL},
                  .out = {weight, E, 1, NULL}},
    .ffn_dim = E,
    .ffn_in = {weight, E, 1, NULL},
    .ffn_out = {weight, E, 1, NULL},
    .norm1 = {weight, NULL},
    .norm2 = {weight, NULL},
    .norm_epsilon = 1e-5F,
};

static const struct mh_block_pass block_pass = {
    .batch = B, .length = T, .input = rows, .output = result};

static const struct mh_model_config model_config = {
    .layers = 1,
    .heads = H,
    .kv_heads = H,
    .embed_dim = E,
    .ffn_dim = E,
    .vocabulary = VOCABULARY,
    .positions = T,
    .norm_epsilon = 1e-5F,
};

static const struct mh_model_pass model_pass = {.tokens = tokens, .length = T};

static const struct mh_statistics statistics = {
    .batch = B,
    .heads = H,
    .queries = T,
    .keys = T,
    .weights = maps,
    .row_statistics = row_statistics,
};

static mh_multihead *multihead;
static mh_block *block;
static mh_model *model;
static unsigned char *model_file;
static size_t model_bytes;

static int make_handles(void **state)
{
    (void)state;
    struct tiny_model tiny = tiny_model_make(&model_config, 1);
    model_file = tiny_model_file(&tiny, "", &model_bytes);
    tiny_model_free(&tiny);
    bool made = mh_multihead_create(&multihead, &multihead_config, NULL) == MH_OK &&
                mh_block_create(&block, &block_config, NULL) == MH_OK &&
                mh_model_load(&model, &model_config, model_file, model_bytes, NULL) == MH_OK;
    return made ? 0 : -1;
}

static int free_handles(void **state)
{
    (void)state;
    mh_multihead_free(multihead);
    mh_block_free(block);
    mh_model_free(model);
    free(model_file);
    return 0;
}

/* ===== The calls ============================================================================ */

/* Each takes the pointers that it cannot do without, in order; one of them may be NULL. */
typedef const void *const pointers[3];

/* Where a call writes, the table has const only because most pointers are. */
static void *writable(const void *pointer)
{
    return (void *)(uintptr_t)pointer;
}

static enum mh_status attention_workspace(pointers p, struct mh_error *error)
{
    return mh_attention_workspace(p[0], writable(p[1]), error);
}

static enum mh_status attention_forward(pointers p, struct mh_error *error)
{
    return mh_attention_forward(p[0], writable(p[1]), WORKSPACE, NULL, error);
}

/* A handle that was made is freed; a place for it that was given must not be left as it was. */
static enum mh_status multihead_create(pointers p, struct mh_error *error)
{
    mh_multihead *made = multihead;
    enum mh_status status = mh_multihead_create(p[0] != NULL ? &made : NULL, p[1], error);
    assert_true(p[0] == NULL || made != multihead);
    if (p[0] != NULL)
        mh_multihead_free(made);
    return status;
}

static enum mh_status multihead_workspace(pointers p, struct mh_error *error)
{
    return mh_multihead_workspace(p[0], p[1], writable(p[2]), error);
}

static enum mh_status multihead_forward(pointers p, struct mh_error *error)
{
    return mh_multihead_forward(p[0], p[1], writable(p[2]), WORKSPACE, NULL, error);
}

static enum mh_status block_create(pointers p, struct mh_error *error)
{
    mh_block *made = block;
    enum mh_status status = mh_block_create(p[0] != NULL ? &made : NULL, p[1], error);
    assert_true(p[0] == NULL || made != block);
    if (p[0] != NULL)
        mh_block_free(made);
    return status;
}

static enum mh_status block_workspace(pointers p, struct mh_error *error)
{
    return mh_block_workspace(p[0], p[1], writable(p[2]), error);
}

static enum mh_status block_forward(pointers p, struct mh_error *error)
{
    return mh_block_forward(p[0], p[1], writable(p[2]), WORKSPACE, NULL, error);
}

static enum mh_status model_load(pointers p, struct mh_error *error)
{
    mh_model *made = model;
    enum mh_status status =
        mh_model_load(p[0] != NULL ? &made : NULL, p[1], p[2], model_bytes, error);
    assert_true(p[0] == NULL || made != model);
    if (p[0] != NULL)
        mh_model_free(made);
    return status;
}

static enum mh_status model_workspace(pointers p, struct mh_error *error)
{
    return mh_model_workspace(p[0], p[1], writable(p[2]), error);
}

static enum mh_status model_forward(pointers p, struct mh_error *error)
{
    return mh_model_forward(p[0], p[1], writable(p[2]), WORKSPACE, NULL, error);
}

static enum mh_status top_k(pointers p, struct mh_error *error)
{
    return mh_top_k(p[0], VOCABULARY, 1, writable(p[1]), writable(p[2]), error);
}

static enum mh_status statistics_compute(pointers p, struct mh_error *error)
{
    return mh_statistics_compute(p[0], error);
}

/* ===== The table ============================================================================ */

struct call {
    const char *name;
    enum mh_status (*make)(pointers p, struct mh_error *error);
    const char *parameters[3]; /* NULL: it has no more */
    const void *sound[3];
};

static void check_call(const struct call *call)
{
    struct mh_error error = {0};
    if (call->make(call->sound, &error) != MH_OK)
        fail_msg("%s with sound arguments: %s", call->name, error.message);
    for (size_t missing = 0; missing < 3 && call->parameters[missing] != NULL; missing++) {
        const void *p[3] = {call->sound[0], call->sound[1], call->sound[2]};
        p[missing] = NULL;
        char expected[64];
        snprintf(expected, sizeof expected, "%s is NULL", call->parameters[missing]);
        enum mh_status status = call->make(p, &error);
        if (status != MH_ARGUMENT || strcmp(error.message, expected) != 0)
            fail_msg("%s without %s: %s, \"%s\"", call->name, call->parameters[missing],
                     mh_status_name((int32_t)status), error.message);
        assert_int_equal(call->make(p, NULL), MH_ARGUMENT);
    }
}

static void a_missing_pointer_is_named(void **state)
{
    (void)state;
    static int32_t id;
    static float probability;
    static char place; /* stands for the place of a handle */
    const struct call calls[] = {
        {"mh_attention_workspace",
         attention_workspace,
         {"attention", "bytes"},
         {&attention, &bytes}},
        {"mh_attention_forward",
         attention_forward,
         {"attention", "workspace"},
         {&attention, workspace}},
        {"mh_multihead_create", multihead_create, {"out", "config"}, {&place, &multihead_config}},
        {"mh_multihead_workspace",
         multihead_workspace,
         {"multihead", "pass", "bytes"},
         {multihead, &multihead_pass, &bytes}},
        {"mh_multihead_forward",
         multihead_forward,
         {"multihead", "pass", "workspace"},
         {multihead, &multihead_pass, workspace}},
        {"mh_block_create", block_create, {"out", "config"}, {&place, &block_config}},
        {"mh_block_workspace",
         block_workspace,
         {"block", "pass", "bytes"},
         {block, &block_pass, &bytes}},
        {"mh_block_forward",
         block_forward,
         {"block", "pass", "workspace"},
         {block, &block_pass, workspace}},
        {"mh_model_load",
         model_load,
         {"out", "config", "file"},
         {&place, &model_config, model_file}},
        {"mh_model_workspace",
         model_workspace,
         {"model", "pass", "bytes"},
         {model, &model_pass, &bytes}},
        {"mh_model_forward",
         model_forward,
         {"model", "pass", "workspace"},
         {model, &model_pass, workspace}},
        {"mh_top_k", top_k, {"logits", "ids", "probabilities"}, {rows, &id, &probability}},
        {"mh_statistics_compute", statistics_compute, {"statistics"}, {&statistics}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check_call(&calls[i]);
}

/* A report is written also when there was nothing to run. */
static void a_report_is_written_all_the_same(void **state)
{
    (void)state;
    const struct mh_report zero = {0};
    struct mh_report reports[4];
    memset(reports, 0xFF, sizeof reports);
    mh_attention_forward(NULL, workspace, WORKSPACE, &reports[0], NULL);
    mh_multihead_forward(NULL, &multihead_pass, workspace, WORKSPACE, &reports[1], NULL);
    mh_block_forward(NULL, &block_pass, workspace, WORKSPACE, &reports[2], NULL);
    mh_model_forward(NULL, &model_pass, workspace, WORKSPACE, &reports[3], NULL);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(&reports[i], &zero, sizeof zero);
}

static void nothing_may_be_freed(void **state)
{
    (void)state;
    mh_multihead_free(NULL);
    mh_block_free(NULL);
    mh_model_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_pointer_is_named),
        cmocka_unit_test(a_report_is_written_all_the_same),
        cmocka_unit_test(nothing_may_be_freed),
    };
    return cmocka_run_group_tests_name("missing pointers", tests, make_handles, free_handles);
}
