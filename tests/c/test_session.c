/* Sessions: whatever changes from pass to pass, the results are those of a pass without a session, bit by
 * bit; and only what can have changed is computed. */
#include "multihead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/model_run.h"
#include "support/random_case.h"
#include "support/tiny_model.h"

enum { L = 3, H = 4, E = 16, F = 24, V = 37, P = 20, MOST_ABLATIONS = 3 };
enum { SEQUENCES = 24, STEPS = 60 };

static const struct mh_model_config CONFIG = {
    .layers = L,
    .heads = H,
    .kv_heads = 2,
    .embed_dim = E,
    .ffn_dim = F,
    .vocabulary = V,
    .positions = P,
    .norm_epsilon = 1e-5F,
};

static void must(enum mh_status status, const struct mh_error *error)
{
    if (status != MH_OK)
        fail_msg("%s: %s", mh_status_name((int32_t)status), error->message);
}

static mh_model *load(const struct mh_model_config *config, uint32_t seed)
{
    struct tiny_model tiny = tiny_model_make(config, seed);
    size_t bytes;
    unsigned char *file = tiny_model_file(&tiny, "", &bytes);
    struct mh_error error;
    mh_model *model;
    must(mh_model_load(&model, config, file, bytes, &error), &error);
    free(file);
    tiny_model_free(&tiny);
    return model;
}

static mh_session *open_session(const mh_model *model)
{
    struct mh_error error;
    mh_session *session;
    must(mh_session_create(&session, model, 0, &error), &error);
    return session;
}

/* ===== What a user does from pass to pass =================================================== */

/* Everything that a pass depends on. Maps have room for P tokens, so that what is painted stays. */
struct desk {
    int32_t tokens[P];
    size_t length;
    struct mh_mask mask;
    size_t hidden_layer_stride;
    uint8_t hidden[L * H * P * P], key_hidden[P];
    float bias[H * P * P];
    int32_t blocks[P], key_lengths[1];
    int32_t scale_mode, check_finite;
    float temperature;
    struct mh_ablation ablations[MOST_ABLATIONS];
    size_t ablation_count;
};

static void edit_text(struct desk *desk, uint32_t *random)
{
    switch (random_u32(random) % 4) {
    case 0:
        desk->tokens[random_u32(random) % P] = random_int(random, 0, V - 1);
        break;
    case 1:
        desk->length = random_size(random, 1, P);
        break;
    default:
        desk->length = desk->length < P ? desk->length + 1 : 1;
        break;
    }
}

/* A map of T rows and keys, of all heads or each, of all layers or each. */
static void toggle_hidden(struct desk *desk, uint32_t *random)
{
    struct mh_mask *mask = &desk->mask;
    mask->hidden = one_in(random, 3) ? NULL : desk->hidden;
    mask->hidden_row_stride = P;
    mask->hidden_head_stride = one_in(random, 2) ? P * P : 0;
    desk->hidden_layer_stride = one_in(random, 2) ? H * P * P : 0;
}

static void edit_mask(struct desk *desk, uint32_t *random)
{
    struct mh_mask *mask = &desk->mask;
    switch (random_u32(random) % 10) {
    case 0:
        mask->causal = !mask->causal;
        break;
    case 1:
        mask->windowed = !mask->windowed;
        mask->window_left = random_int(random, -1, 5);
        mask->window_right = random_int(random, -1, 3);
        break;
    case 2:
        mask->prefix = random_size(random, 0, 4);
        break;
    case 3:
        mask->key_hidden = one_in(random, 2) ? NULL : desk->key_hidden;
        desk->key_hidden[random_u32(random) % P] ^= 1;
        break;
    case 4:
        toggle_hidden(desk, random);
        break;
    case 5:
        mask->bias = one_in(random, 2) ? NULL : desk->bias;
        mask->bias_row_stride = P;
        mask->bias_head_stride = one_in(random, 2) ? P * P : 0;
        desk->bias[random_u32(random) % (H * P * P)] = random_between(random, -2.0F, 2.0F);
        break;
    case 6:
        mask->query_blocks = mask->key_blocks = one_in(random, 2) ? NULL : desk->blocks;
        desk->blocks[random_u32(random) % P] = random_int(random, 0, 1);
        break;
    case 7:
        mask->key_lengths = one_in(random, 2) ? NULL : desk->key_lengths;
        break;
    case 8:
        mask->query_offset = one_in(random, 2) ? 0 : random_int(random, -2, 2);
        break;
    default:
        mask->free_keys = one_in(random, 2) ? 0 : 1;
        break;
    }
}

