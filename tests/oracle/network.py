#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/network.json: an MLP on small images and a deep head on features in PyTorch, f64: the loss of a batch, its gradient,
the parameters after one step of SGD with weight decay, and the representation of the same rows in inference.

Weights, rows and labels are test data that the C test makes again (lib/draws.py: uniform), so the fixture holds results only. Of the
gradient and of the change of each tensor it has the norm and four products with vectors of test data. Dropout uses the project's own masks.
Usage: network.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import torch
from torch.nn import functional as F

from lib import draws

SEED, MEMBER, STEP = 5, 2, 11
LR, DECAY = 0.1, 0.02
PRODUCTS = 4
# text, height, width, channels, K, rows, units of the dense layers, is there a mask before the first one?
NETS = [("mlp:64,20", 7, 6, 2, 10, 32, [64, 20, 10], False), ("head:3", 1, 1, 24, 5, 50, [24, 24, 5], True)]


def forward(x, values, drop16, first_mask):
    """Logits and the representation; drop16 = 0: no masks."""
    place = 0
    for layer in range(0, len(values), 2):
        z = x
        if layer or first_mask:
            if drop16:
                x = x * torch.tensor(draws.layer_mask(len(x), x.shape[1], drop16, SEED, draws.TRAIN_MASK, MEMBER, STEP, place))
            place += 1
        x = F.linear(x, values[layer], values[layer + 1])
        if layer + 2 < len(values):
            x = F.relu(x)
    return x, z


def digits(values):
    return [float(f"{v:.9g}") for v in np.asarray(values).ravel()]


def summary(tensor, x):
    x = x.detach().numpy().ravel()
    return {"tensor": tensor, "norm": digits([np.linalg.norm(x)])[0],
            "products": digits([(2 * draws.uniform(1000 + 10 * tensor + p, x.size) - 1) @ x for p in range(PRODUCTS)])}


def case(text, height, width, channels, K, n, units, first_mask, drop16):
    D = height * width * channels
    x = torch.tensor((2 * draws.uniform(1, n * D) - 1).astype(np.float32).astype(np.float64).reshape(n, D))
    y = torch.tensor((draws.uniform(3, n) * K).astype(np.int64))
    shapes = [s for i, o in zip([D, *units], units) for s in ((o, i), (o,))]
    values = [torch.tensor((np.float32(0.25) * (2 * draws.uniform(100 + t, int(np.prod(s))) - 1).astype(np.float32)).astype(np.float64).reshape(s),
                           requires_grad=True) for t, s in enumerate(shapes)]
    before = [v.detach().clone() for v in values]
    optimiser = torch.optim.SGD(values, lr=LR, weight_decay=DECAY)
    _, features = forward(x, values, 0, first_mask)
    logits, _ = forward(x, values, drop16, first_mask)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    optimiser.step()
    return {"net": text, "height": height, "width": width, "channels": channels, "K": K, "N": n, "drop16": drop16,
            "nll": digits([loss.item() * n])[0], "features": digits(features.detach().numpy()),
            "gradients": [summary(t, v.grad) for t, v in enumerate(values)],
            "changes": [summary(t, v - b) for t, (v, b) in enumerate(zip(values, before))]}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/network.json"
    made = {"script": "tests/oracle/network.py", "python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    whole = {"made_by": made, "seed": SEED, "member": MEMBER, "step": STEP, "lr": LR, "decay": DECAY,
             "cases": [case(*net, drop16) for net in NETS for drop16 in (0, 19661)]}
    target.write_text(json.dumps(whole, separators=(",", ":")).replace('{"net"', '\n{"net"').replace('{"tensor"', '\n{"tensor"') + "\n")


if __name__ == "__main__":
    main()
