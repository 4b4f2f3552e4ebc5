# SPDX-License-Identifier: Apache-2.0
"""write_every_function.py HEADER PROGRAM: writes a program, for C and C++, that takes the address of every function
that heed.h declares."""

import sys
from pathlib import Path

from header_functions import declared_functions

names = declared_functions(Path(sys.argv[1]))
lines = ["#include <heed/heed.h>", "", "typedef void any_function(void);", "", "any_function* const every_function[] = {"]
lines += [f"    (any_function*){name}," for name in names]
lines += ["};", "", "int main(void) {"]
lines += [f"  for (int i = 0; i < {len(names)}; ++i) {{", "    if (every_function[i] == NULL) return 1;", "  }", "  return 0;", "}", ""]
Path(sys.argv[2]).write_text("\n".join(lines), encoding="utf-8")