static void paint(struct desk *desk, uint32_t *random)
{
    size_t cell = random_u32(random) % sizeof desk->hidden;
    for (size_t i = 0; i < 3; i++)
        desk->hidden[(cell + i) % sizeof desk->hidden] ^= 1;
}

static void edit_ablations(struct desk *desk, uint32_t *random)
{
    if (desk->ablation_count == MOST_ABLATIONS || (desk->ablation_count > 0 && one_in(random, 3))) {
        desk->ablation_count--;
        return;
    }
    desk->ablations[desk->ablation_count++] = (struct mh_ablation){
        random_int(random, 0, L - 1), random_int(random, 0, H - 1), random_int(random, 0, 2)};
}

static void edit(struct desk *desk, uint32_t *random)
{
    switch (random_u32(random) % 10) {
    case 0:
    case 1:
        edit_mask(desk, random);
        break;
    case 2:
    case 3:
        paint(desk, random);
        break;
    case 4:
        edit_ablations(desk, random);
        break;
    case 5:
        desk->scale_mode = one_in(random, 2) ? MH_SCALE_NONE : MH_SCALE_DEFAULT;
        desk->temperature = one_in(random, 2) ? 0.0F : 1.5F;
        break;
    case 6:
        desk->check_finite = !desk->check_finite;
        break;
    default:
        edit_text(desk, random);
        break;
    }
    desk->key_lengths[0] = (int32_t)(desk->length - desk->length / 4);
    if (desk->mask.free_keys > 0)
        desk->key_lengths[0] = (int32_t)desk->length - 1;
}

/* ===== With and without ===================================================================== */

struct result {
    float attention[L * H * P * P], raw_scores[L * H * P * P], scores[L * H * P * P];
    float row_statistics[L * H * P * MH_ROW_STATISTICS],
        head_statistics[L * H * MH_HEAD_STATISTICS];
    float hidden[(L + 1) * P * E], logits[P * V];
};

static struct result with, without;

static void choose(struct mh_choice *choice, const int32_t *heads, const int32_t *rows,
                   uint32_t *random)
{
    *choice = (struct mh_choice){0};
    if (one_in(random, 2))
        *choice = (struct mh_choice){.heads = heads, .head_count = 3};
    if (one_in(random, 2)) {
        choice->rows = rows;
        choice->row_count = 1;
    }
}

static struct mh_model_pass pass_of(const struct desk *desk)
{
    return (struct mh_model_pass){
        .tokens = desk->tokens,
        .length = desk->length,
        .mask = desk->mask,
        .hidden_layer_stride = desk->hidden_layer_stride,
        .scale_mode = desk->scale_mode,
        .temperature = desk->temperature,
        .ablations = desk->ablations,
        .ablation_count = desk->ablation_count,
        .check_finite = desk->check_finite,
    };
}

static void want(struct mh_model_pass *pass, struct result *into, const struct mh_model_pass *as)
{
    pass->attention = as->attention != NULL ? into->attention : NULL;
    pass->raw_scores = as->raw_scores != NULL ? into->raw_scores : NULL;
    pass->scores = as->scores != NULL ? into->scores : NULL;
    pass->row_statistics = as->row_statistics != NULL ? into->row_statistics : NULL;
    pass->head_statistics = as->head_statistics != NULL ? into->head_statistics : NULL;
    pass->hidden = as->hidden != NULL ? into->hidden : NULL;
    pass->logits = as->logits != NULL ? into->logits : NULL;
}

static void want_some(struct mh_model_pass *pass, struct result *into, uint32_t *random)
{
    static const int32_t heads[] = {0, H + 1, L * H - 1}, rows[] = {0};
    static const struct mh_model_pass nothing = {0};
    want(pass, into, &nothing);
    if (!one_in(random, 3))
        pass->attention = into->attention;
    if (one_in(random, 3))
        pass->raw_scores = into->raw_scores;
    if (one_in(random, 3))
        pass->scores = into->scores;
    if (!one_in(random, 3))
        pass->row_statistics = into->row_statistics;
    if (!one_in(random, 3))
        pass->head_statistics = into->head_statistics;
    if (one_in(random, 3))
        pass->hidden = into->hidden;
    if (one_in(random, 2))
        pass->logits = into->logits;
    if (one_in(random, 2)) {
        pass->logit_rows = rows;
        pass->logit_count = 1;
    }
    choose(&pass->chosen_attention, heads, rows, random);
    choose(&pass->chosen_scores, heads, rows, random);
}

