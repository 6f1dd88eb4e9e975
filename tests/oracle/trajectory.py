#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/trajectory.json: parameters after given steps of SGD, by PyTorch's autograd in f64 and in f32.

The batches are the project's own, from a second implementation of its random numbers (lib/draws.py); loss, gradient and prior are
PyTorch's. Usage: trajectory.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import torch

from lib import draws


def train(case, z, y, theta0, dtype, steps):
    N, B, seed, member = case["N"], case["B"], case["seed"], case["member"]
    theta = torch.tensor(theta0, dtype=dtype)
    x = torch.tensor(z, dtype=dtype)
    rows = draws.resample(N, seed, member) if case["resampled"] else range(N)
    per_epoch = -(-N // B)
    found = []
    for k in range(max(steps)):
        epoch, place = divmod(k, per_epoch)
        batch = draws.shuffle(rows, seed, member, epoch)[place * B:(place + 1) * B]
        inputs = x[batch]
        if case["drop16"]:
            mask = draws.keep_mask(range(len(batch)), x.shape[1], case["drop16"], seed, draws.TRAIN_MASK, member, k)
            inputs = inputs * torch.tensor(mask, dtype=dtype)
        theta = theta.detach().requires_grad_()
        logits = inputs @ theta[:, :-1].T + theta[:, -1]
        weights = case.get("weights")
        losses = torch.nn.functional.cross_entropy(logits, torch.tensor(y)[batch], reduction="none" if weights else "mean")
        if weights:
            losses = (losses * torch.tensor(weights, dtype=dtype)[batch]).mean()
        loss = losses + case["tau"] / (2 * N) * (theta**2).sum()
        loss.backward()
        lr = case["lr"] * ((1 + k / case["t0"]) ** -case["power"] if case["t0"] else 1)
        with torch.no_grad():
            theta = theta - lr * theta.grad
        if k + 1 in steps:
            found.append([float(f"{v:.9g}") for v in theta.double().numpy().ravel()])
    return found


def exact(rng, *shape):
    """Multiples of 1/64: the same number in f32, f64 and text."""
    return rng.integers(-96, 97, shape) / 64


def make_case(rng, name, N, D, K, B, steps, weighted=False, **more):
    case = {"name": name, "N": N, "D": D, "K": K, "B": B, "lr": 0.25, "tau": 1.0, "t0": 0.0, "power": 0.55, "seed": 11, "member": 0,
            "resampled": False, "drop16": 0, **more}
    y = np.concatenate([np.arange(K), rng.integers(0, K, N - K)])
    z = exact(rng, N, D) + exact(rng, K, D)[y]
    theta0 = exact(rng, K, D + 1) / 4
    case["features"] = z.ravel().tolist()
    case["labels"] = y.tolist()
    case["start"] = theta0.ravel().tolist()
    case["steps"] = steps
    if weighted:
        case["weights"] = (rng.integers(1, 193, N) / 64).tolist()
    case["f64"] = train(case, z, y, theta0, torch.float64, steps)
    case["f32"] = train(case, z, y, theta0, torch.float32, steps)
    gap = np.abs(np.array(case["f64"]) - np.array(case["f32"])).max()
    assert gap < 5e-6, gap
    return case


def make_order(N, seed, member, epoch, resampled):
    rows = draws.resample(N, seed, member) if resampled else range(N)
    return {"N": N, "seed": str(seed), "member": member, "epoch": epoch, "resampled": resampled, "order": draws.shuffle(rows, seed, member, epoch)}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/trajectory.json"
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(20260102)
    cases = [  # 53 rows in batches of 16: the fourth has 5, two epochs are 8 steps
        make_case(rng, "no prior", 53, 7, 4, 16, [1, 2, 8, 10], tau=0.0),
        make_case(rng, "the paper's prior", 53, 7, 4, 16, [1, 2, 8, 10]),
        make_case(rng, "the authors' prior", 53, 7, 4, 16, [1, 2, 8, 10], tau=2.0),
        make_case(rng, "decreasing steps", 40, 5, 3, 9, [1, 2, 10, 30], t0=4.0, lr=0.5),
        make_case(rng, "another power", 40, 5, 3, 9, [1, 2, 10, 30], t0=20.0, power=1.0, seed=2**40 + 3),
        make_case(rng, "bootstrap", 31, 4, 3, 8, [1, 2, 8, 20], resampled=True, member=5),
        make_case(rng, "one batch", 12, 3, 2, 64, [1, 2, 10], member=1),
        make_case(rng, "dropout", 9, 140, 2, 4, [1, 2, 6], drop16=32768, lr=0.0625),
        make_case(rng, "dropout .3", 14, 6, 3, 5, [1, 2, 6, 12], drop16=19661, tau=0.5, member=2),
        make_case(rng, "weights", 53, 7, 4, 16, [1, 2, 8, 10], weighted=True),
        make_case(rng, "weights of a bootstrap", 31, 70, 3, 8, [1, 2, 8, 20], weighted=True, resampled=True, member=5, lr=0.03125),
        make_case(rng, "weights and dropout", 14, 6, 3, 5, [1, 2, 6, 12], weighted=True, drop16=19661, tau=0.5, member=2),
    ]
    orders = [make_order(10, 0, 0, 0, False), make_order(33, 7, 2, 5, False), make_order(64, 2**63 + 9, 16777215, 70000, False),
              make_order(40, 7, 2, 1, True), make_order(1, 1, 1, 1, True)]
    made = {"script": "tests/oracle/trajectory.py", "python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    text = json.dumps({"made_by": made, "orders": orders, "cases": cases}, separators=(",", ":"))
    target.write_text(text.replace('{"name"', '\n{"name"').replace('{"N"', '\n{"N"') + "\n")


if __name__ == "__main__":
    main()
