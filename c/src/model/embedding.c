#include "model/embedding.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/int8.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* A remainder is at most half a scale, and so at most 127 of these steps. */
#define REMAINDER_STEPS 254.0f

static struct mh_linear head_of(const struct mh_embedding *embedding)
{
    return (struct mh_linear){.in = embedding->width,
                              .out = embedding->vocabulary,
                              .precision = embedding->precision,
                              .packed = embedding->packed};
}

static void keep_remainders(struct mh_embedding *embedding, const float *tokens, float *row)
{
    size_t width = embedding->width;
    for (size_t token = 0; token < embedding->vocabulary; token++) {
        float step = mh_int8_column(row, embedding->packed, width, token) / REMAINDER_STEPS;
        for (size_t e = 0; e < width; e++) {
            float steps = (tokens[token * width + e] - row[e]) / step;
            embedding->remainder[token * width + e] =
                (int8_t)(fabsf(steps) <= 127.5f ? lroundf(fminf(fmaxf(steps, -127), 127)) : 0);
        }
    }
}

enum mh_status mh_embedding_create(struct mh_embedding *embedding, const float *tokens,
                                   struct mh_error *error)
{
    size_t v = embedding->vocabulary, e = embedding->width;
    bool rounded = embedding->precision == MH_INT8;
    enum mh_status status = mh_linear_check(embedding->precision, e, error);
    if (status != MH_OK)
        return status;
    size_t floats = mh_linear_packed_size(embedding->precision, e, v);
    embedding->packed = malloc(mh_size_mul(floats, sizeof(float)));
    embedding->remainder = rounded ? calloc(v, e) : NULL;
    float *row = rounded ? malloc(mh_size_mul(e, sizeof *row)) : NULL;
    if (embedding->packed == NULL || (rounded && (embedding->remainder == NULL || row == NULL))) {
        free(row);
        return mh_fail(error, MH_MEMORY, "no memory for %zu packed numbers", floats);
    }
    const struct mh_linear_weights weights = {.data = tokens, .out_stride = e, .in_stride = 1};
    mh_linear_pack(embedding->precision, &weights, e, v, embedding->packed, NULL);
    if (rounded)
        keep_remainders(embedding, tokens, row);
    free(row);
    return MH_OK;
}

static void token_row(const struct mh_embedding *embedding, float *out, size_t token)
{
    size_t width = embedding->width;
    const float *panel = embedding->packed + token / MH_GEMM_COLUMNS * width * MH_GEMM_COLUMNS;
    const float *column = panel + token % MH_GEMM_COLUMNS;
    for (size_t e = 0; e < width; e++)
        out[e] = column[e * MH_GEMM_COLUMNS];
}

static void token_row_int8(const struct mh_embedding *embedding, float *out, size_t token)
{
    size_t width = embedding->width;
    const int8_t *remainder = embedding->remainder + token * width;
    float step = mh_int8_column(out, embedding->packed, width, token) / REMAINDER_STEPS;
    for (size_t e = 0; e < width; e++)
        out[e] += step * (float)remainder[e];
}

void mh_embedding_rows(const struct mh_embedding *embedding, float *out, const int32_t *tokens,
                       size_t length)
{
    size_t width = embedding->width;
    for (size_t t = 0; t < length; t++) {
        float *row = out + t * width;
        if (embedding->precision == MH_INT8)
            token_row_int8(embedding, row, (size_t)tokens[t]);
        else
            token_row(embedding, row, (size_t)tokens[t]);
        mh_row_add(row, row, embedding->position + t * width, width);
    }
}

size_t mh_embedding_scratch(const struct mh_embedding *embedding, size_t rows)
{
    struct mh_linear head = head_of(embedding);
    return mh_linear_scratch(&head, rows);
}

void mh_embedding_logits(const struct mh_embedding *embedding, float *logits, const float *x,
                         size_t rows, void *scratch)
{
    struct mh_linear head = head_of(embedding);
    mh_linear_forward(&head, logits, head.out, x, head.in, rows, scratch);
}
