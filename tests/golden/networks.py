"""The networks of multihead_train.h in PyTorch: decoders, encoder-decoders and classifiers of patches.

Tensors have the names, order and [in, out] layout of c/src/train/model_parameters.h. `module_output` runs the same parameters
through torch.nn.TransformerEncoderLayer and TransformerDecoderLayer, which know neither grouped keys nor [in, out].
"""

import dataclasses
import math

import torch
import torch.nn.functional as F

ACTIVATIONS = {
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "relu": F.relu,
}


@dataclasses.dataclass(frozen=True)
class Network:
    width: int
    heads: int
    kv_heads: int
    hidden: int
    layers: int
    vocabulary: int
    positions: int
    activation: str = "gelu"
    norm: str = "pre"
    sinusoidal: bool = False
    encoder_layers: int = 0  # above 0: an encoder-decoder
    patch: int = 0  # above 0: a classifier of patches of so many numbers
    class_token: bool = False


@dataclasses.dataclass
class Batch:
    """`visible`: for each layer which key a query sees, [batch or 1, 1, queries, keys]."""

    visible: list
    targets: torch.Tensor
    tokens: torch.Tensor = None
    patches: torch.Tensor = None
    source: torch.Tensor = None
    source_visible: torch.Tensor = None


def shapes(net):
    e, keys = net.width, net.kv_heads * (net.width // net.heads)
    linear = lambda name, rows, columns: {f"{name}.weight": (rows, columns), f"{name}.bias": (columns,)}
    norm = lambda name: {f"{name}.weight": (e,), f"{name}.bias": (e,)}
    layer = norm("ln_1") | linear("attn.c_attn", e, e + 2 * keys) | linear("attn.c_proj", e, e)
    layer |= norm("ln_2") | linear("mlp.c_fc", e, net.hidden) | linear("mlp.c_proj", net.hidden, e)
    cross = norm("ln_cross_attn") | linear("crossattention.q_attn", e, e)
    cross |= linear("crossattention.c_attn", e, 2 * keys) | linear("crossattention.c_proj", e, e)

    def stack(prefix, layers, layer):
        tensors = {f"{prefix}h.{n}.{name}": shape for n in range(layers) for name, shape in layer.items()}
        return tensors | (norm(prefix + "ln_f") if net.norm == "pre" and layers else {})

    tensors = linear("patch", net.patch, e) if net.patch else {"wte.weight": (net.vocabulary, e)}
    if net.class_token:
        tensors["class_token"] = (e,)
    if not net.sinusoidal:
        tensors["wpe.weight"] = (net.positions, e)
    tensors |= stack("encoder.", net.encoder_layers, layer)
    tensors |= stack("", net.layers, layer | cross if net.encoder_layers else layer)
    return tensors | (linear("head", e, net.vocabulary) if net.patch else {})


def linear(p, name, x):
    return x @ p[name + ".weight"] + p[name + ".bias"]


def normed(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[name + ".weight"], p[name + ".bias"], 1e-5)


# ===== Embeddings and head


def sinusoids(length, width):
    angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :width]


def positioned(p, net, x):
    if net.sinusoidal:
        return x * math.sqrt(net.width) + sinusoids(x.shape[1], net.width)
    return x + p["wpe.weight"][: x.shape[1]]


def embedded(p, net, tokens, patches):
    if not net.patch:
        return positioned(p, net, p["wte.weight"][tokens])
    x = linear(p, "patch", patches)
    if net.class_token:
        x = torch.cat((p["class_token"].expand(len(x), 1, -1), x), dim=1)
    return positioned(p, net, x)


def logits(p, net, x):
    if not net.patch:
        return x @ p["wte.weight"].T
    return linear(p, "head", x[:, 0] if net.class_token else x.mean(dim=1))


# ===== Blocks


def log_weights(q, k, visible):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.masked_fill(~visible, -math.inf).log_softmax(-1)


