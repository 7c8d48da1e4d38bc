#include "train/cross_entropy.h"

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

size_t mh_count_targets(const int32_t *targets, size_t rows)
{
    size_t count = 0;
    for (size_t r = 0; r < rows; r++)
        count += targets[r] >= 0;
    return count;
}

static double row_loss(float *gradient, const float *logits, size_t target, size_t n, float factor)
{
    float largest = mh_row_max(logits, n);
    double right = (double)logits[target] - (double)largest;
    float sum = mh_row_exp(gradient, logits, largest, n);
    mh_row_scale(gradient, gradient, factor / sum, n);
    gradient[target] -= factor;
    return log((double)sum) - right;
}

double mh_cross_entropy(float *gradient, const float *logits, const int32_t *targets, size_t rows,
                        size_t vocabulary, float factor)
{
    double loss = 0.0;
    for (size_t r = 0; r < rows; r++) {
        float *to = gradient + r * vocabulary;
        if (targets[r] < 0)
            memset(to, 0, vocabulary * sizeof *to);
        else
            loss += row_loss(to, logits + r * vocabulary, (size_t)targets[r], vocabulary, factor);
    }
    return loss;
}
