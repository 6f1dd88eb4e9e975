#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/intervals.json: intervals and tests by R (pROC for DeLong), the bootstrap and calibration by plain numpy, and how often
intervals by influence functions hold the truth, in simulations.

Nothing here shares code with the library. Usage: intervals.py [OUT]"""
import json
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import numpy as np

R_SCRIPT = r"""
suppressMessages(library(pROC))
d <- read.csv(commandArgs(TRUE)[1])
for (case in unique(d$case)) {
  x <- d[d$case == case, ]
  a <- roc(x$right, x$a, direction = "<", quiet = TRUE, levels = c(0, 1))
  b <- roc(x$right, x$b, direction = "<", quiet = TRUE, levels = c(0, 1))
  t <- roc.test(a, b, paired = TRUE, method = "delong")
  cat("delong", case, format(c(auc(a), auc(b), var(a, method = "delong"), var(b, method = "delong"),
      cov(a, b, method = "delong"), t$p.value), digits = 17), "\n")
}
for (k in list(c(0, 10), c(3, 10), c(10, 10), c(9359, 10000), c(999999, 1000000)))
  for (level in c(0.9, 0.95)) {
    i <- prop.test(k[1], k[2], conf.level = level, correct = FALSE)$conf.int
    cat("wilson", k, level, format(c(i[1], i[2]), digits = 17), "\n")
  }
for (k in list(c(0, 0), c(0, 1), c(3, 9), c(12, 12), c(0, 24), c(12, 13), c(5, 20), c(30, 10), c(400, 350)))
  cat("mcnemar", k, format(if (sum(k) == 0) 1 else if (sum(k) < 25) binom.test(k[1], sum(k))$p.value
      else mcnemar.test(matrix(c(50, k[1], k[2], 50), 2))$p.value, digits = 17), "\n")
