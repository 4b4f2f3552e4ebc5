# SPDX-License-Identifier: Apache-2.0
"""The functions that heed.h declares."""

import re
from pathlib import Path


def declared_functions(header: Path) -> list[str]:
    text = re.sub(r"/\*.*?\*/", " ", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    names = re.findall(r"\bHEED_API\b[^;(]*?\b(heed_\w+)\s*\(", text)
    if len(names) != text.count("HEED_API"):
        raise SystemExit(f"{header.name}: a declaration with HEED_API was not understood")
    return sorted(names)
