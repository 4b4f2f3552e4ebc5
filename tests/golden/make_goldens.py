#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of golden_test.cc: inputs, parameters, and the results of torch.nn.MultiheadAttention in float64.

    /usr/bin/python3 make_goldens.py             make all files (Debian: python3-torch, python3-numpy)

The files are committed: PyTorch is only needed after a change of this script. Everything that heed reads from them is stored in the type from
which both compute, so heed and PyTorch use the same numbers. Expected results are stored as F64:

    output (B,Q,E), weights (B,H,Q,K), log_sum_exp (B,H,Q); for each element of these the largest error of a correct float32 engine:
    bound (of output), weights_bound, log_sum_exp_bound; and for each result the expected root mean square error of its elements: deviation
    (of output), weights_deviation, log_sum_exp_deviation. float32_error.py derives both.

PyTorch computes output and weights. A second calculation, in NumPy, computes log_sum_exp, and must agree with PyTorch before a file is
written. It must also agree with PyTorch's results for sequence-first inputs, without weights, and with their mean over the heads.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

import golden_file
from float32_error import (
    attend, dot_scores, exact, merge_heads, project, repeat_heads, result_tensors, results, split_heads, summary)
from golden_file import narrow, wide


@dataclass
class Case:
    """One file. The fields below `seed` determine which keys are visible, or change the scores; each corresponds to an
    option or input of heed."""

    name: str
    description: str
    options: str  # heed's options in words, for readers of the file
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
    gain: float = 1.0  # factor of the parameters of queries and keys, for large scores
    input_dtype: str = "f32"
    parameter_dtype: str = "f32"
    dropout: float = 0.0  # the layer is not training
    layout: str = "batch_first"  # of queries, keys, values and output: (B,S,E); "sequence_first": (S,B,E); "unbatched": (S,E)
    averages: bool = False  # the file also holds the mean of the weights over the heads
    key_lens: list = None  # PyTorch's key_padding_mask
    # PyTorch's key_padding_mask of floats, (B,K), as a function of the case and its random numbers.
    key_bias: object = None
    attn_mask: object = None  # PyTorch's attn_mask, as a function of the case and its random numbers
    extra: object = None  # the same for heed as tensors, as a function of the case and that mask

    def __post_init__(self):
        self.kv_heads = self.kv_heads or self.H
        self.kdim = self.kdim or self.E
        self.vdim = self.vdim or self.E
        self.D = self.E // self.H

    def laid_out(self, x):
        """(B,S,E) in the layout of the file."""
        if self.layout == "batch_first":
            return x
        return x[0] if self.layout == "unbatched" else x.swapaxes(0, 1)


def cases():
    lens = lambda dtype: lambda case, mask: {"valid_lens": np.asarray(case.key_lens, dtype)}

    def hide(visible):
        """PyTorch's boolean mask for a rule that says which keys a query sees."""
        return lambda case, random: ~visible(np.arange(case.Q)[:, None], np.arange(case.K)[None, :], case)

    def random_hide(shape):
        """A random half of the keys; each query sees at least key 1."""
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
    # True means "visible" in heed and "hidden" in PyTorch.
    mask_tensor = lambda case, mask: {"mask": ~as_heads(case, mask)}
    bias_tensor = lambda case, mask: {"bias": as_heads(case, mask)}
    key_bias_tensor = lambda case, mask: {"bias": mask[:, None, None, :]}
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
        Case("float_key_padding", "float key_padding_mask (B,K), a bias (B,1,1,K)", "num_hiddens 12, num_heads 3", 23,
             Q=5, K=9, E=12, H=3, key_bias=random_bias(lambda c: (c.B, c.K)), extra=key_bias_tensor),
        Case("kdim", "keys of another size, no biases", "num_hiddens 12, num_heads 3", 24, Q=3, K=5, E=12, H=3, kdim=7),
        Case("sequence_first", "batch_first=False, dropout in evaluation, weights averaged over the heads",
             "num_hiddens 12, num_heads 3, dropout 0.5, biases all; transposed views", 25,
             B=3, Q=4, K=6, E=12, H=3, biases="qkvo", dropout=0.5, layout="sequence_first", averages=True,
             key_lens=[6, 2, 3], extra=lens(np.int32)),
        Case("unbatched", "inputs without a batch axis, float attn_mask (H,Q,K)", "num_hiddens 12, num_heads 3, biases all; reshaped views", 26,
             B=1, Q=4, K=6, E=12, H=3, biases="qkvo", layout="unbatched", averages=True, attn_mask=bias_with_hiding, extra=bias_tensor),
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


