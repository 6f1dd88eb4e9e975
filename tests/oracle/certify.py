#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/certify.json: certificates of small samples by NumPy and SciPy, p-values of Hoeffding-Bentkus, ranks of conformal
quantiles by SciPy's binomial distribution, and, where a build is at hand, the simulated shares of broken promises by tests/metrics/simulate.
Usage: certify.py [OUT]"""
import json
import pathlib
import platform
import subprocess
import sys

import numpy as np
import scipy
from scipy.stats import beta, binom

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRIALS = 10000


def log_p(loss, m, r, whole):
    if whole:
        return float(binom.logcdf(int(loss), m, r))
    if m == 0:
        return 0.0
    a = min(loss / m, r)
    h1 = (a * np.log(a / r) if a > 0 else 0) + (1 - a) * np.log((1 - a) / (1 - r))
    return float(min(-m * h1, 1 + binom.logcdf(int(np.ceil(loss)), m, r), 0))


def certify(confidence, loss, proposes, r, delta, whole, bonferroni):
    a, la, b, lb = confidence[proposes], loss[proposes], confidence[~proposes], loss[~proposes]
    ranked = np.sort(a)[::-1]
    cuts = np.unique(ranked[[-(-j * len(a) // 20) - 1 for j in range(1, 21)]])
    order = sorted(cuts, key=lambda c: (log_p(la[a >= c].sum(), (a >= c).sum(), r, whole), -(a >= c).sum()))
    level, passed = delta / (len(order) if bonferroni else 1), []
    for c in order:
        if log_p(lb[b >= c].sum(), (b >= c).sum(), r, whole) <= np.log(level):
            passed.append(c)
        elif not bonferroni:
            break
    if not passed:
        return {"certified": False, "cuts": len(order), "first": order[0]}
    cut = min(passed)
    m, k = int((b >= cut).sum()), float(lb[b >= cut].sum())
    return {"certified": True, "cuts": len(order), "first": order[0], "cut": cut, "accepted": m, "loss": k, "log_p": log_p(k, m, r, whole),
            "bound": (1.0 if k == m else float(beta.ppf(1 - level, k + 1, m - k))) if whole else None}


def make_case(rng, n, r, delta, whole, bonferroni, levels):
    confidence = np.round(rng.random(n), 6)
    if levels:
        confidence = np.ceil(confidence * levels) / levels
    loss = (rng.random(n) < 0.3 * (1 - confidence)) * (1.0 if whole else rng.integers(1, 5, n) / 4)
    proposes = np.zeros(n, bool)
    proposes[rng.permutation(n)[:n // 3]] = True
    return {"n": n, "risk": r, "delta": delta, "whole": whole, "bonferroni": bonferroni, "confidence": confidence.tolist(),
            "loss": loss.tolist(), "proposes": proposes.astype(int).tolist(),
            "result": certify(confidence, loss, proposes, r, delta, whole, bonferroni)}


def rank(n, alpha, delta):
    """The smallest with BinCDF(rank - 1; n, 1 - alpha) >= 1 - delta."""
    return next(k for k in range(1, n + 2) if binom.sf(k - 1, n, 1 - alpha) <= delta)


def simulate():
    program = ROOT / "build/tests/metrics/simulate"
    subprocess.run(["ninja", "-C", ROOT / "build", "tests/metrics/simulate"], check=True, stdout=subprocess.DEVNULL)
    return json.loads(subprocess.run([program, str(TRIALS)], check=True, capture_output=True, text=True).stdout)


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/fixtures/certify.json"
    rng = np.random.default_rng(20260714)
    cases = [make_case(rng, n, r, d, whole, bonferroni, levels)
             for n, r, d, levels in [(300, 0.1, 0.1, 0), (300, 0.12, 0.2, 7), (60, 0.2, 0.3, 0), (20, 0.05, 0.05, 0), (150, 0.3, 0.01, 3)]
             for whole in (True, False) for bonferroni in (False, True)]
    losses = [{"loss": loss, "m": m, "risk": r, "log_p": log_p(loss, m, r, False)}
              for loss, m, r in [(0, 10, .1), (0.5, 10, .1), (3.25, 100, .05), (3, 100, .05), (90, 100, .05), (0, 0, .2), (12.75, 5000, .01)]]
    ranks = [{"n": n, "alpha": a, "delta": d, "rank": rank(n, a, d)}
             for n in (1, 5, 20, 50, 100, 1000) for a in (.01, .05, .1, .3) for d in (.01, .05, .1)]
    versions = f"tests/oracle/certify.py, Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    target.write_text(json.dumps({"made_by": versions, "cases": cases, "losses": losses, "ranks": ranks, "simulated": simulate()}) + "\n")


if __name__ == "__main__":
    main()
