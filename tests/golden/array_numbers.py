# SPDX-License-Identifier: Apache-2.0
"""The numbers and layouts of the inputs of data/arrays.txt, for make_arrays.py."""

import itertools
import math

import numpy as np

from array_table import FLOATS, NUMPY, Array

RANDOM = np.random.default_rng(44)
NAN, INF = math.nan, math.inf

FLOAT_SPECIALS = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 0.1]
# Subnormal ones, the smallest and the largest normal ones, and one with a fraction that is lost by an addition of 1.
SPECIALS = {
    "F32": FLOAT_SPECIALS + [1e-45, -1e-40, 1.17549435e-38, 3.4028235e38, -3.4028235e38, 8388607.5],
    "F64": FLOAT_SPECIALS + [5e-324, -1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308,
                             4503599627370495.5],
    "F16": FLOAT_SPECIALS + [6e-8, -6.1e-5, 65504, -65504, 1023.5],
    "BF16": FLOAT_SPECIALS + [1e-40, -1.1663108e-38, 3.3895314e38, 127.5],
    "I32": [0, 1, -1, 2, -3, 7, 46341, 2**31 - 1, -2**31, -2**31 + 1],
    "I64": [0, 1, -1, 2, -3, 7, 3037000500, 2**63 - 1, -2**63, -2**63 + 1],
    "BOOL": [0, 1], "I8": [0, 1, -128], "U8": [0, 1, 255],
}


def magnitudes(dtype, count):
    """Numbers of both signs over all exponents, and more of them near 1."""
    limits = {"F32": (-149, 127), "F64": (-1074, 1023), "F16": (-24, 15), "BF16": (-133, 127)}[dtype]
    exponents = np.concatenate([RANDOM.uniform(*limits, count // 2), RANDOM.uniform(-4, 6, count - count // 2)])
    return Array(dtype, 2.0 ** exponents * RANDOM.choice([-1, 1], count)).values


def numbers(dtype, shape):
    """Small ones, of which some are equal."""
    size = math.prod(shape)
    if dtype == "BOOL":
        return Array(dtype, RANDOM.integers(0, 2, shape))
    values = RANDOM.integers(1 if dtype == "U8" else -9, 10, shape)
    return Array(dtype, values / 4 if dtype in FLOATS else values) if size else Array(dtype, np.zeros(shape))


def repeated(array):
    """With equal elements along the first axis, in one memory."""
    return Array(array.dtype, np.broadcast_to(array.values[:1], array.shape), "repeated")


def layouts_of(shape, rounds=1, dtypes=("F32", "BOOL", "I64", "F16")):
    """Arrays of every layout, with elements of every size."""
    names = itertools.cycle(dtypes)
    for _ in range(rounds):
        yield from (list(layouts(numbers(next(names), shape)))[i] for i in range(5))


def layouts(array):
    for layout in ("transposed", "stepped", "reversed", "sliced"):
        yield array.with_layout(layout)
    yield repeated(array)


def whole(dtype, values, layout=""):
    return Array(dtype, np.array(values, NUMPY[dtype]), layout)
