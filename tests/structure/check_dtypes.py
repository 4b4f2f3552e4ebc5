# SPDX-License-Identifier: Apache-2.0
"""check_dtypes.py SOURCES BUILD: whoever adds an element type must be told of every switch that it is missing from.

Adds an enumerator to a copy of each enumeration below, compiles every source that switches over the enumeration against the copy, by its
command in BUILD/compile_commands.json, and requires that the compiler refuses the switch. Headers are compiled as part of a source that
includes them. Prints the files.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from compile_database import compilations

FOLDERS = ("core", "capi")
# Built only on request.
OPTIONAL = "core/backends/ascend/"
# A switch with a default that hides a missing enumerator, and a switch that lists all enumerators.
HIDING = "int f(heed::DType dtype) { switch (dtype) { case heed::DType::F32: return 1; default: return 0; } }\n"


@dataclass
class Enumeration:
    name: str
    header: str  # where it is defined
    folder: str  # that includes of the header are relative to
    end: str  # a regular expression of the last enumerator, behind which another one is put
    planted: str
    case: str  # what a switch over it contains


ENUMERATIONS = [
    Enumeration("DType", "core/tensor/dtype.h", "core", r"Bool = 8(?= \};)", "Bool = 8, Planted = 9", "case DType::F32:"),
    Enumeration("heed_dtype", "capi/include/heed/heed.h", "capi/include", r"HEED_U8 = 7,", "HEED_U8 = 7, Planted = 9,", "case HEED_F32:"),
]

root = Path(sys.argv[1]).resolve()
build = Path(sys.argv[2]).resolve()


def relative(path: Path) -> str:
    return path.relative_to(root).as_posix()


def sources() -> dict[str, str]:
    """Text by path."""
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".cc", ".h")]
    return {relative(path): path.read_text(encoding="utf-8") for path in paths}


def commands() -> dict[str, list[str]]:
    """How each source is compiled, without what it is written to."""
    found = {}
    for path, words in compilations(build):
        if path.is_relative_to(root):
            found.setdefault(relative(path), [*words, str(path)])
    return found


def compile_with(command: list[str], first_folder: Path, source: Path | None = None) -> str:
    """What the compiler says where headers of `first_folder` go before those of the project; empty where it accepts the source."""
    compiler, *options = command
    if source:
        options = [*options[:-1], str(source)]
    done = subprocess.run(
        [compiler, "-fsyntax-only", "-I", str(first_folder), *options],
        cwd=build,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    return done.stderr if done.returncode != 0 else ""


def units_of(header: str, includers: dict[str, list[str]]) -> list[str]:
    """Sources that include a header, the most direct ones first."""
    found, known = [], {header}
    for file in (level := [header]):
        for includer in includers[file]:
            if includer not in known:
                known.add(includer)
                level.append(includer)
                if includer.endswith(".cc"):
                    found.append(includer)
    return found


def check(enumeration: Enumeration, texts: dict[str, str], how: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """The files that are refused, and problems."""
    includers = defaultdict(list)
    for file, text in texts.items():
        for name in re.findall(r'^#include ["<]([^">]+)[">]', text, re.MULTILINE):
            for folder in ("core", "capi/include", "capi/src"):
                if f"{folder}/{name}" in texts:
                    includers[f"{folder}/{name}"].append(file)
    switching = [file for file, text in texts.items() if enumeration.case in text]
    refused: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(enumeration.header).relative_to(enumeration.folder)
        copy.parent.mkdir(parents=True)
        text, count = re.subn(enumeration.end, enumeration.planted, texts[enumeration.header])
        if count != 1:
            return [], [f"{enumeration.header}: {enumeration.name} does not end in {enumeration.end}"]
        copy.write_text(text, encoding="utf-8")

        def refuse(unit: str) -> None:
            said = compile_with(how[unit], Path(folder))
            for path in re.findall(r"^(.+?):\d+:\d+: error: enumeration value .(?:\w+::)*Planted. not handled", said, re.MULTILINE):
                at = (build / path).resolve()
                refused.add(enumeration.header if at == copy.resolve() else relative(at))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(refuse, [file for file in switching if file in how]))
        for header in switching:
            for unit in units_of(header, includers):
                if header in refused or not header.endswith(".h"):
                    break
                if unit in how:
                    refuse(unit)
    missing = [file for file in switching if file not in refused and (file in how or not file.startswith(OPTIONAL))]
    return sorted(refused), [f"{file} switches over {enumeration.name}, and compiles with an enumerator that it lacks" for file in missing]


def check_hiding(how: dict[str, list[str]]) -> list[str]:
    """A default must not hide what a switch lacks."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "hiding.cc"
        source.write_text('#include "tensor/dtype.h"\n' + HIDING)
        said = compile_with(how["core/tensor/copy.cc"], Path(folder), source)
    return [] if "not handled in switch" in said else [f"a switch over DType with a default is not refused: {said or 'it compiles'}"]


texts, how = sources(), commands()
problems = check_hiding(how)
for enumeration in ENUMERATIONS:
    refused, found = check(enumeration, texts, how)
    problems += found
    print(f"{len(refused)} files are refused where {enumeration.name} has one more enumerator:", *refused, sep="\n  ")
    if not refused:
        problems.append(f"no file is refused where {enumeration.name} has one more enumerator")
if problems:
    sys.exit("\n".join(problems))
