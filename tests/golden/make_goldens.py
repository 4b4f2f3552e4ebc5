#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data/*.safetensors: inputs, parameters and what torch.nn.MultiheadAttention answers to them in float64.

    /usr/bin/python3 make_goldens.py             make all files (Debian: python3-torch, python3-numpy)
    /usr/bin/python3 make_goldens.py --show F... print what the files hold, read by this script's own reader

The files are committed: only a change of this script needs PyTorch. Everything that heed reads from them is stored in the type it is computed
from, so heed and PyTorch start from the same numbers; what heed is compared with is stored as F64:

    output (B,Q,E), weights (B,H,Q,K), log_sum_exp (B,H,Q), and for each, element by element, how far a correct float32 engine may be
    away from it: bound (of output), weights_bound, log_sum_exp_bound.

PyTorch gives output and weights; a second calculation, in NumPy, gives log_sum_exp and must agree with both before a file is written.

The bounds. u = 2^-24 is the unit round-off of float32; a sum of n rounded products, in any order, fused or not, is off by at most
n u sum |a||b| (first order). No operand is narrower than float32. d(x) is the bound on the error of x.

  projections   d(y) = (E + 2) u (|x| |W|^T + |b|): E products and additions, the bias, one to spare.
  scores        s = scale q.k, perhaps in base 2: d(s) = scale (d(q)|k| + |q|d(k) + d(q)d(k)) + (D + 6) u scale |q||k| + 3 u |bias|
                + u |s + bias|: D products; the scale's own rounding, its application and the same for the factor log2(e), two to spare;
                the bias times log2(e), added.
  weights       w = exp(s - m) / sum exp(s - m), m a running maximum, with T = max |s + bias| over the row's visible keys. The argument s - m
                and its change to base 2 are three roundings of a number up to 2 T; rescaling to a new maximum telescopes into the same
                2 T: 6 u T, in the numerator and in the sum: 12 u T. An exponential within 4 u, the division and the sum's last rounding:
                together 12 u with some to spare. The sum: K u. Each rescaling adds an exponential and a product, 5 u, to the numerator
                and to the sum: for an engine that takes at least 10 keys at a time, 10 (K / 10 + 1) u. So w_j is off by a factor of
                at most exp(r_j), r_j = d(s_j) + sum_i w_i d(s_i) + (2 K + 22) u + 12 u T. Where numbers become subnormal, the exponential
                (within one unit, 2^-149), each rescaling and the division round to a multiple of 2^-149 besides: K / 10 + 3 of these.
  log_sum_exp   max d(s) + (2 K + 22) u + 12 u T + 4 u (T + ln K): the logarithm within 2 u, its product with ln 2, the addition of m.
  heads         o = sum w_j v_j: d(o) = sum w_j (d(v_j) + (exp(r_j) - 1 + (K + 1) u)(|v_j| + d(v_j))).
  output        d(y) = (n + 2) u ((|o| + d(o)) |W|^T + |b|) + d(o) |W|^T, n the input size of the output projection.

