# SPDX-License-Identifier: Apache-2.0
"""Arrays of heed's dtypes, heed's rules for dtypes, and the text of a case of data/arrays.txt, for make_arrays.py.

A case is a line with its function and parameters, such as "reduce.sum axis=1", a line for each input and one for each result:

    < F32 (2, 3) transposed: ELEMENT...     an input, with the layout of its elements in memory; none is named for row-major
    < -                                     an input that is NULL
    > F32 (2): ELEMENT...                   a result that has these bits
    > F32 (2) units 1.5: NUMBER...          whose elements are within so many units in the last place of F32, or of F64 for F64
    > F32 (2) within: NUMBER BOUND ...      within the bound of each
    > F32 (2) refused                       the call is refused, as an invalid argument
    > -                                     a result that is NULL

An ELEMENT is the shortest decimal that rounds to it, or nan, inf, -inf; a BOOL is 0 or 1. NUMBER and BOUND are such an F64.
Elements are in row-major order whatever the layout. NaN stands for every NaN; the sign of zero counts.

Layouts, of an array of dims (..., J, K):
    transposed  the axes are in memory in opposite order: dims (K, J, ...), transposed
    stepped     every second element of the last axis of (..., J, 2 K + 1), from its second on
    reversed    the last axis backwards: the last stride is negative
    sliced      a part of each axis: from the second element on, of dims (... + 2, J + 2, K + 2)
    repeated    the first axis has stride 0, since its elements are equal"""

import numpy as np

from golden_file import BFloat16

# BF16 is kept in float32.
NUMPY = {"F32": np.float32, "F16": np.float16, "BF16": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64,
         "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}
SMALL_FLOATS = ("F16", "BF16")
FLOATS = ("F32", "F64", *SMALL_FLOATS)
INTEGERS = ("I32", "I64")
NUMBERS = (*FLOATS, *INTEGERS)


class Array:
    """Values rounded once to the dtype; integers wrap around."""

    def __init__(self, dtype, values, layout=""):
        self.dtype, self.layout = dtype, layout
        with np.errstate(over="ignore", invalid="ignore"):
            self.values = np.asarray(values).astype(NUMPY[dtype])
        if dtype == "BF16":
            self.values = (BFloat16(self.values).bits.astype(np.uint32) << 16).view(np.float32).reshape(self.values.shape)
        self.shape = self.values.shape

    def with_layout(self, layout):
        return Array(self.dtype, self.values, layout)

    def wide(self, dtype):
        """The values in the dtype in which heed computes."""
        return self.values.astype(NUMPY[computed_in(dtype)])

    def elements(self):
        return [decimal(element) for element in self.values.ravel()]

    def text(self):
        return " ".join([f"{head(self.dtype, self.shape)}{' ' + self.layout if self.layout else ''}:", *self.elements()])


class Near:
    """A result within some units of the last place of these numbers."""

    def __init__(self, dtype, numbers, units):
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = np.asarray(numbers)
            rounded = Array(dtype, numbers.astype(NUMPY[computed_in(dtype)])).values
            self.numbers = np.where(np.isinf(rounded), rounded.astype(np.float64), numbers.astype(np.float64))
        self.dtype, self.shape, self.units = dtype, self.numbers.shape, units

    def text(self):
        numbers = [decimal(number) for number in self.numbers.ravel()]
        return " ".join([f"{head(self.dtype, self.shape)} units {self.units:g}:", *numbers])


class Within:
    """A result within a bound of each of these numbers, and half a unit of the last place of a 16-bit dtype."""

    def __init__(self, dtype, numbers, bounds):
        self.dtype, self.numbers, self.bounds = dtype, np.asarray(numbers, np.float64), np.asarray(bounds, np.float64)
        self.shape = self.numbers.shape

    def text(self):
        pairs = [f"{decimal(number)} {bound * 1.01:.3g}" for number, bound in zip(self.numbers.ravel(), self.bounds.ravel())]
        return " ".join([f"{head(self.dtype, self.shape)} within:", *pairs])


class Refused:
    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, shape

    def text(self):
        return f"{head(self.dtype, self.shape)} refused"


def head(dtype, shape):
    return f"{dtype} ({', '.join(map(str, shape))})"


def decimal(element):
    if element.dtype.kind != "f":
        return str(int(element))
    if element != 0 and np.isfinite(element) and not 1e-3 <= abs(element) < 1e6:
        return np.format_float_scientific(element, trim="-", exp_digits=1)
    return np.format_float_positional(element, trim="-")


def case(function, inputs, results, **parameters):
    words = [function, *(f"{name}={value}" for name, value in parameters.items())]
    lines = [" ".join(words)]
    lines += [f"< {'-' if array is None else array.text()}" for array in inputs]
    lines += [f"> {'-' if result is None else result.text()}" for result in results]
    return "\n".join(lines) + "\n"


def computed_in(dtype):
    return "F32" if dtype in SMALL_FLOATS else dtype


def common(a, b):
    """The common dtype of two, None if there is none."""
    if a not in NUMBERS or b not in NUMBERS:
        return None
    if a == b:
        return a
    if a in SMALL_FLOATS and b in SMALL_FLOATS:
        return None
    order = ("I32", "I64", *SMALL_FLOATS, "F32", "F64")
    return max(a, b, key=order.index)
