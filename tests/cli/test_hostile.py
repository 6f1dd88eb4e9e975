# SPDX-License-Identifier: MIT
"""Small files that ask for much, and large ones: refused in no time and little memory, with the sentence that says how to read them."""
import gzip
import json
import os
import pathlib
import struct
import subprocess
import zipfile
import zlib

import numpy as np

import images
import samples
import tensors
from tap import COMMAND, PLAIN, TIMEOUT, case, cases_of, check, main, run

FORMAT, DATA, MEMORY = 4, 5, 8
MB = 1 << 20
BUDGET = ["64 times its size plus 32 MiB", "give --memory BYTES"]


def costs(code, *arguments):
    """Runs the command; returns stderr, seconds of processor time, and its peak of memory in MB."""
    words = [COMMAND, *map(str, arguments)]
    with open("stderr.txt", "w+b") as err:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=err, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        text = err.read().decode(errors="replace")
    check(process.returncode == code, f"exit {process.returncode} where {code} was expected: {' '.join(words)}\n{text[-1500:]}")
    return text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cheap(code, *arguments, words=()):
    text, seconds, peak = costs(code, *arguments)
    for word in [words] if isinstance(words, str) else words:
        check(word in text, f"'{word}' is not in: {text}")
    check(not PLAIN or seconds < 1, f"{seconds} s: {arguments}")
    check(not PLAIN or peak < 100, f"{peak} MB: {arguments}")
    return text


# ---- files that unfold ----

def zeros(write, count):
    for done in range(0, count, MB):
        write(bytes(min(MB, count - done)))


