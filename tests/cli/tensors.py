# SPDX-License-Identifier: MIT
"""Reads what lastlayer wrote, without lastlayer."""
import json
import struct

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64}


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
