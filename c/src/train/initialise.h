/* Where learning starts. */
#ifndef MH_INITIALISE_H
#define MH_INITIALISE_H

#include "train/model_parameters.h"

#include <stdint.h>

/* Fills all parameters; the same seed gives the same ones. Matrices [in, out] uniform on
 * ± sqrt(6 / (in + out)) (xavier_uniform: Glorot & Bengio 2010, eq. 16); embeddings normal with
 * standard deviation 0.02 (GPT-2's); biases 0; norms 1 and 0. */
void mh_initialise_parameters(const struct mh_model_config *config, uint32_t seed,
                              float *parameters);

#endif
