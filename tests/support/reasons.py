# SPDX-License-Identifier: Apache-2.0
"""Reads lists of exceptions to a check, each with its reason.

Entries are separated by empty lines; a line that begins with # is a comment. An entry is

    core/tensor/dtype.h
    - return 0;
      The reason: any number of lines, indented.

a file, the lines of it that are meant, each after a mark (each list defines its marks), and the reason."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Entry:
    file: str
    at: str  # the line of the list
    marked: list[tuple[str, str]] = field(default_factory=list)  # (mark, text)
    reason: str = ""

    def texts(self, mark: str) -> list[str]:
        return [text for its_mark, text in self.marked if its_mark == mark]


def read_entries(path: Path, marks: str = "-") -> list[Entry]:
    """The entries of a list. An entry without a file, a text or a reason ends the program with an error."""
    entries = []
    current: Entry | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() + [""], 1):
        at = f"{path.name}:{number}"
        if line.startswith("#"):
            continue
        if not line.strip():
            if current and not (current.marked and current.reason):
                raise SystemExit(f"{current.at}: expected a file, texts marked with {' or '.join(marks)}, and a reason")
            entries += [current] if current else []
            current = None
        elif current is None:
            current = Entry(line.strip(), at)
        elif line[0] in marks and line[1:2] == " " and not current.reason:
            current.marked.append((line[0], line[2:].strip()))
        elif line.startswith("  "):
            current.reason = f"{current.reason} {line.strip()}".strip()
        else:
            raise SystemExit(f"{at}: expected a text after {' or '.join(marks)}, or an indented reason")
    return entries
