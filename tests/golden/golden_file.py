# SPDX-License-Identifier: Apache-2.0
"""Writes and reads the .safetensors files of the generators in this folder. The metadata of a file names its generator.

    /usr/bin/python3 golden_file.py FILE...      print the contents of files, read by this module's own reader"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
DTYPE_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "bool": "BOOL"}


class BFloat16:
    """The array rounded to bfloat16 (nearest, ties to even); NumPy has no such type."""

    def __init__(self, values):
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
        self.bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        self.shape = self.bits.shape

    def wide(self):
        return (self.bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def narrow(values, dtype="f32"):
    return BFloat16(values) if dtype == "bf16" else np.asarray(values, {"f32": np.float32, "f16": np.float16}[dtype])


def wide(array):
    return array.wide() if isinstance(array, BFloat16) else np.asarray(array, np.float64)


def write(name, tensors, description, options, made_by):
    """options: heed's options in words, for readers of the file."""
    def raw(array):
        return array.bits if isinstance(array, BFloat16) else np.asarray(array, order="C")

    # In order of decreasing element size, so that every tensor is aligned.
    order = sorted(tensors, key=lambda key: (-raw(tensors[key]).itemsize, key))
    header = {"__metadata__": {"format": "pt", "description": description, "heed_options": options, "made_by": made_by}}
    offset = 0
    for key in order:
        end = offset + raw(tensors[key]).nbytes
        dtype = "BF16" if isinstance(tensors[key], BFloat16) else DTYPE_NAMES[tensors[key].dtype.name]
        header[key] = {"dtype": dtype, "shape": list(tensors[key].shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    DATA.mkdir(exist_ok=True)
    path = DATA / f"{name}.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(raw(tensors[key]).tobytes() for key in order))
    return path


def read(path):
    """Name to array, of a file without bfloat16."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    numpy_names = {name: dtype for dtype, name in DTYPE_NAMES.items()}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = content[8 + length + begin : 8 + length + end]
        tensors[name] = np.frombuffer(data, numpy_names[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def show(path):
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    print(f"{path}: {len(content)} bytes, {header.pop('__metadata__', {})}")
    covered = 0
    numpy_names = {name: dtype for dtype, name in DTYPE_NAMES.items()}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered, name
        covered = end
        data = content[8 + length + begin : 8 + length + end]
        text = f"  {name} {entry['dtype']} {tuple(entry['shape'])}"
        if entry["dtype"] in numpy_names:
            array = np.frombuffer(data, numpy_names[entry["dtype"]]).reshape(entry["shape"])
            text += f" from {array.min()} to {array.max()}" if array.size else " empty"
        print(text)
    assert 8 + length + covered == len(content)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        show(Path(name))
