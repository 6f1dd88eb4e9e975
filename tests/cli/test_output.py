# SPDX-License-Identifier: MIT
"""Outputs: full disks, missing rights, the same file twice, and kills at any moment."""
import os
import random
import signal
import stat
import subprocess
import time

import numpy as np

import samples
from tap import COMMAND, PLAIN, TIMEOUT, Skip, case, cases_of, check, fails, main, run, snapshot

WRITE, USAGE = 6, 2


def ensemble():
    data = samples.make()
    run(*samples.FIT, "--method", "sgd", "--samples", "5", "-o", "ens.safetensors")
    return data


def writers(target):
    """Every command that writes a file, to `target`."""
    return {
        "fit": [*samples.FIT, "--method", "sgd", "--samples", "5", "-o", target],
        "predict": ["predict", "ens.safetensors", *samples.PREDICT, "-o", target],
        "convert": ["convert", "features.npy", "-o", target],
    }


EXTENSION = {"fit": "safetensors", "predict": "npz", "convert": "npz"}


@cases_of([(name, name) for name in EXTENSION])
def full_disk(name):
    ensemble()
    target = f"full.{EXTENSION[name]}"
    os.symlink("/dev/full", target)
    before = os.stat("/dev/full")
    fails(WRITE, *writers(target)[name], words=target)
    after = os.stat("/dev/full")
    check(stat.S_ISCHR(after.st_mode) and (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev), "/dev/full is a device no more")
    check(os.path.islink(target), "the link was replaced")
    check(not [p for p in os.listdir(".") if "partial" in p], os.listdir("."))


@case
def full_disk_by_name():
    ensemble()
    for name, words in writers("/dev/full").items():
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True)
        check(done.returncode in (USAGE, WRITE) and done.stderr.count("/dev/full") == 1, f"{name}: {done}")
        check(stat.S_ISCHR(os.stat("/dev/full").st_mode), "/dev/full is a device no more")


@cases_of([
    ("evaluate", ["evaluate", "--probs", "probs.npy", "--labels", "test_labels.npy"]),
    ("evaluate json", ["evaluate", "--probs", "probs.npy", "--labels", "test_labels.npy", "--json"]),
    ("threshold", ["threshold", "pred.npz", "--labels", "test_labels.npy", "--risk", "0.1"]),
    ("inspect", ["inspect", "features.npy"]),
    ("help", ["fit", "--help"]),
])
def full_stdout(arguments):
    ensemble()
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "pred.npz")
    with open("/dev/full", "w") as full:
        fails(WRITE, *arguments, stdout=full, words="standard output")


@cases_of([(name, name) for name in EXTENSION])
def unwritable(name):
    ensemble()
    extension = EXTENSION[name]
    fails(WRITE, *writers(f"none/out.{extension}")[name], words="none/out")
    fails(WRITE, *writers(f"features.npy/out.{extension}")[name], words="features.npy/out")
    os.mkdir(f"folder.{extension}")
    fails(WRITE, *writers(f"folder.{extension}")[name], words="folder")
    os.mkdir("locked", 0o500)
    if os.geteuid() == 0:
        fails(WRITE, *writers(f"/proc/lastlayer.{extension}")[name], words="/proc/lastlayer")
    else:
        fails(WRITE, *writers(f"locked/out.{extension}")[name], words="locked/out")
        check(os.listdir("locked") == [], "a file was left")


@cases_of([
    ("features", "features.npy"), ("labels", "labels.npy"), ("head", "head.npz"), ("a link", "link"), ("a hard link", "hard"),
    ("another way to say it", "./folder/../features.npy"),
])
def fit_onto_its_input(target):
    samples.make()
    os.mkdir("folder")
    os.symlink("features.npy", "link")
    os.link("labels.npy", "hard")
    fails(USAGE, *samples.FIT, "--head", "head.npz", "-o", target, words="also the input")


@case
def others_onto_their_input():
    ensemble()
    os.symlink("test_features.npy", "link.npz")
    for target in ["ens.safetensors", "test_features.npy", "link.npz"]:
        fails(USAGE, "predict", "ens.safetensors", *samples.PREDICT, "-o", target, words="also the input")
    np.savez("a.npz", x=np.zeros(3))
    fails(USAGE, "convert", "a.npz:x", "-o", "a.npz", words="also the input")
    fails(USAGE, "convert", "features.npy", "-o", "features.npy", words="also the input")


