#!/usr/bin/env python3
"""Records what PyTorch computes for every case of cases.py, as attention/{cases.txt,values.safetensors}.

    python3 -m venv venv && venv/bin/pip install -r tests/golden/requirements.txt
    venv/bin/python tests/golden/record.py

PyTorch works in float64 on float32 inputs, so that the record is its mathematics and not its rounding; the same in
float32, and its fused inference path, are run beside it and must agree to F32_AGREES.
"""

import pathlib

import numpy as np
import torch
import torch.nn.functional as functional
from safetensors.numpy import save_file
from torch.nn.attention import SDPBackend, sdpa_kernel

import streams
from cases import all_cases

FOLDER = pathlib.Path(__file__).parent / "attention"
F32_AGREES = 1e-5
HIDE = 0.3  # of the keys, where a mask hides at random
RECORD_ONLY = ("gain", "masked")  # settings that cases.txt does not need


# ===== Inputs ==================================================================================


def stream(name, shape, amplitude):
    return torch.from_numpy(streams.uniform(name, tuple(shape), amplitude))


def weight_amplitude(width, gain):
    """A linear layer of this many inputs keeps the variance, times gain². Short in decimal, exact in f32."""
    return round(gain * (3 / width) ** 0.5 * 256) / 256


@torch.no_grad()
def fill_parameters(module, case, amplitude):
    """Every parameter from the stream `case/its name in PyTorch`; README.md has this table."""
    for name, parameter in module.named_parameters():
        if "norm" in name and name.endswith("weight"):
            parameter.copy_(1 + stream(f"{case}/{name}", parameter.shape, 0.5))
        elif name in ("bias_k", "bias_v"):
            parameter.copy_(stream(f"{case}/{name}", parameter.shape, 1.0))
        elif name.endswith("bias"):
            parameter.copy_(stream(f"{case}/{name}", parameter.shape, 0.5))
        else:
            parameter.copy_(stream(f"{case}/{name}", parameter.shape, amplitude))


def hide_at_random(name, shape):
    """Key 0 is never hidden, so that masks combine without a row that sees nothing."""
    hidden = streams.chance(name, tuple(shape), HIDE)
    hidden[..., 0] = False
    return torch.from_numpy(hidden)


def additive(name, hidden):
    return stream(name, hidden.shape, 2.0).masked_fill(hidden, -torch.inf)


def hide_above_diagonal(queries, keys):
    return torch.ones(queries, keys, dtype=torch.bool).triu(1)


def multihead_masks(case, s, queries, keys):
    """PyTorch's mask arguments, and the booleans behind them that are stored."""
    arguments, stored = {}, {}
    kind = s["attn_mask"]
    if kind == "causal":
        arguments |= dict(attn_mask=hide_above_diagonal(queries, keys), is_causal=True)
    elif kind != "none":
        shape = (queries, keys) if kind.endswith("2") else (s["batch"] * s["heads"], queries, keys)
        hidden = hide_at_random(f"{case}/attn_hidden", shape)
        if s.get("masked") == "rows":
            hidden[..., [1, 4], :] = True
        if s.get("masked") == "heads":
            hidden[[2, 7], 3, :] = True
        stored["attn_hidden"] = hidden
        arguments["attn_mask"] = hidden if kind.startswith("bool") else additive(f"{case}/attn_mask", hidden)
    if s["key_padding"] != "none":
        hidden = hide_at_random(f"{case}/key_hidden", (keys,) if s.get("unbatched") else (s["batch"], keys))
        if s.get("masked") == "padding":
            hidden[1] = True
        stored["key_hidden"] = hidden
        arguments["key_padding_mask"] = hidden if s["key_padding"] == "bool" else additive(f"{case}/key_padding_mask", hidden)
    return arguments, stored


def as_type(arguments, dtype):
    """Floating-point tensors in `dtype`; booleans and flags as they are."""
    return {
        key: value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value
        for key, value in arguments.items()
    }


# ===== Runs ====================================================================================


class Agreement:
    """The largest difference seen between PyTorch's own float64, float32 and fused results."""

    def __init__(self):
        self.worst = {}

    def note(self, what, reference, other):
        seen = torch.isfinite(reference)
        difference = (reference - other.double())[seen].abs().max().item() if seen.any() else 0.0
        assert difference <= F32_AGREES, f"{what}: PyTorch differs from itself by {difference}"
        self.worst[what] = max(self.worst.get(what, 0.0), difference)


