#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/calibrate.json: temperatures, bias-corrected and vector scalings of small sets of logits, by SciPy.

The temperature is the root of the slope by brentq, confirmed by minimize_scalar; the others are minima by trust-exact and Newton steps.
Usage: calibrate.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import scipy
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import log_softmax, softmax


def temperature(f, y):
    def nll(beta):
        return -log_softmax(beta * f, axis=1)[np.arange(len(y)), y].mean()

    def slope(beta):
        return ((softmax(beta * f, axis=1) * f).sum(axis=1) - f[np.arange(len(y)), y]).mean()

    beta = brentq(slope, np.exp(-10), np.exp(10), xtol=1e-15, rtol=1e-15, maxiter=1000)
    peer = np.exp(minimize_scalar(lambda t: nll(np.exp(t)), bounds=(-10, 10), method="bounded", options={"xatol": 1e-12}).x)
    assert abs(beta - peer) < 1e-6 * beta, (beta, peer)
    return beta, nll(beta), nll(1.0)


def scaling(f, y, beta, vector):
    f = log_softmax(f, axis=1)
    n, K = f.shape
    hot = np.eye(K)[y]
    v0 = np.full(K if vector else 1, beta)

    def parts(x):
        return x[:len(v0)], x[len(v0):]

    def value(x):
        v, c = parts(x)
        return -(hot * log_softmax(v * f + c, axis=1)).sum() / n + (((v - v0) ** 2).sum() + (c ** 2).sum()) / (2 * n)

    def design(x):
        return np.concatenate([np.eye(K)[None] * f[:, :, None] if vector else f[:, :, None], np.broadcast_to(np.eye(K), (n, K, K))], axis=2)

    def gradient(x):
        v, c = parts(x)
        d = softmax(v * f + c, axis=1) - hot
        return np.einsum("nk,nkj->j", d, design(x)) / n + np.concatenate([v - v0, c]) / n

    def hessian(x):
        v, c = parts(x)
        p, a = softmax(v * f + c, axis=1), design(x)
        mean = np.einsum("nk,nkj->nj", p, a)
        return (np.einsum("nk,nki,nkj->ij", p, a, a) - mean.T @ mean) / n + np.eye(len(x)) / n

    x = minimize(value, np.concatenate([v0, np.zeros(K)]), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-8}).x
    for _ in range(5):
        x = x - np.linalg.solve(hessian(x), gradient(x))
    assert np.linalg.norm(gradient(x)) < 1e-13
    v, c = parts(x)
    return {"scale": (v * np.ones(K)).tolist(), "shift": c.tolist(), "nll": float(-(hot * log_softmax(v * f + c, axis=1)).sum() / n)}


def make_case(rng, name, n, K, sharp, noise, offset=0.0):
    f = np.round(rng.normal(size=(n, K)) * sharp, 6)
    p = softmax(f / noise, axis=1)
    y = np.array([rng.choice(K, p=q) for q in p])
    y[:K] = np.arange(K)
    f = f + offset * np.arange(n)[:, None]  # a constant per row changes nothing
    beta, nll, before = temperature(f, y)
    return {"name": name, "n": n, "K": K, "logits": f.ravel().tolist(), "truth": y.tolist(), "beta": beta, "nll": nll, "nll_before": before,
            "bias": scaling(f, y, beta, False), "vector": scaling(f, y, beta, True)}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/calibrate.json"
    rng = np.random.default_rng(20260713)
    cases = [
        make_case(rng, "over-confident", 80, 4, 6.0, 3.0),
        make_case(rng, "under-confident", 80, 3, 0.3, 0.2),
        make_case(rng, "two classes", 60, 2, 2.0, 1.0),
        make_case(rng, "rows with constants", 60, 5, 3.0, 2.0, offset=2.0),
        make_case(rng, "far apart", 60, 4, 200.0, 150.0),
    ]
    versions = f"tests/oracle/calibrate.py, Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    target.write_text(json.dumps({"made_by": versions, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
