#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_calls.py <heed.h> <file or folder...>

The wrappers' own code: the files of bindings/swig, and what SWIG writes from them. No native call has more than MOST positional
parameters: what C takes as a struct is a struct in Java and C# too. No name begins with heed_ but heed.h's own. And a struct of Java keeps
each buffer that a member of it points to, which the collector would otherwise free while C reads it.
"""
import re
import sys
from pathlib import Path

MOST = 8
# What the wrappers' files are called, without lib and .so.
LIBRARIES = {"heed_java", "heed_csharp"}
KINDS = (".i", ".c", ".h", ".java", ".cs")

# A native method of Java, or an imported one of C#, with its parameters.
NATIVE = re.compile(r"\b(?:native|extern)\s+[\w.<>*\[\]\s]+?\b(\w+)\s*\(([^()]*)\)\s*;")
# What is not code: comments, texts and characters.
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
COMMENT_OR_INCLUDED = re.compile(r"/\*.*?\*/|//[^\n]*|\"heed_\w+\.i\"", re.DOTALL)
NAME = re.compile(r"\bheed_\w+")


# A struct's setter that is given a buffer, and what it passes on.
BUFFER_SETTER = re.compile(r"public void (set\w+)\(java\.nio\.ByteBuffer value\) \{\s*\w+\.\w+\(swigCPtr, ([^;]*)\);")


def code_of(text):
    return NO_CODE.sub(" ", text)


def faults(header, sources):
    """What is wrong in {path: text}."""
    names = set(NAME.findall(code_of(header))) | LIBRARIES
    for path, text in sources.items():
        # In the files for SWIG there is code in quotes.
        code = COMMENT_OR_INCLUDED.sub(" ", text) if path.endswith(".i") else code_of(text)
        for name, parameters in NATIVE.findall(code):
            count = len([each for each in parameters.split(",") if each.strip()])
            if count > MOST:
                yield f"{path}: {name} has {count} parameters, expected at most {MOST}: let it take a struct"
        for setter, passed in BUFFER_SETTER.findall(code):
            if passed != "keep(value)":
                yield f"{path}: {setter} passes {passed}, expected keep(value)"
        for name in sorted(set(NAME.findall(code)) - names):
            yield f"{path} has the name {name}, which heed.h does not declare"


def files_of(paths):
    for path in map(Path, paths):
        yield from sorted(each for each in path.rglob("*") if each.suffix in KINDS) if path.is_dir() else [path]


def main():
    header, *paths = sys.argv[1:]
    sources = {str(path): path.read_text(encoding="utf-8") for path in files_of(paths)}
    found = list(faults(Path(header).read_text(encoding="utf-8"), sources))
    print(*found, sep="\n", end="\n" if found else "")
    calls = [parameters for text in sources.values() for _, parameters in NATIVE.findall(code_of(text))]
    if not calls:
        print("no native call was found")
        return 1
    if not found:
        print(f"{len(sources)} files, {len(calls)} native calls, at most {max(text.count(',') + 1 for text in calls)} parameters")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
