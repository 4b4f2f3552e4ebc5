# SPDX-License-Identifier: Apache-2.0
"""write_shown_program.py HEADER PROGRAM: writes the C program that the manual at the top of heed.h shows into a file."""

import sys
from pathlib import Path

INDENT = " *     "

lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
begin = lines.index(INDENT + "#include <heed/heed.h>")
end = lines.index(INDENT + "}", begin) + 1
Path(sys.argv[2]).write_text("\n".join(line[len(INDENT):] for line in lines[begin:end]) + "\n", encoding="utf-8")
