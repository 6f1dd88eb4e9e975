#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One epoch of sgd on features that are larger than most memories: 1,281,167 x 4032 in f16, 1000 classes, about 10 GB. `make bench-scale`.

  scale.py [--half-size] [--rows N] [--block ROWS] [--folder DIR]
The file is written row by row, put out of the page cache before each run, and removed at the end. An epoch is the time of
`lastlayer fit --method sgd` less that of `--method point`, which only reads and checks the file. Results: bench/SCALE.md.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import run
import tables

ROWS, D, K, B = 1281167, 4032, 1000, 512
SLICE = 4096


def forget(path):
    """Out of the page cache, so that the next run reads the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write(folder, name, rows):
    paths = folder / f"{name}.npy", folder / f"{name}_labels.npy"
    run.call("bench/features", rows, 0, D, K, 20, run.SEED, "f16", *paths)
    return paths


def fit(folder, paths, threads, *options):
    forget(paths[0])
    _, _, wall, anon, peak = run.fit(*paths, folder / "zeros.npz", B, 1, threads, *options, "-o", folder / "out.safetensors")
    return dict(wall=wall, anon=anon, peak=peak)


def in_memory(folder, threads):
    """Seconds of one step where the features are a slice that stays in memory."""
    z, y = write(folder, "slice", SLICE)
    words = dict(method="sgd", features=z, labels=y, classes=K, batch=B, lr=1, samples=1, threads=threads)
    command = [run.root / "build/bench/heads"] + [f"{k}={v}" for k, v in words.items()]
    done = subprocess.run(command, input=f"1 {folder / 'slice.npz'}\n" * 3, stdout=subprocess.PIPE, text=True, check=True)
    return min(json.loads(line)["wall"] for line in done.stdout.splitlines()) / (SLICE // B)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half-size", action="store_true")
    parser.add_argument("--rows", type=int, default=ROWS, help="for a trial of this script: then the results are only printed")
    parser.add_argument("--block", type=int, default=16384, metavar="ROWS")
    parser.add_argument("--folder", help="where the file goes; default: the folder for temporary files")
    arguments = parser.parse_args()
    rows = arguments.rows // 2 if arguments.half_size else arguments.rows
    threads, steps = run.CORES, -(-rows // B)
    run.leave_nothing()
    with tempfile.TemporaryDirectory(prefix="lastlayer-scale-", dir=arguments.folder) as name:
        folder = pathlib.Path(name)
        if os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize < 2.2 * rows * D:
            sys.exit(f"scale: {folder} has no room for {rows} x {D}; try --half-size or --folder")
        run.np.savez(folder / "zeros.npz", W=run.np.zeros((K, D), "f4"), b=run.np.zeros(K, "f4"))
        began = time.time()
        paths = write(folder, "features", rows)
        wrote, size = time.time() - began, paths[0].stat().st_size
        print(f"{size / 1e9:.2f} GB written in {wrote:.0f} s", flush=True)
        step = in_memory(folder, threads)
        check = fit(folder, paths, threads, "--method", "point")
        runs = {}
        for how in ("full", f"block:{arguments.block}"):
            runs[how] = fit(folder, paths, threads, "--method", "sgd", "--samples", 1, "--shuffle", how)
    body = [["reading and checking the file", f"{check['wall']:.1f} s", "", "", f"{check['anon']:.0f}", f"{check['peak']:.0f}"]]
    for how, r in runs.items():
        epoch = r["wall"] - check["wall"]
        beyond = epoch - step * steps
        body.append([f"sgd, --shuffle {how}", f"{r['wall']:.1f} s", f"{epoch:.1f} s",
                     f"{beyond:+.1f} s ({100 * beyond / step / steps:+.0f} %)", f"{r['anon']:.0f}", f"{r['peak']:.0f}"])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    text = f"""# An epoch at the size of ImageNet

Written by `make bench-scale` (bench/scale.py {' '.join(sys.argv[1:])}) on {datetime.date.today()}. Every number below is of that run.

- {rows} x {D} features in f16, {K} classes: a file of {size / 1e9:.2f} GB, written in {wrote:.0f} s ({size / wrote / 1e9:.2f} GB/s),
  out of the page cache before each run.
- {tables.processor()}, {threads} threads, {memory:.0f} GB of memory. B = {B}, {steps} steps per epoch.
- The same steps on a slice of {SLICE} rows that stays in memory: {1e3 * step:.1f} ms each, {step * steps:.1f} s for {steps}. What an epoch
  takes beyond that is the cost of reading. Wall time; an epoch is the run less reading and checking.

""" + tables.table(["run", "wall", "epoch", "beyond the arithmetic", "RssAnon MB", "peak RSS MB, with mapped pages"], body)
    print(text)
    if arguments.rows == ROWS:
        (run.root / "bench/SCALE.md").write_text(text)


if __name__ == "__main__":
    main()
