#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of fit and predict under callgrind, of this version beside another one. Wall times of a busy machine differ by more than a release may
cost; instructions are the same again. `make bench-instructions ARGS=PATH`, PATH being the other command.

  instructions.py BEFORE [--after build/lastlayer] [--name COMMIT] [--quick] [--fit | --predict]
--quick counts the smallest shape alone and prints the tables. Results: bench/INSTRUCTIONS.md. Valgrind has no SHA instructions."""
import argparse
import datetime
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

root = pathlib.Path(__file__).resolve().parent.parent
# name, D, K, rows and batch of a fit, its members, rows and members of a prediction
SHAPES = (("tiny", 20, 10, 500, 32, 4, (500, 3000), 10), ("MNIST", 784, 10, 1024, 64, 2, (500,), 10), ("CIFAR-10", 512, 10, 1024, 128, 2, (1000,), 20),
          ("CIFAR-100", 512, 100, 256, 128, 1, (200,), 20), ("ImageNet", 2048, 1000, 64, 64, 1, (32,), 4))
# The first two take their length by --thin, the others by --epochs. The step of sgd is measured with a rate at which members hardly differ: then the fit
# does not go on to the diffusion time, for which it decomposes a matrix [D,D]. sgld always does, so it is left out where that is large.
METHODS = (("sgd", 1e-9), ("sgld", .01), ("dropout", .01), ("bootstrap", .01))


def count(command, *words):
    pathlib.Path("out.safetensors").unlink(missing_ok=True)
    env = {**os.environ, "LASTLAYER_ISA": "v3", "LC_ALL": "C"}
    line = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", command, *map(str, words), "--threads", "1"]
    done = subprocess.run(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(line)}\n{done.stderr[-2000:]}")
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def files(D, K, rows, members, points):
    rng = np.random.default_rng(5)
    np.save("features.npy", rng.standard_normal((rows, D)).astype(np.float32))
    np.save("labels.npy", rng.integers(0, K, rows))
    for n in points:
        np.save(f"points{n}.npy", rng.standard_normal((n, D)).astype(np.float32))
        np.save(f"truth{n}.npy", rng.integers(0, K, n))
    np.savez("head.npz", W=(rng.standard_normal((K, D)) / D**.5).astype(np.float32), b=np.zeros(K, np.float32))


def fits(commands, shape):
    """What a step costs: the difference between a run and a longer one."""
    name, D, K, rows, batch, members, points, S = shape
    for method, lr in METHODS:
        if method == "sgld" and 20 < D <= 1024:
            continue
        words = ["fit", "--features", "features.npy", "--labels", "labels.npy", "--head", "head.npz", "--method", method, "--samples", members,
                 "--batch-size", batch, "--lr", lr, "-o", "out.safetensors"]
        epoch, lengths = -(-rows // batch), (2, 12) if D * K < 10000 else (1, 3)
        length = [("--thin", epochs * epoch) if method[:2] == "sg" else ("--epochs", epochs) for epochs in lengths]
        whole, longer = ([count(command, *words, *more) for command in commands] for more in length)
        steps = (lengths[1] - lengths[0]) * epoch * (1 if method == "dropout" else members)
        yield f"{name} {D} x {K}", f"{method}, batch {batch}", *((b - a) / steps for a, b in zip(whole, longer))


def predictions(commands, shape):
    """An ensemble of its own for each command, of the same members."""
    name, D, K, rows, batch, members, points, S = shape
    made = []
    for i, command in enumerate(commands):
        subprocess.run([command, "fit", "--features", "features.npy", "--labels", "labels.npy", "--head", "head.npz", "--method", "sgd", "--samples",
                        str(S), "--batch-size", str(batch), "--lr", ".01", "--epochs", "1", "--threads", "1", "-o", f"ensemble{i}.safetensors"],
                       env={**os.environ, "LASTLAYER_ISA": "v3"}, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        made.append(f"ensemble{i}.safetensors")
    for n, labels in ((n, labels) for n in points for labels in ([], ["--labels", f"truth{n}.npy"])):
        counts = []
        for command, ensemble in zip(commands, made):
            pathlib.Path("p.npz").unlink(missing_ok=True)
            counts.append(count(command, "predict", ensemble, "--features", f"points{n}.npy", *labels, "-o", "p.npz"))
        yield f"{name} {D} x {K}", f"{n} rows, {S} members, {'with' if labels else 'no'} labels", *counts
    for path in made:
        pathlib.Path(path).unlink()


def table(heads, rows, start=None):
    """`start`: what each command costs before and after it does anything."""
    line = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for first, second, before, after in rows:
        digits = 4 if before < 1e6 else 2
        cells = [f"{before / 1e6:,.{digits}f}", f"{after / 1e6:,.{digits}f}", f"{100 * (after / before - 1):+.1f} %"]
        if start:
            cells.append(f"{100 * ((after - start[1]) / (before - start[0]) - 1):+.1f} %")
        line.append(f"| {first} | {second} | {' | '.join(cells)} |")
    return "\n".join(line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("before")
    parser.add_argument("--after", default=str(root / "build/lastlayer"))
    parser.add_argument("--name", default="another one")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--predict", action="store_true")
    a = parser.parse_args()
    commands = [str(pathlib.Path(path).resolve()) for path in (a.before, a.after)]
    fit, predict = [], []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        start = [count(command, "convert", "--help") for command in commands]
        print("start", *start, flush=True)
        for shape in SHAPES[:1] if a.quick else SHAPES:
            name, D, K, rows, batch, members, points, S = shape
            files(D, K, rows, members, points)
            for out, wanted, rows_of in ((fit, not a.predict, fits), (predict, not a.fit, predictions)):
                for row in rows_of(commands, shape) if wanted else ():
                    out.append(row)
                    print(*row, flush=True)
    text = f"""# Instructions

Millions of instructions under callgrind, one thread, level `v3`, of {a.name} and of this version, {datetime.date.today()}. The other one is
built from its commit with the same compiler and the defaults of its build:

    mkdir before && git archive COMMIT | tar x -C before && meson setup before/build before && ninja -C before/build lastlayer
    make bench-instructions ARGS="before/build/lastlayer --name 'that commit'"

Both commands get the same files and options. Valgrind has no SHA instructions, so SHA-256 counts here as it does on processors without them. `convert --help`,
which starts and ends, costs {start[0] / 1e6:.2f} before and {start[1] / 1e6:.2f} after; "less the start" takes that off the whole command.

## A step of fit

The difference between one epoch and three (of heads below 10,000 weights two and twelve), divided by the steps. The heads are given, so no MAP is solved. Not in it is what a
fit does once: reading, and the look at training rows in the end, which for sgd and sgld on up to 1024 features decomposes a matrix of that size.

{table(("shape", "method", "before", "after", "change"), fit)}

## A command predict

{table(("shape", "what", "before", "after", "change", "less the start"), predict, start)}
"""
    print(text)
    if not a.quick and not a.fit and not a.predict:
        (root / "bench/INSTRUCTIONS.md").write_text(text)


main()
