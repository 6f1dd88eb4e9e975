#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/laplace_torch.json: the functional variance (f_var) of the last-layer Laplace of laplace-torch at given heads. Needs
laplace-torch and torch from PyPI: make oracle-pypi. Its KFAC leaves weight and bias uncorrelated, so the head has no bias and the features end
with 1, which is the Hessian that we have; nothing is centred there, as with --common-mode here.
Usage: laplace_torch.py [OUT]"""
import importlib.metadata
import json
import pathlib
import platform
import sys

import numpy as np

try:
    import torch
    from laplace import Laplace
except ImportError as why:
    print(f"laplace_torch: {why}; make oracle-pypi installs it")
    sys.exit(77)

from lib import draws


def case(number, N, D, K, scale, tau):
    z = np.float32(4 * draws.uniform(100 + number, N * D).reshape(N, D) - 2)
    y = np.arange(N) % K
    W = np.float32(scale * (2 * draws.uniform(200 + number, K * D).reshape(K, D) - 1))
    b = np.float32(scale * (2 * draws.uniform(300 + number, K) - 1))
    new = np.float32(6 * draws.uniform(400 + number, 5 * D).reshape(5, D) - 3)
    out = {"tau": tau, "z": z.tolist(), "y": y.tolist(), "W": W.tolist(), "b": b.tolist(), "new": new.tolist()}
    one = [torch.tensor(np.hstack([rows, np.ones((len(rows), 1))]), dtype=torch.float64) for rows in (z, new)]
    head = torch.nn.Linear(D + 1, K, bias=False, dtype=torch.float64)
    head.weight.data = torch.tensor(np.hstack([W, b[:, None]]), dtype=torch.float64)
    model = torch.nn.Sequential(torch.nn.Identity(), head)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(one[0], torch.tensor(y)), batch_size=N)
    for structure in ("full", "kron", "diag"):
        la = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure=structure, prior_precision=tau)
        la.fit(loader)
        _, f_var = la._glm_predictive_distribution(one[1])
        out[structure] = f_var.detach().numpy().astype(float).tolist()
    return out


def main():
    names = ("laplace-torch", "torch", "curvlinops-for-pytorch", "numpy")
    made = {"script": "tests/oracle/laplace_torch.py", "python": platform.python_version(), **{n: importlib.metadata.version(n) for n in names}}
    fixture = {"made_by": made,
               "cases": [case(0, 40, 4, 3, 1.0, 1.0), case(1, 25, 2, 5, 0.5, 0.1), case(2, 60, 6, 2, 3.0, 10.0)]}
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/laplace_torch.json"
    out.write_text(json.dumps(fixture, separators=(",", ":")).replace('{"tau"', '\n{"tau"') + "\n")


if __name__ == "__main__":
    main()
