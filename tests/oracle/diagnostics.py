#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/diagnostics.json: chains of several kinds, and their R-hat and effective sample sizes by the R package posterior.

Usage: diagnostics.py [OUT]"""
import json
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy as np

R_SCRIPT = r"""
suppressMessages(library(posterior))
d <- read.csv(commandArgs(TRUE)[1])
for (case in unique(d$case)) {
  x <- d[d$case == case, ]
  m <- matrix(x$value, ncol = max(x$chain) + 1)
  cat("case", format(c(rhat(m), ess_bulk(m), ess_tail(m)), digits = 17), "\n")
}
cat("version", as.character(getRversion()), as.character(packageVersion("posterior")), "\n")
"""


def chains(rng, count, n, correlation, apart=0.0, wider=1.0, levels=0):
    x = np.zeros((count, n))
    for c in range(count):
        value = rng.normal()
        for i in range(n):
            value = correlation * value + np.sqrt(1 - correlation**2) * rng.normal()
            x[c, i] = value * (wider if c == 0 else 1.0) + apart * c
    return np.round(x * levels) / levels if levels else x


def main():
    rng = np.random.default_rng(20260101)
    shapes = [(1, 50, .0), (4, 25, .0), (4, 25, .9), (2, 101, .5), (4, 100, .99), (3, 64, -.4), (8, 16, .3), (1, 400, .8)]
    cases = [chains(rng, *shape) for shape in shapes]
    cases += [chains(rng, 4, 100, .3, apart=1.0), chains(rng, 4, 100, .3, wider=4.0), chains(rng, 4, 60, .5, levels=3)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "script.R").write_text(R_SCRIPT)
        with open(folder / "data.csv", "w") as f:
            f.write("case,chain,value\n")
            for i, case in enumerate(cases):
                f.writelines(f"{i},{c},{v!r}\n" for c, chain in enumerate(case.tolist()) for v in chain)
        out = subprocess.run(["Rscript", folder / "script.R", folder / "data.csv"], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in out.splitlines()]
    answers = [[float(v) for v in line[1:]] for line in lines if line[0] == "case"]
    version = next(line for line in lines if line[0] == "version")
    assert len(answers) == len(cases)
    fixture = {
        "made_by": {"script": "tests/oracle/diagnostics.py", "python": platform.python_version(), "numpy": np.__version__, "R": version[1],
                    "posterior": version[2]},
        "cases": [{"chains": len(case), "draws": [v for chain in case.tolist() for v in chain], "rhat": a[0], "bulk": a[1], "tail": a[2]}
                  for case, a in zip(cases, answers)],
    }
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "fixtures/diagnostics.json"
    path.write_text(json.dumps(fixture, indent=1).replace("\n    ", " ").replace("\n   ]", "]") + "\n")


main()
