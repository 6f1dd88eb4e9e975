# SPDX-License-Identifier: MIT
"""HDF5 files made to harm, and a helper program that misbehaves: each is one sentence and exit code 4 (8 where it is memory), soon and in
little memory."""
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import numpy as np

from tap import COMMAND, PLAIN, Skip, case, cases_of, check, fails, main, run

HELPER = os.environ.get("LASTLAYER_H5")


def h5(path, **options):
    if not HELPER:
        raise Skip("no lastlayer-h5")
    try:
        import h5py
    except ImportError:
        raise Skip("no h5py")
    return h5py.File(path, "w", **options)


def measured(*arguments, env=None):
    """Exit code and stderr of the command. It and what it starts may take 100 MB and a second of processor time (five before it is a failure,
    on a machine that is busy). A process begins with the size of the one that started it, so this one has to stay small: no large arrays."""
    with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
        process = subprocess.Popen([COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **(env or {})})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = pathlib.Path("err.txt").read_text(errors="replace")
    if PLAIN:
        check(used.ru_utime + used.ru_stime < 5, f"{used.ru_utime + used.ru_stime:.2f} s of processor time: {text}")
        check(used.ru_maxrss < 100 << 10, f"{used.ru_maxrss >> 10} MB: {text}")
    check("AddressSanitizer" not in text and "runtime error" not in text, text)
    return process.returncode, text


# What a writer to a closed socket meets: the signal, or an error that it reports itself, where bytes were under way or the signal is ignored.
CUT_OFF = ("ended by signal 13", "Connection reset by peer", "Broken pipe")


def refused(path, words="", code=4, env=None):
    found, text = measured("inspect", path, env=env)
    check(found == code and text.count("\n") == 1 and text.startswith(f"lastlayer inspect: {path}: ") and any(w in text for w in ([words] if isinstance(words, str) else words)), f"exit {found}: {text}")


def accepted(path, arrays):
    code, text = measured("inspect", path)
    check(code == 0, text)
    found = re.findall(r"^  (/\S*)", pathlib.Path("out.txt").read_text(), re.M)
    check(found == arrays, f"found {found}")


def small(path="small.h5"):
    with h5(path) as f:
        f["dense_1/dense_1/kernel:0"] = np.arange(12, dtype="f4").reshape(3, 4)
        f.create_dataset("packed", data=np.arange(200), compression="gzip", chunks=(50,))
        f.attrs["layer_names"] = [b"dense_1"]
        f.attrs["keras_version"] = "2.2.4"
    return bytearray(pathlib.Path(path).read_bytes())


