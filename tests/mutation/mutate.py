# SPDX-License-Identifier: Apache-2.0
"""Checks whether the tests detect mistakes. Compiles every mutant of find_places.py into one copy of heed, activates a sample of them, one at a time,
and runs the tests until one fails: the mutant is killed. Prints how many are killed, and lists those that survive. Fails below 90 %.

Only tests that reach the mutant are run, the fastest first, each with a limit on its time (a hang counts as a kill) and on its memory.
equivalent.txt lists mutants that do not change the behaviour, each with the reason; they are not in the sample."""

import argparse
import json
import os
import platform
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from find_places import Mutant, Place, find_places, read_source, rewrite

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from processors import OTHER_PROCESSORS  # noqa: E402
from reasons import read_entries  # noqa: E402

FOLDERS = ("core/attention", "core/tensor", "capi/src")
# Files besides, of a folder whose other files are tables.
FILES = ("core/families/model_config.h", "core/families/model_config.cc")
# With --kernels. Much of their code only saves time, so survivors must be read rather than counted.
KERNEL_FOLDERS = ("core/backends/cpu", "core/backends/cpu/engine", *("core/backends/cpu/kernels/" + kind for kind in ("attention", "linear", "rows", "simd")))
# The objects of the kernels, whose headers have branches for ISAs, and the options with which clang parses them.
# Neither the objects' own files nor the shim have comparisons or sums: they are lists of constants and of instructions.
KERNELS = "core/backends/cpu/kernels/"
UNITS = {KERNELS + "portable.cc": [], KERNELS + "avx512.cc": ["-march=x86-64-v4"]}
if platform.machine() != "x86_64":
    UNITS = {KERNELS + "portable.cc": []}
# The labels of the tests that are run. Other tests only add time: the same programs with other ISAs and on a simulated NPU (not in
# FOLDERS), fuzzers' inputs, benchmarks and packages. These tests reach every mutant except for two, of the sizes of a softmax's lengths,
# which only the Ascend backend uses. With --kernels all programs run.
LABELS = {"cache", "capi", "errors", "examples", "golden", "property", "unit"}
# With --kernels.
ALL_LABELS = LABELS | {"ascend", "ascend_sim", "bench", "fuzz", "isa"}
# Programs of this label contain the library's code, from LINKED_CODE, so their objects are linked again, with the mutants. The other programs
# load the library with the mutants. The objects of all these programs are those of the release build, so the copies of inline functions in
# them have no mutants.
LABEL_WITH_CODE = "unit"
LINKED_CODE = "core/libheed_core.a"
# This program consists of inline functions of the kernels, so with --kernels it is compiled with the mutants.
KERNEL_TEST = "unit_kernel_math"
# A quarter of the time of all tests. They are meant for the kernels; shorter tests reach their other mutants.
LONG = {"property.few_queries", "property.many_queries", "property.random_splits"}
LEAST_PERCENT = 90.0
LIST = Path(__file__).with_name("equivalent.txt")
NOT_COPIED = {".git", "build", "__pycache__"}

# A test may take so many times as long as without a mutant, plus some seconds for a busy machine.
SLOWER = 20
PATIENCE = 10.0
MAX_MEMORY = 8 << 30
MAX_FILE = 1 << 30
# Rules and random calls against the reference take most of the time.
ENVIRONMENT = {"HEED_PROPERTY_CASES": "1200", "GTEST_FAIL_FAST": "1", "GTEST_BRIEF": "1"}

root = Path(__file__).resolve().parent.parent.parent
sys.setrecursionlimit(10000)


def say(text: str) -> None:
    print(text, flush=True)


# ---- the build ------------------------------------------------------------------------------------------------------------------


def compiler_of_trees() -> str:
    for name in ("clang++", "clang++-14"):
        if shutil.which(name):
            return name
    sys.exit("no clang++ found, which tells where operators and constants are: scripts/install-dependencies --test installs it")


def all_places(kernels: bool) -> list[Place]:
    files = list(FILES) + [
        path.relative_to(root).as_posix()
        for folder in FOLDERS + (KERNEL_FOLDERS if kernels else ())
        for path in sorted((root / folder).iterdir())
        if path.suffix in (".cc", ".h") and (not folder.startswith(KERNELS) or path.name.endswith("-inl.h")) and not OTHER_PROCESSORS.search(path.name)
    ]
    flags = ["-std=c++20", "-Icore", "-Icapi/include", "-Icapi/src"]
    return find_places(compiler_of_trees(), flags, root, files, UNITS if kernels else {})