static size_t compare_step(const mh_model *model, mh_session *session, const struct desk *desk,
                           uint32_t *random)
{
    struct mh_model_pass pass = pass_of(desk);
    want_some(&pass, &with, random);
    memset(&with, 0x5A, sizeof with);
    memset(&without, 0x5A, sizeof without);
    struct mh_report reused, computed;
    struct mh_error error, expected;
    pass.session = session;
    enum mh_status status = try_run(model, &pass, &reused, &error);
    struct mh_model_pass plain = pass;
    plain.session = NULL;
    want(&plain, &without, &pass);
    assert_int_equal(status, try_run(model, &plain, &computed, &expected));
    must(status, &error);
    assert_memory_equal(&with, &without, sizeof with);
    assert_int_equal(reused.masked_rows, computed.masked_rows);
    assert_int_equal(computed.computed_rows, L * desk->length);
    assert_int_equal(computed.first_row, 0);
    assert_true(reused.computed_rows <= computed.computed_rows);
    return reused.computed_rows;
}

static void any_passes_may_follow_one_another(void **state)
{
    (void)state;
    uint32_t random = 20240701;
    size_t computed = 0, all = 0;
    for (size_t n = 0; n < SEQUENCES; n++) {
        struct mh_model_config config = CONFIG;
        config.norm_position = n % 2 == 0 ? MH_NORM_PRE : MH_NORM_POST;
        config.precision = n % 3 == 2 ? MH_INT8 : MH_F32;
        mh_model *model = load(&config, 100 + (uint32_t)n);
        mh_session *session = open_session(model);
        struct desk *desk = calloc(1, sizeof *desk);
        assert_non_null(desk);
        desk->length = random_size(&random, 1, P);
        desk->mask.causal = !one_in(&random, 4);
        for (size_t step = 0; step < STEPS; step++) {
            computed += compare_step(model, session, desk, &random);
            all += L * desk->length;
            edit(desk, &random);
        }
        free(desk);
        mh_session_free(session);
        mh_model_free(model);
    }
    print_message("%zu of %zu rows computed\n", computed, all);
    assert_true(computed < all * 9 / 10);
}

/* ===== How much is computed ================================================================= */

static struct mh_report run(const mh_model *model, mh_session *session, const struct desk *desk)
{
    struct mh_model_pass pass = pass_of(desk);
    pass.session = session;
    pass.attention = with.attention;
    struct mh_report report;
    struct mh_error error;
    must(try_run(model, &pass, &report, &error), &error);
    return report;
}

static void assert_computed(struct mh_report report, size_t rows, size_t layer, size_t row)
{
    assert_int_equal(report.computed_rows, rows);
    assert_int_equal(report.first_layer, layer);
    assert_int_equal(report.first_row, row);
}

static void only_what_changed_is_computed(void **state)
{
    (void)state;
    enum { T = 12 };
    mh_model *model = load(&CONFIG, 1);
    mh_session *session = open_session(model);
    struct desk *desk = calloc(1, sizeof *desk);
    assert_non_null(desk);
    desk->length = T;
    desk->mask.causal = 1;
    desk->check_finite = 1;
    assert_computed(run(model, session, desk), L * T, 0, 0);
    assert_computed(run(model, session, desk), 0, L, T); /* the same again */
    desk->length++;
    assert_computed(run(model, session, desk), L, 0, T); /* a token more */
    desk->length--;
    assert_computed(run(model, session, desk), 0, L, T); /* a token less */
    desk->tokens[8] = 3;
    assert_computed(run(model, session, desk), L * (T - 8), 0, 8);
    desk->ablations[0] = (struct mh_ablation){1, 2, MH_ABLATE_ZERO};
    desk->ablation_count = 1;
    assert_computed(run(model, session, desk), (L - 1) * T, 1, 0);
    desk->length++;
    assert_computed(run(model, session, desk), L, 0, T);
    desk->ablations[0].kind = MH_ABLATE_MEAN;
    run(model, session, desk);
    desk->length--; /* one row less in the mean */
    assert_computed(run(model, session, desk), (L - 1) * T, 1, 0);
    desk->ablation_count = 0;
    run(model, session, desk);
    desk->temperature = 2.0F;
    assert_computed(run(model, session, desk), L * T, 0, 0);

    /* Painting on a mask of each layer: row 7 of the last layer, then row 5 of layer 1. */
    desk->mask.hidden = desk->hidden;
    desk->mask.hidden_row_stride = P;
    desk->mask.hidden_head_stride = P * P;
    desk->hidden_layer_stride = H * P * P;
    run(model, session, desk);
    desk->hidden[(2 * H + 1) * P * P + 7 * P + 3] = 1;
    assert_computed(run(model, session, desk), T - 7, 2, 7);
    desk->hidden[(1 * H + 3) * P * P + 5 * P + 5] = 1;
    assert_computed(run(model, session, desk), (T - 5) * 2, 1, 5);
    desk->hidden[(1 * H + 3) * P * P + 5 * P + 9] = 1; /* which causal hides anyway */
    assert_computed(run(model, session, desk), 0, L, T);

    /* A window of 2 to each side: a change reaches 2 rows back a layer. */
    desk->mask = (struct mh_mask){.windowed = 1, .window_left = 2, .window_right = 2};
    desk->hidden_layer_stride = 0;
    run(model, session, desk);
    desk->tokens[10] = 9;
    assert_computed(run(model, session, desk), (T - 8) + (T - 6) + (T - 4), 0, 4);
    /* Everyone sees everyone. */
    desk->mask = (struct mh_mask){0};
    run(model, session, desk);
    desk->tokens[11] = 9;
    assert_computed(run(model, session, desk), L * T, 0, 0);
    free(desk);
    mh_session_free(session);
    mh_model_free(model);
}

