# SPDX-License-Identifier: Apache-2.0
"""The functions that heed.h declares, and their pointers."""

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


def parameters_of(declaration: str) -> list[str]:
    """The parameters between the parentheses of a declaration; those of a pointer to a function have commas of their own."""
    found = [""]
    depth = 0
    for character in declaration:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [" ".join(one.split()) for one in found]


def pointers_in(text: str) -> dict[str, list[str]]:
    """{function: the names of its parameters that are pointers}, in the order of the header."""
    found = {}
    for name, inside in re.findall(r"\bHEED_API\b[^;(]*?\b(heed_\w+)\s*\((.*?)\)\s*HEED_NOEXCEPT", without_comments(text), re.DOTALL):
        pointers = [one for one in parameters_of(inside) if "*" in one or one.endswith("[]")]
        found[name] = [(re.search(r"\(\*\s*(\w+)\)", one) or re.search(r"(\w+)(?:\[\])?$", one))[1] for one in pointers]
    if sorted(found) != sorted(functions_in(text)):
        raise SystemExit("a declaration with HEED_API was not understood")
    return found


def declared_functions(header: Path) -> list[str]:
    return sorted(functions_in(header.read_text(encoding="utf-8")))
