#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/optimisers.json: a small network after 1, 2 and 10 steps of PyTorch's own optimisers, in f64.

The batches are the project's own (lib/draws.py). L2 of l2 |w|^2 on the hidden kernel is PyTorch's weight_decay 2 l2 on it.
Usage: optimisers.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import torch

from lib import draws

N, D, H, K, B = 53, 7, 6, 4, 16
STEPS = [1, 2, 10]
NAMES = ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]


def exact(rng, *shape):
    """Multiples of 1/64: the same number in f32, f64 and text."""
    return rng.integers(-96, 97, shape) / 64


def make_optimiser(case, tensors):
    groups = [{"params": tensors[:1], "weight_decay": 2 * case["l2"]}, {"params": tensors[1:]}]
    if case["optimiser"] == "adam":
        return torch.optim.Adam(groups, lr=case["lr"], eps=1e-7)
    return torch.optim.SGD(groups, lr=case["lr"], momentum=case["momentum"], nesterov=case["optimiser"] == "nesterov")


def train(case, z, y, start):
    tensors = [torch.tensor(t, dtype=torch.float64, requires_grad=True) for t in start]
    optimiser = make_optimiser(case, tensors)
    x, labels, found = torch.tensor(z, dtype=torch.float64), torch.tensor(y), []
    per_epoch = -(-N // B)
    for k in range(max(STEPS)):
        epoch, place = divmod(k, per_epoch)
        batch = draws.shuffle(range(N), case["seed"], 0, epoch)[place * B:(place + 1) * B]
        for group in optimiser.param_groups:
            group["lr"] = case["lr"] * case["factor"] ** (k // case["every"]) / (1 + case["decay"] * k)
        W, b, V, c = tensors
        logits = torch.relu(x[batch] @ W.T + b) @ V.T + c
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits, labels[batch]).backward()
        optimiser.step()
        if k + 1 in STEPS:
            found.append([[float(f"{v:.9g}") for v in t.detach().numpy().ravel()] for t in tensors])
    return found


def make_case(name, z, y, start, **more):
    case = {"name": name, "optimiser": "adam", "lr": 0.05, "momentum": 0.0, "l2": 0.0, "factor": 1.0, "every": 1000, "decay": 0.0, "seed": 5, **more}
    return {**case, "found": train(case, z, y, start)}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/optimisers.json"
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(20260103)
    y = np.concatenate([np.arange(K), rng.integers(0, K, N - K)])
    z = exact(rng, N, D) + exact(rng, K, D)[y]
    start = [exact(rng, H, D) / 2, exact(rng, H) / 4, exact(rng, K, H) / 2, exact(rng, K) / 4]
    cases = [
        make_case("adam", z, y, start),
        make_case("adam, the paper's lr", z, y, start, lr=1e-3),
        make_case("adam with l2", z, y, start, l2=0.02),
        make_case("sgd", z, y, start, optimiser="sgd", lr=0.25),
        make_case("sgd with momentum", z, y, start, optimiser="sgd", lr=0.1, momentum=0.9),
        make_case("nesterov", z, y, start, optimiser="nesterov", lr=0.1, momentum=0.9),
        make_case("nesterov, l2, halved, decayed", z, y, start, optimiser="nesterov", lr=0.2, momentum=0.9, l2=0.01, factor=0.5, every=4, decay=0.1),
    ]
    made = {"script": "tests/oracle/optimisers.py", "python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    whole = {"made_by": made, "N": N, "D": D, "K": K, "B": B, "net": f"mlp:{H}", "names": NAMES, "steps": STEPS, "features": z.ravel().tolist(),
             "labels": y.tolist(), "start": [t.ravel().tolist() for t in start], "cases": cases}
    target.write_text(json.dumps(whole, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
