#!/usr/bin/env python3
"""Records gradients of torch.nn.MultiheadAttention by autograd, as attention/gradients.safetensors.

    venv/bin/python tests/golden/record_module.py      (venv: see record.py)

Of the small ones among the cases of record.py, in float64: the gradient of Σ output · CASE/cotangent by inputs and parameters.
README.md says which follow each other. Cases with rows that see no key are left out: PyTorch's gradient of those is NaN.
"""

import numpy as np
import torch
from safetensors.numpy import save_file

from cases import all_cases
from record import FOLDER, as_type, multihead_of, stream


def is_recorded(kind, s):
    """What is out of the ordinary up to a width of 24, the rest up to 12."""
    if kind != "multihead" or s["masked"] != "none" or s["unbatched"]:
        return False
    special = s["bias_kv"] or s["zero_attn"] or s["key_dim"] != s["embed_dim"] or s["value_dim"] != s["embed_dim"]
    return s["embed_dim"] <= (24 if special else 12)


def gradient_of(case, s):
    module, inputs, masks, _ = multihead_of(case, s)
    module.to(torch.float64).train()  # dropout is 0
    inputs = {name: x.requires_grad_() for name, x in as_type(inputs, torch.float64).items()}
    if s["self"]:
        inputs |= dict(key=inputs["query"], value=inputs["query"])
    output, _ = module(**inputs, **as_type(masks, torch.float64))
    loss = (output * stream(f"{case}/cotangent", output.shape, 1.0).double()).sum()
    wanted = [inputs["query"]] if s["self"] else [inputs["query"], inputs["key"], inputs["value"]]
    wanted += [parameter for _, parameter in sorted(module.named_parameters())]
    gradient = torch.cat([x.flatten() for x in torch.autograd.grad(loss, wanted)])
    assert gradient.isfinite().all()
    return gradient


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    gradients = {case: gradient_of(case, s) for case, kind, s in all_cases() if is_recorded(kind, s)}
    tensors = {f"{case}/gradient": x.numpy().astype(np.float32) for case, x in gradients.items()}
    path = FOLDER / "gradients.safetensors"
    save_file(tensors, path, metadata={"recorded with": f"PyTorch {torch.__version__}"})
    path.chmod(0o644)
    print(f"{len(tensors)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
