#include "train/stack_finite.h"

#include "kernels/kernels.h"
#include "model/weights.h"
#include "train/block_parts.h"

#include <math.h>

/* What a layer keeps, in the order in which it is computed. */
struct kept {
    const char *name;
    const float *data;
    size_t count;
    bool scores; /* -inf hides */
};

enum { MOST_KEPT = 13 };

/* Index of the first offending number; `count` if there is none. */
static size_t first_offence(const struct kept *kept)
{
    size_t i = 0;
    while (i < kept->count) {
        i += mh_row_first_nonfinite(kept->data + i, kept->count - i);
        if (i == kept->count || !kept->scores || kept->data[i] != -INFINITY)
            return i;
        i++;
    }
    return i;
}

static bool write_offence(const struct kept *kept, const char *prefix, size_t layer,
                          struct mh_offence *offence)
{
    size_t i = kept->data != NULL ? first_offence(kept) : kept->count;
    if (i == kept->count)
        return false;
    mh_weight_name(offence->name, prefix, layer, kept->name);
    offence->index = i;
    offence->value = kept->data[i];
    return true;
}

/* NULL where a layer has no cross-attention. */
static size_t list_layer(const struct mh_block_training *t, const struct mh_block_kept *k,
                         struct kept *list)
{
    const struct mh_model_config *c = &t->network->model;
    size_t rows = mh_block_rows(t), narrow = rows * c->embed_dim;
    size_t keys = mh_block_key_width(t), maps = rows * c->heads;
    size_t memory = t->batch * t->memory_length;
    const struct kept all[MOST_KEPT] = {
        {"attn.query_key_value", k->self.query, narrow + rows * 2 * keys, false},
        {"attn.scores", k->self.scores, maps * t->length, true},
        {"attn.heads", k->self.heads, narrow, false},
        {"attn.output", k->self.output, narrow, false},
        {"crossattention.query", k->cross.query, narrow, false},
        {"crossattention.key_value", k->cross.key_value, memory * 2 * keys, false},
        {"crossattention.scores", k->cross.scores, maps * t->memory_length, true},
        {"crossattention.heads", k->cross.heads, narrow, false},
        {"crossattention.output", k->cross.output, narrow, false},
        {"mlp.c_fc", k->ffn_in, rows * c->ffn_dim, false},
        {"mlp.activation", k->ffn_hidden, rows * c->ffn_dim, false},
        {"mlp.output", k->ffn_output, narrow, false},
    };
    size_t count = 0;
    while (count < MOST_KEPT && all[count].name != NULL) {
        list[count] = all[count];
        count++;
    }
    return count;
}

bool mh_stack_find_nonfinite(const struct mh_stack *s, const char *prefix,
                             struct mh_offence *offence)
{
    size_t narrow = mh_block_rows(&s->training) * s->training.network->model.embed_dim;
    struct kept list[MOST_KEPT], input = {"embeddings", s->input, narrow, false},
                                 normed = {"ln_f", s->normed, narrow, false};
    if (write_offence(&input, prefix, MH_NO_LAYER, offence))
        return true;
    for (size_t l = 0; l < s->layers; l++) {
        size_t count = list_layer(&s->training, &s->kept[l], list);
        for (size_t i = 0; i < count; i++)
            if (write_offence(&list[i], prefix, l, offence))
                return true;
    }
    return write_offence(&normed, prefix, MH_NO_LAYER, offence);
}
