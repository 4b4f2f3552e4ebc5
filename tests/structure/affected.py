# SPDX-License-Identifier: Apache-2.0
"""Which sources a change affects, by the lines that include one file in another."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from check_includes import INCLUDE, SOURCES


def includers(root: Path) -> dict[Path, set[Path]]:
    """For each file of the tree that is included, the files that include it. An include may mean any file whose path ends with it."""
    files = [path for folder in ("capi", "core", "examples", "tests") for path in (root / folder).rglob("*") if path.suffix in SOURCES]
    named = defaultdict(list)
    for path in files:
        named[path.name].append(path)
    found = defaultdict(set)
    for path in files:
        for _, include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            end = tuple(part for part in PurePosixPath(include).parts if part != "..")
            for included in named[end[-1]]:
                if included.parts[-len(end) :] == end:
                    found[included].add(path)
    return found


def affected(root: Path, sources: set[Path], changed: Iterable[str]) -> set[Path]:
    """Those of the sources that have to be checked again after files of the tree changed: the changed sources; the sources that
    include a changed header, or, if only headers do, the sources that include these, and so on; and below a changed .clang-tidy all
    sources. Sources that include a changed header only through others are left out if there are nearer ones: with them nearly every
    change would mean all sources."""
    above = includers(root)
    found = set()
    for path in (root / name for name in changed):
        if path.name == ".clang-tidy":
            found |= {source for source in sources if path.parent in source.parents}
        level, seen = {path}, set()
        while level and not level & sources:
            seen |= level
            level = {includer for file in level for includer in above[file]} - seen
        found |= level & sources
    return found