def attend(p, net, name, qkv, visible):
    """The output [batch, queries, width], and the logarithms of the weights [batch, heads, queries, keys]."""
    q, k, v = (x.unflatten(-1, (-1, net.width // net.heads)).transpose(1, 2) for x in qkv)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, enable_gqa=True)
    return linear(p, name + ".c_proj", out.transpose(1, 2).flatten(2)), log_weights(q, k, visible)


def self_attention(p, net, h, x, visible):
    keys = net.kv_heads * (net.width // net.heads)
    return attend(p, net, h + "attn", linear(p, h + "attn.c_attn", x).split((net.width, keys, keys), dim=-1), visible)


def cross_attention(p, net, h, x, memory, visible):
    k, v = linear(p, h + "crossattention.c_attn", memory).chunk(2, dim=-1)
    return attend(p, net, h + "crossattention", (linear(p, h + "crossattention.q_attn", x), k, v), visible)


def feed_forward(p, net, h, x):
    return linear(p, h + "mlp.c_proj", ACTIVATIONS[net.activation](linear(p, h + "mlp.c_fc", x)))


def stack(p, net, prefix, layers, x, visible, memory=None, memory_visible=None):
    """The output, and by (layer, cross) the logarithms of the attention weights."""
    maps = {}

    def branch(x, norm, inside):
        return x + inside(normed(p, norm, x)) if net.norm == "pre" else normed(p, norm, x + inside(x))

    def kept(key, output_and_map):
        maps[key] = output_and_map[1]
        return output_and_map[0]

    for n in range(layers):
        h = f"{prefix}h.{n}."
        x = branch(x, h + "ln_1", lambda x: kept((n, False), self_attention(p, net, h, x, visible[n])))
        if memory is not None:
            inside = lambda x: kept((n, True), cross_attention(p, net, h, x, memory, memory_visible))
            x = branch(x, h + "ln_cross_attn", inside)
        x = branch(x, h + "ln_2", lambda x: feed_forward(p, net, h, x))
    return (normed(p, prefix + "ln_f", x) if net.norm == "pre" else x), maps


def output(p, net, batch):
    """Logits of all places, and the logarithms of the main stack's weights by (layer, cross)."""
    memory = None
    if net.encoder_layers:
        source = embedded(p, net, batch.source, None)
        memory, _ = stack(p, net, "encoder.", net.encoder_layers, source, [batch.source_visible] * net.encoder_layers)
    x = embedded(p, net, batch.tokens, batch.patches)
    x, maps = stack(p, net, "", net.layers, x, batch.visible, memory, batch.source_visible)
    return logits(p, net, x), maps


# ===== The same by PyTorch's modules


def module_parameters(p, h, cross):
    """A layer's tensors under the names, and in the layout, of torch.nn.TransformerEncoderLayer or …DecoderLayer."""
    names = {"linear1": "mlp.c_fc", "linear2": "mlp.c_proj", "self_attn.out_proj": "attn.c_proj", "norm1": "ln_1"}
    names |= {"norm2": "ln_cross_attn", "norm3": "ln_2", "multihead_attn.out_proj": "crossattention.c_proj"} if cross else {"norm2": "ln_2"}
    turned = lambda name: p[h + name].T if p[h + name].dim() == 2 else p[h + name]
    out = {f"{theirs}.{kind}": turned(f"{ours}.{kind}") for theirs, ours in names.items() for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        out[f"self_attn.in_proj_{kind}"] = turned(f"attn.c_attn.{kind}")
        if cross:
            parts = (turned(f"crossattention.{part}.{kind}") for part in ("q_attn", "c_attn"))
            out[f"multihead_attn.in_proj_{kind}"] = torch.cat(tuple(parts))
    return out


def module_stack(p, net, prefix, layers, x, visible, memory=None, memory_visible=None):
    kind = torch.nn.TransformerEncoderLayer if memory is None else torch.nn.TransformerDecoderLayer
    layer = kind(
        net.width, net.heads, net.hidden, 0.0, ACTIVATIONS[net.activation], batch_first=True, norm_first=net.norm == "pre", dtype=torch.float64
    )
    each_head = lambda visible, queries: (~visible).expand(len(x), net.heads, queries, -1).flatten(0, 1)
    for n in range(layers):
        parameters = module_parameters(p, f"{prefix}h.{n}.", memory is not None)
        if memory is None:
            masks = dict(src_mask=each_head(visible[n], x.shape[1]))
            x = torch.func.functional_call(layer, parameters, (x,), masks)
        else:
            masks = dict(tgt_mask=each_head(visible[n], x.shape[1]), memory_mask=each_head(memory_visible, x.shape[1]))
            x = torch.func.functional_call(layer, parameters, (x, memory), masks)
    return normed(p, prefix + "ln_f", x) if net.norm == "pre" else x


def module_output(p, net, batch):
    """Logits as `output`; only where each head has its own keys."""
    memory = None
    if net.encoder_layers:
        source = embedded(p, net, batch.source, None)
        memory = module_stack(p, net, "encoder.", net.encoder_layers, source, [batch.source_visible] * net.encoder_layers)
    x = embedded(p, net, batch.tokens, batch.patches)
    return logits(p, net, module_stack(p, net, "", net.layers, x, batch.visible, memory, batch.source_visible))
