#include "train/embedding_gradient.h"

#include "kernels/kernels.h"

void mh_learned_embedding_forward(float *out, const float *wte, const float *wpe,
                                  const int32_t *tokens, size_t batch, size_t length, size_t width)
{
    for (size_t r = 0; r < batch * length; r++)
        mh_row_add(out + r * width, wte + (size_t)tokens[r] * width, wpe + r % length * width,
                   width);
}

void mh_learned_embedding_backward(float *dwte, float *dwpe, const float *dy, const int32_t *tokens,
                                   size_t batch, size_t length, size_t width)
{
    for (size_t r = 0; r < batch * length; r++) {
        float *token = dwte + (size_t)tokens[r] * width, *position = dwpe + r % length * width;
        mh_row_add(token, token, dy + r * width, width);
        mh_row_add(position, position, dy + r * width, width);
    }
}
