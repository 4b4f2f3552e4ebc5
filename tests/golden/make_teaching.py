#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of teaching_test.cc: attention as defined by well-known tutorials, papers and classes, in float64.

    /usr/bin/python3 make_teaching.py            (Debian: python3-torch, python3-numpy)

Each result is computed as its author does. A second calculation, by the formula, must agree; it adds log_sum_exp and the expected errors
(float32_error.py). docs/semantics.md, "Other people's attention", says with which options heed computes the same."""

import numpy as np
import torch

import golden_file
from float32_error import (
    STEP, U, Number, additive_scores, attend, dot_scores, exact, project, result_tensors, results, scaled, sum_of_products, summary)
from golden_file import narrow, wide


def write(name, description, options, tensors, own):
    """own: output, weights and log_sum_exp by the formula. `tensors` has the author's output and perhaps weights."""
    for result, theirs in zip(own, ("output", "weights")):
        if theirs in tensors:
            assert np.abs(result.value - tensors[theirs]).max() < 1e-12, theirs
            result.value = tensors[theirs]
    tensors.update(results(*own))
    path = golden_file.write(
        name, tensors, description, options, f"tests/golden/make_teaching.py, torch {torch.__version__}, numpy {np.__version__}")
    print(f"{path.name:42} {path.stat().st_size:6} bytes, {summary(tensors)}")


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def four_words():
    """The rows that the tutorial prints, with its random numbers."""
    words = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.random.seed(42)
    W_Q, W_K, W_V = (np.random.randint(3, size=(3, 3)) for _ in range(3))
    Q, K, V = words @ W_Q, words @ W_K, words @ W_V
    weights = softmax(Q @ K.T / np.sqrt(3))
    rows = weights @ V
    published = [[0.98522025, 1.74174051, 0.75652026], [0.90965265, 1.40965265, 0.5],
                 [0.99851226, 1.75849334, 0.75998108], [0.99560386, 1.90407309, 0.90846923]]
    assert np.abs(rows - published).max() < 0.51e-8

    q, k, v = (project(exact(words[None]), W.T).map(lambda x: x[:, None]) for W in (W_Q, W_K, W_V))
    output, own_weights, log_sum_exp = attend(dot_scores(q, k, 1 / np.sqrt(3)), v)
    tensors = {"queries": narrow(words[None]), "W_Q": narrow(W_Q), "W_K": narrow(W_K), "W_V": narrow(W_V),
               "output": rows[None], "weights": weights[None, None]}
    write("teaching_four_words", "self-attention of four words; matrices (in, out)",
          "num_hiddens 3, num_heads 1, no_output_projection", tensors, (output.map(lambda x: x[:, 0]), own_weights, log_sum_exp))


class ScalesAfterSoftmax(torch.nn.Module):
    """Self-attention of one head with the factor 1/sqrt(dim_k) on the weights instead of the scores."""

    def __init__(self, input_dim, dim_k, dim_v):
        super().__init__()
        self.to_query = torch.nn.Linear(input_dim, dim_k)
        self.to_key = torch.nn.Linear(input_dim, dim_k)
        self.to_value = torch.nn.Linear(input_dim, dim_v)
        self.factor = dim_k**-0.5

    def forward(self, x):
        scores = torch.bmm(self.to_query(x), self.to_key(x).transpose(1, 2))
        weights = scores.softmax(dim=-1) * self.factor
        return torch.bmm(weights, self.to_value(x)), weights


class ReshapesIntoHeads(torch.nn.Module):
    """Self-attention of several heads without any factor. The heads are made by a reshape alone: it splits the numbers of a sentence, in their
    order in memory, into as many blocks as there are heads, so that a head gets whole neighbouring positions instead of a part of every position.
    """

    def __init__(self, input_dim, dim_k, dim_v, num_heads):
        super().__init__()
        self.to_query = torch.nn.Linear(input_dim, dim_k)
        self.to_key = torch.nn.Linear(input_dim, dim_k)
        self.to_value = torch.nn.Linear(input_dim, dim_v)
        self.num_heads = num_heads

    def forward(self, x):
        B, S, _ = x.shape
        q, k, v = (layer(x).reshape(B, self.num_heads, S, -1) for layer in (self.to_query, self.to_key, self.to_value))
        weights = torch.matmul(q, k.transpose(2, 3)).softmax(dim=-1)
        return torch.matmul(weights, v).reshape(B, S, -1), weights


