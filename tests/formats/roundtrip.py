#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every format against numpy and the standard library, both ways: what they write is read, what is written they read. Speaks TAP.
Usage: roundtrip.py PROGRAM (roundtrip.c)."""
import gzip
import io
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback
import zipfile

import numpy as np

program = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory(prefix="lastlayer-roundtrip-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)  # flushing is free there
os.chdir(folder.name)
random = np.random.default_rng(1)
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
CODES = {"BOOL": "?", "I8": "i1", "U8": "u1", "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U64": "<u8", "F16": "<f2",
         "BF16": "<u2", "F32": "<f4", "F64": "<f8"}


def run(*args, status=0, words="", **more):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, **more)
    assert done.returncode == status, f"{args}: exit {done.returncode}, not {status}: {done.stderr}"
    assert words in done.stderr, f"{args}: {done.stderr!r} does not contain {words!r}"
    assert (status == 0) == (done.stderr == ""), done.stderr
    return done.stdout


def sample(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        x = random.standard_normal(shape).astype(dtype)
        if x.size > 3:
            x.flat[:4] = [np.inf, -0.0, np.nan, np.finfo(dtype).smallest_subnormal]
        return x
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True)


def same(a, b):
    assert a.shape == b.shape, (a.shape, b.shape)
    assert a.dtype.newbyteorder("=") == b.dtype.newbyteorder("="), (a.dtype, b.dtype)
    assert np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes() == np.ascontiguousarray(b).astype(b.dtype.newbyteorder("<")).tobytes()


def read_safetensors(path):
    """Written from the description of the format; checks what it demands of a writer."""
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    meta, body, at, out = header.pop("__metadata__", {}), data[8 + length:], 0, {}
    assert (8 + length) % 8 == 0
    for name, info in header.items():
        begin, end = info["data_offsets"]
        assert begin == at, "no holes, in order"
        out[name] = np.frombuffer(body[begin:end], CODES[info["dtype"]]).reshape(info["shape"])
        at = end
    assert at == len(body)
    return out, meta


def write_safetensors(path, tensors, meta=None):
    """tensors: name -> (code, array)"""
    header, body = ({"__metadata__": meta} if meta else {}), b""
    for name, (code, array) in tensors.items():
        content = array.tobytes()
        header[name] = {"data_offsets": [len(body), len(body) + len(content)], "shape": list(array.shape), "dtype": code}
        body += content
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)


def idx_bytes(array, code):
    return bytes([0, 0, code, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype(array.dtype.newbyteorder(">")).tobytes()


def test_npy_every_type_order_endianness_version():
    for dtype in DTYPES:
        for order in "CF":
            for endian in "<>":
                for version in (1, 0), (2, 0), (3, 0):
                    x = np.array(sample(dtype, (3, 4, 5)), np.dtype(dtype).newbyteorder(endian), order=order)
                    with open("x.npy", "wb") as f:
                        np.lib.format.write_array(f, x, version=version)
                    run("x.npy", "y.npy")
                    same(np.load("y.npy"), x)


def test_npy_shapes():
    for shape in (), (1,), (7,), (0,), (3, 0), (0, 3), (1, 1, 1, 1, 1, 1, 1, 2), (300, 7):
        x = sample("f4", shape)
        np.save("x.npy", x)
        run("x.npy", "y.npz")
        same(np.load("y.npz")["array"], x)
        run("y.npz", "z.npy")
        same(np.load("z.npy"), x)


def test_npy_misaligned_data():
    x = sample("f8", (5, 3))
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (5, 3), }\n"
    open("x.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + x.tobytes())
    assert (10 + len(header)) % 8 != 0
    run("x.npy", "y.npy")
    same(np.load("y.npy"), x)


def test_npz_both_ways():
    arrays = {f"a_{d.replace('?', 'bool')}": sample(d, (4, 3)) for d in DTYPES}
    arrays |= {"scalar": np.array(2.5), "empty": np.zeros((0, 5), "f2"), "fortran": np.asfortranarray(sample("f8", (6, 2))), "sub/name": sample("f4", 9)}
    for save in np.savez, np.savez_compressed:
        save("x.npz", **arrays)
        run("x.npz", "y.npz")
        with np.load("y.npz") as z:
            assert z.files == list(arrays)
            for name in arrays:
                same(z[name], arrays[name])
        assert zipfile.ZipFile("y.npz").testzip() is None
        first = open("y.npz", "rb").read()
        run("y.npz", "z.npz")
        assert open("z.npz", "rb").read() == first


def test_npz_large_compressed():
    arrays = {"zeros": np.zeros((2000, 1000), "f4"), "noise": random.standard_normal((3000, 100)).astype("f4")}
    np.savez_compressed("x.npz", **arrays)
    run("x.npz:zeros", "y.npy")
    same(np.load("y.npy"), arrays["zeros"])
    run("x.npz:noise", "y.npy")
    same(np.load("y.npy"), arrays["noise"])


def test_npz_other_entries_are_left_alone():
    with zipfile.ZipFile("x.npz", "w") as z:
        z.writestr("readme.txt", "hello")
        z.writestr("x.npy", npy_bytes(np.arange(3)))
        z.comment = b"not json"
    assert run("x.npz") == "npz\nx i64 3\n"
    with zipfile.ZipFile("x.npz", "w") as z:
        z.writestr("readme.txt", "hello")
    run("x.npz", status=4, words="without any .npy")
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_BZIP2) as z:
        z.writestr("x.npy", npy_bytes(np.arange(3)))
    run("x.npz", status=4, words="method 12")
    with zipfile.ZipFile("x.npz", "w") as z:
        pass
    run("x.npz", status=4, words="without any .npy")


def npy_bytes(x):
    out = io.BytesIO()
    np.save(out, x)
    return out.getvalue()


def test_safetensors_both_ways():
    arrays = {d.replace("?", "bool"): sample(d, (3, 5)) for d in DTYPES} | {"scalar": np.array(1.5, "f4"), "empty": np.zeros((4, 0), "i8")}
    np.savez("x.npz", **arrays)
    run("x.npz", "x.safetensors")
    tensors, meta = read_safetensors("x.safetensors")
    assert list(tensors) == list(arrays) and meta == {}
    for name in arrays:
        same(tensors[name], arrays[name])
    codes = {np.dtype(c).newbyteorder("="): k for k, c in CODES.items() if k != "BF16"}
    write_safetensors("y.safetensors", {k: (codes[v.dtype], v) for k, v in arrays.items()}, {"format": "pt", "note": "é \" \n"})
    run("y.safetensors", "y.npz")
    with np.load("y.npz") as z:
        for name in arrays:
            same(z[name], arrays[name])
    run("y.npz", "z.safetensors")
    tensors, meta = read_safetensors("z.safetensors")
    assert meta == {"format": "pt", "note": "é \" \n"}
    for name in arrays:
        same(tensors[name], arrays[name])


def test_safetensors_bf16():
    x = random.standard_normal(50).astype("f4")
    rounded = ((x.view("u4") + 0x7fff + (x.view("u4") >> 16 & 1)) >> 16).astype("u2")
    np.save("x.npy", x)
    run("x.npy", "x.safetensors", "bf16")
    assert '"BF16"' in open("x.safetensors", "rb").read(200).decode("latin1")
    same(read_safetensors("x.safetensors")[0]["array"], rounded)
    run("x.safetensors", "y.npy", status=2, words="no type bf16")
    run("x.safetensors", "y.npy", "f32")
    same(np.load("y.npy"), (rounded.astype("u4") << 16).view("f4"))


def test_idx_both_ways():
    for code, dtype in (8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8"):
        for shape in (6,), (3, 4), (2, 3, 4):
            x = sample(dtype, shape)
            open("x.idx", "wb").write(idx_bytes(x, code))
            run("x.idx", "x.npy")
            same(np.load("x.npy"), x)
            open("x.idx.gz", "wb").write(gzip.compress(idx_bytes(x, code)))
            run("x.idx.gz", "y.npy")
            same(np.load("y.npy"), x)
            run("x.npy", "y-idx-ubyte")
            assert open("y-idx-ubyte", "rb").read() == idx_bytes(x, code)
    np.save("x.npy", np.arange(3))
    run("x.npy", "y.idx", status=2, words="not i64")


def test_csv_both_ways():
    for dtype in "f2", "f4", "f8":
        x = random.standard_normal((20, 3)).astype(dtype)
        x[0] = [np.inf, np.nan, -np.inf]
        x[1] = [np.finfo(dtype).max, np.finfo(dtype).tiny, -0.0]
        np.save("x.npy", x)
        run("x.npy", "x.csv")
        text = open("x.csv").read()
        assert text.splitlines()[0] == "array_0,array_1,array_2"
        same(np.genfromtxt("x.csv", delimiter=",", skip_header=1).astype(dtype), x)
        assert run("x.csv").splitlines()[:2] == ["csv", "array f64 20 3"]
        run("x.csv", "y.npy", dtype[0] + str(8 * int(dtype[1])))
        same(np.load("y.npy"), x)
    x = sample("i8", (10, 2))
    np.savetxt("x.csv", x, "%d", ",")
    run("x.csv", "y.npy")
    same(np.load("y.npy"), x)
    x = random.standard_normal((10, 2))
    np.savetxt("x.csv", x, delimiter=",", header="a,b", comments="")
    run("x.csv", "y.npy")
    same(np.load("y.npy"), x)
    run("x.csv:b", "y.npy")
    same(np.load("y.npy"), x[:, 1])
    run("x.csv:c", "z.npy", status=2, words='no array "c"; it holds array, a, b')
    np.savez("x.npz", probs=x, label=np.arange(10))
    run("x.npz", "p.csv")
    assert open("p.csv").readline() == "probs_0,probs_1,label\n"
    run("p.csv:probs", "y.npy")
    same(np.load("y.npy"), x)
    run("p.csv:label", "y.npy")
    same(np.load("y.npy"), np.arange(10))


def test_csv_numbers_are_nearest():
    texts = [f"{m}e{e}" for m, e in zip(random.integers(1, 10**18, 3000), random.integers(-330, 300, 3000))]
    texts += ["0.1", "1e23", "9007199254740993.0", "2.2250738585072011e-308", "17976931348623157e292", "1e-400", "+.5", "5.", "123456789" * 30]
    texts = [t for t in texts if np.isfinite(float(t))]
    open("x.csv", "w").write("\n".join(texts) + "\n")
    run("x.csv", "y.npy")
    same(np.load("y.npy"), np.array([float(t) for t in texts]))
    open("x.csv", "w").write("1\n1e400\n")
    run("x.csv", status=4, words='"1e400" is too large for f64')


def test_csv_in_a_locale_with_decimal_commas():
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", "./de_DE.UTF-8"], capture_output=True) if shutil.which("localedef") else None
    if not made or made.returncode:
        return "skip: no locale with decimal commas can be made here"
    env = os.environ | {"LOCPATH": os.getcwd(), "LC_ALL": "de_DE.UTF-8"}
    x = np.array([0.5, 1e-20, 0.1, 123456789.123456789])
    np.save("x.npy", x)
    run("x.npy", "x.csv", env=env)
    assert open("x.csv").read() == "array\n0.5\n1e-20\n0.1\n123456789.12345679\n"
    run("x.csv", "y.npy", env=env)
    same(np.load("y.npy"), x)


def test_convert_types():
    x = random.integers(0, 256, (50, 4, 3)).astype("u1")
    np.save("x.npy", x)
    run("x.npy", "y.npy", "-", 255, "flatten")
    same(np.load("y.npy"), (x.reshape(50, 12) / 255.0).astype("f4"))
    run("x.npy", "y.npy", "f64", 255)
    same(np.load("y.npy"), x / 255.0)
    ints = np.array([-128, 0, 127], "i8")
    reals = random.standard_normal(1000) * 100
    np.savez("x.npz", ints=ints, reals=reals, large=np.array([2**63 - 1, 2**53 + 1]))
    for name in "i8", "i16", "i32", "i64", "f16", "f32", "f64":
        run("x.npz:ints", "y.npy", name)
        same(np.load("y.npy"), ints.astype(f"{name[0]}{int(name[1:]) // 8}"))
    for name in "f2", "f4", "i1", "i2", "i4", "i8":
        source = reals if name[0] == "f" else np.round(np.clip(reals, -128, 127))  # integers hold no fraction
        np.save("r.npy", source)
        run("r.npy", "y.npy", name[0] + str(8 * int(name[1])))
        same(np.load("y.npy"), source.astype(name))
    run("x.npz:large", "y.npy", "u64")
    same(np.load("y.npy"), np.array([2**63 - 1, 2**53 + 1], "u8"))


def test_large_arrays_in_blocks():
    x = random.standard_normal((3000, 700)).astype("f4")
    np.savez("x.npz", x=x, y=np.arange(3000))
    for name in "y.npz", "y.safetensors":
        run("x.npz", name)
        run(f"{name}:x", "z.npy")
        same(np.load("z.npy"), x)
        run(f"{name}:y", "z.npy")
        same(np.load("z.npy"), np.arange(3000))
    run("x.npz:x", "z.npy", "f16")
    same(np.load("z.npy"), x.astype("f2"))
    run("x.npz:x", "z.idx")
    same(np.frombuffer(open("z.idx", "rb").read()[12:], ">f4").astype("f4").reshape(x.shape), x)


def test_refused_files():
    with zipfile.ZipFile("model.pt", "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
        z.writestr("archive/data/0", b"1234")
    pickle.dump({"w": 1}, open("old.pt", "wb"), 2)
    os.mkdir("stub")  # as much of PyTorch as the lines need: tensors, and a load that opens the file
    open("stub/torch.py", "w").write("import numpy\nclass Tensor:\n def float(self): return self\n def numpy(self): return numpy.ones((2, 3), 'f4')\n"
                                     "def load(path, map_location): open(path).close(); return {'fc.weight': Tensor()}\n")
    for name in "model.pt", "old.pt":
        done = subprocess.run([program, name], capture_output=True, text=True)
        lines = done.stderr.splitlines()
        assert done.returncode == 4 and len(lines) == 1 and "PyTorch pickle" in lines[0], done.stderr
        subprocess.run([sys.executable, "-c", lines[0].split("converts it: ")[1]], env=os.environ | {"PYTHONPATH": "stub"}, check=True)
        run("model.npz:fc.weight", "w.npy")
        same(np.load("w.npy"), np.ones((2, 3), "f4"))
    open("m.h5", "wb").write(b"\x89HDF\r\n\x1a\n" + bytes(50))
    run("m.h5", status=4 if os.environ.get("LASTLAYER_H5") else 3, words="m.h5: ")
    open("x.npy", "wb").write(b"garbage text")
    run("x.npy", status=4, words="not a .npy file, or truncated: it should begin with \\x93NUMPY")
    open("x.dat", "wb").write(bytes(range(200, 256)) + bytes(range(32)))
    run("x.dat", status=4, words="its format is not known")
    open("x.txt", "wb").write(b"hello\nworld\n")
    run("x.txt", status=4, words='line 2, column 1: "world" is not a number')
    with open("x.npy", "wb") as f:
        f.write(npy_bytes(np.arange(100))[:-1])
    run("x.npy", status=4, words="promises 800 bytes of data but the file has 799; it is truncated")
    with zipfile.ZipFile("x.npz", "w") as z:
        import warnings
        warnings.simplefilter("ignore")
        z.writestr("a.npy", npy_bytes(np.arange(3)))
        z.writestr("a.npy", npy_bytes(np.arange(3)))
    run("x.npz", status=4, words='two arrays have the name "a"')


def test_content_decides():
    np.savez("x.npy.npz", a=np.arange(3))
    os.rename("x.npy.npz", "odd.csv")
    assert run("odd.csv") == "npz\na i64 3\n"
    open("numbers", "w").write("1\n2\n")
    assert run("numbers") == "csv\narray i64 2\n"


def test_cifar_records():
    """Written from npz as planes and as rasters, and read back; the records as numpy lays them out."""
    planes, fine = random.integers(0, 256, (7, 3, 32, 32), dtype="u1"), random.integers(0, 10, 7)
    record = np.hstack([fine.astype("u1")[:, None], planes.reshape(7, -1)])
    for images in planes, planes.transpose(0, 2, 3, 1), planes.transpose(0, 2, 3, 1).reshape(7, 1024, 3):
        np.savez("images.npz", images=images, labels=fine)
        run("images.npz", "ten.bin")
        assert open("ten.bin", "rb").read() == record.tobytes()
    run("ten.bin", "ten.npz")
    same(np.load("ten.npz")["images"], planes)
    same(np.load("ten.npz")["labels"], fine.astype("u1"))
    np.savez("images.npz", labels=fine + 90, images=planes, coarse_labels=fine + 10)
    run("images.npz", "hundred.bin")
    assert open("hundred.bin", "rb").read() == np.hstack([(fine + 10).astype("u1")[:, None], (fine + 90).astype("u1")[:, None], planes.reshape(7, -1)]).tobytes()
    np.savez("images.npz", images=planes)
    run("images.npz", "x.bin", status=2, words="a CIFAR file holds images")
    np.savez("images.npz", images=planes, labels=fine[:6])
    run("images.npz", "x.bin", status=2, words='7 rows of "images" but 6 of "labels"')
    np.savez("images.npz", images=planes, labels=fine + 10)
    run("images.npz", "x.bin", status=5, words='"labels" is 1')
    assert not os.path.exists("x.bin")


def test_hdf5():
    """What h5py writes: types, byte orders, gzip, texts; what reaches beyond the file is refused."""
    try:
        import h5py
    except ImportError:
        return "SKIP no h5py"
    arrays = {"dense_1/dense_1/kernel:0": sample("f4", (4, 3)), "dense_1/dense_1/bias:0": sample("f4", (3,)), "model_weights/a": sample("<f8", (2, 2)),
              "big": sample(">i2", (5, 2)), "packed": sample("i8", (40, 3)), "number": sample("u1", ()), "half": np.ones(3, "f2"), "none": np.zeros((0, 4), "f4")}
    for latest in {}, {"libver": "latest"}:
        with h5py.File("model.h5", "w", **latest) as f:
            for name, array in arrays.items():
                f.create_dataset(name, data=array, **({"compression": "gzip", "shuffle": True, "fletcher32": True} if name == "packed" else {}))
            f.attrs["layer_names"] = [b"flatten_1", b"dense_1"]
            f.attrs["keras_version"] = "2.2.4"
            f["model_weights"].attrs["backend"] = np.bytes_("tensorflow")
            f["text"] = "not a number"
            f["link"] = h5py.SoftLink("/big")
            f["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
        if "not installed" in subprocess.run([program, "model.h5"], capture_output=True, text=True).stderr:
            return "SKIP no lastlayer-h5"
        out = run("model.h5")
        assert out.startswith("hdf5\n") and out.count(":0 f32") == 2 and "/text" not in out and "/link" not in out and "elsewhere" not in out, out
        assert "layer_names=flatten_1,dense_1\n" in out and "keras_version=2.2.4" in out and "backend=tensorflow" in out, out
        for name, array in arrays.items():
            run(f"model.h5:/{name}", "x.npz")
            same(np.load("x.npz")["/" + name], array.astype("f4") if name == "half" else array)
    whole = open("model.h5", "rb").read()
    for keep in 100, len(whole) // 2, len(whole) - 1:
        open("cut.h5", "wb").write(whole[:keep])
        run("cut.h5", status=4, words="the HDF5 file is damaged or truncated")
    with h5py.File("outside.h5", "w") as f:
        f.create_dataset("x", (4,), "f4", external=[("/etc/hostname", 0, 16)])
    run("outside.h5", status=4, words='"/x" is stored outside the file')
    with h5py.File("odd.h5", "w") as f:
        f.create_dataset("x", data=np.arange(100), compression="lzf")
    run("odd.h5", status=4, words="expected plain or gzip")
    h5py.File("empty.h5", "w").close()
    run("empty.h5", status=4, words="holds no array of numbers")


def test_pipe_as_input():
    done = subprocess.run([program, "/dev/stdin"], input=npy_bytes(np.arange(5)), capture_output=True)
    assert done.stdout == b"npy\narray i64 5\n", done
    done = subprocess.run([program, "/dev/stdin", "/dev/stdout"], input=npy_bytes(np.arange(5)), capture_output=True)
    same(np.load(io.BytesIO(done.stdout))["array"], np.arange(5))


def test_nothing_is_left_behind():
    assert not [n for n in os.listdir(".") if n.endswith(".tmp")]


tests = [(n, f) for n, f in list(globals().items()) if n.startswith("test_")]
print(f"1..{len(tests)}")
failed = 0
for number, (name, test) in enumerate(tests, 1):
    try:
        skipped = test()
        print(f"ok {number} - {name}" + (f" # {skipped}" if skipped else ""), flush=True)
    except Exception:
        failed += 1
        print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="")
        print(f"not ok {number} - {name}", flush=True)
os.chdir("/")
sys.exit(failed > 0)
