#include "model/feed_forward.h"

#include "base/size.h"
#include "kernels/kernels.h"

void mh_activate(int32_t activation, float *x, size_t n)
{
    switch (activation) {
    case MH_ACTIVATION_GELU_TANH:
        mh_row_gelu_tanh(x, x, n);
        break;
    case MH_ACTIVATION_RELU:
        mh_row_relu(x, x, n);
        break;
    default:
        mh_row_gelu(x, x, n);
        break;
    }
}

size_t mh_feed_forward_scratch(const struct mh_feed_forward *ffn, size_t rows)
{
    return mh_size_max(mh_linear_scratch(&ffn->in, rows), mh_linear_scratch(&ffn->out, rows));
}

void mh_feed_forward_rows(const struct mh_feed_forward *ffn, float *out, const float *x,
                          float *hidden, size_t rows, void *scratch)
{
    size_t width = ffn->in.out;
    mh_linear_forward(&ffn->in, hidden, width, x, ffn->in.in, rows, scratch);
    mh_activate(ffn->activation, hidden, rows * width);
    mh_linear_forward(&ffn->out, out, ffn->out.out, hidden, width, rows, scratch);
}
