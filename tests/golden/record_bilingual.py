#!/usr/bin/env python3
"""Records the default model as Hugging Face's GPT-2 runs it, in bilingual/.

    venv/bin/python tests/golden/record_bilingual.py      (venv: see record.py)

bilingual/model.safetensors are its F32 weights, config.json and tokenizer those of web/models/bilingual. Computed in
float64, for each text of TEXTS under the three masks that the model was trained with.
"""

import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

FOLDER = pathlib.Path(__file__).parent / "bilingual"
MODEL = pathlib.Path(__file__).parents[2] / "web/models/bilingual"
TEXTS = [
    "The cat didn't cross the street because it was too tired.",
    "The apple is on the table, the banana is on the chair. The apple is on the",
    "苹果在桌子上，香蕉在椅子上，橘子在沙发上。苹果在",
    "小明喜欢打球，他放学后去了",
    "今天天气真好，我们去公园吧。",
    "Tom gave the book to Mary. Now Mary has the",
    "I am a student. 我是学生。",
    "Hi",
]
WINDOW = 8


def load():
    config = transformers.GPT2Config.from_pretrained(MODEL, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager")
    model = transformers.GPT2LMHeadModel(config).eval()
    missing, unexpected = model.transformer.load_state_dict(load_file(FOLDER / "model.safetensors"), strict=False)
    assert not missing and not unexpected, (missing, unexpected)
    model.tie_weights()
    return model


def masks(length):
    """What is added to the scores, by mask."""
    distance = torch.arange(length)[:, None] - torch.arange(length)
    visible = {
        "causal": distance >= 0,
        "bidirectional": distance == distance,
        "window": distance.abs() <= WINDOW,
    }
    return {name: torch.where(sees, 0.0, -torch.inf) for name, sees in visible.items()}


@torch.no_grad()
def run(model, ids, mask):
    out = model(ids[None], attention_mask=mask[None, None].double(), output_attentions=True, output_hidden_states=True)
    return {
        "attention": torch.cat(out.attentions),  # [L, H, T, T]
        "hidden": torch.cat(out.hidden_states),  # [L + 1, T, E]; the last is after ln_f
        "logits_last": out.logits[0, -1],  # [V]
    }


def main():
    torch.use_deterministic_algorithms(True)
    model, tokenizer = load().double(), Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    index = []
    versions = f"transformers {transformers.__version__}, PyTorch {torch.__version__}"
    for n, text in enumerate(TEXTS):
        encoded = tokenizer.encode(text)
        index.append({"n": n, "text": text, "tokens": encoded.tokens, "ids": encoded.ids})
        ids = torch.tensor(encoded.ids)
        for name, mask in masks(len(ids)).items():
            kept = {tensor: values.float().contiguous() for tensor, values in run(model, ids, mask).items()}
            path = FOLDER / "reference" / f"{n}-{name}.safetensors"
            save_file({**kept, "input_ids": ids.to(torch.int32)}, path, metadata={"recorded with": versions})
            path.chmod(0o644)
    (FOLDER / "reference" / "index.json").write_text(json.dumps(index, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
