#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make_model.py: makes model.safetensors and tokens.safetensors beside it, from nothing but this script and config.json.

model.safetensors is the attention of a Llama with random weights, by the names of Hugging Face. tokens.safetensors has eight
tokens for it and the output that the formulas below give in f64. The bound of every number of the output is 16 times the largest
difference that it makes to round after each operation to f32: another order of the same sums gives other roundings.
"""

import json
import math
import random
import struct
from array import array
from pathlib import Path

HERE = Path(__file__).parent
CONFIG = json.loads((HERE / "config.json").read_text(encoding="utf-8"))
SIZE, HEADS = CONFIG["hidden_size"], CONFIG["num_attention_heads"]
KV_HEADS, HEAD_SIZE = CONFIG["num_key_value_heads"], CONFIG["head_dim"]
BASE = CONFIG["rope_parameters"]["rope_theta"]
TOKENS = 8

normal = random.Random(2023)


def f32(number):
    return array("f", [number])[0]


def f64(number):
    return number


def gauss(rows, columns, scale):
    return [[f32(normal.gauss(0, scale)) for _ in range(columns)] for _ in range(rows)]


def dot(a, b, rounded):
    total = 0.0
    for x, y in zip(a, b):
        total = rounded(total + rounded(x * y))
    return total


def heads_of(matrix, token, rounded):
    row = [dot(weights, token, rounded) for weights in matrix]
    return [row[begin : begin + HEAD_SIZE] for begin in range(0, len(row), HEAD_SIZE)]


def rotated(head, position, rounded):
    """Elements i and i + HEAD_SIZE / 2 are a pair, which is turned by position * BASE^(-2i / HEAD_SIZE)."""
    half = HEAD_SIZE // 2
    result = list(head)
    for i in range(half):
        angle = position * BASE ** (-2 * i / HEAD_SIZE)
        cosine, sine = rounded(math.cos(angle)), rounded(math.sin(angle))
        a, b = head[i], head[i + half]
        result[i] = rounded(rounded(a * cosine) - rounded(b * sine))
        result[i + half] = rounded(rounded(b * cosine) + rounded(a * sine))
    return result


def attend(weights, tokens, rounded):
    w_q, w_k, w_v, w_o = weights
    keys = [[rotated(head, p, rounded) for head in heads_of(w_k, token, rounded)] for p, token in enumerate(tokens)]
    values = [heads_of(w_v, token, rounded) for token in tokens]
    outputs = []
    for p, token in enumerate(tokens):
        merged = []
        for h, head in enumerate(heads_of(w_q, token, rounded)):
            query, group = rotated(head, p, rounded), h // (HEADS // KV_HEADS)
            seen = range(p + 1)
            scores = [rounded(dot(query, keys[k][group], rounded) / math.sqrt(HEAD_SIZE)) for k in seen]
            powers = [rounded(math.exp(score - max(scores))) for score in scores]
            total = dot(powers, [1.0] * len(powers), rounded)
            for d in range(HEAD_SIZE):
                merged.append(rounded(dot(powers, [values[k][group][d] for k in seen], rounded) / total))
        outputs.append([dot(row, merged, rounded) for row in w_o])
    return outputs


def write(path, tensors):
    header, content = {"__metadata__": {"format": "pt", "made_by": "examples/llama_attention/make_model.py"}}, b""
    for name, (dtype, shape, rows) in tensors.items():
        data = b"".join(array({"F32": "f", "F64": "d"}[dtype], row).tobytes() for row in rows)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def main():
    merged, of_keys = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE
    shapes = {"q": (merged, SIZE), "k": (of_keys, SIZE), "v": (of_keys, SIZE), "o": (SIZE, merged)}
    weights = {name: gauss(rows, columns, columns**-0.5) for name, (rows, columns) in shapes.items()}
    tokens = gauss(TOKENS, SIZE, 1.0)
    outputs, in_f32 = (attend(list(weights.values()), tokens, rounded) for rounded in (f64, f32))
    bound = 16 * max(abs(a - b) for row, other in zip(outputs, in_f32) for a, b in zip(row, other))
    write(HERE / "model.safetensors", {
        f"model.layers.0.self_attn.{name}_proj.weight": ("F32", shapes[name], rows) for name, rows in weights.items()
    })
    shape = (1, TOKENS, SIZE)
    write(HERE / "tokens.safetensors", {
        "hidden_states": ("F32", shape, tokens),
        "output": ("F64", shape, outputs),
        "bound": ("F64", shape, [[bound] * SIZE] * TOKENS),
    })
    print(f"{TOKENS} tokens, bound {bound:.1e}")


if __name__ == "__main__":
    main()
