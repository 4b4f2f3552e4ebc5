# SPDX-License-Identifier: Apache-2.0
"""The cases of data/arrays.txt for functions of single elements, for make_arrays.py."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np

from array_numbers import INF, NAN, RANDOM, SPECIALS, layouts, magnitudes, numbers
from array_table import FLOATS, INTEGERS, NUMBERS, NUMPY, SMALL_FLOATS, Array, Near, Refused, case, common


def larger(a, b):
    return checked(np.where((a >= b) | (a != a), a, b), np.maximum(a, b))


def smaller(a, b):
    return checked(np.where((a <= b) | (a != a), a, b), np.minimum(a, b))


def checked(values, numpys):
    """Of 0 and -0 NumPy gives either one, and heed the first."""
    np.testing.assert_array_equal(values, numpys)
    return values


def of_floats(function):
    return lambda x: function(x) if x.dtype.kind == "f" else x


OF_TWO = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "power": np.power,
          "remainder": np.remainder, "maximum": larger, "minimum": smaller}
TRUTHS = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
OF_ONE = {"negative": np.negative, "absolute": np.absolute, "sign": np.sign, "square": np.square, "round": of_floats(np.rint),
          "floor": of_floats(np.floor), "ceil": of_floats(np.ceil), "truncate": of_floats(np.trunc), "sqrt": np.sqrt}
PROPERTIES = {"is_nan": np.isnan, "is_infinite": np.isinf}
COMPARISONS = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
               "greater_equal": np.greater_equal}


def erf(x):
    """By its series at 0, which 80 digits suffice for."""
    if x != x or abs(x) > 6:
        return np.longdouble(x if x != x else math.copysign(1, x))
    with localcontext() as context:
        context.prec = 80
        number, total, n = Decimal(float(x)), Decimal(0), 0
        power = number
        while abs(power) > abs(total) * Decimal("1e-40"):
            total += power / (2 * n + 1)
            n += 1
            power *= -number * number / n
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
        return np.longdouble(math.copysign(0, x)) if total == 0 else np.longdouble(str(2 * total / pi.sqrt()))


# Functions in a wider type, and the units in the last place of F32 that heed.h and docs/arrays.md allow; of F64 these are 4.
REAL = {"exp": (np.exp, 1.5), "log": (np.log, 1.5), "sin": (np.sin, 1), "cos": (np.cos, 1), "tanh": (np.tanh, 2),
        "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 3), "erf": (np.vectorize(erf, otypes=[np.longdouble]), 2.5)}


def wider(values):
    return values.astype(np.longdouble if values.dtype == np.float64 else np.float64)


def near(dtype, numbers, units):
    return Near(dtype, numbers, 4 if dtype == "F64" else units)


def dims_of(*arrays):
    return np.broadcast_shapes(*(array.shape for array in arrays))


def element_case(function, a, b=None, dtype=None):
    """dtype: of the result, where it is not the common dtype."""
    inputs = [a] if b is None else [a, b]
    dims = dims_of(*inputs)
    shared = a.dtype if b is None else common(a.dtype, b.dtype)
    if function in TRUTHS:
        return case(function, inputs, [Array("BOOL", TRUTHS[function](*(array.values != 0 for array in inputs)))])
    if function == "logical_not":
        return case(function, inputs, [Array("BOOL", a.values == 0)])
    if function in COMPARISONS and a.dtype == b.dtype == "BOOL":
        return case(function, inputs, [Array("BOOL", COMPARISONS[function](a.values, b.values))])
    if shared not in NUMBERS:
        is_truth = function in COMPARISONS or function in PROPERTIES
        return case(function, inputs, [Refused("BOOL" if is_truth else dtype or "F32", dims)])
    if shared in INTEGERS and b is not None:
        is_refused = {"divide": True, "remainder": (b.values == 0).any(), "power": (b.values < 0).any()}.get(function, False)
        if is_refused:
            return case(function, inputs, [Refused(dtype or shared, dims)])
    if shared in INTEGERS and (function in REAL or function in PROPERTIES or function == "sqrt"):
        shared = "F32"
    values = [array.wide(shared) for array in inputs]
    result = dtype or shared
    if function in COMPARISONS:
        return case(function, inputs, [Array("BOOL", COMPARISONS[function](*values))])
    if function in PROPERTIES:
        return case(function, inputs, [Array("BOOL", PROPERTIES[function](*values))])
    if function in REAL:
        numbers, units = REAL[function]
        return case(function, inputs, [near(result, numbers(wider(values[0])), units)])
    if function == "power" and shared in FLOATS:
        return case(function, inputs, [near(result, np.power(*map(wider, values)), 1)])
    return case(function, inputs, [Array(result, (OF_TWO | OF_ONE)[function](*values))])


def special_elements():
    for dtype in NUMBERS:
        special = Array(dtype, SPECIALS[dtype])
        rows, columns = Array(dtype, special.values[:, None]), Array(dtype, SPECIALS[dtype][:8] + SPECIALS[dtype][-3:-1])
        # F16 and BF16 are computed as F32 is.
        for function in ["add", "divide", "remainder", "maximum", "less"] if dtype in SMALL_FLOATS else [*OF_TWO, *COMPARISONS]:
            if dtype in INTEGERS and function == "divide":
                continue
            if dtype in INTEGERS and function in ("remainder", "power"):
                good = special.values[special.values != 0] if function == "remainder" else special.values[special.values >= 0]
                yield element_case(function, rows, Array(dtype, good))
            yield element_case(function, rows, columns)
        more = [] if dtype in INTEGERS else magnitudes(dtype, {"F32": 24, "F64": 10}.get(dtype, 8))
        more = np.concatenate([special.values, more])
        halves = np.array([-3.5, -1.5, -0.75, -0.5, -0.25, 0.25, 0.49999997, 0.75, 1.5, 2.0, 3.5, 1e4])
        for function in [*OF_ONE, *REAL, *PROPERTIES, "logical_not"]:
            values = special.values if dtype in INTEGERS else np.concatenate([more if function in REAL else special.values, halves])
            if function in ("exp", "sigmoid", "tanh", "erf") and dtype in ("F32", "F64"):
                # Results that are subnormal, and near the largest number.
                edges = [88.5, -88.5, -95.25, -103.0, -120.0] if dtype == "F32" else [709.5, -709.5, -730.25, -744.0, -800.0]
                values = np.concatenate([values, edges])
            yield element_case(function, Array(dtype, values))
    for dtype in ("BOOL", "I8", "U8"):
        special = Array(dtype, SPECIALS[dtype])
        for function in (*TRUTHS, "equal", "less", "add", "maximum"):
            yield element_case(function, Array(dtype, special.values[:, None]), special)
        for function in ("logical_not", "negative", "exp", "is_nan"):
            yield element_case(function, special)
    for dtype in NUMBERS:
        special = Array(dtype, SPECIALS[dtype])
        for function in TRUTHS:
            yield element_case(function, special, Array("BOOL", RANDOM.integers(0, 2, special.shape)))


def dtypes_of_elements():
    for a, b in itertools.product(NUMPY, NUMPY):
        left = Array(a, [1, 0, 1] if a == "BOOL" else np.array([3, 0, 5]) + (0.25 if a in FLOATS else 0))
        right = Array(b, [1, 1, 0] if b == "BOOL" else np.array([2, 7, 3]) + (0.5 if b in FLOATS else 0))
        for function in ("add", "divide", "power", "remainder", "maximum", "logical_or", "less"):
            yield element_case(function, left, right)
        if common(a, b) in SMALL_FLOATS:
            yield element_case("multiply", left, right, "F32")
        condition = Array("BOOL", [1, 0, 0])
        shared = a if a == b else common(a, b)
        result = Refused("F32", (3,)) if shared is None else \
            Array(shared, np.where(condition.values, left.wide(shared), right.wide(shared)))
        yield case("select", [condition, left, right], [result])
    # Numbers that the common dtype rounds.
    large = [2**24 + 1, 2**31 - 1, -2**24 - 1]
    yield element_case("add", Array("I32", large), Array("F32", [0.0, 0.0, 1.0]))
    yield element_case("equal", Array("I32", large), Array("F32", [2.0**24, 2.0**31, -2.0**24]))
    yield element_case("multiply", Array("I64", [2**53 + 1, 2**63 - 1, 2**60 + 2**36 + 1]), Array("F64", [1.0, 1.0, 1.0]))
    yield element_case("multiply", Array("I64", [2**53 + 1, 2**63 - 1, 2**60 + 2**36 + 1]), Array("F32", [1.0, 1.0, 1.0]))
    yield element_case("maximum", Array("I32", [-2**31, 5, -1]), Array("I64", [-2**31 - 1, 2**40, -1]))
    yield element_case("add", Array("F16", [0.1, 2048, 65504]), Array("F16", [0.2, 1, 16]), "F32")
    yield element_case("add", Array("F16", [0.1, 2048, 65504]), Array("F16", [0.2, 1, 16]))
    yield element_case("exp", Array("BF16", [0.1, -3, 88]), None, "F32")
    yield element_case("exp", Array("I32", [0, 1, -3]))
    yield element_case("sqrt", Array("I64", [4, 2, 2**62, -1]))
    for function, a, b, dtype in (("add", "F32", "F32", "F64"), ("add", "F32", "F32", "F16"), ("add", "F16", "F16", "BF16"),
                                  ("add", "I32", "I32", "I64"), ("add", "I32", "F32", "I32"), ("less", "F32", "F32", "F32"),
                                  ("logical_and", "F32", "F32", "I32"), ("add", "F64", "F32", "F32"), ("add", "F32", "F32", "BOOL")):
        yield case(function, [numbers(a, (3,)), numbers(b, (3,))], [Refused(dtype, (3,))])
    for function, dtype in (("exp", "F64"), ("is_nan", "F32"), ("negative", "F64"), ("logical_not", "F32")):
        yield case(function, [numbers("F32", (3,))], [Refused(dtype, (3,))])


def shapes_of_elements():
    pairs = [((2, 3), (3,)), ((2, 1, 4), (3, 1)), ((), (2, 2)), ((1,), (3,)), ((), ()), ((), (1,)), ((1, 1, 1), ()), ((4, 1), (1, 5)),
             ((0, 3), (3,)), ((0, 1), (1, 3)), ((2, 0), (1,)), ((0,), ()), ((0,), (0,)), ((1,), (0,)), ((3, 0, 2), (1, 1, 1)),
             ((1, 2, 1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1, 2, 1)), ((1, 1, 1, 1, 1, 1, 1, 3), (2, 1)), ((37,), (37,)), ((5, 33), (5, 1)),
             ((2, 20), (20,)), ((3, 1), (3, 18)), ((2, 3, 1, 17), (3, 2, 1))]
    for (a, b), dtypes in zip(pairs, itertools.cycle((("F32", "F32"), ("I64", "I32"), ("F16", "F32"), ("F64", "I32"), ("BF16", "BF16")))):
        left, right = numbers(dtypes[0], a), numbers(dtypes[1], b)
        yield element_case("subtract", left, right)
        yield element_case("less_equal", right, left)
        yield element_case("logical_xor", left, right)
        condition = numbers("BOOL", b)
        shared = common(*dtypes)
        other = numbers(dtypes[1], b[-1:])
        yield case("select", [condition, left, other],
                   [Array(shared, np.where(condition.values, left.wide(shared), other.wide(shared)))])
    for shape in ((), (1,), (0,), (3, 0), (1, 1, 1), (2, 1, 2, 1, 2, 1, 2, 1), (35,)):
        for function in ("square", "tanh", "logical_not", "is_infinite"):
            yield element_case(function, numbers("F32", shape))
    for a, b, dims in (((2, 3), (2,), (2, 3)), ((2, 3), (3, 2), (2, 3)), ((0,), (2,), (0,)), ((2, 3), (3,), (3,)),
                       ((2, 3), (3,), (1, 2, 3)), ((1, 3), (3,), (3,)), ((3,), (3,), (1,)), ((3,), (1,), (4,)), ((1,), (1,), (3,)),
                       ((2, 3), (2, 1, 1), (2, 3))):
        yield case("add", [numbers("F32", a), numbers("F32", b)], [Refused("F32", dims)])
    yield case("negative", [numbers("F32", (1, 3))], [Refused("F32", (2, 3))])
    yield case("add", [numbers("F32", (3,)), None], [Refused("F32", (3,))])
    yield case("negative", [numbers("F32", (3,)), numbers("F32", (3,))], [Refused("F32", (3,))])


def layouts_of_elements():
    dtypes = itertools.cycle(NUMBERS)
    functions = itertools.cycle(("add", "less", "multiply", "logical_and", "maximum", "not_equal", "subtract"))
    for shape in ((3, 4), (2, 18), (2, 1, 2)):
        plain = list(layouts(numbers("F32", shape)))
        for i, _ in enumerate(plain):
            dtype = next(dtypes)
            left = list(layouts(numbers(dtype, shape)))[i]
            yield element_case("square", left)
            yield element_case("exp", left)
            for j, _ in enumerate(plain):
                right = list(layouts(numbers(dtype, shape)))[j]
                yield element_case(next(functions), left, right)
            yield element_case(next(functions), numbers(dtype, (1,)), left)
            condition = list(layouts(numbers("BOOL", shape)))[i]
            other = numbers(dtype, shape[-1:])
            yield case("select", [condition, left, other], [Array(dtype, np.where(condition.values, left.values, other.values))])


def clip_case(array, low, high, dtype=None):
    values = array.wide(array.dtype)
    if low is not None:
        values = larger(values, low.wide(array.dtype))
    if high is not None:
        values = smaller(values, high.wide(array.dtype))
    return case("clip", [array, low, high], [Array(dtype or array.dtype, values)])


def clips():
    for dtype in NUMBERS:
        array = Array(dtype, SPECIALS[dtype])
        low, high = Array(dtype, np.array(-1)), Array(dtype, [2])
        yield clip_case(array, low, high)
        yield clip_case(array, low, None)
        yield clip_case(array, None, high)
        yield clip_case(array, high, low)
        if dtype in FLOATS:
            yield clip_case(array, Array(dtype, [[NAN], [-INF], [-0.0]]), Array(dtype, [[3.0], [NAN], [0.0]]))
        if dtype in SMALL_FLOATS:
            yield clip_case(array, low, high, "F32")
        for other in layouts(numbers(dtype, (3, 4))):
            yield clip_case(other, numbers(dtype, (4,)), numbers(dtype, (3, 1)))
    yield clip_case(numbers("F32", (0, 2)), numbers("F32", ()), None)
    three = numbers("F32", (3,))
    yield case("clip", [three, None, None], [Refused("F32", (3,))])
    yield case("clip", [three, numbers("F64", ()), None], [Refused("F32", (3,))])
    yield case("clip", [three, numbers("F32", (2,)), None], [Refused("F32", (3,))])
    yield case("clip", [three, three, three], [Refused("F64", (3,))])
    yield case("clip", [numbers("BOOL", (3,)), None, numbers("BOOL", ())], [Refused("BOOL", (3,))])
    condition = numbers("BOOL", (3,))
    yield case("select", [three, three, three], [Refused("F32", (3,))])
    yield case("select", [condition, three, numbers("BOOL", (3,))], [Refused("F32", (3,))])
    yield case("select", [condition, three, numbers("F32", (2,))], [Refused("F32", (3,))])
    yield case("select", [numbers("BOOL", (2, 3)), three, three], [Refused("F32", (3,))])


def cases():
    for group in (special_elements, dtypes_of_elements, shapes_of_elements, layouts_of_elements, clips):
        yield from group()
