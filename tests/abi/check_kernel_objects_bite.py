# SPDX-License-Identifier: Apache-2.0
"""check_kernel_objects_bite.py NM COMPILER: tests check_kernel_objects.py. Compiles an object with each fault, and
requires that it is reported, and that nothing is reported for an object without a fault."""

import subprocess
import sys
import tempfile
from pathlib import Path

from check_kernel_objects import check

nm, compiler = sys.argv[1:]

TABLE = "namespace heed::cpu { struct Table { void (*run)(float*); }; extern const Table kAvx512Kernels; "
END = " const Table kAvx512Kernels = {run}; }\n"
NOINLINE = "__attribute__((noinline, used)) "
RUN = "static void run(float* x) { x[0] = 1; }"

# (rule that must report it or None, source)
SOURCES = [
    (None, TABLE + RUN + END),
    (None, TABLE + "static void run(float* x) { __builtin_memset(x, 0, static_cast<unsigned long>(x[0])); }" + END),
    (None, "namespace { template <int n> " + NOINLINE + "int f() { return n; } }\n" + TABLE + "static void run(float* x) { x[0] = f<1>(); }" + END),
    (None, TABLE + RUN + END.replace("; }", "; extern const Table kAvx512Bf16Kernels; const Table kAvx512Bf16Kernels = {run}; }")),
    ("weak", NOINLINE + "inline int f() { return 1; }\n" + TABLE + "static void run(float* x) { x[0] = f(); }" + END),
    ("weak", "template <int n> " + NOINLINE + "int f() { return n; }\n" + TABLE + "static void run(float* x) { x[0] = f<1>(); }" + END),
    ("weak", "inline int count = 1;\n" + TABLE + "static void run(float* x) { x[0] = ++count; }" + END),
    ("weak", "inline int* f() { static int count; return &count; }\n" + TABLE + "static void run(float* x) { x[0] = ++*f(); }" + END),
    ("calls", 'extern "C" float tanhf(float);\n' + TABLE + "static void run(float* x) { x[0] = tanhf(x[0]); }" + END),
    ("calls", TABLE + "static void run(float* x) { delete x; }" + END),
    ("calls", "namespace heed { void f(float*); }\n" + TABLE + "static void run(float* x) { f(x); }" + END),
    ("exports", "int f() { return 1; }\n" + TABLE + RUN + END),
    ("exports", "int count;\n" + TABLE + RUN + END),
    ("exports", TABLE + RUN + " extern const int kLanes = 8;" + END),
    ("exports", TABLE + RUN + END.replace("; }", "; extern const Table kAvx2Kernels; const Table kAvx2Kernels = {run}; }")),
    ("table", "int f() { return 1; }\n"),
    ("table", TABLE.split("extern")[0] + RUN + END.replace(" const", " static __attribute__((used)) const")),
]

failures = []
with tempfile.TemporaryDirectory() as folder:
    built = Path(folder) / "avx512.cc.o"
    for rule, source in SOURCES:
        command = [compiler, "-std=c++20", "-O2", "-fPIC", "-w", "-x", "c++", "-c", "-", "-o", built]
        subprocess.run(command, input=source, text=True, check=True)
        problems = check(nm, built)
        if (rule is not None) != any(f"[{rule}]" in problem for problem in problems) or (rule is None and problems):
            failures.append(f"expected a violation of {rule}, reported {problems}:\n{source}")
if failures:
    sys.exit("\n".join(failures))
print(f"{sum(rule is not None for rule, _ in SOURCES)} faults, all reported")
