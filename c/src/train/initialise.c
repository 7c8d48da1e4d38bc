/* Where learning starts. */
#include "base/random.h"
#include "train/model_parameters.h"

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

void mh_parameters_initialise(const struct mh_network *network, int32_t initialisation,
                              uint32_t seed, float *parameters)
{
    for (size_t i = 0; i < mh_parameter_count(network); i++) {
        struct mh_place p = mh_parameter_place(network, i);
        uint64_t stream = mh_random_stream(seed, i, 0, 0);
        double variance = 2.0 / (double)(p.rows + p.columns);
        float *x = parameters + p.offset;
        if (p.start == MH_START_EMBEDDING)
            fill_normal(x, p.count, EMBEDDING_DEVIATION, stream);
        else if (p.start != MH_START_MATRIX)
            fill(x, p.count, p.start == MH_START_ONE ? 1.0f : 0.0f);
        else if (initialisation == MH_XAVIER_NORMAL)
            fill_normal(x, p.count, sqrt(variance), stream);
        else
            fill_uniform(x, p.count, sqrt(3.0 * variance), stream);
    }
}
