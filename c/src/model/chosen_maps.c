#include "model/chosen_maps.h"

#include <stdbool.h>

/* Chosen maps of one layer, within those of all layers. */
struct layer_maps {
    struct mh_choice choice; /* heads 0 .. H - 1 of this layer */
    size_t first;            /* floats of the layers before */
    bool any;
};

/* Finds the heads of `layer` in a choice among all, and writes them to `heads` [H]. */
static struct layer_maps maps_of_layer(size_t per_layer, const struct mh_model_pass *pass,
                                       const struct mh_choice *choice, size_t layer, int32_t *heads)
{
    size_t rows = choice->rows != NULL ? choice->row_count : pass->length;
    struct layer_maps maps = {.choice = *choice, .any = rows > 0};
    if (choice->heads == NULL) {
        maps.first = layer * per_layer * rows * pass->length;
        return maps;
    }
    size_t before = 0, count = 0;
    for (size_t i = 0; i < choice->head_count; i++) {
        size_t head = (size_t)choice->heads[i];
        before += head < layer * per_layer;
        if (head / per_layer == layer)
            heads[count++] = (int32_t)(head % per_layer);
    }
    maps.choice.heads = heads;
    maps.choice.head_count = count;
    maps.first = before * rows * pass->length;
    maps.any = count > 0 && rows > 0;
    return maps;
}

void mh_choose_maps(const struct mh_model_config *config, const struct mh_model_pass *pass,
                    size_t layer, int32_t *heads, struct mh_block_pass *block)
{
    struct layer_maps weights =
        maps_of_layer(config->heads, pass, &pass->chosen_attention, layer, heads);
    if (pass->attention != NULL && weights.any) {
        const struct mh_choice *c = &weights.choice;
        bool all = c->heads == NULL && c->rows == NULL;
        block->weights = (struct mh_weights_out){.mode = all ? MH_WEIGHTS_ALL : MH_WEIGHTS_ROWS,
                                                 .data = pass->attention + weights.first,
                                                 .heads = c->heads,
                                                 .head_count = c->head_count,
                                                 .rows = c->rows,
                                                 .row_count = c->row_count};
    }
    struct layer_maps scores =
        maps_of_layer(config->heads, pass, &pass->chosen_scores, layer, heads + config->heads);
    block->chosen_scores = scores.choice;
    if (pass->raw_scores != NULL && scores.any)
        block->raw_scores = pass->raw_scores + scores.first;
    if (pass->scores != NULL && scores.any)
        block->scores = pass->scores + scores.first;
}
