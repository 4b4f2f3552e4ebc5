#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data/npy/*.npy: arrays as NumPy itself writes them.

    /usr/bin/python3 make_npy.py    make all files (Debian: python3-numpy)

The files are committed: NumPy is only needed after a change of this script. Element k of an array, in row-major order, is computed from
n = 37 k mod 101: booleans are n mod 3 == 0, unsigned numbers n, integers n - 50, floats (n - 50) / 4. The tests use the same rule.
"""

from pathlib import Path

import numpy as np
from numpy.lib import format as npy

FOLDER = Path(__file__).parent / "data" / "npy"


def values(dtype, shape):
    n = 37 * np.arange(np.prod(shape, dtype=np.int64)) % 101
    if dtype == "?":
        n = n % 3 == 0
    elif dtype[-2] == "i":
        n = n - 50
    elif dtype[-2] == "f":
        n = (n - 50) / 4
    return n.astype(dtype).reshape(shape)


FOLDER.mkdir(exist_ok=True)
ARRAYS = {name: values(dtype, (2, 3)) for name, dtype in
          {"f4": "<f4", "f2": "<f2", "f8": "<f8", "i4": "<i4", "i8": "<i8", "i1": "|i1", "u1": "|u1", "b1": "?"}.items()}
ARRAYS |= {
    "rank_0": values("<f4", ()),
    "rank_1": values("<i4", (5,)),
    "rank_8": values("<f2", (1, 2, 1, 3, 1, 2, 1, 2)),
    "three_axes": values("<f8", (3, 5, 2)),
    "fortran": np.asfortranarray(values("<f8", (3, 5, 2))),
    "fortran_bytes": np.asfortranarray(values("|u1", (7, 3))),
    "empty": values("<f4", (2, 0, 3)),
    # The longest header: sizes with as many digits as a product below 2^63 allows.
    "long_header": np.zeros((0, 10, 100, 1000, 10000, 100000, 10, 100), "|u1"),
    # Files that heed refuses.
    "big_endian": values("<f4", (2, 3)).astype(">f4"),
    "object": np.array([1, "two", None], dtype=object),
    "structured": np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8", (2,))]),
    "structured_unicode": np.array([(1,)], dtype=[("\u03b1", "<i4")]),
    "complex": np.zeros(2, "<c8"),
    "text": np.array(["ab", "c"]),
    "date": np.array(["2020-02-29"], dtype="<M8[D]"),
    "u2": values("<u2", (2, 3)),
    "i2": values("<i2", (2, 3)),
    "long_double": values("<f4", (2, 3)).astype("<f16"),
    "rank_9": values("<f4", (1, 2, 1, 3, 1, 2, 1, 2, 1)),
}
for name, array in ARRAYS.items():
    # structured_unicode is written in version 3.0, which NumPy chooses with a warning.
    np.save(FOLDER / f"{name}.npy", array, allow_pickle=True)
for major in (2, 3):
    with open(FOLDER / f"version_{major}.npy", "wb") as file:
        npy.write_array(file, values("<f4", (2, 3)), version=(major, 0))
