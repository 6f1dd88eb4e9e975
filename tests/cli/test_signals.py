# SPDX-License-Identifier: MIT
"""Signals, limits and outputs that cannot be: one sentence, the documented exit code, and no half a file."""
import hashlib
import os
import pathlib
import resource
import signal
import subprocess
import time

import numpy as np

import samples
from tap import COMMAND, case, cases_of, check, fails, main, run

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup make check ignores it, and what is ignored stays so in the command

CANCELLED, WRITE = 130, 6
PATIENCE = 10  # seconds; a reader that does not look takes minutes


def start(*words, **more):
    return subprocess.Popen([COMMAND, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def catches(process, number):
    """Has the process set a handler for the signal? Asked of the kernel, so that no test sends one too early."""
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    masks = {line.split(":")[0]: int(line.split()[1], 16) for line in lines if line.startswith(("SigCgt", "SigIgn"))}
    return bool(masks["SigCgt"] >> (number - 1) & 1)


def wait_until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        check(time.monotonic() < end, f"{what} did not happen")
        time.sleep(0.01)


def ends(process, code, began):
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - began
    check(process.returncode == code, f"exit {process.returncode} where {code} was expected: {out} {err}")
    check(took < PATIENCE, f"it took {took:.1f} s")
    return err.decode()


@cases_of([(s.name, s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
def a_pipe_that_nobody_writes_to(number):
    os.mkfifo("never.npy")
    process = start("inspect", "never.npy")
    wait_until(lambda: catches(process, number), "the handler")
    time.sleep(0.2)
    process.send_signal(number)
    err = ends(process, CANCELLED, time.monotonic())
    check(err == "lastlayer inspect: interrupted.\n", err)


@case
def a_pipe_that_falls_silent():
    os.mkfifo("slow.npy")
    process = start("inspect", "slow.npy")
    with open("slow.npy", "wb") as pipe:
        pipe.write(b"\x93NUMPY")
        pipe.flush()
        wait_until(lambda: catches(process, signal.SIGTERM), "the handler")
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        ends(process, CANCELLED, time.monotonic())


@case
def a_pipe_that_nobody_reads():
    np.save("x.npy", np.zeros(3))
    os.mkfifo("out.npy")
    process = start("convert", "x.npy", "-o", "out.npy")
    wait_until(lambda: catches(process, signal.SIGTERM), "the handler")
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    ends(process, CANCELLED, time.monotonic())


@case
def a_reader_that_stops_reading():
    np.save("x.npy", np.zeros(1 << 20))
    process = start("convert", "x.npy", "-o", "/dev/stdout")
    process.stdout.read(1000)  # then the pipe fills
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    ends(process, CANCELLED, time.monotonic())


@case
def a_pipe_is_still_read_whole():
    a = np.arange(300000.0)
    np.save("a.npy", a)
    os.mkfifo("p.npy")
    feeder = subprocess.Popen("sleep 0.2; head -c 1000 a.npy > p2; (cat p2; sleep 0.3; tail -c +1001 a.npy) > p.npy", shell=True)
    run("convert", "p.npy", "-o", "b.npy")
    feeder.wait()
    check(np.array_equal(np.load("b.npy"), a), "the copy differs")


def write_csv():
    row = (",".join(f"{i}.5" for i in range(50)) + "\n").encode()
    with open("big.csv", "wb") as f:
        for _ in range(400):
            f.write(row * 2000)  # 160 MB


def write_fortran():
    a = np.lib.format.open_memmap("big.npy", mode="w+", dtype=">f8", shape=(1000, 1 << 15), fortran_order=True)  # 260 MB of holes
    del a


@cases_of([("csv", "big.csv", write_csv), ("columns of a foreign machine", "big.npy", write_fortran)])
def readers_look_at_signals(file, make):
    make()
    process = start("inspect", file)
    wait_until(lambda: catches(process, signal.SIGTERM), "the handler")
    time.sleep(0.3)
    if process.poll() is not None:
        return  # a machine so fast, or a limit on memory, has answered before
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    process.communicate(timeout=60)
    took = time.monotonic() - began
    check(process.returncode in (CANCELLED, 0, 8) and took < PATIENCE, f"exit {process.returncode} after {took:.1f} s")


@cases_of([(s.name, s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
def ignored_signals_stay_ignored(number):
    """nohup, and a background job of a shell."""
    np.save("x.npy", np.zeros(3))
    os.mkfifo("in.npy")
    process = start("inspect", "in.npy", preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    other = next(s for s in (signal.SIGTERM, signal.SIGINT) if s != number)
    wait_until(lambda: catches(process, other), "the handler")
    check(not catches(process, number), "an ignored signal got a handler")
    process.send_signal(number)
    time.sleep(0.2)
    with open("in.npy", "wb") as pipe:
        pipe.write(pathlib.Path("x.npy").read_bytes())
    out, err = process.communicate(timeout=60)
    check(process.returncode == 0 and b"[3]" in out, (process.returncode, out, err))


@case
def a_fit_that_loses_its_terminal():
    samples.make()
    process = start(*samples.FIT, "--samples", "100000", "--thin", "1000", "-o", "e.safetensors")
    wait_until(lambda: os.path.exists("e.safetensors.partial"), "the work file")
    process.send_signal(signal.SIGHUP)
    err = ends(process, CANCELLED, time.monotonic())
    check("interrupted" in err and not os.path.exists("e.safetensors"), err)


@cases_of([("convert", ["convert", "x.npy", "-o", "y.npy"]), ("replace", ["convert", "x.npy", "-o", "old.npy"])])
def a_limit_on_files(words):
    np.save("x.npy", np.zeros(100000))
    np.save("old.npy", np.zeros(3))
    before = sorted(os.listdir("."))
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, preexec_fn=limit)
    check(done.returncode == WRITE and "File too large" in done.stderr and words[-1] in done.stderr, (done.returncode, done.stderr))
    check(sorted(os.listdir(".")) == before and np.load("old.npy").shape == (3,), os.listdir("."))


@case
def a_full_standard_output():
    samples.make()
    with open("/dev/full", "w") as full:
        _, err = run(*samples.FIT, "--samples", "2", "-o", "e.safetensors", code=WRITE, stdout=full)
        check("e.safetensors is written, but the summary could not be written to standard output: No space left" in err, err)
        run("inspect", "e.safetensors")
        _, err = run("inspect", "e.safetensors", code=WRITE, stdout=full)
        check("cannot write to standard output: No space left" in err and "is written" not in err, err)


@cases_of([("as it comes", None, -signal.SIGPIPE), ("ignored", signal.SIG_IGN, WRITE)])
def a_closed_standard_output(how, code):
    np.save("x.npy", np.zeros(3))
    read, write = os.pipe()
    os.close(read)
    prepare = (lambda: signal.signal(signal.SIGPIPE, how)) if how is not None else None
    done = subprocess.run([COMMAND, "inspect", "x.npy"], stdout=write, stderr=subprocess.PIPE, preexec_fn=prepare)
    os.close(write)
    check(done.returncode == code, done)
    check(code != WRITE or b"cannot write to standard output: Broken pipe" in done.stderr, done.stderr)


@case
def what_a_kill_left_is_swept():
    """A kill between link and rename cannot be timed; what it leaves can be made."""
    np.save("x.npy", np.arange(5.0))
    np.save("y.npy", np.zeros(3))
    left = f".lastlayer-{hashlib.sha256(b'y.npy').hexdigest()[:16]}-0.tmp"
    pathlib.Path(left).write_bytes(b"half")
    run("convert", "x.npy", "-o", "y.npy")
    check(sorted(os.listdir(".")) == ["x.npy", "y.npy"] and np.load("y.npy").shape == (5,), os.listdir("."))


@case
def names_as_long_as_they_may_be():
    samples.make()
    run(*samples.FIT, "--samples", "2", "-o", "e.safetensors")
    for length in (240, 243, 251, 255):
        name = "n" * (length - 4) + ".npz"
        for _ in range(2):  # made, then replaced
            run("predict", "e.safetensors", *samples.PREDICT, "-o", name)
        os.remove(name)
    before = sorted(os.listdir("."))
    fails(WRITE, "predict", "e.safetensors", *samples.PREDICT, "-o", "n" * 252 + ".npz", words="too long")
    fails(WRITE, *samples.FIT, "-o", "n" * 240 + ".safetensors", words=["too long", ".partial"])
    check(sorted(os.listdir(".")) == before, "something was left")


OUTPUTS = [
    ("train", ["train", "--data", "missing", "-o"], "safetensors"),
    ("import", ["import", "missing.safetensors", "-o"], "safetensors"),
    ("encode", ["encode", "missing.safetensors", "--data", "missing", "-o"], "npz"),
    ("fit", ["fit", "--features", "missing.npy", "--labels", "missing.npy", "-o"], "safetensors"),
    ("predict", ["predict", "missing.safetensors", "--features", "missing.npy", "-o"], "npz"),
    ("report", ["report", "missing.npz", "-o"], "html"),
    ("convert", ["convert", "missing.npy", "-o"], "npy"),
]


@cases_of(OUTPUTS)
def the_output_is_looked_at_first(words, ending):
    """Before any input, which here is not even there."""
    os.mkdir(f"folder.{ending}")
    fails(WRITE, *words, f"nowhere/out.{ending}", words="its folder does not exist")
    fails(WRITE, *words, f"folder.{ending}", words="is a folder")
    fails(WRITE, *words, "n" * 256 + f".{ending}", words="too long")


@case
def the_ending_is_looked_at_first():
    fails(2, "convert", "missing.npy", "-o", "out.xyz", words="out.xyz")


@case
def test_images_without_labels():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 256, (60, 4, 4), np.uint8), np.arange(60) % 3
    np.savez("d.npz", x_train=x, y_train=y, x_test=x[:9])
    out, err = run("train", "--data", "d.npz", "--net", "mlp:8", "--epochs", "1", "-o", "n.safetensors")
    check("have no labels" in err and "test accuracy" not in out and os.path.exists("n.safetensors"), (out, err))


if __name__ == "__main__":
    main()
