# SPDX-License-Identifier: Apache-2.0
"""check_kernel_objects.py NM OBJECT...: no object of core/backends/cpu/kernels may share anything with the rest of the library except for its
tables.

Each object is compiled for a different ISA. If two of them contain the same inline function or template, it is a weak symbol, and the
linker keeps one copy for all. If that is the copy compiled with AVX-512, the library ends with an illegal instruction on processors without it, in
a function that has nothing to do with kernels. So the objects may have no weak symbol, and may call only the functions listed here.
"""

import re
import subprocess
import sys
from pathlib import Path

# C functions with a single definition in the process.
ALLOWED_CALLS = {
    "memcpy",
    "memmove",
    "memset",
    "log",  # the logarithm of a row's sum, for log_sum_exp
    "__stack_chk_fail",  # added by some compilers, depending on how they were
    "_GLOBAL_OFFSET_TABLE_",
}


def table_of(file: str) -> str:
    """The table that an object must export: avx512.cc.o has heed::cpu::kAvx512Kernels."""
    return f"heed::cpu::k{file.split('.')[0].capitalize()}Kernels"


def is_table_of(file: str, name: str) -> bool:
    """Whether the object may export the name: avx512.cc.o may have further tables, heed::cpu::kAvx512<name>Kernels."""
    stem = table_of(file).removesuffix("Kernels")
    return re.fullmatch(rf"{stem}(|[A-Z]\w*)Kernels", name) is not None


def symbols_of(nm: str, path: Path) -> list[tuple[str, str]]:
    """Pairs (kind, name). A capital letter is a symbol that other objects see; U is one that another object must
    define."""
    listing = subprocess.run([nm, "--demangle", path], check=True, capture_output=True, text=True).stdout
    # Each line has an address or spaces, the kind, and the name, which may contain spaces.
    return [tuple(line[16:].split(maxsplit=1)) for line in listing.splitlines()]


def check(nm: str, path: Path) -> list[str]:
    file, table = path.name, table_of(path.name)
    problems = []
    exported = []
    for kind, name in symbols_of(nm, path):
        if kind in "WwVvu":
            problems.append(f"{file}: [weak] {name}: put it into an unnamed namespace, or make it static")
        elif kind == "U":
            if name not in ALLOWED_CALLS:
                problems.append(f"{file}: [calls] {name}: not one of {', '.join(sorted(ALLOWED_CALLS))}")
        elif kind.isupper():
            exported.append(name)
    problems += [f"{file}: [exports] {name}: expected only tables like {table}" for name in exported if not is_table_of(file, name)]
    if table not in exported:
        problems.append(f"{file}: [table] {table} is missing")
    return problems


if __name__ == "__main__":
    nm, *objects = sys.argv[1:]
    found = [problem for each in objects for problem in check(nm, Path(each))]
    if not objects:
        found.append("no object was given")
    if found:
        sys.exit("\n".join(found))
    print(f"{len(objects)} objects: {', '.join(Path(each).name for each in objects)}")
