# SPDX-License-Identifier: Apache-2.0
"""Where kinds of layers and their children may be named: check_names.py ROOT reads the names in core/layers/kind_names.h and child_role.h,
and reports code of core/layers and core/loading that has one of them. A layer says by describe() what it computes, and by ChildRole what its
children are for; only the tables of files' names know more."""

import re
import sys
from pathlib import Path

KINDS = "core/layers/kind_names.h"
CHILDREN = "core/layers/child_role.h"
# Tables of names in files, which frameworks chose.
TABLES = {KINDS, CHILDREN, "core/loading/block_layout.cc", "core/loading/unknown_tensors.cc", "core/loading/weight_layout.cc"}
FOLDERS = ["core/layers", "core/loading"]

KIND = re.compile(r'constexpr const char\* \w+ = "([^"]+)";')
CHILD = re.compile(r'case ChildRole::\w+: return "([^"]+)";')
COMMENT = re.compile(r"//.*")
# An output of the call is no child.
OUTPUT = re.compile(r'\bOUTPUT\((\s*)"[^"]*"\)')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
OWN_KIND = re.compile(r'\bkind\(\) const override \{ return "')


def names_in(root: Path, file: str, pattern: re.Pattern[str]) -> set[str]:
    path = root / file
    return set(pattern.findall(path.read_text(encoding="utf-8"))) if path.is_file() else set()


def sources(root: Path, folder: str) -> list[Path]:
    return sorted(p for p in (root / folder).glob("*") if p.suffix in {".h", ".cc"})


def check(root: Path) -> tuple[list[str], int]:
    """The violations, one sentence each, and the number of names that were looked for."""
    kinds = names_in(root, KINDS, KIND)
    children = names_in(root, CHILDREN, CHILD)
    problems = []
    for path in [p for folder in FOLDERS for p in sources(root, folder)]:
        file = path.relative_to(root).as_posix()
        if file in TABLES:
            continue
        for number, line in enumerate(OUTPUT.sub(r"\1", path.read_text(encoding="utf-8")).splitlines(), 1):
            code = COMMENT.sub("", line)
            for literal in LITERAL.findall(code):
                # "layers.*" has a number in place of the star.
                is_child = literal in children or any(literal.startswith(name[:-1]) for name in children if name.endswith("*"))
                if literal in kinds or is_child:
                    problems.append(f'{file}:{number}: [{"kind" if literal in kinds else "child"}] names "{literal}"')
            if "kind_name::" in code:
                problems.append(f"{file}:{number}: [kind] names a kind by a constant")
    for path in sources(root, "core/layers/kinds"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if OWN_KIND.search(line):
                problems.append(f"{path.relative_to(root).as_posix()}:{number}: [kind] has a name of its own, expected one of {KINDS}")
    return problems, len(kinds) + len(children)


if __name__ == "__main__":
    violations, count = check(Path(sys.argv[1]))
    if count == 0:
        violations.append(f"no names found in {KINDS} and {CHILDREN}")
    if violations:
        sys.exit("\n".join(violations))
    print(f"{count} names of kinds and children, none outside the tables")
