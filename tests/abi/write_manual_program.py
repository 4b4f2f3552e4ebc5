# SPDX-License-Identifier: Apache-2.0
"""Writes the program that stands in the manual at the head of heed.h into a file: write_manual_program.py HEADER PROGRAM"""

import sys
from pathlib import Path

INDENT = " *     "

lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
begin = lines.index(INDENT + "#include <heed/heed.h>")
end = lines.index(INDENT + "}", begin)
program = [line[len(INDENT):] for line in lines[begin:end + 1]]
Path(sys.argv[2]).write_text("\n".join(program) + "\n", encoding="utf-8")
