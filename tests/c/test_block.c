/* Transformer blocks against a plain implementation in double, written from the formulas of
 * multihead.h: random sizes, masks, norms, activations, ablations and dropout. */
#include "base/random.h"
#include "multihead.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare.h"
#include "support/random.h"

#define MOST_ABLATIONS 3
#define MOST_WIDTH 256 /* of E and F */
#define MASKED (-INFINITY)

/* ===== A case =============================================================================== */

struct test_case {
    size_t b, t, e, h, g, d, f; /* letters of multihead.h; D = E / H */
    bool hidden_mask, bias_mask, ffn_bias;
    struct mh_block_config config;
    struct mh_block_pass pass;
    struct mh_ablation ablations[MOST_ABLATIONS];
    int32_t key_lengths[4];
    void *owned[32];
    size_t owned_count;
};

static void *own(struct test_case *test, size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    assert_non_null(memory);
    assert_true(test->owned_count < sizeof test->owned / sizeof test->owned[0]);
    return test->owned[test->owned_count++] = memory;
}

static float *random_floats(struct test_case *test, uint32_t *seed, size_t count, float amplitude)
{
    float *x = own(test, count, sizeof *x);
    random_fill(seed, x, count, -amplitude, amplitude);
    return x;
}

static size_t one_of(uint32_t *seed, size_t low, size_t high)
{
    return low + random_u32(seed) % (high - low + 1);
}

/* [out, in] stored either way round. */
static struct mh_linear_weights random_linear(struct test_case *test, uint32_t *seed, size_t out,
                                              size_t in, bool bias)
{
    bool conv1d = random_u32(seed) & 1;
    return (struct mh_linear_weights){
        .data = random_floats(test, seed, out * in, 1.7F / sqrtf((float)in)),
        .out_stride = conv1d ? 1 : in,
        .in_stride = conv1d ? out : 1,
        .bias = bias ? random_floats(test, seed, out, 0.5F) : NULL,
    };
}

static struct mh_norm_weights random_norm(struct test_case *test, uint32_t *seed)
{
    float *weight = random_floats(test, seed, test->e, 0.5F);
    for (size_t i = 0; i < test->e; i++)
        weight[i] += 1;
    bool bias = random_u32(seed) % 4 != 0;
    return (struct mh_norm_weights){weight, bias ? random_floats(test, seed, test->e, 0.5F) : NULL};
}

static void make_mask(struct test_case *test, uint32_t *seed)
{
    struct mh_mask *mask = &test->pass.mask;
    size_t t = test->t;
    mask->causal = random_u32(seed) % 2;
    if (random_u32(seed) % 3 == 0) {
        mask->windowed = 1;
        mask->window_left = (int32_t)one_of(seed, 0, t);
        mask->window_right = (int32_t)one_of(seed, 0, 2);
    }
    if (random_u32(seed) % 4 == 0) {
        for (size_t i = 0; i < test->b; i++)
            test->key_lengths[i] = (int32_t)one_of(seed, 0, t); /* 0: rows without any key */
        mask->key_lengths = test->key_lengths;
    }
    if (random_u32(seed) % 3 == 0) {
        uint8_t *hidden = own(test, test->h * t * t, 1);
        for (size_t i = 0; i < test->h * t * t; i++)
            hidden[i] = random_u32(seed) % 4 == 0;
        mask->hidden = hidden;
        mask->hidden_head_stride = t * t;
        mask->hidden_row_stride = t;
    }
    if (random_u32(seed) % 4 == 0) {
        mask->bias = random_floats(test, seed, t * t, 1);
        mask->bias_row_stride = t;
    }
}