Maxima and sums are over visible keys. What is of second order and left out is below r / 2 of the whole: a factor of 1.01 covers it, as r is checked
to be below 0.02. A narrower output type adds its own rounding; the test does that. These bounds hold for every order of summation, so they are
far above what an engine usually shows.
"""

import json
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

U = 2.0**-24
DTYPE_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "bool": "BOOL"}


class BFloat16:
    """Values of an array rounded to bfloat16 (nearest, ties to even); NumPy has no such type."""

    def __init__(self, values):
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
        self.bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        self.shape = self.bits.shape

    def wide(self):
        return (self.bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def narrow(values, dtype):
    return BFloat16(values) if dtype == "bf16" else np.asarray(values, {"f32": np.float32, "f16": np.float16}[dtype])


def wide(array):
    return array.wide() if isinstance(array, BFloat16) else np.asarray(array, np.float64)


def write_safetensors(path, tensors, metadata):
    def raw(array):
        return array.bits if isinstance(array, BFloat16) else np.ascontiguousarray(array)

    # Larger elements first keeps every tensor aligned.
    order = sorted(tensors, key=lambda name: (-raw(tensors[name]).itemsize, name))
    header, offset = {"__metadata__": metadata}, 0
    for name in order:
        end = offset + raw(tensors[name]).nbytes
        dtype = "BF16" if isinstance(tensors[name], BFloat16) else DTYPE_NAMES[tensors[name].dtype.name]
        header[name] = {"dtype": dtype, "shape": list(tensors[name].shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(raw(tensors[name]).tobytes() for name in order))


def show_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    print(f"{path}: {len(content)} bytes, {header.pop('__metadata__', {})}")
    covered = 0
    numpy_names = {name: dtype for dtype, name in DTYPE_NAMES.items()}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered, name
        covered = end
        data = content[8 + length + begin : 8 + length + end]
        text = f"  {name} {entry['dtype']} {tuple(entry['shape'])}"
        if entry["dtype"] in numpy_names:
            array = np.frombuffer(data, numpy_names[entry["dtype"]]).reshape(entry["shape"])
            text += f" from {array.min()} to {array.max()}" if array.size else " empty"
        print(text)
    assert 8 + length + covered == len(content)


@dataclass
class Case:
    """One file. The fields below `seed` restrict or change what is seen; each has its counterpart among heed's options or inputs."""

    name: str
    description: str
    options: str  # of heed, in words: for readers of the file
    seed: int
    B: int = 2
    Q: int = 4
    K: int = 6
    E: int = 100
    H: int = 5
    kv_heads: int = 0
    kdim: int = 0
    vdim: int = 0
    biases: str = ""
    self_attention: bool = False
    gain: float = 1.0  # of queries' and keys' parameters: makes scores large
    input_dtype: str = "f32"
    parameter_dtype: str = "f32"
    key_lens: list = None  # PyTorch's key_padding_mask
    attn_mask: object = None  # function of the case and its random numbers: PyTorch's attn_mask
    extra: object = None  # function of the case and that mask: the tensors that tell heed the same

    def __post_init__(self):
        self.kv_heads = self.kv_heads or self.H
        self.kdim = self.kdim or self.E
        self.vdim = self.vdim or self.E
        self.D = self.E // self.H