def sequence(case, name, s, length, width):
    shape = (s["batch"], length, width)
    if s["unbatched"]:
        shape = shape[1:]
    elif not s["batch_first"]:
        shape = (length, s["batch"], width)
    return stream(f"{case}/{name}", shape, 2.0)


def multihead_of(case, s):
    """The module with its inputs, its masks, and what is stored of these."""
    module = torch.nn.MultiheadAttention(
        s["embed_dim"], s["heads"], bias=bool(s["bias"]), add_bias_kv=bool(s["bias_kv"]), add_zero_attn=bool(s["zero_attn"]),
        kdim=s["key_dim"], vdim=s["value_dim"], batch_first=bool(s["batch_first"]),
    )  # fmt: skip
    s["weight"] = weight_amplitude(s["embed_dim"], s["gain"])
    fill_parameters(module, case, s["weight"])
    inputs = {"query": sequence(case, "query", s, s["queries"], s["embed_dim"])}
    if s["self"]:
        inputs |= dict(key=inputs["query"], value=inputs["query"])
    else:
        inputs["key"] = sequence(case, "key", s, s["keys"], s["key_dim"])
        inputs["value"] = sequence(case, "value", s, s["keys"], s["value_dim"])
    masks, stored = multihead_masks(case, s, s["queries"], s["keys"])
    return module, inputs, masks, stored


def run_multihead(case, s, agreement):
    module, inputs, masks, stored = multihead_of(case, s)

    def run(dtype, need_weights, average=False):
        with torch.no_grad():
            arguments = as_type(inputs, dtype) | as_type(masks, dtype)
            if s["self"]:
                arguments |= dict(key=arguments["query"], value=arguments["query"])
            if not need_weights and (s["bias_kv"] or s["zero_attn"]):
                # The hint would hide the extra keys too, which the mask itself shows: PyTorch at odds with itself.
                arguments.pop("is_causal", None)
            return module.to(dtype)(**arguments, need_weights=need_weights, average_attn_weights=average)

    module.train()  # the plain path: dropout is 0, so nothing else changes
    safe_output, _ = run(torch.float64, False)
    output, weights = run(torch.float64, True)
    s["masked_rows"] = int(weights.isnan().any(-1).sum())
    agreement.note("without weights, float64", output, safe_output)
    if s["average"]:
        _, weights = run(torch.float64, True, True)
    # A row that sees no key makes the output NaN when weights are asked for, and zero attention when not.
    output = torch.where(output.isnan(), safe_output, output)
    assert output.isfinite().all()
    for fused in (False, True):
        if fused and s["masked_rows"]:
            continue
        module.train(not fused)
        label = "fused inference" if fused else "float32"
        other, other_weights = run(torch.float32, True, bool(s["average"]))
        if not s["masked_rows"]:
            agreement.note(label, output, other)
        agreement.note(label, weights, other_weights)
    stored["output"] = output
    if s["need_weights"]:
        stored["weights"] = weights
        if not s["average"]:
            stored["entropy"] = entropy(weights)
    return stored


def entropy(weights):
    """-Σ a ln a of every row; 0 where the row sees nothing."""
    values = torch.special.entr(weights).sum(-1)
    rows = weights.sum(-1) > 0.5  # the sum is 1, or NaN or 0 (by PyTorch's path) where no key is seen
    known = torch.distributions.Categorical(probs=weights[rows]).entropy()
    assert torch.allclose(values[rows], known, atol=1e-9)
    return values.nan_to_num(0.0)


