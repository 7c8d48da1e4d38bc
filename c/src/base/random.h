/* Random numbers by counter: number `index` of a stream is a pure function of both, so dropout
 * hits the same (b, h, t, s) in whatever order, and on whatever build, the weights are computed.
 *
 * A stream is a state of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
 * generators"), and its number `index` is the one that generator gives after index + 1 steps.
 * The stream of (seed, a, b, c) is made by mixing them in one after the other. */
#ifndef MH_RANDOM_H
#define MH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define MH_SPLITMIX_STEP UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio, odd */

/* SplitMix64's output function (variant 13 of Stafford's mixers). */
static inline uint64_t mh_random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 32 uniform bits: number `index` of the stream. */
static inline uint32_t mh_random_at(uint64_t stream, size_t index)
{
    return (uint32_t)(mh_random_mix(stream + ((uint64_t)index + 1) * MH_SPLITMIX_STEP) >> 32);
}

/* The stream for one row: weights of (b, h, t), or whatever three numbers name it. */
static inline uint64_t mh_random_stream(uint32_t seed, size_t a, size_t b, size_t c)
{
    uint64_t stream = mh_random_mix((uint64_t)seed + MH_SPLITMIX_STEP);
    stream = mh_random_mix(stream + ((uint64_t)a + 1) * MH_SPLITMIX_STEP);
    stream = mh_random_mix(stream + ((uint64_t)b + 1) * MH_SPLITMIX_STEP);
    return mh_random_mix(stream + ((uint64_t)c + 1) * MH_SPLITMIX_STEP);
}

#endif
