#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times lastlayer beside PyTorch, numpy and scikit-learn, in one run, on the same data. `make bench` builds and calls it.

  run.py                  the whole table -> bench/RESULTS.md and bench/results.csv
  run.py --quick          small data, one repeat: a trial of the bench itself
  run.py --only PATTERN   cells whose name, such as mnist/sgd or growth/N, matches the regular expression
Partial runs write into the build folder. A contestant is a process (bench/heads.c, bench/peers.py) that does one repeat when asked, so
that all of a cell take turns; bench/parts.c takes one too and times what lastlayer's time is made of. What each contestant computed is
judged here: an answer that differs from its peer's fails the bench.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402

import tables  # noqa: E402

root = pathlib.Path(__file__).resolve().parent.parent
SEED = 1
CORES = len(os.sched_getaffinity(0))

# chain, members: epochs and bootstrap members that lastlayer trains in one call; epochs: of each peer's call, after which both are judged;
# models: of the bmm peer; S: members that are predicted; sep: how far classes lie apart; lr: large enough that those epochs learn something
SHAPES = {
    "mnist": dict(N=60000, n=10000, D=20, K=10, B=32, sep=6, lr=0.05, chain=100, members=50, epochs=2, models=100, S=100),
    "cifar10": dict(N=50000, n=10000, D=512, K=10, B=128, sep=6, lr=0.05, chain=40, members=20, epochs=2, models=10, S=20),
    "cifar100": dict(N=50000, n=10000, D=512, K=100, B=128, sep=8, lr=0.2, chain=10, members=10, epochs=1, models=10, S=10),
    "imagenet": dict(N=8192, n=2560, D=4032, K=1000, B=512, sep=20, lr=3, chain=1, members=1, epochs=1, models=4, S=4),
}
PEERS = {
    "sgd": ["torch", "torch-hand", "numpy", "sklearn"],
    "sgld": ["torch", "numpy"],
    "bootstrap": ["torch", "torch-bmm", "numpy"],
    "dropout": ["torch", "numpy"],
    "predict-ensemble": ["torch", "torch-stacked", "numpy"],
    "predict-dropout": ["torch", "numpy"],
}
# Allowed difference of the norm of W, and of the final NLL relative to itself or to what was learnt, whichever is smaller: what the order
# of rows, resamples, noise and masks of different generators do to them.
TOLERANCE = {"sgd": 0.03, "sgld": 0.1, "bootstrap": 0.1, "dropout": 0.05, "predict-ensemble": 0.001, "predict-dropout": 0.05}


class Contestant:
    """One process, or several that work at the same time."""

    def __init__(self, name, command, copies=1):
        self.name, self.repeats, self.scores = name, [], []
        self.processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(copies)]

    def repeat(self, seed, folder):
        paths = [folder / (re.sub(r"\W+", "-", self.name) + f"-{i}.npz") for i in range(len(self.processes))]
        for i, process in enumerate(self.processes):
            process.stdin.write(f"{seed * 100 + i} {paths[i]}\n")
            process.stdin.flush()
        answers = [process.stdout.readline() for process in self.processes]
        if not all(answers):
            sys.exit(f"bench: {self.name} stopped")
        answers = [json.loads(answer) for answer in answers]
        total = {key: sum(a[key] for a in answers) for key in answers[0]}
        total["wall"] = max(a["wall"] for a in answers)
        self.repeats.append(total)
        return paths[0]

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()

    def times(self, clock):
        return [r[clock] / r["units"] for r in self.repeats]

    def score(self, what):
        return float(np.mean([score.get(what, math.nan) for score in self.scores]))

    def most(self, what):
        return max(r[what] for r in self.repeats) / 1024


