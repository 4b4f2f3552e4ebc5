# SPDX-License-Identifier: Apache-2.0
"""The cases of data/arrays.txt for sorting, indices and concatenation, for make_arrays.py."""

import itertools

import numpy as np

from array_numbers import RANDOM, SPECIALS, layouts, layouts_of, numbers, whole
from array_table import INTEGERS, NUMPY, Array, Refused, case


def order(values, axis, descending):
    """As argsort of kind "stable", also from the largest on, where NaN is the largest number."""
    ranks = np.unique(values, return_inverse=True)[1].reshape(values.shape).astype(np.int64)
    ascending = np.argsort(ranks, axis, "stable")
    np.testing.assert_array_equal(ascending, np.argsort(values, axis, "stable"))
    return np.argsort(-ranks, axis, "stable") if descending else ascending


def sort_cases(array, axis, descending, function="sort", k=None):
    indices = order(array.values, axis, descending)
    if k is not None:
        indices = np.take(indices, range(k), axis)
    values = Array(array.dtype, np.take_along_axis(array.values, indices, axis))
    places = Array("I64", indices)
    parameters = {"axis": axis, "descending": descending} if k is None else {"axis": axis, "largest": descending}
    return case(function, [array], [values, places], **parameters)


def sorts():
    for dtype in NUMPY:
        special = Array(dtype, RANDOM.permutation(SPECIALS[dtype] * 2))
        for descending in (0, 1):
            yield sort_cases(special, 0, descending)
            yield sort_cases(numbers(dtype, (2, 3, 4)), 1, descending)
            yield sort_cases(Array(dtype, special.values[:12]), -1, descending, "top_k", 3)
            yield sort_cases(numbers(dtype, (3, 5)), 1, descending, "top_k", 2)
            yield sort_cases(numbers(dtype, (4, 2)), 0, descending, "top_k", 4)
    for number, array in enumerate(layouts_of((3, 4), 2)):
        yield sort_cases(array, number % 2, number // 2 % 2)
        yield sort_cases(array, (number + 1) % 2, number // 2 % 2, "top_k", 2)
    for shape, axis in (((0,), 0), ((2, 0), 0), ((2, 0), 1), ((1,), 0), ((1, 3, 1), 2), ((70,), 0), ((2, 40), 1)):
        yield sort_cases(numbers("F32", shape), axis, 0)
        yield sort_cases(numbers("I64", shape), axis, 1)
    yield sort_cases(numbers("F32", (3,)), 0, 1, "top_k", 0)
    yield sort_cases(numbers("F32", (2, 50)), 1, 1, "top_k", 7)
    array = numbers("F32", (2, 3))
    indices, values = order(array.values, 1, 0), np.sort(array.values, 1)
    yield case("sort", [array], [None, Array("I64", indices)], axis=1, descending=0)
    yield case("sort", [array], [Array("F32", values), None], axis=1, descending=0)
    yield case("top_k", [array], [None, Array("I64", indices[:, :2])], axis=1, largest=0)
    yield case("top_k", [array], [Array("F32", values[:, :1]), None], axis=-1, largest=0)
    yield from refused_sorts(array)


def refused_sorts(array):
    for function, option in (("sort", "descending"), ("top_k", "largest")):
        good = [Refused("F32", (2, 3)), Refused("I64", (2, 3))]
        for results, axis, flag in (([None, None], 0, 0), (good, 2, 0), (good, -3, 1), (good, 0, 2), (good, 0, -1),
                                    ([Refused("F64", (2, 3)), None], 0, 0), ([None, Refused("I32", (2, 3))], 0, 0),
                                    ([Refused("F32", (3, 2)), None], 0, 0)):
            yield case(function, [array], results, **{"axis": axis, option: flag})
    yield case("top_k", [array], [Refused("F32", (2, 4)), None], axis=1, largest=1)
    yield case("top_k", [array], [Refused("F32", (2, 2)), Refused("I64", (2, 1))], axis=1, largest=1)
    yield case("top_k", [array], [Refused("F32", (1, 2)), None], axis=1, largest=1)
    yield case("sort", [array], [Refused("F32", (2, 2)), None], axis=1, descending=0)


def gather_case(array, indices, axis):
    others = list(array.shape)
    others[axis] = indices.shape[axis]
    places = np.broadcast_to(indices.values, others)
    return case("gather", [array, indices], [Array(array.dtype, np.take_along_axis(array.values, places, axis))], axis=axis)


def take_case(array, indices, axis):
    return case("take", [array, indices], [Array(array.dtype, np.take(array.values, indices.values, axis))], axis=axis)


def gathers():
    for dtype, kind in zip(NUMPY, itertools.cycle(INTEGERS)):
        array = numbers(dtype, (2, 3, 4))
        yield gather_case(array, whole(kind, RANDOM.integers(-3, 3, (2, 5, 4))), 1)
        yield gather_case(array, whole(kind, RANDOM.integers(-4, 4, (1, 3, 2))), -1)
        yield gather_case(array, whole(kind, [[[1]], [[0]], [[-2]]]), 0)
        yield take_case(array, whole(kind, [2, -1, 0, 0, -3]), 1)
        yield take_case(array, whole(kind, [[1, 0], [-1, 1]]), 0)
        yield take_case(array, whole(kind, 3), -1)
    for array, kind in zip(layouts_of((3, 4)), itertools.cycle(INTEGERS)):
        yield gather_case(array, whole(kind, [[0, -1, 2, 1]], "reversed"), 0)
        yield take_case(array, whole(kind, [[3, -4], [1, 0]], "transposed"), 1)
    special = Array("F32", SPECIALS["F32"])
    backwards = whole("I64", np.arange(len(SPECIALS["F32"]))[::-1].copy())
    yield gather_case(special, backwards, 0)
    yield take_case(special, backwards, 0)
    yield gather_case(numbers("F32", (2, 3)), whole("I32", np.zeros((2, 0))), 1)
    yield gather_case(numbers("F32", (0, 3)), whole("I32", np.zeros((0, 2))), 1)
    yield gather_case(numbers("F32", (2, 0)), whole("I64", np.zeros((1, 0))), 0)
    yield take_case(numbers("F32", (2, 3)), whole("I32", np.zeros(0)), 0)
    yield take_case(numbers("F32", (2, 0)), whole("I32", [1, 1, -1]), 0)
    yield take_case(numbers("F32", (2, 3)), whole("I32", np.zeros((2, 0, 1))), 1)
    yield take_case(numbers("F32", (1,)), whole("I64", -1), 0)
    yield from refused_gathers(numbers("F32", (2, 3)))


def refused_gathers(array):
    for indices in ([3, 0], [-4, 0], [2**31 - 1, 0], [0, -2**31], [0, 2**62]):
        kind = "I64" if 2**62 in indices else "I32"
        yield case("take", [array, whole(kind, indices)], [Refused("F32", (2, 2))], axis=1)
        yield case("gather", [array, whole(kind, [indices])], [Refused("F32", (2, 2))], axis=1)
    for axis, kind, dtype, dims in ((2, "I32", "F32", (2, 2)), (-3, "I32", "F32", (2, 2)), (1, "F32", "F32", (2, 2)),
                                    (1, "I8", "F32", (2, 2)), (1, "I32", "F64", (2, 2)), (1, "I32", "F32", (2, 3)),
                                    (1, "I32", "F32", (2,))):
        yield case("take", [array, Array(kind, [0, 1])], [Refused(dtype, dims)], axis=axis)
        yield case("gather", [array, Array(kind, [[0, 1]])], [Refused(dtype, dims)], axis=axis)
    yield case("gather", [array, whole("I32", [0, 1])], [Refused("F32", (2, 2))], axis=1)
    yield case("gather", [array, whole("I32", [[0], [1], [0]])], [Refused("F32", (2, 1))], axis=1)
    yield case("take", [numbers("F32", (0, 3)), whole("I32", [0])], [Refused("F32", (1, 3))], axis=0)


def concatenate_case(arrays, axis):
    return case("concatenate", arrays, [Array(arrays[0].dtype, np.concatenate([array.values for array in arrays], axis))], axis=axis)


def concatenations():
    for dtype in NUMPY:
        yield concatenate_case([numbers(dtype, (2, 3)), numbers(dtype, (1, 3)), numbers(dtype, (2, 3))], 0)
        yield concatenate_case([numbers(dtype, (2, 1, 2)), numbers(dtype, (2, 3, 2))], 1)
        yield concatenate_case([numbers(dtype, (2, 2)), numbers(dtype, (2, 0)), numbers(dtype, (2, 3))], -1)
    for dtype in ("F32", "BOOL", "F64", "BF16"):
        for first, second in zip(layouts(numbers(dtype, (3, 4))), reversed(list(layouts(numbers(dtype, (3, 4)))))):
            yield concatenate_case([first, second], int(dtype == "F32"))
    yield concatenate_case([Array("F32", SPECIALS["F32"])], 0)
    yield concatenate_case([numbers("F32", (0,)), numbers("F32", (0,))], 0)
    yield concatenate_case([numbers("F32", (1, 1))] * 5, 1)
    array = numbers("F32", (2, 3))
    for second, axis, dtype, dims in ((numbers("F32", (2, 2)), 0, "F32", (4, 3)), (numbers("F32", (3,)), 0, "F32", (3, 3)),
                                      (numbers("F64", (2, 3)), 0, "F32", (4, 3)), (array, 0, "F64", (4, 3)), (array, 0, "F32", (3, 3)),
                                      (array, 2, "F32", (4, 3)), (array, -3, "F32", (4, 3)), (array, 1, "F32", (4, 3))):
        yield case("concatenate", [array, second], [Refused(dtype, dims)], axis=axis)
    yield case("concatenate", [numbers("F32", ()), numbers("F32", ())], [Refused("F32", (2,))], axis=0)
    yield case("concatenate", [], [Refused("F32", (0,))], axis=0)


def cases():
    for group in (sorts, gathers, concatenations):
        yield from group()