def cases():
    lens = lambda dtype: lambda case, mask: {"valid_lens": np.asarray(case.key_lens, dtype)}

    def hide(visible):
        """PyTorch's boolean mask from a rule that says which keys a query sees."""
        return lambda case, random: ~visible(np.arange(case.Q)[:, None], np.arange(case.K)[None, :], case)

    def random_hide(shape):
        """Half of the keys, but each query sees key 1 at least."""
        def make(case, random):
            hidden = random.random_sample(shape(case)) < 0.5
            hidden[..., 1] = False
            return hidden
        return make

    def random_bias(shape):
        def make(case, random):
            return random.standard_normal(shape(case)).astype(np.float32)
        return make

    def bias_with_hiding(case, random):
        bias = random_bias(lambda c: (c.B * c.H, c.Q, c.K))(case, random)
        hidden = random_hide(lambda c: (c.B * c.H, c.Q, c.K))(case, random)
        bias[hidden] = -np.inf
        return bias

    def lens_per_query(case, random):
        lengths = random.randint(1, case.K + 1, (case.B, case.Q))
        hidden = np.arange(case.K) >= lengths[:, :, None]
        return np.repeat(hidden, case.H, axis=0)

    per_query = lambda case, mask: {
        "valid_lens": (~mask).reshape(case.B, case.H, case.Q, case.K)[:, 0].sum(axis=-1).astype(np.float32)
    }
    as_heads = lambda case, mask: np.broadcast_to(mask, (1, 1, case.Q, case.K)) if mask.ndim == 2 else mask.reshape(
        case.B, case.H, case.Q, case.K)
    # True means "may attend" in heed and "may not" in PyTorch.
    mask_tensor = lambda case, mask: {"mask": ~as_heads(case, mask)}
    bias_tensor = lambda case, mask: {"bias": as_heads(case, mask)}
    return [
        Case("d2l", "the sizes of the d2l example, no biases", "num_hiddens 100, num_heads 5", 1,
             key_lens=[3, 2], extra=lens(np.int32)),
        Case("pytorch_bias", "the same with all four biases", "num_hiddens 100, num_heads 5, biases all", 2,
             biases="qkvo", key_lens=[2, 5], extra=lens(np.int32)),
        Case("kdim_vdim", "keys and values of other sizes than the queries", "num_hiddens 32, num_heads 4, biases all", 3,
             B=3, Q=5, K=7, E=32, H=4, kdim=20, vdim=12, biases="qkvo"),
        Case("partial_biases", "biases of queries, values and output only", "num_hiddens 24, num_heads 3, biases Q V O", 4,
             B=2, Q=3, K=8, E=24, H=3, biases="qvo"),
        Case("padding", "key_padding_mask is valid_lens (B)", "num_hiddens 48, num_heads 3, biases all", 5,
             B=4, Q=5, K=9, E=48, H=3, biases="qkvo", key_lens=[9, 1, 4, 8], extra=lens(np.int64)),
        Case("padding_per_query", "attn_mask of prefixes is valid_lens (B,Q), stored as F32", "num_hiddens 48, num_heads 3", 6,
             B=3, Q=5, K=9, E=48, H=3, attn_mask=lens_per_query, extra=per_query),
        Case("causal", "square causal self-attention", "num_hiddens 40, num_heads 5, causal top-left or bottom-right, biases all", 7,
             B=2, Q=11, K=11, E=40, H=5, biases="qkvo", self_attention=True, attn_mask=hide(lambda q, k, c: k <= q)),
        Case("causal_top_left", "fewer queries than keys, the first query sees the first key", "num_hiddens 40, num_heads 5, causal top-left", 8,
             Q=5, K=9, E=40, H=5, attn_mask=hide(lambda q, k, c: k <= q)),
        Case("causal_bottom_right", "fewer queries than keys, the last query sees the last key",
             "num_hiddens 40, num_heads 5, causal bottom-right", 9,
             Q=5, K=9, E=40, H=5, attn_mask=hide(lambda q, k, c: k <= q + c.K - c.Q)),
        Case("causal_padding", "causal and key_padding_mask together", "num_hiddens 40, num_heads 5, causal top-left, biases all", 10,
             B=3, Q=7, K=7, E=40, H=5, biases="qkvo", key_lens=[7, 1, 5], attn_mask=hide(lambda q, k, c: k <= q), extra=lens(np.int32)),
        Case("window", "each query sees two keys before and one behind its own",
             "num_hiddens 40, num_heads 5, window top-left, window_left 2, window_right 1", 11,
             Q=8, K=8, E=40, H=5, attn_mask=hide(lambda q, k, c: (q - 2 <= k) & (k <= q + 1))),
        Case("mask", "boolean attn_mask (Q,K), inverted", "num_hiddens 40, num_heads 5", 12,
             Q=5, K=9, E=40, H=5, attn_mask=random_hide(lambda c: (c.Q, c.K)), extra=mask_tensor),
        Case("mask_per_head", "boolean attn_mask (B*H,Q,K), inverted, and key_padding_mask", "num_hiddens 40, num_heads 5", 13,
             Q=5, K=9, E=40, H=5, key_lens=[9, 6], attn_mask=random_hide(lambda c: (c.B * c.H, c.Q, c.K)),
             extra=lambda case, mask: {**mask_tensor(case, mask), **lens(np.int32)(case, mask)}),
        Case("float_mask", "float attn_mask (Q,K)", "num_hiddens 40, num_heads 5", 14,
             Q=5, K=9, E=40, H=5, attn_mask=random_bias(lambda c: (c.Q, c.K)), extra=bias_tensor),
        Case("float_mask_per_head", "float attn_mask (B*H,Q,K) with -inf, which hides", "num_hiddens 40, num_heads 5, biases all", 15,
             Q=5, K=9, E=40, H=5, biases="qkvo", attn_mask=bias_with_hiding, extra=bias_tensor),
        Case("grouped", "PyTorch's key and value parameters repeat each of two heads three times",
             "num_hiddens 48, num_heads 6, num_kv_heads 2, biases all", 16, Q=5, K=9, E=48, H=6, kv_heads=2, biases="qkvo"),
        Case("many_keys", "more keys than an engine takes at once", "num_hiddens 32, num_heads 2", 17,
             B=1, Q=3, K=300, E=32, H=2, key_lens=[299], extra=lens(np.int32)),
        Case("many_queries", "square causal self-attention longer than an engine's blocks",
             "num_hiddens 16, num_heads 1, causal top-left or bottom-right", 18,
             B=1, Q=100, K=100, E=16, H=1, self_attention=True, attn_mask=hide(lambda q, k, c: k <= q)),
        Case("large_scores", "scores up to about 100: almost all weight on one key", "num_hiddens 16, num_heads 2", 19,
             Q=6, K=20, E=16, H=2, gain=6.5),
        Case("f16_parameters", "parameters stored as F16", "num_hiddens 40, num_heads 5, biases all", 20,
             Q=5, K=9, E=40, H=5, biases="qkvo", parameter_dtype="f16"),
        Case("f16", "parameters and inputs stored as F16", "num_hiddens 40, num_heads 5", 21,
             Q=5, K=9, E=40, H=5, input_dtype="f16", parameter_dtype="f16"),
        Case("bf16", "parameters and inputs stored as BF16", "num_hiddens 40, num_heads 5, biases all", 22,
             Q=5, K=9, E=40, H=5, biases="qkvo", input_dtype="bf16", parameter_dtype="bf16"),
    ]


