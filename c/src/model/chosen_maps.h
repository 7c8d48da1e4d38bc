/* From a choice among the maps of all layers to that of one layer. */
#ifndef MH_CHOSEN_MAPS_H
#define MH_CHOSEN_MAPS_H

#include "multihead.h"

/* Sets where the block of layer `layer` writes the weights and scores that the pass wants of it. heads
 * [2, H] is memory for the lists of its chosen heads, which the block pass borrows. */
void mh_choose_maps(const struct mh_model_config *config, const struct mh_model_pass *pass,
                    size_t layer, int32_t *heads, struct mh_block_pass *block);

#endif
