#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/map.json: the MAP of small problems, by SciPy's Newton method in f64, confirmed by scikit-learn.

scikit-learn does not penalise the intercept, we do: it is asked for weights of (z, 1) without one. It also weighs rows and balances
classes. Usage: map.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight


def solve(x, y, K, tau, w):
    N, P = x.shape
    hot = np.eye(K)[y] * w[:, None]

    def value(t):
        t = t.reshape(K, P)
        return -(hot * log_softmax(x @ t.T, axis=1)).sum() / N + tau / (2 * N) * (t**2).sum()

    def gradient(t):
        t = t.reshape(K, P)
        return ((softmax(x @ t.T, axis=1) * w[:, None] - hot).T @ x / N + tau / N * t).ravel()

    def hessian(t):
        p = softmax(x @ t.reshape(K, P).T, axis=1)
        p_w = p * w[:, None]
        h = np.einsum("nk,nl,ni,nj->kilj", p_w, -p, x, x) + np.einsum("nk,kl,ni,nj->kilj", p_w, np.eye(K), x, x)
        return h.reshape(K * P, K * P) / N + tau / N * np.eye(K * P)

    t = minimize(value, np.zeros(K * P), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-8}).x
    for _ in range(5):
        t = t - np.linalg.solve(hessian(t), gradient(t))
    assert np.linalg.norm(gradient(t)) < 1e-12
    return t.reshape(K, P), value(t)


def make_case(rng, name, N, D, K, tau, spread, weighted=None):
    y = np.concatenate([np.arange(K), rng.integers(0, K, N - K)])
    z = rng.integers(-96, 97, (N, D)) / 64 + (rng.integers(-96, 97, (K, D)) / 64)[y] * spread
    x = np.hstack([z, np.ones((N, 1))])
    w = rng.integers(0, 5, N) / 2 if weighted == "rows" else np.ones(N)
    balanced = "balanced" if weighted == "balanced" else None
    theta, value = solve(x, y, K, tau, w if not balanced else compute_sample_weight("balanced", y))
    peer = LogisticRegression(C=1 / tau, fit_intercept=False, multi_class="multinomial", solver="newton-cg", tol=1e-8, max_iter=100000,
                              class_weight=balanced)
    peer.fit(x, y, sample_weight=w)
    own = peer.coef_ if K > 2 else np.vstack([-peer.coef_, peer.coef_])
    assert np.abs(own - theta).max() < 1e-4, np.abs(own - theta).max()
    extra = {"weights": w.tolist()} if weighted == "rows" else {"balanced": True} if balanced else {}
    return {"name": name, **extra, "N": N, "D": D, "K": K, "tau": tau, "features": z.ravel().tolist(), "labels": y.tolist(), "value": value,
            "theta": [float(f"{v:.10g}") for v in theta.ravel()]}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/map.json"
    rng = np.random.default_rng(20260103)
    cases = [
        make_case(rng, "three classes", 60, 5, 3, 1.0, 1),
        make_case(rng, "strong prior", 60, 5, 3, 25.0, 1),
        make_case(rng, "weak prior, nearly separable", 50, 4, 4, 0.125, 4),
        make_case(rng, "two classes", 40, 2, 2, 1.0, 1),
        make_case(rng, "more features than rows", 15, 20, 3, 2.0, 1),
        make_case(rng, "weights, some of them 0", 60, 5, 3, 1.0, 1, "rows"),
        make_case(rng, "balanced classes", 50, 4, 4, 0.5, 1, "balanced"),
        make_case(rng, "weights of two classes", 40, 2, 2, 1.0, 1, "rows"),
    ]
    made = {"script": "tests/oracle/map.py", "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__}
    target.write_text(json.dumps({"made_by": made, "cases": cases}, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
