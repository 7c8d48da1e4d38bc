/* The most probable tokens of a row of logits. */
#include "base/error.h"
#include "kernels/kernels.h"

#define CHUNK 256

/* Σ exp(logits - largest) */
static double sum_of_exponentials(const float *logits, size_t vocabulary, float largest)
{
    float chunk[CHUNK];
    double sum = 0;
    for (size_t i = 0; i < vocabulary; i += CHUNK) {
        size_t n = vocabulary - i < CHUNK ? vocabulary - i : CHUNK;
        sum += (double)mh_row_exp(chunk, logits + i, largest, n);
    }
    return sum;
}

/* Puts `id` at its place among the `count` best so far; the last falls off a full list of k. */
static void insert(const float *logits, int32_t id, int32_t *ids, size_t count, size_t k)
{
    size_t at = count < k ? count : k - 1;
    for (; at > 0 && logits[ids[at - 1]] < logits[id]; at--) /* equals stay before: lower ids */
        ids[at] = ids[at - 1];
    ids[at] = id;
}

enum mh_status mh_top_k(const float *logits, size_t vocabulary, size_t k, int32_t *ids,
                        float *probabilities, struct mh_error *error)
{
    enum mh_status status = mh_require(
        error, (const struct mh_pointer[]){
                   {"logits", logits}, {"ids", ids}, {"probabilities", probabilities}, {0}});
    if (status != MH_OK)
        return status;
    if (vocabulary == 0 || vocabulary > INT32_MAX)
        return mh_fail(error, MH_ARGUMENT, "vocabulary %zu is not in 1..%d", vocabulary, INT32_MAX);
    if (k > vocabulary)
        return mh_fail(error, MH_ARGUMENT, "k is %zu, but there are only %zu tokens", k,
                       vocabulary);
    size_t bad = mh_row_first_nonfinite(logits, vocabulary);
    if (bad < vocabulary)
        return mh_fail(error, MH_NONFINITE, "the logit of token %zu is %g", bad,
                       (double)logits[bad]);
    if (k == 0)
        return MH_OK;

    for (size_t i = 0; i < vocabulary; i++)
        if (i < k || logits[i] > logits[ids[k - 1]])
            insert(logits, (int32_t)i, ids, i, k);
    float largest = logits[ids[0]];
    double sum = sum_of_exponentials(logits, vocabulary, largest);
    for (size_t i = 0; i < k; i++)
        probabilities[i] = logits[ids[i]];
    mh_row_exp(probabilities, probabilities, largest, k);
    for (size_t i = 0; i < k; i++)
        probabilities[i] = (float)((double)probabilities[i] / sum);
    return MH_OK;
}
