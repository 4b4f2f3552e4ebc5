# SPDX-License-Identifier: Apache-2.0
"""Attention weights in float64, computed from a safetensors file by the formula alone: the numbers that a page must
show."""

import json
import math
import struct
from array import array

UNIT = 2.0 ** -24
CODES = {"F64": "d", "F32": "f", "I32": "i", "I64": "q", "BOOL": "B"}


class Tensor:
    def __init__(self, dims, elements):
        self.dims, self.elements = dims, elements

    def rows(self):
        """The elements of the last axis as lists, in order."""
        size = self.dims[-1]
        return [self.elements[i:i + size] for i in range(0, len(self.elements), size)]


def read_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = Tensor(entry["shape"], list(array(CODES[entry["dtype"]], content[begin:end])))
    return tensors


def write_safetensors(path, tensors):
    header, content = {}, b""
    for name, (dtype, dims, elements) in tensors.items():
        data = array(CODES[dtype], elements).tobytes()
        header[name] = {"dtype": dtype, "shape": dims, "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def project(rows, matrix):
    """rows @ matrix.T, with the largest error of float32."""
    values = [[sum(x * w for x, w in zip(row, out)) for out in matrix] for row in rows]
    errors = [[(len(row) + 1) * UNIT * sum(abs(x * w) for x, w in zip(row, out)) for out in matrix] for row in rows]
    return values, errors


def softmax(scores, errors):
    """The softmax over the visible scores (hidden ones are None), with the bound of each weight."""
    seen = [s for s in scores if s is not None]
    if not seen:
        return [0.0] * len(scores), [0.0] * len(scores)
    if any(math.isnan(s) for s in seen):
        return [0.0 if s is None else math.nan for s in scores], [0.0] * len(scores)
    largest = max(seen)
    powers = [0.0 if s is None else math.exp(s - largest) for s in scores]
    weights = [power / sum(powers) for power in powers]
    # The errors of the score and of the largest score, the roundings of exp's argument and of exp itself, and that of
    # the sum.
    relative = 2 * max(errors) + UNIT * (2 * max(largest - s for s in seen) + len(scores) + 16)
    return weights, [weight * math.expm1(relative) + (2.0 ** -126 if weight else 0.0) for weight in weights]


def attention_weights(path, num_heads):
    """The weights (H, Q, K) with their bounds, for the first batch element of a file."""
    tensors = read_safetensors(path)
    queries = tensors["queries"]
    keys = tensors.get("keys", queries)
    num_queries, num_keys = queries.dims[1], keys.dims[1]
    valid_len = tensors["valid_lens"].elements[0] if "valid_lens" in tensors else num_keys
    mask = tensors["mask"].rows() if "mask" in tensors else [[1] * num_keys] * num_queries
    q, q_errors = project(queries.rows()[:num_queries], tensors["attention.W_q.weight"].rows())
    k, k_errors = project(keys.rows()[:num_keys], tensors["attention.W_k.weight"].rows())
    size = len(q[0]) // num_heads
    scale = 1 / math.sqrt(size)
    weights, bounds = [], []
    for h in range(num_heads):
        part = slice(h * size, (h + 1) * size)
        head = []
        for i in range(num_queries):
            scores, errors = [None] * num_keys, [0.0] * num_keys
            for j in range(num_keys):
                if j >= valid_len or not mask[i][j]:
                    continue
                a, b, da, db = q[i][part], k[j][part], q_errors[i][part], k_errors[j][part]
                scores[j] = scale * sum(x * y for x, y in zip(a, b))
                size_of_score = sum(abs(x * y) for x, y in zip(a, b))
                inherited = sum(abs(x) * dy + dx * abs(y) + dx * dy for x, y, dx, dy in zip(a, b, da, db))
                errors[j] = scale * (inherited + (size + 4) * UNIT * size_of_score)
            head.append(softmax(scores, errors))
        weights.append([row for row, _ in head])
        bounds.append([row for _, row in head])
    return weights, bounds
