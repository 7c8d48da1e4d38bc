#include "train/stack_gradient.h"

#include "base/size.h"
#include "kernels/kernels.h"
#include "train/block_parts.h"
#include "train/row_gradients.h"

static size_t width_of(const struct mh_stack *s)
{
    return s->training.network->model.embed_dim;
}

static bool has_final_norm(const struct mh_stack *s)
{
    return s->training.network->model.norm_position == MH_NORM_PRE;
}

void mh_stack_lay_out(struct mh_stack *s, struct mh_arena *arena)
{
    size_t floats = mh_size_mul(mh_block_rows(&s->training), width_of(s));
    s->input = mh_arena_floats(arena, floats);
    s->normed = has_final_norm(s) ? mh_arena_floats(arena, floats) : NULL;
    s->kept = mh_arena_take(arena, s->layers, sizeof *s->kept);
    for (size_t l = 0; l < s->layers; l++) {
        struct mh_block_kept kept = mh_block_keep(&s->training, arena);
        if (s->kept != NULL)
            s->kept[l] = kept;
    }
}

static struct mh_block_layer layer_of(const struct mh_stack *s, size_t l)
{
    return (struct mh_block_layer){
        .layer = l,
        .mask = s->layer_masks != NULL ? &s->layer_masks[l] : &s->training.mask,
        .seed = mh_training_layer_seed(s->dropout_seed, s->first_seed + l),
        .cross_seed = mh_training_layer_seed(s->dropout_seed, s->first_seed + s->layers + l),
        .input = l == 0 ? s->input : s->kept[l - 1].ffn_output,
        .kept = &s->kept[l],
    };
}

/* ===== The final norm ======================================================================= */

static const float *last(const struct mh_stack *s)
{
    return s->kept[s->layers - 1].ffn_output;
}

const float *mh_stack_output(const struct mh_stack *s)
{
    return has_final_norm(s) ? s->normed : last(s);
}

/* Offset of the norm's weight; the bias comes after its E numbers. */
static size_t norm_offset(const struct mh_stack *s)
{
    const struct mh_block_training *t = &s->training;
    return mh_parameter_place(t->network, mh_parameter_final_norm(t->network, t->stack)).offset;
}

static void norm(const struct mh_stack *s)
{
    size_t width = width_of(s);
    const float *x = last(s), *weight = s->training.parameters + norm_offset(s);
    for (size_t r = 0; r < mh_block_rows(&s->training); r++)
        mh_row_layer_norm(s->normed + r * width, x + r * width, weight, weight + width,
                          s->training.network->model.norm_epsilon, width);
}

static void norm_backward(const struct mh_stack *s, float *d, float *gradient)
{
    size_t width = width_of(s), offset = norm_offset(s);
    const float *x = last(s), *weight = s->training.parameters + offset;
    for (size_t r = 0; r < mh_block_rows(&s->training); r++)
        mh_row_layer_norm_gradient(d + r * width, gradient + offset, gradient + offset + width,
                                   d + r * width, x + r * width, weight,
                                   s->training.network->model.norm_epsilon, width);
}

/* ===== All of it ============================================================================ */

enum mh_status mh_stack_forward(const struct mh_stack *s, struct mh_error *error)
{
    for (size_t l = 0; l < s->layers; l++) {
        struct mh_block_layer layer = layer_of(s, l);
        enum mh_status status = mh_block_training_forward(&s->training, &layer, error);
        if (status != MH_OK)
            return status;
    }
    if (has_final_norm(s))
        norm(s);
    return MH_OK;
}

void mh_stack_backward(const struct mh_stack *s, float *d, float *gradient)
{
    if (has_final_norm(s))
        norm_backward(s, d, gradient);
    for (size_t l = s->layers; l-- > 0;) {
        struct mh_block_layer layer = layer_of(s, l);
        mh_block_training_backward(&s->training, &layer, d, gradient);
    }
}

double mh_stack_supervision(const struct mh_stack *s)
{
    double sum = 0.0;
    for (size_t l = 0; l < s->layers && s->training.supervision_count > 0; l++) {
        struct mh_block_layer layer = layer_of(s, l);
        sum += mh_block_supervision(&s->training, &layer);
    }
    return sum;
}
