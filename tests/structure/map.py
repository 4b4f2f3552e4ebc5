# SPDX-License-Identifier: Apache-2.0
"""map.py ROOT [--update]: the map of the rooms of core/ and capi/ in docs/architecture.md, made from their includes. Without --update it
compares the page with the sources. It fails too if an arrow points up or in a circle, or if a folder has more than MOST_FILES files."""

import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check_includes import INCLUDE, SOURCES, target  # noqa: E402

PAGE = Path("docs/architecture.md")
BEGIN = "<!-- The map: tests/structure/map.py . --update -->"
END = "<!-- The end of the map. -->"
MOST_FILES = 45
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# The rooms, each with the folders that belong to it and what it is for. A room has files of one idea; folders of one room may include each
# other. Devices know only the tables of backends/, which opens them: they are drawn beside it.
ROOMS = {
    "capi": (["capi/src", "capi/src/operations"], "C functions: unwrap handles, stop exceptions"),
    "models": (["core/models"], "whole models from folders"),
    "loading": (["core/loading"], "files to parameters"),
    "training": (["core/training"], "gradients, losses and optimizers"),
    "kinds": (["core/layers/kinds", "core/layers/kinds/backward"], "the kinds of layers"),
    "families": (["core/families"], "what families of models have"),
    "layers": (["core/layers", "core/layers/backward"], "what a layer is, and the steps of its call"),
    "tensor_functions": (["core/tensor_functions"], "functions on tensors without a layer"),
    "cache": (["core/cache"], "keys and values of sequences that grow"),
    "attention": (["core/attention"], "options and inputs of attention, checked"),
    "backends": (["core/backends"], "the table of a device; an open device"),
    "cpu": (["core/backends/cpu", "core/backends/cpu/backward"], "the CPU: how each operation is cut into tasks"),
    "engine": (["core/backends/cpu/engine"], "threads, and the choice of the ISA"),
    "kernels": (["core/backends/cpu/kernels/**"], "compiled once for each ISA"),
    "ascend": (["core/backends/ascend"], "the Ascend NPU, a plugin"),
    "ops": (["core/ops"], "the problem and the cost of each operation"),
    "tensor": (["core/tensor"], "dtype, shape, strides, storage; files"),
    "base": (["core/base"], "errors, files, numbers, memory of the host"),
    "platform": (["core/platform"], "the operating system and the processor"),
}


def room_of(file: str) -> str | None:
    folder = file.rsplit("/", 1)[0]
    for name, (folders, _) in ROOMS.items():
        for own in folders:
            if folder == own or (own.endswith("/**") and (folder + "/").startswith(own[:-2])):
                return name
    return None


def files_of(root: Path) -> list[str]:
    found = [p for top in ("core", "capi/src") for p in sorted((root / top).rglob("*")) if p.suffix in SOURCES and p.is_file()]
    return [p.relative_to(root).as_posix() for p in found]


def arrows_of(root: Path, files: list[str]) -> dict[str, dict[str, str]]:
    """arrows[a][b]: an include by which room a needs room b. A backend's table is what backends/ links, not what it is made of: the one
    header *_backend.h of a device is no arrow."""
    arrows: dict[str, dict[str, str]] = defaultdict(dict)
    for file in files:
        room = room_of(file)
        if room is None:
            continue
        for found in INCLUDE.finditer((root / file).read_text(encoding="utf-8")):
            included = target(root, file, found.group(1) == '"', found.group(2))
            other = room_of(included) if "/" in included else None
            if other not in (None, room) and not included.endswith("_backend.h"):
                arrows[room].setdefault(other, f"{file} includes {included}")
    return arrows


def levels_of(arrows: dict[str, dict[str, str]]) -> tuple[dict[str, int], list[str]]:
    """The level of each room, one above the highest that it needs, and a circle of rooms if there is one."""
    levels: dict[str, int] = {}
    on_the_way: list[str] = []
    circle: list[str] = []

    def level(room: str) -> int:
        if room in on_the_way:
            circle[:] = circle or [*on_the_way[on_the_way.index(room) :], room]
            return 0
        if room not in levels:
            on_the_way.append(room)
            levels[room] = 1 + max((level(other) for other in arrows.get(room, {})), default=0)
            on_the_way.pop()
        return levels[room]

    for room in ROOMS:
        level(room)
    return levels, circle


def drawing(files: list[str], arrows: dict[str, dict[str, str]], levels: dict[str, int]) -> str:
    """The rooms from top to bottom, each with a letter. The column of a letter has a dot in the rows of the rooms that include that room; rows are
    sorted by level, so a map without circles has no dot at the left of its own diagonal."""
    rooms = sorted(ROOMS, key=lambda room: (-levels[room], list(ROOMS).index(room)))
    counts = {room: sum(room_of(file) == room for file in files) for room in rooms}
    width = max(len(room) for room in rooms)
    letters = LETTERS[: len(rooms)]
    lines = [f"{'':{width + 2}} level files  {' '.join(letters)}"]
    for row, room in enumerate(rooms):
        marks = ["■" if column == row else "●" if other in arrows.get(room, {}) else "·" if column > row else " " for column, other in enumerate(rooms)]
        lines.append(f"{letters[row]} {room:<{width}} {levels[room]:5d} {counts[room]:5d}  {' '.join(marks)}  {ROOMS[room][1]}".rstrip())
    return "\n".join([BEGIN, "```", *lines, "```", END])


def problems_of(files: list[str], arrows: dict[str, dict[str, str]], circle: list[str]) -> list[str]:
    problems = [f"{file}: no room of tests/structure/map.py has it" for file in files if room_of(file) is None]
    if circle:
        steps = [arrows[a][b] for a, b in zip(circle, circle[1:], strict=False)]
        problems.append("rooms include each other in a circle: " + "; ".join(steps))
    per_folder: dict[str, int] = defaultdict(int)
    for file in files:
        per_folder[file.rsplit("/", 1)[0]] += 1
    problems += [f"{folder}: {count} files, expected at most {MOST_FILES}" for folder, count in per_folder.items() if count > MOST_FILES]
    return problems


def check(root: Path, update: bool = False) -> tuple[list[str], int]:
    """What is wrong, one sentence each, and the number of files that were read. With `update` the page gets the new map."""
    files = files_of(root)
    arrows = arrows_of(root, files)
    levels, circle = levels_of(arrows)
    problems = problems_of(files, arrows, circle)
    if problems:
        return problems, len(files)
    page = (root / PAGE).read_text(encoding="utf-8")
    if BEGIN not in page or END not in page:
        return [f"{PAGE} has no map: expected the lines {BEGIN} and {END}"], len(files)
    drawn = re.sub(re.escape(BEGIN) + ".*" + re.escape(END), lambda _: drawing(files, arrows, levels), page, count=1, flags=re.DOTALL)
    if drawn == page:
        return [], len(files)
    if update:
        (root / PAGE).write_text(drawn, encoding="utf-8")
        return [], len(files)
    return [f"the map in {PAGE} is not that of the sources: python3 -B tests/structure/map.py . --update draws it"], len(files)


if __name__ == "__main__":
    complaints, count = check(Path(sys.argv[1]), update=sys.argv[2:] == ["--update"])
    if count == 0:
        complaints.append(f"no sources found below {sys.argv[1]}")
    if complaints:
        sys.exit("\n".join(complaints))
    print(f"{count} files in {len(ROOMS)} rooms, drawn in {PAGE}")