def split_heads(x, H):
    B, S, width = x.shape
    return x.reshape(B, S, H, width // H).transpose(0, 2, 1, 3)


def merge_heads(x):
    B, H, S, D = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * D)


def attend(queries, keys, values, weight, bias, H, kv_heads, scale, visible, added):
    """Multi-head attention in float64, and its error bounds: |x| and d(x) go through the same sums as x."""
    K, D, repeat = keys.shape[1], weight["q"].shape[0] // H, H // kv_heads
    q, k, v = (x @ weight[letter].T + bias[letter] for letter, x in (("q", queries), ("k", keys), ("v", values)))
    dq, dk, dv = (
        (x.shape[-1] + 2) * U * (np.abs(x) @ np.abs(weight[letter]).T + np.abs(bias[letter]))
        for letter, x in (("q", queries), ("k", keys), ("v", values)))
    q, dq = split_heads(q, H), split_heads(dq, H)
    k, dk, v, dv = (np.repeat(split_heads(x, kv_heads), repeat, axis=1) for x in (k, dk, v, dv))
    dot = lambda a, b: scale * a @ b.transpose(0, 1, 3, 2)
    assert visible.any(axis=-1).all()
    scores = dot(q, k) + added
    dscores = (dot(dq, np.abs(k)) + dot(np.abs(q), dk) + dot(dq, dk) + (D + 6) * U * dot(np.abs(q), np.abs(k))
               + 3 * U * np.abs(added) + U * np.abs(scores))
    largest = lambda x: np.where(visible, x, 0.0).max(axis=-1, keepdims=True)
    T = largest(np.abs(scores))
    m = np.where(visible, scores, -np.inf).max(axis=-1, keepdims=True)
    exponentials = np.where(visible, np.exp(scores - m), 0.0)
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / total
    log_sum_exp = (m + np.log(total))[..., 0]
    softmax_error = (2 * K + 22) * U + 12 * U * T
    r = dscores + (weights * dscores).sum(axis=-1, keepdims=True) + softmax_error
    weights_factor = np.expm1(r)
    weights_bound = 1.01 * weights * weights_factor + np.where(visible, (K / 10 + 3) * 2.0**-149, 0.0)
    log_sum_exp_bound = 1.01 * (largest(dscores) + softmax_error + 4 * U * (T + np.log(K)))[..., 0]
    heads = weights @ v
    dheads = weights @ dv + (weights * (weights_factor + (K + 1) * U)) @ (np.abs(v) + dv)
    heads, dheads = merge_heads(heads), merge_heads(dheads)
    output = heads @ weight["o"].T + bias["o"]
    output_bound = 1.01 * ((heads.shape[-1] + 2) * U * ((np.abs(heads) + dheads) @ np.abs(weight["o"]).T + np.abs(bias["o"]))
                           + dheads @ np.abs(weight["o"]).T)
    assert r[visible].max() < 0.02, r[visible].max()
    return {"output": output, "bound": output_bound, "weights": weights, "weights_bound": weights_bound,
            "log_sum_exp": log_sum_exp, "log_sum_exp_bound": log_sum_exp_bound, "largest_score": T.max()}


