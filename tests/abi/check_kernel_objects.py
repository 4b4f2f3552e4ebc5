# SPDX-License-Identifier: Apache-2.0
"""check_kernel_objects.py NM OBJECT...: every object of core/backends/cpu/kernels shares nothing with the rest of the library
but its table.

Each is compiled for another ISA. An inline function or a template that two of them have is a weak symbol, of which the linker
keeps one copy for all: if it is that with AVX-512, the library ends by an illegal instruction wherever that is missing, in a
function that has nothing to do with kernels. So there may be no weak symbol, and nothing is called but what is listed here.
"""

import subprocess
import sys
from pathlib import Path

# Plain functions of C with one definition in the process.
ALLOWED_CALLS = {
    "memcpy",
    "memmove",
    "memset",
    "log",  # of a row's sum, for its log_sum_exp
    "__stack_chk_fail",  # put in by compilers that are built to
    "_GLOBAL_OFFSET_TABLE_",
}


def table_of(file: str) -> str:
    """avx512_bf16.cc.o has heed::cpu::kAvx512Bf16Kernels."""
    isa = file.split(".")[0]
    return "heed::cpu::k" + "".join(map(str.capitalize, isa.split("_"))) + "Kernels"


def symbols_of(nm: str, path: Path) -> list[tuple[str, str]]:
    """(kind, name): a capital is a symbol that other objects see, U one that they must have."""
    listing = subprocess.run([nm, "--demangle", path], check=True, capture_output=True, text=True).stdout
    # Each line: address or spaces, kind, name, which has spaces of its own.
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
    problems += [f"{file}: [exports] {name}: expected nothing but {table}" for name in exported if name != table]
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
