#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of additive_test.cc: additive attention in float64 NumPy.

    /usr/bin/python3 make_additive.py            (Debian: python3-numpy)

The score of Bahdanau et al., 2015, section A.1.2, in the words of "Dive into Deep Learning": w_v . tanh(W_q q + W_k k). In multi-head attention
each head scores scale * w_v[h] . tanh(q_h + k_g) with its own row of w_v, on projected queries and the projected keys of its group; scale
defaults to 1/sqrt(head_size) there and to 1 in the layer of its own. Inputs and results as in make_goldens.py.
"""

from dataclasses import dataclass

import numpy as np

import golden_file
from float32_error import additive_scores, attend, exact, merge_heads, project, repeat_heads, results, split_heads, summary
from golden_file import narrow, wide

B, Q, K, EQ, EK, EV = 2, 4, 6, 5, 3, 4


@dataclass
class Case:
    name: str
    options: str
    seed: int
    num_hiddens: int = 7  # of the additive layer
    lens: tuple = ()
    mean: bool = False
    # A multi-head layer with all biases.
    num_heads: int = 0
    kv_heads: int = 0
    head_size: int = 3
    value_head_size: int = 2
    output_size: int = 6
    scale: float = 0.0
    bias: bool = False


MULTI_HEAD = "head_size 3, value_head_size 2, output_size 6, biases all, scoring additive"
CASES = [
    Case("additive_lens", "num_hiddens 7", 401, lens=(6, 2)),
    Case("additive_lens_per_query", "num_hiddens 7", 402, lens=((1, 0, 6, 3), (5, 4, 0, 2))),
    Case("additive_mean", "num_hiddens 1, empty_rows mean", 403, num_hiddens=1, lens=((1, 0, 6, 3), (5, 4, 0, 2)), mean=True),
    Case("additive_multi_head", f"num_heads 2, {MULTI_HEAD}", 404, num_heads=2, kv_heads=2, lens=(3, 6)),
    Case("additive_multi_head_grouped", f"num_heads 4, num_kv_heads 2, {MULTI_HEAD}, scale 1.5", 405, num_heads=4, kv_heads=2, scale=1.5, bias=True),
]


def make(case):
    random = np.random.RandomState(case.seed)
    normal = lambda *shape: narrow(random.standard_normal(shape))
    tensors = {"queries": normal(B, Q, EQ), "keys": normal(B, K, EK), "values": normal(B, K, EV)}
    if case.num_heads:
        H, G, D = case.num_heads, case.kv_heads, case.head_size
        shapes = {"W_q": (H * D, EQ), "W_k": (G * D, EK), "W_v": (G * case.value_head_size, EV),
                  "W_o": (case.output_size, H * case.value_head_size), "w_v": (H, D)}
    else:
        H = 1
        shapes = {"W_q": (case.num_hiddens, EQ), "W_k": (case.num_hiddens, EK), "w_v": (1, case.num_hiddens)}
    for name, shape in shapes.items():
        tensors[f"attention.{name}.weight"] = normal(*shape)
        if case.num_heads and name != "w_v":
            tensors[f"attention.{name}.bias"] = normal(shape[0])
    if case.lens:
        tensors["valid_lens"] = np.asarray(case.lens, np.int64)
    if case.bias:
        tensors["bias"] = normal(1, H, Q, K)

    weight = lambda name: wide(tensors[f"attention.{name}.weight"])
    bias = lambda name: wide(tensors[f"attention.{name}.bias"]) if case.num_heads else None
    q, k = (project(exact(wide(tensors[x])), weight(name), bias(name)) for x, name in (("queries", "W_q"), ("keys", "W_k")))
    v = exact(wide(tensors["values"]))
    visible = None
    if case.lens:
        lens = np.asarray(case.lens)
        visible = np.arange(K) < (lens[:, None, None, None] if lens.ndim == 1 else lens[:, None, :, None])
    if case.num_heads:
        v = project(v, weight("W_v"), bias("W_v"))
        q = q.map(lambda x: split_heads(x, H))
        k, v = (y.map(lambda x: repeat_heads(split_heads(x, G), H // G)) for y in (k, v))
        scale = case.scale or 1 / np.sqrt(D)
    else:
        q, k, v = (y.map(lambda x: x[:, None]) for y in (q, k, v))
        scale = 1.0
    scores = additive_scores(q, k, weight("w_v"), scale)
    output, weights, log_sum_exp = attend(scores, v, visible, wide(tensors["bias"]) if case.bias else None, case.mean)
    if case.num_heads:
        output = project(output.map(merge_heads), weight("W_o"), bias("W_o"))
    else:
        output, weights, log_sum_exp = (y.map(lambda x: x[:, 0]) for y in (output, weights, log_sum_exp))

    tensors.update(results(output, weights, log_sum_exp))
    path = golden_file.write(
        case.name, tensors, "additive attention", case.options, f"tests/golden/make_additive.py, seed {case.seed}, numpy {np.__version__}")
    print(f"{path.name:42} {path.stat().st_size:6} bytes, {summary(tensors)}")


if __name__ == "__main__":
    for each in CASES:
        make(each)
