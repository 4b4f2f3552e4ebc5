#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data/weights/*.safetensors: parameters with the names, shapes and dtypes of other frameworks, inputs, and the output.

    /usr/bin/python3 make_weights.py             make all files (Debian: python3-torch, python3-numpy)

The files are committed. Those of PyTorch are the state_dict of a real module, and the output is the module's result in float64. For
the other frameworks names and shapes are the framework's, and the output is computed with PyTorch or NumPy as the framework uses its
parameters: linear modules as torch.nn.functional.linear, Keras' kernels by its own einsum equations. The calculation of float32_error.py, with
the parameters in heed's form, must agree; it computes the bound for a float32 engine.

Beside the parameters a file has queries, keys and values where they differ, valid_lens if keys are padded, output, bound and deviation.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

import golden_file
from float32_error import additive_scores, attend, dot_scores, exact, merge_heads, project, repeat_heads, result_tensors, split_heads
from golden_file import narrow, wide

BATCH, QUERIES, KEYS = 2, 3, 5


@dataclass
class Case:
    """The options that heed needs; weights_test.cc repeats them."""

    name: str
    description: str
    E: int = 12
    H: int = 3
    kv_heads: int = 0
    head_size: int = 0
    value_head_size: int = 0
    output_size: int = 0
    kdim: int = 0
    vdim: int = 0
    biases: str = ""
    scale: float = 0
    causal: bool = False
    key_lens: list = None
    dtype: str = "f32"
    prefix: str = ""
    self_attention: bool = False
    # The additive layer, with this number of hidden units.
    num_hiddens: int = 0
    # The framework's name for each of heed's parameters, if it has one linear module for each.
    modules: dict = field(default_factory=dict)
    # The names of further tensors in the file, with their dims.
    others: dict = field(default_factory=dict)

    def __post_init__(self):
        self.kv_heads = self.kv_heads or self.H
        self.head_size = self.head_size or self.E // self.H
        self.value_head_size = self.value_head_size or self.head_size
        self.output_size = self.output_size or self.E
        self.kdim = self.kdim or self.E
        self.vdim = self.vdim or self.E
        self.scale = self.scale or self.head_size**-0.5


def stored(values, dtype):
    values = values.detach().to(torch.float64).numpy() if isinstance(values, torch.Tensor) else values
    return np.asarray(values, np.float64) if dtype == "f64" else narrow(values, dtype)


def as_torch(array):
    return torch.from_numpy(wide(array))


def make_inputs(case, random):
    inputs = {"queries": narrow(random.standard_normal((BATCH, QUERIES, case.E)), "f32")}
    if not case.self_attention:
        inputs["keys"] = narrow(random.standard_normal((BATCH, KEYS, case.kdim)), "f32")
        inputs["values"] = narrow(random.standard_normal((BATCH, KEYS, case.vdim)), "f32")
    if case.key_lens:
        inputs["valid_lens"] = np.asarray(case.key_lens, np.int32)
    return inputs


def three(inputs):
    queries = wide(inputs["queries"])
    return queries, wide(inputs.get("keys", inputs["queries"])), wide(inputs.get("values", inputs["queries"]))


