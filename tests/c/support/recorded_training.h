/* tests/golden/train: what record_train.py stored, and its inputs made anew. Include after
 * <cmocka.h>; a test program opens the record once. */
#ifndef MH_TEST_RECORDED_TRAINING_H
#define MH_TEST_RECORDED_TRAINING_H

#include "multihead_train.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model/safetensors.h"
#include "support/golden.h"
#include "support/numeric_gradient.h"
#include "support/pool.h"
#include "support/streams.h"

/* As record_train.py has them. */
enum { BATCH = 3, LENGTH = 8, PLACES = BATCH * LENGTH, STEPS = 20 };

static struct mh_safetensors recorded;
static char *recorded_file;

static inline bool open_recorded(void)
{
    size_t bytes;
    struct mh_error error;
    recorded_file = golden_read_file("tests/golden/train/values.safetensors", &bytes);
    return recorded_file != NULL &&
           mh_safetensors_open(&recorded, recorded_file, bytes, &error) == MH_OK;
}

static inline void close_recorded(void)
{
    mh_safetensors_close(&recorded);
    free(recorded_file);
}

/* RUN/WHAT: `count` numbers; the pool owns them. */
static inline float *stored(struct pool *pool, const char *run, const char *what, size_t count)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s", run, what);
    const struct mh_safetensor *tensor = mh_safetensors_find(&recorded, name);
    if (tensor == NULL)
        fail_msg("%s is not recorded", name);
    assert_int_equal(mh_safetensor_elements(tensor), count);
    float *out = pool_floats(pool, count);
    memcpy(out, recorded.data + tensor->begin, count * sizeof *out);
    return out;
}

static inline int32_t token_at(const char *stream, size_t i, size_t below)
{
    return (int32_t)(stream_integer(stream_key(STREAM_START, stream), i) % below);
}

static inline int32_t *tokens_of(const char *stream, size_t count, size_t below, struct pool *pool)
{
    int32_t *tokens = pool_take(pool, count, sizeof *tokens);
    for (size_t i = 0; i < count; i++)
        tokens[i] = token_at(stream, i, below);
    return tokens;
}

static inline int32_t *targets_of(size_t count, size_t below, struct pool *pool)
{
    int32_t *targets = tokens_of("train/targets", count, below, pool);
    for (size_t i = 0; i < count; i++)
        if (token_at("train/ignored", i, 4) == 0)
            targets[i] = -100;
    return targets;
}

static inline void fill_uniform(float *x, size_t count, const char *stream, float amplitude)
{
    for (size_t i = 0; i < count; i++)
        x[i] = stream_uniform(stream_key(STREAM_START, stream), i, amplitude);
}

static inline void fill_parameters(const struct mh_network *network, float *parameters)
{
    fill_uniform(parameters, mh_parameters_size(network), "train/parameters", 0.4F);
    for (size_t i = 0; i < mh_parameter_count(network); i++) {
        struct mh_parameter p;
        mh_parameter_at(network, i, &p);
        bool norm_weight = strstr(p.name, "ln_") != NULL && strstr(p.name, "weight") != NULL;
        for (size_t e = 0; e < p.count && norm_weight; e++)
            parameters[p.offset + e] += 1.0F;
    }
}

static inline float *make_parameters(const struct mh_network *network, struct pool *pool)
{
    float *parameters = pool_floats(pool, mh_parameters_size(network));
    fill_parameters(network, parameters);
    return parameters;
}

/* A workspace for passes like this one. */
static inline void *make_workspace(const struct mh_network *network,
                                   const struct mh_training_pass *pass, struct pool *pool,
                                   size_t *bytes)
{
    struct mh_error error;
    if (mh_training_workspace(network, pass, bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
    return pool_take(pool, *bytes, 1);
}

/* The mean cross-entropy; the gradient is cleared first. */
static inline double run_pass(const struct mh_network *network, const struct mh_training_pass *pass,
                              void *workspace, size_t bytes)
{
    struct mh_error error;
    struct mh_training_result result;
    memset(pass->gradient, 0, mh_parameters_size(network) * sizeof(float));
    if (mh_training_gradient(network, pass, workspace, bytes, &result, &error) != MH_OK)
        fail_msg("%s", error.message);
    return result.loss / (double)result.counted;
}

/* Loss and gradient, tensor by tensor, of the run on this pass with the recorded parameters. */
static inline void check_recorded_gradient(const char *run, const struct mh_network *network,
                                           struct mh_training_pass pass)
{
    struct pool pool = {0};
    size_t size = mh_parameters_size(network), bytes;
    pass.parameters = make_parameters(network, &pool);
    pass.gradient = pool_floats(&pool, size);
    void *workspace = make_workspace(network, &pass, &pool, &bytes);
    assert_close(run_pass(network, &pass, workspace, bytes), stored(&pool, run, "loss", 1)[0],
                 1e-6);
    double *expected = as_doubles(stored(&pool, run, "gradient", size), size);
    for (size_t i = 0; i < mh_parameter_count(network); i++) {
        struct mh_parameter p;
        mh_parameter_at(network, i, &p);
        check_gradient(p.name, pass.gradient + p.offset, expected + p.offset, p.count);
    }
    free(expected);
    pool_free(&pool);
}

#endif
