"""Numbers that Python, C and TypeScript all make alike, so that no input has to be stored.

A stream is named by a text, such as "multihead-017/query". Its element i is

    key  = FNV-1a hash of the text                         (32 bits)
    x    = splitmix32: mix(key + i * 0x9E3779B9)           (mix: the finaliser of MurmurHash3)
    unit = (x >> 8) * 2^-23 - 1                            in [-1, 1), exact in f32
    value = unit * amplitude                               rounded once to f32

The same in C: tests/support/streams.h; in TypeScript: tests/support/streams.ts.
"""

import numpy as np


def key_of(text: str) -> int:
    key = 0x811C9DC5
    for byte in text.encode("ascii"):
        key = ((key ^ byte) * 0x01000193) & 0xFFFFFFFF
    return key


def integers(text: str, count: int) -> np.ndarray:
    """The first `count` numbers of the stream, uniform on 0..2^32-1."""
    x = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(key_of(text))
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> np.uint32(16)
    return x


def uniform(text: str, shape: tuple[int, ...], amplitude: float) -> np.ndarray:
    """f32, uniform on [-amplitude, amplitude)."""
    count = int(np.prod(shape, dtype=np.int64))
    unit = (integers(text, count) >> np.uint32(8)).astype(np.float32) * np.float32(2**-23) - np.float32(1)
    return (unit * np.float32(amplitude)).reshape(shape)


def chance(text: str, shape: tuple[int, ...], probability: float) -> np.ndarray:
    """bool, each true with `probability`."""
    count = int(np.prod(shape, dtype=np.int64))
    return (integers(text, count) < np.uint32(probability * 2**32)).reshape(shape)