static void make_case(struct test_case *test, uint32_t seed)
{
    static const size_t head_dims[] = {1, 3, 4, 8, 16, 5};
    *test = (struct test_case){0};
    test->b = one_of(&seed, 1, 3);
    test->t = one_of(&seed, 1, 19);
    if (random_u32(&seed) % 16 == 0)
        test->t = 101; /* more rows than go through the feed-forward part at a time */
    test->g = one_of(&seed, 1, 3);
    test->h = test->g * one_of(&seed, 1, 3);
    test->d = head_dims[random_u32(&seed) % 6];
    test->e = test->h * test->d;
    test->f = one_of(&seed, 1, 70);
    bool bias = random_u32(&seed) % 4 != 0;
    test->config = (struct mh_block_config){
        .attention = {.embed_dim = test->e,
                      .heads = test->h,
                      .kv_heads = test->g,
                      .query = random_linear(test, &seed, test->e, test->e, bias),
                      .key = random_linear(test, &seed, test->g * test->d, test->e, bias),
                      .value = random_linear(test, &seed, test->g * test->d, test->e, bias),
                      .out = random_linear(test, &seed, test->e, test->e, bias)},
        .ffn_dim = test->f,
        .ffn_in = random_linear(test, &seed, test->f, test->e, bias),
        .ffn_out = random_linear(test, &seed, test->e, test->f, bias),
        .norm1 = random_norm(test, &seed),
        .norm2 = random_norm(test, &seed),
        .activation = (int32_t)(random_u32(&seed) % 3),
        .norm_position = (int32_t)(random_u32(&seed) % 2),
        .norm_epsilon = 1e-5F,
    };
    size_t rows = test->b * test->t;
    test->pass = (struct mh_block_pass){
        .batch = test->b,
        .length = test->t,
        .input = random_floats(test, &seed, rows * test->e, 2),
        .output = own(test, rows * test->e, sizeof(float)),
        .scale_mode = (int32_t)(random_u32(&seed) % 3),
        .scale = 0.3F,
        .weights = {.mode = MH_WEIGHTS_ALL,
                    .data = own(test, test->b * test->h * test->t * test->t, sizeof(float))},
        .check_finite = 1,
        .layer = 2,
    };
    make_mask(test, &seed);
    if (random_u32(&seed) % 3 == 0) {
        test->pass.dropout = 0.3F;
        test->pass.dropout_seed = seed;
    } else {
        for (size_t i = 0; i < MOST_ABLATIONS; i++)
            test->ablations[i] =
                (struct mh_ablation){.layer = (int32_t)one_of(&seed, 2, 3),
                                     .head = (int32_t)one_of(&seed, 0, test->h - 1),
                                     .kind = (int32_t)(random_u32(&seed) % 3)};
        test->pass.ablations = test->ablations;
        test->pass.ablation_count = random_u32(&seed) % (MOST_ABLATIONS + 1);
    }
}

static void free_case(struct test_case *test)
{
    while (test->owned_count > 0)
        free(test->owned[--test->owned_count]);
}

/* ===== The reference ======================================================================== */

static double linear(const struct mh_linear_weights *w, size_t o, const double *x, size_t in)
{
    double sum = w->bias != NULL ? (double)w->bias[o] : 0;
    for (size_t i = 0; i < in; i++)
        sum += (double)w->data[o * w->out_stride + i * w->in_stride] * x[i];
    return sum;
}

static void layer_norm(const struct mh_norm_weights *norm, double *out, const double *x, size_t n)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        out[i] = (x[i] - mean) / sqrt(variance + (double)1e-5F) * (double)norm->weight[i] +
                 (norm->bias != NULL ? (double)norm->bias[i] : 0);
}

