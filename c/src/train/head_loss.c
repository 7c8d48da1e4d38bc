#include "train/head_loss.h"

#include "base/size.h"
#include "kernels/kernels.h"
#include "train/cross_entropy.h"

#include <string.h>

/* Rows of logits at a time. */
enum { CHUNK = 256 };

struct chunk {
    float *x, *d;  /* [CHUNK, in] */
    float *logits; /* [CHUNK, out], then their gradient */
    float *linear; /* scratch of the product */
    int32_t targets[CHUNK];
    size_t row[CHUNK]; /* where each came from */
    size_t count;
};

size_t mh_head_loss_scratch(size_t in, size_t out, size_t rows)
{
    size_t chunk = mh_size_min(rows, CHUNK);
    size_t mine = mh_size_mul(chunk, mh_size_add(mh_size_mul(2, in), out));
    return mh_size_add(mine, mh_learned_linear_scratch(in, out, chunk));
}

static void lay_out(struct chunk *chunk, const struct mh_head_loss *loss)
{
    size_t rows = mh_size_min(loss->rows, CHUNK), narrow = rows * loss->head.in;
    chunk->x = loss->scratch;
    chunk->d = chunk->x + narrow;
    chunk->logits = chunk->d + narrow;
    chunk->linear = chunk->logits + rows * loss->head.out;
}

/* The next rows that have a target, from `row` on; returns the row after them. */
static size_t gather(struct chunk *chunk, const struct mh_head_loss *loss, size_t row)
{
    size_t in = loss->head.in;
    for (chunk->count = 0; row < loss->rows && chunk->count < CHUNK; row++) {
        if (loss->targets[row] < 0)
            continue;
        memcpy(chunk->x + chunk->count * in, loss->x + row * in, in * sizeof(float));
        chunk->targets[chunk->count] = loss->targets[row];
        chunk->row[chunk->count++] = row;
    }
    return row;
}

static size_t count_correct(const struct chunk *chunk, size_t out)
{
    size_t correct = 0;
    for (size_t r = 0; r < chunk->count; r++) {
        const float *logits = chunk->logits + r * out;
        correct += logits[chunk->targets[r]] == mh_row_max(logits, out);
    }
    return correct;
}

static void backward(const struct chunk *chunk, const struct mh_head_loss *loss)
{
    size_t in = loss->head.in;
    mh_learned_linear_backward(&loss->head, chunk->d, loss->dweight, loss->dbias, chunk->logits,
                               chunk->x, chunk->count, chunk->linear);
    for (size_t r = 0; r < chunk->count; r++)
        memcpy(loss->d + chunk->row[r] * in, chunk->d + r * in, in * sizeof(float));
}

void mh_head_loss(const struct mh_head_loss *loss, struct mh_training_result *result)
{
    struct chunk chunk;
    size_t out = loss->head.out, counted = mh_count_targets(loss->targets, loss->rows);
    float factor = loss->factor;
    if (factor == 0.0f && counted > 0)
        factor = 1.0f / (float)counted;
    *result = (struct mh_training_result){.counted = counted};
    lay_out(&chunk, loss);
    if (loss->d != NULL)
        memset(loss->d, 0, loss->rows * loss->head.in * sizeof(float));
    for (size_t row = 0; row < loss->rows;) {
        row = gather(&chunk, loss, row);
        if (chunk.count == 0)
            break;
        mh_learned_linear_forward(&loss->head, chunk.logits, chunk.x, chunk.count, chunk.linear);
        result->correct += count_correct(&chunk, out);
        result->loss +=
            mh_cross_entropy(chunk.logits, chunk.logits, chunk.targets, chunk.count, out, factor);
        if (loss->d != NULL)
            backward(&chunk, loss);
    }
}
