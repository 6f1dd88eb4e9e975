#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times networks beside PyTorch, in one run, with the same threads: steps of sgd and representations of random images, epochs on real ones.

  networks.py PROGRAM                 the table; PROGRAM = build/bench/networks
  networks.py PROGRAM --quick         the same with fewer repeats
  networks.py COMMAND --epoch FOLDER  an epoch of `lastlayer train` on the IDX files of FOLDER, Adam, batch 32; COMMAND = build/lastlayer
  networks.py --peer NET H W C K B T  the PyTorch side: commands and answers as bench/networks.c
  networks.py --peer-epoch FOLDER T   its epoch: "wall cpu" for each of the lines read
Both sides are processes that answer commands in turn. The best of the repeats counts, by wall time and by CPU time: on a machine that does
other work too, the latter is the one to trust."""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

# name, network and input, batch, command, what is counted
CELLS = [
    ("VGG-16, forward and backward, batch 128", ["vgg16", 32, 32, 3, 10], 128, "train", 1, "steps"),
    ("VGG-16, encode", ["vgg16", 32, 32, 3, 10], 128, "encode", 256, "images"),
    ("VGG-16 of a quarter width, forward and backward, batch 128", ["vgg16:width=0.25", 32, 32, 3, 10], 128, "train", 4, "steps"),
    ("784-512-20-10, forward and backward, batch 32", ["mlp:512,20", 28, 28, 1, 10], 32, "train", 500, "steps"),
]


def build(net, height, width, channels, K):
    import torch.nn as nn
    layers, c = [], channels
    if net.startswith("mlp:"):
        layers, c = [nn.Flatten()], height * width * channels
        for units in map(int, net[4:].split(",")):
            layers += [nn.Linear(c, units), nn.ReLU(True)]
            c = units
        return nn.Sequential(*layers), nn.Linear(c, K)
    scale = float(net.split("=")[1]) if "=" in net else 1
    scaled = lambda count: max(8, round(count * scale / 8) * 8)  # noqa: E731
    for g, (count, convs) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]):
        for k in range(convs):
            layers += [nn.Conv2d(c, scaled(count), 3, padding=1), nn.ReLU(True), nn.BatchNorm2d(scaled(count), eps=1e-3, momentum=0.01)]
            c = scaled(count)
            if k + 1 < convs:
                layers.append(nn.Dropout(0.3 if g == 0 else 0.4))
        layers.append(nn.MaxPool2d(2))
    dense = scaled(512)
    layers += [nn.Flatten(), nn.Dropout(0.5), nn.Linear(c * (height // 32) * (width // 32), dense), nn.ReLU(True), nn.BatchNorm1d(dense, eps=1e-3, momentum=0.01)]
    return nn.Sequential(*layers), nn.Sequential(nn.Dropout(0.5), nn.Linear(dense, K))


def peer(net, height, width, channels, K, B, threads):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    body, head = build(net, height, width, channels, K)
    whole = torch.nn.Sequential(body, head)
    x, y = 2 * torch.rand(1024, channels, height, width) - 1, torch.arange(1024) % K
    optimiser, step = torch.optim.SGD(whole.parameters(), lr=1e-3), 0
    for line in sys.stdin:
        what, count = line.split()
        wall, cpu = time.perf_counter(), time.process_time()
        if what == "train":
            whole.train()
            for _ in range(int(count)):
                rows = torch.arange(step * B, (step + 1) * B) % 1024
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(whole(x[rows]), y[rows]).backward()
                optimiser.step()
                step += 1
        else:
            whole.eval()
            with torch.no_grad():
                for i in range(0, int(count), B):
                    body(x[i % (1024 - B):][:min(B, int(count) - i)])
        print(time.perf_counter() - wall, time.process_time() - cpu, flush=True)


class Contestant:
    def __init__(self, command):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.best = [float("inf")] * 2

    def ask(self, what, count):
        self.process.stdin.write(f"{what} {count}\n")
        self.process.stdin.flush()
        self.best = [min(b, float(t)) for b, t in zip(self.best, self.process.stdout.readline().split())]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def peer_epoch(folder, threads):
    """The rows lie in memory as floats and a batch is one indexing: less work than a DataLoader. Moments of pixels that are seldom lit would
    become denormal and make each step twice as long; that too is kept from it."""
    import numpy as np
    import torch
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    read = lambda name, skip: np.fromfile(pathlib.Path(folder) / name, np.uint8)[skip:]  # noqa: E731
    x = torch.from_numpy(read("train-images-idx3-ubyte", 16).reshape(-1, 784).astype(np.float32) / 255)
    y = torch.from_numpy(read("train-labels-idx1-ubyte", 8).astype(np.int64))
    net = torch.nn.Sequential(*build("mlp:512,20", 28, 28, 1, 10))
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-7)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        order = torch.randperm(len(x))
        for i in range(0, len(x), 32):
            rows = order[i:i + 32]
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
            optimiser.step()
        print(time.perf_counter() - wall, time.process_time() - cpu, flush=True)


def command_epoch(command, folder, threads):
    """Wall and CPU seconds of an epoch: half of what three epochs take more than one."""
    def run(epochs, out):
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([command, "train", "--data", folder, "--net", "mlp:512,20", "--no-holdout", "--epochs", str(epochs), "--threads", str(threads), "-o", out],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with tempfile.TemporaryDirectory() as place:
        one, three = (run(epochs, f"{place}/net{epochs}.safetensors") for epochs in (1, 3))
    return [(b - a) / 2 for a, b in zip(one, three)]


def epochs(command, folder, repeats):
    print("| 784-512-20-10, Adam, batch 32, an epoch of 60000 rows | threads | lastlayer | PyTorch | wall ratio | CPU ratio |\n|---|---|---|---|---|---|")
    for threads in sorted({1, min(2, len(os.sched_getaffinity(0)))}):
        theirs = Contestant([sys.executable, __file__, "--peer-epoch", folder, threads])
        ours = [float("inf")] * 2
        for _ in range(repeats):
            ours = [min(a, b) for a, b in zip(ours, command_epoch(command, folder, threads))]
            theirs.ask("train", 1)
        wall, cpu = [t / o for o, t in zip(ours, theirs.best)]
        print(f"| {pathlib.Path(folder).name} | {threads} | {ours[0]:.2f} s | {theirs.best[0]:.2f} s | {wall:.1f} | {cpu:.1f} |", flush=True)
        theirs.close()


def main():
    if sys.argv[1] == "--peer":
        return peer(sys.argv[2], *map(int, sys.argv[3:]))
    if sys.argv[1] == "--peer-epoch":
        return peer_epoch(sys.argv[2], int(sys.argv[3]))
    if "--epoch" in sys.argv:
        return epochs(sys.argv[1], sys.argv[sys.argv.index("--epoch") + 1], 1 if "--quick" in sys.argv else 3)
    repeats = 2 if "--quick" in sys.argv else 5
    cores = len(os.sched_getaffinity(0))
    print("| | threads | lastlayer | PyTorch | wall ratio | CPU ratio |\n|---|---|---|---|---|---|")
    for name, net, B, what, count, unit in CELLS:
        for threads in sorted({1, min(2, cores)}):
            ours = Contestant([sys.argv[1], *net, B, threads])
            theirs = Contestant([sys.executable, __file__, "--peer", *net, B, threads])
            for r in range(repeats + 1):
                for side in (ours, theirs):
                    side.ask(what, count if r else min(count, B))
                    if not r:  # the first answer warms up
                        side.best = [float("inf")] * 2
            rate = [count / side.best[0] for side in (ours, theirs)]
            ratio = [t / o for o, t in zip(ours.best, theirs.best)]
            print(f"| {name} | {threads} | {rate[0]:.3g} {unit}/s | {rate[1]:.3g} {unit}/s | {ratio[0]:.2f} | {ratio[1]:.2f} |", flush=True)
            ours.close()
            theirs.close()


if __name__ == "__main__":
    main()
