# SPDX-License-Identifier: Apache-2.0
"""The sources that a build compiles, and how: compile_commands.json, with the sources of a unity build one by one."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path


def compilations(build: Path) -> Iterator[tuple[Path, list[str]]]:
    """Pairs of a source and its command: the compiler and its options, without the names of the source and of the object. A source occurs
    once for each target that compiles it."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["directory"], entry["file"]).resolve()
        words = shlex.split(re.sub(r"^\S*ccache\s+", "", entry["command"]))
        options = [word for before, word in zip(["", *words], words) if word not in ("-c", "-o") and before not in ("-c", "-o")]
        # For several sources of a unity build there is one entry: a file that CMake writes, which includes them.
        unity = re.fullmatch(r"unity_\d+_c\w*\.c\w*", path.name) and path.parent.name == "Unity"
        sources = re.findall(r'^#include "(.*)"$', path.read_text(encoding="utf-8"), re.MULTILINE) if unity else [path]
        for source in sources:
            yield Path(source), options
