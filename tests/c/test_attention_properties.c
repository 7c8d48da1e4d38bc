/* What holds for attention whatever the numbers: most of it bit by bit. */
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/attention_case.h"
#include "support/compare.h"

enum { CASES = 300 };

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void assert_same_bits(const float *actual, const float *expected, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (bits_of(actual[i]) != bits_of(expected[i]))
            fail_msg("%s: element %zu is %.9g, not %.9g", what, i, (double)actual[i],
                     (double)expected[i]);
}

static size_t map_size(const struct mh_attention *a)
{
    return a->batch * a->heads * a->queries * a->keys;
}

/* The same call with a contiguous output [B, H, T, DV] of its own and the weights of all heads. */
static struct mh_attention with_own_outputs(const struct mh_attention *a, struct pool *pool)
{
    struct mh_attention own = *a;
    size_t row = a->value_dim;
    own.output = (struct mh_rows_out){pool_floats(pool, a->batch * a->heads * a->queries * row),
                                      a->heads * a->queries * row, a->queries * row, row};
    own.weights =
        (struct mh_weights_out){.mode = MH_WEIGHTS_ALL, .data = pool_floats(pool, map_size(a))};
    own.raw_scores = NULL;
    own.scores = NULL;
    return own;
}

/* Contiguous copies, to change at will. */
static float *copy_rows(struct mh_rows *rows, struct pool *pool, size_t batch, size_t heads,
                        size_t count, size_t width)
{
    float *data = pool_floats(pool, batch * heads * count * width);
    float *next = data;
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t r = 0; r < count; r++, next += width)
                memcpy(next,
                       rows->data + b * rows->batch_stride + h * rows->head_stride +
                           r * rows->row_stride,
                       width * sizeof *next);
    *rows = (struct mh_rows){data, heads * count * width, count * width, width};
    return data;
}

/* ===== A row depends on itself alone ======================================================== */

/* The call for query i only: its rows of all that is indexed by queries. */
static struct mh_attention only_row(const struct mh_attention *a, size_t i, struct pool *pool)
{
    struct mh_attention one = *a;
    one.queries = 1;
    one.query.data += i * a->query.row_stride;
    one.mask.query_offset += (int32_t)i;
    if (a->mask.query_blocks != NULL)
        one.mask.query_blocks += i;
    if (a->mask.hidden != NULL)
        one.mask.hidden += i * a->mask.hidden_row_stride;
    if (a->mask.bias != NULL)
        one.mask.bias += i * a->mask.bias_row_stride;
    return with_own_outputs(&one, pool);
}

static void a_row_alone_has_the_bits_it_has_among_others(void **state)
{
    (void)state;
    uint32_t random = 11;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, n, 30);
        c.attention.dropout = 0.0f; /* it counts rows */
        struct mh_attention all = with_own_outputs(&c.attention, &c.pool);
        run_attention(&all);
        size_t i = random_u32(&random) % all.queries;
        struct mh_attention one = only_row(&all, i, &c.pool);
        run_attention(&one);
        for (size_t b = 0; b < all.batch; b++)
            for (size_t h = 0; h < all.heads; h++) {
                size_t row = b * all.heads + h;
                assert_same_bits(output_row(&one, b, h, 0), output_row(&all, b, h, i),
                                 all.value_dim, "output");
                assert_same_bits(one.weights.data + row * all.keys,
                                 all.weights.data + (row * all.queries + i) * all.keys, all.keys,
                                 "weights");
            }
        free_attention_case(&c);
    }
}

