#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ranks cost: the steps of a wide head on 1 to 8 ranks of this machine, 2 ranks beside 2 threads, and four network namespaces whose links have a
rate; then the model that docs/scale.md explains, beside these and for sizes that do not fit here. `make bench-cluster`, as root.

  cluster.py [--quick] [--model]
--quick takes each time once and prints the tables; --model computes the model alone. Results: bench/CLUSTER.md."""
import datetime
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

root = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "tests/cluster"), str(root / "tests/cli")]
os.environ.setdefault("LASTLAYER_MPIRUN", "mpirun.openmpi")
ALONE, RANKED = root / "build/lastlayer", root / "build/lastlayer-mpi"
K, D, B, N = 8192, 128, 256, 1024
FEW, MANY = 4, 64  # steps: what differs between two runs is the steps
RATES = (None, "100mbit", "10mbit")


# ---- measured ----

def files():
    rng = np.random.default_rng(5)
    np.save("features.npy", rng.standard_normal((N, D)).astype(np.float32))
    np.save("labels.npy", rng.integers(0, K, N))
    np.savez("head.npz", W=(rng.standard_normal((K, D)) / 20).astype(np.float32), b=np.zeros(K, np.float32))
    np.save("small.npy", rng.standard_normal((4000, 64)).astype(np.float32))
    np.save("small_labels.npy", rng.integers(0, 20, 4000))


def wide(steps):
    return ["fit", "--features", "features.npy", "--labels", "labels.npy", "--head", "head.npz", "--method", "sgd", "--samples", 1, "--thin", steps,
            "--batch-size", B, "-o", "out.safetensors"]


MEMBERS = ["fit", "--features", "small.npy", "--labels", "small_labels.npy", "--method", "bootstrap", "--samples", 8, "--epochs", 60, "--lr", 0.01,
           "-o", "out.safetensors"]


def seconds(words, whole=False):
    """As the command prints them; of the whole process, with its start and that of mpirun, where asked."""
    import mpirun
    pathlib.Path("out.safetensors").unlink(missing_ok=True)
    begin = time.time()
    done = subprocess.run(list(map(str, words)), env={**mpirun.ENV, "UCX_TLS": "tcp,self"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-3000:]}")
    return time.time() - begin if whole else float(re.search(r", ([0-9.]+) s -> ", done.stdout)[1])


def best(repeats, words, whole=False):
    return min(seconds(words, whole) for _ in range(repeats))


def step(repeats, program, threads):
    """Seconds of one step of the wide head: the best of a long run less the best of a short one."""
    many, few = (best(repeats, [*program, *wide(steps), "--threads", threads]) for steps in (MANY, FEW))
    return (many - few) / (MANY - FEW)


def on_ranks(n):
    return ["mpirun.openmpi", "-n", n, RANKED]


def sent():
    """Bytes that the first namespace has sent."""
    words = ["ip", "netns", "exec", "lltest1", "cat", "/sys/class/net/eth0/statistics/tx_bytes"]
    return int(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)


def throttle(rate):
    import namespaces
    for n in range(1, namespaces.COUNT + 1):
        words = ["ip", "netns", "exec", f"lltest{n}", "tc", "qdisc"]
        subprocess.run([*words, "del", "dev", "eth0", "root"], stderr=subprocess.DEVNULL)
        if rate:
            subprocess.run([*words, "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "32kb", "latency", "100ms"], check=True)


def by_network(repeats):
    """Rows (ranks, rate, seconds of a step, bytes that a rank sends for a step)."""
    import namespaces
    namespaces.remove()
    namespaces.make()
    rows = []
    try:
        pathlib.Path("agent").write_text(namespaces.AGENT)
        os.chmod("agent", 0o755)
        pathlib.Path("hosts").write_text("".join(f"10.77.0.{n} slots=1\n" for n in range(1, namespaces.COUNT + 1)))
        for ranks in 2, 4:
            for rate in RATES:
                throttle(rate)
                times, counts = {}, {}
                for steps in FEW, MANY:
                    words = namespaces.line("ompi-c", RANKED, *wide(steps), "--threads", 1, ranks=ranks)
                    runs = []
                    for _ in range(repeats):
                        before = sent()
                        runs.append((seconds(words), sent() - before))
                    times[steps], counts[steps] = (min(column) for column in zip(*runs))
                rows.append((ranks, rate, (times[MANY] - times[FEW]) / (MANY - FEW), (counts[MANY] - counts[FEW]) / (MANY - FEW)))
    finally:
        namespaces.remove()
    return rows


# ---- the model: docs/scale.md ----

def flops(k, d, rows):
    return 4 * rows * k * d  # two products, a multiplication and an addition each


def said(n, rows):
    """Bytes that a rank sends for the two reductions of a step: 4 of the maximum, 16 of the sums of a row."""
    return 20 * rows * (math.ceil(math.log2(n)) if n > 1 and rows * 16 < 10000 else 2 * (n - 1) / n)


def step_time(n, k, d, rows, rate, bandwidth, latency):
    rounds = 2 * math.ceil(math.log2(n)) if n > 1 else 0
    panels = math.ceil(math.ceil(k / 16) / n) * 16  # the most classes that a rank has
    return flops(panels, d, rows) / rate + rounds * latency + (said(n, rows) / bandwidth if n > 1 else 0)


NODE, NETS = 2.5e12, {"10 Gbit/s": (1.25e9, 20e-6), "100 Gbit/s": (12.5e9, 3e-6)}
NODES = (1, 4, 16, 64, 256, 1024)


def size(bytes_):
    for unit in "B", "kB", "MB", "GB", "TB":
        if bytes_ < 999.5 or unit == "TB":
            return f"{bytes_:.3g} {unit}"
        bytes_ /= 1000


def duration(s):
    return f"{s:.3g} s" if s < 120 else f"{s / 60:.3g} min" if s < 7200 else f"{s / 3600:.3g} h"


def one_chain(title, rows, d, k, batch):
    """Time of an epoch of one chain by classes, and what a node holds and sends."""
    steps = math.ceil(rows / batch)
    lines = [f"{title}, batches of {batch}:", "", "| nodes | " + " | ".join(f"epoch, {net}" for net in NETS) + " | memory a node | sent by a node per epoch |",
             "|---|" + "---|" * (len(NETS) + 2)]
    for n in NODES:
        if n * 16 > k:
            continue
        theta, logits = 4 * k * (d + 1), 4 * batch * math.ceil(k / n)
        memory = theta + 2 * theta // n + logits + 4 * batch * d  # the head as it was read; theta* and the chain's, divided; logits; the batch
        times = [duration(steps * step_time(n, k, d, batch, NODE, *net)) for net in NETS.values()]
        lines.append(f"| {n} | " + " | ".join(times) + f" | {size(memory)} | {size(steps * said(n, batch)) if n > 1 else '0'} |")
    return lines


def the_map(title, rows, d, k):
    """Time of one pass of L-BFGS by classes: the objective, 2 x 20 inner products, and the pairs it holds."""
    lines = [f"{title}:", "", "| nodes | " + " | ".join(f"iteration, {net}" for net in NETS) + " | memory a node | sent by a node |", "|---|" + "---|" * (len(NETS) + 2)]
    blocks, dots, pairs = math.ceil(rows / 512), 45, 20
    for n in NODES:
        if n * 16 > k:
            continue
        own = math.ceil(math.ceil(k / 16) / n) * 16
        gathered = dots * 8 * k if n > 1 else 0
        memory = 8 * own * (d + 1) * (2 * pairs + 7) + 8 * d * d + 4 * k * d
        times = []
        for bandwidth, latency in NETS.values():
            t = blocks * step_time(n, k, d, 512, NODE, bandwidth, latency)
            t += 4 * own * d * d / NODE + (dots * math.ceil(math.log2(n)) * latency + gathered / bandwidth if n > 1 else 0)
            times.append(duration(t))
        lines.append(f"| {n} | " + " | ".join(times) + f" | {size(memory)} | {size(blocks * said(n, 512) + gathered / n if n > 1 else 0)} |")
    return lines


def whole_members(title, rows, d, k, members, epochs, bytes_of_row):
    """Members over nodes: no traffic but the files. A node reads all rows, and hashes them, once."""
    lines = [f"{title}:", "", "| nodes | time | of it reading and hashing at 1 GB/s | memory a node | sent |", "|---|---|---|---|---|"]
    for n in NODES:
        each = math.ceil(members / min(n, members))
        read = rows * bytes_of_row / 1e9
        train = each * epochs * flops(k, d, rows) / NODE
        lines.append(f"| {n} | {duration(train + read)} | {duration(read)} | {size(3 * 4 * k * (d + 1) * 64)} and the page cache | {size(members / min(n, members) * 4 * k * (d + 1))} of members |")
    return lines


def model():
    imagenet, billion = (14_197_122, 4096, 21841), (10 ** 9, 1024, 1000)
    return ["## What the model says of sizes that do not fit here", "",
            f"A node does {NODE / 1e12:g} Tflop/s in single precision (some 64 cores); latency of a message {', '.join(f'{l * 1e6:g} us at {n}' for n, (_, l) in NETS.items())}.", "",
            *one_chain("**One chain by classes**, 14 M x 4096 x 21841", *imagenet, 1024), "",
            *the_map("**One iteration of the MAP by classes**, 14 M x 4096 x 21841", *imagenet), "",
            *whole_members("**Members over nodes**, 100 members of `bootstrap` with 10 epochs, 10^9 x 1024 x 1000 in f16 (below 4096 classes nothing is divided but members)",
                           *billion, 100, 10, 2048), ""]


# ---- the tables ----

def measure(repeats):
    lines, folder, home = [], tempfile.mkdtemp(prefix="ll-bench-"), os.getcwd()
    os.chdir(folder)
    try:
        files()
        load = os.getloadavg()[0]
        one, two = (step(repeats, [ALONE], threads) for threads in (1, 2))
        rate = flops(K, D, B) / one
        lines += [f"## A step of a wide head: K {K}, D {D}, batch {B}, {flops(K, D, B) / 1e9:.2f} Gflop", "",
                  f"One thread of one process does {rate / 1e9:.3g} Gflop/s, steps of {1000 * one:.3g} ms. Ranks on this machine, of {os.cpu_count()} processors, talk by shared memory.", "",
                  "| | ms a step | speed |", "|---|---|---|", f"| 1 process, 1 thread | {1000 * one:.3g} | 1 |"]
        lines.append(f"| 1 process, 2 threads | {1000 * two:.3g} | {one / two:.2f} |")
        for n in 1, 2, 3, 4, 8:
            t = step(repeats, on_ranks(n), 1)
            lines.append(f"| {n} rank{'s' * (n > 1)} of 1 thread | {1000 * t:.3g} | {one / t:.2f} |")
        single, threads = (best(repeats, [ALONE, *MEMBERS, "--threads", t], True) for t in (1, 2))
        ranks = best(repeats, [*on_ranks(2), *MEMBERS, "--threads", 1], True)
        lines += ["", "## Members: 2 ranks beside 2 threads", "", "8 members of `bootstrap` of 60 epochs on 4000 x 64 x 20, the whole command with its start:", "",
                  "| | seconds |", "|---|---|", f"| 1 process, 1 thread | {single:.3g} |", f"| 1 process, 2 threads | {threads:.3g} |", f"| 2 ranks of 1 thread, mpirun included | {ranks:.3g} |", ""]
        lines += ["## Four network namespaces, links with a rate", "",
                  "The same step; each rank has an address of its own and 1 thread, and all share the processors of this machine. Bytes are what the first rank's interface sent, headers and acknowledgements included. "
                  "The model takes the step without a limit as measured and adds what its bytes need at that rate; the last column is what the gradient of the head would need.", "",
                  "| ranks | rate | ms a step | model | bytes a step | model | a gradient instead |", "|---|---|---|---|---|---|---|"]
        free = {}
        for n, limit, t, count in by_network(repeats):
            bandwidth = {"100mbit": 1.25e7, "10mbit": 1.25e6}.get(limit)
            free.setdefault(n, t)
            expected = free[n] + (said(n, B) / bandwidth if bandwidth else 0)
            gradient = f"{1000 * (free[n] + 2 * (n - 1) / n * 4 * K * (D + 1) / bandwidth):.3g} ms" if bandwidth else "-"
            lines.append(f"| {n} | {limit or 'none'} | {1000 * t:.3g} | {1000 * expected:.3g} | {count:.0f} | {said(n, B):.0f} | {gradient} |")
        load = f"{load:.1f} to {os.getloadavg()[0]:.1f}"
    finally:
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)
    return lines, load


REPEATS = 2


def main():
    quick = "--quick" in sys.argv
    if "--model" in sys.argv:
        print("\n".join(model()))
        return
    lines, load = measure(1 if quick else REPEATS)
    date = datetime.date.today().isoformat()
    head = ["# What ranks cost", "", f"`make bench-cluster`, {date}, {os.cpu_count()} processors, Open MPI; the load of the machine was {load}, and where that is more than the processors the times below tell little: each is the best of {1 if quick else REPEATS}. "
            "[docs/scale.md](../docs/scale.md) explains the model.", ""]
    text = "\n".join([*head, *lines, "", *model()])
    print(text)
    if not quick:
        (root / "bench/CLUSTER.md").write_text(text)


if __name__ == "__main__":
    main()
