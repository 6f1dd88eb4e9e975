#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/posterior.json: moments of the posterior of a two-class head on one feature, by quadrature.

The likelihood sees only u = w_1 - w_0 and v = b_1 - b_0; their prior is N(0, 2/tau) each. The sums w_0 + w_1 and b_0 + b_1 keep
their prior N(0, 2/tau). Usage: posterior.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np
import scipy
from scipy.integrate import dblquad

FEATURES = [-1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0]
LABELS = [0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1]
WEIGHTS = [3, 0.5, 2, 1, 0.25, 1, 1, 2, 4, 1, 0.5, 1]


def moments(tau, weights=1):
    z, sign = np.array(FEATURES), 2 * np.array(LABELS) - 1

    def density(v, u):
        return np.exp(-(weights * np.logaddexp(0, -sign * (u * z + v))).sum() - tau / 4 * (u * u + v * v))

    def integral(f):
        far = 9 * np.sqrt(2 / tau)
        return dblquad(lambda v, u: f(u, v) * density(v, u), -far, far, -far, far, epsabs=1e-11, epsrel=1e-9)[0]

    total = integral(lambda u, v: 1)
    mean_u, mean_v = integral(lambda u, v: u) / total, integral(lambda u, v: v) / total
    return {
        "tau": tau, "mean": [mean_u, mean_v],
        "variance": [integral(lambda u, v: (u - mean_u) ** 2) / total, integral(lambda u, v: (v - mean_v) ** 2) / total],
        "covariance": integral(lambda u, v: (u - mean_u) * (v - mean_v)) / total, "sums_variance": 2 / tau,
    }


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/posterior.json"
    made = {"script": "tests/oracle/posterior.py", "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    case = {"made_by": made, "features": FEATURES, "labels": LABELS, "weights": WEIGHTS,
            "cases": [moments(4.0), moments(8.0)], "weighted": moments(4.0, np.array(WEIGHTS))}
    target.write_text(json.dumps(case, separators=(",", ":")).replace('{"tau"', '\n{"tau"') + "\n")


if __name__ == "__main__":
    main()
