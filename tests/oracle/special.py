#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/special.json: normal, binomial and beta distributions by scipy, and for huge n by mpmath with 60 digits.

For every n up to 200 and some p, binomial holds the sum over all k of log P[Bin(n, p) <= k], and of log P[Bin(n, p) >= k], of those
above -600: below it scipy's probabilities end.
Usage: special.py [OUT]"""
import json
import math
import pathlib
import platform
import sys

import mpmath
import numpy as np
import scipy
import scipy.stats as st

mpmath.mp.dps = 60
RATES = [0.001, 0.01, 0.05, 0.3, 0.5, 0.9]


def huge(n, k, p):
    """log P[Bin(n, p) <= k], summed from k down with exact ratios of neighbours."""
    p = mpmath.mpf(p)
    top = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1) + k * mpmath.log(p) + (n - k) * mpmath.log1p(-p)
    odds, term, total, j = (1 - p) / p, mpmath.mpf(1), mpmath.mpf(1), k
    while j > 0 and term > 1e-25:
        term *= odds * j / (n - j + 1)
        total += term
        j -= 1
    return float(top + mpmath.log(total))


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/special.json"
    binomial = []
    for n in range(1, 201):
        for p in RATES:
            k = np.arange(n + 1)
            binomial.append([n, p] + [math.fsum(x[x > -600]) for x in (st.binom.logcdf(k, n, p), st.binom.logsf(k - 1, n, p))])
    big = [[n, k, p, huge(n, k, p)] for n, k, p in [
        (10**4, 60, 0.01), (10**6, 9000, 0.01), (10**6, 9990, 0.01), (10**6, 0, 1e-5), (10**9, 999, 1e-6), (10**9, 9_990_000, 0.01),
        (10**9, 499_900_000, 0.5), (10**12, 10**6 - 3000, 1e-6), (5 * 10**7, 0, 1e-7), (10**7, 10, 1e-3)]]
    beta = [[p, a, b, float(st.beta.ppf(p, a, b))] for a, b in [
        (1, 1), (1, 58), (3, 300), (5, 2), (200, 1), (51, 4950), (1000, 1000), (0.5, 0.5), (642, 9360), (7, 10**7)]
        for p in [1e-10, 0.001, 0.05, 0.5, 0.95, 0.999]]
    quantile = [[p, float(st.norm.ppf(p))] for p in [1e-300, 1e-100, 1e-20, 1e-5, 0.001, 0.025, 0.05, 0.3, 0.49, 0.5, 0.6, 0.95, 0.975, 0.999, 1 - 1e-9]]
    made = {"script": "tests/oracle/special.py", "python": platform.python_version(), "scipy": scipy.__version__, "mpmath": mpmath.__version__}
    out = {"made_by": made, "binomial": binomial, "huge": big, "beta": beta, "normal_quantile": quantile}
    target.write_text(json.dumps(out, separators=(",", ":")).replace('"', '\n"', 1).replace("],[", "],\n[") + "\n")


if __name__ == "__main__":
    main()
