# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/history.sh in small repositories that it makes in the working folder: whose turn it is among the rotating parts of
scripts/test, in how many commits each other part has its turn, and which files count as changed. Also tests affected.py, which says
which sources such files affect."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from affected import affected

PARTS = ["a", "b", "c"]
FUNCTIONS = Path(__file__).resolve().parents[2] / "scripts/history.sh"
# The day of the year that the functions see. As an octal number it would be an error.
DAY = 89

if shutil.which("git") is None:
    print("skipped: no git")
    sys.exit(77)

failures = []


def expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        failures.append(f"{what}: expected {expected!r}, found {found!r}")


def run(folder: Path, *command: str) -> tuple[int, list[str]]:
    """The exit status of a command in a folder, and the lines that it prints. It sees no repository around the working folder, and
    no settings of git that a user has."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    person = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in (("NAME", "n"), ("EMAIL", "e@e"))}
    settings = {"GIT_CEILING_DIRECTORIES": str(Path.cwd().resolve()), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(command, cwd=folder, env={**own, **person, **settings}, capture_output=True, text=True)
    if command[0] == "git" and done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.returncode, done.stdout.splitlines()


def call(folder: Path, function: str, *arguments: str) -> list[str] | None:
    """The lines that a function of scripts/history.sh prints in a folder, on the day DAY, or None if it fails. Its mistakes are not hidden:
    the options of the shell are those of the scripts."""
    script = f'set -euo pipefail; source "{FUNCTIONS}"; date() {{ echo 0{DAY}; }}; {function} "$@"'
    status, lines = run(folder, "bash", "-c", script, "bash", *arguments)
    return lines if status == 0 else None


def commit(folder: Path, file: str, number: int = 1) -> None:
    """As many commits, each of which adds a line to the file."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(number):
        with path.open("a") as text:
            text.write("a line\n")
        run(folder, "git", "add", file)
        run(folder, "git", "commit", "--quiet", "--message", file)


def head(folder: Path, revision: str = "HEAD") -> list[str]:
    return run(folder, "git", "rev-parse", revision)[1]


def changed(folder: Path) -> list[str] | None:
    """The files that changed since the commit that base_of_changes names."""
    base = call(folder, "base_of_changes")
    return None if base is None else call(folder, "changed_files", *base)


def turns(number: int, unit: str) -> list[str]:
    """For each part the number of times that 1 must be added to `number` until the remainder is the part's index."""
    return [f"{part} {next(i for i in range(len(PARTS)) if (number + i) % len(PARTS) == PARTS.index(part))} {unit}" for part in PARTS]


def check_turns(folder: Path) -> None:
    alone = folder / "alone"
    alone.mkdir()
    expect("without git", call(alone, "turns", *PARTS), turns(DAY, "days"))
    run(alone, "git", "init", "--quiet", "--initial-branch", "main")
    expect("before the first commit", call(alone, "turns", *PARTS), turns(DAY, "days"))
    # Written out once, so that an error in turns() is noticed.
    expected = [
        ["a 2 commits", "b 0 commits", "c 1 commits"],
        ["a 1 commits", "b 2 commits", "c 0 commits"],
        ["a 0 commits", "b 1 commits", "c 2 commits"],
    ]
    for number in range(1, 8):
        commit(alone, "file")
        expect(f"{number} commits", call(alone, "turns", *PARTS), expected[(number - 1) % 3])
        expect(f"the expectation of {number} commits", turns(number, "commits"), expected[(number - 1) % 3])
    # The clone has 2 of the 7 commits.
    run(folder, "git", "clone", "--quiet", "--depth", "2", alone.as_uri(), "shallow")
    expect("shallow clone", call(folder / "shallow", "turns", *PARTS), turns(DAY, "days"))
    run(folder, "git", "clone", "--quiet", alone.as_uri(), "whole")
    expect("whole clone", call(folder / "whole", "turns", *PARTS), turns(7, "commits"))
    # They differ, so no test above could pass with the other's number.
    expect("the day and the commits have different turns", turns(DAY, "") == turns(7, ""), False)
    expect("one part has every turn", call(alone, "turns", "a"), ["a 0 commits"])


