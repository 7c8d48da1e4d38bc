"""Which configurations of PyTorch are recorded. Data only: record.py runs them.

A case is a dict of the settings in cases.txt; `gain` (spread of the scores) and `masked` (which rows see no key) are
for record.py alone.
"""

# (batch, queries, keys, embed_dim, heads): tails of every SIMD width, head sizes 1 to 96, T != S.
SIZES = [
    (1, 1, 1, 8, 1), (1, 1, 1, 8, 8), (2, 1, 5, 8, 2), (1, 2, 3, 8, 4), (3, 3, 2, 12, 1), (2, 4, 4, 12, 4),
    (1, 5, 7, 12, 12), (1, 7, 5, 21, 3), (2, 8, 8, 24, 2), (1, 9, 1, 24, 8), (3, 6, 11, 24, 24), (1, 13, 13, 36, 3),
    (2, 10, 17, 36, 12), (1, 15, 16, 48, 1), (2, 16, 15, 48, 4), (1, 17, 9, 48, 16), (1, 19, 31, 64, 8),
    (1, 23, 23, 63, 9), (2, 12, 3, 64, 4), (1, 31, 19, 70, 10), (1, 3, 67, 96, 2), (1, 67, 3, 96, 8), (1, 32, 33, 96, 1),
    (1, 33, 32, 96, 12), (3, 2, 2, 384, 8), (1, 11, 21, 384, 8), (1, 64, 64, 48, 1), (1, 67, 67, 96, 2),
    (1, 47, 65, 24, 1), (1, 65, 47, 28, 4), (1, 29, 37, 384, 4), (2, 14, 6, 40, 5),
]  # fmt: skip

ATTENTION_MASKS = ["none", "bool2", "float2", "bool3", "float3", "causal"]
KEY_PADDINGS = ["none", "bool", "float"]
# (need_weights, average)
WEIGHTS = [(1, 0), (1, 1), (0, 0)]

MULTIHEAD = {
    "batch": 2, "queries": 5, "keys": 5, "embed_dim": 24, "heads": 4, "key_dim": 0, "value_dim": 0,
    "bias": 1, "bias_kv": 0, "zero_attn": 0, "batch_first": 1, "unbatched": 0, "self": 0,
    "attn_mask": "none", "key_padding": "none", "need_weights": 1, "average": 0,
    "gain": 1.0, "masked": "none",
}  # fmt: skip

ATTENTION = {
    "batch": 2, "heads": 4, "kv_heads": 0, "queries": 5, "keys": 7, "head_dim": 8, "value_dim": 0, "dims": 4,
    "mask": "none", "mask_batch": 0, "mask_heads": 0, "mask_queries": 1, "causal": 0, "scale": "default",
    "masked": "none",
}  # fmt: skip

ENCODER = {
    "batch": 2, "length": 7, "embed_dim": 24, "heads": 4, "ffn_dim": 48, "activation": "relu", "norm_first": 0,
    "attn_mask": "none", "key_padding": "none", "gain": 1.0,
}  # fmt: skip


def sized(size, **settings):
    batch, queries, keys, embed_dim, heads = size
    return dict(batch=batch, queries=queries, keys=keys, embed_dim=embed_dim, heads=heads) | settings


