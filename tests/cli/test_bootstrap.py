# SPDX-License-Identifier: MIT
"""bootstrap --solve: each member is what scikit-learn finds with the same counts as weights; what it does not take, it says."""
import numpy as np
from sklearn.linear_model import LogisticRegression

from tap import case, cases_of, check, fails, main, run
from tensors import tensors

USAGE = 2
N, D, K, S = 150, 3, 3, 4
FIT = ("fit", "--features", "z.npy", "--labels", "y.npy", "--method", "bootstrap", "--solve", "--samples", S)
RESAMPLE = 2  # lli_purpose


def philox(counter, key):
    """Philox4x32-10 as Salmon et al. write it."""
    c, k = [int(x) for x in counter], [int(x) for x in key]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def counts(seed, member, n):
    """How often each row is in the resample of this member (docs/math/random.md)."""
    out = np.zeros(n)
    for i in range(n):
        lane = philox((i // 2, 0, 0, RESAMPLE << 24 | member), (seed, 0))
        u = lane[3] << 32 | lane[2] if i % 2 else lane[1] << 32 | lane[0]
        out[u * n >> 64] += 1
    return out


def problem(weights=None):
    rng = np.random.default_rng(4)
    y = np.arange(N) % K
    z = (rng.normal(size=(K, D))[y] + rng.normal(size=(N, D))).astype(np.float32)
    np.save("z.npy", z), np.save("y.npy", y.astype(np.int32))
    if weights is not None:
        np.save("w.npy", weights)
    return z.astype(float), y


@cases_of([("plain", None, 1.0, 0), ("tau 0.3, another seed", None, 0.3, 5), ("weighted rows", np.linspace(0.25, 2, N), 2.0, 1)])
def members_are_those_of_scikit_learn(weights, tau, seed):
    z, y = problem(weights)
    _, err = run(*FIT, "--prior-precision", tau, "--seed", seed, *(() if weights is None else ("--weights", "w.npy")), "-o", "e.safetensors")
    check("passes over the data for the MAPs" in err and "lr =" not in err and "warning" not in err, err)
    arrays, meta = tensors("e.safetensors")
    check(meta["solve"] == "true" and "lr" not in meta and "epochs" not in meta and "batch-size" not in meta, meta)
    x = np.hstack([z, np.ones((N, 1))])  # its own intercept would have no prior
    for m in range(S):
        w = counts(seed, m, N)
        check(w.sum() == N and w.max() > 1, w)
        model = LogisticRegression(C=1 / tau, fit_intercept=False, tol=1e-10, max_iter=10000)
        model.fit(x, y, sample_weight=w * (1 if weights is None else weights.astype(np.float32)))
        found = np.hstack([arrays["W"][m], arrays["b"][m][:, None]])
        check(abs(found - model.coef_).max() < 2e-3 * abs(model.coef_).max(), (m, found, model.coef_))


@case
def bits_do_not_depend_on_threads_members_or_parts():
    problem()
    run(*FIT, "--threads", 1, "-o", "one.safetensors")
    run(*FIT, "--threads", 3, "-o", "three.safetensors")
    whole = open("one.safetensors", "rb").read()
    check(whole == open("three.safetensors", "rb").read(), "threads")
    for part in (1, 2):
        run(*FIT, "--part", f"{part}/2", "-o", "parts.safetensors")
    run("merge", "parts.safetensors")
    check(whole == open("parts.safetensors", "rb").read(), "parts")
    run(*FIT[:-1], 2, "-o", "two.safetensors")
    check((tensors("two.safetensors")[0]["W"] == tensors("one.safetensors")[0]["W"][:2]).all(), "fewer members are other members")


@case
def plain_bootstrap_is_as_it_was():
    problem()
    run(*[a for a in FIT if a != "--solve"], "-o", "sgd.safetensors")
    meta = tensors("sgd.safetensors")[1]
    check("solve" not in meta and "lr" in meta, meta)


@case
def what_cannot_be_is_said():
    problem()
    fails(USAGE, *FIT, "--layers", 2, "-o", "e.safetensors", words=("--solve", "one layer"))
    _, err = run(*FIT, "--prior-precision", 0, "-o", "e.safetensors")
    check(np.isfinite(tensors("e.safetensors")[0]["W"]).all(), err)


main()
