#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of formula_test.cc: attention by its formula, in float64 NumPy, for options that torch.nn.MultiheadAttention does not have.

    /usr/bin/python3 make_formula.py             (Debian: python3-numpy)

The formula is that of Vaswani et al., 2017, as PyTorch's documentation states it for scaled_dot_product_attention, with the extensions of
other libraries and models: softmax(cap(scale q k^T) + bias over visible keys) v, in the order of docs/semantics.md, rule 3. Inputs and
results as in make_goldens.py; files with parameters are for a multi-head layer, the others for a dot-product layer."""

from dataclasses import dataclass

import numpy as np

import golden_file
from float32_error import (
    attend, dot_scores, exact, merge_heads, project, repeat_heads, results, soft_capped, split_heads, summary)
from golden_file import narrow, wide

TOP_LEFT, BOTTOM_RIGHT = "top-left", "bottom-right"


@dataclass
class Case:
    name: str
    seed: int
    Q: int = 5
    K: int = 7
    B: int = 2
    H: int = 2  # 0: without the axis of heads
    kv_heads: int = 0
    D: int = 4
    Dv: int = 4
    scale: float = 0.0
    soft_cap: float = 0.0
    causal: str = ""
    window: tuple = ()  # alignment, left, right
    lens: tuple = ()  # (B) or (B,Q)
    mask: bool = False
    bias: bool = False  # with -inf
    mean: bool = False
    gain: float = 1.0  # factor of the queries, for large scores
    num_hiddens: int = 0  # size of a multi-head layer's inputs
    output_size: int = 0  # 0: no output projection

    def __post_init__(self):
        self.kv_heads = self.kv_heads or self.H

    def options(self):
        """The options in words."""
        words = []
        if self.num_hiddens:
            words += [f"num_heads {self.H}, num_kv_heads {self.kv_heads}, head_size {self.D}, value_head_size {self.Dv}"]
            words += [f"output_size {self.output_size}, biases all" if self.output_size else "no_output_projection, biases Q K V"]
        words += [f"scale {self.scale}"] if self.scale else []
        words += [f"soft_cap {self.soft_cap}"] if self.soft_cap else []
        words += [f"causal {self.causal}"] if self.causal else []
        words += ["window {}, left {}, right {}".format(*self.window)] if self.window else []
        words += ["empty_rows mean"] if self.mean else []
        return ", ".join(words) or "none"


CASES = [
    Case("formula_rank3", 101, H=0, D=6, Dv=3, lens=(7, 2)),
    Case("formula_scale", 102, scale=-0.75, Dv=5),
    Case("formula_soft_cap", 103, soft_cap=1.5, gain=3, bias=True),
    Case("formula_causal_top_left", 104, causal=TOP_LEFT, H=0),
    Case("formula_causal_bottom_right", 105, causal=BOTTOM_RIGHT),
    Case("formula_causal_empty", 106, Q=7, K=4, causal=BOTTOM_RIGHT, H=0),
    Case("formula_causal_mean", 107, Q=7, K=4, causal=BOTTOM_RIGHT, mean=True, H=0),
    Case("formula_window", 108, Q=6, K=9, window=(BOTTOM_RIGHT, 2, 1), Dv=2, H=0),
    Case("formula_window_causal", 109, Q=6, K=9, window=(TOP_LEFT, 3, -1), causal=BOTTOM_RIGHT, H=0),
    Case("formula_grouped", 110, H=4, kv_heads=2, Q=3, K=5, mask=True),
    Case("formula_empty", 111, lens=((0, 3, 7, 1, 0), (5, 0, 2, 6, 4))),
    Case("formula_everything", 112, Q=4, K=6, H=4, kv_heads=2, scale=0.7, soft_cap=2.5, gain=2, causal=BOTTOM_RIGHT, window=(TOP_LEFT, 3, 2),
         lens=((6, 5, 0, 6), (4, 4, 6, 3)), mask=True, bias=True, mean=True),
    Case("formula_multi_head", 113, H=4, kv_heads=2, D=3, Dv=2, num_hiddens=10, output_size=6, scale=0.4, soft_cap=3.0, causal=BOTTOM_RIGHT,
         lens=(7, 0), mean=True),
    Case("formula_no_output", 114, H=2, D=3, Dv=5, num_hiddens=8, lens=(0, 6)),
]


def make(case):
    random = np.random.RandomState(case.seed)
    B, H, Q, K = case.B, case.H, case.Q, case.K
    heads = H or 1

    # ---- the values that heed reads; scale and soft cap are floats there
    scale = float(np.float32(case.scale)) or 1 / np.sqrt(case.D)
    soft_cap = float(np.float32(case.soft_cap))
    normal = lambda *shape, gain=1.0: narrow(gain * random.standard_normal(shape))
    if case.num_hiddens:
        E = case.num_hiddens
        tensors = {"queries": normal(B, Q, E), "keys": normal(B, K, E), "values": normal(B, K, E)}
        sizes = {"q": (H * case.D, E), "k": (case.kv_heads * case.D, E), "v": (case.kv_heads * case.Dv, E)}
        if case.output_size:
            sizes["o"] = (case.output_size, H * case.Dv)
        for letter, (rows, columns) in sizes.items():
            tensors[f"attention.W_{letter}.weight"] = normal(rows, columns, gain=1 / np.sqrt(columns))
            tensors[f"attention.W_{letter}.bias"] = normal(rows)
    else:
        axes = lambda heads, *sizes: (B, heads, *sizes) if H else (B, *sizes)
        tensors = {
            "queries": normal(*axes(H, Q, case.D), gain=case.gain),
            "keys": normal(*axes(case.kv_heads, K, case.D)),
            "values": normal(*axes(case.kv_heads, K, case.Dv)),
        }
    if case.lens:
        tensors["valid_lens"] = np.asarray(case.lens, np.int32)
    if case.mask:
        tensors["mask"] = random.random_sample((B, heads, Q, K)) < 0.7
    if case.bias:
        bias = random.standard_normal((heads, Q, K))
        tensors["bias"] = narrow(np.where(random.random_sample(bias.shape) < 0.2, -np.inf, bias)[None])

    # ---- which keys each query sees
    i, j = np.arange(Q)[:, None], np.arange(K)[None, :]
    position = lambda alignment: i + (K - Q if alignment == BOTTOM_RIGHT else 0)
    visible = np.ones((B, heads, Q, K), bool)
    if case.causal:
        visible &= j <= position(case.causal)
    if case.window:
        alignment, left, right = case.window
        visible &= (left < 0) | (position(alignment) - left <= j)
        visible &= (right < 0) | (j <= position(alignment) + right)
    if case.lens:
        lens = np.asarray(case.lens)
        visible &= j < (lens[:, None, None, None] if lens.ndim == 1 else lens[:, None, :, None])
    if case.mask:
        visible &= tensors["mask"]

    # ---- the formula
    if case.num_hiddens:
        names = {"q": "queries", "k": "keys", "v": "values"}
        q, k, v = (
            project(exact(wide(tensors[name])), wide(tensors[f"attention.W_{letter}.weight"]), wide(tensors[f"attention.W_{letter}.bias"])).map(
                lambda x: split_heads(x, H if letter == "q" else case.kv_heads))
            for letter, name in names.items())
    else:
        q, k, v = (exact(wide(tensors[name])).map(lambda x: x if H else x[:, None]) for name in ("queries", "keys", "values"))
    k, v = (x.map(lambda y: repeat_heads(y, heads // (case.kv_heads or 1))) for x in (k, v))
    scores = dot_scores(q, k, scale)
    if soft_cap:
        scores = soft_capped(scores, soft_cap)
    output, weights, log_sum_exp = attend(scores, v, visible, wide(tensors["bias"]) if case.bias else None, case.mean)
    if case.num_hiddens:
        output = output.map(merge_heads)
        if case.output_size:
            output = project(output, wide(tensors["attention.W_o.weight"]), wide(tensors["attention.W_o.bias"]))
    elif not H:
        output, weights, log_sum_exp = (x.map(lambda y: y[:, 0]) for x in (output, weights, log_sum_exp))

    tensors.update(results(output, weights, log_sum_exp))
    path = golden_file.write(
        case.name, tensors, "attention by its formula", case.options(), f"tests/golden/make_formula.py, seed {case.seed}, numpy {np.__version__}")
    print(f"{path.name:42} {path.stat().st_size:6} bytes, {(~visible.any(axis=-1)).sum()} empty rows, {summary(tensors)}")


if __name__ == "__main__":
    for each in CASES:
        make(each)