@case
def symlink_is_followed():
    ensemble()
    os.mkdir("far")
    os.symlink("far/real.npz", "near.npz")
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "near.npz")
    check(os.path.islink("near.npz") and os.path.getsize("far/real.npz") > 0, "the link was replaced by the file")


@case
def to_stdout():
    ensemble()
    run(*samples.FIT, "--method", "sgd", "--samples", "5", "-o", "again.safetensors")
    done = subprocess.run([COMMAND, *samples.FIT, "--method", "sgd", "--samples", "5", "-o", "/dev/stdout"], capture_output=True)
    if done.returncode != 0:
        check(done.returncode in (USAGE, WRITE) and done.stdout == b"", done.stderr)
        raise Skip("fit does not write to a pipe: " + done.stderr.decode().strip())
    check(done.stdout == open("again.safetensors", "rb").read(), "other bytes through a pipe")
    check(b"sgd: 5 members" in done.stderr, done.stderr)


@cases_of([("npz", "pred.npz"), ("csv", "pred.csv")])
def stdout_into_a_file(name):
    """The shell's file behind /dev/stdout says the format; the summary stays out of it."""
    ensemble()
    words = ["predict", "ens.safetensors", *samples.PREDICT, "-o"]
    run(*words, "direct-" + name)
    with open(name, "wb") as to:
        run(*words, "/dev/stdout", stdout=to)
    check(open(name, "rb").read() == open("direct-" + name, "rb").read(), "other bytes through /dev/stdout")
    with open("pred", "wb") as to:
        _, err = run(*words, "/dev/stdout", stdout=to, code=USAGE)
    check("the format to write is unknown" in err, err)


def start(*arguments):
    return subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def big():
    """Enough work for a kill to fall into it."""
    rng = np.random.default_rng(3)
    n, d, k = 4000, 40, 5
    centers = rng.standard_normal((k, d))
    y = rng.integers(0, k, n)
    np.save("features.npy", (centers[y] + 2 * rng.standard_normal((n, d))).astype(np.float32))
    np.save("labels.npy", y)


