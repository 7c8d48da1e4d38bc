#!/usr/bin/env python3
"""Records what PyTorch's autograd and torch.optim.AdamW give for training a small model, in train/.

    venv/bin/python tests/golden/record_train.py      (venv: see record.py)

All in float64, from parameters, tokens and gradients that are streams (streams.py); README.md says what is stored.
"""

import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

import streams

FOLDER = pathlib.Path(__file__).parent / "train"
LAYERS, HEADS, WIDTH, HIDDEN, VOCABULARY, POSITIONS = 2, 4, 16, 24, 19, 8
BATCH, LENGTH = 3, 8
STEPS, WARM_UP, PEAK, FLOOR = 20, 5, 1e-2, 1e-3
ADAMW = dict(betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
CLIP = 1.0
KEPT_STEPS = (1, 7, 20)

ACTIVATIONS = {
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "relu": F.relu,
}
# name: activation, norm position, key/value heads, mask
RUNS = {
    "causal": ("gelu-tanh", "pre", 4, "causal"),
    "window": ("gelu", "pre", 2, "window"),
    "post": ("relu", "post", 1, "causal"),
    "padded": ("gelu", "pre", 4, "padded"),
}
LENGTHS = (8, 5, 2)  # of "padded"


def shapes(norm, kv_heads):
    qkv = WIDTH + 2 * kv_heads * (WIDTH // HEADS)
    layer = {
        "ln_1.weight": (WIDTH,),
        "ln_1.bias": (WIDTH,),
        "attn.c_attn.weight": (WIDTH, qkv),
        "attn.c_attn.bias": (qkv,),
        "attn.c_proj.weight": (WIDTH, WIDTH),
        "attn.c_proj.bias": (WIDTH,),
        "ln_2.weight": (WIDTH,),
        "ln_2.bias": (WIDTH,),
        "mlp.c_fc.weight": (WIDTH, HIDDEN),
        "mlp.c_fc.bias": (HIDDEN,),
        "mlp.c_proj.weight": (HIDDEN, WIDTH),
        "mlp.c_proj.bias": (WIDTH,),
    }
    all_shapes = {"wte.weight": (VOCABULARY, WIDTH), "wpe.weight": (POSITIONS, WIDTH)}
    for n in range(LAYERS):
        all_shapes |= {f"h.{n}.{name}": shape for name, shape in layer.items()}
    if norm == "pre":
        all_shapes |= {"ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)}
    return all_shapes


def parameters(norm, kv_heads):
    """One stream cut into tensors; norm weights are around 1."""
    wanted = shapes(norm, kv_heads)
    flat = streams.uniform("train/parameters", (sum(math.prod(s) for s in wanted.values()),), 0.4)
    made, at = {}, 0
    for name, shape in wanted.items():
        part = flat[at : at + math.prod(shape)].reshape(shape)
        at += math.prod(shape)
        if "ln_" in name and name.endswith("weight"):
            part = part + np.float32(1)
        made[name] = torch.from_numpy(part.astype(np.float64)).requires_grad_()
    return made


def batch():
    tokens = streams.integers("train/tokens", BATCH * LENGTH) % VOCABULARY
    targets = (streams.integers("train/targets", BATCH * LENGTH) % VOCABULARY).astype(np.int64)
    targets[streams.integers("train/ignored", BATCH * LENGTH) % 4 == 0] = -100
    cut = lambda x: torch.from_numpy(x.astype(np.int64)).reshape(BATCH, LENGTH)
    return cut(tokens), cut(targets)


def visible(mask):
    i, j = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)[None, :]
    if mask == "causal":
        return (j <= i).expand(BATCH, 1, LENGTH, LENGTH)
    if mask == "window":
        return ((j >= i - 2) & (j <= i + 1)).expand(BATCH, 1, LENGTH, LENGTH)
    return (j < torch.tensor(LENGTHS)[:, None, None]).expand(BATCH, LENGTH, LENGTH)[:, None]


def attention(p, prefix, x, kv_heads, mask):
    head, keys = WIDTH // HEADS, kv_heads * (WIDTH // HEADS)
    split = lambda y: y.reshape(BATCH, LENGTH, -1, head).transpose(1, 2)
    q, k, v = (x @ p[prefix + "attn.c_attn.weight"] + p[prefix + "attn.c_attn.bias"]).split((WIDTH, keys, keys), dim=-1)
    out = F.scaled_dot_product_attention(split(q), split(k), split(v), attn_mask=visible(mask), enable_gqa=True)
    return out.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH) @ p[prefix + "attn.c_proj.weight"] + p[prefix + "attn.c_proj.bias"]


def loss_of(p, run):
    activation, norm, kv_heads, mask = RUNS[run]
    tokens, targets = batch()
    normed = lambda x, name: F.layer_norm(x, (WIDTH,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def feed_forward(prefix, x):
        hidden = ACTIVATIONS[activation](x @ p[prefix + "mlp.c_fc.weight"] + p[prefix + "mlp.c_fc.bias"])
        return hidden @ p[prefix + "mlp.c_proj.weight"] + p[prefix + "mlp.c_proj.bias"]

    x = p["wte.weight"][tokens] + p["wpe.weight"][:LENGTH]
    for n in range(LAYERS):
        h = f"h.{n}."
        if norm == "pre":
            x = x + attention(p, h, normed(x, h + "ln_1"), kv_heads, mask)
            x = x + feed_forward(h, normed(x, h + "ln_2"))
        else:
            x = normed(x + attention(p, h, x, kv_heads, mask), h + "ln_1")
            x = normed(x + feed_forward(h, x), h + "ln_2")
    if norm == "pre":
        x = normed(x, "ln_f")
    logits = x @ p["wte.weight"].T
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)


def optimiser(p):
    """Weight decay for matrices only; linear warm-up, then a cosine."""
    matrices = [x for x in p.values() if x.dim() > 1]
    vectors = [x for x in p.values() if x.dim() == 1]
    groups = [dict(params=matrices), dict(params=vectors, weight_decay=0.0)]
    adamw = torch.optim.AdamW(groups, lr=PEAK, **ADAMW)
    warm_up = torch.optim.lr_scheduler.LinearLR(adamw, start_factor=1 / WARM_UP, total_iters=WARM_UP - 1)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(adamw, T_max=STEPS - WARM_UP, eta_min=FLOOR)
    return adamw, torch.optim.lr_scheduler.SequentialLR(adamw, [warm_up, cosine], milestones=[WARM_UP])


def flat(tensors):
    return torch.cat([x.detach().flatten() for x in tensors])


def record_gradients(stored):
    for run, (_, norm, kv_heads, _) in RUNS.items():
        p = parameters(norm, kv_heads)
        loss = loss_of(p, run)
        loss.backward()
        stored[f"{run}/loss"] = loss.detach().reshape(1)
        stored[f"{run}/gradient"] = flat(x.grad for x in p.values())


def record_steps(stored):
    """AdamW alone: its gradients are streams, every other one long enough to be clipped."""
    p = parameters("pre", HEADS)
    adamw, schedule = optimiser(p)
    rates, norms, size = [], [], sum(x.numel() for x in p.values())
    for step in range(STEPS):
        numbers = torch.from_numpy(streams.uniform(f"train/gradient-{step}", (size,), 0.1 if step % 2 else 0.01).astype(np.float64))
        for x, part in zip(p.values(), numbers.split([x.numel() for x in p.values()])):
            x.grad = part.reshape(x.shape).clone()
        norms.append(torch.nn.utils.clip_grad_norm_(p.values(), CLIP).item())
        rates.append(adamw.param_groups[0]["lr"])
        adamw.step()
        schedule.step()
        if step + 1 in KEPT_STEPS:
            stored[f"adamw/parameters-{step + 1}"] = flat(p.values())
    stored["adamw/rates"], stored["adamw/norms"] = torch.tensor(rates), torch.tensor(norms)


def record_curve(stored):
    """The model itself, learning its one batch by heart."""
    p = parameters("pre", HEADS)
    adamw, schedule = optimiser(p)
    losses = []
    for _ in range(STEPS):
        adamw.zero_grad()
        loss = loss_of(p, "causal")
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(p.values(), CLIP)
        adamw.step()
        schedule.step()
    stored["curve/losses"] = torch.tensor(losses)


def main():
    torch.use_deterministic_algorithms(True)
    FOLDER.mkdir(exist_ok=True)
    stored = {}
    record_gradients(stored)
    record_steps(stored)
    record_curve(stored)
    tensors = {name: np.ascontiguousarray(x.numpy().astype(np.float32)) for name, x in stored.items()}
    path = FOLDER / "values.safetensors"
    save_file(tensors, path, metadata={"recorded with": f"PyTorch {torch.__version__}"})
    path.chmod(0o644)
    print(f"{len(tensors)} tensors, {path.stat().st_size} bytes; losses {tensors['curve/losses'][[0, -1]]}")


if __name__ == "__main__":
    main()
