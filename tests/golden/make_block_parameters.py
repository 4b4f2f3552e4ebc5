# SPDX-License-Identifier: Apache-2.0
"""Makes data/block_parameters.bin: the bytes that Java's saveParameters and C#'s SaveParameters must write for a block of the
tests, by the description in docs/weights.md, with Python's standard library only.

    make_block_parameters.py FILE            writes FILE
    make_block_parameters.py --check FILE    fails if the contents of FILE differ

The block is version 4 of its class, initialized for inputs of shape (2, 3). It has a parameter "scale" 2, 3 and two child blocks:
a linear layer with weights 1 to 6 and biases -1, 0.5, and a dropout, which has no parameters and was not initialized. The
dropout's name has characters of one to four bytes in UTF-8."""

import json
import struct
import sys
import zlib
from pathlib import Path


def text(string: str) -> bytes:
    units = struct.unpack(f">{len(string.encode('utf-16-be')) // 2}H", string.encode("utf-16-be"))
    encoded = b"".join(b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass") for unit in units)
    return struct.pack(">H", len(encoded)) + encoded


def shape(dims: list[int]) -> bytes:
    return struct.pack(f">b{len(dims)}q", len(dims), *dims)


def shapes(given: list[list[int]] | None) -> bytes:
    return struct.pack(">i", -1) if given is None else struct.pack(">i", len(given)) + b"".join(map(shape, given))


def counted(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def floats(values: list[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def safetensors(kind: str, options: dict, tensors: dict[str, tuple[list[int], list[float]]]) -> bytes:
    texts = {"format": "pt", "heed.kind": kind, "heed.options": json.dumps(options, separators=(",", ":"))}
    header, data = {"__metadata__": texts}, b""
    for name in sorted(tensors):
        dims, values = tensors[name]
        end = len(data) + 4 * len(values)
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [len(data), end]}
        data += floats(values)
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    return struct.pack("<Q", len(encoded)) + encoded + data


def layer(kind: str, options: dict, given: list[list[int]] | None, tensors: dict[str, tuple[list[int], list[float]]]) -> bytes:
    return text(kind) + shapes(given) + counted(safetensors(kind.lower(), options, tensors))


def block_parameters() -> bytes:
    linear = layer("Linear", {"output_size": 2, "no_bias": False}, [[2, 3]], {"weight": ([2, 3], [1, 2, 3, 4, 5, 6]), "bias": ([2], [-1, 0.5])})
    dropout = layer("Dropout", {"dropout": 0.5}, None, {})
    block = text("AbstractBlock") + struct.pack(">b", 4) + shapes([[2, 3]])
    block += struct.pack(">i", 1) + text("scale") + text("FLOAT32") + shape([2]) + counted(floats([2, 3]))
    block += struct.pack(">i", 2) + text("01inner") + linear + text("02größe €\U0001d11e") + dropout
    content = b"HEED" + struct.pack(">b", 1) + block
    return content + struct.pack(">I", zlib.crc32(content))


if __name__ == "__main__":
    file = Path(sys.argv[-1])
    if sys.argv[1] == "--check":
        if file.read_bytes() != block_parameters():
            sys.exit(f"{file} is not what make_block_parameters.py makes")
    else:
        file.write_bytes(block_parameters())