class Parts:
    """A process that times what lastlayer's time on a cell is made of (bench/parts.c)."""

    def __init__(self, **words):
        self.process = subprocess.Popen([str(root / "build/bench/parts")] + [f"{key}={value}" for key, value in words.items()],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.repeats = []

    def repeat(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.repeats.append(json.loads(self.process.stdout.readline() or sys.exit("bench: parts stopped")))

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def found(self):
        return {key: [r[key] for r in self.repeats] for key in self.repeats[0]}


class Data:
    """The synthetic features of one shape, in files, and the judge that reads them."""

    def __init__(self, folder, name, shape):
        self.name, self.shape, self.folder = name, shape, folder / name
        self.folder.mkdir()
        self.train, self.test = self.write("train", shape["N"], 0), self.write("test", shape["n"], shape["N"])
        np.savez(self.folder / "zeros.npz", W=np.zeros((shape["K"], shape["D"]), np.float32), b=np.zeros(shape["K"], np.float32))
        parts = {"train": self.train, "test": self.test}
        self.seen = {part: (np.load(z, mmap_mode="r")[:2500], np.load(y)[:2500]) for part, (z, y) in parts.items()}
        self.ensembles = {}

    def write(self, part, rows, first):
        paths = self.folder / f"{part}_features.npy", self.folder / f"{part}_labels.npy"
        call("bench/features", rows, first, self.shape["D"], self.shape["K"], self.shape["sep"], SEED, "f32", *paths)
        return paths

    def fit(self, path, *options):
        return fit(*self.train, self.folder / "zeros.npz", self.shape["B"], self.shape["lr"], 1, *options, "-o", path)

    def ensemble(self, p):
        """Members to predict with: states of sgd, or one head trained with dropout."""
        if p not in self.ensembles:
            path = self.ensembles[p] = self.folder / f"ensemble-{p}.safetensors"
            options = ["dropout", "--dropout", p, "--epochs", 2] if p else ["sgd"]
            self.fit(path, "--samples", self.shape["S"], "--method", *options)
        return self.ensembles[p]

    def judge(self, path):
        """What a contestant wrote: NLL on unseen and on training rows, the norm of W, the mean std confidence of predictions."""
        with np.load(path) as result:
            if "probs" in result:
                y = np.load(self.test[1])
                right = result["probs"][np.arange(len(y)), y].astype(float)
                return {"test": -np.log(np.maximum(right, 1e-30)).mean(), "std": result["std"].mean()}
            W, b = (np.atleast_2d(result["b"]) if name == "b" else result["W"].reshape(-1, *result["W"].shape[-2:]) for name in ("W", "b"))
            scores = {part: np.mean([nll(z @ W[m].T + b[m], y) for m in range(min(len(W), 10))]) for part, (z, y) in self.seen.items()}
            return {**scores, "norm": np.mean([np.linalg.norm(w) for w in W])}


def nll(logits, y):
    logits = logits.astype(float)
    logits -= logits.max(1, keepdims=True)
    return float((np.log(np.exp(logits).sum(1)) - logits[np.arange(len(y)), y]).mean())


def call(program, *words):
    """Runs a program of the build folder. Returns what it printed, CPU and wall seconds, the most RssAnon and the peak RSS in MB."""
    began, most = time.time(), {"RssAnon": 0, "VmHWM": 0}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([str(w) for w in (root / "build" / program, *words)], stdout=out, stderr=subprocess.STDOUT)
        while True:
            # looked at while it runs: the peak that the kernel reports at the end is inherited from this process
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            with open(f"/proc/{process.pid}/status") as file:
                for key, value in re.findall(r"(RssAnon|VmHWM):\s*(\d+)", file.read()):
                    most[key] = max(most[key], int(value) / 1024)
            time.sleep(0.002)
        process.returncode = status
        out.seek(0)
        text = out.read()
    if status:
        sys.exit(f"bench: {program} failed: {text}")
    return text, usage.ru_utime + usage.ru_stime, time.time() - began, most["RssAnon"], most["VmHWM"]


def fit(features, labels, head, batch, lr, threads, *options):
    return call("lastlayer", "fit", "--features", features, "--labels", labels, "--head", head, "--head-layout", "kd",
                "--batch-size", batch, "--lr", lr, "--seed", SEED, "--threads", threads, *options)


def fma_peak():
    return float(re.search(r"peak ([0-9.]+)", call("bench/kernels", "peak")[0])[1])


def command(who, data, method, p, threads=1):
    """The words that start a contestant on a cell."""
    s = data.shape
    predict = method.startswith("predict")
    words = dict(method=method, classes=s["K"], batch=s["B"], lr=s["lr"], threads=threads)
    if p:
        words["dropout"] = p
    if predict:
        words.update(features=data.test[0], ensemble=data.ensemble(p), samples=s["S"])
    else:
        words.update(features=data.train[0], labels=data.train[1])
    if who == "lastlayer":
        program = [root / "build/bench/heads"]
        if predict:
            words["method"] = "predict"
        elif method == "bootstrap":
            words.update(samples=max(threads, s["members"]), epochs=s["epochs"])
        else:
            words.update(samples=s["chain"], epochs=s["chain"], judge=s["epochs"])
    else:
        program = [sys.executable, root / "bench/peers.py"]
        words.update(peer=who, epochs=s["epochs"], models=s["models"])
    return [str(w) for w in program] + [f"{key}={value}" for key, value in words.items()]


def parts_of(data, method, p):
    s, calls = data.shape, {"bootstrap": data.shape["members"] * data.shape["epochs"]}
    if method.startswith("predict"):
        return Parts(method="predict", features=data.test[0], ensemble=data.ensemble(0))
    return Parts(method=method, features=data.train[0], labels=data.train[1], classes=s["K"], batch=s["B"], dropout=p,
                 epochs=calls.get(method, s["chain"]), member=s["epochs"])


def take_turns(contestants, data, repeats, parts=None):
    for r in range(repeats):
        for c in contestants:
            c.scores.append(data.judge(c.repeat(r + 1, data.folder)))
        if parts:
            parts.repeat()
    for c in contestants + [parts] * (parts is not None):
        c.close()


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.repeats = 1 if arguments.quick else arguments.repeats
        self.rows, self.wrong, self.peaks, self.data = [], [], [], {}

    def wanted(self, name):
        return re.search(self.arguments.only, name)

    def get(self, name):
        if name not in self.data:
            shape = dict(SHAPES[name])
            if self.arguments.quick:
                shape.update(N=shape["N"] // 8, n=shape["n"] // 8, models=4, S=4)
            self.data[name] = Data(self.folder, name, shape)
            self.peaks.append(fma_peak())
        return self.data[name]

    def keep(self, table, data, method, p, threads, c, clock):
        s, steps = data.shape, math.ceil(data.shape["N"] / data.shape["B"])
        seconds, least, predict = float(np.median(c.times(clock))), min(c.times(clock)), method.startswith("predict")
        per = steps if data.name == "imagenet" and not predict else 1
        row = dict(table=table, shape=data.name, method=method, p=p, who=c.name, threads=threads, clock=clock,
                   unit="member x point" if predict else "step" if data.name == "imagenet" else "epoch",
                   seconds=seconds / per, least=least / per,
                   gflops=(2 if predict else 4 * s["N"]) * s["D"] * s["K"] / seconds * 1e-9,
                   nll_test=c.score("test"), nll_train=c.score("train"), norm=c.score("norm"), std=c.score("std"),
                   anon_mb=c.most("anon"), peak_mb=c.most("peak"), work_mb=c.most("anon") - c.most("base"))
        self.rows.append(row)
        return row

    def keep_parts(self, data, method, p, parts, table="parts"):
        for name, values in parts.found().items():
            value = float(np.median(values))
            self.rows.append(dict(table=table, shape=data.name, method=method, p=p, who=name,
                                  **({"gflops": value} if table == "peak" else {"seconds": value, "least": min(values)})))

    def compare(self, name, ours, theirs):
        """A fast wrong answer is no answer."""
        chance = math.log(self.data[ours["shape"]].shape["K"])
        for key in ("nll_test", "nll_train", "norm", "std"):
            a, b = ours[key], theirs[key]
            learnt = max(abs(chance - b), b / 20) if key.startswith("nll") and not self.arguments.quick else math.inf
            scale = max(0.001, min(abs(b), learnt))
            allowed = scale * TOLERANCE[ours["method"]] * (10 if key == "std" else 3 if self.arguments.quick else 1)
            if abs(a - b) > allowed:
                self.wrong.append(f"{name}: {key} of lastlayer is {a:.5g}, of {theirs['who']} {b:.5g}; they may differ by {allowed:.2g}")

    def one_core(self):
        for shape in SHAPES:
            for method, peers in PEERS.items():
                for p in ([0.5, 0.1, 0.3] if "dropout" in method else [0]):
                    name = f"{shape}/{method}" + (f"/{p}" if p else "")
                    if not self.wanted(name) or (self.arguments.quick and p in (0.1, 0.3)):
                        continue
                    began, data = time.time(), self.get(shape)
                    chosen = peers[:1] if p in (0.1, 0.3) or (self.arguments.quick and method != "sgd") else peers
                    contestants = [Contestant(who, command(who, data, method, p)) for who in ["lastlayer"] + chosen]
                    parts = parts_of(data, method, p)
                    take_turns(contestants, data, self.repeats, parts)
                    rows = [self.keep("one core", data, method, p, 1, c, "cpu") for c in contestants]
                    self.keep_parts(data, method, p, parts)
                    for row in rows[1:]:
                        self.compare(name, rows[0], row)
                    say(name, rows, began)

    def all_cores(self):
        for shape in SHAPES:
            for method in ("sgd", "bootstrap", "predict-ensemble"):
                name = f"cores/{shape}/{method}"
                if not self.wanted(name) or (self.arguments.quick and shape != "mnist"):
                    continue
                began, data = time.time(), self.get(shape)
                contestants = [Contestant("lastlayer, 1 thread", command("lastlayer", data, method, 0)),
                               Contestant("lastlayer", command("lastlayer", data, method, 0, CORES))]
                copies = f"{CORES} processes"
                if method == "bootstrap":
                    contestants.append(Contestant(f"torch, {copies}", command("torch", data, method, 0), CORES))
                else:
                    contestants.append(Contestant("torch", command("torch", data, method, 0, CORES)))
                contestants.append(Contestant(f"lastlayer, {copies}", command("lastlayer", data, method, 0), CORES))
                parts = Parts(method="peak", threads=CORES)
                take_turns(contestants, data, self.repeats, parts)
                self.keep_parts(data, method, 0, parts, "peak")
                rows = [self.keep("all cores", data, method, 0, 1 if "1 thread" in c.name else CORES, c, "wall") for c in contestants]
                self.compare(name, rows[1], rows[2])
                say(name, rows, began)

    def growth(self):
        """One dimension at a time, the others fixed; lastlayer alone, one core."""
        fixed = dict(N=16384, n=2000, D=64, K=16, B=128, sep=8, lr=0.05, chain=4, members=1, epochs=1, models=1, S=16)
        grid = {"N": [4096, 16384, 65536, 262144], "D": [16, 64, 256, 1024], "K": [4, 16, 64, 256, 1024], "S": [4, 16, 64, 256, 1024]}
        for letter, values in grid.items():
            if not self.wanted(f"growth/{letter}"):
                continue
            for value in values[:2] if self.arguments.quick else values:
                began = time.time()
                data = Data(self.folder, f"{letter}{value}", {**fixed, **({"N": 2048, "D": 256} if letter == "S" else {}), letter: value})
                fit = Contestant("lastlayer", command("lastlayer", data, "sgd", 0))
                predict = Contestant("lastlayer", command("lastlayer", data, "predict-ensemble", 0))
                for c in (fit, predict):
                    take_turns([c], data, self.repeats)
                rows = [self.keep("growth", data, method, 0, 1, c, "cpu") for method, c in (("sgd", fit), ("predict-ensemble", predict))]
                samples = value if letter == "S" else 4
                _, seconds, _, anon, peak = data.fit(data.folder / "all.safetensors", "--method", "sgd", "--samples", samples)
                rows.append(dict(table="growth", shape=data.name, method="lastlayer fit", p=0, who="lastlayer", threads=1, clock="cpu",
                                 unit="run", seconds=seconds, anon_mb=anon, peak_mb=peak))
                self.rows.append(rows[-1])
                for row in rows:
                    row.update(letter=letter, value=value)
                say(f"growth/{letter}={value}", rows, began)


def say(name, rows, began):
    found = "  ".join(f"{row['who']} {tables.times(row['seconds'])}" for row in rows)
    print(f"{name:32s} {found}   [{time.time() - began:.0f} s]", flush=True)


def leave_nothing():
    """Whoever ends this program also ends its temporary folder, which may hold 10 GB."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    whole = not arguments.quick and not arguments.only
    load, began = os.getloadavg()[0], time.time()
    leave_nothing()
    with tempfile.TemporaryDirectory(prefix="lastlayer-bench-") as folder:
        bench = Bench(arguments, pathlib.Path(folder))
        bench.peaks.append(fma_peak())
        bench.one_core()
        bench.all_cores()
        bench.growth()
    target = root / "bench" if whole else root / "build/bench"
    fields = list(dict.fromkeys(key for row in bench.rows for key in row))
    with open(target / "results.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, fields, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in bench.rows)
    facts = dict(words=" ".join(sys.argv[1:]), seed=SEED, repeats=bench.repeats, load=load, minutes=(time.time() - began) / 60, cores=CORES,
                 peaks=bench.peaks, shapes={name: data.shape for name, data in bench.data.items()}, wrong=bench.wrong, tolerance=TOLERANCE)
    (target / "RESULTS.md").write_text(tables.page(bench.rows, facts))
    print(f"-> {target.relative_to(root)}/RESULTS.md, results.csv")
    for sentence in bench.wrong:
        print(f"WRONG {sentence}", file=sys.stderr)
    sys.exit(1 if bench.wrong else 0)


if __name__ == "__main__":
    main()