static void what_else_is_asked_for_changes_no_bit(void **state)
{
    (void)state;
    uint32_t random = 12;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, n, 20);
        struct mh_attention all = with_own_outputs(&c.attention, &c.pool);
        run_attention(&all);
        run_attention(&c.attention);
        for (size_t b = 0; b < all.batch; b++)
            for (size_t h = 0; h < all.heads; h++)
                for (size_t i = 0; i < all.queries; i++)
                    assert_same_bits(output_row(&c.attention, b, h, i), output_row(&all, b, h, i),
                                     all.value_dim, "output");
        /* Every head and row, in the mode for chosen ones. */
        struct mh_attention rows = with_own_outputs(&c.attention, &c.pool);
        rows.weights.mode = MH_WEIGHTS_ROWS;
        run_attention(&rows);
        assert_same_bits(rows.weights.data, all.weights.data, map_size(&all), "weights");
        free_attention_case(&c);
    }
}

/* ===== Hidden keys ========================================================================== */

/* Key j and its value become `value`, in every batch element and head. */
static void overwrite_key(const struct mh_attention *a, float *keys, float *values, size_t j,
                          float value)
{
    for (size_t bg = 0; bg < a->batch * a->kv_heads; bg++) {
        for (size_t d = 0; d < a->head_dim; d++)
            keys[(bg * a->keys + j) * a->head_dim + d] = value;
        for (size_t d = 0; d < a->value_dim; d++)
            values[(bg * a->keys + j) * a->value_dim + d] = value;
    }
}

static size_t check_unseeing_rows(const struct mh_attention *a, const struct mh_attention *before,
                                  size_t j)
{
    size_t unseeing = 0;
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t i = 0; i < a->queries; i++) {
                if (reference_shows(&a->mask, a->keys, b, h, i, j))
                    continue;
                size_t row = ((b * a->heads + h) * a->queries + i) * a->keys;
                assert_same_bits(output_row(a, b, h, i), output_row(before, b, h, i), a->value_dim,
                                 "output");
                assert_same_bits(a->weights.data + row, before->weights.data + row, a->keys,
                                 "weights");
                unseeing++;
            }
    return unseeing;
}

static void a_hidden_key_has_no_influence_not_even_nan(void **state)
{
    (void)state;
    static const float poison[] = {7.0f, NAN, INFINITY, -INFINITY};
    uint32_t random = 13;
    size_t checked = 0;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, n, 14);
        c.attention.check_finite = 0;
        struct mh_attention before = with_own_outputs(&c.attention, &c.pool);
        run_attention(&before);
        struct mh_attention after = with_own_outputs(&c.attention, &c.pool);
        float *keys =
            copy_rows(&after.key, &c.pool, after.batch, after.kv_heads, after.keys, after.head_dim);
        float *values = copy_rows(&after.value, &c.pool, after.batch, after.kv_heads, after.keys,
                                  after.value_dim);
        size_t j = random_u32(&random) % after.keys;
        overwrite_key(&after, keys, values, j, poison[n % 4]);
        run_attention(&after);
        checked += check_unseeing_rows(&after, &before, j);
        free_attention_case(&c);
    }
    assert_true(checked > 1000);
}

static void a_causal_row_never_sees_the_future(void **state)
{
    (void)state;
    uint32_t random = 14;
    for (size_t n = 0; n < 50; n++) {
        struct attention_case c = make_attention_case(&random, 0, 40);
        c.attention.mask = (struct mh_mask){.causal = 1};
        c.attention.check_finite = 0;
        struct mh_attention before = with_own_outputs(&c.attention, &c.pool);
        run_attention(&before);
        struct mh_attention after = with_own_outputs(&c.attention, &c.pool);
        float *keys =
            copy_rows(&after.key, &c.pool, after.batch, after.kv_heads, after.keys, after.head_dim);
        float *values = copy_rows(&after.value, &c.pool, after.batch, after.kv_heads, after.keys,
                                  after.value_dim);
        size_t t = random_u32(&random) % after.keys;
        for (size_t j = t + 1; j < after.keys; j++)
            overwrite_key(&after, keys, values, j, random_between(&random, -9.0f, 9.0f));
        run_attention(&after);
        for (size_t bh = 0; bh < after.batch * after.heads; bh++) {
            size_t first = bh * after.queries, rows = after.queries < t + 1 ? after.queries : t + 1;
            assert_same_bits(after.output.data + first * after.value_dim,
                             before.output.data + first * after.value_dim, rows * after.value_dim,
                             "output");
            for (size_t i = 0; i < rows; i++)
                for (size_t j = i + 1; j < after.keys; j++)
                    assert_true(after.weights.data[(first + i) * after.keys + j] == 0.0f);
        }
        free_attention_case(&c);
    }
}