def check_changes(folder: Path) -> None:
    origin = folder / "origin"
    origin.mkdir()
    expect("without git", call(origin, "base_of_changes"), None)
    run(origin, "git", "init", "--quiet", "--initial-branch", "main")
    expect("before the first commit", call(origin, "base_of_changes"), None)
    commit(origin, "first")
    commit(origin, "gone")
    commit(origin, "old", 18)
    expect("20 commits are too few", call(origin, "base_of_changes"), None)
    commit(origin, "new")
    expect("21 commits", call(origin, "base_of_changes"), head(origin, "HEAD~20"))
    expect("the files of the last 20 commits", changed(origin), ["gone", "new", "old"])

    # A clone whose HEAD is that of origin/main.
    run(folder, "git", "clone", "--quiet", origin.as_uri(), "clone")
    clone = folder / "clone"
    expect("HEAD is in origin/main", call(clone, "base_of_changes"), head(clone, "HEAD~20"))
    # Origin goes on, and so does a branch of the clone.
    commit(origin, "of_origin")
    run(clone, "git", "fetch", "--quiet", "origin")
    expect("HEAD is behind origin/main", call(clone, "base_of_changes"), head(clone, "HEAD~20"))
    left = head(clone)
    commit(clone, "folder/of_branch", 3)
    expect("a branch", call(clone, "base_of_changes"), left)
    expect("the files of a branch", changed(clone), ["folder/of_branch"])

    # What is not committed counts too, except for what git ignores and what is gone.
    (clone / ".gitignore").write_text("*.o\n")
    (clone / "ignored.o").write_text("")
    (clone / "unknown").write_text("")
    (clone / "first").write_text("changed\n")
    (clone / "old").write_text("staged\n")
    run(clone, "git", "add", "old")
    run(clone, "git", "rm", "--quiet", "gone")
    run(clone, "git", "mv", "new", "named anew – é")
    expect("a folder with changes", changed(clone), ["first", "folder/of_branch", "named anew – é", "old", ".gitignore", "unknown"])
    expect("a folder of a repository", call(clone / "folder", "changed_files", *left), ["of_branch"])

    run(folder, "git", "clone", "--quiet", "--depth", "20", origin.as_uri(), "shallow_origin")
    expect("a shallow clone of 20 commits", call(folder / "shallow_origin", "base_of_changes"), None)


def check_affected(root: Path) -> None:
    files = {
        "core/base/low.h": "",
        "core/base/low.cc": '#include "base/low.h"\n',
        "core/cache/low.h": "",
        "core/base/deep.h": "",
        "core/ops/uses_deep.h": '#include "base/deep.h"\n',
        "core/ops/top.h": '#include "ops/uses_deep.h"\n#include "base/low.h"\n',
        "core/ops/a.cc": '#include "ops/top.h"\n',
        "core/ops/b.cc": '#  include "../ops/top.h"\n',
        "core/ops/other.cc": '#include "ops/other_low.h"\n// #include "base/low.h"\n',
        "core/ops/other_low.h": "",
        "core/ops/circle_1.h": '#include "ops/circle_2.h"\n',
        "core/ops/circle_2.h": '#include "ops/circle_1.h"\n',
        "capi/include/heed/heed.h": "",
        "capi/src/layer.cc": "#include <heed/heed.h>\n",
        "tests/unit/low_test.cc": '#include "base/low.h"\n',
        "tests/.clang-tidy": "",
    }
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sources = {root / file for file in files if file.endswith(".cc")}
    for changes, expected in [
        ([], []),
        (["docs/page.md", "core/CMakeLists.txt", "no/such.h"], []),
        (["core/ops/a.cc"], ["core/ops/a.cc"]),
        # Not the sources that include it through top.h alone.
        (["core/base/low.h"], ["core/base/low.cc", "tests/unit/low_test.cc"]),
        (["core/cache/low.h"], []),
        # Only headers include it, and only a header these.
        (["core/base/deep.h"], ["core/ops/a.cc", "core/ops/b.cc"]),
        (["core/ops/other_low.h"], ["core/ops/other.cc"]),
        (["core/ops/circle_1.h"], []),
        (["capi/include/heed/heed.h"], ["capi/src/layer.cc"]),
        (["tests/.clang-tidy"], ["tests/unit/low_test.cc"]),
        (["core/ops/a.cc", "core/ops/top.h"], ["core/ops/a.cc", "core/ops/b.cc"]),
    ]:
        found = sorted(path.relative_to(root).as_posix() for path in affected(root, sources, changes))
        expect(f"affected by {changes}", found, expected)


for check in (check_turns, check_changes, check_affected):
    with tempfile.TemporaryDirectory(dir=".") as made:
        check(Path(made).resolve())

if failures:
    sys.exit("\n".join(failures))
print("turns, changed files and affected sources are right")
