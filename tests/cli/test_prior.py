# SPDX-License-Identifier: MIT
"""--prior-precision evidence and validation against numpy, scipy and quadrature; the warning of a Gaussian that is too wide; bad input."""
import re

import numpy as np
from scipy.optimize import brentq, minimize, minimize_scalar

from tap import case, cases_of, check, fails, main, run
from tensors import tensors

USAGE, DATA = 2, 5
FIT = ("fit", "--features", "z.npy", "--labels", "y.npy", "--method", "laplace")
VAL = ("--val-features", "v.npy", "--val-labels", "v_y.npy")


def problem(n=120, d=4, k=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, d))
    for name, rows in (("z", n), ("v", 80)):
        y = np.arange(rows) % k
        np.save(f"{name}.npy", (centres[y] + noise * rng.normal(size=(rows, d))).astype(np.float32))
        np.save("y.npy" if name == "z" else "v_y.npy", y.astype(np.int32))
    return np.load("z.npy").astype(float), np.load("y.npy")


def fit(name, *more):
    _, err = run(*FIT, *more, "-o", name)
    arrays, meta = tensors(name)
    return arrays, meta, err


def with_one(z):
    return np.hstack([z, np.ones((len(z), 1))])


def softmax(f):
    e = np.exp(f - f.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def determined(theta, x, w, tau, diagonal=False):
    """sum b a / (b a + tau) of the Kronecker product at theta [K,n]."""
    p = softmax(x @ theta.T)
    B = np.diag(w @ p) - (p * w[:, None]).T @ p
    b = np.diag(B) if diagonal else np.linalg.eigvalsh(B)
    ba = np.outer(np.maximum(b, 0), np.linalg.eigvalsh((x * w[:, None]).T @ x / w.sum()))
    return (ba / (ba + tau)).sum()


def map_of(x, y, w, tau, k):
    def objective(t):
        theta = t.reshape(k, -1)
        f = x @ theta.T
        top = f.max(1, keepdims=True)
        log_z = top[:, 0] + np.log(np.exp(f - top).sum(1))
        p = np.exp(f - log_z[:, None])
        p[np.arange(len(y)), y] -= 1
        return w @ (log_z - f[np.arange(len(y)), y]) + tau / 2 * (t @ t), ((p * w[:, None]).T @ x + tau * theta).ravel()
    return minimize(objective, np.zeros(k * x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9}).x.reshape(k, -1)


def square(theta):
    return ((theta - theta.mean(0))**2).sum()


@cases_of([("kfac", "kfac", False), ("full", "full", False), ("diagb", "diagb", False), ("diag", "diag", False), ("weighted rows", "kfac", True)])
def evidence_is_the_fixed_point_of_numpy(structure, weighted):
    z, y = problem()
    x, w = with_one(z), np.ones(len(z))
    more = ()
    if weighted:
        w = np.random.default_rng(4).uniform(0.2, 2, size=len(z)).astype(np.float32).astype(float)
        np.save("w.npy", w)
        more = ("--weights", "w.npy")
    diagonal = structure in ("diagb", "diag")

    def gap(log_tau):
        tau = np.exp(log_tau)
        theta = map_of(x, y, w, tau, 3)
        return log_tau - np.log(determined(theta, x, w, tau, diagonal) / square(theta))
    expected = np.exp(brentq(gap, np.log(1e-3), np.log(1e3), xtol=1e-5))
    arrays, meta, err = fit("e.safetensors", "--structure", structure, "--prior-precision", "evidence", *more)
    tau = float(meta["prior-precision"])
    check(abs(np.log(tau / expected)) < 3e-3, (tau, expected))
    check(meta["prior-precision-by"] == "evidence" and meta["init"] == "map" and f"prior precision {tau:.4g} by evidence" in err, (meta, err))
    # It is the fit with that number, to the bit of theta* within what the solver is sure of.
    again, other, _ = fit("f.safetensors", "--structure", structure, "--prior-precision", repr(tau), *more)
    check(abs(arrays["W"] - again["W"]).max() < 1e-3 and "prior-precision-by" not in other, abs(arrays["W"] - again["W"]).max())


@case
def evidence_keeps_a_head_that_is_given():
    z, y = problem(seed=1)
    x, rng = with_one(z), np.random.default_rng(7)
    W, b = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    np.savez("head.npz", W=W + 3, b=b - 2)  # the same for all classes: no likelihood sees it
    theta = np.hstack([W, b[:, None]]).astype(float)
    expected = brentq(lambda t: t * square(theta) - determined(theta, x, np.ones(len(x)), t), 1e-6, 1e6, xtol=1e-12)
    arrays, meta, err = fit("e.safetensors", "--head", "head.npz", "--prior-precision", "evidence")
    check(abs(float(meta["prior-precision"]) / expected - 1) < 1e-4 and "given and stays" in err, (meta["prior-precision"], expected))
    check((arrays["W"][0] == W + 3).all() and meta["init"] == "head", "theta* moved")
    R = 1 / (np.float64(meta["prior-precision"]))
    check(abs(arrays["laplace_R"].max() / R - 1) < 1e-5, "the Gaussian has another prior")


@case
def evidence_is_near_that_of_quadrature():
    # Centred, two classes have opposite parameters: u = theta_1 - theta_0 has the prior N(0, 2 / tau) on each axis.
    rng = np.random.default_rng(2)
    z = rng.normal(size=(300, 1)).astype(np.float32)
    y = (rng.random(300) < 1 / (1 + np.exp(-1.5 * z[:, 0] - 1))).astype(np.int32)
    np.save("z.npy", z), np.save("y.npy", y)
    u = np.stack(np.meshgrid(np.linspace(-4, 6, 201), np.linspace(-4, 6, 201), indexing="ij"), -1)
    f = u @ with_one(z.astype(float)).T
    log_likelihood = (y * f - np.logaddexp(0, f)).sum(-1)

    def minus_log_evidence(log_tau):
        log_joint = log_likelihood - np.exp(log_tau) * (u**2).sum(-1) / 4 + log_tau
        return -np.log(np.exp(log_joint - log_joint.max()).sum()) - log_joint.max()
    exact = np.exp(minimize_scalar(minus_log_evidence, bounds=(-6, 6), method="bounded").x)
    _, meta, _ = fit("e.safetensors", "--prior-precision", "evidence")
    check(0.8 < float(meta["prior-precision"]) / exact < 1.25, (meta["prior-precision"], exact))


def nll_at(tau, structure, truth):
    run(*FIT, "--structure", structure, "--samples", 50, "--prior-precision", repr(float(tau)), "--head", "head.npz", "-o", "t.safetensors")
    run("predict", "t.safetensors", "--features", "v.npy", "-o", "t.npz")
    return -np.log(np.load("t.npz")["probs"].astype(float)[np.arange(len(truth)), truth]).mean()


@cases_of([("kfac", "kfac"), ("full", "full"), ("diag", "diag")])
def validation_is_the_minimum_of_scipy(structure):
    problem(n=60, d=6, k=4, noise=1.5, seed=3)
    truth = np.load("v_y.npy")
    arrays, meta, _ = fit("map.safetensors")
    np.savez("head.npz", W=arrays["W"][0], b=arrays["b"][0])
    best = minimize_scalar(lambda x: nll_at(10**x, structure, truth), bounds=(-4, 4), method="bounded", options={"xatol": 0.02})
    chosen, meta, err = fit("e.safetensors", "--structure", structure, "--samples", 50, "--prior-precision", "validation", *VAL)
    tau = float(meta["prior-precision"])
    check(nll_at(tau, structure, truth) < best.fun + 1e-4, (tau, nll_at(tau, structure, truth), 10**best.x, best.fun))
    check(meta["prior-precision-by"] == "validation" and (chosen["W"] == arrays["W"]).all(), "theta* is the MAP at 1")
    said = re.search(r"prior precision (\S+) of the Gaussian by validation: NLL (\S+) ", err)
    check(abs(float(said[1]) / tau - 1) < 1e-3 and abs(float(said[2]) - nll_at(tau, structure, truth)) < 1e-4, err)
    # A head that is given is no other case.
    _, given, _ = fit("g.safetensors", "--structure", structure, "--samples", 50, "--prior-precision", "validation", *VAL, "--head", "head.npz")
    check(given["prior-precision"] == meta["prior-precision"], (given["prior-precision"], tau))


@case
def the_same_bytes_for_any_threads():
    problem()
    for word in (("--prior-precision", "evidence"), ("--prior-precision", "validation", *VAL)):
        for threads in (1, 3):
            run(*FIT, *word, "--threads", threads, "-o", f"{threads}.safetensors")
        check(open("1.safetensors", "rb").read() == open("3.safetensors", "rb").read(), word)


@case
def other_methods_and_commands_take_it():
    problem()
    test = ("--test-features", "v.npy", "--test-labels", "v_y.npy")
    _, err = run(*FIT[:-1], "sgld", "--samples", 2, "--prior-precision", "evidence", "-o", "s.safetensors")
    tau = tensors("s.safetensors")[1]["prior-precision"]
    check(float(tau) != 1 and "by evidence" in err, err)
    for word in ("evidence", "validation"):
        out, err = run("compare", *FIT[1:-2], *test, *VAL, "--samples", 2, "--epochs", 1, "--prior-precision", word, "--predictions", word)
        check("laplace" in out and err.count(f"by {word}") == 1, err)
    kept = dict(np.load("validation/laplace.npz")), dict(np.load("evidence/laplace.npz"))
    check((kept[0]["probs"] != kept[1]["probs"]).any(), "both words gave the same prior")
    out, err = run("search", *FIT[1:-2], *test, *VAL, "--method", "laplace,point", "--samples", 3, "--prior-precision", "evidence", "--store", "store")
    check("by evidence" in err, err)
    fails(USAGE, "search", *FIT[1:-2], *test, *VAL, "--method", "laplace,point", "--samples", 3, "--store", "store", words="another search")


@case
def a_gaussian_that_is_too_wide_is_told():
    rng = np.random.default_rng(0)
    k, d = 30, 40
    centres = rng.normal(size=(k, d)) / np.sqrt(d)
    y = np.arange(1500) % k
    z = centres[y] + 0.4 * rng.normal(size=(1500, d)) / np.sqrt(d)
    np.save("z.npy", z.astype(np.float32)), np.save("y.npy", y.astype(np.int32))
    _, _, err = fit("e.safetensors", "--prior-precision", 0.001, "--samples", 20)
    check("too wide with --prior-precision 0.001" in err and "validation" in err, err)
    said = re.search(r"right on (\S+) \(theta\*: (\S+)\) with a mean confidence of (\S+);", err)
    run("predict", "e.safetensors", "--features", "z.npy", "-o", "p.npz")
    p = np.load("p.npz")
    check(abs((p["label"] == y).mean() - float(said[1])) < 0.05 and abs(p["sr"].mean() - float(said[3])) < 0.05, (said, p["sr"].mean()))
    problem()
    check("warning" not in fit("sound.safetensors")[2], "a sound one is warned of")


@case
def what_cannot_be_is_said():
    problem()
    out = ("-o", "e.safetensors")
    fails(USAGE, *FIT, "--prior-precision", "evident", *out, words=("--prior-precision is evident", "evidence|validation"))
    fails(USAGE, *FIT, "--prior-precision", "-1e100", *out, words=("--prior-precision", "evidence|validation"))
    fails(USAGE, *FIT, "--prior-precision", "validation", *out, words=("--val-features", "--val-labels", "evidence"))
    fails(USAGE, *FIT, "--prior-precision", "validation", "--val-labels", "v_y.npy", *out, words="--val-features")
    fails(USAGE, *FIT, "--prior-precision", "validation", "--val-features", "v.npy", *out, words="--val-labels")
    fails(USAGE, *FIT[:-1], "sgld", "--prior-precision", "validation", *VAL, *out, words=("sgld", "laplace", "evidence"))
    fails(USAGE, *FIT[:-1], "sgd", "--layers", 2, "--prior-precision", "evidence", *out, words=("--prior-precision", "one layer"))
    np.save("v.npy", np.load("v.npy")[:, :3])
    fails(DATA, *FIT, "--prior-precision", "validation", *VAL, *out, words=("3", "4", "validation"))
    problem()
    np.save("v_y.npy", np.load("v_y.npy") + 1)
    fails(DATA, *FIT, "--prior-precision", "validation", *VAL, *out, words="3")
    fails(USAGE, "compare", *FIT[1:-2], "--test-features", "z.npy", "--test-labels", "y.npy", "--prior-precision", "validation", words="--val-features")
    _, err = run(*FIT, *VAL, *out)
    check("--val-features is not used" in err, err)


@case
def rows_that_say_nothing_end_at_a_number():
    np.save("z.npy", np.zeros((40, 3), np.float32)), np.save("y.npy", (np.arange(40) % 2).astype(np.int32))
    _, meta, err = fit("e.safetensors", "--prior-precision", "evidence")
    check(np.isfinite(float(meta["prior-precision"])) and "end of" in err, (meta["prior-precision"], err))


main()