def make(case):
    import torch

    random = np.random.RandomState(case.seed)
    B, Q, K, E, H, D = case.B, case.Q, case.K, case.E, case.H, case.D
    repeat = H // case.kv_heads

    # ---- what both read
    tensors = {"queries": narrow(random.standard_normal((B, Q, E)), case.input_dtype)}
    if not case.self_attention:
        tensors["keys"] = narrow(random.standard_normal((B, K, case.kdim)), case.input_dtype)
        tensors["values"] = narrow(random.standard_normal((B, K, case.vdim)), case.input_dtype)
    sizes = {"q": (H * D, E), "k": (case.kv_heads * D, case.kdim), "v": (case.kv_heads * D, case.vdim), "o": (E, H * D)}
    for letter, (rows, columns) in sizes.items():
        limit = np.sqrt(6.0 / (rows + columns)) * (case.gain if letter in "qk" else 1.0)
        name = f"attention.W_{letter}"
        tensors[name + ".weight"] = narrow(random.uniform(-limit, limit, (rows, columns)), case.parameter_dtype)
        if letter in case.biases:
            tensors[name + ".bias"] = narrow(random.uniform(-1, 1, rows), case.parameter_dtype)
    attn_mask = case.attn_mask(case, random) if case.attn_mask else None
    if case.extra:
        tensors.update(case.extra(case, attn_mask))

    queries = wide(tensors["queries"])
    keys = wide(tensors["keys"]) if "keys" in tensors else queries
    values = wide(tensors["values"]) if "values" in tensors else keys
    weight = {letter: wide(tensors[f"attention.W_{letter}.weight"]) for letter in "qkvo"}
    bias = {
        letter: wide(tensors[f"attention.W_{letter}.bias"]) if letter in case.biases else np.zeros(weight[letter].shape[0])
        for letter in "qkvo"
    }

    # ---- PyTorch. In training mode it takes its documented path; evaluation may take a fused one.
    def ungroup(rows):
        return np.repeat(rows.reshape(case.kv_heads, D, -1), repeat, axis=0).reshape(H * D, *rows.shape[1:])

    module = torch.nn.MultiheadAttention(E, H, bias=bool(case.biases), kdim=case.kdim, vdim=case.vdim, batch_first=True, dtype=torch.float64)
    projections = [torch.from_numpy(weight["q"]), torch.from_numpy(ungroup(weight["k"])), torch.from_numpy(ungroup(weight["v"]))]
    with torch.no_grad():
        if case.kdim == E and case.vdim == E:
            module.in_proj_weight.copy_(torch.cat(projections))
        else:
            module.q_proj_weight.copy_(projections[0])
            module.k_proj_weight.copy_(projections[1])
            module.v_proj_weight.copy_(projections[2])
        module.out_proj.weight.copy_(torch.from_numpy(weight["o"]))
        if case.biases:
            module.in_proj_bias.copy_(torch.from_numpy(np.concatenate([bias["q"], ungroup(bias["k"]), ungroup(bias["v"])])))
            module.out_proj.bias.copy_(torch.from_numpy(bias["o"]))
    key_padding_mask = None if case.key_lens is None else np.arange(K) >= np.asarray(case.key_lens)[:, None]
    torch_mask = attn_mask if attn_mask is None or attn_mask.dtype == bool else attn_mask.astype(np.float64)
    output, weights = module(
        torch.from_numpy(queries), torch.from_numpy(keys), torch.from_numpy(values),
        key_padding_mask=None if key_padding_mask is None else torch.from_numpy(key_padding_mask),
        attn_mask=None if torch_mask is None else torch.from_numpy(torch_mask),
        need_weights=True, average_attn_weights=False)
    output, weights = output.detach().numpy(), weights.detach().numpy()

    # ---- the second calculation
    added, visible = np.zeros((B, H, Q, K)), np.ones((B, H, Q, K), bool)
    if attn_mask is not None:
        full = np.broadcast_to(attn_mask if attn_mask.ndim == 2 else attn_mask.reshape(B, H, Q, K), (B, H, Q, K))
        visible &= ~full if full.dtype == bool else full > -np.inf
        added = np.where(visible, full, 0.0) if full.dtype != bool else added
    if key_padding_mask is not None:
        visible &= ~key_padding_mask[:, None, None, :]
    own = attend(queries, keys, values, weight, bias, H, case.kv_heads, 1 / np.sqrt(D), visible, added)
    disagreement = max(np.abs(output - own["output"]).max(), np.abs(weights - own["weights"]).max())
    assert disagreement < 1e-12, disagreement

    largest_score = own.pop("largest_score")
    tensors.update(own, output=output, weights=weights)
    path = Path(__file__).parent / "data" / f"{case.name}.safetensors"
    write_safetensors(path, tensors, {
        "format": "pt", "description": case.description, "heed_options": case.options,
        "made_by": f"tests/golden/make_goldens.py, seed {case.seed}, torch {torch.__version__}, numpy {np.__version__}"})
    print(f"{path.name:32} {path.stat().st_size:7} bytes, B {B} Q {Q} K {K} E {E} H {H}, largest score {largest_score:6.2f}, "
          f"output {np.abs(output).max():.2f} within {own['bound'].max():.1e}, weights within {own['weights_bound'].max():.1e}, "
          f"PyTorch against NumPy {disagreement:.0e}")


def main():
    if sys.argv[1:2] == ["--show"]:
        for name in sys.argv[2:]:
            show_safetensors(Path(name))
        return
    import torch

    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, numpy {np.__version__}")
    torch.set_num_threads(1)
    (Path(__file__).parent / "data").mkdir(exist_ok=True)
    for case in cases():
        make(case)


if __name__ == "__main__":
    main()
