# SPDX-License-Identifier: Apache-2.0
"""check_archive.py NM ARCHIVE: checks the names that libheed.a adds to a program.

All of them must be heed's: the C functions, and C++ names in namespace heed. Other names must be weak, like the templates of the C++ library and of
nlohmann-json, of which each program may have further copies."""

import re
import subprocess
import sys

OWN = re.compile(r"heed_\w+|_Z(N|NK|T[A-Za-z]N|G[A-Za-z]N|ZN|ZNK|GVZN|GVZNK)4heed.*|_ZTHN4heed.*|_ZTWN4heed.*")

nm, archive = sys.argv[1:]
listing = subprocess.run(
    [nm, "--defined-only", "--extern-only", "--format=posix", archive], check=True, capture_output=True, text=True
).stdout
strong, weak = set(), set()
for line in listing.splitlines():
    # The names of the archive's members, which may contain spaces.
    if line.endswith("]:"):
        continue
    fields = line.split()
    (weak if fields[1] in "VvWwu" else strong).add(fields[0])

problems = [f"{name} is in no namespace of heed's" for name in sorted(strong) if not OWN.fullmatch(name)]
# DW.ref: the address of a name, for exception tables; one in each program, like the name itself.
problems += [f"{name} is weak, and no C++ name" for name in sorted(weak) if not name.startswith(("_Z", "DW.ref."))]
if not any(name.startswith("heed_") for name in strong):
    problems.append(f"{archive} has none of the C functions")
if problems:
    raise SystemExit("\n".join(problems))
print(f"{len(strong)} names are heed's own, {len(weak)} weak ones of C++ libraries or heed's")
