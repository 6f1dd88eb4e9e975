#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/vgg.json: a narrow VGG-16 in PyTorch, f64: the loss of a batch, its gradient, the running statistics after it, and
the features of the same images in inference.

Weights, images and labels are test data that the C test makes again (lib/draws.py: uniform), so the fixture holds results only. Of each
tensor's gradient it has the norm and four products with vectors of test data. Dropout uses the project's own masks, at the network's own
places and at those of MC-Dropout. PyTorch's running variance is that of the sample, n - 1; it is turned into that of the batch, n.
Usage: vgg.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import torch
from torch.nn import functional as F

from lib import draws

SIDE, K, N, WIDTH = 32, 5, 8, 0.125
SEED, MEMBER, STEP = 5, 2, 11
EPSILON, MOMENTUM = 1e-3, 0.99
GROUPS = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]
PRODUCTS = 4


def channels_of(count):
    return max(8, round(count * WIDTH / 8) * 8)


def tensors():
    """Name, shape and values of all tensors, in order. Element i of tensor t is made of test number i of stream 200 + t."""
    out, number = [], 0

    def put(layer, name, shape, limit, centre):
        u = draws.uniform(200 + len(out), int(np.prod(shape)))
        out.append((f"layers.{layer}.{name}", (np.float32(limit) * (2 * u - 1).astype(np.float32) + np.float32(centre)).astype(np.float64).reshape(shape)))

    def norm(layer, c):
        put(layer, "weight", (c,), 0.5, 1)
        put(layer, "bias", (c,), 0.5, 0)
        put(layer, "running_mean", (c,), 0.5, 0)
        put(layer, "running_var", (c,), 0.5, 1)

    c = 3
    for full, convs in GROUPS:
        for _ in range(convs):
            o = channels_of(full)
            put(number, "weight", (o, c, 3, 3), 0.25, 0)
            put(number, "bias", (o,), 0.25, 0)
            norm(number + 1, o)
            number, c = number + 2, o
    dense = channels_of(512)
    put(number, "weight", (dense, c), 0.25, 0)
    put(number, "bias", (dense,), 0.25, 0)
    norm(number + 1, dense)
    put(number + 2, "weight", (K, dense), 0.25, 0)
    put(number + 2, "bias", (K,), 0.25, 0)
    return out


class Net:
    def __init__(self, values, drop16, training):
        self.values, self.drop16, self.training, self.at, self.places = values, drop16, training, 0, 0
        self.moved = {}

    def take(self):
        self.at += 1
        return self.values[self.at - 1]

    def norm(self, x):
        g, b, mean, var = [self.take() for _ in range(4)]
        if not self.training:
            return F.batch_norm(x, mean, var, g, b, False, 0, EPSILON)
        rows = x.numel() // x.shape[1]
        mean, moved = mean.detach().clone(), var.detach().clone()
        y = F.batch_norm(x, mean, moved, g, b, True, 1 - MOMENTUM, EPSILON)
        self.moved[self.at - 2] = mean
        self.moved[self.at - 1] = MOMENTUM * var.detach() + (moved - MOMENTUM * var.detach()) * (rows - 1) / rows
        return y

    def drop(self, x, own, place):
        layer, self.places = self.places, self.places + 1
        drop16 = 0 if not self.training else (self.drop16 if place else 0) if self.drop16 else round(own * 65536)
        if drop16 == 0:
            return x
        D = x.numel() // len(x)
        mask = draws.layer_mask(len(x), D, drop16, SEED, draws.TRAIN_MASK, MEMBER, STEP, layer)
        if x.dim() == 4:
            mask = mask.reshape(len(x), x.shape[2], x.shape[3], x.shape[1]).transpose(0, 3, 1, 2)
        return x * torch.tensor(mask)

    def features(self, x):
        for g, (_, convs) in enumerate(GROUPS):
            for c in range(convs):
                w, b = self.take(), self.take()
                x = self.norm(F.relu(F.conv2d(x, w, b, padding=1)))
                if c + 1 < convs:
                    x = self.drop(x, 0.3 if g == 0 else 0.4, False)
            x = self.drop(F.max_pool2d(x, 2), 0.5 if g == len(GROUPS) - 1 else 0, True)
        x = x.flatten(1)
        w, b = self.take(), self.take()
        return self.norm(F.relu(F.linear(x, w, b)))

    def logits(self, x):
        x = self.drop(self.features(x), 0.5, True)
        w, b = self.take(), self.take()
        return F.linear(x, w, b)


def digits(values):
    return [float(f"{v:.9g}") for v in np.asarray(values).ravel()]


def run(name, drop16, named, x, y):
    values = [torch.tensor(v, requires_grad="running" not in n) for n, v in named]
    net = Net(values, drop16, True)
    loss = F.cross_entropy(net.logits(x), y)
    loss.backward()
    gradients, statistics = [], []
    for t, (n, v) in enumerate(named):
        if "running" in n:
            statistics.append({"tensor": t, "found": digits(net.moved[t].numpy())})
            continue
        g = values[t].grad.numpy().ravel()
        products = [(2 * draws.uniform(1000 + 10 * t + p, g.size) - 1) @ g for p in range(PRODUCTS)]
        gradients.append({"tensor": t, "norm": digits([np.linalg.norm(g)])[0], "products": digits(products)})
    return {"name": name, "drop16": drop16, "nll": digits([loss.item() * N])[0], "gradients": gradients, "statistics": statistics}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/vgg.json"
    named = tensors()
    x = (2 * draws.uniform(1, N * SIDE * SIDE * 3) - 1).astype(np.float32).astype(np.float64).reshape(N, SIDE, SIDE, 3).transpose(0, 3, 1, 2)
    y = torch.tensor((draws.uniform(3, N) * K).astype(np.int64))
    x = torch.tensor(np.ascontiguousarray(x))
    cases = [run("own dropout", 0, named, x, y), run("MC-Dropout", 19661, named, x, y)]
    with torch.no_grad():
        features = Net([torch.tensor(v) for _, v in named], 0, False).features(x)
    made = {"script": "tests/oracle/vgg.py", "python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    whole = {"made_by": made, "net": f"vgg16:width={WIDTH}", "side": SIDE, "K": K, "N": N, "seed": SEED, "member": MEMBER, "step": STEP,
             "tensors": [{"name": n, "shape": list(v.shape)} for n, v in named], "features": digits(features.numpy()), "cases": cases}
    target.write_text(json.dumps(whole, separators=(",", ":")).replace('{"name"', '\n{"name"').replace('{"tensor"', '\n{"tensor"') + "\n")


if __name__ == "__main__":
    main()
