#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the file of keras_test.cc: multi-head attention with its kernels laid out as by keras.layers.MultiHeadAttention, in float64 NumPy.

    /usr/bin/python3 make_keras.py               (Debian: python3-numpy)

Keras keeps an axis for the heads in each kernel, and sums over axes by name:

    query/kernel (Eq, N, H), key/kernel (Ek, N, H), value/kernel (Ev, N, V), their biases (N, H), (N, H), (N, V)
    attention_output/kernel (N, V, O), bias (O)

for N heads of size H (key_dim), V (value_dim), and an output of size O (output_shape). Its attention_mask (B,Q,K) is true where a query may
attend, as heed's; its use_causal_mask lets query i see keys up to i.
"""

import numpy as np

import golden_file
from float32_error import attend, dot_scores, exact, merge_heads, project, results, split_heads, summary
from golden_file import narrow, wide

B, Q, K = 2, 4, 6
EQ, EK, EV, N, H, V, O = 5, 6, 7, 2, 3, 4, 8


def main():
    random = np.random.RandomState(301)
    shapes = {
        "query": (B, Q, EQ), "value": (B, K, EV), "key": (B, K, EK),
        "query/kernel": (EQ, N, H), "query/bias": (N, H), "key/kernel": (EK, N, H), "key/bias": (N, H),
        "value/kernel": (EV, N, V), "value/bias": (N, V), "attention_output/kernel": (N, V, O), "attention_output/bias": (O,),
    }
    tensors = {name: narrow(random.standard_normal(shape) / (np.sqrt(6) if "kernel" in name else 1.0)) for name, shape in shapes.items()}
    attention_mask = random.random_sample((B, Q, K)) < 0.7
    attention_mask[:, :, 0] = True
    tensors["attention_mask"] = attention_mask
    numbers = {name: wide(tensor) for name, tensor in tensors.items() if name in shapes}

    # ---- as in Keras
    q, k, v = (np.einsum("bse,enh->bsnh", numbers[name], numbers[name + "/kernel"]) + numbers[name + "/bias"] 
        for name in ("query", "key", "value"))
    visible = attention_mask & np.tril(np.ones((Q, K), bool))
    scores = np.einsum("bqnh,bknh->bnqk", q / np.sqrt(H), k)
    exponentials = np.exp(scores) * visible[:, None]
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    heads = np.einsum("bnqk,bknv->bqnv", weights, v)
    output = np.einsum("bqnv,nvo->bqo", heads, numbers["attention_output/kernel"]) + numbers["attention_output/bias"]

    # ---- as matrix products, with error bounds
    def project_to_heads(name):
        kernel = numbers[name + "/kernel"]
        weight = kernel.reshape(kernel.shape[0], -1).T
        return project(exact(numbers[name]), weight, numbers[name + "/bias"].ravel()).map(lambda x: split_heads(x, N))

    q, k, v = (project_to_heads(name) for name in ("query", "key", "value"))
    own_heads, own_weights, log_sum_exp = attend(dot_scores(q, k, 1 / np.sqrt(H)), v, visible[:, None])
    own_output = project(
        own_heads.map(merge_heads), numbers["attention_output/kernel"].reshape(-1, O).T, numbers["attention_output/bias"])
    assert np.abs(own_output.value - output).max() < 1e-12 and np.abs(own_weights.value - weights).max() < 1e-12
    own_output.value, own_weights.value = output, weights

    tensors.update(results(own_output, own_weights, log_sum_exp))
    path = golden_file.write(
        "keras", tensors, "keras.layers.MultiHeadAttention(num_heads=2, key_dim=3, value_dim=4, output_shape=8), use_causal_mask",
        "num_heads 2, head_size 3, value_head_size 4, output_size 8, biases all, causal top-left",
        f"tests/golden/make_keras.py, seed 301, numpy {np.__version__}")
    print(f"{path.name:42} {path.stat().st_size:6} bytes, {summary(tensors)}")


if __name__ == "__main__":
    main()
