# SPDX-License-Identifier: Apache-2.0
"""check_files.py ROOT: every source file below ROOT must name its licence. No file may contain a path of the machine on
which it was written, or the conflict marks of an unfinished merge."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SKIPPED_FOLDERS = {".git", "build", "__pycache__"}
SOURCES = {".h", ".c", ".cc", ".cpp", ".i", ".java", ".cs", ".py", ".sh", ".cmake", ".in", ".map", ".csproj", ".props"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"
# The licence must be on its own line, except for comment characters.
LICENCE_LINE = re.compile(rb"^(?://|#|/\*|<!--) " + LICENCE.encode() + rb"(?: \*/| -->)?$", re.MULTILINE)
FIRST_LINES = 3
MACHINE_PATH = re.compile(rb"(?<![\w.~$})-])/(?:work|root|home|Users|tmp)/[\w.-]")
# The line of seven = between the two sides is not searched, since it may also underline a title.
MERGE_MARK = re.compile(rb"^(?:<{7}|\|{7}|>{7})(?= |$)", re.MULTILINE)


def is_source(path: Path, data: bytes) -> bool:
    return path.suffix in SOURCES or path.name == "CMakeLists.txt" or data.startswith(b"#!")


def line_of(found: re.Match[bytes]) -> int:
    return found.string.count(b"\n", 0, found.start()) + 1


def files_below(root: Path) -> Iterator[Path]:
    """The files, in order. Skipped folders are not even listed: other tests make and remove files there."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        yield from (Path(folder, name) for name in sorted(names))


def check(root: Path) -> tuple[list[str], int]:
    """The violations, one sentence each, and the number of files that were read."""
    problems = []
    num_files = 0
    for path in files_below(root):
        if path.is_symlink() or not path.is_file():
            continue
        # In a worktree or a submodule .git is a file.
        if path.name == ".git":
            continue
        num_files += 1
        data = path.read_bytes()
        file = path.relative_to(root).as_posix()
        if is_source(path, data) and not LICENCE_LINE.search(b"\n".join(data.split(b"\n")[:FIRST_LINES])):
            problems.append(f"{file}: [licence] no line '{LICENCE}' among its first {FIRST_LINES} lines")
        for found in MACHINE_PATH.finditer(data):
            problems.append(f"{file}:{line_of(found)}: [path] a path of one machine: {found.group(0).decode()}...")
        for found in MERGE_MARK.finditer(data):
            problems.append(f"{file}:{line_of(found)}: [merge] a mark of an unfinished merge: {found.group(0).decode()}")
    return problems, num_files


if __name__ == "__main__":
    violations, count = check(Path(sys.argv[1]))
    if count == 0:
        violations.append(f"no file found below {sys.argv[1]}")
    if violations:
        sys.exit("\n".join(violations))
    print(f"{count} files")