p <- c(0.01, 0.04, 0.03, 0.005, 0.04, 0.9)
cat("holm", format(c(p, p.adjust(p, "holm")), digits = 17), "\n")
cat("version", as.character(getRversion()), as.character(packageVersion("pROC")), "\n")
"""


def ranked(rng, n, levels, strength=1.0):
    """Two confidences of the same points, and which are right; levels 0 = no ties."""
    right = rng.random(n) < 0.8
    a = rng.normal(size=n) + strength * right
    b = 0.6 * a + rng.normal(size=n) + 0.3 * right
    if levels:
        a, b = (np.round(levels * (x - x.min()) / (x.max() - x.min())) for x in (a, b))
    return a, b, right


def by_r(cases):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "script.R").write_text(R_SCRIPT)
        with open(folder / "data.csv", "w") as f:
            f.write("case,a,b,right\n")
            for i, (a, b, right) in enumerate(cases):
                f.writelines(f"{i},{x!r},{y!r},{int(r)}\n" for x, y, r in zip(a.tolist(), b.tolist(), right))
        out = subprocess.run(["Rscript", folder / "script.R", folder / "data.csv"], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        word, *rest = line.split()
        found.setdefault(word, []).append(rest if word == "version" else [float(x) for x in rest])
    return found


def aurc_groups(conf, wrong):
    """Points, errors, and their running sums by falling confidence, one entry per distinct value."""
    values, where = np.unique(-conf, return_inverse=True)
    size = np.bincount(where)
    errors = np.bincount(where, weights=wrong)
    return where, size, errors


def weighted_aurc(size, errors):
    kept = size > 0
    size, errors = size[kept], errors[kept]
    return float((size * np.cumsum(errors) / np.cumsum(size)).sum() / size.sum())


def aurc_interval(conf, wrong, z):
    """By the influence function, written for single places in sorted order (no ties)."""
    n = len(conf)
    e = wrong[np.argsort(-conf)].astype(float)
    j = np.arange(1, n + 1)
    r = np.cumsum(e) / j
    A = r.mean()
    influence = r - A + e * np.cumsum((1 / j)[::-1])[::-1] - np.cumsum((r / j)[::-1])[::-1]
    se = influence.std(ddof=1) / np.sqrt(n)
    return A * np.exp(-z * se / A), A * np.exp(z * se / A)


def simulate(rng, n, rate, trials):
    """At confidence u a point is wrong with chance 3 rate (1-u)^2, so the risk above u is rate (1-u)^2 and AURC is rate/3."""
    def draw(m):
        u = rng.random(m)
        return u, rng.random(m) < rate * 3 * (1 - u) ** 2
    truth = rate / 3
    inside = 0
    for _ in range(trials):
        lo, hi = aurc_interval(*draw(n), 1.959963984540054)
        inside += lo <= truth <= hi
    return {"n": n, "rate": rate, "errors": n * rate, "truth": truth, "trials": trials, "coverage": inside / trials}


def bootstrap_case(rng, n, n_out, levels):
    sr = 1 - 0.5 * rng.random(n) ** 3
    if levels:
        sr = np.round(levels * sr) / levels
    right = rng.random(n) < 1 - 1.3 * (1 - sr)
    out = 1 - 0.5 * rng.random(n_out)
    if levels:
        out = np.round(levels * out) / levels
    draws = 20000
    found = {"coverage": [], "fpr95": [], "ece": []}
    where, size, errors = aurc_groups(sr, ~right)
    edges = np.minimum((sr * 10).astype(int), 9) if not levels else np.minimum(np.searchsorted(np.arange(1, 10) / 10, sr, side="right"), 9)
    gap = right - sr
    for _ in range(draws):
        w = rng.multinomial(n, np.full(n, 1 / n))
        c = np.cumsum(np.bincount(where, weights=w))
        e = np.cumsum(np.bincount(where, weights=w * ~right))
        ok = e <= 0.1 * c
        found["coverage"].append(c[ok].max() / n if ok.any() else 0)
        resampled = -np.sort(-np.repeat(sr, w))
        cut = resampled[int(np.ceil(0.95 * n)) - 1]
        v = rng.multinomial(n_out, np.full(n_out, 1 / n_out))
        found["fpr95"].append((v * (out >= cut)).sum() / n_out)
        found["ece"].append(np.abs(np.bincount(edges, weights=w * gap, minlength=10)).sum() / n)
    ece = float(np.abs(np.bincount(edges, weights=gap, minlength=10)).sum() / n)
    null = [np.abs(np.bincount(edges, weights=(rng.random(n) < sr) - sr, minlength=10)).sum() / n for _ in range(draws)]
    l2 = 0.0
    for b in range(10):
        inside = edges == b
        m = int(inside.sum())
        if m:
            y = right[inside].mean()
            l2 += m / n * ((y - sr[inside].mean()) ** 2 - (y * (1 - y) / (m - 1) if m > 1 else 0))
    middle = {k: np.quantile(v, [0.025, 0.975]).tolist() for k, v in found.items()}
    spread = {k: float(np.std(v)) for k, v in found.items()}
    return {"n": n, "n_out": n_out, "sr": sr.tolist(), "right": [int(r) for r in right], "out": out.tolist(), "risk": 0.1, "middle": middle,
            "spread": spread, "ece": ece, "ece_p": float(np.mean(np.array(null) >= ece - 1e-12)), "l2": float(l2)}


def paired_case(rng, n, n_out, levels):
    """Two confidences of the same points and of the same out points, both resampled with the same weights, in the order of the rows."""
    a, b, right = ranked(rng, n + n_out, levels, 1.5)
    inside = np.arange(n + n_out) < n
    shift = np.where(inside, levels / 4 if levels else 1.0, 0)
    sides = [x + shift for x in (a, b)]
    found = {"coverage_at_risk": [], "ood_fpr95": []}
    for _ in range(20000):
        w = rng.multinomial(n, np.full(n, 1 / n))
        v = rng.multinomial(n_out, np.full(n_out, 1 / n_out))
        coverage, fpr95 = [], []
        for x in sides:
            groups, where = np.unique(-x[:n], return_inverse=True)
            c = np.cumsum(np.bincount(where, weights=w))
            e = np.cumsum(np.bincount(where, weights=w * ~right[:n]))
            coverage.append(c[e <= 0.1 * c].max(initial=0) / n)
            cut = -np.sort(-np.repeat(x[:n], w))[int(np.ceil(0.95 * n)) - 1]
            fpr95.append((v * (x[n:] >= cut)).sum() / n_out)
        found["coverage_at_risk"].append(coverage[1] - coverage[0])
        found["ood_fpr95"].append(fpr95[1] - fpr95[0])
    return {"a": sides[0][:n].tolist(), "b": sides[1][:n].tolist(), "out_a": sides[0][n:].tolist(), "out_b": sides[1][n:].tolist(),
            "right": [int(r) for r in right[:n]], "risk": 0.1, "middle": {k: np.quantile(v, [0.025, 0.975]).tolist() for k, v in found.items()},
            "spread": {k: float(np.std(v)) for k, v in found.items()}}


def agresti_min(b, c, n, z):
    """Wald's interval with half a row added to each of the four cells."""
    cells = np.array([b + 0.5, c + 0.5])
    total = n + 2
    d = (cells[0] - cells[1]) / total
    se = np.sqrt((cells.sum() / total - d * d) / total)
    return [float(d - z * se), float(d + z * se)]


