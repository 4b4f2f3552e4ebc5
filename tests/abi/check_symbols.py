# SPDX-License-Identifier: Apache-2.0
"""Checks that three lists of functions agree: those that the library exports, those that the header declares, and the baseline in the tree.

With --update the baseline is written; the change is then reviewed like any other."""

import argparse
import subprocess
from pathlib import Path

from header_functions import declared_functions

parser = argparse.ArgumentParser()
parser.add_argument("--library", type=Path, required=True)
parser.add_argument("--header", type=Path, required=True)
parser.add_argument("--baseline", type=Path, required=True)
parser.add_argument("--nm", default="nm")
parser.add_argument("--update", action="store_true")
arguments = parser.parse_args()

listing = subprocess.run(
    [arguments.nm, "--dynamic", "--defined-only", arguments.library], check=True, capture_output=True, text=True
).stdout
# Each line has an address, a kind, and name@@node. Kind A is a version node itself.
exported = sorted(name for _, kind, name in map(str.split, listing.splitlines()) if kind != "A")

if arguments.update:
    arguments.baseline.write_text("".join(f"{name}\n" for name in exported), encoding="utf-8")

problems = []


def compare(left: list[str], left_name: str, right: list[str], right_name: str) -> None:
    problems.extend(f"{name}: in {left_name}, not in {right_name}" for name in sorted(set(left) - set(right)))
    problems.extend(f"{name}: in {right_name}, not in {left_name}" for name in sorted(set(right) - set(left)))


library = arguments.library.name
compare(exported, library, arguments.baseline.read_text(encoding="utf-8").split(), arguments.baseline.name)
compare([name.split("@")[0] for name in exported], library, declared_functions(arguments.header), arguments.header.name)
problems.extend(f"{name}: without a version node" for name in exported if "@@HEED_" not in name)
if not exported:
    problems.append(f"{library} exports nothing")

if problems:
    raise SystemExit("\n".join(problems))
print(f"{len(exported)} functions: exported, declared and in the baseline")