def make(case):
    random = np.random.RandomState(case.seed)
    B, Q, K, E, H, D = case.B, case.Q, case.K, case.E, case.H, case.D
    repeat = H // case.kv_heads

    # ---- inputs and parameters of both
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
    key_bias = case.key_bias(case, random) if case.key_bias else None
    if case.extra:
        tensors.update(case.extra(case, attn_mask if key_bias is None else key_bias))

    queries = wide(tensors["queries"])
    keys = wide(tensors["keys"]) if "keys" in tensors else queries
    values = wide(tensors["values"]) if "values" in tensors else keys
    weight = {letter: wide(tensors[f"attention.W_{letter}.weight"]) for letter in "qkvo"}
    bias = {
        letter: wide(tensors[f"attention.W_{letter}.bias"]) if letter in case.biases else np.zeros(weight[letter].shape[0])
        for letter in "qkvo"
    }

    # ---- PyTorch. In training mode it takes the documented path; in evaluation it may use a fused kernel. Evaluation
    # is needed for dropout.
    def ungroup(rows):
        return np.repeat(rows.reshape(case.kv_heads, D, -1), repeat, axis=0).reshape(H * D, *rows.shape[1:])

    module = torch.nn.MultiheadAttention(E, H, bias=bool(case.biases), kdim=case.kdim, vdim=case.vdim,
                                         dropout=case.dropout, batch_first=True, dtype=torch.float64)
    module.train(case.dropout == 0.0)
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
    torch_padding = key_padding_mask if key_bias is None else key_bias.astype(np.float64)

    def ask(layout="batch_first", **arguments):
        """Output and weights, batch first, for inputs in that layout."""
        tensor_or_none = lambda x: None if x is None else torch.from_numpy(np.ascontiguousarray(x))
        module.batch_first = layout != "sequence_first"
        given = replace(case, layout=layout)
        results_there = module(
            *(tensor_or_none(given.laid_out(x)) for x in (queries, keys, values)),
            key_padding_mask=tensor_or_none(torch_padding), attn_mask=tensor_or_none(torch_mask), **arguments)
        output, weights = (None if x is None else x.detach().numpy() for x in results_there)
        if layout == "unbatched":
            return output[None], weights[None]
        return output.swapaxes(0, 1) if layout == "sequence_first" else output, weights

    output, weights = ask(case.layout, average_attn_weights=False)
    far = lambda one, other: np.abs(one - other).max() > 1e-12
    sequence_first, same_weights = ask("sequence_first", average_attn_weights=False)
    without_weights, no_weights = ask(need_weights=False)
    with_average, average_weights = ask()
    assert not far(sequence_first, output) and not far(same_weights, weights)
    assert not far(without_weights, output) and no_weights is None
    assert not far(with_average, output) and not far(average_weights, weights.mean(axis=1))

    # ---- the second calculation, with error bounds
    q, k, v = (project(exact(x), weight[letter], bias[letter]) for letter, x in (("q", queries), ("k", keys), ("v", values)))
    q = q.map(lambda x: split_heads(x, H))
    k, v = (y.map(lambda x: repeat_heads(split_heads(x, case.kv_heads), repeat)) for y in (k, v))
    visible, added = np.ones((B, H, Q, K), bool), None
    if attn_mask is not None:
        full = np.broadcast_to(attn_mask if attn_mask.ndim == 2 else attn_mask.reshape(B, H, Q, K), (B, H, Q, K))
        visible, added = (~full, None) if full.dtype == bool else (visible, full.astype(np.float64))
    if key_padding_mask is not None:
        visible = visible & ~key_padding_mask[:, None, None, :]
    if key_bias is not None:
        added = key_bias.astype(np.float64)[:, None, None, :]
    heads, own_weights, log_sum_exp = attend(dot_scores(q, k, 1 / np.sqrt(D)), v, visible, added)
    own_output = project(heads.map(merge_heads), weight["o"], bias["o"])
    disagreement = max(np.abs(output - own_output.value).max(), np.abs(weights - own_weights.value).max())
    assert disagreement < 1e-12, disagreement
    own_output.value, own_weights.value = output, weights

    tensors.update(results(own_output, own_weights, log_sum_exp))
    if case.averages:
        # The mean of the bounds, and of the variances, since (sum of H errors / H)^2 <= sum of their squares / H.
        average = own_weights.map(lambda x: x.mean(axis=1))
        average.value = average_weights
        tensors.update(result_tensors("average_weights", average))
    for name in tensors:
        if name in ("queries", "keys", "values", "output", "bound"):
            tensors[name] = case.laid_out(tensors[name])
    path = golden_file.write(
        case.name, tensors, case.description, case.options,
        f"tests/golden/make_goldens.py, seed {case.seed}, torch {torch.__version__}, numpy {np.__version__}")
    print(f"{path.name:32} {path.stat().st_size:7} bytes, B {B} Q {Q} K {K} E {E} H {H}, {summary(tensors)}, "
          f"PyTorch against NumPy {disagreement:.0e}")


def main():
    print(f"torch {torch.__version__}, numpy {np.__version__}")
    torch.set_num_threads(1)
    for case in cases():
        make(case)


if __name__ == "__main__":
    main()
