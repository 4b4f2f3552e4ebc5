# SPDX-License-Identifier: Apache-2.0
"""The cases of data/arrays.txt for reductions and cumulative sums, for make_arrays.py."""

import itertools
import math

import numpy as np

from array_numbers import INF, NAN, RANDOM, SPECIALS, layouts_of, numbers
from array_table import FLOATS, INTEGERS, NUMBERS, NUMPY, SMALL_FLOATS, Array, Near, Refused, Within, case, computed_in

REDUCTIONS = ("sum", "mean", "max", "min", "prod", "norm", "argmax", "argmin")


def reduced_dtype(reduction, dtype):
    if reduction.startswith("arg"):
        return "I64"
    if dtype in FLOATS or reduction in ("max", "min"):
        return dtype
    return "I64" if reduction in ("sum", "prod") else "F32"


def reduce_values(reduction, array, axes, keep, dtype):
    """axes: a tuple, or None for all."""
    values = array.values
    along = {"axis": axes if axes is None or len(axes) != 1 else axes[0], "keepdims": keep}
    if reduction.startswith("arg"):
        return Array(dtype, (np.argmax if reduction == "argmax" else np.argmin)(values, **along))
    if reduction in ("max", "min"):
        return Array(dtype, (np.max if reduction == "max" else np.min)(values, **along))
    along["axis"] = axes
    is_float = array.dtype in FLOATS
    count = np.sum(np.ones_like(values, np.int64), **along)
    n = int(count.flat[0]) if count.size else 1
    if not is_float and reduction in ("sum", "prod"):
        return Array(dtype, (np.sum if reduction == "sum" else np.prod)(values, dtype=np.int64, **along))
    if not is_float and reduction == "mean":
        exact = np.sum(values.astype(np.longdouble), **along)
        return Near(dtype, exact / n if n else np.full(exact.shape, NAN), 1)
    wide = values.astype(np.longdouble)
    unit = 2.0 ** (-53 if array.dtype == "F64" else -24)
    factor = ((math.log2(n) if n else 0) + 24) * unit
    sums, absolute = np.sum(wide, **along), np.sum(np.abs(wide), **along)
    if (wide == 0).all() and np.signbit(wide).all() and n:
        sums = -absolute  # as NumPy does from 1.25 on
    if reduction == "sum":
        return Within(dtype, sums, finite(factor * absolute))
    if reduction == "mean":
        mean = sums / n if n else np.full(np.shape(sums), NAN)
        return Within(dtype, mean, finite(factor * absolute / max(n, 1)))
    if reduction == "prod":
        product = np.prod(wide, **along)
        return Within(dtype, product, finite(n * unit * np.abs(product) + (0 if (product == 0).all() else tiny(array.dtype) * n)))
    norm = np.sqrt(np.sum(wide * wide, **along))
    return Within(dtype, norm, finite(factor * norm))


def tiny(dtype):
    return 2.0 ** (-1074 if dtype == "F64" else -149)


def finite(bounds):
    return np.where(np.isfinite(bounds), bounds, 0)


def reduce_case(reduction, array, along, keep=False, dtype=None, **parameters):
    return case(f"reduce.{reduction}", [array], [reduce_values(reduction, array, along, keep, dtype or
                                                               reduced_dtype(reduction, array.dtype))], **parameters)


