#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_wrapped.py <heed.h> <not_wrapped.txt> <wrapper.c...>

Every function of heed.h is called by each of the wrappers that SWIG wrote, or is in not_wrapped.txt with a reason.
"""
import re
import sys


def declared(header):
    """The names of the functions that the header declares."""
    return set(re.findall(r"^HEED_API [^;(]*?\b(heed_\w+)\(", header, re.MULTILINE))


def listed(text):
    """The names in not_wrapped.txt, with their reasons."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, _, reason in (line.partition(":") for line in lines)}


def faults(header, not_wrapped, wrappers):
    functions = declared(header)
    exceptions = listed(not_wrapped)
    for name, reason in sorted(exceptions.items()):
        if name not in functions:
            yield f"not_wrapped.txt has {name}, which heed.h does not declare"
        if not reason:
            yield f"not_wrapped.txt gives no reason for {name}"
    for path, wrapper in wrappers.items():
        called = set(re.findall(r"\b(heed_\w+)\(", wrapper))
        for name in sorted(functions - called - exceptions.keys()):
            yield f"{path} does not call {name}, and not_wrapped.txt does not say why"
        for name in sorted(exceptions.keys() & called):
            yield f"{path} calls {name}, but it is in not_wrapped.txt"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    header, not_wrapped, *wrappers = sys.argv[1:]
    found = list(faults(read(header), read(not_wrapped), {path: read(path) for path in wrappers}))
    print(*found, sep="\n", end="\n" if found else "")
    if not found:
        print(f"{len(declared(read(header)))} functions, {len(listed(read(not_wrapped)))} of them not wrapped")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