/* ===== Symmetries =========================================================================== */

/* order[j] is a random permutation of 0 .. n - 1. */
static size_t *random_order(uint32_t *random, struct pool *pool, size_t n)
{
    size_t *order = pool_take(pool, n, sizeof *order);
    for (size_t j = 0; j < n; j++)
        order[j] = j;
    for (size_t j = n; j-- > 1;) {
        size_t other = random_u32(random) % (j + 1), kept = order[j];
        order[j] = order[other];
        order[other] = kept;
    }
    return order;
}

/* rows [groups, count, width]: row j of each group becomes the old row order[j]. */
static void reorder(float *rows, size_t groups, size_t count, size_t width, const size_t *order)
{
    float *old = malloc(count * width * sizeof *old);
    assert_non_null(old);
    for (size_t g = 0; g < groups; g++) {
        float *group = rows + g * count * width;
        memcpy(old, group, count * width * sizeof *old);
        for (size_t j = 0; j < count; j++)
            memcpy(group + j * width, old + order[j] * width, width * sizeof *old);
    }
    free(old);
}

static void the_order_of_keys_does_not_matter(void **state)
{
    (void)state;
    uint32_t random = 15;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, 0, 30);
        c.attention.dropout = 0.0f;
        c.attention.mask = (struct mh_mask){0};
        struct mh_attention a = with_own_outputs(&c.attention, &c.pool);
        size_t groups = a.batch * a.kv_heads;
        float *keys = copy_rows(&a.key, &c.pool, a.batch, a.kv_heads, a.keys, a.head_dim);
        float *values = copy_rows(&a.value, &c.pool, a.batch, a.kv_heads, a.keys, a.value_dim);
        run_attention(&a);
        struct mh_attention shuffled = with_own_outputs(&a, &c.pool);
        size_t *order = random_order(&random, &c.pool, a.keys);
        reorder(keys, groups, a.keys, a.head_dim, order);
        reorder(values, groups, a.keys, a.value_dim, order);
        run_attention(&shuffled);
        assert_all_close(shuffled.output.data, a.output.data,
                         a.batch * a.heads * a.queries * a.value_dim, 2e-6);
        for (size_t row = 0; row < a.batch * a.heads * a.queries; row++)
            for (size_t j = 0; j < a.keys; j++)
                assert_close(shuffled.weights.data[row * a.keys + j],
                             a.weights.data[row * a.keys + order[j]], 1e-6);
        free_attention_case(&c);
    }
}

/* [B, G, S, D] to [B, H, S, D], each repeated for its group of query heads. */
static void repeat_heads(struct mh_rows *rows, struct pool *pool, const struct mh_attention *a,
                         size_t width)
{
    size_t head = a->keys * width, group = a->heads / a->kv_heads;
    float *data = pool_floats(pool, a->batch * a->heads * head);
    for (size_t b = 0; b < a->batch; b++)
        for (size_t h = 0; h < a->heads; h++)
            for (size_t j = 0; j < a->keys; j++)
                memcpy(data + (b * a->heads + h) * head + j * width,
                       rows->data + b * rows->batch_stride + h / group * rows->head_stride +
                           j * rows->row_stride,
                       width * sizeof *data);
    *rows = (struct mh_rows){data, a->heads * head, head, width};
}

