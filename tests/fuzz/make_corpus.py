#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fuzz/corpus/<format>/: small valid files made by numpy and the standard library, from which the fuzzers start and which
the unit tests truncate and damage. The result is committed; run this again only to add a file."""
import gzip
import io
import json
import pathlib
import struct
import zipfile
import zlib

import numpy as np

root = pathlib.Path(__file__).parent / "corpus"


def put(path, data):
    path = root / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def npz(arrays, method, comment=b""):
    """Like numpy.savez, which also forces zip64, without the time of day."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(name + ".npy")
            info.compress_type = method
            with z.open(info, "w", force_zip64=True) as f:
                f.write(npy(array))
        z.comment = comment
    return out.getvalue()


def safetensors(tensors, meta=None):
    header, data = {}, b""
    if meta:
        header["__metadata__"] = meta
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def idx(array, code):
    return bytes([0, 0, code, array.ndim]) + b"".join(struct.pack(">I", n) for n in array.shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()


def png(array, color, depth=8, palette=None):
    """Rows without a filter, not interlaced. `array`: the packed bytes of each row."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    channels = {0: 1, 2: 3, 3: 1, 6: 4}[color]
    width = array.shape[1] * 8 // (depth * channels)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in array))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, array.shape[0], depth, color, 0, 0, 0))
            + (chunk(b"PLTE", palette) if palette else b"") + chunk(b"IDAT", data) + chunk(b"IEND", b""))


numbers = np.arange(6).reshape(2, 3)
put("npy/f4.npy", npy(numbers.astype("<f4")))
put("npy/f8_big_fortran_v2.npy", npy(np.asfortranarray(numbers.astype(">f8")), (2, 0)))
put("npy/i2_v3.npy", npy(numbers.astype("<i2"), (3, 0)))
put("npy/bool_scalar.npy", npy(np.array(True)))
put("npy/f2_empty.npy", npy(np.zeros((0, 3), "<f2")))
two = {"x": numbers.astype("<f4"), "labels": np.array([1, 0], "<i8")}
put("npz/stored.npz", npz(two, zipfile.ZIP_STORED, b'{"seed":"1"}'))
put("npz/deflated.npz", npz(two, zipfile.ZIP_DEFLATED))
put("safetensors/two.safetensors", safetensors({"W": ("F32", [2, 3], numbers.astype("<f4").tobytes()), "b": ("BF16", [2], b"\x80\x3f\x00\x40")},
                                               {"method": "sgd"}))
put("safetensors/odd.safetensors", safetensors({"flag": ("BOOL", [], b"\1"), "z": ("F64", [2], np.ones(2).tobytes()), "none": ("I8", [0, 4], b"")}))
put("idx/u8.idx", idx(np.arange(8, dtype="u1").reshape(2, 2, 2), 0x08))
put("idx/f64.idx", idx(np.arange(3, dtype="f8"), 0x0E))
put("idx_gz/u8.idx.gz", gzip.compress(idx(np.arange(8, dtype="u1").reshape(2, 2, 2), 0x08), mtime=0))
put("csv/integers.csv", b"1,2\n3,-4\n")
put("csv/named.csv", b'label,p_0,p_1,"a ""b"""\r\n1,0.25,1e-3,nan\r\n0,.5,-2.5E+2,inf\r\n')
pixels = (np.arange(3072) % 251).astype("u1").tobytes()
put("cifar/ten.bin", b"\7" + pixels)
put("cifar/hundred.bin", b"\x13\x63" + pixels)
put("png/rgb.png", png(np.arange(24, dtype="u1").reshape(2, 12), 2))
put("png/gray1.png", png(np.array([[0xA0], [0x50], [0xFF]], "u1"), 0, 1))
put("png/rgba16.png", png(np.arange(16, dtype="u1").reshape(1, 16), 6, 16))
put("png/palette.png", png(np.array([[0, 1], [1, 0]], "u1"), 3, 8, b"\1\2\3\4\5\6"))
