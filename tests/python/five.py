#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The five lines of the README on a small network that is trained first, each with its time. make wheel runs it in a fresh environment."""
import time

began = time.perf_counter()
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import numpy as np  # noqa: E402

print(f"import torch {torch.__version__}: {time.perf_counter() - began:.2f} s")
random = np.random.default_rng(0)
centres = random.normal(size=(10, 64))


def loader(n):
    y = random.integers(0, 10, n)
    x = centres[y] + 2.5 * random.normal(size=(n, 64))
    return DataLoader(TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y)), batch_size=256)


train_loader, val_loader, test_loader = loader(20000), loader(5000), loader(10000)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
optimiser = torch.optim.Adam(model.parameters())
for _ in range(3):
    for x, y in train_loader:
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimiser.step()
images = next(iter(loader(256)))[0]

LINES = """import lastlayer as ll
m = ll.from_torch(model, train_loader, method="sgld", samples=100)
m.calibrate(val_loader)
m.certify(test_loader, risk=0.05)
a = m(images)"""
for line in LINES.splitlines():
    began, used = time.perf_counter(), time.process_time()
    exec(line)
    print(f"{time.perf_counter() - began:7.3f} s, {time.process_time() - used:7.3f} s of CPU  {line}")
print(f"{int(a.abstain.sum())} of {len(a.label)} rows abstain; {m.ensemble.promise}")  # noqa: F821
