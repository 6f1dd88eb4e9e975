# SPDX-License-Identifier: MIT
"""Reads what lastlayer wrote, without lastlayer."""
import json
import struct

import numpy as np

TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "I64": np.int64, "U8": np.uint8}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def tensors(path):
    """Arrays and metadata of a .safetensors file."""
    data = read(path)
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    meta = header.pop("__metadata__", {})
    return {name: np.frombuffer(data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]], TYPES[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}, meta


def rewrite(source, target, change):
    """A copy whose header, as JSON, and bytes of the arrays went through change(header, bytearray)."""
    data = read(source)
    size, = struct.unpack("<Q", data[:8])
    header, arrays = json.loads(data[8:8 + size]), bytearray(data[8 + size:])
    change(header, arrays)
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with open(target, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + arrays)
