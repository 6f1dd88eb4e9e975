# SPDX-License-Identifier: MIT
"""Samplers beside sgld: as wide as hmc where they promise it, the same bits always, and what they cannot do they say."""
import pathlib
import re

import numpy as np

from tap import case, cases_of, check, fails, main, run
from tensors import tensors

USAGE = 2
FIT = ("fit", "--features", "z.npy", "--labels", "y.npy")
KFAC = ("--method", "sgld", "--precondition", "kfac")


def problem(n=300, d=4, k=3, seed=0, scale=1):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    np.save("z.npy", (scale * (rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)))).astype(np.float32))
    np.save("y.npy", y.astype(np.int32))
    np.save("w.npy", (0.5 + rng.integers(0, 4, n)).astype(np.float32))


def logit_variance(name):
    """Of the logits of the rows, with their mean over classes removed, over members: [N,K]."""
    arrays, _ = tensors(name)
    z = np.load("z.npy").astype(float)
    f = np.einsum("nd,skd->nsk", z, arrays["W"].astype(float)) + arrays["b"].astype(float)
    return (f - f.mean(-1, keepdims=True)).var(1)


@cases_of([("plain rows", ()), ("weights", ("--weights", "w.npy"))])
def preconditioned_sgld_is_as_wide_as_hmc(flags):
    problem()
    run(*FIT, *flags, "--method", "hmc", "--samples", 6000, "-o", "exact.safetensors")
    _, err = run(*FIT, *flags, *KFAC, "--batch-size", 64, "--samples", 3000, "--thin", 10, "--burn-in", 20, "-o", "e.safetensors")
    check("lr = 0.1 of the length" in err, err)
    exact, found = logit_variance("exact.safetensors"), logit_variance("e.safetensors")
    ratio = found.mean() / exact.mean()
    each = np.median(found / exact)
    check(abs(ratio - 1) < 0.1 and abs(each - 1) < 0.1, (ratio, each))


@case
def a_plain_chain_of_the_same_length_is_not():
    """What the metric is for: features of which some are small."""
    problem(scale=np.array([1, 1, 1, 0.03]))
    steps = ("--batch-size", 64, "--samples", 200, "--thin", 10)
    run(*FIT, "--method", "hmc", "--samples", 2000, "-o", "exact.safetensors")
    run(*FIT, *KFAC, *steps, "-o", "kfac.safetensors")
    run(*FIT, "--method", "sgld", *steps, "-o", "plain.safetensors")
    spread = {name: tensors(name + ".safetensors")[0]["W"][:, :, 3].var(0).mean() for name in ("exact", "kfac", "plain")}
    check(abs(spread["kfac"] / spread["exact"] - 1) < 0.35 and spread["plain"] < 0.4 * spread["exact"], spread)