def reductions():
    for reduction, dtype in itertools.product(REDUCTIONS, (*NUMBERS, "BOOL")):
        if dtype == "BOOL" and reduction == "norm":
            continue
        yield reduce_case(reduction, numbers(dtype, (2, 3, 4)), (1,), axis=1)
        yield reduce_case(reduction, numbers(dtype, (3, 5)), None)
        if dtype in SMALL_FLOATS and not reduction.startswith("arg"):
            yield reduce_case(reduction, numbers(dtype, (3, 5)), (0,), dtype="F32", axis=0)
    for reduction in REDUCTIONS:
        for array in layouts_of((3, 4), 1, ("F32", "F64", "I64", "F16", "I32")):
            yield reduce_case(reduction, array, (0,), axis=0)
            yield reduce_case(reduction, array, (1,), axis=-1)
        array = numbers("F32", (2, 3, 1, 2))
        for axis in (0, 2, -1):
            yield reduce_case(reduction, array, (axis % 4,), axis=axis)
            yield reduce_case(reduction, array, (axis % 4,), True, axis=axis)
        yield reduce_case(reduction, array, None, True)
        # One element, for all axes.
        yield reduce_case(reduction, numbers("F32", (2, 3)), None, axis=0)
        yield reduce_case(reduction, numbers("F32", ()), None)
        yield reduce_case(reduction, numbers("F32", ()), None, axis=-1)
        yield reduce_case(reduction, numbers("F32", (1, 1)), (0,), axis=0)
        yield reduce_case(reduction, numbers("I32", (2, 0, 3)), (2,), axis=2)
        yield reduce_case(reduction, numbers("F64", (2, 1, 3)), (1,), axes="1")
        if not reduction.startswith("arg"):
            for axes in ((0, 2), (3, 1), (-1, 1, 2), (0, 1, 2, 3)):
                yield reduce_case(reduction, array, tuple(axis % 4 for axis in axes), axes=listed(axes))
                yield reduce_case(reduction, array, tuple(axis % 4 for axis in axes), True, axes=listed(axes))
            yield reduce_case(reduction, array.with_layout("transposed"), (0, 2), axes="0,2")
            yield case(f"reduce.{reduction}", [numbers("F32", (2, 2))], [Refused("F32", (2, 2))], axes="none")
        yield from no_elements(reduction)
        yield from refused_reductions(reduction)
    yield from special_reductions()
    yield from long_reductions()


def listed(axes):
    return ",".join(map(str, axes))


def no_elements(reduction):
    for dtype in ("F32", "F64", "I32", "BOOL"):
        if dtype == "BOOL" and reduction == "norm":
            continue
        array = numbers(dtype, (0, 2))
        if reduction in ("sum", "mean", "prod", "norm"):
            yield reduce_case(reduction, array, (0,), axis=0)
            yield reduce_case(reduction, array, None)
        else:
            result = reduced_dtype(reduction, dtype)
            yield case(f"reduce.{reduction}", [array], [Refused(result, (2,))], axis=0)
            yield case(f"reduce.{reduction}", [array], [Refused(result, ())])


def refused_reductions(reduction):
    array = numbers("F32", (2, 3))
    dtype = reduced_dtype(reduction, "F32")
    name = f"reduce.{reduction}"
    yield case(name, [array], [Refused(dtype, (3,))], axis=2)
    yield case(name, [array], [Refused(dtype, (3,))], axis=-3)
    yield case(name, [array], [Refused(dtype, (2,))], axis=0)
    yield case(name, [array], [Refused(dtype, (2, 3))], axis=0)
    yield case(name, [array], [Refused(dtype, (3, 1))], axis=0)
    yield case(name, [array], [Refused(dtype, ())], axes="0,0")
    yield case(name, [array], [Refused(dtype, ())], axes="0,-2")
    yield case(name, [array], [Refused(dtype, (3,))], axes="5")
    yield case(name, [array], [Refused(dtype, (3,))], axes="1")
    yield case(name, [array], [Refused("I32", (3,))], axis=0)
    yield case(name, [numbers("I8", (2, 3))], [Refused("I64", (3,))], axis=0)
    yield case(name, [numbers("U8", (2, 3))], [Refused("U8", (3,))], axis=0)
    if reduction == "norm":
        yield case(name, [numbers("BOOL", (2, 3))], [Refused("F32", (3,))], axis=0)
    if reduction.startswith("arg"):
        yield case(name, [numbers("F32", (2, 3, 2))], [Refused("I64", (2,))], axes="0,1")


