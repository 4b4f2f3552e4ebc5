# SPDX-License-Identifier: Apache-2.0
"""write_shown_program.py heed.h|README.md PROGRAM: writes the C program that the documentation shows into a file."""

import sys
from pathlib import Path

INDENT = " *     "

shown_in = Path(sys.argv[1])
lines = shown_in.read_text(encoding="utf-8").splitlines()
if shown_in.suffix == ".h":
    begin = lines.index(INDENT + "#include <heed/heed.h>")
    end = lines.index(INDENT + "}", begin) + 1
    program = [line[len(INDENT):] for line in lines[begin:end]]
else:
    begin = lines.index("```c") + 1
    program = lines[begin:lines.index("```", begin)]
Path(sys.argv[2]).write_text("\n".join(program) + "\n", encoding="utf-8")
