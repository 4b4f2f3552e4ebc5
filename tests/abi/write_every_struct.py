# SPDX-License-Identifier: Apache-2.0
"""write_every_struct.py HEADER LIST: writes a line EVERY_STRUCT(name, macro) for each struct of heed.h that has a macro with its defaults."""

import re
import sys
from pathlib import Path

header = Path(sys.argv[1]).read_text(encoding="utf-8")
macros = re.findall(r"^#define (HEED_\w+)_INIT\b", header, re.MULTILINE)
structs = re.findall(r"^(?:typedef )?struct (heed_\w+) \{\n  size_t struct_size;", header, re.MULTILINE)
if sorted(macro.lower() for macro in macros) != sorted(structs):
    sys.exit(f"structs with a struct_size, and macros: {sorted(set(structs) ^ {macro.lower() for macro in macros})} is one without the other")
Path(sys.argv[2]).write_text("".join(f"EVERY_STRUCT({macro.lower()}, {macro}_INIT)\n" for macro in macros), encoding="utf-8")