def write(path: Path, data: bytes) -> None:
    """Writes a file only if it changed, so that only its dependents are built again."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_copy(copy: Path, places: list[Place]) -> None:
    """Copies the source tree, with the mutants of these places."""
    header = copy / "tests/mutation/mutants.h"
    files = {path for path in root.rglob("*") if path.is_file() and not NOT_COPIED.intersection(path.relative_to(root).parts)}
    names = {path.relative_to(root).as_posix() for path in files}
    for path in list(copy.rglob("*")):
        if path.is_file() and path.relative_to(copy).as_posix() not in names:
            path.unlink()
    of_file: dict[str, list[Place]] = {}
    for place in places:
        of_file.setdefault(place.file, []).append(place)
    for name in names:
        source = root / name
        if name in of_file:
            write(copy / name, f'#include "{header}"\n#line 1\n'.encode() + rewrite(read_source(source), of_file[name]).encode("latin-1"))
        else:
            write(copy / name, source.read_bytes())
        (copy / name).chmod(source.stat().st_mode)


def run_logged(command: list[str | Path], log: Path) -> bool:
    with log.open("a") as output:
        return subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode == 0


def line_of(mutant: Mutant) -> int:
    return read_source(root / mutant.file).count("\n", 0, mutant.span.begin) + 1


def build_release(log: Path) -> None:
    """Builds the programs of the release build."""
    if not run_logged(["cmake", "--preset", "release"], log) or not run_logged(["cmake", "--build", "--preset", "release"], log):
        sys.exit(f"the release build fails, see {log}")


def build(work: Path, places: list[Place], kernels: bool) -> list[Place]:
    """Builds all places that compile, and returns them."""
    copy, tree, log = work / "source", work / "build", work / "build.log"
    log.unlink(missing_ok=True)
    build_release(log)
    configure = [
        *("cmake", "-S", copy, "-B", tree, "-G", "Ninja"),
        *("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-Og", "-DHEED_INSTRUMENT=-w;-D_GLIBCXX_ASSERTIONS"),
        *("-DHEED_WARNINGS_AS_ERRORS=OFF", "-DHEED_BUILD_JAVA=OFF", "-DHEED_BUILD_CSHARP=OFF", f"-DHEED_BUILD_TESTS={'ON' if kernels else 'OFF'}"),
    ]
    targets = ["heed", KERNEL_TEST] if kernels else ["heed"]
    while True:
        write_copy(copy, places)
        start = log.stat().st_size
        if run_logged(configure, log) and run_logged(["cmake", "--build", tree, "--", "-k", "0", *targets], log):
            return places
        complaints = log.read_text(errors="replace")[start:]
        # Where the language requires a constant or a name, the line does not compile. All mutants of the line are
        # removed.
        wrong = set(re.findall(r"(?:^|/|\s)source/(\S+?):(\d+):\d+: (?:error|note|  required)", complaints, re.MULTILINE))
        kept = [place for place in places if (place.file, str(line_of(place.mutants[0]))) not in wrong]
        if len(kept) == len(places):
            sys.exit(f"the copy does not build, see {log}")
        say(f"{len(places) - len(kept)} places do not compile, and are left out")
        places = kept


def link_unit_tests(tree: Path, folder: Path, jobs: int) -> None:
    """Links the objects of the unit tests of the release build with the library in `tree`. Writes the programs into `folder`, which has no
    others then."""
    release = root / "build/release"
    commands = subprocess.run(["ninja", "-C", release, "-t", "commands", "tests/unit/all"], check=True, capture_output=True, text=True).stdout
    links = re.findall(rf"^(: && .* -o )(tests/unit/\S+)( .*) {LINKED_CODE}( .*)$", commands, re.MULTILINE)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tests/unit").mkdir(parents=True)

    def link(parts: tuple[str, str, str, str]) -> None:
        begin, program, middle, end = parts
        program, library = (shlex.quote(str(path)) for path in (folder / program, tree / LINKED_CODE))
        subprocess.run(f"{begin}{program}{middle} {library}{end}", cwd=release, check=True, shell=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(link, links))


# ---- the tests ------------------------------------------------------------------------------------------------------------------


@dataclass
class Test:
    name: str
    command: list[str]
    environment: dict[str, str]
    expected: re.Pattern | None
    skipped: int | None  # the exit status of a test that this machine cannot run, of another ISA
    reached: set[int]
    seconds: float = 0.0

    def fails(self, environment: dict[str, str], limit: float | None) -> bool:
        def restrict() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
            resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
            try:
                result = subprocess.run(
                    self.command,
                    cwd=folder,
                    env={**os.environ, **ENVIRONMENT, **self.environment, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=limit,
                    preexec_fn=restrict,
                )
            except subprocess.TimeoutExpired:
                return True
            output.seek(0)
            text = output.read().decode(errors="replace")
        # As in ctest: if a text is expected, the exit status does not matter, unless a signal ended the program.
        if self.expected is not None:
            return result.returncode < 0 or not self.expected.search(text)
        return result.returncode not in (0, self.skipped)


def find_tests(tree: Path, linked: Path, kernels: bool) -> list[Test]:
    """The tests of the programs of the release build, which load the library in `tree` or were linked with it again, in `linked`. The other
    tests check sources, headers and symbols, which no mutant changes."""
    release = root / "build/release"
    listing = subprocess.run(["ctest", "--test-dir", release, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    tests = []
    for entry in json.loads(listing.stdout)["tests"]:
        command = entry.get("command", [])
        if not command or not Path(command[0]).is_relative_to(release):
            continue
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        labels = set(properties.get("LABELS", []))
        if not labels <= (ALL_LABELS if kernels else LABELS) or (not kernels and entry["name"] in LONG):
            continue
        environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        patterns = properties.get("PASS_REGULAR_EXPRESSION", [])
        expected = re.compile("|".join(patterns), re.MULTILINE) if patterns else None
        if LABEL_WITH_CODE in labels:
            program = Path(command[0]).relative_to(release)
            command[0] = str((tree if kernels and program.name == KERNEL_TEST else linked) / program)
            if not Path(command[0]).exists():
                sys.exit(f"{entry['name']} is not linked with {LINKED_CODE}, as the tests with the label {LABEL_WITH_CODE} are")
        else:
            environment["LD_PRELOAD"] = str(tree / "capi/libheed.so")
        tests.append(Test(entry["name"], command, environment, expected, properties.get("SKIP_RETURN_CODE"), set()))
    return tests


def measure(test: Test) -> bool:
    """Runs the test without a mutant: it must pass, and reports the mutants that it reaches."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "reached"
        start = time.monotonic()
        if test.fails({"HEED_MUTANTS_REACHED": str(record)}, None):
            return False
        test.seconds = time.monotonic() - start
        test.reached = set(map(int, record.read_text().split())) if record.exists() else set()
        return True


