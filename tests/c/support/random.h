/* Seeded random numbers for tests: the same on every machine. */
#ifndef MH_TEST_RANDOM_H
#define MH_TEST_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* xorshift32 (Marsaglia 2003); the state is any number but 0. */
static inline uint32_t random_u32(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Uniform on [low, high). */
static inline float random_between(uint32_t *state, float low, float high)
{
    return low + (high - low) * ((float)(random_u32(state) >> 8) * 0x1p-24F);
}

static inline void random_fill(uint32_t *state, float *x, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = random_between(state, low, high);
    }
}

#endif