def softmax_attention(case, q, k, v):
    """Attention of torch tensors (B,Q,H,D), (B,K,kv_heads,D), (B,K,kv_heads,Dv); the result is (B,Q,H*Dv)."""
    k, v = (x.repeat_interleave(case.H // case.kv_heads, dim=2) for x in (k, v))
    scores = case.scale * q.transpose(1, 2) @ k.permute(0, 2, 3, 1)
    if case.causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return (scores.softmax(dim=-1) @ v.transpose(1, 2)).transpose(1, 2).flatten(2)


def draw(case, random, rows, columns):
    return random.uniform(-1, 1, (rows, columns)) * np.sqrt(6.0 / (rows + columns))


# ---- One function for each framework: the parameters in the file, the output, and the parameters in heed's form


def pytorch(case, random, inputs):
    """torch.nn.MultiheadAttention alone, or in the second layer of a TransformerEncoder."""
    torch.manual_seed(random.randint(1 << 30))
    if case.prefix:
        layer = torch.nn.TransformerEncoderLayer(case.E, case.H, dim_feedforward=4, dropout=0, batch_first=True)
        model = torch.nn.ModuleDict({"embedding": torch.nn.Embedding(5, case.E), "encoder": torch.nn.TransformerEncoder(layer, 2)})
        attention = model["encoder"].layers[1].self_attn
    else:
        model = attention = torch.nn.MultiheadAttention(
            case.E, case.H, bias=bool(case.biases), kdim=case.kdim, vdim=case.vdim, batch_first=True)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # By default biases are 0, and all layers of an encoder are copies of one.
            parameter.copy_(torch.from_numpy(random.uniform(-1, 1, parameter.shape) / parameter.shape[-1] ** 0.5))
    file = {name: stored(tensor, case.dtype) for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        model.double().load_state_dict({name: as_torch(array) for name, array in file.items()})
    padding = torch.arange(KEYS) >= torch.tensor(case.key_lens)[:, None] if case.key_lens else None
    # In training mode it takes the documented path; in evaluation it may use a fused kernel.
    output, _ = attention(*(torch.from_numpy(x) for x in three(inputs)), key_padding_mask=padding, need_weights=True)

    of = {name: wide(file[case.prefix + "." * bool(case.prefix) + name]) for name in attention.state_dict()}
    apart = [of[f"{letter}_proj_weight"] for letter in "qkv"] if "q_proj_weight" in of else np.split(of["in_proj_weight"], 3)
    weight = dict(zip("qkv", apart), o=of["out_proj.weight"])
    bias = dict(zip("qkv", np.split(of["in_proj_bias"], 3)), o=of["out_proj.bias"]) if case.biases else {}
    return file, output.detach().numpy(), weight, bias


def linear_modules(case, random, inputs):
    """A linear module (out, in) for each projection, as in Hugging Face, DJL and d2l; the output may have none."""
    H, kv, D, Dv = case.H, case.kv_heads, case.head_size, case.value_head_size
    sizes = {"q": (H * D, case.E), "k": (kv * D, case.kdim), "v": (kv * Dv, case.vdim), "o": (case.output_size, H * Dv)}
    sizes = {letter: sizes[letter] for letter in case.modules}
    file, weight, bias = {}, {}, {}
    separator = "_" if case.modules["q"][0].isdigit() else "."

    def add(prefix, keep):
        for letter, (rows, columns) in sizes.items():
            module = prefix + case.modules[letter] + separator
            file[module + "weight"] = stored(draw(case, random, rows, columns), case.dtype)
            if letter in case.biases:
                file[module + "bias"] = stored(random.uniform(-1, 1, rows), case.dtype)
            if keep:
                weight[letter] = wide(file[module + "weight"])
                if letter in case.biases:
                    bias[letter] = wide(file[module + "bias"])

    # First another layer of the model, with other numbers.
    if "1" in case.prefix:
        add(case.prefix.replace("1", "0") + separator, False)
    prefix = case.prefix + separator if case.prefix else ""
    add(prefix, True)

    def project(letter, x):
        module = prefix + case.modules[letter] + separator
        return torch.nn.functional.linear(
            x, as_torch(file[module + "weight"]), as_torch(file[module + "bias"]) if letter in case.biases else None)

    queries, keys, values = (torch.from_numpy(x) for x in three(inputs))
    heads = softmax_attention(
        case, project("q", queries).unflatten(-1, (H, D)), project("k", keys).unflatten(-1, (kv, D)),
        project("v", values).unflatten(-1, (kv, Dv)))
    return file, (project("o", heads) if "o" in sizes else heads).numpy(), weight, bias


def additive(case, random, inputs):
    """d2l-java's AdditiveAttention: three linear modules without biases; values are not projected."""
    shapes = {"q": (case.num_hiddens, case.E), "k": (case.num_hiddens, case.kdim), "score": (1, case.num_hiddens)}
    names = {letter: f"{case.prefix}_{module}_weight" for letter, module in case.modules.items()}
    file = {name: stored(draw(case, random, *shapes[letter]), case.dtype) for letter, name in names.items()}
    queries, keys, values = (torch.from_numpy(x) for x in three(inputs))
    linear = lambda x, letter: torch.nn.functional.linear(x, as_torch(file[names[letter]]))
    hidden = torch.tanh(linear(queries, "q").unsqueeze(2) + linear(keys, "k").unsqueeze(1))
    scores = linear(hidden, "score").squeeze(-1)
    scores = scores.masked_fill(torch.arange(KEYS) >= torch.tensor(case.key_lens)[:, None, None], -torch.inf)
    return file, (scores.softmax(dim=-1) @ values).numpy(), {letter: wide(file[name]) for letter, name in names.items()}, {}


def packed_modules(case, random, inputs):
    """Queries, keys and values in one module: linear in timm, (in, out) in GPT-2."""
    packed, output, transposed = case.modules["qkv"], case.modules["o"], case.modules["transposed"]
    E, H, D = case.E, case.H, case.head_size
    shape = lambda rows, columns: draw(case, random, columns, rows) if transposed else draw(case, random, rows, columns)
    file = {
        f"{case.prefix}.{packed}.weight": stored(shape(3 * E, E), case.dtype),
        f"{case.prefix}.{packed}.bias": stored(random.uniform(-1, 1, 3 * E), case.dtype),
        f"{case.prefix}.{output}.weight": stored(shape(E, E), case.dtype),
        f"{case.prefix}.{output}.bias": stored(random.uniform(-1, 1, E), case.dtype),
    }
    in_weight, in_bias, out_weight, out_bias = (as_torch(array) for array in file.values())
    x = torch.from_numpy(wide(inputs["queries"]))
    if transposed:
        q, k, v = (x @ in_weight + in_bias).split(E, dim=2)
        heads = softmax_attention(case, *(y.unflatten(-1, (H, D)) for y in (q, k, v)))
        result = heads @ out_weight + out_bias
        in_weight, out_weight = in_weight.T, out_weight.T
    else:
        qkv = torch.nn.functional.linear(x, in_weight, in_bias).reshape(BATCH, QUERIES, 3, H, D)
        heads = softmax_attention(case, *qkv.unbind(2))
        result = torch.nn.functional.linear(heads, out_weight, out_bias)
    weight = dict(zip("qkv", np.split(in_weight.numpy(), 3)), o=out_weight.numpy())
    bias = dict(zip("qkv", np.split(in_bias.numpy(), 3)), o=out_bias.numpy())
    return file, result.numpy(), weight, bias


def keras(case, random, inputs):
    """keras.layers.MultiHeadAttention and GroupQueryAttention: kernels (in, heads, size), and (heads, size, out) for
    the output."""
    H, kv, D, Dv = case.H, case.kv_heads, case.head_size, case.value_head_size
    shapes = {"query": (case.E, H, D), "key": (case.kdim, kv, D), "value": (case.vdim, kv, Dv), "attention_output": (H, Dv, case.output_size)}
    separator, ending = case.modules["separator"], case.modules["ending"]
    file, kernel, bias = {}, {}, {}
    for name, shape in shapes.items():
        path = separator.join(filter(None, [case.prefix, name]))
        fan = shape[0] + shape[1] * shape[2]
        file[path + separator + "kernel" + ending] = stored(random.uniform(-1, 1, shape) * np.sqrt(6.0 / fan), case.dtype)
        kernel[name] = wide(file[path + separator + "kernel" + ending])
        bias[name] = np.zeros(shape[2:] if name == "attention_output" else shape[1:])
        if case.biases:
            file[path + separator + "bias" + ending] = stored(random.uniform(-1, 1, bias[name].shape), case.dtype)
            bias[name] = wide(file[path + separator + "bias" + ending])
    queries, keys, values = three(inputs)
    project = lambda x, name: np.einsum("abc,cde->abde", x, kernel[name]) + bias[name]
    q, k, v = project(queries, "query"), project(keys, "key"), project(values, "value")
    k, v = (np.repeat(x, H // kv, axis=2) for x in (k, v))
    scores = np.einsum("aecd,abcd->acbe", k, q * case.scale)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    heads = np.einsum("acbe,aecd->abcd", weights, v)
    result = np.einsum("abcd,cde->abe", heads, kernel["attention_output"]) + bias["attention_output"]

    letters = {"query": "q", "key": "k", "value": "v"}
    heed_weight = {letter: np.stack([kernel[name][:, h, d] for h in range(shapes[name][1]) for d in range(shapes[name][2])])
                   for name, letter in letters.items()}
    heed_weight["o"] = np.concatenate([kernel["attention_output"][h] for h in range(H)]).T
    heed_bias = {letter: bias[name].ravel() for name, letter in dict(letters, attention_output="o").items()}
    return file, result, heed_weight, heed_bias


def cases():
    named = lambda *names: dict(zip("qkvo", names))
    apart = named("q_proj", "k_proj", "v_proj", "out_proj")
    llama = named("q_proj", "k_proj", "v_proj", "o_proj")
    yield pytorch, Case("pytorch", "nn.MultiheadAttention by itself", biases="qkvo", key_lens=[5, 2])
    yield pytorch, Case("pytorch_no_bias", "nn.MultiheadAttention(bias=False)")
    yield pytorch, Case("pytorch_kdim_vdim", "nn.MultiheadAttention(kdim=10, vdim=7): three weights, one bias", kdim=10, vdim=7, biases="qkvo")
    yield pytorch, Case("pytorch_kdim_no_bias", "nn.MultiheadAttention(kdim=10, bias=False)", kdim=10)
    yield pytorch, Case("pytorch_f16", "nn.MultiheadAttention stored as F16", biases="qkvo", dtype="f16")
    yield pytorch, Case("pytorch_bf16", "nn.MultiheadAttention stored as BF16", biases="qkvo", dtype="bf16")
    yield pytorch, Case("pytorch_f64", "nn.MultiheadAttention stored as F64", biases="qkvo", dtype="f64")
    yield pytorch, Case("pytorch_encoder", "a whole model with an nn.TransformerEncoder of two layers", biases="qkvo",
                        prefix="encoder.layers.1.self_attn", self_attention=True)
    yield linear_modules, Case("bert", "Hugging Face BERT", biases="qkvo", prefix="bert.encoder.layer.1.attention", self_attention=True,
                               modules=named("self.query", "self.key", "self.value", "output.dense"),
                               others={"bert.encoder.layer.1.attention.output.LayerNorm.weight": (12,)})
    yield linear_modules, Case("vit", "Hugging Face ViT", biases="qkvo", prefix="vit.encoder.layer.1.attention", self_attention=True,
                               modules=named("attention.query", "attention.key", "attention.value", "output.dense"))
    yield linear_modules, Case("albert", "Hugging Face ALBERT", biases="qkvo", self_attention=True,
                               modules=named("query", "key", "value", "dense"), others={"LayerNorm.bias": (12,)},
                               prefix="albert.encoder.albert_layer_groups.0.albert_layers.1.attention")
    yield linear_modules, Case("whisper", "Hugging Face Whisper: keys have no bias", biases="qvo", modules=apart,
                               prefix="model.decoder.layers.1.encoder_attn")
    yield linear_modules, Case("llama", "Hugging Face Llama without its rotary positions: grouped heads, no biases", H=6, kv_heads=2,
                               causal=True, dtype="bf16", modules=llama, prefix="model.layers.1.self_attn", self_attention=True)
    yield linear_modules, Case("qwen2", "Hugging Face Qwen2 without its rotary positions: the output has no bias", H=4, kv_heads=2,
                               head_size=5, biases="qkv", causal=True, modules=llama, prefix="model.layers.1.self_attn", self_attention=True)
    yield linear_modules, Case("t5", "Hugging Face T5 without its position bias: unscaled scores, heads not of E / H", H=2, head_size=4,
                               scale=1, modules=named(*"qkvo"), prefix="decoder.block.1.layer.1.EncDecAttention")
    yield linear_modules, Case("distilbert", "Hugging Face DistilBERT", biases="qkvo", self_attention=True,
                               modules=named("q_lin", "k_lin", "v_lin", "out_lin"), prefix="distilbert.transformer.layer.1.attention")
    yield packed_modules, Case("gpt2", "Hugging Face GPT-2: (in, out)", biases="qkvo", causal=True, self_attention=True, prefix="h.1.attn",
                               modules={"qkv": "c_attn", "o": "c_proj", "transposed": True}, others={"h.1.attn.bias": (1, 1, 4, 4)})
    yield packed_modules, Case("timm", "timm's Attention", biases="qkvo", self_attention=True, prefix="blocks.1.attn",
                               modules={"qkv": "qkv", "o": "proj", "transposed": False})
    yield keras, Case("keras", "Keras MultiHeadAttention with its own sizes everywhere", H=2, head_size=5, value_head_size=3,
                      output_size=8, kdim=10, vdim=7, biases="qkvo", modules={"separator": "/", "ending": ""}, prefix="model/attention")
    yield keras, Case("keras_no_bias", "Keras 2: variables end in :0", modules={"separator": "/", "ending": ":0"}, prefix="attention")
    yield keras, Case("keras_grouped", "Keras GroupQueryAttention, names with dots", H=4, kv_heads=2, head_size=3, biases="qkvo",
                      modules={"separator": ".", "ending": ""}, prefix="attention")
    yield linear_modules, Case("djl", "DJL ScaledDotProductAttentionBlock", biases="qkvo", prefix="01selfAttention", dtype="f32",
                               modules=named("02queryProjection", "01keyProjection", "03valueProjection", "04resultProjection"))
    yield linear_modules, Case("d2l_java", "d2l-java MultiHeadAttention", prefix="01attention",
                               modules=named("01W_q", "02W_k", "03W_v", "04W_o"))
    yield linear_modules, Case("d2l_pytorch", "d2l-pytorch MultiHeadAttention", prefix="attention", kdim=10, vdim=7,
                               modules=named("W_q", "W_k", "W_v", "W_o"))
    yield linear_modules, Case("bart", "Hugging Face BART", biases="qkvo", modules=apart, prefix="model.encoder.layers.1.self_attn",
                               self_attention=True)
    yield linear_modules, Case("bert_self", "Hugging Face BERT's self-attention, without its output", biases="qkv", self_attention=True,
                               modules=named("query", "key", "value"), prefix="bert.encoder.layer.1.attention.self")
    yield additive, Case("d2l_java_additive", "d2l-java AdditiveAttention", kdim=10, vdim=7, num_hiddens=5, key_lens=[5, 2],
                         modules={"k": "01W_k", "q": "02W_q", "score": "03W_v"}, prefix="01attention")


def own_output(case, inputs, weight, bias):
    """The result of float32_error.py for the parameters in heed's form."""
    queries, keys, values = three(inputs)
    visible = np.ones((BATCH, 1, queries.shape[1], keys.shape[1]), bool)
    if case.causal:
        visible &= np.tri(queries.shape[1], keys.shape[1], dtype=bool)
    if case.key_lens:
        visible &= (np.arange(keys.shape[1]) < np.asarray(case.key_lens)[:, None])[:, None, None, :]
    q, k, v = (project(exact(x), weight[letter], bias.get(letter)) if letter in weight else exact(x)
               for letter, x in zip("qkv", (queries, keys, values)))
    if case.num_hiddens:
        q, k, v = (y.map(lambda x: x[:, None]) for y in (q, k, v))
        heads, _, _ = attend(additive_scores(q, k, weight["score"], 1.0), v, visible)
        return heads.map(lambda x: x[:, 0])
    q = q.map(lambda x: split_heads(x, case.H))
    k, v = (y.map(lambda x: repeat_heads(split_heads(x, case.kv_heads), case.H // case.kv_heads)) for y in (k, v))
    heads, _, _ = attend(dot_scores(q, k, case.scale), v, np.broadcast_to(visible, (BATCH, case.H, *visible.shape[2:])))
    merged = heads.map(merge_heads)
    return project(merged, weight["o"], bias.get("o")) if "o" in weight else merged


def main():
    torch.set_num_threads(1)
    for seed, (framework, case) in enumerate(cases()):
        random = np.random.RandomState(seed)
        inputs = make_inputs(case, random)
        file, output, weight, bias = framework(case, random, inputs)
        own = own_output(case, inputs, weight, bias)
        disagreement = np.abs(output - own.value).max()
        assert disagreement < 1e-12, disagreement
        own.value = output
        others = {name: narrow(random.standard_normal(dims), "f32") for name, dims in case.others.items()}
        path = golden_file.write(
            f"weights/{case.name}", {**file, **others, **inputs, **result_tensors("output", own)}, case.description,
            f"prefix {case.prefix}" if case.prefix else "no prefix",
            f"tests/golden/make_weights.py, torch {torch.__version__}, numpy {np.__version__}")
        print(f"{path.name:32} {path.stat().st_size:6} bytes, output {np.abs(output).max():.2f} within {own.bound.max():.1e}, "
              f"framework against NumPy {disagreement:.0e}")


if __name__ == "__main__":
    main()
