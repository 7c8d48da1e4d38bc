/* Sums over a row run in vectors over blocks of this many floats; the blocks are added up in double,
 * so that the rounding error does not grow with the length of the row. */
#ifndef MH_KERNELS_BLOCKS_H
#define MH_KERNELS_BLOCKS_H

#include <stddef.h>

enum { SUM_BLOCK = 256 };

/* Length of the next block, when `left` floats are left. */
static inline size_t block_length(size_t left)
{
    return left < SUM_BLOCK ? left : SUM_BLOCK;
}

#endif
