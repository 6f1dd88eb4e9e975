#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/stationary.json: how constant-step SGD with independent batches spreads around the MAP of a two-class head on one
feature. theta = (w_0, b_0, w_1, b_1). H = mean Hessian, C = covariance of the rows' gradients, both at the MAP; the covariance solves
H Sigma + Sigma H = (lr/B) C (scipy). Also some independent batches, by the second implementation of the random numbers.
Usage: stationary.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import scipy
from scipy.linalg import solve_continuous_lyapunov
from scipy.optimize import minimize
from scipy.special import log_softmax

from lib import draws

N, B, LR, TAU = 60, 4, 0.05, 1.5


def problem():
    """Labels that are drawn from the model, so that C is near H, on features that are not centred, so that neither is diagonal."""
    z = np.float32(3 * draws.uniform(11, N) - 1).astype(np.float64)
    return z, (draws.uniform(12, N) < 1 / (1 + np.exp(0.5 - 1.5 * z))).astype(int)


def spread():
    z, y = problem()
    rows = np.stack([z, np.ones(N)], 1)

    def objective(theta):
        return -log_softmax(rows @ theta.reshape(2, 2).T, axis=1)[np.arange(N), y].mean() + TAU / (2 * N) * theta @ theta

    theta = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    p = np.exp(log_softmax(rows @ theta.reshape(2, 2).T, axis=1))
    outer = rows[:, :, None] * rows[:, None, :]
    L = p[:, :, None] * np.eye(2) - p[:, :, None] * p[:, None, :]
    H = np.einsum("nkl,nij->kilj", L, outer).reshape(4, 4) / N + TAU / N * np.eye(4)
    gradients = np.einsum("nk,nj->nkj", p - np.eye(2)[y], rows).reshape(N, 4)
    C = np.cov(gradients.T, bias=True)
    return {
        "N": N, "B": B, "lr": LR, "tau": TAU, "features": z.tolist(), "labels": y.tolist(), "map": theta.tolist(),
        "curvature": np.linalg.eigvalsh(H).tolist(), "covariance": solve_continuous_lyapunov(H, LR / B * C).ravel().tolist(),
    }


def batches(rows, size, seed, member, step, resampled):
    chosen = draws.resample(rows, seed, member) if resampled else range(rows)
    return {"N": rows, "B": size, "seed": str(seed), "member": member, "step": step, "resampled": resampled,
            "batch": draws.batch(chosen, size, seed, member, step)}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/stationary.json"
    made = {"script": "tests/oracle/stationary.py", "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    drawn = [batches(7, 7, 1, 0, 0, False), batches(1000, 32, 2**40 + 5, 3, 17, False), batches(50, 8, 9, 2, 4, True),
             batches(3, 600, 4, 0, 2**32 - 1, False)]
    text = json.dumps({"made_by": made, "spread": spread(), "batches": drawn}, separators=(",", ":"))
    target.write_text(text.replace('"spread"', '\n"spread"').replace('{"N"', '\n{"N"') + "\n")


if __name__ == "__main__":
    main()
