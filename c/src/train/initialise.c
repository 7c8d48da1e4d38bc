#include "train/initialise.h"

#include "base/random.h"

#include <math.h>

#define EMBEDDING_DEVIATION 0.02

/* On (0, 1): the middle of one of 2^32 steps, and so neither end. */
static double unit_at(uint64_t stream, size_t i)
{
    return ((double)mh_random_at(stream, i) + 0.5) * 0x1p-32;
}

static void fill(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

static void fill_uniform(float *x, size_t n, double limit, uint64_t stream)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((2.0 * unit_at(stream, i) - 1.0) * limit);
}

/* By Box & Muller (1958). */
static void fill_normal(float *x, size_t n, double deviation, uint64_t stream)
{
    const double pi = 3.14159265358979323846;
    for (size_t i = 0; i < n; i++) {
        double radius = sqrt(-2.0 * log(unit_at(stream, 2 * i)));
        x[i] = (float)(deviation * radius * cos(2.0 * pi * unit_at(stream, 2 * i + 1)));
    }
}

/* Of the vectors, these alone do not start at 0. `index` is not that of an embedding. */
static bool is_norm_weight(const struct mh_model_config *config, size_t index)
{
    if (index >= mh_parameter_final_norm(config))
        return index == mh_parameter_final_norm(config);
    size_t tensor = (index - MH_PARAMETER_LAYERS) % MH_LAYER_TENSORS;
    return tensor == MH_LAYER_NORM1_WEIGHT || tensor == MH_LAYER_NORM2_WEIGHT;
}

void mh_initialise_parameters(const struct mh_model_config *config, uint32_t seed,
                              float *parameters)
{
    for (size_t i = 0; i < mh_parameter_count(config); i++) {
        struct mh_parameter p = mh_parameter_at(config, i);
        uint64_t stream = mh_random_stream(seed, i, 0, 0);
        float *x = parameters + p.offset;
        if (i < MH_PARAMETER_LAYERS)
            fill_normal(x, p.count, EMBEDDING_DEVIATION, stream);
        else if (p.rows > 0)
            fill_uniform(x, p.count, sqrt(6.0 / (double)(p.rows + p.columns)), stream);
        else
            fill(x, p.count, is_norm_weight(config, i) ? 1.0f : 0.0f);
    }
}