def killer(mutant: Mutant, tests: list[Test]) -> str | None:
    """The first test that fails with the mutant."""
    for test in tests:
        if mutant.id in test.reached and test.fails({"HEED_MUTANT": str(mutant.id)}, SLOWER * test.seconds + PATIENCE):
            return test.name
    return None


# ---- the report -----------------------------------------------------------------------------------------------------------------


def shown(mutant: Mutant) -> tuple[str, str]:
    """The mutant's lines in the original and after the change, each joined into one line."""
    source = read_source(root / mutant.file)
    begin = source.rfind("\n", 0, mutant.span.begin) + 1
    end = source.find("\n", mutant.span.end)
    mutated = source[begin : mutant.span.begin] + mutant.text + source[mutant.span.end : end]
    return " ".join(source[begin:end].split()), " ".join(mutated.split())


def identity(mutant: Mutant) -> tuple[str, str, str]:
    """An identity that does not depend on other changes of the file: the function and the lines."""
    return (f"{mutant.file} in {mutant.function or 'no function'}", *shown(mutant))


def read_equivalents(mutants: list[Mutant]) -> set[int]:
    """The numbers of the mutants that equivalent.txt lists."""
    numbers: dict[tuple, set[int]] = {}
    for mutant in mutants:
        numbers.setdefault(identity(mutant), set()).add(mutant.id)
    found = set()
    problems = []
    for entry in read_entries(LIST, "-+"):
        original = ""
        for mark, text in entry.marked:
            if mark == "-":
                original = text
                continue
            key = (entry.file, original, text)
            if key not in numbers:
                problems.append(f"{entry.at}: there is no mutant '{original}' -> '{text}' {entry.file}: take it out")
            found |= numbers.get(key, set())
    if problems:
        sys.exit("\n".join(problems))
    return found


parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("count", nargs="?", type=int, default=250, help="how many mutants are woken; 0: all (default: %(default)s)")
parser.add_argument("--seed", type=int, default=1, help="of the sample (default: %(default)s)")
parser.add_argument("--file", default="", help="only mutants of files whose path holds this")
parser.add_argument("--kernels", action="store_true", help="also in the CPU's backend and its kernels")
parser.add_argument("--again", action="store_true", help="only those that survived the last time")
parser.add_argument("--equivalents", action="store_true", help="wake those of equivalent.txt instead: none may be killed")
parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how many at a time (default: %(default)s)")
arguments = parser.parse_args()

work = root / "build" / "mutation"
work.mkdir(parents=True, exist_ok=True)
start = time.monotonic()
places = all_places(arguments.kernels)
equivalents = read_equivalents([mutant for place in places for mutant in place.mutants])
places = build(work, places, arguments.kernels)
link_unit_tests(work / "build", work / "linked", arguments.jobs)
mutants = [mutant for place in places for mutant in place.mutants]
say(f"{len(mutants)} mutants in {len(places)} places, compiled in {time.monotonic() - start:.0f} s")

tests = find_tests(work / "build", work / "linked", arguments.kernels)
with ThreadPoolExecutor(arguments.jobs) as pool:
    failing = [test for test, passes in zip(tests, pool.map(measure, tests)) if not passes]
if failing:
    sys.exit("\n".join(f"{test.name} fails without a mutant: {' '.join(test.command)}" for test in failing))
tests.sort(key=lambda test: test.seconds)
say(f"{len(tests)} tests reach {len(set().union(*(test.reached for test in tests)))} of them")

candidates = [mutant for mutant in mutants if arguments.file in mutant.file and (mutant.id in equivalents) == arguments.equivalents]
last_survivors = work / "survivors.json"
if arguments.again:
    last = {tuple(key) for key in json.loads(last_survivors.read_text())}
    candidates = [mutant for mutant in candidates if identity(mutant) in last]
count = min(arguments.count or len(candidates), len(candidates))
if count == 0:
    sys.exit("there is nothing to wake")
sample = candidates if arguments.equivalents else sorted(random.Random(arguments.seed).sample(candidates, count), key=lambda mutant: mutant.id)
start = time.monotonic()
with ThreadPoolExecutor(arguments.jobs) as pool:
    killers = list(pool.map(lambda mutant: killer(mutant, tests), sample))
say(f"{len(sample)} mutants were woken, for {time.monotonic() - start:.0f} s; killed by:")
for name, number in Counter(filter(None, killers)).most_common():
    say(f"{number:6d}  {name}")

survivors = [mutant for mutant, name in zip(sample, killers) if name is None]
killed = len(sample) - len(survivors)
if arguments.equivalents:
    alive = {mutant.id for mutant in survivors}
    wrong = [f"{mutant.file}: '{shown(mutant)[1]}' is killed, and so not equivalent" for mutant in sample if mutant.id not in alive]
    sys.exit("\n".join(wrong) or 0)

last_survivors.write_text(json.dumps([identity(mutant) for mutant in survivors]))
for mutant in survivors:
    reached = any(mutant.id in test.reached for test in tests)
    where, original, mutated = identity(mutant)
    say(f"\n{where}\n- {original}\n+ {mutated}")
    say(f"  Line {line_of(mutant)}; {'no test fails' if reached else 'no test comes here'}.")
percent = 100 * killed / len(sample)
say(f"\nkilled: {killed}/{len(sample)}, {percent:.1f} %; {len(equivalents)} equivalent ones are left out")
if percent < LEAST_PERCENT:
    sys.exit(f"expected at least {LEAST_PERCENT:.0f} %")
