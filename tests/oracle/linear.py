#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/linear.json: eigenvalues and a Cholesky factor by numpy (LAPACK), of the matrices in tests/linear/matrices.h.
Usage: linear.py [OUT]"""
import json
import pathlib
import platform
import sys

import numpy as np

FORMULAS = {
    "wavy": lambda i, j, n: np.cos(i * j + i + j) + (i == j),
    "hilbert": lambda i, j, n: 1 / (i + j + 1),
    "graded": lambda i, j, n: 10.0 ** (-30 * (i + j) / (2 * n)) * np.cos(i * j),
    "huge": lambda i, j, n: 1e300 * (np.cos(i * j + i + j) + (i == j)),
    "tiny": lambda i, j, n: 1e-300 * (np.cos(i * j + i + j) + (i == j)),
    "alike": lambda i, j, n: 1 + 2.0 * (i == j),
    "flat": lambda i, j, n: (i + 1.0) * (j + 1),
    "nothing": lambda i, j, n: 0.0 * i * j,
    "wilkinson": lambda i, j, n: np.where(i == j, abs((n - 1) / 2 - i), abs(i - j) == 1),
    "second_difference": lambda i, j, n: np.where(i == j, 2.0, -1.0 * (abs(i - j) == 1)),
}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/linear.json"
    out = {"made_by": f"linear.py, numpy {np.__version__}, Python {platform.python_version()}"}
    for name, formula in FORMULAS.items():
        for n in (3, 40):
            i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
            scale = {"huge": 1e300, "tiny": 1e-300}.get(name, 1.0)
            out[f"{name}_{n}"] = (np.linalg.eigvalsh(formula(i, j, n) / scale) * scale).tolist()
    i, j = np.meshgrid(np.arange(20), np.arange(20), indexing="ij")
    out["cholesky_20"] = np.linalg.cholesky(FORMULAS["wavy"](i, j, 20) + 40.0 * (i == j)).ravel().tolist()
    target.write_text(json.dumps(out, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
