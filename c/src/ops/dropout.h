/* Dropout (Srivastava et al. 2014): each number is set to zero with probability p, and those that
 * are kept are divided by 1 - p, so that the expected value stays. */
#ifndef MH_DROPOUT_H
#define MH_DROPOUT_H

#include "multihead.h"

/* Row x[0..n) are the elements first .. first + n of the row that `stream` names (see
 * base/random.h): which of them are dropped depends on nothing else. 0 <= p < 1. */
void mh_dropout_row(float *x, size_t first, size_t n, float probability, uint64_t stream);

#endif
