#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""index_cases.py (--check | --update) <cases/index_table.txt>

Writes the table of indices that Java and C# both run, or checks that it is what this script writes. What is expected follows from Python's own
ranges, whose slices NumPy's basic indices are: every index lies within its axis, where NumPy shortens nothing. Elements are their own positions
in the array.
"""
import random
import sys
from pathlib import Path

WIDTH = 140

HEAD = """# Parts of arrays by their indices. Written by tests/bindings/index_cases.py, which says where the expected elements come from.
define index(text, shape, wanted, elements)
  whole = manager.arange(shape.size).reshape(shape)
  found = at(whole, text)
  found.shape is wanted
  found.toIntArray() is elements
  # Set, the part has the new elements, and the others stay.
  other = manager.arange(shape.size, 3 * shape.size, 1, INT64).slice(0, 0, shape.size).reshape(shape)
  put(whole, text, at(other, text))
  at(whole, text).toIntArray() is [shape.size + each for each in elements]
  total(whole.toIntArray()) is total(range(shape.size)) + shape.size * count(elements)
"""

# What people write, and what is easily wrong: indices, then a shape.
WRITTEN = [
    (":", (5,)), ("2", (5,)), ("-1", (5,)), ("-5", (5,)), ("1:4", (5,)), ("1:", (5,)), (":4", (5,)), (":-1", (5,)), ("-3:", (5,)),
    ("::2", (5,)), ("1::2", (5,)), ("::3", (5,)), ("::5", (5,)), ("::7", (5,)), ("1:4:2", (5,)), ("4:5:9", (5,)), ("5:", (5,)),
    ("0:0", (5,)), ("5:5", (5,)), ("-5:5", (5,)), ("::-1", (5,)), ("::-2", (5,)), ("3::-1", (5,)), (":2:-1", (5,)), ("4:0:-2", (5,)),
    ("-1:-5:-1", (5,)), ("2:2:-1", (5,)), ("::-9", (5,)), ("0::-1", (5,)), (":", (0,)), ("::-1", (0,)), ("0:0", (0,)), ("::2", (1,)),
    ("::-1", (1,)), ("...", ()), ("null", ()), ("null, ..., null", ()), ("null", (3,)), (":, null", (3,)), ("1", (2, 3, 4)),
    ("1, 2, 3", (2, 3, 4)), ("..., 3", (2, 3, 4)), ("1, ...", (2, 3, 4)), ("0, ..., 2", (2, 3, 4)), (":, 1", (2, 3, 4)),
    (":, :, ::-1", (2, 2, 4)), ("::-1, ::-1, ::-1", (2, 3, 2)), ("null, 1, :, null, ::2", (2, 3, 4)), ("..., 1:3, 0", (2, 3, 4)),
    ("1:, 1:3", (2, 3, 4)), ("1, :2, 1:-1", (2, 3, 4)), (":, 3:", (2, 3, 4)), ("..., null, :", (2, 3)), ("0, ..., 1", (2, 3)),
    ("0, 1, ...", (2, 3)), ("::-1, ::-1", (2, 0)), (":, null, ::2", (3, 0)), ("-1, -1, -1, -1, -1, -1, -1, -1", (1, 1, 1, 1, 1, 1, 1, 2)),
    ("null, null, null, null, null, null, ..., ::-1", (2, 2)),
]


def evaluated(text: str, shape: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The shape and the elements."""
    parts = [part.strip() for part in text.split(",")]
    taken = sum(part not in ("...", "null") for part in parts)
    if "..." not in parts:
        parts.append("...")
    positions: list[range | int] = []  # of each axis of the array
    dims: list[int] = []
    axis = 0
    for part in parts:
        if part == "null":
            dims.append(1)
            continue
        for _ in range(len(shape) - taken if part == "..." else 1):
            here = range(shape[axis])
            if part == "...":
                positions.append(here)
            elif ":" in part:
                positions.append(here[slice(*(int(end) if end else None for end in part.split(":")))])
            else:
                positions.append(here[int(part)])
            dims += [len(positions[-1])] if isinstance(positions[-1], range) else []
            axis += 1
    elements = [0]
    for size, found in zip(shape, positions):
        elements = [size * before + at for before in elements for at in (found if isinstance(found, range) else [found])]
    return dims, elements


def some(chance: random.Random, size: int) -> str:
    """An index or a range within an axis."""
    def number(low: int, high: int) -> int:
        at = chance.randint(low, high)
        return at - size if at < size and chance.random() < 0.4 else at

    kind = chance.randrange(5)
    if kind == 0 and size > 0:
        return str(number(0, size - 1))
    if kind == 1:
        return ":"
    step = chance.choice([1, 1, 2, 3, -1, -1, -2, -3])
    ends = sorted((number(0, size if step > 0 else size - 1) for _ in range(2)), key=lambda at: at % size if -size <= at < size and size else at)
    if size == 0:
        ends = [0, 0] if step > 0 else []
    begin, end = (ends if step > 0 else ends[::-1]) or ("", "")
    begin = "" if chance.random() < 0.3 else begin
    end = "" if chance.random() < 0.3 else end
    return f"{begin}:{end}" if step == 1 else f"{begin}:{end}:{step}"


def random_index(chance: random.Random) -> tuple[str, tuple[int, ...]]:
    shape = tuple(chance.choice([1, 2, 3, 4, 5]) for _ in range(chance.randint(1, 4)))
    parts = [some(chance, size) for size in shape[: chance.randint(1, len(shape))]]
    if chance.random() < 0.3:
        at = chance.randint(0, len(parts))
        # The indices after "..." are those of the last axes.
        parts[at:] = ["...", *(some(chance, size) for size in shape[len(shape) - (len(parts) - at) :])] if at < len(parts) else ["..."]
    for _ in range(chance.choice([0, 0, 0, 1, 2])):
        parts.insert(chance.randint(0, len(parts)), "null")
    return ", ".join(parts), shape


def line_of(text: str, shape: tuple[int, ...]) -> str:
    dims, elements = evaluated(text, shape)
    return f'  index("{text}", Shape({", ".join(map(str, shape))}), Shape({", ".join(map(str, dims))}), {elements})'


def table() -> str:
    chance = random.Random(44)
    drawn = (line_of(*random_index(chance)) for _ in range(200))
    lines = [HEAD, "case Indices as they are written.", *(line_of(*one) for one in WRITTEN), ""]
    lines += ["case Indices at random.", *(line for line in drawn if len(line) <= WIDTH)]
    return "\n".join(lines) + "\n"


def main() -> None:
    wanted, path = table(), Path(sys.argv[2])
    if sys.argv[1] == "--update":
        path.write_text(wanted, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != wanted:
        sys.exit(f"{path} is not what index_cases.py writes: run it with --update")


if __name__ == "__main__":
    main()