def set_up(module, random):
    """Random parameters that F32 can represent, their names in heed, and the module's result for random words."""
    tensors = {"queries": narrow(random.standard_normal((2, 4, 5)))}
    module.double()
    for letter, layer in (("q", module.to_query), ("k", module.to_key), ("v", module.to_value)):
        for name, parameter in layer.named_parameters():
            values = narrow(random.standard_normal(parameter.shape) / np.sqrt(5))
            tensors[f"W_{letter}.{name}"] = values
            parameter.data = torch.from_numpy(wide(values))
    with torch.no_grad():
        output, weights = module(torch.from_numpy(wide(tensors["queries"])))
    projected = [project(exact(wide(tensors["queries"])), wide(tensors[f"W_{letter}.weight"]), wide(tensors[f"W_{letter}.bias"])) for letter in "qkv"]
    return tensors, projected, output.numpy(), weights.numpy()


def scales_after_softmax():
    module = ScalesAfterSoftmax(input_dim=5, dim_k=3, dim_v=4)
    tensors, (q, k, _), output, weights = set_up(module, np.random.RandomState(201))
    factor = module.factor
    # heed's W_v is the class's times the factor, with each number rounded once.
    W_v, b_v = (factor * wide(tensors[f"W_v.{name}"]) for name in ("weight", "bias"))
    column = Number(W_v.T, U * np.abs(W_v.T), STEP * np.square(W_v.T))
    v = sum_of_products(exact(wide(tensors["queries"])), column, 3, b_v)
    own = attend(dot_scores(q, k, 1.0), v)
    class_weights = scaled(own[1], factor)
    assert np.abs(class_weights.value - weights).max() < 1e-12
    class_weights = Number(weights, class_weights.bound + U * weights, class_weights.variance + STEP * weights**2)
    # heed's weights also have the axis of the single head.
    own = (own[0], own[1].map(lambda x: x[:, None]), own[2].map(lambda x: x[:, None]))
    tensors.update(result_tensors("class_weights", class_weights), output=output)
    write("teaching_scales_after_softmax", "PyTorch class with 1/sqrt(dim_k) after the softmax; class_weights are what it returns",
          "num_heads 1, head_size 3, value_head_size 4, no_output_projection, biases Q K V, scale 1; W_v times 1/sqrt(3)", tensors, own)


def reshapes_into_heads():
    module = ReshapesIntoHeads(input_dim=5, dim_k=4, dim_v=6, num_heads=2)
    tensors, projected, output, weights = set_up(module, np.random.RandomState(202))
    q, k, v = (x.map(lambda y: y.reshape(2, 2, 4, -1)) for x in projected)
    heads, own_weights, log_sum_exp = attend(dot_scores(q, k, 1.0), v)
    tensors.update(output=output, weights=weights)
    write("teaching_reshapes_into_heads", "PyTorch class that makes heads by a reshape alone, without scale",
          "dot-product attention of rank 4 on reshaped projections, scale 1", tensors,
          (heads.map(lambda x: x.reshape(2, 4, -1)), own_weights, log_sum_exp))


def random_inputs(random, B=2, Q=4, K=5, Dq=3, Dk=3, Dv=4):
    return {name: narrow(random.standard_normal(shape)) for name, shape in
            (("queries", (B, Q, Dq)), ("keys", (B, K, Dk)), ("values", (B, K, Dv)))}