def npy_header(shape, descr="|u1"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def npz_of_zeros(path, count):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z, z.open("x.npy", "w") as f:
        f.write(npy_header((count,)))
        zeros(f.write, count)


def idx_gz_of_zeros(path, count):
    with gzip.open(path, "wb") as f:
        f.write(struct.pack(">HBBI", 0, 8, 1, count))
        zeros(f.write, count)


def png_of_zeros(path, side, depth=1, colour=3):
    """Grey (0) or a palette (3), which is unfolded to three bytes a pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pack = zlib.compressobj(9)
    row = bytes(1 + (side * depth + 7) // 8)
    data = b"".join(pack.compress(row) for _ in range(side)) + pack.flush()
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, depth, colour, 0, 0, 0)) +
                                   (chunk(b"PLTE", b"abc") if colour == 3 else b"") + chunk(b"IDAT", data) + chunk(b"IEND", b""))


BOMBS = {
    "npz": lambda: npz_of_zeros("bomb.npz", 300 * MB),
    "idx.gz": lambda: idx_gz_of_zeros("bomb.gz", 300 * MB),
    "png": lambda: png_of_zeros("bomb.png", 20000),
}


@cases_of([(name, name) for name in BOMBS])
def a_file_that_unfolds(name):
    BOMBS[name]()
    path, = pathlib.Path(".").glob("bomb.*")
    check(path.stat().st_size < MB, f"{path.stat().st_size} bytes are no small file")
    cheap(MEMORY, "inspect", path, words=[str(path), *BUDGET])
    cheap(MEMORY, "inspect", path, "--memory", "50M", words=["bytes of memory are needed", "the limit is 52428800", "--memory"])
    if PLAIN:
        _, _, peak = costs(0, "inspect", path, "--memory", "2G")
        check(peak > 200, f"{peak} MB: it was not read at all")


@case
def many_small_arrays_that_unfold():
    """Each fits the budget, all together do not."""
    with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as z:
        for i in range(20):
            with z.open(f"x{i}.npy", "w") as f:
                f.write(npy_header((20 * MB,)))
                zeros(f.write, 20 * MB)
    cheap(MEMORY, "inspect", "bomb.npz", words=BUDGET)
    cheap(0, "convert", "bomb.npz:x3", "-o", "x.npy")  # one of them may be had
    check(np.load("x.npy", mmap_mode="r").shape == (20 * MB,), "x3")


# ---- streams ----

@cases_of([
    ("class names", ["report", "p.npz", "--class-names", "/dev/zero", "-o", "page.html"]),
    ("features", ["fit", "--features", "/dev/zero", "--labels", "labels.npy", "-o", "e.safetensors"]),
    ("an evaluation", ["report", "zero.json", "-o", "page.html"]),
])
def an_endless_device(arguments):
    samples.make()
    run(*samples.FIT, "--samples", "2", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "p.npz")
    os.symlink("/dev/zero", "zero.json")
    cheap(MEMORY, *arguments, words=["not a regular file, and it gave more than 32 MiB", "--memory"])


@case
def a_pipe_may_bring_more_with_memory():
    np.save("x.npy", np.zeros((40, MB), np.uint8))
    for arguments, code in ([], MEMORY), (["--memory", "1G"], 0):
        with open("x.npy", "rb") as f:
            process = subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE)
            done = subprocess.run([COMMAND, "inspect", "/dev/stdin", *arguments], stdin=process.stdout, capture_output=True, timeout=TIMEOUT)
            process.stdout.close()
            process.wait()
        check(done.returncode == code, f"{done.returncode}: {done.stderr}")


# ---- safetensors ----

def safetensors(path, header, data=b""):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    with open(path, "wb") as file:
        for part in (struct.pack("<Q", len(text)), text, data):
            file.write(part)


def entry(begin, end, shape=None, dtype="U8"):
    return {"dtype": dtype, "shape": [end - begin] if shape is None else shape, "data_offsets": [begin, end]}


def many(count, text):
    """A header as bytes: as objects of Python it would take more memory than the command, whose peak starts at that of its parent."""
    header = bytearray(b"{")
    for i in range(count):
        header += text % i + b","
    header[-1:] = b"}"
    return header


HUGE = 2 ** 63 - 1


@cases_of([
    ("overlap", {"a": entry(0, 60), "b": entry(40, 100)}, "\"b\" begins at byte 40 of the data and the tensor before it ends at 60"),
    ("the same bytes twice", {"a": entry(0, 100), "b": entry(0, 100)}, "must neither overlap nor leave gaps"),
    ("a gap", {"a": entry(0, 40), "b": entry(60, 100)}, "must neither overlap nor leave gaps"),
    ("a gap at the start", {"a": entry(10, 100)}, "\"a\" begins at byte 10"),
    ("bytes behind the last", {"a": entry(0, 90)}, "10 bytes of data belong to no tensor"),
    ("no tensor at all", {}, "100 bytes of data belong to no tensor"),
    ("an empty one inside another", {"a": entry(0, 100), "b": entry(50, 50)}, "must neither overlap nor leave gaps"),
    ("an impossible shape", {"a": entry(0, 100), "b": entry(100, 100, [0, HUGE, HUGE])}, "the shape of \"b\" overflows"),
    ("an impossible shape that ends in 0", {"a": entry(0, 100), "b": entry(100, 100, [HUGE, HUGE, 0])}, "the shape of \"b\" overflows"),
    ("a key twice", b'{"a":{"dtype":"U8","shape":[50],"data_offsets":[0,50]},"a":{"dtype":"U8","shape":[50],"data_offsets":[50,100]}}',
     "a key twice"),
])
def safetensors_refused(header, words):
    safetensors("t.safetensors", header, bytes(100))
    cheap(FORMAT, "inspect", "t.safetensors", words=words)


@case
def safetensors_in_any_order_with_empty_ones():
    safetensors("t.safetensors", {"z": entry(60, 100), "e": entry(60, 60, [0, 7]), "a": entry(0, 60), "last": entry(100, 100, [3, 0])}, bytes(100))
    out, _ = run("inspect", "t.safetensors", "--json")
    check([a["name"] for a in json.loads(out)["arrays"]] == ["z", "e", "a", "last"], out)


@case
def twenty_thousand_overlapping_tensors():
    safetensors("t.safetensors", many(20000, b'"t%d":{"dtype":"F16","shape":[524288],"data_offsets":[0,1048576]}'), bytes(MB))
    cheap(FORMAT, "inspect", "t.safetensors", words="must neither overlap nor leave gaps")


@case
def twenty_thousand_tensors_at_odd_places():
    """What is not aligned has to be copied: nothing that the header says may make that copy larger than the file."""
    safetensors("t.safetensors", many(20000, b'"t%d":{"dtype":"F16","shape":[524287],"data_offsets":[1,1048575]}'), bytes(MB))
    cheap(FORMAT, "inspect", "t.safetensors", words="must neither overlap nor leave gaps")


@case
def a_hundred_thousand_empty_tensors():
    safetensors("t.safetensors", many(100000, b'"t%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'))
    _, seconds, peak = costs(0, "inspect", "t.safetensors")  # a valid file, and a long answer
    check(not PLAIN or (seconds < 3 and peak < 100), f"{seconds} s, {peak} MB")
    safetensors("t.safetensors", many(100000, b'"l%d.weight":{"dtype":"F32","shape":[0,1],"data_offsets":[0,0]}'))
    cheap(DATA, "import", "t.safetensors", "-o", "net.safetensors", words="a network with more than 1000 layers is not supported")
    long = b"x" * 60
    safetensors("t.safetensors", many(100000, b'"' + long + b'%d/kernel:0":{"dtype":"F32","shape":[0,1],"data_offsets":[0,0]}'))
    cheap(DATA, "import", "t.safetensors", "-o", "net.safetensors", words="a network with more than 1000 layers is not supported")


@cases_of([("." + kind, kind) for kind in ("npz", "safetensors", "csv")])
def thirty_thousand_arrays_converted(kind):
    """A valid file. Each of its names is compared with the others, each row of a .csv waits for all."""
    lines = many(30000, b'"t%d":{"dtype":"U8","shape":[2],"data_offsets":[%%d,%%d]}')
    offsets = tuple(x for i in range(30000) for x in (2 * i, 2 * i + 2))
    safetensors("t.safetensors", bytes(lines) % offsets, bytes([1, 2]) * 30000)
    del lines, offsets
    cheap(0, "convert", "t.safetensors", "-o", f"out.{kind}")
    run("convert", f"out.{kind}" + (":t29999" if kind != "csv" else ""), "-o", "last.npy")
    last = np.load("last.npy")
    check((last[:, -1] if kind == "csv" else last).tolist() == [1, 2], str(last))


@case
def layers_of_a_long_list():
    """Each part of each name is looked for among 200000 names."""
    listed = b",".join(b"q%d" % i for i in range(200000))
    layers = many(900, b'"' + b"/".join([b"a"] * 300) + b'/l%d/kernel":{"dtype":"F32","shape":[0,1],"data_offsets":[0,0]}')
    safetensors("t.safetensors", b'{"__metadata__":{"layer_names":"' + listed + b'"},' + layers[1:])
    cheap(DATA, "import", "t.safetensors", "-o", "net.safetensors", words="the last dense layer has 1 output")


# ---- promises of networks ----

@cases_of([(text, text) for text in ["mlp:30000,30000", "mlp:1048576,1048576,1048576", "head:8", "vgg16:width=4"]])
def a_network_that_promises(text):
    images.squares(side=32)
    run("train", "--data", "mnist", "--net", "mlp:4", "--epochs", "1", "-o", "net.safetensors")
    def promise(header, data):
        header["__metadata__"]["net"] = text
        if text == "head:8":
            header["__metadata__"]["input"] = "8192x4096x1"
    tensors.rewrite("net.safetensors", "bad.safetensors", promise)
    cheap(FORMAT, "encode", "bad.safetensors", "--data", "mnist", "-o", "f.safetensors", words="bad.safetensors")


@case
def an_ensemble_that_promises():
    images.squares()
    run("train", "--data", "mnist", "--net", "mlp:4", "--epochs", "1", "-o", "net.safetensors")
    run("fit", "--network", "net.safetensors", "--data", "mnist", "--method", "sgd", "--samples", "2", "-o", "ens.safetensors")
    tensors.rewrite("ens.safetensors", "bad.safetensors", lambda header, data: header["__metadata__"].update(net="mlp:30000,30000"))
    cheap(FORMAT, "predict", "bad.safetensors", "--data", "mnist", "-o", "p.npz", words="bad.safetensors")


@cases_of([
    ("by empty weights", {"0.weight": (1 << 20, 0), "2.weight": (1 << 20, 0), "4.weight": (1 << 20, 0)}),
    ("by empty first ones", {"0.weight": (1 << 20, 0), "0.bias": (0,), "2.weight": (10, 1 << 4)}),
])
def an_import_that_promises(shapes):
    np.savez("bad.npz", **{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    cheap(DATA, "import", "bad.npz", "--input", "1x1x1048576", "-o", "net.safetensors", words="bad.npz")


@case
def a_partial_file_of_another():
    samples.make()
    target = pathlib.Path("ens.safetensors.partial")
    for start in struct.pack("<Q", 1 << 62), struct.pack("<Q", 100) + b"{", bytes(8), b"\xff" * 8:
        with open(target, "wb") as f:
            f.write(start)
            f.truncate(1 << 40)  # a terabyte, all of it a hole
        begun = any(start[:8])
        cheap(2 if begun else 0, *samples.FIT, "--method", "sgd", "--samples", "2", "--resume", "-o", "ens.safetensors",
              words="cannot be continued" if begun else ())


@case
def costs_that_unfold():
    samples.make()
    npz_of_zeros("bomb.npz", 100 * MB)
    cheap(MEMORY, "evaluate", "--probs", "probs.npy", "--labels", "test_labels.npy", "--costs", "bomb.npz", words=BUDGET)


@case
def a_store_that_repeats_itself():
    """Of each name the first line counts, wherever the others stand."""
    line = {"run": "r", "method": "sgd", "status": "diverged", "batch_size": None, "epochs": None, "dropout": None, "seconds": 1.0}
    os.mkdir("trials")
    with open("trials/runs.jsonl", "w") as f:
        for i in range(3000):
            f.write(json.dumps({**line, "trial": f"t{i * 7 % 1000}", "samples": 1 + i, "lr": 1 + i}) + "\n")
    out, _ = run("search", "--store", "trials", "--show", "--json")
    found = json.loads(out)["trials"]
    check([(t["trial"], t["lr"]) for t in found] == [(f"t{i * 7 % 1000}", 1 + i) for i in reversed(range(1000))], str(found[:3]))


# ---- every reader is within the limit ----

def evaluation_json():
    samples.make()
    out, _ = run("evaluate", "--probs", "probs.npy", "--labels", "test_labels.npy", "--json")
    pathlib.Path("e.json").write_text(out[:-2] + ", \"more\": [" + ",".join(["1"] * 200000) + "]}\n")


def store_of_trials():
    samples.make()
    run("search", "--features", "features.npy", "--labels", "labels.npy", "--test-features", "test_features.npy", "--test-labels", "test_labels.npy",
        "--method", "point", "--store", "trials")
    lines = pathlib.Path("trials/runs.jsonl")
    line = json.loads(lines.read_text().splitlines()[0])
    lines.write_text("".join(json.dumps({**line, "trial": f"point {i}"}) + "\n" for i in range(2000)))


def cifar():
    pathlib.Path("x.bin").write_bytes((b"\1" + bytes(3072)) * 600)


def predictions_and_names():
    samples.make()
    run(*samples.FIT, "--samples", "2", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "p.npz")
    pathlib.Path("names.txt").write_text("\n".join(f"class {i}" for i in range(200000)))


READERS = {
    "npy": (lambda: np.save("x.npy", np.zeros(300000, ">f4")), ["inspect", "x.npy"]),
    "npz": (lambda: np.savez_compressed("x.npz", x=np.arange(300000)), ["inspect", "x.npz"]),
    "safetensors": (lambda: safetensors("x.safetensors", {f"t{i}": entry(i, i + 1) for i in range(10000)}, bytes(10000)), ["inspect", "x.safetensors"]),
    "idx": (lambda: pathlib.Path("x.idx").write_bytes(struct.pack(">HBBI", 0, 0x0d, 1, 300000) + bytes(1200000)), ["inspect", "x.idx"]),
    "idx.gz": (lambda: idx_gz_of_zeros("x.gz", MB), ["inspect", "x.gz"]),
    "csv": (lambda: np.savetxt("x.csv", np.zeros((60000, 4)), "%d", ","), ["inspect", "x.csv"]),
    "cifar": (cifar, ["inspect", "x.bin"]),
    "png": (lambda: png_of_zeros("x.png", 1000, 8, 0), ["inspect", "x.png"]),
    "an evaluation": (evaluation_json, ["report", "e.json", "-o", "page.html"]),
    "a store": (store_of_trials, ["search", "--store", "trials", "--show"]),
    "class names": (predictions_and_names, ["report", "p.npz", "--class-names", "names.txt", "-o", "page.html"]),
}


@cases_of([(name, name) for name in READERS])
def reader_within_the_limit(name):
    make, arguments = READERS[name]
    make()
    text, _, _ = costs(MEMORY, *arguments, "--memory", "900K")
    check("the limit is 921600" in text and "--memory BYTES" in text, text)
    code = DATA if name == "class names" else 0  # more names than classes
    run(*arguments, code=code)


@case
def a_store_with_lost_memory_shows_no_other_winner():
    """Whatever the limit, all trials are shown or none is."""
    store_of_trials()
    whole, _ = run("search", "--store", "trials", "--show", "--csv")
    check(len(whole.splitlines()) == 2001, f"{len(whole.splitlines())} lines")
    shown = refused = 0
    for limit in range(500, 30000, 3000):
        done = subprocess.run([COMMAND, "search", "--store", "trials", "--show", "--csv", "--memory", f"{limit}K"], capture_output=True, timeout=TIMEOUT)
        check(done.returncode in (0, MEMORY), f"{done.returncode}: {done.stderr}")
        check(done.stdout.decode() == ("" if done.returncode else whole), f"{limit}K: {len(done.stdout)} bytes")
        shown, refused = shown + (done.returncode == 0), refused + (done.returncode != 0)
    check(shown and refused, f"{shown} shown, {refused} refused")


# ---- work within the limit ----

@case
def a_fit_within_the_limit():
    samples.make(n=20000, d=64)
    small, more = ("--method", "sgd", "--samples", "5", "--threads", "1", "-o", "small.safetensors"), "more.safetensors"
    text = cheap(MEMORY, *samples.FIT, "--samples", "5", "--method", "sgd", "--memory", "100K", "-o", "no.safetensors")
    check("the limit is 102400" in text and not os.path.exists("no.safetensors"), text)
    np.save("doubles.npy", np.zeros((45000, 64)))  # needs a copy in f32
    text = cheap(MEMORY, "fit", "--features", "doubles.npy", "--labels", "labels.npy", "--memory", "10M", "-o", "no.safetensors")
    check("11520000 bytes of memory are needed" in text and "the limit is 10485760" in text, text)
    # without room for a copy of the features it takes longer and gives the same bytes
    run(*samples.FIT, *small, "--memory", "10M")
    run(*samples.FIT, *small[:-1], more)
    check(tensors.read("small.safetensors") == tensors.read(more), "the limit changed the result")


if __name__ == "__main__":
    main()
