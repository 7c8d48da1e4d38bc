#!/usr/bin/env python3
"""Records a tiny random GPT-2 as Hugging Face's own code saves and runs it, in gpt2/.

    venv/bin/python tests/golden/record_gpt2.py      (venv: see record.py)

model*.safetensors are written by `save_pretrained`, in three dtypes. reference.safetensors holds, for each run
ACTIVATION-DTYPE-LENGTH, what the model gives in float64 for the weights as they were rounded to that dtype.
"""

import pathlib

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

import record
import streams

FOLDER = pathlib.Path(__file__).parent / "gpt2"
SIZES = dict(n_layer=2, n_head=4, n_embd=32, n_positions=32, vocab_size=101, bos_token_id=0, eos_token_id=0)
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
LENGTHS = (1, 7, 32)
# Every dtype under one activation, the other activation in one dtype.
RUNS = [("gelu_new", "f32"), ("gelu_new", "f16"), ("gelu_new", "bf16"), ("gelu", "f32")]


def make(activation):
    config = transformers.GPT2Config(
        **SIZES, activation_function=activation, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager"
    )
    return transformers.GPT2LMHeadModel(config).eval()


@torch.no_grad()
def fill(model):
    """As record.py fills PyTorch's modules: ln_ weights near 1, biases, and weights that keep the variance."""
    for name, parameter in model.named_parameters():
        if ".ln_" in name and name.endswith("weight"):
            parameter.copy_(1 + record.stream(f"gpt2/{name}", parameter.shape, 0.5))
        elif name.endswith("bias"):
            parameter.copy_(record.stream(f"gpt2/{name}", parameter.shape, 0.5))
        elif ".wte." in name or ".wpe." in name:
            parameter.copy_(record.stream(f"gpt2/{name}", parameter.shape, 1.0))
        else:  # Conv1D: [in, out]
            amplitude = record.weight_amplitude(parameter.shape[0], 1.25)
            parameter.copy_(record.stream(f"gpt2/{name}", parameter.shape, amplitude))


def file_name(dtype):
    return "model.safetensors" if dtype == "f32" else f"model-{dtype}.safetensors"


def save(model, dtype):
    folder = FOLDER / dtype
    model.to(DTYPES[dtype]).save_pretrained(folder)
    (folder / "model.safetensors").rename(FOLDER / file_name(dtype))
    if dtype == "f32":
        (folder / "config.json").rename(FOLDER / "config.json")
    for rest in folder.iterdir():
        rest.unlink()
    folder.rmdir()


@torch.no_grad()
def run(model, length):
    tokens = torch.from_numpy((streams.integers(f"gpt2/tokens-{length}", length) % SIZES["vocab_size"]).astype(np.int64))
    out = model(tokens[None], output_attentions=True, output_hidden_states=True)
    return {
        "tokens": tokens.to(torch.int32),
        "attention": torch.cat(out.attentions),  # [L, H, T, T]
        "hidden": torch.cat(out.hidden_states),  # [L + 1, T, E]; the last is after ln_f
        "logits": out.logits[0],  # [T, V]
    }


def main():
    torch.use_deterministic_algorithms(True)
    FOLDER.mkdir(exist_ok=True)
    agreement, tensors = record.Agreement(), {}
    for activation, dtype in RUNS:
        model = make(activation)
        fill(model)
        model.to(DTYPES[dtype])  # rounds the weights
        if activation == "gelu_new":
            save(model, dtype)
        for length in LENGTHS:
            plain = run(model.double(), length)
            for name, tensor in run(model.float(), length).items():
                agreement.note(name, plain[name].double(), tensor)
            for name, tensor in plain.items():
                kept = tensor if name == "tokens" else tensor.float()
                tensors[f"{activation}-{dtype}-{length}/{name}"] = np.ascontiguousarray(kept.numpy())
    versions = f"transformers {transformers.__version__}, PyTorch {torch.__version__}"
    save_file(tensors, FOLDER / "reference.safetensors", metadata={"recorded with": versions})
    for path in FOLDER.iterdir():
        path.chmod(0o644)
    for what, difference in agreement.worst.items():
        print(f"{what}: float32 against float64 at most {difference:.2e}")


if __name__ == "__main__":
    main()