@case
def any_byte_may_be_wrong():
    """The file is read, or refused with a sentence; libhdf5 itself crashes on some of these."""
    data = small()
    used = [i for i, byte in enumerate(data) if byte] + list(range(0, len(data), 40))  # most of the file is empty room
    for number, i in enumerate(used[:: max(1, len(used) // 150)]):
        changed = bytearray(data)
        changed[i] ^= (0xFF, 0x01, 0x80)[number % 3]
        pathlib.Path("changed.h5").write_bytes(changed)
        code, text = measured("inspect", "changed.h5")
        check((code == 0 and not text) or (code == 4 and text.count("\n") == 1 and "changed.h5: " in text), f"byte {i}: exit {code}: {text}")


@case
def truncated():
    data = small()
    for length in 8, 9, 95, 500, len(data) // 2, len(data) - 1:
        pathlib.Path("cut.h5").write_bytes(data[:length])
        refused("cut.h5", "damaged or truncated")


@case
def a_heap_that_goes_round_in_circles():
    """The list of free places in the heap of names: the next one is itself."""
    data = small()
    heap = data.index(b"HEAP")
    free, segment = struct.unpack_from("<QQ", data, heap + 16)
    check(free < 1000, f"no free place in the heap: {free}")
    struct.pack_into("<Q", data, segment + free, free)
    pathlib.Path("cycle.h5").write_bytes(data)
    refused("cycle.h5")


@case
def groups_in_a_cycle():
    with h5("cycle.h5") as f:
        f["a/b/x"] = np.ones(3)
        f["a/b/back"] = f["a"]
        f["a/self"] = f["a"]
    accepted("cycle.h5", ["/a/b/x"])


@case
def links_that_lead_nowhere():
    with h5("links.h5") as f:
        import h5py
        f["x"] = np.ones(3)
        f["one"], f["two"] = h5py.SoftLink("/two"), h5py.SoftLink("/one")
        f["model_weights"] = h5py.SoftLink("/model_weights")
        f["outside"] = h5py.ExternalLink("/etc/passwd", "/x")
    accepted("links.h5", ["/x"])


@case
def many_links_to_one_array():
    """300 kB that would be 3 GB."""
    with h5("links.h5", libver="latest") as f:
        f["x"] = np.ones((500, 500), "f4")
        for i in range(3000):
            f[f"y{i:04}"] = f["x"]
    accepted("links.h5", ["/x"])


def many_texts(path, name, count=3900):
    """An attribute of `count` texts which are all the same megabyte of the file."""
    with h5(path) as f:
        import h5py
        f["x"] = np.ones(3)
        f.attrs.create(name, ["a" * 1_000_000] + ["b"] * (count - 1), dtype=h5py.string_dtype())
    data = bytearray(pathlib.Path(path).read_bytes())
    first = data.index(struct.pack("<I", 1_000_000), 0)
    while struct.unpack_from("<I", data, first + 16)[0] != 1:  # length, place of the heap, number in it; then the next
        first = data.index(struct.pack("<I", 1_000_000), first + 1)
    for i in range(1, count):
        data[first + 16 * i:first + 16 * i + 16] = data[first:first + 16]
    pathlib.Path(path).write_bytes(data)


@case
def an_attribute_that_grows():
    """1 MB that would be 3.9 GB: refused where it is needed, not looked at where it is not."""
    many_texts("names.h5", "layer_names")
    refused("names.h5")
    many_texts("other.h5", "comment")
    accepted("other.h5", ["/x"])


@cases_of([("gzipped zeros", {"shape": (100000, 1000), "compression": "gzip", "chunks": (1000, 1000)}, True),
           ("one chunk", {"shape": (30000, 10000), "compression": "gzip", "chunks": (30000, 10000)}, False),
           ("nothing stored", {"shape": (1 << 40,)}, False), ("a product that overflows", {"shape": (1 << 33, 1 << 33, 1 << 33)}, False)])
def arrays_that_grow(options, fill):
    with h5("bomb.h5") as f:
        x = f.create_dataset("x", dtype="f4", **options)
        if fill:
            for i in range(0, 100000, 1000):
                x[i:i + 1000] = np.zeros((1000, 1000), "f4")
    refused("bomb.h5", "holds more than the", code=8)


@case
def many_arrays_that_grow():
    """None of them too large by itself."""
    with h5("bomb.h5") as f:
        for i in range(30):
            f.create_dataset(f"x{i}", data=np.zeros((1000, 1000), "f4"), compression="gzip", chunks=(1000, 1000))
    refused("bomb.h5", "holds more than the", code=8)


def script(text):
    path = pathlib.Path("helper").absolute()
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return {"LASTLAYER_H5": str(path)}


def promise(count):
    return "printf '" + "".join(f"\\{byte:03o}" for byte in struct.pack("<Q", count)) + "'; "


@cases_of([
    ("says nothing", "exit 1", "not a complete .safetensors", 4), ("nothing at all", "exit 0", "not a complete .safetensors", 4),
    ("garbage", "yes garbage | head -c 100000", "holds more than the 32 MiB", 8),
    ("garbage of the right length", promise(20) + "head -c 20 /dev/urandom", "not a complete .safetensors", 4),
    ("less than it promises", promise(1000) + promise(100) + "printf '{}'", "not a complete .safetensors", 4),
    ("more than it promises", promise(10) + promise(2) + "printf '{}{}'; exec cat /dev/zero", CUT_OFF, 4),
    ("endless zeros", "exec cat /dev/zero", CUT_OFF, 4), ("many zeros", promise(32 << 20) + "exec cat /dev/zero", CUT_OFF, 4),
    ("crashes", "kill -SEGV $$", "ended by signal 11", 4), ("crashes after a whole answer", promise(10) + promise(2) + "printf '{}'; kill -SEGV $$", "signal 11", 4),
    ("out of time", "kill -PROF $$", "ended by signal 27", 4), ("a forbidden call", "kill -SYS $$", "ended by signal 31", 4),
    ("speaks", "echo 'the file is odd' >&2; echo more >&2; exit 1", ": the file is odd.\n", 4),
    ("speaks to the terminal", "printf '\\033[2J\\a\\177odd\\n' >&2; exit 1", ": ?[2J??odd.\n", 4),
    ("never stops speaking", "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1", ": " + "x" * 399 + ".\n", 4),
])
def a_helper_that(text, words, code):
    small()
    refused("small.h5", words, code, script(text))


@case
def memory_that_is_given_lifts_the_limit():
    with h5("zeros.h5") as f:
        f.create_dataset("x", (3000, 5000), "f4", compression="gzip", chunks=(300, 5000))
    refused("zeros.h5", "holds more than the", code=8)
    run("convert", "zeros.h5", "--memory", "200M", "-o", "x.npy")
    check(np.load("x.npy", mmap_mode="r").shape == (3000, 5000), "another array")


@case
def a_helper_that_cannot_be_started():
    small()
    refused("small.h5", "cannot be started: No such file", code=3, env={"LASTLAYER_H5": os.getcwd() + "/absent"})


@case
def a_helper_that_sleeps_is_stopped_by_ctrl_c():
    small()
    env = script("echo $$ >pid; exec sleep 1000")
    process = subprocess.Popen([COMMAND, "inspect", "small.h5"], stderr=subprocess.PIPE, env={**os.environ, **env}, text=True)
    for _ in range(6000):
        if pathlib.Path("pid").exists() and pathlib.Path("pid").read_text().endswith("\n"):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=60)
    check(process.returncode == 130, f"exit {process.returncode}: {text}")
    check(not pathlib.Path("/proc", pathlib.Path("pid").read_text().strip()).exists(), "the helper lives on")


@case
def the_helper_is_found_beside_the_command():
    data = small()
    os.makedirs("moved/bin")
    os.makedirs("moved/libexec/lastlayer")
    command = shutil.copy(COMMAND, "moved/bin/lastlayer")
    env = {k: v for k, v in os.environ.items() if k != "LASTLAYER_H5"}
    done = subprocess.run([command, "inspect", "small.h5"], capture_output=True, text=True, env=env)
    if done.returncode == 0:
        raise Skip("lastlayer-h5 is installed here")
    check(done.returncode == 3 and "lastlayer-h5, which is not installed; install it as /" in done.stderr, done.stderr)
    shutil.copy(HELPER, "moved/libexec/lastlayer")
    done = subprocess.run([command, "inspect", "small.h5"], capture_output=True, text=True, env=env)
    check(done.returncode == 0 and "/packed" in done.stdout, done.stderr)


@cases_of([("that ignores SIGCHLD", lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)), ("without stdin, stdout, stderr", lambda: os.closerange(0, 3)),
           ("that blocks every signal", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)))])
