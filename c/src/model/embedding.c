#include "model/embedding.h"

#include "kernels/kernels.h"

size_t mh_embedding_packed_size(size_t vocabulary, size_t width)
{
    return mh_packed_size(width, vocabulary);
}

void mh_embedding_rows(const struct mh_embedding *embedding, float *out, const int32_t *tokens,
                       size_t length)
{
    size_t width = embedding->width;
    for (size_t t = 0; t < length; t++) {
        size_t token = (size_t)tokens[t];
        const float *panel = embedding->packed + token / MH_GEMM_COLUMNS * width * MH_GEMM_COLUMNS;
        const float *column = panel + token % MH_GEMM_COLUMNS;
        const float *position = embedding->position + t * width;
        for (size_t e = 0; e < width; e++)
            out[t * width + e] = column[e * MH_GEMM_COLUMNS] + position[e];
    }
}

void mh_embedding_logits(const struct mh_embedding *embedding, float *logits, const float *x,
                         size_t rows)
{
    size_t vocabulary = embedding->vocabulary;
    mh_gemm(logits, vocabulary, x, embedding->width, embedding->packed, NULL, rows, vocabulary,
            embedding->width, 0, vocabulary);
}
