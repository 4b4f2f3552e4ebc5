# SPDX-License-Identifier: Apache-2.0
"""report.py SOURCES BUILD: which lines of core/ and capi/ were reached by the tests that ran in BUILD, a build by GCC with --coverage.

Prints the share for each file and in total. Fails below 95 %, for a line that was not reached and has no reason in uncovered.txt,
and for a reason that no line needs. Lines of unused inline functions are in no object file, so they are not counted."""

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from reasons import read_entries  # noqa: E402

LEAST_PERCENT = 95.0
FOLDERS = ("core/", "capi/")
LIST = Path(__file__).with_name("uncovered.txt")

root = Path(sys.argv[1]).resolve()
build = Path(sys.argv[2]).resolve()


def runs_here(note: Path) -> bool:
    """False for the kernels of an ISA that this processor lacks, and for tests of them."""
    isa = re.search("avx2|avx512", note.relative_to(build).as_posix())
    needed = {"avx2": "avx2", "avx512": "avx512f"}
    return isa is None or needed[isa[0]] in Path("/proc/cpuinfo").read_text().split()


def notes_of_objects() -> list[Path]:
    """The compiler's notes for the objects of the library, whether they ran or not, and for those of tests that ran,
    which contain the headers' functions that the tests use."""
    return [
        note
        for note in sorted(build.rglob("*.gcno"))
        if runs_here(note)
        and ({"heed_core.dir", "heed_core_files.dir", "heed_capi.dir", "heed.dir"}.intersection(note.parts) or note.with_suffix(".gcda").exists())
    ]


def read_by_gcov(note: Path) -> str:
    return subprocess.run(["gcov", "--json-format", "--stdout", note], cwd=build, check=True, capture_output=True, text=True).stdout


def own_file(name: str, folder: str) -> str | None:
    path = (Path(folder) / name).resolve()
    if not path.is_relative_to(root):
        return None
    file = path.relative_to(root).as_posix()
    return file if file.startswith(FOLDERS) else None


# file -> line -> how often it ran. The line of a header counts as reached if any of its copies was.
runs: dict[str, Counter[int]] = defaultdict(Counter)
with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    reports = list(pool.map(read_by_gcov, notes_of_objects()))
for report in reports:
    for document in map(json.loads, filter(None, report.splitlines())):
        for entry in document["files"]:
            if file := own_file(entry["file"], document["current_working_directory"]):
                for line in entry["lines"]:
                    runs[file][line["line_number"]] += line["count"]
if not runs:
    sys.exit(f"there is no coverage in {build}: expected a build by GCC with --coverage, whose tests ran")

reasons = {(entry.file, text): entry for entry in read_entries(LIST) for text in entry.texts("-")}
needed = set()
problems = []
for file, lines in sorted(runs.items()):
    source = (root / file).read_text(encoding="utf-8").splitlines()
    reached = sum(count > 0 for count in lines.values())
    print(f"{100 * reached / len(lines):6.1f} %  {reached:5d} of {len(lines):5d}  {file}")
    for number in sorted(number for number, count in lines.items() if count == 0):
        text = source[number - 1].strip()
        if (file, text) in reasons:
            needed.add((file, text))
        else:
            problems.append(f"{file}:{number}: not reached by any test, and without a reason in {LIST.name}: {text}")

num_lines = sum(map(len, runs.values()))
num_reached = sum(count > 0 for lines in runs.values() for count in lines.values())
percent = 100 * num_reached / num_lines
print(f"{percent:6.2f} %  {num_reached:5d} of {num_lines:5d}  in total; {num_lines - num_reached} are not reached")

if percent < LEAST_PERCENT:
    problems.append(f"{percent:.2f} % of the lines are reached, expected at least {LEAST_PERCENT} %")
for key in sorted(set(reasons) - needed):
    problems.append(f"{reasons[key].at}: every line of {key[0]} that reads '{key[1]}' is reached, or there is none: take it out")
if problems:
    sys.exit("\n".join(problems))
