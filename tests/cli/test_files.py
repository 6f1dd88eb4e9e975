# SPDX-License-Identifier: MIT
"""inspect and convert."""
import gzip
import json
import os
import struct

import numpy as np

from tap import case, cases_of, check, fails, main, run


def safetensors(path, arrays, meta=None):
    """A file as the format's documentation describes it."""
    names = {np.dtype("float32"): "F32", np.dtype("int64"): "I64"}
    header, offset = {"__metadata__": meta} if meta else {}, 0
    for name, a in arrays.items():
        header[name] = {"dtype": names[a.dtype], "shape": list(a.shape), "data_offsets": [offset, offset + a.nbytes]}
        offset += a.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in arrays.values()))


@case
def inspect_lists_arrays():
    np.savez("a.npz", x=np.zeros((3, 4), np.float32), y=np.arange(3))
    out, _ = run("inspect", "a.npz")
    for word in ["npz", "2 arrays", "x", "f32", "[3,4]", "i64", "[3]"]:
        check(word in out, f"no {word} in {out}")


@case
def inspect_json():
    np.savez("a.npz", x=np.zeros((3, 4), np.float32), y=np.arange(3))
    found = json.loads(run("inspect", "a.npz", "--json")[0])
    check(found["format"] == "npz" and found["file"] == "a.npz", found)
    x, y = found["arrays"]
    check(x == {"name": "x", "dtype": "f32", "shape": [3, 4], "bytes": 48}, x)
    check(y == {"name": "y", "dtype": "i64", "shape": [3], "bytes": 24}, y)


@case
def inspect_metadata():
    safetensors("m.safetensors", {"w": np.ones((2, 2), np.float32)}, {"who": "a \"quoted\" \n line", "note": "\u00e9\x1b[31m"})
    found = json.loads(run("inspect", "m.safetensors", "--json")[0])
    check(found["metadata"] == {"who": "a \"quoted\" \n line", "note": "\u00e9\x1b[31m"}, found)
    out, _ = run("inspect", "m.safetensors")
    check("who" in out and "\x1b" not in out, "control characters reach the terminal")


@case
def refusals_quote_names_safely():
    safetensors("m.safetensors", {"\x1b[2Jx": np.ones((2, 2), np.float32), "y": np.ones((2, 2), np.float32)})
    err = fails(2, "fit", "--features", "m.safetensors", "--labels", "m.safetensors:y", "-o", "e.safetensors", words="\\x1b[2Jx")
    check("\x1b" not in err, "control characters reach the terminal")


@case
def inspect_tells_formats_by_content():
    np.save("a.npy", np.arange(4.0))
    os.rename("a.npy", "misnamed.bin")
    check(": npy" in run("inspect", "misnamed.bin")[0], "its name decided, not its content")
    idx = b"\0\0\x08\x01" + struct.pack(">I", 3) + bytes([1, 2, 3])
    open("l.idx", "wb").write(idx)
    open("l.idx.gz", "wb").write(gzip.compress(idx))
    for name in ["l.idx", "l.idx.gz"]:
        found = json.loads(run("inspect", name, "--json")[0])
        check(found["arrays"][0]["shape"] == [3] and found["arrays"][0]["dtype"] == "u8", found)


@cases_of([(extension, extension) for extension in ["npy", "npz", "safetensors", "csv"]])
def convert_round_trip(extension):
    a = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    np.save("a.npy", a)
    run("convert", "a.npy", "-o", f"b.{extension}")
    run("convert", f"b.{extension}", "--dtype", "f32", "-o", "c.npy")
    check(np.array_equal(np.load("c.npy"), a), f"{extension} changes values")


@case
def convert_options():
    a = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.savez("a.npz", pixels=a, other=np.zeros(2))
    run("convert", "a.npz:pixels", "--dtype", "f32", "--divide", "255", "--flatten", "-o", "b.npy")
    b = np.load("b.npy")
    check(b.shape == (2, 12) and b.dtype == np.float32, (b.shape, b.dtype))
    check(np.allclose(b, a.reshape(2, 12) / 255, rtol=1e-6), "not divided by 255")


@case
def convert_to_integers():
    np.save("whole.npy", np.array([-3.0, 0.0, 7.0]))
    run("convert", "whole.npy", "--dtype", "i64", "-o", "i.npy")
    check(np.array_equal(np.load("i.npy"), [-3, 0, 7]), np.load("i.npy"))
    for value in [0.5, -0.25, np.nan, 1e30]:
        np.save("a.npy", np.array([1.0, 2.0, value]))
        for dtype in ["i64", "u8", "bool"] if value < 1 else ["i64"]:
            fails(5, "convert", "a.npy", "--dtype", dtype, "-o", "i.npy", words=["element 2", f"does not fit {dtype}", "whole number"])


@cases_of([
    ("missing", lambda: None, 3, "a.npy"),
    ("empty", lambda: open("a.npy", "wb").close(), 3, "a.npy"),
    ("garbage", lambda: open("a.npy", "wb").write(os.urandom(300)), 4, "a.npy"),
    ("a folder", lambda: os.mkdir("a.npy"), 3, "a.npy"),
    ("header cut", lambda: open("a.npy", "wb").write(b"\x93NUMPY\1\0\x76\0{'descr'"), 4, "a.npy"),
    ("pickle", lambda: open("a.npy", "wb").write(b"\x80\x02}q\x00."), 4, ""),
])
def broken_file(make, code, words):
    make()
    lines = None if words == "" else 1
    fails(code, "inspect", "a.npy", words=words, lines=lines)
    fails(code, "convert", "a.npy", "-o", "b.npz", words=words, lines=lines)


@case
def pytorch_pickle_shows_the_way():
    import zipfile
    with zipfile.ZipFile("model.pt", "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
        z.writestr("archive/version", "3\n")
    err = fails(4, "inspect", "model.pt", words=["torch"], lines=None)
    check("torch.load" in err and "numpy.savez" in err, err)


@cases_of([
    ("unknown name", ["convert", "a.npz:z", "-o", "b.npy"], "z"),
    ("two arrays into one", ["convert", "a.npz", "-o", "b.npy"], "FILE:NAME"),
    ("unknown extension", ["convert", "a.npz:x", "-o", "b.xyz"], "b.xyz"),
])
def convert_refuses(arguments, words):
    np.savez("a.npz", x=np.zeros(3), y=np.zeros(4))
    fails(2, *arguments, words=words)


if __name__ == "__main__":
    main()