/* ===== Errors =============================================================================== */

static void bad_sessions_are_refused(void **state)
{
    (void)state;
    mh_model *model = load(&CONFIG, 1), *other = load(&CONFIG, 1);
    struct mh_error error;
    mh_session *session = (mh_session *)&error;
    assert_int_equal(mh_session_create(&session, model, P + 1, &error), MH_ARGUMENT);
    assert_null(session);
    assert_string_equal(error.message, "positions 21 is not in 1..20, or 0 for all");
    assert_int_equal(mh_session_create(&session, NULL, 0, &error), MH_ARGUMENT);
    assert_int_equal(mh_session_create(NULL, model, 0, &error), MH_ARGUMENT);
    mh_session_free(NULL);

    must(mh_session_create(&session, model, 4, &error), &error);
    struct desk *desk = calloc(1, sizeof *desk);
    assert_non_null(desk);
    desk->length = 5;
    struct mh_model_pass pass = pass_of(desk);
    pass.session = session;
    assert_int_equal(try_run(model, &pass, NULL, &error), MH_ARGUMENT);
    assert_string_equal(error.message, "length 5 is more than the session's 4 positions");
    pass.length = 4;
    assert_int_equal(try_run(other, &pass, NULL, &error), MH_ARGUMENT);
    assert_string_equal(error.message, "the session is of another model");
    must(try_run(model, &pass, NULL, &error), &error);
    free(desk);
    mh_session_free(session);
    mh_model_free(model);
    mh_model_free(other);
}

/* A pass that fails is as one without a session, and so is the one after it. */
static void a_failed_pass_leaves_nothing_behind(void **state)
{
    (void)state;
    struct mh_model_config config = CONFIG;
    struct tiny_model tiny = tiny_model_make(&config, 5);
    tiny_model_tensor(&tiny, "wte.weight")->data[3 * E] =
        3e38F; /* token 3 at position 6 overflows */
    tiny_model_tensor(&tiny, "wpe.weight")->data[6 * E] = 3e38F;
    size_t bytes;
    unsigned char *file = tiny_model_file(&tiny, "", &bytes);
    struct mh_error error, expected;
    mh_model *model;
    must(mh_model_load(&model, &config, file, bytes, &error), &error);
    free(file);
    tiny_model_free(&tiny);
    mh_session *session = open_session(model);
    struct desk *desk = calloc(1, sizeof *desk);
    assert_non_null(desk);
    uint32_t random = 7;
    desk->length = 9;
    desk->mask.causal = 1;
    desk->check_finite = 1;
    compare_step(model, session, desk, &random);
    desk->tokens[6] = 3;
    struct mh_model_pass pass = pass_of(desk), plain = pass;
    pass.session = session;
    struct mh_report report, of_plain;
    assert_int_equal(try_run(model, &pass, &report, &error), MH_NONFINITE);
    assert_int_equal(try_run(model, &plain, &of_plain, &expected), MH_NONFINITE);
    assert_string_equal(error.message, expected.message);
    assert_int_equal(report.nonfinite_index, of_plain.nonfinite_index);
    assert_int_equal(report.nonfinite_layer, of_plain.nonfinite_layer);
    desk->tokens[6] = 4;
    assert_int_equal(compare_step(model, session, desk, &random), L * desk->length);

    /* What was not checked is not taken for checked. */
    desk->tokens[6] = 3;
    desk->check_finite = 0;
    run(model, session, desk);
    pass = pass_of(desk);
    pass.session = session;
    pass.check_finite = 1;
    assert_int_equal(try_run(model, &pass, NULL, &error), MH_NONFINITE);
    assert_string_equal(error.message, expected.message);
    free(desk);
    mh_session_free(session);
    mh_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_passes_may_follow_one_another),
        cmocka_unit_test(only_what_changed_is_computed),
        cmocka_unit_test(bad_sessions_are_refused),
        cmocka_unit_test(a_failed_pass_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