def vaswani():
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V, "Attention Is All You Need", 2017, equation 1."""
    tensors = random_inputs(np.random.RandomState(203))
    q, k, v = (wide(tensors[name]) for name in ("queries", "keys", "values"))
    weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(3))
    tensors.update(output=weights @ v, weights=weights)
    write("teaching_vaswani", "scaled dot product", "none", tensors, attend(dot_scores(exact(q), exact(k), 1 / np.sqrt(3)), exact(v)))


def luong_dot():
    """score(h_t, h_s) = h_t . h_s, "Effective Approaches to Attention-based Neural Machine Translation", 2015, section 3.1, "dot"."""
    tensors = random_inputs(np.random.RandomState(204))
    q, k, v = (wide(tensors[name]) for name in ("queries", "keys", "values"))
    weights = softmax(np.einsum("bqd,bkd->bqk", q, k))
    tensors.update(output=weights @ v, weights=weights)
    write("teaching_luong_dot", "dot product without scale", "scale 1", tensors, attend(dot_scores(exact(q), exact(k), 1.0), exact(v)))


def luong_general():
    """score(h_t, h_s) = h_t . W_a h_s, the same section, "general"."""
    random = np.random.RandomState(205)
    tensors = random_inputs(random, Dq=4, Dk=3)
    tensors["W_a"] = narrow(random.standard_normal((4, 3)))
    q, k, v, W_a = (wide(tensors[name]) for name in ("queries", "keys", "values", "W_a"))
    weights = softmax(np.einsum("bqd,de,bke->bqk", q, W_a, k))
    tensors.update(output=weights @ v, weights=weights[:, None])
    own = attend(dot_scores(project(exact(q), W_a.T), exact(k), 1.0), exact(v))
    write("teaching_luong_general", "bilinear score; W_a (size of queries, size of keys)",
          "num_heads 1, head_size 3, value_head_size 4, no_output_projection, scale 1; W_q is W_a transposed, W_k and W_v are identities",
          tensors, (own[0], own[1].map(lambda x: x[:, None]), own[2].map(lambda x: x[:, None])))


def luong_concat():
    """score(h_t, h_s) = v_a . tanh(W_a [h_t; h_s]), the same section, "concat"."""
    random = np.random.RandomState(207)
    tensors = random_inputs(random, Dq=4, Dk=3)
    tensors["W_a"] = narrow(random.standard_normal((5, 4 + 3)))
    tensors["v_a"] = narrow(random.standard_normal(5))
    q, k, v, W_a, v_a = (wide(tensors[name]) for name in ("queries", "keys", "values", "W_a", "v_a"))
    pairs = [np.broadcast_to(x, (2, 4, 5, x.shape[-1])) for x in (q[:, :, None], k[:, None])]
    weights = softmax(np.tanh(np.concatenate(pairs, axis=-1) @ W_a.T) @ v_a)
    tensors.update(output=weights @ v, weights=weights)
    scores = additive_scores(*(project(exact(x), W).map(lambda y: y[:, None]) for x, W in ((q, W_a[:, :4]), (k, W_a[:, 4:]))), v_a[None], 1.0)
    own = attend(scores, exact(v[:, None]))
    write("teaching_luong_concat", "additive score; W_a (num_hiddens, size of queries + size of keys)",
          "num_hiddens 5; W_q and W_k are the left and the right part of W_a", tensors, [x.map(lambda y: y[:, 0]) for x in own])


def d2l_java():
    """Scores divided by sqrt(2), whatever the size. Hidden scores are replaced by -10^6 before the softmax, so a row
    without visible keys is uniform."""
    tensors = random_inputs(np.random.RandomState(206))
    tensors["valid_lens"] = np.array([[0, 3, 5, 1], [2, 0, 4, 5]], np.int32)
    q, k, v = (wide(tensors[name]) for name in ("queries", "keys", "values"))
    visible = np.arange(5) < tensors["valid_lens"][:, :, None]
    weights = softmax(np.where(visible, q @ k.transpose(0, 2, 1) / np.sqrt(2), -1e6))
    # The scale is a float, so 1/sqrt(2) is rounded. The bound includes the rounding of the scale.
    tensors.update(output=weights @ v, weights=weights)
    write("teaching_d2l_java", "scores divided by sqrt(2), uniform weights where no key is valid", "scale 0.70710678, empty_rows mean", tensors,
          attend(dot_scores(exact(q), exact(k), 1 / np.sqrt(2)), exact(v), visible, empty_rows_mean=True))


if __name__ == "__main__":
    torch.set_num_threads(1)
    four_words()
    scales_after_softmax()
    reshapes_into_heads()
    vaswani()
    luong_dot()
    luong_general()
    luong_concat()
    d2l_java()
