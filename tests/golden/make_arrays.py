#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data/arrays.txt: calls of the functions of heed.h 6.9 to 6.11, of products, softmax and rotations (6.8), and what NumPy gives for them, for the tests of all languages.

    /usr/bin/python3 make_arrays.py [--check]     (Debian: python3-numpy)

array_table.py says how to read the file. It is committed: NumPy is only needed after a change of this script. --check compares
instead of writing. Dtypes of results and refused calls are by heed.h's rules; numbers are NumPy's, computed in the dtype in which
heed computes. Where a function rounds more than once, NumPy computes it in a wider type, and heed.h's bound is in the case."""

import sys
from pathlib import Path

import numpy as np

import array_elements
import array_products
import array_reductions
import array_selections

FILE = Path(__file__).parent / "data" / "arrays.txt"


def text():
    yield f"# What NumPy {np.__version__} computes: made by make_arrays.py; array_table.py says how to read it.\n"
    for part in (array_elements, array_reductions, array_selections, array_products):
        yield from part.cases()


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        made = "".join(text())
    if "--check" in sys.argv[1:]:
        sys.exit(0 if made == FILE.read_text() else f"{FILE} is not what {Path(__file__).name} makes")
    FILE.write_text(made)
