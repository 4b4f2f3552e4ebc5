# SPDX-License-Identifier: Apache-2.0
"""The functions that heed.h declares."""

import re
from pathlib import Path


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def functions_in(text: str) -> list[str]:
    """The functions that a part of the header declares, in its order."""
    text = re.sub(r"^\s*#.*$", "", without_comments(text), flags=re.MULTILINE)
    names = re.findall(r"\bHEED_API\b[^;(]*?\b(heed_\w+)\s*\(", text)
    if len(names) != text.count("HEED_API"):
        raise SystemExit("a declaration with HEED_API was not understood")
    return names


def declared_functions(header: Path) -> list[str]:
    return sorted(functions_in(header.read_text(encoding="utf-8")))
