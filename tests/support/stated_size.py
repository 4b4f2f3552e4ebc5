# SPDX-License-Identifier: Apache-2.0
"""Holds a size that a page states against the size of what was built."""

import re
from pathlib import Path

# A tenth of a megabyte is what pages round to, and what a change of the code may add before a page is written anew.
TOLERANCE = 0.05


def problems(page, pattern, num_bytes):
    """What is wrong with the page, whose text has the pattern once; its group is a number of megabytes (10^6 bytes)."""
    stated = re.findall(pattern, Path(page).read_text(encoding="utf-8"))
    if len(stated) != 1:
        return [f"{page} has {len(stated)} places that match {pattern!r}, expected 1"]
    print(f"{page}: {stated[0]} MB, and it is {num_bytes / 1e6:.2f}")
    if abs(float(stated[0]) - num_bytes / 1e6) <= TOLERANCE * num_bytes / 1e6:
        return []
    return [f"{page} says {stated[0]} MB of what has {num_bytes:,} bytes, {num_bytes / 1e6:.1f} MB"]
