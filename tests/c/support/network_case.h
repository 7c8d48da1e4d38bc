/* Whole networks for tests of their gradients: random parameters, one pass, and the comparison of
 * every tensor with differences of the float64 reference. Include after <cmocka.h>. */
#ifndef MH_TEST_NETWORK_CASE_H
#define MH_TEST_NETWORK_CASE_H

#include "multihead_train.h"

#include <stdbool.h>
#include <string.h>

#include "support/numeric_gradient.h"
#include "support/pool.h"
#include "support/random_case.h"
#include "support/train_reference.h"

/* Norm weights near 1, the rest so large that nothing is nearly linear. */
static inline float *random_parameters(const struct mh_network *network, struct pool *pool)
{
    uint32_t state = 31;
    float *parameters = pool_floats(pool, mh_parameters_size(network));
    for (size_t i = 0; i < mh_parameter_count(network); i++) {
        struct mh_parameter p;
        mh_parameter_at(network, i, &p);
        random_fill(&state, parameters + p.offset, p.count, -0.6F, 0.6F);
        bool norm_weight = strstr(p.name, "ln_") != NULL && strstr(p.name, "weight") != NULL;
        for (size_t e = 0; e < p.count && norm_weight; e++)
            parameters[p.offset + e] += 1.0F;
    }
    return parameters;
}

static inline float *zeros(struct pool *pool, size_t n)
{
    float *x = pool_floats(pool, n);
    memset(x, 0, n * sizeof *x);
    return x;
}

/* Of exactly the planned bytes, full of NaN: nothing is read before it is written. */
static inline void *take_workspace(const struct mh_network *network,
                                   const struct mh_training_pass *pass, struct pool *pool,
                                   size_t *bytes)
{
    struct mh_error error;
    if (mh_training_workspace(network, pass, bytes, &error) != MH_OK)
        fail_msg("%s", error.message);
    void *workspace = pool_take(pool, *bytes, 1);
    memset(workspace, 0xff, *bytes);
    return workspace;
}

static inline struct mh_training_result run_training(const struct mh_network *network,
                                                     const struct mh_training_pass *pass,
                                                     struct pool *pool)
{
    struct mh_error error;
    struct mh_training_result result = {0};
    size_t bytes;
    void *workspace = take_workspace(network, pass, pool, &bytes);
    if (mh_training_gradient(network, pass, workspace, bytes, &result, &error) != MH_OK)
        fail_msg("%s", error.message);
    return result;
}

struct network_loss {
    const struct mh_network *network;
    const struct mh_training_pass *pass;
    double *parameters;
};

static inline double network_loss(const void *context)
{
    const struct network_loss *n = context;
    return ref_model_loss(n->network, n->pass, n->parameters);
}

/* The pass's gradient, tensor by tensor; the tensors are all of the parameters, in order. */
static inline void check_all_tensors(const struct network_loss *n)
{
    size_t covered = 0;
    for (size_t i = 0; i < mh_parameter_count(n->network); i++) {
        struct mh_parameter p;
        mh_parameter_at(n->network, i, &p);
        assert_int_equal(p.offset, covered);
        covered += p.count;
        check_by_differences(p.name, n->pass->gradient + p.offset, n->parameters + p.offset,
                             p.count, network_loss, n);
    }
    assert_int_equal(covered, mh_parameters_size(n->network));
}

#endif
