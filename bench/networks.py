#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times networks beside PyTorch, in one run, with the same threads: steps of sgd and representations of random images.

  networks.py PROGRAM                 the table; PROGRAM = build/bench/networks
  networks.py PROGRAM --quick         the same with fewer repeats
  networks.py --peer NET H W C K B T  the PyTorch side: commands and answers as bench/networks.c
Both sides are processes that answer commands in turn. The best of the repeats counts, by wall time and by CPU time: on a machine that does
other work too, the latter is the one to trust."""
import os
import subprocess
import sys
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


def main():
    if sys.argv[1] == "--peer":
        return peer(sys.argv[2], *map(int, sys.argv[3:]))
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
