# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on the sources of a compile database, combined into few translation units.

Most of its time is spent on the headers of GoogleTest and of the standard library, which it reads and checks once per translation unit; and it
checks a source once for each target that compiles it. So each source is put into one unit, together with others that are compiled with the
same options and checked by the same .clang-tidy. A finding in a unit counts only if clang-tidy also reports it for the source alone.

usage: tidy.py [--changed <file>] <folder with compile_commands.json> <folder to write> <regular expression of sources>
  <option of clang-tidy...>

--changed: only the sources that are affected by changes of the files that <file> lists, one in a line (affected.py). If there are none, the
exit status is 77.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

import compile_database
from affected import affected

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from processors import OTHER_PROCESSORS  # noqa: E402
from translation_units import may_differ, pack  # noqa: E402

# The limit of the analyzer's work for one function: a quarter of the default, since it spends most of its time in a few
# functions.
ANALYZER = "-Xclang -analyzer-config -Xclang max-nodes=50000".split()

# The exit status where no source has to be checked.
NOTHING_TO_DO = 77

# Sources that the compile database may lack beside those for other processors: the kernels for AArch64, those that need tools which a machine
# may lack, and programs that tests compile.
NOT_BUILT = re.compile(
    r"/kernels/neon\.cc$|^examples/mpi/|^tests/(abi/header|bench/engine/(ggml|onednn|ort)_|bindings/|csharp/|install/|java/)")


def options(words):
    """The options of a compilation in alphabetical order, without those that do not affect clang-tidy (scripts/test turns -Wshadow off) and
    without precompiled headers, which it cannot read."""
    with_value = ("-include", "-isystem")
    joined = [before + word if before in with_value else word for before, word in zip(["", *words], words) if word not in with_value]
    unneeded = (
        r"-D\w+_EXPORTS|-O\w|--param=.*|-f(PI[CE]|tls-model=.*|fp-contract=.*|(function|data)-sections)|-Winvalid-pch|-Wshadow"
        r"|-include.*/cmake_pch\.hxx")
    return tuple(sorted(word for word in joined if not re.fullmatch(unneeded, word)))


def configuration(source):
    """The folder of the .clang-tidy for a source."""
    return next(folder for folder in source.parents if (folder / ".clang-tidy").exists())


def check(path, unit, words, tidy_options):
    """clang-tidy's findings for the sources of a unit."""
    path.write_text("".join(f'#include "{source}"  // NOLINT(bugprone-suspicious-include)\n' for source in unit))
    command = ["clang-tidy", "-quiet", *tidy_options, str(path), "--", *words, *ANALYZER]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout
    if done.returncode != 0 and not said:
        return done.stderr or "clang-tidy failed\n"
    # A finding may be caused by another source of the unit, so the source is checked alone. The others of the unit are
    # checked again without it if there were more findings, or if a compile error kept the analyzer from running. If only a
    # header has the compile error, two sources do not fit together: the halves of the unit are checked, until they are apart.
    named = set(re.findall(r"^(\S+?):\d+:\d+: error: ", said, re.MULTILINE))
    compiles = "[clang-diagnostic-" not in said
    alone = [source for source in unit if str(source) in named]
    if len(unit) == 1 or not alone and compiles:
        return said
    rest = [] if compiles and len(named) == len(alone) else [source for source in unit if source not in alone]
    if alone:
        parts = [[source] for source in alone] + ([rest] if rest else [])
    else:
        parts = [unit[: len(unit) // 2], unit[len(unit) // 2 :]]
    return "".join(check(path.with_stem(f"{path.stem}_{i}"), part, words, tidy_options) for i, part in enumerate(parts))


def missing(root, wanted, known):
    """The wanted sources of the tree that are neither known, nor for other processors, nor in NOT_BUILT."""
    paths = [path for folder in ("capi", "core", "examples", "tests") for path in sorted((root / folder).rglob("*.c*"))]
    sources = [path for path in paths if path.suffix in (".c", ".cc") and wanted.search(str(path))]
    unknown = [path for path in sources if path not in known and not OTHER_PROCESSORS.search(path.name)]
    return [path for path in unknown if not NOT_BUILT.search(path.relative_to(root).as_posix())]


def main():
    arguments = sys.argv[1:]
    changed = None
    if arguments[0] == "--changed":
        changed = pathlib.Path(arguments[1]).read_text().splitlines()
        del arguments[:2]
    database, folder, wanted = pathlib.Path(arguments[0]), pathlib.Path(arguments[1]).absolute(), re.compile(arguments[2])
    root = pathlib.Path.cwd()
    first = {}
    for source, (_, *words) in compile_database.compilations(database):
        if wanted.search(str(source)):
            first.setdefault(source, options(words))
    if unknown := missing(root, wanted, first):
        sys.exit("clang-tidy does not check these, since no target of the build has them:\n" + "\n".join(map(str, unknown)))
    checked = sorted(first if changed is None else affected(root, set(first), changed))
    if not checked:
        print(f"none of the {len(first)} sources is affected by the changes")
        sys.exit(NOTHING_TO_DO)
    groups = {}
    for source in checked:
        words = first[source]
        same = tuple(word for word in words if not may_differ(word))
        groups.setdefault((configuration(source), source.suffix, same), {})[source] = words

    # The unit is written where the nearest .clang-tidy is the same as for its sources.
    shutil.rmtree(folder, ignore_errors=True)
    for at in {at for at, _, _ in groups}:
        copy = folder / at.relative_to(root)
        copy.mkdir(parents=True, exist_ok=True)
        shutil.copy(at / ".clang-tidy", copy)

    units = []
    for (at, suffix, words), sources in groups.items():
        for unit, other_words in pack(sources):
            # The analyzer treats included files as headers and skips them, unless the including file has this name.
            units.append((folder / at.relative_to(root) / f"UnifiedSource_{len(units)}{suffix}", unit, [*words, *other_words]))
    print(f"clang-tidy: {len(checked)} of {len(first)} sources in {len(units)} translation units", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = "".join(pool.map(lambda unit: check(*unit, arguments[3:]), sorted(units, key=lambda unit: -len(unit[1]))))
    (folder / "findings.txt").write_text(findings)
    # Several units report the same finding in a header.
    for line in sorted(set(re.findall(r".*error: .*", findings))) or findings.splitlines():
        print(line)
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
