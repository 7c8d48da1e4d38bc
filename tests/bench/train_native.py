"""Tokens per second of the native trainer against PyTorch on the CPU, on the same network, batch, masks and number of
threads, interleaved in one run:

    ./build.sh native
    python tests/bench/train_native.py [--rounds 5] [--steps 6] [--threads 1]

Needs PyTorch and NumPy, see tests/golden/requirements.txt. A step is that of training/bilingual/texts.txt: six passes
of 8 sequences of 64 tokens, AdamW with a clipped gradient. PyTorch, too, computes logits only where there is a target.
Prints a line for each round, then medians and the ratio.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy
import torch
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "training/bilingual/texts.txt"
LENGTH = 64


def read_settings():
    lines = [line.split("#")[0].split() for line in SETTINGS.read_text().splitlines()]
    values = {words[0]: words[1:] for words in lines if words}
    return {name: float(words[0]) if name != "shards" else words for name, words in values.items()}


class Block(torch.nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.inner, self.outer = torch.nn.Linear(width, inner), torch.nn.Linear(inner, width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(heads.transpose(1, 2).reshape(batch, length, width))
        return x + self.outer(functional.gelu(self.inner(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, settings):
        super().__init__()
        width, vocabulary = int(settings["embed_dim"]), int(settings["vocabulary"])
        self.tokens, self.places = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(LENGTH, width)
        block = lambda: Block(width, int(settings["heads"]), int(settings["ffn_dim"]))
        self.blocks = torch.nn.ModuleList(block() for _ in range(int(settings["layers"])))
        self.norm = torch.nn.LayerNorm(width)
        for table in (self.tokens, self.places):
            torch.nn.init.normal_(table.weight, std=0.02)

    def loss(self, tokens, targets, mask):
        x = self.tokens(tokens) + self.places.weight
        for block in self.blocks:
            x = block(x, mask)
        counted = targets >= 0
        logits = functional.linear(self.norm(x[counted]), self.tokens.weight)
        return functional.cross_entropy(logits, targets[counted])


def parts_of(settings, ids):
    """(tokens, targets, mask) of each pass of a step; mask True where a key is seen."""
    place = torch.arange(LENGTH)
    near = (place[:, None] - place[None, :]).abs() <= int(settings["window"])
    masks = {"causal": place[:, None] >= place[None, :], "bidirectional": None, "window": near}
    for task in settings["shards"]:
        tokens, targets = ids.clone(), torch.full_like(ids, -1)
        if task == "causal":
            targets[:, :-1] = ids[:, 1:]
        else:
            hidden = torch.rand(ids.shape) < settings["mask_share"]
            targets[hidden] = ids[hidden]
            tokens[hidden] = int(settings["mask_token"])
        yield tokens, targets, masks[task]


def torch_rate(model, optimiser, settings, ids, steps):
    batch = int(settings["shard_tokens"]) // LENGTH
    begin = time.perf_counter()
    for _ in range(steps):
        optimiser.zero_grad(set_to_none=True)
        for tokens, targets, mask in parts_of(settings, ids[:batch]):
            (model.loss(tokens, targets, mask) / len(settings["shards"])).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
        optimiser.step()
    return steps * batch * LENGTH * len(settings["shards"]) / (time.perf_counter() - begin)


def native_rate(folder, steps, threads):
    """The rate that the trainer itself reports for the later half of the steps: the first ones touch new memory."""
    text = SETTINGS.read_text()
    for name, value in (("steps", 2 * steps), ("warm_up", 1), ("report_every", steps), ("save_every", 10**6)):
        text = re.sub(rf"(?m)^{name} .*$", f"{name} {value}", text)
    (folder / "settings.txt").write_text(text)
    (folder / "checkpoint").unlink(missing_ok=True)
    command = [ROOT / "build/native/train", folder / "settings.txt", folder / "bench.tokens", folder]
    output = subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, text=True).stdout
    return float(re.findall(r"(\d+) tokens/s", output)[-1])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--steps", type=int, default=6)
    arguments.add_argument("--threads", type=int, default=1)
    options = arguments.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    settings = read_settings()
    ids = torch.randint(int(settings["first_word"]), int(settings["vocabulary"]), (256, LENGTH))
    model = Model(settings)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=settings["weight_decay"], fused=True)
    torch_rate(model, optimiser, settings, ids, 2)
    rates = {"native": [], "torch": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = numpy.concatenate([numpy.full((256, 1), LENGTH), ids.numpy()], axis=1)
        rows.astype("<u2").tofile(folder / "bench.tokens")
        for round_number in range(options.rounds):
            rates["native"].append(native_rate(folder, options.steps, options.threads))
            rates["torch"].append(torch_rate(model, optimiser, settings, ids, options.steps))
            print(f"round {round_number + 1}: native {rates['native'][-1]:.0f}, torch {rates['torch'][-1]:.0f} tokens/s", flush=True)
    native, other = statistics.median(rates["native"]), statistics.median(rates["torch"])
    ratios = [a / b for a, b in zip(rates["native"], rates["torch"])]
    print(f"torch {torch.__version__}, {options.threads} threads, medians of {options.rounds}: native {native:.0f}, torch {other:.0f} tokens/s")
    print(f"ratio of a round, median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
