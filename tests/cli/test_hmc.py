# SPDX-License-Identifier: MIT
"""hmc against quadrature over the posterior; its chains agree, its bits stay, and what it cannot do it says."""
import re

import numpy as np

from tap import case, cases_of, check, fails, main, run
from tensors import tensors

USAGE = 2
FIT = ("fit", "--features", "z.npy", "--labels", "y.npy", "--method", "hmc")


def problem(n=120, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    np.save("z.npy", (rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))).astype(np.float32))
    np.save("y.npy", y.astype(np.int32))


def read(name):
    with open(name, "rb") as file:
        return file.read()


@cases_of([("plain", 1.0, None), ("weighted, tau 0.2", 0.2, np.array([0.5, 2.0, 1.0, 0.0]))])
def predictions_are_those_of_quadrature(tau, weights):
    rng = np.random.default_rng(2)
    z = rng.normal(size=(60, 1)).astype(np.float32)
    y = (rng.random(60) < 1 / (1 + np.exp(-2 * z[:, 0]))).astype(np.int32)
    w = np.ones(60) if weights is None else np.resize(weights, 60)
    np.save("z.npy", z), np.save("y.npy", y), np.save("w.npy", w), np.save("new.npy", np.linspace(-3, 3, 13, dtype=np.float32)[:, None])
    flags = () if weights is None else ("--weights", "w.npy")
    _, err = run(*FIT, "--samples", 20000, "--prior-precision", tau, *flags, "-o", "e.safetensors")
    check("note: hmc: step " in err and "acceptance 0.9" in err and "passes over the data" in err, err)
    # The likelihood sees u = theta_1 - theta_0 alone, which has the prior N(0, 2 / tau).
    x = np.hstack([z.astype(float), np.ones((60, 1))])
    new = np.hstack([np.load("new.npy").astype(float), np.ones((13, 1))])
    u = np.stack(np.meshgrid(np.linspace(-4, 14, 721), np.linspace(-6, 6, 481), indexing="ij"), -1)
    f = u @ x.T
    log_posterior = (w * (y * f - np.logaddexp(0, f))).sum(-1) - tau * (u**2).sum(-1) / 4
    exact = np.exp(log_posterior - log_posterior.max())
    exact /= exact.sum()
    p = 1 / (1 + np.exp(-u @ new.T))
    mean = np.einsum("ab,abn->n", exact, p)
    spread = np.sqrt(np.einsum("ab,abn->n", exact, (p - mean)**2))
    run("predict", "e.safetensors", "--features", "new.npy", "-o", "p.npz")
    found = np.load("p.npz")
    check((abs(mean - found["probs"][:, 1]) < 6 * spread / 100).all(), (mean, found["probs"][:, 1]))
    check((abs(spread + found["std"]) < 0.06 * spread).all(), (spread, -found["std"]))


@case
def chains_agree_and_are_whole_parts():
    problem()
    run(*FIT, "--samples", 4000, "--chains", 2, "-o", "e.safetensors")
    arrays, meta = tensors("e.safetensors")
    check(meta["chains"] == "2" and meta["prior-precision"] == "1" and "lr" not in meta, meta)
    W = arrays["W"].reshape(2, 2000, -1).astype(float)
    check((abs(W[0].mean(0) - W[1].mean(0)) < 0.15 * W[0].std(0)).all(), "the means of two chains")
    check((abs(W[0].std(0) / W[1].std(0) - 1) < 0.12).all(), "the spreads of two chains")
    run(*FIT, "--samples", 2000, "-o", "one.safetensors")
    check((tensors("one.safetensors")[0]["W"] == arrays["W"][:2000]).all(), "the first of two chains is not the only one")
    for part in (1, 2):
        run(*FIT, "--samples", 40, "--chains", 2, "--part", f"{part}/2", "-o", "parts.safetensors")
    run("merge", "parts.safetensors")
    run(*FIT, "--samples", 40, "--chains", 2, "-o", "whole.safetensors")
    check(read("parts.safetensors") == read("whole.safetensors"), "two parts are not the whole")


@case
def bits_do_not_depend_on_threads_or_the_start():
    problem(n=700)
    run(*FIT, "--samples", 20, "--threads", 1, "-o", "one.safetensors")
    run(*FIT, "--samples", 20, "--threads", 3, "-o", "three.safetensors")
    check(read("one.safetensors") == read("three.safetensors"), "threads")
    np.savez("head.npz", W=np.ones((3, 4), np.float32), b=np.zeros(3, np.float32))
    run(*FIT, "--samples", 20, "--head", "head.npz", "-o", "head.safetensors")
    check((tensors("one.safetensors")[0]["W"] == tensors("head.safetensors")[0]["W"]).all(), "a head that was given is not left for the MAP")


@cases_of([("K > N", 5, 3, 5, 1), ("D > N", 12, 40, 3, 1), ("a class of one row", 31, 2, 30, 1), ("saturated", 60, 4, 3, 1e4)])
def few_rows_are_no_trouble(n, d, k, scale):
    problem(n, d, k)
    np.save("z.npy", scale * np.load("z.npy"))
    for tau in (0.001, 1):
        run(*FIT, "--samples", 20, "--prior-precision", tau, "-o", "e.safetensors")
        arrays, _ = tensors("e.safetensors")
        check(np.isfinite(arrays["W"]).all() and np.isfinite(arrays["b"]).all(), tau)


@case
def what_cannot_be_is_said():
    problem()
    fails(USAGE, *FIT, "--prior-precision", 0, "-o", "e.safetensors", words=("--prior-precision", "1e-30"))
    fails(USAGE, *FIT, "--layers", 2, "-o", "e.safetensors", words=("the method hmc does not work on several layers",))
    fails(USAGE, *FIT, "--samples", 7, "--chains", 2, "-o", "e.safetensors", words=("--samples 7", "--chains 2"))


@case
def a_low_acceptance_is_a_warning():
    """One draw of a posterior with long tails, which the step of the warm-up may not suit: the warning comes with an acceptance below 0.6, and only then."""
    rng = np.random.default_rng(0)
    y = np.arange(9) % 3
    np.save("z.npy", (3 * rng.normal(size=(3, 2))[y] + .1 * rng.normal(size=(9, 2))).astype(np.float32)), np.save("y.npy", y)
    seen = set()
    for seed in range(1, 60):
        _, err = run(*FIT, "--samples", 1, "--prior-precision", "1e-4", "--seed", seed, "-o", f"{seed}.safetensors")
        accepted = float(re.search(r"acceptance (\d\.\d\d)", err).group(1))
        warned = "warning: hmc accepts only" in err
        check(accepted == .6 or warned == (accepted < .6), err)
        check(not warned or f"accepts only {accepted:.2f} of its draws" in err and "--prior-precision" in err, err)
        seen.add(warned)
        if len(seen) == 2:
            break
    check(len(seen) == 2, "no acceptance on both sides of 0.6")


main()
