# SPDX-License-Identifier: Apache-2.0
"""notebooks.py JAR FOLDER: runs the code cells of d2l-java's notebooks on attention, which are in FOLDER, with heed's JAR in the place of
DJL, and prints what came of each. scripts/d2l calls it. The rules by which a cell is changed:

- import ai.djl.nn.Block;       becomes import io.heed.Block; and is left out if heed has no such class: a cell that needs it then fails
- import tech.tablesaw...;      becomes an import of Figures.java, by whose figures nothing is drawn
- %load of utils/attention      loads those files by the same rules
- %load of other utilities      loads what UTILITIES says
- CHANGES                       are made where heed's arrays refuse what DJL's compute, and are printed"""

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
NOTEBOOKS = [
    "attention-cues",
    "nadaraya-watson",
    "attention-scoring-functions",
    "bahdanau-attention",
    "multihead-attention",
    "self-attention-and-positional-encoding",
    "transformer",
]
# d2l-java never had these.
MAY_BE_MISSING = {"bahdanau-attention", "transformer"}
IMPORTS = "import io.heed.*;\nimport java.util.*;\nimport java.util.function.*;\nimport java.util.stream.*;\n"
FIGURES = "import d2l.Figures.*;\n"
# What stands in the place of a utility that is not about attention.
UTILITIES = {
    "djl-imports": IMPORTS,
    "plot-utils": FIGURES,  # Tablesaw's classes, and how notebooks render them
    "Functions.java": FIGURES,  # floatToDoubleArray for plots; the others are for GPUs and other chapters
    "PlotUtils.java": None,  # loaded
    "Animator.java": FIGURES,  # a plot of the training
}
CHANGES = [
    (
        re.compile(r"(\.arange\([^()]*\))\.div\("),
        r"\1.toType(DataType.FLOAT32, false).div(",
        "integers that are divided are made FLOAT32 first",
    ),
]


@dataclass
class Cell:
    number: int
    source: str
    notes: list[str]


def class_names(jar: str) -> set[str]:
    """The names of heed's public classes."""
    listed = subprocess.run(["jar", "--list", "--file", jar], check=True, capture_output=True, text=True).stdout
    return {match[1] for match in re.finditer(r"^io/heed/(\w+)\.class$", listed, re.MULTILINE)}


def swap_import(match: re.Match[str], classes: set[str]) -> str:
    name = match[1].rsplit(".", 1)[1]
    return f"import io.heed.{name};" if name == "*" or name in classes else ""


def swap(source: str, classes: set[str], notes: list[str]) -> str:
    source = re.sub(r"^import (ai\.djl\.[\w.*]+);", lambda match: swap_import(match, classes), source, flags=re.MULTILINE)
    source = re.sub(r"^import tech\.tablesaw\.[\w.*]+;", FIGURES.strip(), source, flags=re.MULTILINE)
    for pattern, replacement, says in CHANGES:
        source, count = pattern.subn(replacement, source)
        notes += [says] * (count > 0)
    return source


def load(path: str, folder: Path, classes: set[str], notes: list[str]) -> str:
    """What a line "%load path" of a notebook in the folder stands for."""
    file = folder / path
    stand_in = UTILITIES.get(file.name)
    if stand_in is not None:
        return stand_in
    return swap(file.read_text(), classes, notes) + "\n"


def read_cells(notebook: Path, classes: set[str]) -> list[Cell]:
    cells = []
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        notes: list[str] = []
        source = swap("".join(cell["source"]), classes, notes)
        source = re.sub(r"^%load (\S+)$", lambda match: load(match[1], notebook.parent, classes, notes), source, flags=re.MULTILINE)
        cells.append(Cell(len(cells) + 1, source, notes))
    return cells


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def run_cells(jar: str, folder: Path, notebook: str, cells: list[Cell]) -> list[str]:
    """What came of each cell, one line each. The folder has the classes Cells and Figures."""
    if not cells:
        return []
    files = []
    for cell in cells:
        file = folder / f"{notebook}-{cell.number:02}"
        file.write_text(cell.source)
        files.append(str(file))
    allow = "--enable-native-access=ALL-UNNAMED"
    knows = subprocess.run(["java", allow, "--version"], capture_output=True, check=False).returncode == 0
    options = [allow] if knows else []
    return run(["java", "-cp", str(folder), "Cells", f"{jar}:{folder}", *options, "--", *files]).splitlines()


def run_notebooks(jar: str, folder: Path, build: Path) -> int:
    run(["javac", "-encoding", "UTF-8", "-d", str(build), str(SOURCES / "Figures.java"), str(SOURCES / "Cells.java")])
    classes = class_names(jar)
    ran, failed, missing = 0, 0, []
    for name in NOTEBOOKS:
        notebook = folder / f"{name}.ipynb"
        if not notebook.exists():
            missing += [] if name in MAY_BE_MISSING else [name]
            continue
        print(name)
        cells = read_cells(notebook, classes)
        results = run_cells(jar, build, name, cells)
        for cell, result in zip(cells, results, strict=True):
            failed += result.startswith("failed")
            ran += not result.startswith("failed")
            print(f"  cell {cell.number:2}  {'; '.join([result, *cell.notes])}")
    print(f"{ran} cells ran, {failed} failed")
    if missing:
        print(f"{folder} has no {', '.join(name + '.ipynb' for name in missing)}", file=sys.stderr)
    return 1 if failed or missing else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(run_notebooks(sys.argv[1], Path(sys.argv[2]), Path(temporary)))