def in_a_process(change):
    small()
    for path, code in ("small.h5", 0), ("damaged.h5", 4):
        pathlib.Path("damaged.h5").write_bytes(small()[:700])
        words = [COMMAND, "convert", f"{path}:/packed", "-o", "x.npy"]
        check(subprocess.run(words, preexec_fn=change, stderr=subprocess.DEVNULL, timeout=60).returncode == code, path)
    check((np.load("x.npy") == np.arange(200)).all(), "other numbers")


def waiting_helper(*before):
    """A helper that has read its file and cannot go on, because nobody reads what it writes. Returns its pid, and what to keep open."""
    with h5("large.h5") as f:
        f["x"] = np.zeros(100000)
    read, write = os.pipe()
    with open("large.h5", "rb") as f:
        process = subprocess.Popen([*before, HELPER, str(1 << 26)], stdin=f, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    return process, read


def status_of(pid):
    try:
        return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    except OSError:
        return {}


def wait_for(condition):
    for _ in range(3000):
        if condition():
            return True
        time.sleep(0.01)
    return False


@case
def the_helper_is_locked_in():
    process, read = waiting_helper()
    check(wait_for(lambda: status_of(process.pid).get("Seccomp") == "2"), "no seccomp filter")
    check(status_of(process.pid)["NoNewPrivs"] == "1", "it may gain privileges")
    limits = {line[:26].strip(): line[26:].split()[1] for line in pathlib.Path(f"/proc/{process.pid}/limits").read_text().splitlines()}
    check(limits["Max file size"] == limits["Max open files"] == limits["Max core file size"] == "0", str(limits))
    check(limits["Max cpu time"] == "2" and int(limits["Max address space"]) < 600 << 20, str(limits))
    size = len(os.read(read, 1 << 16))
    while piece := os.read(read, 1 << 16):
        size += len(piece)
    check(process.wait() == 0 and size > 800000, f"{size} bytes")


@case
def the_helper_runs_out_of_time():
    """A tenth of a second and little more, for a file that takes several."""
    with h5("links.h5", libver="latest") as f:
        group = f.create_group("group").id
        for i in range(80000):
            f.id.links.create_hard(b"%d" % i, group, b".")
    for limit, code in (1 << 30, 0), (4096, -signal.SIGPROF):
        with open("links.h5", "rb") as f:
            done = subprocess.run([HELPER, str(limit)], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode == code, f"{limit}: exit {done.returncode}: {done.stderr}")


@case
def the_helper_dies_with_its_parent():
    """And touches no file that its parent left open for it."""
    parent = "import subprocess, sys, time; print(subprocess.Popen(sys.argv[1:]).pid, file=sys.stderr, flush=True); time.sleep(1000)"
    process, read = waiting_helper(sys.executable, "-c", parent)
    pid = int(process.stderr.readline())
    check(wait_for(lambda: status_of(pid).get("Seccomp") == "2"), "no seccomp filter")
    process.kill()
    process.wait()
    check(wait_for(lambda: status_of(pid).get("State", "Z")[0] == "Z"), "it lives on")
    os.close(read)


main()
