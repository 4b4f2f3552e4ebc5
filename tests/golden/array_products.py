# SPDX-License-Identifier: Apache-2.0
"""The cases of data/arrays.txt for products of matrices, softmax and rotations, for make_arrays.py."""

import numpy as np

from array_numbers import INF, NAN, RANDOM, layouts, numbers, whole
from array_table import FLOATS, INTEGERS, NUMBERS, NUMPY, SMALL_FLOATS, Array, Refused, Within, case, computed_in


def common(a, b):
    if a == b:
        return a
    if "F64" in (a, b):
        return "F64"
    if a in INTEGERS and b in INTEGERS:
        return "I64"
    return b if a in INTEGERS else a if b in INTEGERS else "F32"


def product(a, b):
    """Of quarters, which are exact; integers wrap around."""
    dtype = common(a.dtype, b.dtype)
    wide = NUMPY[computed_in(dtype)]
    return case("matmul", [a, b], [Array(dtype, a.values.astype(wide) @ b.values.astype(wide))])


def products():
    for a in NUMBERS:
        for b in NUMBERS:
            if a != b and {a, b} <= set(SMALL_FLOATS):
                yield case("matmul", [numbers(a, (2, 3)), numbers(b, (3, 4))], [Refused("F32", (2, 4))])
            else:
                yield product(numbers(a, (2, 3)), numbers(b, (3, 4)))
    for dtype in ("F64", "I32", "F32"):
        for first, second in (((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((4, 1, 2, 3), (5, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3)),
                              ((2, 70, 3), (3, 67)), ((1, 300), (300, 2))):
            yield product(numbers(dtype, first), numbers(dtype, second))
        for a in layouts(numbers(dtype, (2, 3, 4))):
            yield product(a, numbers(dtype, (4, 2)))
            yield product(numbers(dtype, (5, 3)), a)
    yield product(whole("I32", [[2**31 - 1, 46341]]), whole("I32", [[2], [46341]]))
    yield product(whole("I64", [[2**63 - 1, 1]]), whole("I64", [[3], [5]]))
    for first, second in (((2, 3), (2, 3)), ((), (3,)), ((2, 2, 3), (3, 3, 4))):
        yield case("matmul", [numbers("F64", first), numbers("F64", second)], [Refused("F64", (2, 4))])
    yield case("matmul", [numbers("BOOL", (2, 2)), numbers("BOOL", (2, 2))], [Refused("F32", (2, 2))])
    yield case("matmul", [numbers("F64", (2, 2)), numbers("F32", (2, 2))], [Refused("F32", (2, 2))])


def softmax(array, axis, is_logarithm):
    """In F64, from numbers with more digits."""
    x = array.values.astype(np.longdouble)
    distance = x - x.max(axis, keepdims=True)
    total = np.exp(distance).sum(axis, keepdims=True)
    units = x.shape[axis] + 8
    if is_logarithm:
        result = distance - np.log(total)
        return case("log_softmax", [array], [Within("F64", result, (units + 2 * np.abs(result)) * 2.0**-53)], axis=axis)
    result = np.exp(distance) / total
    return case("softmax", [array], [Within("F64", result, (units + np.minimum(np.abs(distance), 800)) * 2.0**-53 * result)], axis=axis)


def softmaxes():
    for is_logarithm in (False, True):
        for array in layouts(numbers("F64", (3, 4, 2))):
            for axis in (0, 1, -1):
                yield softmax(array, axis, is_logarithm)
        yield softmax(Array("F64", RANDOM.normal(0, 100, (2, 50))), 1, is_logarithm)
        yield softmax(Array("F64", [[-1e308, 1e308], [1e-310, 0]]), 1, is_logarithm)
    yield case("softmax", [Array("F64", [NAN, 1])], [Array("F64", [NAN, NAN])], axis=0)
    yield case("softmax", [Array("F64", [-INF, 7])], [Array("F64", [0, 1])], axis=0)
    yield case("softmax", [numbers("I32", (2, 2))], [Refused("F32", (2, 2))], axis=0)
    yield case("log_softmax", [numbers("F64", (2, 2))], [Refused("F64", (2, 2))], axis=2)


def rotation(tensor, cosines, sines, positions, is_interleaved):
    """As the operator RotaryEmbedding of ONNX says: quarters, whose products are exact."""
    wide = NUMPY[computed_in(tensor.dtype)]
    rows = (positions.values,) if positions is not None else (slice(None),)
    c, s = (table.values.astype(wide) if table.values.ndim == 3 else table.values.astype(wide)[rows] for table in (cosines, sines))
    x = tensor.values.astype(wide)
    if x.ndim == 4 and c.ndim == 3:
        c, s = c[:, None], s[:, None]
    pairs = c.shape[-1]
    first = np.s_[..., 0 : 2 * pairs : 2] if is_interleaved else np.s_[..., :pairs]
    second = np.s_[..., 1 : 2 * pairs : 2] if is_interleaved else np.s_[..., pairs : 2 * pairs]
    rotated = x.copy()
    rotated[first] = x[first] * c - x[second] * s
    rotated[second] = x[first] * s + x[second] * c
    inputs = [tensor, cosines, sines, positions]
    return case("rotary_embedding", inputs, [Array(tensor.dtype, rotated)], layout=2 if is_interleaved else 1)


def rotations():
    for dtype in FLOATS:
        for is_interleaved in (False, True):
            for shape in ((3, 4), (2, 3, 4), (2, 5, 3, 6)):
                table = numbers("F32", (3, 2))
                yield rotation(numbers(dtype, shape), table, numbers("F32", (3, 2)), None, is_interleaved)
                positions = whole("I64", RANDOM.integers(0, 7, 3))
                yield rotation(numbers(dtype, shape), numbers("F64", (7, 2)), numbers("F16", (7, 2)), positions, is_interleaved)
            yield rotation(numbers(dtype, (2, 5, 3, 4)), numbers("F32", (2, 3, 2)), numbers("F32", (2, 3, 2)), None, is_interleaved)
            positions = whole("I32", RANDOM.integers(0, 4, (2, 3)))
            yield rotation(numbers(dtype, (2, 5, 3, 4)), numbers("F32", (4, 1)), numbers("F32", (4, 1)), positions, is_interleaved)
    for tensor in layouts(numbers("F32", (2, 3, 4))):
        yield rotation(tensor, numbers("F32", (3, 2)), numbers("F32", (3, 2)), None, False)
    tensor, table = numbers("F32", (2, 3, 4)), numbers("F32", (3, 2))
    outside = whole("I64", [0, 3, 1])
    for inputs, layout in (([tensor, table, table, None], 0), ([tensor, table, table, None], 3), ([tensor, table, table, outside], 1),
                           ([tensor, numbers("F32", (3, 3)), numbers("F32", (3, 3)), None], 1), ([tensor, table, numbers("F32", (3, 1)), None], 1),
                           ([tensor, numbers("I32", (3, 2)), table, None], 1), ([tensor, table, table, whole("I64", [0, 1])], 1)):
        yield case("rotary_embedding", inputs, [Refused("F32", (2, 3, 4))], layout=layout)
    yield case("rotary_embedding", [numbers("I32", (3, 4)), table, table, None], [Refused("I32", (3, 4))], layout=1)


def cases():
    yield from products()
    yield from softmaxes()
    yield from rotations()