def special_reductions():
    for dtype in FLOATS:
        largest = float(Array(dtype, [1e300 if dtype == "F64" else 60000 if dtype == "F16" else 3e38]).values[0])
        rows = Array(dtype, [[1, NAN, 2, NAN], [INF, 1, 2, 3], [-INF, 1, 2, 3], [INF, -INF, 1, 0], [-0.0, -0.0, -0.0, -0.0],
                             [1, 1, -1, -1], [NAN, INF, -INF, 0], [5, 5, 7, 7], [-INF, -INF, -INF, -INF], [largest, 0, 0, 0]])
        step = 1 if dtype == "F32" else 2
        for number, reduction in enumerate(REDUCTIONS):
            for row in rows.values[number % step::step]:
                if reduction in ("prod", "sum") and largest in row and dtype in SMALL_FLOATS:
                    continue
                yield reduce_case(reduction, Array(dtype, row), (0,), axis=0)
            yield reduce_case(reduction, Array(dtype, rows.values[:, 1:].T), (1,), axis=1)
        small = float(Array(dtype, [1e-300 if dtype == "F64" else 6e-8 if dtype == "F16" else 1e-38]).values[0])
        yield reduce_case("norm", Array(dtype, [3 * small, 4 * small]), (0,), axis=0)
        yield reduce_case("norm", Array(dtype, [largest / 2, largest / 2]), (0,), axis=0)
    for dtype in INTEGERS:
        extremes = Array(dtype, SPECIALS[dtype])
        for reduction in REDUCTIONS:
            if (reduction, dtype) in (("mean", "I64"), ("norm", "I64")):
                extremes = Array(dtype, [2**40, -2**41 + 1, 7])
            yield reduce_case(reduction, extremes, (0,), axis=0)
    yield reduce_case("prod", Array("I32", [2**31 - 1, -2**31, 3, 5]), (0,), axis=0)
    yield reduce_case("argmax", Array("I64", [2**62, 2**62 + 1, 2**62 + 1]), (0,), axis=0)


def long_reductions():
    for dtype, shape, axis, names in (("F32", (530,), 0, ("sum",)), ("F64", (270,), 0, ("sum",)), ("F16", (300,), 0, ("mean",)),
                                      ("I32", (300,), 0, ("argmin",)), ("BOOL", (300,), 0, ("mean",)), ("F32", (40, 7), 0, ("sum", "max")),
                                      ("F32", (40, 7), 1, ("mean",)), ("BF16", (2, 40, 3), 1, ("norm",))):
        array = Array(dtype, RANDOM.integers(0, 2, shape) if dtype == "BOOL" else RANDOM.normal(size=shape).round(2))
        for reduction in names:
            yield reduce_case(reduction, array, (axis,), axis=axis)


def cumulative_sums():
    for dtype in (*NUMBERS, "BOOL"):
        for shape, axis in (((5,), 0), ((2, 3, 4), 1), ((3, 4), -1), ((0, 2), 0), ((2, 0), 0), ((1, 1), 1)):
            yield cumulative_case(numbers(dtype, shape), axis)
        if dtype != "BOOL":
            yield cumulative_case(Array(dtype, SPECIALS[dtype]), 0)
    for array in layouts_of((3, 4)):
        yield cumulative_case(array, 0)
        yield cumulative_case(array, 1)
    yield cumulative_case(Array("F32", RANDOM.normal(size=(40, 3)).round(3)), 0)
    yield cumulative_case(Array("F16", RANDOM.normal(size=40).round(3)), 0, "F32")
    yield cumulative_case(Array("BF16", RANDOM.normal(size=40).round(3)), 0)
    array = numbers("F32", (2, 3))
    for axis, dtype, shape in ((2, "F32", (2, 3)), (-3, "F32", (2, 3)), (0, "F64", (2, 3)), (0, "F32", (3, 2)), (0, "F32", (6,))):
        yield case("cumulative_sum", [array], [Refused(dtype, shape)], axis=axis)
    yield case("cumulative_sum", [numbers("I32", (3,))], [Refused("I32", (3,))], axis=0)
    yield case("cumulative_sum", [numbers("I8", (3,))], [Refused("I64", (3,))], axis=0)
    yield case("cumulative_sum", [numbers("U8", (3,))], [Refused("I64", (3,))], axis=0)


def cumulative_case(array, axis, dtype=None):
    computed = computed_in(array.dtype) if array.dtype in FLOATS else "I64"
    dtype = dtype or (array.dtype if array.dtype in FLOATS else "I64")
    return case("cumulative_sum", [array], [Array(dtype, np.cumsum(array.values, axis, NUMPY[computed]))], axis=axis)


def cases():
    for group in (reductions, cumulative_sums):
        yield from group()