def run_attention(case, s, agreement):
    def heads_of(name, heads, rows, width):
        shape = (s["batch"], heads, rows, width)[4 - s["dims"] :]
        return stream(f"{case}/{name}", shape, 2.0)

    query = heads_of("query", s["heads"], s["queries"], s["head_dim"])
    key = heads_of("key", s["kv_heads"], s["keys"], s["head_dim"])
    value = heads_of("value", s["kv_heads"], s["keys"], s["value_dim"])
    arguments, stored = dict(enable_gqa=s["kv_heads"] != s["heads"]), {}
    if s["scale"] != "default":
        arguments["scale"] = float(s["scale"])
    visible = ~hide_above_diagonal(s["queries"], s["keys"])
    if s["mask"] != "none":
        shape = [
            s["batch"] if s["mask_batch"] else 1, s["heads"] if s["mask_heads"] else 1,
            s["queries"] if s["mask_queries"] else 1, s["keys"],
        ]  # fmt: skip
        hidden = hide_at_random(f"{case}/attn_hidden", shape[4 - s["dims"] :])
        if s["masked"] == "rows":
            hidden[..., [1, 4], :] = True
        stored["attn_hidden"] = hidden
        mask = ~hidden if s["mask"] == "bool" else additive(f"{case}/attn_mask", hidden)
        if s["causal"]:  # PyTorch takes one or the other
            mask = mask & visible if s["mask"] == "bool" else mask.masked_fill(~visible, -torch.inf)
        arguments["attn_mask"] = mask
    elif s["causal"]:
        arguments["is_causal"] = True

    def run(dtype, v, backend=SDPBackend.MATH):
        with sdpa_kernel(backend):
            return attend(dtype, v)

    def attend(dtype, v):
        return functional.scaled_dot_product_attention(query.to(dtype), key.to(dtype), v.to(dtype), **as_type(arguments, dtype))

    output = run(torch.float64, value)
    # It gives no weights; with an identity matrix for V they are its output.
    identity = torch.eye(s["keys"], dtype=torch.float64).expand(*key.shape[:-1], s["keys"])
    weights = run(torch.float64, identity)
    s["masked_rows"] = int((weights == 0).all(-1).sum())
    agreement.note("float32", output, run(torch.float32, value))
    agreement.note("float32", weights, run(torch.float32, identity))
    # The CPU's flash kernel scales after it has hidden: a causal mask under a scale <= 0 goes wrong there.
    if arguments.get("scale", 1) > 0 and s["dims"] == 4 and s["value_dim"] == s["head_dim"]:
        agreement.note("flash", output, run(torch.float32, value, SDPBackend.FLASH_ATTENTION))
    assert output.isfinite().all()
    return stored | dict(output=output, weights=weights, entropy=entropy(weights))


def run_encoder(case, s, agreement):
    module = torch.nn.TransformerEncoderLayer(
        s["embed_dim"], s["heads"], s["ffn_dim"], dropout=0.0, activation=s["activation"], batch_first=True,
        norm_first=bool(s["norm_first"]),
    )  # fmt: skip
    s["weight"] = weight_amplitude(s["embed_dim"], s["gain"])
    fill_parameters(module, case, s["weight"])
    source = stream(f"{case}/input", (s["batch"], s["length"], s["embed_dim"]), 2.0)
    masks, stored = multihead_masks(case, s, s["length"], s["length"])
    renamed = {"attn_mask": "src_mask", "key_padding_mask": "src_key_padding_mask"}
    masks = {renamed.get(key, key): value for key, value in masks.items()}

    def run(dtype, fused):
        with torch.no_grad():
            module.to(dtype).train(not fused)
            return module(source.to(dtype), **as_type(masks, dtype))

    output = run(torch.float64, False)
    agreement.note("encoder, float32", output, run(torch.float32, False))
    if not s["attn_mask"].startswith("float"):  # the fused encoder gives NaN for additive masks
        agreement.note("encoder, fused inference", output, run(torch.float32, True))
    return stored | dict(output=output)


# ===== Files ===================================================================================


def written(value):
    return np.format_float_positional(value, trim="-") if isinstance(value, float) else str(value)


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    runs = {"multihead": run_multihead, "attention": run_attention, "encoder": run_encoder}
    agreement, tensors, lines = Agreement(), {}, []
    for case, kind, settings in all_cases():
        for name, tensor in runs[kind](case, settings, agreement).items():
            stored = torch.uint8 if tensor.dtype == torch.bool else torch.float32
            tensors[f"{case}/{name}"] = np.ascontiguousarray(tensor.to(stored).numpy())
        words = [f"{key}={written(value)}" for key, value in settings.items() if key not in RECORD_ONLY]
        lines.append(" ".join([case, *words]))
    FOLDER.mkdir(exist_ok=True)
    versions = f"PyTorch {torch.__version__}, NumPy {np.__version__}"
    head = [f"# {versions}; {len(lines)} cases. Written by record.py; README.md explains the words."]
    (FOLDER / "cases.txt").write_text("\n".join(head + lines) + "\n")
    save_file(tensors, FOLDER / "values.safetensors", metadata={"recorded with": versions})
    for what, difference in agreement.worst.items():
        print(f"{what} against float64: at most {difference:.2e}")
    size = (FOLDER / "values.safetensors").stat().st_size
    print(f"{len(lines)} cases, {len(tensors)} tensors, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
