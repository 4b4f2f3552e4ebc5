#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data/array_texts.txt: arrays, and how NumPy prints them, for the tests of C, Java and C#.

    /usr/bin/python3 make_array_texts.py [random cases [file]]    (Debian: python3-numpy)

The file is committed: NumPy is only needed after a change of this script. A case is a line with type, sizes and elements (all of
them, or "A step B": element k is A + k B), followed by lines that begin with "|": the text. The rules are those of NumPy 2.3.
Where an earlier NumPy prints differently, this script overrides it."""

import sys
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent / "data" / "array_texts.txt"
SEED = 20
TYPES = {"float32": "f4", "float16": "f2", "float64": "f8", "int32": "i4", "int64": "i8", "int8": "i1", "uint8": "u1", "boolean": "?"}
WHOLE_DIGITS = {"f2": 3, "f4": 6, "f8": 8}


def tens(kind):
    return np.dtype(kind).type(10 ** WHOLE_DIGITS[kind])


if int(np.__version__.split(".")[0]) < 2:
    from numpy.core import arrayprint

    class Format(arrayprint.FloatingFormat):
        """Compares in the array's own type, and writes exponents for numbers with more digits than the type keeps."""

        def fillFormat(self, data):
            sizes = np.abs(data[np.isfinite(data) & (data != 0)])
            kind = data.dtype.str[1:]
            with np.errstate(over="ignore"):
                self.exp_format = sizes.size > 0 and bool(
                    sizes.max() >= tens(kind) or sizes.min() < data.dtype.type(0.0001)
                    or data.dtype.type(sizes.max() / sizes.min()) > data.dtype.type(1000))
            self.suppress_small = True
            super().fillFormat(data)

    arrayprint.FloatingFormat = Format


def single(value):
    """str of a NumPy scalar."""
    if value.dtype.kind != "f" or not np.isfinite(value):
        return str(value)
    limit = 1e16 if value.dtype.str[1:] == "f8" else float(tens(value.dtype.str[1:]))
    if value == 0 or 1e-4 <= abs(float(value)) < limit:
        return np.format_float_positional(value, trim="0")
    return np.format_float_scientific(value, trim="-")


def number(value):
    return repr(value.item() if hasattr(value, "item") else value).replace("True", "1").replace("False", "0")


def case(name, sizes, elements, text=None):
    """`elements`: a list of all, or (first, step)."""
    is_sequence = isinstance(elements, tuple)
    if is_sequence:
        listed = f"{number(elements[0])} step {number(elements[1])}"
    else:
        values = np.array(elements, TYPES.get(name, "f4"))
        listed = " ".join(number(value) for value in values.ravel())
    if text is None:
        if is_sequence:
            values = elements[0] + np.arange(np.prod(sizes)) * elements[1]
        array = np.array(values, TYPES[name]).reshape(sizes)
        text = single(array[()]) if sizes == () else str(array)
    lines = "".join(f"|{line}\n" for line in text.split("\n"))
    return f"{name} ({', '.join(map(str, sizes))}): {listed}".rstrip() + f"\n{lines}"