static double activation(int32_t kind, double x)
{
    if (kind == MH_ACTIVATION_RELU)
        return x > 0 ? x : 0;
    if (kind == MH_ACTIVATION_GELU_TANH)
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

/* 0, or 1 / (1 - p): the factor of element i of the row that (b, h, t) names. */
static double kept(const struct test_case *test, size_t b, size_t h, size_t t, size_t i)
{
    double p = (double)test->pass.dropout;
    if (p == 0)
        return 1;
    uint64_t stream = mh_random_stream(test->pass.dropout_seed, b, h, t);
    return (double)mh_random_at(stream, i) * 0x1p-32 < p ? 0 : 1 / (1 - p);
}

/* What the mask adds to a score: -inf hides. */
static double mask_value(const struct test_case *test, size_t b, size_t h, size_t i, size_t j)
{
    const struct mh_mask *mask = &test->pass.mask;
    size_t t = test->t;
    bool hides = (mask->causal && j > i) ||
                 (mask->windowed &&
                  (j + (size_t)mask->window_left < i || j > i + (size_t)mask->window_right)) ||
                 (mask->key_lengths && j >= (size_t)mask->key_lengths[b]) ||
                 (mask->hidden && mask->hidden[(h * t + i) * t + j]);
    if (hides)
        return MASKED;
    return mask->bias != NULL ? (double)mask->bias[i * t + j] : 0;
}

static bool is_ablated(const struct test_case *test, size_t head, int32_t kind)
{
    for (size_t i = 0; i < test->pass.ablation_count; i++)
        if (test->ablations[i].layer == test->pass.layer &&
            test->ablations[i].head == (int32_t)head && test->ablations[i].kind == kind)
            return true;
    return false;
}

/* Weights of one row; all zeros if it sees no key. Returns whether it saw one. */
static bool attention_row(const struct test_case *test, size_t b, size_t h, size_t i,
                          const double *query, const double *keys, double *weights)
{
    size_t t = test->t, d = test->d;
    int32_t mode = test->pass.scale_mode;
    double scale = mode == MH_SCALE_NONE    ? 1
                   : mode == MH_SCALE_GIVEN ? (double)test->pass.scale
                                            : 1 / sqrt((double)d);
    bool uniform = is_ablated(test, h, MH_ABLATE_UNIFORM);
    double largest = MASKED, sum = 0;
    for (size_t j = 0; j < t; j++) {
        double dot = 0, mask = mask_value(test, b, h, i, j);
        for (size_t c = 0; c < d; c++)
            dot += query[c] * keys[j * test->g * d + c];
        weights[j] = mask == MASKED ? MASKED : uniform ? 0 : scale * dot + mask;
        largest = fmax(largest, weights[j]);
    }
    for (size_t j = 0; j < t; j++) {
        weights[j] = largest == MASKED ? 0 : exp(weights[j] - largest);
        sum += weights[j];
    }
    for (size_t j = 0; j < t; j++)
        weights[j] = sum > 0 ? weights[j] / sum * kept(test, b, h, i, j) : 0;
    return sum > 0;
}

static void ablate(const struct test_case *test, double *heads, size_t h)
{
    for (size_t c = h * test->d; c < (h + 1) * test->d; c++) {
        double mean = 0;
        for (size_t i = 0; i < test->t; i++)
            mean += heads[i * test->e + c] / (double)test->t;
        for (size_t i = 0; i < test->t; i++) {
            if (is_ablated(test, h, MH_ABLATE_MEAN))
                heads[i * test->e + c] = mean;
            if (is_ablated(test, h, MH_ABLATE_ZERO)) /* after or before the mean: zero */
                heads[i * test->e + c] = 0;
        }
    }
}

struct reference {
    double *output, *weights; /* [B, T, E], [B, H, T, T] */
    uint32_t masked_rows;
};

/* out [T, E] = attention(x [T, E]) of batch element b */
static void attention(const struct test_case *test, size_t b, double *out, const double *x,
                      struct reference *reference)
{
    const struct mh_multihead_config *config = &test->config.attention;
    size_t t = test->t, e = test->e, d = test->d, gd = test->g * d;
    double *q = calloc(t * e, sizeof *q), *k = calloc(t * gd, sizeof *k);
    double *v = calloc(t * gd, sizeof *v), *heads = calloc(t * e, sizeof *heads);
    assert_true(q && k && v && heads);
    for (size_t i = 0; i < t; i++) {
        for (size_t o = 0; o < e; o++)
            q[i * e + o] = linear(&config->query, o, x + i * e, e);
        for (size_t o = 0; o < gd; o++) {
            k[i * gd + o] = linear(&config->key, o, x + i * e, e);
            v[i * gd + o] = linear(&config->value, o, x + i * e, e);
        }
    }
    for (size_t h = 0; h < test->h; h++) {
        size_t kv = h / (test->h / test->g) * d;
        for (size_t i = 0; i < t; i++) {
            double *weights = reference->weights + ((b * test->h + h) * t + i) * t;
            if (!attention_row(test, b, h, i, q + i * e + h * d, k + kv, weights))
                reference->masked_rows++;
            for (size_t j = 0; j < t; j++)
                for (size_t c = 0; c < d; c++)
                    heads[i * e + h * d + c] += weights[j] * v[j * gd + kv + c];
        }
        ablate(test, heads, h);
    }
    for (size_t i = 0; i < t; i++)
        for (size_t o = 0; o < e; o++)
            out[i * e + o] = linear(&config->out, o, heads + i * e, e);
    free(q);
    free(k);
    free(v);
    free(heads);
}

/* out [E] = ffn(x [E]) */
static void feed_forward(const struct test_case *test, double *out, const double *x)
{
    double hidden[MOST_WIDTH];
    for (size_t o = 0; o < test->f; o++)
        hidden[o] =
            activation(test->config.activation, linear(&test->config.ffn_in, o, x, test->e));
    for (size_t o = 0; o < test->e; o++)
        out[o] = linear(&test->config.ffn_out, o, hidden, test->f);
}

static void run_reference(const struct test_case *test, struct reference *reference)
{
    size_t t = test->t, e = test->e;
    bool pre = test->config.norm_position == MH_NORM_PRE;
    double *x = calloc(t * e, sizeof *x), *branch = calloc(t * e, sizeof *branch);
    assert_true(x && branch);
    reference->masked_rows = 0;
    for (size_t b = 0; b < test->b; b++) {
        double *y = reference->output + b * t * e;
        for (size_t i = 0; i < t * e; i++)
            x[i] = (double)test->pass.input[b * t * e + i];
        for (size_t i = 0; i < t; i++) {
            memcpy(y + i * e, x + i * e, e * sizeof *y);
            if (pre)
                layer_norm(&test->config.norm1, x + i * e, y + i * e, e);
        }
        attention(test, b, branch, x, reference);
        for (size_t i = 0; i < t; i++) {
            double *row = y + i * e, normed[MOST_WIDTH], ffn[MOST_WIDTH];
            for (size_t c = 0; c < e; c++)
                row[c] += branch[i * e + c] * kept(test, b, test->h, i, c);
            if (pre)
                layer_norm(&test->config.norm2, normed, row, e);
            else
                layer_norm(&test->config.norm1, row, row, e);
            feed_forward(test, ffn, pre ? normed : row);
            for (size_t c = 0; c < e; c++)
                row[c] += ffn[c] * kept(test, b, test->h + 1, i, c);
            if (!pre)
                layer_norm(&test->config.norm2, row, row, e);
        }
    }
    free(x);
    free(branch);
}

/* ===== Tests ================================================================================ */

static void must(enum mh_status status, const struct mh_error *error)
{
    if (status != MH_OK)
        fail_msg("%s: %s", mh_status_name((int32_t)status), error->message);
}

/* In a workspace of exactly the planned bytes, at an odd address, full of NaN. */
static struct mh_report run_block(const struct mh_block_config *config,
                                  const struct mh_block_pass *pass)
{
    struct mh_error error;
    struct mh_report report;
    mh_block *block;
    size_t bytes;
    must(mh_block_create(&block, config, &error), &error);
    must(mh_block_workspace(block, pass, &bytes, &error), &error);
    unsigned char *workspace = malloc(bytes + 1);
    assert_non_null(workspace);
    memset(workspace, 0xFF, bytes + 1);
    must(mh_block_forward(block, pass, workspace + 1, bytes, &report, &error), &error);
    free(workspace);
    mh_block_free(block);
    return report;
}

static void test_against_double(void **state)
{
    (void)state;
    double worst = 0;
    for (uint32_t seed = 1; seed <= 400; seed++) {
        struct test_case test;
        make_case(&test, seed * 2654435761u);
        size_t outputs = test.b * test.t * test.e, maps = test.b * test.h * test.t * test.t;
        struct reference reference = {.output = own(&test, outputs, sizeof(double)),
                                      .weights = own(&test, maps, sizeof(double))};
        run_reference(&test, &reference);
        struct mh_report report = run_block(&test.config, &test.pass);
        assert_int_equal(report.masked_rows, reference.masked_rows);
        assert_int_equal(report.nonfinite_tensor, MH_TENSOR_NONE);
        assert_all_close(test.pass.weights.data, reference.weights, maps, 1e-5);
        assert_all_close(test.pass.output, reference.output, outputs, 2e-5);
        for (size_t i = 0; i < outputs; i++)
            worst = fmax(worst, fabs((double)test.pass.output[i] - reference.output[i]));

        float *in_place = own(&test, outputs, sizeof *in_place);
        memcpy(in_place, test.pass.input, outputs * sizeof *in_place);
        struct mh_block_pass again = test.pass;
        again.input = again.output = in_place;
        run_block(&test.config, &again);
        assert_memory_equal(in_place, test.pass.output, outputs * sizeof *in_place);
        free_case(&test);
    }
    print_message("             largest error %.2g\n", worst);
}

static void test_dropout_by_seed(void **state)
{
    (void)state;
    struct test_case test;
    make_case(&test, 7);
    size_t bytes = test.b * test.t * test.e * sizeof(float);
    test.pass.ablation_count = 0;
    test.pass.dropout = 0.5F;
    test.pass.dropout_seed = 1;
    float *first = own(&test, bytes, 1);
    run_block(&test.config, &test.pass);
    memcpy(first, test.pass.output, bytes);
    run_block(&test.config, &test.pass);
    assert_memory_equal(first, test.pass.output, bytes);
    test.pass.dropout_seed = 2;
    run_block(&test.config, &test.pass);
    assert_memory_not_equal(first, test.pass.output, bytes);
    free_case(&test);
}

static void test_bad_configs(void **state)
{
    (void)state;
    struct test_case test;
    make_case(&test, 3);
    const struct mh_block_config good = test.config;
    struct mh_block_config bad[12];
    for (size_t i = 0; i < 12; i++)
        bad[i] = good;
    bad[0].attention.embed_dim = 0;
    bad[1].ffn_dim = 0;
    bad[2].attention.key_dim = good.attention.embed_dim + 1;
    bad[3].ffn_in.data = NULL;
    bad[4].norm2.weight = NULL;
    bad[5].activation = 3;
    bad[6].norm_position = -1;
    bad[7].norm_epsilon = 0;
    bad[8].norm_epsilon = NAN;
    bad[9].attention.heads = good.attention.embed_dim + 1;
    bad[10].attention.query.data = NULL;
    bad[11].ffn_dim = SIZE_MAX / 2;
    static const struct {
        enum mh_status status;
        const char *message;
    } expected[12] = {
        {MH_ARGUMENT, "embed_dim"}, {MH_ARGUMENT, "ffn_dim"},        {MH_SHAPE, "key_dim"},
        {MH_ARGUMENT, "ffn_in"},    {MH_ARGUMENT, "norm2"},          {MH_ARGUMENT, "activation 3"},
        {MH_ARGUMENT, "-1"},        {MH_ARGUMENT, "norm_epsilon 0"}, {MH_ARGUMENT, "norm_epsilon"},
        {MH_SHAPE, "heads"},        {MH_ARGUMENT, "query"},          {MH_MEMORY, ""},
    };
    for (size_t i = 0; i < 12; i++) {
        struct mh_error error = {0};
        mh_block *block = (mh_block *)&test;
        enum mh_status status = mh_block_create(&block, &bad[i], &error);
        if (status != expected[i].status || !strstr(error.message, expected[i].message))
            fail_msg("config %zu: %s, %s", i, mh_status_name((int32_t)status), error.message);
        assert_null(block);
        assert_int_equal(error.status, status);
    }
    mh_block_free(NULL);
    free_case(&test);
}

static void test_bad_passes(void **state)
{
    (void)state;
    struct test_case test;
    make_case(&test, 3);
    struct mh_error error = {0};
    struct mh_report report;
    mh_block *block;
    size_t bytes, ignored;
    must(mh_block_create(&block, &test.config, &error), &error);
    must(mh_block_workspace(block, &test.pass, &bytes, &error), &error);
    void *workspace = own(&test, bytes, 1);

    struct mh_block_pass pass = test.pass;
    pass.length = 0;
    assert_int_equal(mh_block_workspace(block, &pass, &ignored, &error), MH_ARGUMENT);
    pass = test.pass;
    pass.length = SIZE_MAX / 4;
    assert_int_equal(mh_block_workspace(block, &pass, &ignored, &error), MH_MEMORY);
    pass = test.pass;
    pass.input = NULL;
    assert_int_equal(mh_block_forward(block, &pass, workspace, bytes, &report, &error),
                     MH_ARGUMENT);
    pass = test.pass;
    assert_int_equal(mh_block_forward(block, &pass, workspace, bytes / 2, &report, &error),
                     MH_MEMORY);
    pass.dropout = 1;
    assert_int_equal(mh_block_forward(block, &pass, workspace, bytes, &report, &error),
                     MH_ARGUMENT);
    pass = test.pass;
    struct mh_ablation ablation = {.layer = pass.layer, .head = (int32_t)test.h};
    pass.ablations = &ablation;
    pass.ablation_count = 1;
    assert_int_equal(mh_block_forward(block, &pass, workspace, bytes, &report, &error),
                     MH_ARGUMENT);
    mh_block_free(block);
    free_case(&test);
}

static void test_guard_names_place(void **state)
{
    (void)state;
    struct test_case test;
    make_case(&test, 3);
    float *input = own(&test, test.b * test.t * test.e, sizeof *input);
    memcpy(input, test.pass.input, test.b * test.t * test.e * sizeof *input);
    size_t index = test.b * test.t * test.e - 1;
    input[index] = NAN;
    test.pass.input = input;

    struct mh_error error = {0};
    struct mh_report report;
    mh_block *block;
    size_t bytes;
    must(mh_block_create(&block, &test.config, &error), &error);
    must(mh_block_workspace(block, &test.pass, &bytes, &error), &error);
    void *workspace = own(&test, bytes, 1);
    assert_int_equal(mh_block_forward(block, &test.pass, workspace, bytes, &report, &error),
                     MH_NONFINITE);
    assert_int_equal(report.nonfinite_tensor, MH_TENSOR_HIDDEN);
    assert_int_equal(report.nonfinite_index, index);
    assert_true(isnan(report.nonfinite_value));
    test.pass.check_finite = 0;
    must(mh_block_forward(block, &test.pass, workspace, bytes, NULL, &error), &error);
    mh_block_free(block);
    free_case(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_double),    cmocka_unit_test(test_dropout_by_seed),
        cmocka_unit_test(test_bad_configs),       cmocka_unit_test(test_bad_passes),
        cmocka_unit_test(test_guard_names_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
