# SPDX-License-Identifier: Apache-2.0
"""Checks the shared library's SONAME, its dependencies at run time, the glibc that it needs, and its size without debug information,
both of which a page states."""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import needed_glibc  # noqa: E402
import stated_size  # noqa: E402

# All of glibc.
ALLOWED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

parser = argparse.ArgumentParser()
parser.add_argument("--library", type=Path, required=True)
parser.add_argument("--soname", required=True)
parser.add_argument("--readelf", default="readelf")
parser.add_argument("--strip", default="strip")
parser.add_argument("--max-bytes", type=int)
parser.add_argument("--page", help="one that says 'library of 1.5 MB'")
parser.add_argument("--glibc-page", help="one that says 'glibc 2.17 or newer'")
arguments = parser.parse_args()

dynamic = subprocess.run(
    [arguments.readelf, "--dynamic", "--wide", arguments.library], check=True, capture_output=True, text=True
).stdout
sonames = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
problems = []

print(f"SONAME: {', '.join(sonames)}")
if sonames != [arguments.soname]:
    problems.append(f"SONAME is {sonames}, expected {arguments.soname}")

print(f"needs: {', '.join(needed)}")
problems += [f"needs {name}; allowed: {', '.join(sorted(ALLOWED))}" for name in needed if name not in ALLOWED]
if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
    problems.append("has a run path")

with tempfile.TemporaryDirectory() as folder:
    stripped = Path(folder) / "stripped.so"
    subprocess.run([arguments.strip, "--strip-unneeded", "-o", stripped, arguments.library], check=True)
    num_bytes = stripped.stat().st_size
print(f"stripped: {num_bytes:,} bytes" + (f", at most {arguments.max_bytes:,}" if arguments.max_bytes else ""))
if arguments.max_bytes and num_bytes >= arguments.max_bytes:
    problems.append(f"{num_bytes} bytes stripped, expected less than {arguments.max_bytes}")
if arguments.page:
    problems += stated_size.problems(arguments.page, r"library of ([0-9.]+) MB", num_bytes)

if arguments.glibc_page:
    problems += needed_glibc.problems(arguments.glibc_page, arguments.readelf, arguments.library)

if problems:
    raise SystemExit("\n".join(problems))