def lambda_of(tau):
    """The 10 % point of the eigenvalues (b a + tau) / N, weighted by their share of the variance of the logits, by numpy."""
    run(*FIT, "--method", "map", "--prior-precision", tau, "-o", "map.safetensors")
    arrays, _ = tensors("map.safetensors")
    z = np.load("z.npy").astype(float)
    x = np.hstack([z, np.ones((len(z), 1))])
    f = z @ arrays["W"][0].astype(float).T + arrays["b"][0]
    p = np.exp(f - f.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    a = np.linalg.eigvalsh(x.T @ x / len(x))
    b, U = np.linalg.eigh(np.diag(p.sum(0)) - p.T @ p)
    beside = 1 - U.sum(0)**2 / len(b)
    values = np.maximum(b, 0)[:, None] * a + tau
    order = values.ravel().argsort()
    share = (beside[:, None] * a / values).ravel()[order].cumsum()
    return values.ravel()[order][(share >= 0.1 * share[-1]).argmax()] / len(x)


def told(err):
    found = re.search(r"covers a diffusion time of (\S+)(?: \(lambda (\S+)\))?", err)
    check(found, err)
    return float(found[1].rstrip(".")), found[2] and float(found[2])


@case
def the_diffusion_time_is_told():
    """As S thin lr lambda; with a warning below 1, and per chain. The lr of sghmc counts by its friction, that of the metric by itself."""
    problem(n=500, scale=np.array([1, 1, 1, 0.2]))
    expected = lambda_of(0.5)
    steps = ("--prior-precision", 0.5, "--samples", 40, "--thin", 5, "-o", "e.safetensors")
    for flags, lr, enough in ((("sgd", "--lr", 0.02), 0.02, False), (("sgld", "--lr", 0.5), 0.5, True), (("sgld", "--lr", 0.1, "--chains", 4), 0.025, False),
                              (("sghmc", "--lr", 0.01), 0.1, False), (("sgld", "--lr", 0.1, "--control-variates", "on"), 0.1, False),
                              (("sgld", "--lr", 0.5, "--lr-t0", 50, "--lr-power", 1), 0.5 * 50 / 200 * np.log(5), False)):
        _, err = run(*FIT, "--method", *flags, *steps)
        time, found = told(err)
        exact = 200 * lr * expected
        check(abs(found / expected - 1) < 0.01 and abs(time / exact - 1) < 0.06, (flags, found, expected, time, exact))
        check((exact >= 1) == ("warning: the chain" not in err and "warning: each chain" not in err), (exact, err))
        check(exact >= 1 or "--precondition kfac" in err, err)
    for lr, enough in ((0.02, False), (0.5, True)):  # 40 members, ten in each cycle of 250 steps, the mean of whose lr is half
        _, err = run(*FIT, "--method", "cyclical", "--lr", lr, *steps)
        exact = 1000 * lr / 2 * expected
        check(abs(told(err)[0] / exact - 1) < 0.06 and (exact >= 1) == enough == ("warning: the chain" not in err), (exact, err))
    _, err = run(*FIT, *KFAC, "--lr", 0.05, *steps)
    check(told(err) == (10, None) and "note: the chain" in err, err)
    _, err = run(*FIT, "--method", "bootstrap", "--samples", 3, "-o", "e.safetensors")
    check("diffusion" not in err, err)


@case
def members_that_are_too_wide_are_doubted():
    """The virial ratio against numpy; steps that are too long for a head whose posterior is no Gaussian."""
    problem(n=400)
    _, err = run(*FIT, "--method", "map", "-o", "map.safetensors")
    check(err.count("the MAP is found") == 1, f"theta* is the member, and needs to be solved for once: {err}")
    star, _ = tensors("map.safetensors")
    np.savez("head.npz", W=star["W"][0], b=star["b"][0])
    _, err = run(*FIT, *KFAC, "--weights", "w.npy", "--head", "head.npz", "--samples", 20, "-o", "e.safetensors")
    found = float(re.search(r"virial ratio of the members of sgld is ([0-9.]+)", err)[1])
    member, _ = tensors("e.safetensors")
    z, y, w = np.load("z.npy").astype(float), np.load("y.npy"), np.load("w.npy").astype(float)
    x = np.hstack([z, np.ones((len(z), 1))])
    join = lambda a: np.concatenate([a["W"], a["b"][:, :, None]], 2).astype(float)
    ratios = []
    for theta in join(member)[10:]:
        f = x @ theta.T
        p = np.exp(f - f.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        g = ((p - np.eye(3)[y]) * w[:, None]).T @ x + theta
        ratios.append(((theta - join(star)[0]) * g).sum() / theta.size)
    check(abs(found / np.mean(ratios) - 1) < 0.01 and "note: the virial" in err, (found, np.mean(ratios)))
    _, err = run(*FIT, *KFAC, "--lr", 1.5, "--samples", 20, "-o", "e.safetensors")
    check("warning: the virial ratio" in err and "too wide" in err, err)


@cases_of([("all held", 12), ("the last 20 of 30", 30)])
def swag_is_the_gaussian_of_the_snapshots(epochs):
    """Its snapshots are the members of sgd on independent batches; moments of many draws against numpy."""
    problem()
    options = ("--lr", 0.3, "--seed", 5)
    run(*FIT, "--method", "sgd", *options, "--shuffle", "independent", "--samples", epochs, "-o", "snapshots.safetensors")
    run(*FIT, "--method", "swag", *options, "--epochs", epochs, "--samples", 8000, "-o", "e.safetensors")
    join = lambda a: np.concatenate([a["W"], a["b"][:, :, None]], 2).astype(float).reshape(len(a["W"]), -1)
    seen, draws = join(tensors("snapshots.safetensors")[0]), join(tensors("e.safetensors")[0])
    running = seen.cumsum(0) / np.arange(1, epochs + 1)[:, None]
    last = (seen - running)[-20:]
    covariance = np.diag(seen.var(0)) / 2 + last.T @ last / (2 * (len(last) - 1))
    width = np.sqrt(covariance.diagonal())
    check((abs(draws.mean(0) - seen.mean(0)) < 5 * width / 8000**0.5).all(), "the mean")
    check((abs(np.cov(draws.T) - covariance) < 0.08 * np.outer(width, width)).all(), "the covariance")
    fails(USAGE, *FIT, "--method", "swag", "--epochs", 1, "-o", "none.safetensors", words="at least two snapshots")


@case
def psgld_of_all_rows_at_once_is_doubted():
    problem()
    _, err = run(*FIT, "--method", "psgld", "--lr", 1e-7, "--samples", 4, "--batch-size", 300, "-o", "e.safetensors")
    check("warning: --batch-size 300 takes all 300 rows at once" in err and "such as 30" in err, err)
    _, err = run(*FIT, "--method", "psgld", "--samples", 60, "--batch-size", 30, "-o", "e.safetensors")
    check("warning: the virial ratio" in err and "too wide" in err, err)
    _, err = run(*FIT, "--method", "psgld", "--lr", 0.01, "--samples", 60, "--batch-size", 100, "-o", "e.safetensors")
    check("at once" not in err and "note: the virial ratio of the members of psgld" in err, err)
    _, err = run(*FIT, "--method", "psgld", "--lr", 1e-7, "--samples", 4, "--batch-size", 30, "-o", "e.safetensors")
    check("warning: the virial ratio" in err and "stay near theta*" in err, err)


@case
def what_is_recorded():
    problem()
    run(*FIT, "--method", "sgld", "--samples", 4, "-o", "plain.safetensors")
    run(*FIT, "--method", "sgld", "--samples", 4, "--control-variates", "off", "--precondition", "none", "-o", "said.safetensors")
    check(pathlib.Path("plain.safetensors").read_bytes() == pathlib.Path("said.safetensors").read_bytes(), "what changes nothing is no entry")
    check(not {"precondition", "control-variates", "chains"} & set(tensors("plain.safetensors")[1]), "entries of sgld as it was")
    for flags, expected in ((KFAC, ("kfac", "on", "0.1")), ((*KFAC, "--control-variates", "off", "--lr", "0.01"), ("kfac", "off", "0.01"))):
        run(*FIT, *flags, "--samples", 4, "-o", "e.safetensors")
        meta = tensors("e.safetensors")[1]
        check((meta["precondition"], meta["control-variates"], meta["lr"]) == expected, meta)
    run(*FIT, "--method", "sgld", "--control-variates", "on", "--samples", 4, "-o", "e.safetensors")
    meta = tensors("e.safetensors")[1]
    check("precondition" not in meta and meta["control-variates"] == "on", meta)
    check((tensors("e.safetensors")[0]["W"] != tensors("plain.safetensors")[0]["W"]).any(), "control variates change nothing")


@case
def large_steps_with_plain_batches_are_doubted():
    problem()
    flags = (*KFAC, "--control-variates", "off", "--batch-size", 30, "--samples", 4, "-o", "e.safetensors")
    _, err = run(*FIT, *flags, "--lr", 0.5)
    check("about 3.5 times too large" in err and "30 of 300 rows" in err and "1.33 times by their length" in err and "at most 0.02" in err, err)
    _, err = run(*FIT, *flags, "--lr", 0.019)
    check("too large" not in err, err)
    _, err = run(*FIT, *KFAC, "--lr", 0.5, "--samples", 4, "-o", "e.safetensors")
    check("too large" not in err, err)


@cases_of([("kfac", KFAC), ("control", ("--method", "sgld", "--control-variates", "on")), ("sghmc", ("--method", "sghmc", "--control-variates", "on"))])
def the_same_bits_for_threads_and_parts(flags):
    problem()
    options = (*flags, "--samples", 6, "--chains", 3)
    run(*FIT, *options, "--threads", 1, "-o", "one.safetensors")
    run(*FIT, *options, "--threads", 3, "-o", "three.safetensors")
    for part in (2, 1):
        run(*FIT, *options, "--part", f"{part}/2", "-o", "parts.safetensors")
    run("merge", "parts.safetensors")
    one = pathlib.Path("one.safetensors").read_bytes()
    check(one == pathlib.Path("three.safetensors").read_bytes() and one == pathlib.Path("parts.safetensors").read_bytes(), "other bytes")


@case
def what_does_not_apply_is_refused():
    problem()
    out = ("--samples", 2, "-o", "e.safetensors")
    fails(USAGE, *FIT, *KFAC, "--layers", 2, *out, words=("--precondition", "several layers"))
    fails(USAGE, *FIT, "--method", "sghmc", "--control-variates", "on", "--layers", 2, *out, words=("--control-variates", "several layers"))
    fails(USAGE, *FIT, *KFAC, "--prior-precision", 0, *out, words="at least 1e-30")
    fails(USAGE, *FIT, "--method", "sgld", "--precondition", "full", *out, words="none|kfac")
    run(*FIT, "--method", "sghmc", "--layers", 2, *out)
    _, err = run(*FIT, "--method", "bootstrap", "--precondition", "kfac", *out)
    check("--precondition" in err and "bootstrap" in err, err)


@case
def saturated_and_singular_heads():
    """Columns that repeat, a class of one row, rows that the head fits exactly: a finite answer."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(50, 3))
    np.save("z.npy", np.hstack([z, z, np.zeros((50, 1))]).astype(np.float32))
    np.save("y.npy", np.r_[np.zeros(25), np.ones(24), 2].astype(np.int32))
    np.savez("head.npz", W=(200 * rng.normal(size=(3, 7))).astype(np.float32), b=np.zeros(3, np.float32))
    for head in ((), ("--head", "head.npz")):
        run(*FIT, *head, *KFAC, "--samples", 4, "--batch-size", 10, "-o", "e.safetensors")
        check(np.isfinite(tensors("e.safetensors")[0]["W"]).all(), "not finite")


main()