def written():
    nan, inf = float("nan"), float("inf")
    for name in ("float32", "float64", "float16"):
        yield case(name, (2, 3), [0, 1, 2, 3, 4, 5])
        yield case(name, (3,), [0.1, -0.25, 1.5])
        yield case(name, (4,), [1 / 3, 2 / 3, 1, 22 / 7])
        yield case(name, (2, 2), [1, nan, inf, -inf])
        yield case(name, (2,), [nan, nan])
        yield case(name, (2,), [nan, inf])
        yield case(name, (3,), [inf, -inf, nan])
        yield case(name, (2,), [-0.0, 0.0])
        yield case(name, (3,), [0.001, 1, 1000])
        yield case(name, (3,), [0.001, 1, 1001])
        yield case(name, (3,), [0.0001, 0.01, nan])
        yield case(name, (2,), [0.00009, 0.01])
        yield case(name, (2,), [1e-7, -2.5])
        yield case(name, (2,), [999, 998.5])
        yield case(name, (2,), [1000, 999])
        yield case(name, (2,), [65504, 40000])
        yield case(name, (3,), [-65504, 0.1, -inf])
        yield case(name, (2, 1, 2), [1, -1, 0.5, 0.25])
        yield case(name, (2, 0), [])
        yield case(name, (0,), [])
        for value in (0, -0.0, 1, -1.5, 0.1, 0.0001, 0.00001, 999, 1000, 65504, nan, inf, -inf):
            yield case(name, (), [value])
        yield case(name, (1000,), (0, 0.5))
        yield case(name, (1001,), (0, 0.25))
        yield case(name, (30, 40), (-600, 1))
        yield case(name, (4, 5, 60), (0, 1))
        yield case(name, (10, 2, 8, 9), (0, 0.5))
    for name in ("float32", "float64"):
        yield case(name, (2,), [999999, 123456.78])
        yield case(name, (2,), [1000000, 1])
        yield case(name, (2,), [1e8, 99999999])
        yield case(name, (3,), [1e30, 1e-30, 1])
        yield case(name, (40,), (0.1, 0.1))
        yield case(name, (3, 12), (-1.75, 0.125))
        yield case(name, (2, 25), (1e-9, 0.333))
    yield case("float32", (3,), [16777216, 33554432, 123456789])
    yield case("float32", (2,), [1e-45, 3.4028235e38])
    yield case("float64", (3,), [99999999, 1, 1000000])
    yield case("float64", (2,), [5e-324, 1.7976931348623157e308])
    yield case("float64", (3,), [2e23, 9007199254740993, 0.1 + 0.2])
    for value in (0.1 + 0.2, 1e15, 1e16, 123456789.125, 5e-324):
        yield case("float64", (), [value])
    for value in (0.3, 999999, 1e6, 16777216, 1e-45):
        yield case("float32", (), [value])
    yield case("float16", (3,), [6e-8, 6.1e-5, 1])
    for name in ("int32", "int64", "int8"):
        yield case(name, (2, 3), [0, -1, 2, 100, -100, 7])
        yield case(name, (), [-5])
        yield case(name, (0, 2), [])
    yield case("int32", (5,), [-2147483648, 2147483647, 0, 1, -1])
    yield case("int64", (2,), [-9223372036854775808, 9223372036854775807])
    yield case("int64", (1200,), (-600, 1))
    yield case("int32", (50,), (-24, 1000))
    yield case("int32", (7, 200), (0, 1))
    yield case("int32", (3, 1, 7, 1, 100), (0, 1))
    yield case("uint8", (3,), [0, 128, 255])
    yield case("boolean", (2, 2), [1, 0, 0, 1])
    yield case("boolean", (), [1])
    yield case("boolean", (), [0])
    yield case("boolean", (30,), [k % 3 == 0 for k in range(30)])
    # NumPy has no bfloat16. The same rules apply, with two decimal digits, which is what it can keep.
    yield case("bfloat16", (3,), [0.10009765625, 1, -2.5], "[ 0.1  1.  -2.5]")
    yield case("bfloat16", (2,), [99.5, nan], "[99.5  nan]")
    yield case("bfloat16", (2,), [100, 1], "[1.e+02 1.e+00]")
    yield case("bfloat16", (2,), [256, 258], "[2.56e+02 2.58e+02]")
    yield case("bfloat16", (), [3.140625], "3.14")
    yield case("bfloat16", (), [3.3895313892515355e38], "3.39e+38")
    yield case("bfloat16", (), [9.183549615799121e-41], "9e-41")


def random(count, numbers):
    for _ in range(count):
        name = numbers.choice(list(TYPES))
        sizes = tuple(int(size) for size in numbers.integers(1, 5, numbers.integers(0, 4)))
        size = int(np.prod(sizes))
        if name.startswith("float"):
            exponents = numbers.uniform(-1, 1, size) * numbers.choice([0.1, 1, 3, 7])
            values = numbers.normal(size=size) * 10 ** exponents * numbers.choice([1, 1e-3, 100, 3e4])
            values = values.round(numbers.integers(0, 12)) if numbers.random() < 0.5 else values
            # Also numbers half-way between two of the type.
            values = np.where(numbers.random(size) < 0.1, numbers.choice([0, 0.5, 2.0 ** -13, np.nan, np.inf, -np.inf], size), values)
        else:
            values = numbers.integers(0, 2 if name == "boolean" else 10 ** numbers.integers(1, 3), size)
            values = values - values.max() // 2 if name.startswith("int") else values
        with np.errstate(over="ignore"):
            yield case(name, sizes, np.array(values).astype(TYPES[name]))


if __name__ == "__main__":
    COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    TARGET = Path(sys.argv[2]) if len(sys.argv) > 2 else FILE
    HEAD = "# How NumPy prints arrays: made by make_array_texts.py, which says how to read it.\n"
    TARGET.write_text(HEAD + "".join(written()) + "".join(random(COUNT, np.random.default_rng(SEED))))