def multihead_cases():
    for i, size in enumerate(SIZES):  # plain, cross-attention
        yield sized(size, bias=i % 3 != 1, batch_first=i % 2, gain=1 + (i % 3) / 4)
    for i, (batch, queries, _, embed_dim, heads) in enumerate(SIZES[::2]):  # self-attention
        size = (batch, queries, queries, embed_dim, heads)
        yield sized(size, self=1, average=i % 2, batch_first=(i + 1) % 2, bias=i % 4 != 0, attn_mask=["none", "causal"][i % 2])
    i = 0
    for attn_mask in ATTENTION_MASKS:  # every mask with every other, and every form of weights
        for key_padding in KEY_PADDINGS:
            for need_weights, average in WEIGHTS:
                size = SIZES[(5 * i + 2) % 24]
                yield sized(
                    size, attn_mask=attn_mask, key_padding=key_padding, need_weights=need_weights, average=average,
                    batch_first=(i // 2) % 2, bias=i % 5 != 0, gain=1 + (i % 2) / 2,
                )  # fmt: skip
                i += 1
    for i, (key_dim, value_dim) in enumerate([(24, 12), (7, 24), (5, 9), (64, 3), (1, 1), (48, 48), (33, 24), (13, 96)]):
        for unbatched in (0, 1):
            yield dict(
                batch=1 if unbatched else 2, queries=6, keys=9 + i, embed_dim=24, heads=[4, 3, 2, 8][i % 4],
                key_dim=key_dim, value_dim=value_dim, unbatched=unbatched, bias=i % 2, batch_first=(i // 2) % 2,
                attn_mask=ATTENTION_MASKS[(i + unbatched) % 6], average=i % 2,
            )  # fmt: skip
    i = 0
    for bias_kv, zero_attn in [(1, 0), (0, 1), (1, 1)]:  # the extra keys, under every mask
        for attn_mask in ATTENTION_MASKS:
            for key_padding in ("none", "bool"):
                yield dict(
                    batch=2, queries=4 + i % 5, keys=3 + i % 7, embed_dim=[24, 12, 48][i % 3], heads=[4, 3][i % 2],
                    bias_kv=bias_kv, zero_attn=zero_attn, attn_mask=attn_mask, key_padding=key_padding, bias=i % 4 != 3,
                    batch_first=i % 2, average=i % 3 == 2,
                )  # fmt: skip
                i += 1
    for i, attn_mask in enumerate(ATTENTION_MASKS):  # no batch
        for key_padding in ("none", "bool", "float"):
            yield dict(
                batch=1, unbatched=1, queries=3 + 2 * i, keys=8 + i, embed_dim=[24, 8, 64][i % 3], heads=[2, 4, 8][i % 3],
                attn_mask=attn_mask, key_padding=key_padding, batch_first=i % 2, average=(i + 1) % 2, bias_kv=i == 3,
            )  # fmt: skip
    for masked, attn_mask, key_padding in [
        ("rows", "bool2", "none"), ("rows", "float2", "none"), ("rows", "bool3", "none"), ("rows", "float3", "none"),
        ("heads", "bool3", "none"), ("heads", "float3", "bool"), ("padding", "none", "bool"), ("padding", "none", "float"),
        ("padding", "causal", "bool"), ("padding", "float2", "bool"), ("padding", "bool2", "float"),
    ]:  # fmt: skip
        for need_weights, average in WEIGHTS:
            if masked == "heads" and average:
                continue  # PyTorch's average over heads is NaN as soon as one head is
            yield dict(
                batch=3, queries=6, keys=9, embed_dim=24, heads=4, masked=masked, attn_mask=attn_mask, key_padding=key_padding,
                need_weights=need_weights, average=average, batch_first=need_weights,
            )  # fmt: skip


def attention_cases():
    shapes = [
        (1, 1, 1, 1, 1, 1), (2, 3, 1, 9, 3, 5), (1, 2, 5, 4, 7, 7), (3, 4, 7, 7, 8, 8), (2, 5, 8, 13, 12, 16), (1, 8, 16, 16, 16, 3),
        (1, 4, 17, 31, 48, 48), (1, 2, 67, 65, 24, 20), (1, 6, 33, 12, 64, 33), (2, 1, 3, 67, 5, 96), (1, 1, 64, 67, 96, 1),
    ]  # fmt: skip  # batch, heads, queries, keys, head_dim, value_dim
    shaped = [
        dict(zip(("batch", "heads", "queries", "keys", "head_dim", "value_dim"), shape, strict=True)) for shape in shapes
    ]
    yield from shaped
    for i, shape in enumerate(shaped):
        yield shape | dict(causal=1, scale=["default", "0.5", "1", "-0.25", "0"][i % 5])
    for i, shape in enumerate(shaped[1:9]):
        for mask in ("bool", "float"):
            yield shape | dict(
                mask=mask, mask_batch=i % 2, mask_heads=(i // 2) % 2, mask_queries=i % 3 != 2, causal=i == 5,
                scale=["default", "1.25"][i % 2],
            )  # fmt: skip
    for i, (heads, kv_heads) in enumerate([(4, 1), (4, 2), (6, 3), (8, 2), (6, 1), (9, 3)]):
        for mask in ("none", "bool", "float"):
            yield dict(
                batch=1 + i % 2, heads=heads, kv_heads=kv_heads, queries=5 + i, keys=4 + 3 * i, head_dim=[7, 8, 12][i % 3],
                value_dim=[7, 8, 5][i % 3], mask=mask, mask_heads=i % 2, causal=mask == "none" and i % 2,
            )  # fmt: skip
    for i, dims in enumerate([2, 3, 2, 3]):
        yield dict(batch=1, heads=1 if dims == 2 else 3, dims=dims, queries=6, keys=4 + i, mask=["none", "none", "bool", "float"][i])
    for mask in ("bool", "float"):
        for broadcast in (0, 1):
            yield dict(mask=mask, masked="rows", mask_batch=broadcast, mask_heads=broadcast, queries=6, keys=9)


def encoder_cases():
    i = 0
    for norm_first in (0, 1):
        for activation in ("relu", "gelu"):
            for attn_mask, key_padding in [("none", "none"), ("causal", "none"), ("none", "bool"), ("float2", "none"), ("bool3", "bool")]:
                batch, length, embed_dim, heads, ffn_dim = [(2, 7, 24, 4, 48), (1, 13, 48, 4, 192), (3, 5, 12, 3, 17), (1, 9, 96, 2, 384)][i % 4]
                yield dict(
                    batch=batch, length=length, embed_dim=embed_dim, heads=heads, ffn_dim=ffn_dim, activation=activation,
                    norm_first=norm_first, attn_mask=attn_mask, key_padding=key_padding,
                )  # fmt: skip
                i += 1


def all_cases():
    """(name, settings) of every case, defaults filled in."""
    for kind, defaults, cases in (
        ("multihead", MULTIHEAD, multihead_cases()),
        ("attention", ATTENTION, attention_cases()),
        ("encoder", ENCODER, encoder_cases()),
    ):
        for i, case in enumerate(cases):
            unknown = set(case) - set(defaults)
            assert not unknown, unknown
            settings = defaults | {key: int(value) if isinstance(value, bool) else value for key, value in case.items()}
            if kind == "multihead":
                settings["key_dim"] = settings["key_dim"] or settings["embed_dim"]
                settings["value_dim"] = settings["value_dim"] or settings["embed_dim"]
            if kind == "attention":
                settings["kv_heads"] = settings["kv_heads"] or settings["heads"]
                settings["value_dim"] = settings["value_dim"] or settings["head_dim"]
            yield f"{kind}-{i:03d}", kind, settings
