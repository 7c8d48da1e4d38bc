/* The numbers of tests/golden/streams.py, bit for bit: inputs that no file has to hold. */
#ifndef MH_TEST_STREAMS_H
#define MH_TEST_STREAMS_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, over one more piece of the stream's name. The empty name's is STREAM_START. */
#define STREAM_START 0x811C9DC5u

static inline uint32_t stream_key(uint32_t key, const char *text)
{
    for (; *text; text++) {
        key = (key ^ (uint32_t)(unsigned char)*text) * 0x01000193u;
    }
    return key;
}

/* Element i of the stream: the finaliser of MurmurHash3, uniform on 0..2^32-1. */
static inline uint32_t stream_integer(uint32_t key, size_t i)
{
    uint32_t x = key + (uint32_t)i * 0x9E3779B9u;
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
}

/* Uniform on [-amplitude, amplitude). */
static inline float stream_uniform(uint32_t key, size_t i, float amplitude)
{
    return ((float)(stream_integer(key, i) >> 8) * 0x1p-23F - 1.0F) * amplitude;
}

#endif
