#include "ops/dropout.h"

#include "base/random.h"

void mh_dropout_row(float *x, size_t first, size_t n, float probability, uint64_t stream)
{
    if (probability == 0.0f)
        return;
    uint64_t threshold = (uint64_t)((double)probability * 0x1p32);
    float factor = 1.0f / (1.0f - probability);
    for (size_t i = 0; i < n; i++)
        x[i] = mh_random_at(stream, first + i) < threshold ? 0.0f : x[i] * factor;
}
