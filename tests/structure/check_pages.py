# SPDX-License-Identifier: Apache-2.0
"""check_pages.py ROOT: the pages name what there is. docs/architecture.md lists every file of core/, and every path that a page has in
backticks exists."""

import re
import sys
from pathlib import Path

LIST = "docs/architecture.md"
TITLE = "## Every file of core"
# The list has one name for a header and its source, for the files of an interface of core/platform for each system, and for the folder of the
# kernels, which docs/kernels.md explains.
ENDINGS = re.compile(r"(_(posix|linux|gnu|x86|arm|other|unwind))+$")
NOT_LISTED = "core/backends/cpu/kernels/"

TOPS = ("core", "capi", "bindings", "examples", "tests", "scripts", "docs", ".ci")
BACKTICKS = re.compile(r"`([^`\n]+)`")
# Patterns and parts of names that stand for any.
OPEN = re.compile(r"[<>*{}$]|\.\.\.")


def lacking_files(root: Path, page: str) -> list[str]:
    names = set(BACKTICKS.findall(page[page.index(TITLE) :]))
    problems = []
    for path in sorted((root / "core").rglob("*")):
        file = path.relative_to(root).as_posix()
        if path.suffix not in (".h", ".cc") or file.startswith(NOT_LISTED):
            continue
        if path.stem not in names and ENDINGS.sub("", path.stem) not in names:
            problems.append(f"{LIST}: [list] it lacks {file}, expected `{path.stem}` below '{TITLE}'")
    return problems


def wrong_paths(root: Path, page: Path) -> list[str]:
    problems = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for text in BACKTICKS.findall(line):
            path = text.split(":")[0].rstrip("/")
            if path.split("/")[0] not in TOPS or "/" not in path or " " in path or OPEN.search(path):
                continue
            if not any((root / (path + ending)).exists() for ending in ("", ".h", ".cc")):
                problems.append(f"{page.relative_to(root).as_posix()}:{number}: [path] there is no {path}")
    return problems


def check(root: Path) -> tuple[list[str], int]:
    """The violations, one sentence each, and the number of pages that were read."""
    pages = [page for page in [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))] if page.name != "CHANGELOG.md"]
    problems = lacking_files(root, (root / LIST).read_text(encoding="utf-8"))
    for page in pages:
        problems += wrong_paths(root, page)
    return problems, len(pages)


if __name__ == "__main__":
    violations, count = check(Path(sys.argv[1]))
    if violations:
        sys.exit("\n".join(violations))
    print(f"{count} pages, which name what there is")
