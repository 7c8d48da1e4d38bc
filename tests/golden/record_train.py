#!/usr/bin/env python3
"""Records what PyTorch's autograd, torch.optim.AdamW and SGD give for training small networks, in train/.

    venv/bin/python tests/golden/record_train.py      (venv: see record.py)

All in float64, from parameters, tokens and gradients that are streams (streams.py); README.md says what is stored. Networks whose
heads have keys of their own are run by torch.nn's modules too, and the recording fails unless loss and gradient are the same.
"""

import dataclasses
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

import streams
from networks import Batch, Network, module_output, output, shapes

FOLDER = pathlib.Path(__file__).parent / "train"
BATCH, LENGTH, SOURCE = 3, 8, 6
LENGTHS = (8, 5, 2)  # of "padded"
SOURCE_LENGTHS = (6, 4, 1)
WINDOWS = ((0, 0, 0, 1, 1, 1, 2, 2), (0, 1, 1, 1, 2, 2, 2, 0))  # of "picture-windows", by layer
STEPS, WARM_UP, PEAK, FLOOR = 20, 5, 1e-2, 1e-3
ADAMW = dict(betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
CLIP = 1.0
KEPT_STEPS = (1, 7, 20)

DECODER = Network(width=16, heads=4, kv_heads=4, hidden=24, layers=2, vocabulary=19, positions=8)
SMALL = Network(width=8, heads=4, kv_heads=4, hidden=12, layers=2, vocabulary=11, positions=9, encoder_layers=1)
PICTURE = dataclasses.replace(SMALL, encoder_layers=0, patch=5)
change = dataclasses.replace

# name: network, mask. Their gradients alone are recorded.
DECODERS = {
    "causal": (change(DECODER, activation="gelu-tanh"), "causal"),
    "window": (change(DECODER, kv_heads=2), "window"),
    "post": (change(DECODER, activation="relu", norm="post", kv_heads=1), "causal"),
    "padded": (DECODER, "padded"),
}
# name: network, mask, optimiser
RUNS = {
    "translate-pre": (change(SMALL, encoder_layers=2), "causal", "adamw"),
    "translate-post": (change(SMALL, norm="post", activation="relu", sinusoidal=True), "causal", "sgd"),
    "translate-shared": (change(SMALL, kv_heads=2, activation="gelu-tanh"), "causal", "sgd"),
    "supervised-pre": (change(SMALL, kv_heads=2, sinusoidal=True), "causal", "adamw"),
    "supervised-post": (change(SMALL, kv_heads=1, norm="post"), "causal", "sgd"),
    "picture-token": (change(PICTURE, class_token=True), "none", "sgd"),
    "picture-windows": (change(PICTURE, norm="post", kv_heads=2), "windows", "adamw"),
    "picture-hidden": (change(PICTURE, class_token=True, sinusoidal=True), "hidden", "adamw"),
}
# of "supervised-…": layer, head, cross, weight
SUPERVISION = ((1, 2, False, 0.7), (0, 1, True, 1.5), (1, 3, True, 0.25))


# ===== Input


def parameters(net):
    """One stream cut into tensors; norm weights are around 1."""
    wanted = shapes(net)
    flat = streams.uniform("train/parameters", (sum(math.prod(s) for s in wanted.values()),), 0.4)
    made, at = {}, 0
    for name, shape in wanted.items():
        part = flat[at : at + math.prod(shape)].reshape(shape)
        at += math.prod(shape)
        if "ln_" in name and name.endswith("weight"):
            part = part + np.float32(1)
        made[name] = torch.from_numpy(part.astype(np.float64)).requires_grad_()
    return made


def tokens_of(stream, length, net):
    numbers = streams.integers(stream, BATCH * length) % net.vocabulary
    return torch.from_numpy(numbers.astype(np.int64)).reshape(BATCH, length)


def targets_of(count, net):
    targets = (streams.integers("train/targets", count) % net.vocabulary).astype(np.int64)
    targets[streams.integers("train/ignored", count) % 4 == 0] = -100
    return torch.from_numpy(targets)


def hidden(layer, length):
    """A boolean mask of no pattern that leaves every place itself."""
    seen = streams.integers(f"train/hidden-{layer}", length * length) % 2 == 0
    return torch.from_numpy(seen.reshape(length, length)) | torch.eye(length, dtype=torch.bool)


def visible(mask, layer, length):
    i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
    if mask == "causal":
        seen = j <= i
    elif mask == "window":
        seen = (j >= i - 2) & (j <= i + 1)
    elif mask == "windows":
        blocks = torch.tensor(WINDOWS[layer])
        seen = blocks[:, None] == blocks[None, :]
    elif mask == "hidden":
        seen = hidden(layer, length)
    elif mask == "padded":
        return (j < torch.tensor(LENGTHS)[:, None, None]).expand(BATCH, length, length)[:, None]
    else:
        seen = torch.ones(length, length, dtype=torch.bool)
    return seen.expand(BATCH, 1, length, length)


def batch_of(net, mask):
    length = LENGTH + net.class_token
    batch = Batch(visible=[visible(mask, n, length) for n in range(net.layers)], targets=targets_of(BATCH if net.patch else BATCH * LENGTH, net))
    if net.patch:
        batch.patches = torch.from_numpy(streams.uniform("train/patches", (BATCH, LENGTH, net.patch), 1.0).astype(np.float64))
    else:
        batch.tokens = tokens_of("train/tokens", LENGTH, net)
    if net.encoder_layers:
        batch.source = tokens_of("train/source", SOURCE, net)
        batch.source_visible = (torch.arange(SOURCE) < torch.tensor(SOURCE_LENGTHS)[:, None])[:, None, None, :]
    return batch


# ===== Losses


def wanted_weights(index, cross):
    """Rows of probabilities over the keys in sight, f32; some rows ask for nothing."""
    keys = SOURCE if cross else LENGTH
    numbers = (streams.integers(f"train/supervision-{index}", BATCH * LENGTH * keys) % 4).reshape(BATCH, LENGTH, keys)
    if cross:
        numbers[np.arange(SOURCE) >= np.array(SOURCE_LENGTHS)[:, None, None].repeat(LENGTH, 1)] = 0
    else:
        numbers[:, np.triu(np.ones((LENGTH, LENGTH), bool), 1)] = 0
    numbers[:, ::3] = 0
    sums = numbers.sum(-1, keepdims=True)
    rows = numbers.astype(np.float32) / np.maximum(sums, 1).astype(np.float32)
    return torch.from_numpy(rows.astype(np.float64))


def divergence(maps):
    total = torch.zeros((), dtype=torch.float64)
    for index, (layer, head, cross, weight) in enumerate(SUPERVISION):
        wanted = wanted_weights(index, cross)
        asked = wanted > 0
        total = total + weight * F.kl_div(maps[layer, cross][:, head][asked], wanted[asked], reduction="sum")
    return total


def cross_entropy(logits, batch):
    return F.cross_entropy(logits.flatten(0, -2), batch.targets, ignore_index=-100)


def losses_of(p, name, net, batch):
    """The mean cross-entropy, what supervision adds to the sum, and what is minimised."""
    logits, maps = output(p, net, batch)
    loss = cross_entropy(logits, batch)
    asked = divergence(maps) if name.startswith("supervised") else torch.zeros((), dtype=torch.float64)
    return loss, asked, loss + asked / (batch.targets >= 0).sum()


def gradient_of(p, loss):
    return torch.cat([x.flatten() for x in torch.autograd.grad(loss, p.values())])


def check_with_modules(p, net, batch):
    ours, theirs = (cross_entropy(logits, batch) for logits in (output(p, net, batch)[0], module_output(p, net, batch)))
    assert abs(ours - theirs) < 1e-12, (ours, theirs)
    difference = gradient_of(p, ours) - gradient_of(p, theirs)
    assert difference.abs().max() < 1e-12, difference.abs().max()


# ===== Optimisers


def optimiser(p, name):
    """Weight decay for matrices only; linear warm-up, then a cosine."""
    matrices = [x for x in p.values() if x.dim() > 1]
    vectors = [x for x in p.values() if x.dim() == 1]
    groups = [dict(params=matrices), dict(params=vectors, weight_decay=0.0)]
    if name == "adamw":
        descent, scale = torch.optim.AdamW(groups, lr=PEAK, **ADAMW), 1
    else:
        descent, scale = torch.optim.SGD(groups, lr=10 * PEAK, weight_decay=ADAMW["weight_decay"]), 10
    warm_up = torch.optim.lr_scheduler.LinearLR(descent, start_factor=1 / WARM_UP, total_iters=WARM_UP - 1)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(descent, T_max=STEPS - WARM_UP, eta_min=scale * FLOOR)
    return descent, torch.optim.lr_scheduler.SequentialLR(descent, [warm_up, cosine], milestones=[WARM_UP])


def flat(tensors):
    return torch.cat([x.detach().flatten() for x in tensors])


def record_steps(stored):
    """AdamW alone: its gradients are streams, every other one long enough to be clipped."""
    p = parameters(DECODER)
    adamw, schedule = optimiser(p, "adamw")
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


# ===== Networks


def record_gradient(stored, name, net, mask):
    p, batch = parameters(net), batch_of(net, mask)
    loss, _, minimised = losses_of(p, name, net, batch)
    if net.kv_heads == net.heads:
        check_with_modules(p, net, batch)
    stored[f"{name}/loss"] = loss.detach().reshape(1)
    stored[f"{name}/gradient"] = gradient_of(p, minimised)


def learn(name, net, mask, descent):
    """The losses before each of STEPS steps on one batch, and the parameters at the end."""
    p, batch = parameters(net), batch_of(net, mask)
    descent, schedule = optimiser(p, descent)
    losses, asked = [], []
    for _ in range(STEPS):
        descent.zero_grad()
        loss, supervision, minimised = losses_of(p, name, net, batch)
        minimised.backward()
        losses.append(loss.item())
        asked.append(supervision.item())
        torch.nn.utils.clip_grad_norm_(p.values(), CLIP)
        descent.step()
        schedule.step()
    return torch.tensor(losses), torch.tensor(asked), flat(p.values())


def record_networks(stored):
    for name, (net, mask, descent) in RUNS.items():
        record_gradient(stored, name, net, mask)
        stored[f"{name}/losses"], asked, at_end = learn(name, net, mask, descent)
        if asked.any():
            stored[f"{name}/supervision"] = asked
        if descent == "sgd":
            stored[f"{name}/parameters"] = at_end


def main():
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    stored = {}
    for name, (net, mask) in DECODERS.items():
        record_gradient(stored, name, net, mask)
    record_steps(stored)
    stored["curve/losses"], _, _ = learn("causal", *DECODERS["causal"], "adamw")
    record_networks(stored)
    tensors = {name: np.ascontiguousarray(x.detach().numpy().astype(np.float32)) for name, x in stored.items()}
    path = FOLDER / "values.safetensors"
    save_file(tensors, path, metadata={"recorded with": f"PyTorch {torch.__version__}"})
    path.chmod(0o644)
    print(f"{len(tensors)} tensors, {path.stat().st_size} bytes")
    for name in ("curve", *RUNS):
        print(f"{name}: loss {tensors[f'{name}/losses'][0]:.4f} to {tensors[f'{name}/losses'][-1]:.4f}")


if __name__ == "__main__":
    main()
