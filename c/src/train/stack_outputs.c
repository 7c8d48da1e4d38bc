#include "train/stack_outputs.h"

#include "ops/mask.h"
#include "ops/masked_row.h"

#include <string.h>

/* The maps of one layer: queries, keys, and what hides keys. */
struct maps {
    size_t batch, heads, queries, keys;
    const struct mh_mask *mask;
    const float *scores;
};

static struct maps maps_of(const struct mh_stack *s, enum mh_attention_kind kind, size_t layer)
{
    const struct mh_block_training *t = &s->training;
    bool self = kind == MH_SELF_ATTENTION;
    const struct mh_mask *mask = s->layer_masks != NULL ? &s->layer_masks[layer] : &t->mask;
    return (struct maps){
        .batch = t->batch,
        .heads = t->network->model.heads,
        .queries = t->length,
        .keys = self ? t->length : t->memory_length,
        .mask = self ? mask : &t->memory_mask,
        .scores = self ? s->kept[layer].self.scores : s->kept[layer].cross.scores,
    };
}

static void write_weights(const struct maps *m, float *weights)
{
    for (size_t b = 0; b < m->batch; b++) {
        struct mh_range unpadded = mh_mask_unpadded(m->mask, b, m->keys);
        for (size_t row = 0; row < m->heads * m->queries; row++) {
            size_t i = row % m->queries, at = (b * m->heads * m->queries + row) * m->keys;
            struct mh_key_ranges ranges = mh_mask_ranges(m->mask, unpadded, i, i, m->keys);
            mh_row_copy(weights + at, m->scores + at, m->keys, &ranges, 0.0f);
            mh_row_softmax(weights + at, &ranges);
        }
    }
}

void mh_stack_write_attention(const struct mh_stack *s, enum mh_attention_kind kind, float *weights,
                              float *scores)
{
    for (size_t l = 0; l < s->layers; l++) {
        struct maps m = maps_of(s, kind, l);
        size_t floats = m.batch * m.heads * m.queries * m.keys;
        if (weights != NULL)
            write_weights(&m, weights + l * floats);
        if (scores != NULL)
            memcpy(scores + l * floats, m.scores, floats * sizeof *scores);
    }
}
