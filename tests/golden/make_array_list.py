#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_array_list.py [--check] FOLDER: writes array_list.bin and array_list_old.bin, lists of arrays in DJL's encoding. With
--check it compares them with the files in FOLDER instead, and fails if they differ.

Written from the description of DJL's format, independent of heed. encode must write the first file byte for byte. The second has
DJL's earlier versions 1 and 2, which lack a name and a byte order, and a big-endian array; it is only decoded."""

import struct
import sys
from pathlib import Path

from make_block_parameters import text

ORDERS = {"<": b"<", ">": b">"}


def shape(dims: list[int]) -> bytes:
    """A shape: its sizes, and for each axis the letter of an unknown layout."""
    return struct.pack(f">i{len(dims)}qi", len(dims), *dims, len(dims)) + "?".encode("utf-16-be") * len(dims)


def array(version: int, name: str | None, kind: str, dims: list[int], data: bytes, order: str = "<") -> bytes:
    encoded = text("NDAR") + struct.pack(">i", version)
    if version > 1:
        encoded += b"\0" if name is None else b"\1" + text(name)
    encoded += text("DENSE") + text(kind) + shape(dims)
    encoded += ORDERS[order] if version > 2 else b""
    return encoded + struct.pack(">i", len(data)) + data


def array_list(arrays: list[bytes]) -> bytes:
    return struct.pack(">i", len(arrays)) + b"".join(arrays)


FILES = {
    "array_list.bin": array_list([
        array(3, "größe €\U0001d11e", "FLOAT32", [2, 3], struct.pack("<6f", 1, -2.5, 3, 0.1, 5, 6)),
        array(3, None, "INT64", [], struct.pack("<q", -(2 ** 40))),
        array(3, "", "BFLOAT16", [2], struct.pack("<2H", 0x3F80, 0xC020)),
        array(3, "mask", "BOOLEAN", [3], b"\1\0\1"),
        array(3, None, "FLOAT64", [0, 2], b""),
    ]),
    "array_list_old.bin": array_list([
        array(1, None, "INT8", [2], b"\1\xff"),
        array(2, "second", "UINT8", [1, 2], b"\2\xfe"),
        array(3, "third", "INT32", [2], struct.pack(">2i", 7, -8), ">"),
    ]),
}

if __name__ == "__main__":
    for file, content in FILES.items():
        path = Path(sys.argv[-1]) / file
        if sys.argv[1] != "--check":
            path.write_bytes(content)
        elif path.read_bytes() != content:
            sys.exit(f"{path} is not what make_array_list.py makes")
