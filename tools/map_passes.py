# SPDX-License-Identifier: MIT
"""Passes over the data and seconds of processor time to the MAP of a head, per solver: docs/results/map. For tools/results.py.

A product with the Hessian is a pass. The solvers beside ours are SciPy's, on the objective in numpy (f64), in white coordinates or as the features
are; those that have not arrived are stopped after MOST passes. Heads with more than LARGE operations per pass, for which they would take hours, go
without. What is measured is kept in results/map, a file for each task and solver. LASTLAYER_BEFORE names the command of an earlier version, for a
row beside."""
import json
import os
import pathlib
import re
import resource
import subprocess
import time

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

folder = pathlib.Path("results/map")
MOST, LARGE, TOLERANCE = 1500, 1e10, 1e-5


class Arrived(Exception):
    pass


class Problem:
    """The mean objective with tau = 1 in coordinates u, theta = U^-1 u; counts passes, and stops at the norm or after MOST of them."""

    def __init__(self, x, y, K, white):
        self.x, self.y, self.K, self.passes = x, y, K, 0
        self.N, self.n = x.shape
        ridge = max(1000 * K / self.N, 1e-5 * (x * x).mean())
        self.U = cholesky(x.T @ x / self.N + ridge * np.eye(self.n)) if white else None
        self.least = np.inf

    def theta(self, u):
        u = u.reshape(self.K, self.n)
        return u if self.U is None else solve_triangular(self.U, u.T).T

    def back(self, g):
        return (g if self.U is None else solve_triangular(self.U, g.T, trans="T").T).ravel()

    def count(self):
        if self.passes >= MOST:
            raise Arrived
        self.passes += 1

    def softmax(self, theta):
        f = self.x @ theta.T
        f -= f.max(1, keepdims=True)
        true = f[np.arange(self.N), self.y]
        np.exp(f, out=f)
        total = f.sum(1)
        f /= total[:, None]
        return f, (np.log(total) - true).mean()

    def __call__(self, u):
        self.count()
        theta = self.theta(u)
        p, nll = self.softmax(theta)
        p[np.arange(self.N), self.y] -= 1
        g = p.T @ self.x / self.N + theta / self.N
        self.least = min(self.least, np.linalg.norm(g))
        if self.least <= TOLERANCE:
            raise Arrived
        return nll + (theta * theta).sum() / (2 * self.N), self.back(g)

    def product(self, u, v):
        self.count()
        theta, v = self.theta(u), self.theta(v)
        p, _ = self.softmax(theta)
        q = self.x @ v.T
        q = p * (q - (p * q).sum(1, keepdims=True))
        return self.back(q.T @ self.x / self.N + v / self.N)


def scipy_solver(method, white, **options):
    def run(x, y, K):
        problem = Problem(x, y, K, white)
        more = {"hessp": problem.product} if method == "Newton-CG" else {}
        try:
            minimize(problem, np.zeros(K * problem.n), jac=True, method=method, options=options, **more)
        except Arrived:
            pass
        return problem.passes, problem.least
    return run


MANY = {"maxiter": 10**6, "maxfun": 10**6, "ftol": 0, "gtol": 0, "maxls": 40}
SOLVERS = {
    "L-BFGS, 10 pairs, features as they are": scipy_solver("L-BFGS-B", False, maxcor=10, **MANY),
    "L-BFGS, 20 pairs, white": scipy_solver("L-BFGS-B", True, maxcor=20, **MANY),
    "L-BFGS, 100 pairs, white": scipy_solver("L-BFGS-B", True, maxcor=100, **MANY),
    "Newton-CG, white": scipy_solver("Newton-CG", True, xtol=0, maxiter=10**6),
}


def once(name, solver, measure):
    """{"passes", "norm", "seconds"}, measured once."""
    file = folder / (re.sub(r"[^a-z0-9]+", "-", f"{name} {solver}".lower()) + ".json")
    if not file.exists():
        print("results: map,", name + ",", solver, flush=True)
        file.write_text(json.dumps(measure()) + "\n")
    return json.loads(file.read_text())


def fitted(command, features):
    """The MAP by a command, which says norm and iterations, and from 0.2 on passes."""
    words = [command, "fit", "--features", features, "--init", "map", "--method", "point", "-o", folder / "map.safetensors"]
    (folder / "map.safetensors").unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = {key: re.search(pattern, done.stderr) for key, pattern in (("passes", r"(\d+) passes"), ("iterations", r"(\d+) L-BFGS iterations"),
                                                                      ("norm", r"norm ([0-9.e+-]+\d)"))}
    return {"passes": int(said["passes"][1]) if said["passes"] else None, "iterations": int(said["iterations"][1]), "norm": float(said["norm"][1]),
            "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def measured(solver, file):
    rows = np.load(file)
    x, y = rows["features_train"].astype(float), rows["labels_train"].astype(int)
    begin = time.process_time()
    passes, norm = solver(np.hstack([x, np.ones((len(x), 1))]), y, int(y.max()) + 1)
    return {"passes": passes, "norm": norm, "seconds": time.process_time() - begin}


def measure(command, tasks):
    """{task: {solver: numbers}} for features in files."""
    folder.mkdir(parents=True, exist_ok=True)
    results, before = {}, os.environ.get("LASTLAYER_BEFORE")
    for name, file in tasks.items():
        row = {"lastlayer": once(name, "lastlayer", lambda: fitted(command, file))}
        if before:
            row["lastlayer, before"] = once(name, "before", lambda: fitted(before, file))
        rows = np.load(file)
        large = 4.0 * rows["features_train"].size * (int(rows["labels_train"].max()) + 1) > LARGE
        for solver, run in SOLVERS.items():
            if not large:
                row[solver] = once(name, solver, lambda: measured(run, file))
        results[name] = row
    return results


def cell(c):
    passes = f"{c['passes']} passes" if c["passes"] else f"{c['iterations']} iterations"
    return f"{passes}, {c['seconds']:.3g} s" + ("" if c["norm"] <= TOLERANCE else f", norm {c['norm']:.0e}")


def page(results):
    solvers = list(dict.fromkeys(s for row in results.values() for s in row))
    lines = ["# Passes and seconds to the MAP", "", "Made by `make results ARGS=map`. Seconds are of processor time; a norm is given where it is not at most 1e-5. An empty place was not measured.", "",
             "| solver | " + " | ".join(results) + " |", "|---|" + "---|" * len(results)]
    lines += [f"| {s} | " + " | ".join(cell(row[s]) if s in row else "" for row in results.values()) + " |" for s in solvers]
    return "\n".join(lines) + "\n"