def coverage_of_intervals():
    """All intervals that are not resampled, by our own code on simulated rows: tests/metrics/simulate_intervals.c."""
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    subprocess.run(["ninja", "-C", root / "build", "tests/metrics/simulate_intervals"], check=True, stdout=subprocess.DEVNULL)
    return json.loads(subprocess.run([root / "build/tests/metrics/simulate_intervals", "4000"], check=True, capture_output=True, text=True).stdout)


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/intervals.json"
    if not shutil.which("Rscript"):
        print("intervals: needs Rscript and its package pROC (Debian: r-base-core, r-cran-proc)", file=sys.stderr)
        sys.exit(77)
    rng = np.random.default_rng(20260713)
    cases = [ranked(rng, 60, 0), ranked(rng, 80, 4), ranked(rng, 200, 10, 2.0), ranked(rng, 30, 2)]
    r = by_r(cases)
    rows = [{"a": a.tolist(), "b": b.tolist(), "right": [int(x) for x in right],
             "auc_a": x[1], "auc_b": x[2], "var_a": x[3], "var_b": x[4], "cov": x[5], "p": x[6]} for (a, b, right), x in zip(cases, r["delong"])]
    tied_sr = np.round(10 * rng.random(2000)) / 10
    tied_wrong = rng.random(2000) < 0.3 * (1.05 - tied_sr)
    where, size, errors = aurc_groups(tied_sr, tied_wrong)
    draws = [weighted_aurc(np.bincount(where, weights=w), np.bincount(where, weights=w * tied_wrong))
             for w in (rng.multinomial(2000, np.full(2000, 1 / 2000)) for _ in range(10000))]
    made = {"script": "tests/oracle/intervals.py", "python": platform.python_version(), "numpy": np.__version__, "R": r["version"][0][0],
            "pROC": r["version"][0][1]}
    out = {
        "made_by": made, "delong": rows, "wilson": r["wilson"], "mcnemar": r["mcnemar"], "holm": r["holm"][0],
        "agresti_min": [[b, c, n, *agresti_min(b, c, n, 1.959963984540054)] for b, c, n in [(0, 0, 10), (3, 9, 100), (40, 10, 1000), (350, 400, 10**5)]],
        "tied": {"sr": tied_sr.tolist(), "wrong": [int(x) for x in tied_wrong], "aurc": weighted_aurc(size, errors), "error": float(np.std(draws))},
        "bootstrap": [bootstrap_case(rng, 300, 200, 0), bootstrap_case(rng, 400, 100, 20)],
        "coverage": coverage_of_intervals(),
        "simulated": [simulate(rng, 1000, 0.05, 4000), simulate(rng, 5000, 0.05, 2000), simulate(rng, 400, 0.05, 4000), simulate(rng, 2000, 0.2, 4000)],
        "paired": [paired_case(np.random.default_rng(seed), 300, 150, levels) for seed, levels in [(1, 0), (2, 8)]],
    }
    text = json.dumps(out, separators=(",", ":"))
    target.write_text(text.replace('{"', '\n{"') + "\n")


if __name__ == "__main__":
    main()
