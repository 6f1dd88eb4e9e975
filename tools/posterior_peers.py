#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One program of others on a head, from the same MAP under the same prior: how near to the exact posterior after how many CPU seconds?

  posterior_peers.py FEATURES FOLDER PEER LIMIT

FOLDER is that of a task of posterior.py, with head.npz and exact.npz; writes FOLDER/peers/PEER.json: a ladder of draws, each with its seconds, KL and
spread, up to the first rung that is near or the first beyond LIMIT seconds. Seconds are of the processor, on one thread, and leave out imports, compilation by
JAX, which is counted apart, and predictions. Run by results.py in an environment with PACKAGES.
"""
import importlib.metadata
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

PACKAGES = ["laplace-torch==0.3", "torch==2.13.0", "blackjax==1.7.1", "numpy"]
VERSIONS = ["laplace-torch", "blackjax", "torch", "jax", "numpy"]
KL, SPREAD = 0.0005, (0.9, 1.1)  # near
RUNGS = (25, 50, 100, 200, 400, 800, 1600, 3200)
CHUNK, WARMUP = 25, 200
DENSE = 8192  # parameters of a Hessian that is held whole
TAU = 1.0

if __name__ == "__main__":
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", TQDM_DISABLE="1")

import numpy as np

import posterior


class Problem:
    def __init__(self, features, folder):
        data, head, self.exact = np.load(features), np.load(folder / "head.npz"), np.load(folder / "exact.npz")
        one = lambda z: np.hstack([z.astype(np.float32), np.ones((len(z), 1), np.float32)])
        self.z, self.y, self.new = one(data["features_train"]), data["labels_train"].astype(np.int64), one(data["features_test"])
        self.start = np.hstack([head["W"], head["b"][:, None]]).astype(np.float32)
        self.N, (self.K, self.n) = len(self.z), self.start.shape

    def probs(self):
        f = self.z @ self.start.T
        p = np.exp(f - f.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)

    def hessian(self):
        """At the MAP, [K n,K n]."""
        p, z, K, n = self.probs().astype(np.float64), self.z.astype(np.float64), self.K, self.n
        blocks = [[z.T @ (z * (p[:, i] * ((i == j) - p[:, j]))[:, None]) for j in range(K)] for i in range(K)]
        return np.block(blocks) + TAU * np.eye(K * n)


class Ladder:
    """Adds members up; a rung is compared with the exact posterior."""

    def __init__(self, problem, limit):
        self.problem, self.limit, self.sums, self.members, self.rungs, self.settings, self.compiling = problem, limit, [0, 0], 0, [], "", 0.0
        self.begin = time.process_time()
        self.apart = 0.0  # seconds that do not count

    def seconds(self):
        return time.process_time() - self.begin - self.apart

    def add(self, members):
        """True while the peer should go on."""
        seconds, before = self.seconds(), time.process_time()
        for theta in members:
            f = self.problem.new.astype(np.float64) @ np.asarray(theta, np.float64).T
            p = np.exp(f - f.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            self.sums = [self.sums[0] + p, self.sums[1] + p * p]
        self.members += len(members)
        more = True
        if self.members in RUNGS or seconds > self.limit:
            mean = self.sums[0] / self.members
            more = self.rung(mean, np.sqrt(np.maximum(self.sums[1] / self.members - mean**2, 0)), seconds)
        self.apart += time.process_time() - before
        return more and seconds < self.limit

    def rung(self, mean, sd, seconds):
        exact = self.problem.exact
        kl = posterior.divergence(exact["probs"], mean)
        width = None if sd is None else posterior.spread(exact["probs"], exact["sd"], mean, np.take_along_axis(sd, mean.argmax(1)[:, None], 1)[:, 0])
        self.rungs.append({"draws": self.members, "seconds": round(seconds, 2), "kl": kl, "spread": width})
        self.last = mean
        return not (kl <= KL and width is not None and SPREAD[0] <= width <= SPREAD[1])

    def compiled(self, function, *args):
        """The function, compiled for these arguments: that time is told apart."""
        import jax
        before = time.process_time()
        found = jax.jit(function).lower(*args).compile()
        self.compiling += time.process_time() - before
        self.apart += time.process_time() - before
        return found


# ---- blackjax ----

def log_density(z, y):
    import jax
    return lambda theta: jax.nn.log_softmax(z @ theta.T)[np.arange(len(y)), y].sum() - TAU / 2 * (theta**2).sum()


def run_chunks(ladder, kernel_of, key, state, *more):
    """Scans of CHUNK draws until the ladder ends."""
    import jax

    def chunk(key, state, *more):
        step = kernel_of(*more)

        def draw(state, key):
            state = step(key, state)
            return state, state.position
        return jax.lax.scan(draw, state, jax.random.split(key, CHUNK))

    go = ladder.compiled(chunk, key, state, *more)
    while True:
        key, now = jax.random.split(key)
        state, members = go(now, state, *more)
        if not ladder.add(ladder.theta(np.asarray(members))):
            return


def adapted(problem, ladder, algorithm, density_of, at, *arrays, **settings):
    """Draws of a sampler of the family of hmc, after its window adaptation of step and diagonal mass matrix."""
    import blackjax
    import jax

    def adapt(key, at, *arrays):
        return blackjax.window_adaptation(algorithm, density_of(*arrays), **settings).run(key, at, num_steps=WARMUP)[0]

    key = jax.random.key(0)
    state, tuned = ladder.compiled(adapt, key, at, *arrays)(key, at, *arrays)
    tuned = {name: value for name, value in tuned.items() if name not in settings}
    kernel = lambda tuned, *arrays: lambda k, s: algorithm(density_of(*arrays), **tuned, **settings).step(k, s)[0]
    run_chunks(ladder, kernel, key, state, tuned, *arrays)


def whitened_hmc(problem, ladder):
    """In coordinates that its user made: the Hessian at the MAP is the identity there."""
    import blackjax
    import jax.numpy as jnp
    if problem.K * problem.n > DENSE:
        raise MemoryError(f"the Hessian has {problem.K * problem.n} rows")
    at, z, y = jnp.asarray(problem.start), jnp.asarray(problem.z), problem.y
    ladder.settings = f"coordinates white in the Hessian at the MAP; window adaptation, {WARMUP} draws; 8 leapfrogs"
    back = np.linalg.inv(np.linalg.cholesky(problem.hessian())).T
    ladder.theta = lambda draws: problem.start + (draws.reshape(len(draws), -1) @ back.T).reshape(len(draws), *problem.start.shape)
    density = lambda z, at, back: lambda white: log_density(z, y)(at + (back @ white).reshape(at.shape))
    adapted(problem, ladder, blackjax.hmc, density, jnp.zeros(at.size), z, at, jnp.asarray(back, np.float32), num_integration_steps=8)


# ---- PyTorch ----

def tensors(problem):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return torch.tensor(problem.z), torch.tensor(problem.y), torch.tensor(problem.start)


def laplace_torch(structure, link):
    def run(problem, ladder):
        import torch
        from laplace import Laplace
        if structure == "full" and problem.K * problem.n > DENSE:
            raise MemoryError(f"the Hessian has {problem.K * problem.n} rows")
        z, y, start = tensors(problem)
        head = torch.nn.Linear(problem.n, problem.K, bias=False)  # its kron leaves weight and bias uncorrelated: the bias is a column here
        head.weight.data = start
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(z, y), batch_size=1000)
        laplace = Laplace(torch.nn.Sequential(torch.nn.Identity(), head), "classification", subset_of_weights="last_layer", hessian_structure=structure,
                          prior_precision=TAU)
        laplace.fit(loader)
        if link == "probit":
            ladder.settings = "last_layer, link probit; the prediction is counted"
            mean = torch.cat([laplace(torch.tensor(problem.new[i:i + 100]), pred_type="glm", link_approx="probit").detach() for i in range(0, len(problem.new), 100)])
            ladder.rung(mean.numpy().astype(np.float64), None, ladder.seconds())
            return
        ladder.settings = "last_layer, 400 draws of its posterior"
        ladder.add(list(laplace.sample(400).detach().numpy().reshape(-1, problem.K, problem.n)))
    return run


PEERS = {
    "laplace-torch, kron": laplace_torch("kron", "mc"),
    "laplace-torch, kron, probit": laplace_torch("kron", "probit"),
    "laplace-torch, full": laplace_torch("full", "mc"),
    "blackjax, hmc, whitened": whitened_hmc,
}


def file(folder, name, ending):
    return pathlib.Path(folder, "peers", name.replace(", ", "-") + ending)


def measure(python, features, folder, limit):
    """{peer: what it wrote}, each run once in its own process; called outside of the environment."""
    found = {}
    pathlib.Path(folder, "peers").mkdir(exist_ok=True)
    for name in PEERS:
        if not file(folder, name, ".json").exists():
            print(f"results: {name}", flush=True)
            done = subprocess.run([python, "-W", "ignore", __file__, features, folder, name, str(limit)], stderr=subprocess.PIPE, text=True)
            if done.returncode == -signal.SIGKILL or done.returncode == -signal.SIGXCPU:
                file(folder, name, ".json").write_text(json.dumps({"failed": f"no draw after {2 * limit + 30:.0f} CPU s, compilation included", "rungs": []}) + "\n")
            elif done.returncode:
                sys.exit(f"results: {name} failed: {done.stderr[-1500:]}")
        found[name] = json.loads(file(folder, name, ".json").read_text())
    return found


def main():
    features, folder, name, limit = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    problem = Problem(features, folder)
    for package in ("torch", "laplace") if "laplace-torch" in name else ("jax", "blackjax"):
        importlib.import_module(package)
    out = {"versions": {package: importlib.metadata.version(package) for package in VERSIONS}, "limit": limit}
    resource.setrlimit(resource.RLIMIT_CPU, (int(2 * limit) + 30, int(2 * limit) + 30))  # a warm-up cannot be asked to stop
    ladder = Ladder(problem, limit)
    try:
        PEERS[name](problem, ladder)
    except MemoryError as why:
        out["failed"] = str(why)
    if ladder.rungs:
        np.savez(file(folder, name, ".npz"), probs=ladder.last)
    out |= {"settings": ladder.settings, "compile_seconds": round(ladder.compiling, 1), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "rungs": ladder.rungs}
    file(folder, name, ".json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
