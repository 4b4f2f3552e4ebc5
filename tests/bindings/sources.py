# SPDX-License-Identifier: Apache-2.0
"""The sources of Java and C#: those of the tree, and those that bindings/generate makes."""

import sys
from pathlib import Path

FOLDERS = {"java": "bindings/java/src", "csharp": "bindings/csharp/src"}


def texts_of(root: Path, language: str) -> list[str]:
    """The texts of all sources of "java" or "csharp". Java's templates stand in the texts that are made from them."""
    folder = root / FOLDERS[language]
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.java" if language == "java" else "*.cs"))]
    return texts + ["\n".join(lines) for lines in _generated(root, language).values()]


def _generated(root: Path, language: str) -> dict[str, list[str]]:
    sys.path.insert(0, str(root / "bindings/generate"))
    import generate
    from heed_header import Header

    described = generate.Described(root / "bindings/described", Header(root / "capi/include/heed/heed.h"))
    return generate.csharp_files(described) if language == "csharp" else generate.java_files(described, root / FOLDERS["java"] / "io/heed")
