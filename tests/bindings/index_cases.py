#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""index_cases.py (--check | --update) <cases/index_table.txt>

Writes the table of indices that Java and C# both run, or checks that it is what this script writes. What is expected follows from Python's own
ranges, whose slices NumPy's basic indices are: every index lies within its axis, where NumPy shortens nothing. "{}" stands for an array of
indices or a mask, for which NumPy's rule is written out: its axes take the place of those that it chooses from, or come first where a part stands
between it and a number. Elements are their own positions in the array.
"""
import itertools
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

WIDTH = 140
CHOICE_WIDTH = 200

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

define indices(all, shape)
  return manager.create(longs(all)).reshape(shape)

define mask(all, shape)
  return manager.create(bools(all)).reshape(shape)

# An array of indices or a mask: what it takes, and the array after 100, 101, ... were written to it.
define chosen(text, shape, choice, wanted, elements, after)
  plain = manager.arange(shape.size).reshape(shape)
  backwards = plain.flip().duplicate().flip()
  for whole in [plain, backwards]
    found = at(whole, text, choice)
    found.shape is wanted
    found.toIntArray() is elements
    put(whole, text, manager.arange(100, 100 + count(elements), 1, INT64).reshape(wanted), choice)
    whole.toIntArray() is after
    put(whole, text, -1, choice)
    at(whole, text, choice).toIntArray() is filled(-1, count(elements))
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


@dataclass
class Choice:
    """An array of indices of one axis, or a mask of several."""

    shape: tuple[int, ...]
    words: list[int] | list[bool]

    @property
    def is_mask(self) -> bool:
        return bool(self.words) and isinstance(self.words[0], bool)

    @property
    def num_axes(self) -> int:
        return len(self.shape) if self.is_mask else 1

    def places(self) -> list[tuple[int, ...]]:
        """Of each chosen element its index on the axes that are chosen from."""
        if self.is_mask:
            return [at for at, word in zip(itertools.product(*map(range, self.shape)), self.words) if word]
        return [(word,) for word in self.words]

    def dims(self) -> list[int]:
        return [sum(self.words)] if self.is_mask else list(self.shape)

    def __str__(self) -> str:
        words = ", ".join(str(word).lower() for word in self.words)
        return f"{'mask' if self.is_mask else 'indices'}([{words}], Shape({', '.join(map(str, self.shape))}))"


def chosen(text: str, shape: tuple[int, ...], choice: Choice) -> tuple[list[int], list[int]]:
    """The shape and the elements."""
    parts = [part.strip() for part in text.split(",")]
    taken = sum(choice.num_axes if part == "{}" else part not in ("...", "null") for part in parts)
    numbers = [i for i, part in enumerate(parts) if part == "{}" or part.lstrip("-").isdigit()]
    is_apart = numbers[-1] - numbers[0] + 1 != len(numbers)
    at = parts.index("...") if "..." in parts else len(parts)
    parts[at : at + 1] = [":"] * (len(shape) - taken)
    # Of each axis of the result its size, and for each index on it what is added to the position.
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    slots: list[tuple[list[int], list[int]]] = []
    choice_slot = 0
    axis = begin = 0
    for part in parts:
        if part == "null":
            slots.append(([1], [0]))
            continue
        if part == "{}":
            choice_slot = len(slots)
            here = strides[axis : axis + choice.num_axes]
            sizes = shape[axis : axis + choice.num_axes]
            slots.append((choice.dims(), [sum(stride * (at % size) for stride, at, size in zip(here, place, sizes)) for place in choice.places()]))
            axis += choice.num_axes
            continue
        here = range(shape[axis])
        if ":" in part:
            found = here[slice(*(int(end) if end else None for end in part.split(":")))]
            slots.append(([len(found)], [strides[axis] * at for at in found]))
        else:
            begin += strides[axis] * here[int(part)]
        axis += 1
    if is_apart:
        slots.insert(0, slots.pop(choice_slot))
    dims = [size for sizes, _ in slots for size in sizes]
    return dims, [begin + sum(steps) for steps in itertools.product(*(steps for _, steps in slots))]


def random_choice(chance: random.Random) -> tuple[str, tuple[int, ...], Choice]:
    shape = tuple(chance.choice([1, 2, 3, 4]) for _ in range(chance.randint(1, 4)))
    is_mask = chance.random() < 0.5
    taken = chance.randint(1, min(2, len(shape))) if is_mask else 1
    first = chance.randint(0, len(shape) - taken)
    if is_mask:
        choice = Choice(shape[first : first + taken], [chance.random() < 0.5 for _ in range(math.prod(shape[first : first + taken]))])
    else:
        dims = tuple(chance.choice([1, 2, 3]) for _ in range(chance.choice([0, 1, 1, 1, 2])))
        choice = Choice(dims, [chance.randint(-shape[first], shape[first] - 1) for _ in range(math.prod(dims))])
    part = lambda size: str(chance.randint(-size, size - 1)) if chance.random() < 0.3 else some(chance, size)
    parts = [*(part(size) for size in shape[:first]), "{}", *(part(size) for size in shape[first + taken :])]
    if chance.random() < 0.3:
        parts.insert(chance.randint(0, len(parts)), "null")
    return ", ".join(parts), shape, choice


def choice_line(text: str, shape: tuple[int, ...], choice: Choice) -> str:
    dims, elements = chosen(text, shape, choice)
    after = list(range(math.prod(shape)))
    for number, element in enumerate(elements):
        after[element] = 100 + number
    return f'  chosen("{text}", Shape({", ".join(map(str, shape))}), {choice}, Shape({", ".join(map(str, dims))}), {elements}, {after})'


# Some of the arrays and masks that people write.
CHOSEN = [
    ("{}", (5,), Choice((3,), [0, -1, 2])), ("{}", (5,), Choice((4,), [1, 1, 3, 1])), ("{}", (3,), Choice((2, 2), [0, 1, 2, 0])),
    ("{}", (3, 2), Choice((), [1])), ("{}", (3, 2), Choice((0,), [])), ("{}", (40,), Choice((2,), [-1, 0])), ("{}", (40, 1), Choice((2,), [5, 5])),
    ("{}", (2, 3), Choice((2, 3), [True, False, True, False, False, True])), ("{}", (2, 3), Choice((2,), [False, True])),
    (":, {}", (2, 3), Choice((3,), [True, False, True])), ("{}", (3,), Choice((3,), [False, False, False])),
    ("..., {}", (2, 2, 2), Choice((2,), [1, 0])), ("0, :, {}", (2, 3, 4), Choice((2,), [3, 0])), ("0, {}", (2, 3, 2), Choice((2,), [2, 0])),
    ("{}, :, 0", (2, 3, 2), Choice((1,), [1])), ("null, {}", (3,), Choice((2,), [2, 1])), ("1:, {}, ::-1", (3, 2, 2), Choice((2,), [1, 1])),
]


def line_of(text: str, shape: tuple[int, ...]) -> str:
    dims, elements = evaluated(text, shape)
    return f'  index("{text}", Shape({", ".join(map(str, shape))}), Shape({", ".join(map(str, dims))}), {elements})'


def table() -> str:
    chance = random.Random(44)
    drawn = (line_of(*random_index(chance)) for _ in range(200))
    lines = [HEAD, "case Indices as they are written.", *(line_of(*one) for one in WRITTEN), ""]
    lines += ["case Indices at random.", *(line for line in drawn if len(line) <= WIDTH), ""]
    lines += ["case Arrays of indices and masks as they are written.", *(choice_line(*one) for one in CHOSEN), ""]
    drawn = (choice_line(*random_choice(chance)) for _ in range(200))
    lines += ["case Arrays of indices and masks at random.", *(line for line in drawn if len(line) <= CHOICE_WIDTH)]
    return "\n".join(lines) + "\n"


def main() -> None:
    wanted, path = table(), Path(sys.argv[2])
    if sys.argv[1] == "--update":
        path.write_text(wanted, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != wanted:
        sys.exit(f"{path} is not what index_cases.py writes: run it with --update")


if __name__ == "__main__":
    main()
