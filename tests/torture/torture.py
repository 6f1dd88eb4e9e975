#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks every run on purpose: each allocation fails once, each call of the write path fails once with each errno or is cut short, and the
process is killed at random moments. Whatever happens, a run ends with a documented exit code and one sentence, its output is the old one or
the whole new one, and the same command, with --resume where there is one, ends in the same bytes and leaves nothing else behind.

  torture.py COMMAND FAULTS            a sample of everything, some seconds, as TAP
  torture.py COMMAND FAULTS --all N    every allocation and call, N kills of each command; adds to counts.csv and the table made from it
  torture.py --table                   compares the table of docs/reliability.md with counts.csv: a test

COMMAND is the built lastlayer, FAULTS the library made of faults.c.
"""
import argparse
import concurrent.futures
import csv
import errno
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent / "cli"), str(here.parent.parent / "tools")]
import counts as reliability
import images
import samples

ERRNOS = ("EIO", "ENOSPC", "EINTR", "EDQUOT")
FAULTS = ("alloc", *ERRNOS, "short", "kill")
COLUMNS = ("command", "fault", "cases", "broken", "seconds")
counts = here / "counts.csv"
MEMORY, WRITE = 8, 6
TIMEOUT = 120

# Each command with its output. The words of a run that goes on after a failure are the same, and --resume where a work file is left.
FIT = ("--features", "features.npy", "--labels", "labels.npy", "--threads", "1")
COMMANDS = {
    "fit": ("e.safetensors", ("fit", *FIT, "--method", "bootstrap", "-S", "3", "--epochs", "2", "-o", "e.safetensors")),
    "train": ("n.safetensors", ("train", "--data", "data/mnist", "--net", "mlp:6,4", "--epochs", "3", "--threads", "1", "-o", "n.safetensors")),
    "search": ("store", ("search", *FIT, "--test-features", "test_features.npy", "--test-labels", "test_labels.npy", "--method", "sgd,bootstrap",
                         "--samples", "2,3", "--lr", "0.1", "--epochs", "1", "--store", "store")),
    "predict": ("p.npz", ("predict", "in.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "--threads", "1", "-o", "p.npz")),
    "convert": ("c.npz", ("convert", "features.npy", "-o", "c.npz")),
    "report": ("r.html", ("report", "in.npz", "-o", "r.html")),
}


def make_inputs(command, folder):
    """The files that the commands read, in `folder`."""
    os.chdir(folder)
    samples.make(60, 4, 3)
    images.squares(train=60, test=20, side=4, classes=3)
    for words in (("fit", *FIT, "--method", "sgd", "-S", "3", "-o", "in.safetensors"),
                  ("predict", "in.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "-o", "in.npz")):
        subprocess.run([command, *words], check=True, capture_output=True)


def contents(path):
    """What an output holds, without the seconds that a search notes; None where there is nothing."""
    if path.is_dir():
        files = {}
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            data = file.read_bytes()
            if file.suffix in (".json", ".jsonl"):
                data = re.sub(rb'"seconds": ?[^,}]*', b'"seconds":0', data)
                data = b"\n".join(sorted(data.split(b"\n")))
            files[str(file.relative_to(path))] = data
        return files
    return path.read_bytes() if path.exists() else None


def difference(found, whole):
    """": FILE, FILE" of a folder that is not as it should be."""
    if not isinstance(whole, dict) or not isinstance(found, dict):
        return ""
    return ": " + ", ".join(sorted(name for name in {**found, **whole} if found.get(name) != whole.get(name)))


class Bench:
    """One command, its inputs and the result that every run has to reach."""

    def __init__(self, command, faults, inputs, name):
        self.command, self.faults, self.inputs, self.name = command, faults, inputs, name
        self.output, self.words = COMMANDS[name]
        with tempfile.TemporaryDirectory() as folder:
            folder = self.folder(folder)
            counts = folder.parent / (folder.name + ".counts")
            begin = time.time()
            done = self.run(folder, f"count:{counts}")
            self.duration = time.time() - begin
            if done.returncode:
                sys.exit(f"torture: {name} fails by itself: {done.stderr}")
            self.allocations, self.calls = map(int, counts.read_text().split())
            counts.unlink()
            self.whole = contents(folder / self.output)
            self.listing = sorted(p.name for p in folder.iterdir())

    def folder(self, path):
        """A folder with the inputs, as links."""
        path = pathlib.Path(path)
        for file in self.inputs.iterdir():
            os.symlink(file, path / file.name)
        return path

    def run(self, folder, fault=None, kill_after=None, resume=False):
        env = {**os.environ, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        if fault:
            env.update(LD_PRELOAD=str(self.faults), LASTLAYER_FAULT=fault)
        words = [self.command, *self.words, *(["--resume"] if resume else [])]
        with subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            if kill_after is not None:
                time.sleep(kill_after)
                process.kill()
            try:
                out, err = process.communicate(timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                err += f"\ndid not end within {TIMEOUT} s"
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def old_output(self, folder, old):
        """In half of the cases there is an output already, which must survive."""
        if old and self.output != "store":
            (folder / self.output).write_bytes(b"the old one")
        return contents(folder / self.output)

    def wrong_end(self, done, fault):
        """Why the broken run did not end as it should, or None."""
        kind = fault.split(":")[0]
        killed = kind in ("kill", "time")
        if killed and done.returncode in (0, -signal.SIGKILL):
            return None
        allowed = {"alloc": (0, MEMORY), "call": (0, WRITE), "short": (0,)}.get(kind, ())
        if done.returncode not in allowed:
            return f"exit {done.returncode}: {done.stderr[-300:]}"
        sentences = [line for line in done.stderr.splitlines() if not line.startswith(("note:", "warning:"))]
        if done.returncode and (len(sentences) != 1 or not sentences[0].startswith(f"lastlayer {self.name}: ")):
            return f"not one sentence: {done.stderr[-300:]}"
        return None

    def case(self, fault, old):
        """Runs the command with the fault, then without. Returns what went wrong, or None."""
        with tempfile.TemporaryDirectory() as folder:
            folder = self.folder(folder)
            before = self.old_output(folder, old)
            kind, *rest = fault.split(":")
            done = self.run(folder, kill_after=float(rest[0])) if kind == "time" else self.run(folder, fault)
            wrong = self.wrong_end(done, fault)
            if wrong:
                return wrong
            after = contents(folder / self.output)
            if done.returncode == 0 and after != self.whole:
                return "success, but other bytes"
            if self.output != "store" and after != before and after != self.whole:
                return "the output is neither the old one nor the whole new one"
            again = self.run(folder, resume=(folder / (self.output + ".partial")).exists())
            if again.returncode:
                return f"the next run fails: {again.stderr[-300:]}"
            end = contents(folder / self.output)
            if end != self.whole:
                return "the next run gives other bytes" + difference(end, self.whole)
            listing = sorted(p.name for p in folder.iterdir())
            return None if listing == self.listing else f"left behind: {sorted(set(listing) - set(self.listing))}"

    def faults_of(self, kind, kills, rng):
        """The orders of one kind, all of them; kills half by call and half by time."""
        if kind == "alloc":
            return [f"alloc:{i}" for i in range(1, self.allocations + 1)]
        if kind == "short":
            return [f"short:{i}" for i in range(1, self.calls + 1)]
        if kind in ERRNOS:
            return [f"call:{i}:{getattr(errno, kind)}" for i in range(1, self.calls + 1)]
        at_calls = [f"kill:{rng.randint(1, self.calls)}" for _ in range(kills // 2)]
        return at_calls + [f"time:{rng.uniform(0, 1.1 * self.duration):.5f}" for _ in range(kills - len(at_calls))]


def torture(bench, kind, orders, workers):
    """Returns the failures, as text, and the seconds."""
    begin = time.time()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        answers = list(pool.map(lambda job: (job[1], bench.case(job[1], old=job[0] % 2)), enumerate(orders)))
    wrong = [f"{bench.name} {order}: {why}".replace("\n", " | ") for order, why in answers if why]
    return wrong, time.time() - begin


def read_counts():
    if not counts.exists():
        return {}
    with counts.open(newline="") as f:
        return {(r["command"], r["fault"]): [int(r["cases"]), int(r["broken"]), float(r["seconds"])] for r in csv.DictReader(f)}


def add_counts(rows):
    """Adds to the file, by command and fault, and writes the table of the page again."""
    sums = read_counts()
    for command, fault, *more in rows:
        old = sums.get((command, fault), [0, 0, 0.0])
        sums[command, fault] = [a + b for a, b in zip(old, more)]
    with counts.open("w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(COLUMNS)
        for (command, fault), (cases, broken, seconds) in sums.items():
            out.writerow([command, fault, cases, broken, f"{seconds:.0f}"])
    reliability.write(counts, table())


def table():
    sums = read_counts()
    lines = ["| command | " + " | ".join(FAULTS) + " | broken | seconds |", "|---" + "|---:" * (len(FAULTS) + 2) + "|"]
    for command in (*COMMANDS, "all"):
        of = [[v for (c, f), v in sums.items() if f == fault and command in (c, "all")] for fault in FAULTS]
        cells = [f"{sum(v[0] for v in column):,}" for column in of]
        rest = [sum(v[i] for column in of for v in column) for i in (1, 2)]
        lines.append(f"| {command if command == 'all' else f'`{command}`'} | " + " | ".join(cells) + f" | {rest[0]} | {rest[1]:,.0f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", type=pathlib.Path, nargs="?")
    parser.add_argument("faults", type=pathlib.Path, nargs="?")
    parser.add_argument("--all", type=int, metavar="KILLS", help="every allocation and call, and so many kills of each command")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        reliability.check(counts, table(), "make torture")
        return
    rng = random.Random(args.seed)
    command, faults = args.command.resolve(), args.faults.resolve()
    rows, broken = [], []
    if not args.all:
        print(f"1..{len(COMMANDS) * len(FAULTS)}")
    with tempfile.TemporaryDirectory() as scratch:
        make_inputs(command, scratch)
        for name in COMMANDS:
            bench = Bench(command, faults, pathlib.Path(scratch), name)
            for kind in FAULTS:
                orders = bench.faults_of(kind, args.all or 8, rng)
                if not args.all:
                    orders = rng.sample(orders, min(len(orders), 12 if kind == "alloc" else 4))
                bad, seconds = torture(bench, kind, orders, workers=os.cpu_count())
                broken += bad
                rows.append((name, kind, len(orders), len(bad), seconds))
                if args.all:
                    print(f"{name:8} {kind:7} {len(orders):6} cases {len(bad):4} broken {seconds:6.0f} s", flush=True)
                else:
                    print(f"{'not ok' if bad else 'ok'} {len(rows)} - {name} {kind}, {len(orders)} cases", flush=True)
                for line in bad[:10]:
                    print(f"# {line}", flush=True)
    if args.all:
        add_counts(rows)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
