# SPDX-License-Identifier: Apache-2.0
"""What the generated sources take from heed.h: the numbers of enumerators, and the members of structs with their types."""

import re
from pathlib import Path

# Members that no language has.
NOT_MEMBERS = re.compile(r"struct_size|reserved(_\d+)?")


class Header:
    def __init__(self, path: Path):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        self.numbers = {
            name: int(number)
            for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", text)
            for name, number in re.findall(r"(HEED_\w+)\s*=\s*(-?\d+)", body)
        }
        # The typedef of a struct may come before its members.
        self.structs = {name: dict(_members(body)) for name, body in re.findall(r"struct (heed_\w+) \{([^}]*)\}", text)}

    def enumerators(self, prefix: str) -> dict[str, int]:
        """{name without the prefix: number}, in the order of the header."""
        return {name[len(prefix) :]: number for name, number in self.numbers.items() if name.startswith(prefix)}


def _members(body: str):
    """(name, type) of each member."""
    for declaration in body.split(";"):
        match = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*", declaration, re.DOTALL)
        if match and not NOT_MEMBERS.fullmatch(match[2]):
            yield match[2], match[1]
