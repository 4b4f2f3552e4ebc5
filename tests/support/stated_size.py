# SPDX-License-Identifier: Apache-2.0
"""Compares a size that a page states with the size of the built file."""

import re
from pathlib import Path

# Relative. Pages round to tenths of a megabyte, and small changes of the code should not require a change of the page.
TOLERANCE = 0.05


def problems(page, pattern, num_bytes):
    """The problems of a page, which must match the pattern once; its group is a number of megabytes (10^6 bytes)."""
    stated = re.findall(pattern, Path(page).read_text(encoding="utf-8"))
    if len(stated) != 1:
        return [f"{page} has {len(stated)} places that match {pattern!r}, expected 1"]
    print(f"{page}: {stated[0]} MB, and it is {num_bytes / 1e6:.2f}")
    if abs(float(stated[0]) - num_bytes / 1e6) <= TOLERANCE * num_bytes / 1e6:
        return []
    return [f"{page} says {stated[0]} MB of what has {num_bytes:,} bytes, {num_bytes / 1e6:.1f} MB"]