SLOWER = 1 if PLAIN else 10
LONG = {
    "sgd": ("--method", "sgd", "--samples", 500 // SLOWER),
    "sgld": ("--method", "sgld", "--samples", 300 // SLOWER),
    "dropout": ("--method", "dropout", "--epochs", 500 // SLOWER),
    "bootstrap": ("--method", "bootstrap", "--samples", 20, "--epochs", 30 // SLOWER),
}


def timed(*arguments):
    begin = time.monotonic()
    run(*arguments)
    return time.monotonic() - begin


@case
def kill_during_fit_leaves_the_old_file_or_none():
    big()
    seconds = timed(*samples.FIT, *LONG["sgd"], "-o", "whole.safetensors")
    whole = open("whole.safetensors", "rb").read()
    rng = random.Random(1)
    for round in range(10):
        old = round % 2 == 1
        if old:
            open("out.safetensors", "wb").write(b"old")
        process = start(*samples.FIT, *LONG["sgd"], "-o", "out.safetensors")
        time.sleep(rng.random() * seconds * 1.1)
        process.kill()
        process.communicate()
        if os.path.exists("out.safetensors"):
            found = open("out.safetensors", "rb").read()
            check(found == whole or (old and found == b"old"), f"round {round}: neither the old file nor the whole new one")
            os.remove("out.safetensors")
        else:
            check(not old, "the old file is gone")
        if os.path.exists("out.safetensors.partial"):
            os.remove("out.safetensors.partial")


@case
def kill_during_predict_leaves_the_old_file_or_none():
    big()
    run(*samples.FIT, *LONG["sgd"], "-o", "ens.safetensors")
    words = ["predict", "ens.safetensors", "--features", "features.npy", "--labels", "labels.npy", "-o"]
    seconds = timed(*words, "whole.npz")
    whole = open("whole.npz", "rb").read()
    rng = random.Random(2)
    for round in range(10):
        old = round % 2 == 1
        if old:
            open("out.npz", "wb").write(b"old")
        process = start(*words, "out.npz")
        time.sleep(rng.random() * seconds * 1.1)
        process.kill()
        process.communicate()
        if os.path.exists("out.npz"):
            found = open("out.npz", "rb").read()
            check(found == whole or (old and found == b"old"), f"round {round}: neither the old file nor the whole new one")
            os.remove("out.npz")
        else:
            check(not old, "the old file is gone")


def killed_after(seconds, *arguments):
    """Starts the command, kills it; True if the kill came before the end."""
    process = start(*arguments)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


@cases_of([(name, name) for name in LONG])
def kill_and_resume_gives_the_same_bits(name):
    big()
    words = [*samples.FIT, *LONG[name], "--seed", "5", "-o", "out.safetensors"]
    seconds = timed(*words)
    whole = open("out.safetensors", "rb").read()
    rng = random.Random(name)
    resumed = 0
    for round in range(12):
        if os.path.exists("out.safetensors"):
            os.remove("out.safetensors")
        killed_after(rng.random() * seconds, *words)
        for _ in range(2):
            if not os.path.exists("out.safetensors"):
                killed_after(rng.random() * seconds * 0.6, *words, "--resume")
        if os.path.exists("out.safetensors.partial") and os.path.getsize("out.safetensors.partial"):
            resumed += 1
            err = fails(WRITE, *words, words="out.safetensors.partial")
            check("resume" in err, err)
        if not os.path.exists("out.safetensors"):
            run(*words, "--resume")
        check(open("out.safetensors", "rb").read() == whole, f"round {round}: the resumed file differs")
        check(not os.path.exists("out.safetensors.partial"), "the partial file was left")
        if resumed == 2:
            return
    check(resumed, "no kill fell into the work")


@cases_of([(name, name) for name in LONG])
def kill_while_finishing_and_resume(name):
    """The last moment before the rename: every member is there, the journal is cut off."""
    big()
    words = [*samples.FIT, *LONG[name], "--seed", "5", "-o", "out.safetensors"]
    run(*words)
    whole = open("out.safetensors", "rb").read()
    os.rename("out.safetensors", "out.safetensors.partial")
    run(*words, "--resume")
    check(open("out.safetensors", "rb").read() == whole, "the resumed file differs")


@case
def kill_before_the_header_and_resume():
    """The first moment: the file has its size, but nothing in it."""
    big()
    words = [*samples.FIT, *LONG["sgd"], "-o", "out.safetensors"]
    run(*words)
    whole = open("out.safetensors", "rb").read()
    os.remove("out.safetensors")
    for size in (0, 5, len(whole) + 100000):
        open("out.safetensors.partial", "wb").write(bytes(size))
        run(*words, "--resume")
        check(open("out.safetensors", "rb").read() == whole, f"{size}: the resumed file differs")


def has_header(path):
    """Without one, nothing says which run a work file belongs to, and any may take it over."""
    return os.path.exists(path) and any(open(path, "rb").read(8))


@case
def resume_with_other_options_is_refused():
    big()
    words = [*samples.FIT, "--method", "sgd", "--samples", "100000", "-o", "out.safetensors"]
    process = start(*words, "--seed", "1")
    deadline = time.monotonic() + 60
    while not has_header("out.safetensors.partial") and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    before = snapshot()
    done = subprocess.run([COMMAND, *words, "--seed", "2", "--resume"], capture_output=True, text=True, timeout=TIMEOUT)
    check(done.returncode != 0 and snapshot() == before, done)


@cases_of([("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM)])
def interrupt(number):
    big()
    open("out.safetensors", "w").write("old")
    process = start(*samples.FIT, "--method", "sgd", "--samples", "1000000", "-o", "out.safetensors")
    time.sleep(1)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    check(process.returncode == 130, (process.returncode, err))
    lines = [line for line in err.decode().splitlines() if not line.startswith("note:")]
    check(len(lines) == 1 and lines[0].startswith("lastlayer fit: interrupted"), err)
    check(open("out.safetensors").read() == "old", "the old file is gone")


@cases_of([("predict", "predict"), ("fit", "fit")])
def input_that_is_cut_off_meanwhile(name):
    samples.make()
    features, labels = np.load("features.npy"), np.load("labels.npy")
    run(*samples.FIT, "--method", "dropout", "--epochs", "1", "--samples", "100000", "-o", "ens.safetensors")
    np.save("long.npy", np.tile(features, (2000, 1)))
    np.save("long_labels.npy", np.tile(labels, 2000))
    words = {
        "predict": ("predict", "ens.safetensors", "--features", "long.npy", "-o", "out.npz"),
        "fit": ("fit", "--features", "long.npy", "--labels", "long_labels.npy", "--method", "sgd", "--shuffle", "block:100000", "-o", "out.safetensors"),
    }[name]
    before = set(os.listdir("."))
    process = start(*words)
    deadline = time.monotonic() + 60
    while "long.npy" not in open(f"/proc/{process.pid}/maps").read() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.truncate("long.npy", 4096)
    _, err = process.communicate(timeout=TIMEOUT)
    lines = [line for line in err.decode().splitlines() if not line.startswith(("note:", "warning:"))]
    check(process.returncode == 3 and len(lines) == 1 and "became shorter" in lines[0], (process.returncode, err))
    check(set(os.listdir(".")) - before <= {"out.safetensors.partial"}, os.listdir("."))


@case
def message_with_stderr_closed():
    """It has nowhere to go; least of all into the file of the unfinished run, which is the first that fit opens to keep open."""
    samples.make()
    features = np.tile(np.load("features.npy"), (1000, 1))
    np.save("features.npy", features)
    np.save("labels.npy", np.tile(np.load("labels.npy"), 1000))
    words = [*samples.FIT, "--method", "sgd", "--samples", "20", "--shuffle", "block:100000"]  # reads the file at every epoch
    run(*words, "-o", "whole.safetensors")
    process = subprocess.Popen([COMMAND, *words, "-o", "out.safetensors"], stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2))
    while not has_header("out.safetensors.partial"):
        check(process.poll() is None, "fit ended before its input was cut off")
    os.truncate("features.npy", 4096)
    process.communicate(timeout=TIMEOUT)
    check(process.returncode == 3, process.returncode)
    np.save("features.npy", features)
    run(*words, "-o", "out.safetensors", "--resume")
    check(open("out.safetensors", "rb").read() == open("whole.safetensors", "rb").read(), "the resumed file differs")


@case
def reader_that_went_away():
    samples.make()
    process = subprocess.Popen(f"'{COMMAND}' help man | head -1", shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate()
    check(out.count(b"\n") == 1 and err == b"", err)


@case
def quiet_in_a_pipe():
    samples.make()
    out, err = run(*samples.FIT, "--method", "sgd", "--samples", "5", "-o", "ens.safetensors")
    check("\r" not in err and "\x1b" not in err and "\x1b" not in out, "a progress bar or colours in a pipe")
    check(out.startswith("sgd: 5 members, 3 classes, 6 features, ") and out.endswith("-> ens.safetensors\n") and out.count("\n") == 1, out)
    check("note: lr = " in err, err)


def terminal():
    """Both ends of a pseudo-terminal, or a skip."""
    try:
        return os.openpty()
    except OSError as why:
        raise Skip(f"no pseudo-terminal can be had here ({why.strerror}); a container needs /dev/pts")


@case
def progress_on_a_terminal():
    big()
    for color in (True, False):
        main_end, end = terminal()
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        environment.update({"TERM": "xterm"}, **({} if color else {"NO_COLOR": "1"}))
        process = subprocess.Popen([COMMAND, *samples.FIT, "--method", "sgd", "--samples", "200", "-o", f"{color}.safetensors"], stderr=end,
                                   stdout=subprocess.DEVNULL, env=environment)
        os.close(end)
        seen = b""
        while True:
            try:
                more = os.read(main_end, 4096)
            except OSError:
                break
            if not more:
                break
            seen += more
        os.close(main_end)
        check(process.wait() == 0, seen)
        check(b"\r" in seen and b"%" in seen and b"#" in seen, f"no progress bar: {seen[:300]}")
        check((b"\x1b[2mnote:" in seen) == color, f"colour {color}: {seen[:300]}")
        check(seen.endswith((b"\x1b[K", b"\n")), f"the bar was left: {seen[-60:]}")


if __name__ == "__main__":
    main()