static void grouped_heads_equal_repeated_ones(void **state)
{
    (void)state;
    uint32_t random = 16;
    for (size_t n = 0; n < CASES; n++) {
        struct attention_case c = make_attention_case(&random, n, 20);
        struct mh_attention grouped = with_own_outputs(&c.attention, &c.pool);
        run_attention(&grouped);
        struct mh_attention repeated = with_own_outputs(&c.attention, &c.pool);
        repeat_heads(&repeated.key, &c.pool, &grouped, grouped.head_dim);
        repeat_heads(&repeated.value, &c.pool, &grouped, grouped.value_dim);
        repeated.kv_heads = repeated.heads;
        run_attention(&repeated);
        assert_same_bits(repeated.output.data, grouped.output.data,
                         grouped.batch * grouped.heads * grouped.queries * grouped.value_dim,
                         "output");
        assert_same_bits(repeated.weights.data, grouped.weights.data, map_size(&grouped),
                         "weights");
        free_attention_case(&c);
    }
}

static void one_key_gets_all_the_weight(void **state)
{
    (void)state;
    uint32_t random = 17;
    for (size_t n = 0; n < 100; n++) {
        struct attention_case c = make_attention_case(&random, 0, 1);
        c.attention.mask = (struct mh_mask){0};
        c.attention.dropout = 0.0f;
        struct mh_attention a = with_own_outputs(&c.attention, &c.pool);
        run_attention(&a);
        for (size_t bh = 0; bh < a.batch * a.heads; bh++) {
            size_t b = bh / a.heads, h = bh % a.heads;
            const float *value = a.value.data + b * a.value.batch_stride +
                                 h / (a.heads / a.kv_heads) * a.value.head_stride;
            assert_true(a.weights.data[bh] == 1.0f);
            assert_same_bits(output_row(&a, b, h, 0), value, a.value_dim, "output");
        }
        free_attention_case(&c);
    }
}

/* ===== Dropout ============================================================================== */

static void dropout_drops_its_share_by_seed(void **state)
{
    (void)state;
    enum { KEYS = 500, ROWS = 40 };
    static float zeros[KEYS], output[ROWS], weights[2][ROWS * KEYS];
    struct mh_attention a = {
        .batch = 1,
        .queries = ROWS,
        .keys = KEYS,
        .heads = 1,
        .kv_heads = 1,
        .head_dim = 1,
        .value_dim = 1,
        .query = {.data = zeros},
        .key = {.data = zeros, .row_stride = 1},
        .value = {.data = zeros, .row_stride = 1},
        .output = {.data = output, .row_stride = 1},
        .dropout = 0.25f,
        .weights = {.mode = MH_WEIGHTS_ALL},
    };
    for (uint32_t seed = 0; seed < 2; seed++) {
        a.dropout_seed = seed;
        a.weights.data = weights[seed];
        run_attention(&a);
    }
    size_t dropped = 0, both = 0;
    for (size_t e = 0; e < ROWS * KEYS; e++) {
        dropped += weights[0][e] == 0.0f;
        both += weights[0][e] == 0.0f && weights[1][e] == 0.0f;
        if (weights[0][e] != 0.0f)
            assert_close(weights[0][e], 1.0 / ((double)KEYS * 0.75), 1e-8);
    }
    /* Binomial counts, to within four standard deviations. */
    const double trials = ROWS * KEYS;
    assert_close(dropped, 0.25 * trials, 4.0 * sqrt(0.25 * 0.75 * trials));
    assert_close(both, 0.0625 * trials, 4.0 * sqrt(0.0625 * 0.9375 * trials));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_alone_has_the_bits_it_has_among_others),
        cmocka_unit_test(what_else_is_asked_for_changes_no_bit),
        cmocka_unit_test(a_hidden_key_has_no_influence_not_even_nan),
        cmocka_unit_test(a_causal_row_never_sees_the_future),
        cmocka_unit_test(the_order_of_keys_does_not_matter),
        cmocka_unit_test(grouped_heads_equal_repeated_ones),
        cmocka_unit_test(one_key_gets_all_the_weight),
        cmocka_unit_test(dropout_drops_its_share_by_seed),
    };
    return cmocka_run_group_tests_name("attention properties", tests, NULL, NULL);
}
