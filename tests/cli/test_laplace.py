# SPDX-License-Identifier: MIT
"""laplace against a Hessian that numpy builds as it is written, and by quadrature; its files, links, keys and bad input."""
import json

import numpy as np

from tap import PLAIN, SOURCE, case, cases_of, check, fails, main, run
from tensors import rewrite, tensors

USAGE, FORMAT, DATA = 2, 4, 5
N, D, K = 120, 4, 3
STRUCTURES = ("full", "kfac", "diagb", "diag")
FIT = ("fit", "--features", "z.npy", "--labels", "y.npy", "--method", "laplace")


def problem(n=N, d=D, k=K, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    z = (rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))).astype(np.float32)
    new = (2 * rng.normal(size=(40, d))).astype(np.float32)
    np.save("z.npy", z)
    np.save("y.npy", y.astype(np.int32))
    np.save("new.npy", new)
    np.save("new_y.npy", (np.arange(len(new)) % k).astype(np.int32))
    return z.astype(float), y, new.astype(float)


def fit(name, *more):
    run(*FIT, *more, "-o", name)
    return tensors(name)


def predict(name, *more, out="p.npz"):
    run("predict", name, "--features", "new.npy", *more, "-o", out)
    return dict(np.load(out))


def softmax(f):
    e = np.exp(f - f.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def with_one(z):
    return np.hstack([z, np.ones((len(z), 1))])


def covariance(arrays, z, structure, tau=1.0, w=None):
    """Of all parameters, class by class, at the head of the file: [K n,K n], by Kronecker products as they are written."""
    W, b, x = arrays["W"][0].astype(float), arrays["b"][0].astype(float), with_one(z)
    p = softmax(z @ W.T + b)
    k, n = len(b), x.shape[1]
    w = np.ones(len(x)) if w is None else w
    L = w[:, None, None] * (np.einsum("ni,ij->nij", p, np.eye(k)) - np.einsum("ni,nj->nij", p, p))
    H = np.einsum("nkl,ni,nj->kilj", L, x, x).reshape(k * n, k * n)
    if structure in ("kfac", "diagb"):
        B = L.sum(0)
        H = np.kron(B if structure == "kfac" else np.diag(np.diag(B)), (x * w[:, None]).T @ x / w.sum())
    if structure == "diag":
        H = np.diag(np.diag(H))
    return np.linalg.inv(H + tau * np.eye(k * n))


def logit_covariance(P, z, centred=True):
    x = with_one(z)
    k = len(P) // x.shape[1]
    S = np.einsum("ni,kilj,nj->nkl", x, P.reshape(k, x.shape[1], k, x.shape[1]), x)
    C = np.eye(k) - centred / k
    return C @ S @ C


@cases_of([(s, s) for s in STRUCTURES])
def draws_have_the_covariance_of_numpy(structure):
    z, y, new = problem()
    arrays, meta = fit("e.safetensors", "--structure", structure, "--samples", 20000, "--seed", 3)
    check(meta["structure"] == structure and arrays["W"].shape == (1, K, D) and len(arrays["weight"]) == 20000, meta)
    S = logit_covariance(covariance(arrays, z, structure), new)
    mu = new @ arrays["W"][0].T.astype(float) + arrays["b"][0]
    p = predict("e.safetensors")
    rng = np.random.default_rng(1)
    for i in range(len(new)):
        f = rng.multivariate_normal(mu[i], S[i] + 1e-12 * np.eye(K), size=20000, check_valid="ignore")
        q = softmax(f)
        error = 6 * q.std(0) * np.sqrt(2 / 20000) + 1e-6
        check((abs(q.mean(0) - p["probs"][i]) < error).all(), (i, q.mean(0), p["probs"][i], error))
        top = p["label"][i]
        if q[:, top].std() > 0.02:  # below it the spread is made of a few draws
            check(abs(q[:, top].std() + p["std"][i]) < 0.05 * q[:, top].std() + 1e-6, (i, q[:, top].std(), p["std"][i]))


@cases_of([(f"{s}{' with the common mode' if c else ''}", s, c) for s in STRUCTURES for c in (False, True)])
def probit_and_bridge_are_their_formulas(structure, common):
    z, y, new = problem(seed=5)
    arrays, meta = fit("e.safetensors", "--structure", structure, "--prior-precision", 0.3, *["--common-mode"] * common)
    check(meta["common-mode"] == ("true" if common else "false"), meta)
    variance = np.einsum("nkk->nk", logit_covariance(covariance(arrays, z, structure, 0.3), new, not common))
    mu = new @ arrays["W"][0].T.astype(float) + arrays["b"][0]
    mu -= mu.mean(1, keepdims=True)
    p = predict("e.safetensors", "--link", "probit")
    check("std" not in p and "mi" not in p, "a closed form is one member")
    check(np.allclose(p["probs"], softmax(mu / np.sqrt(1 + np.pi / 8 * variance)), rtol=2e-4, atol=1e-6), "probit")
    a = (1 - 2 / K + np.exp(mu) * np.exp(-mu).sum(1, keepdims=True) / K**2) / variance
    check(np.allclose(predict("e.safetensors", "--link", "bridge")["probs"], a / a.sum(1, keepdims=True), rtol=5e-4, atol=1e-6), "bridge")


@cases_of([(f"{s}, {kind}", s, kind) for s in STRUCTURES for kind in ("rows", "classes", "both")])
def weights_multiply_the_terms(structure, kind):
    z, y, new = problem(seed=6)
    by_row = np.random.default_rng(1).uniform(0, 2, size=N).astype(np.float32)
    by_row[::7] = 0  # as if they were not there
    by_class = np.array([0.5, 1, 2.5], np.float32)
    np.save("w.npy", by_row), np.save("c.npy", by_class)
    w = (by_row if kind != "classes" else 1.0) * (by_class[y] if kind != "rows" else 1.0)
    flags = ("--weights", "w.npy") * (kind != "classes") + ("--class-weight", "c.npy") * (kind != "rows")
    arrays, _ = fit("e.safetensors", "--structure", structure, "--prior-precision", 0.7, *flags)
    variance = np.einsum("nkk->nk", logit_covariance(covariance(arrays, z, structure, 0.7, w.astype(float)), new))
    mu = new @ arrays["W"][0].T.astype(float) + arrays["b"][0]
    mu -= mu.mean(1, keepdims=True)
    p = predict("e.safetensors", "--link", "probit")
    check(np.allclose(p["probs"], softmax(mu / np.sqrt(1 + np.pi / 8 * variance)), rtol=3e-4, atol=1e-6), "other variances")


@cases_of([(f"{peer}, {i}", peer, ours, i) for peer, ours in (("full", "full"), ("kron", "kfac"), ("diag", "diag")) for i in range(3)])
def variances_are_those_of_laplace_torch(peer, structure, number):
    """f_var of its fixture, made by make oracle-pypi, from the factors in our file."""
    c = json.loads((SOURCE / "tests/fixtures/laplace_torch.json").read_text())["cases"][number]
    np.save("z.npy", np.array(c["z"], np.float32)), np.save("y.npy", np.array(c["y"], np.int32))
    np.savez("head.npz", W=np.array(c["W"], np.float32), b=np.array(c["b"], np.float32))
    a, _ = fit("e.safetensors", "--head", "head.npz", "--structure", structure, "--prior-precision", c["tau"], "--common-mode")
    x = with_one(np.array(c["new"]))
    if structure == "full":
        got = logit_covariance(a["laplace_P"], np.array(c["new"]), centred=False)
    else:
        s = (x @ a.get("laplace_V", np.eye(x.shape[1])).T)**2 @ a["laplace_R"].T
        U = a.get("laplace_U", np.eye(s.shape[1]))
        got = np.einsum("ik,ni,il->nkl", U, s, U)
    check(np.allclose(got, c[peer], rtol=1e-5, atol=1e-6 * np.max(c[peer])), abs(got - c[peer]).max())


@cases_of([(f"{s}{' with the common mode' if c else ''}", s, c) for s in STRUCTURES for c in (False, True)])
def members_have_the_covariance_of_numpy(structure, common):
    """Of all parameters, over many members; the same file for any number of threads, and predictions take it like any other."""
    z, _, new = problem()
    S, more = 20000 if PLAIN else 1000, ("--common-mode",) if common else ()
    for threads in (1, 3):
        run(*FIT, "--structure", structure, *more, "--samples", S, "--threads", threads, "-o", "e.safetensors", "--members-out", f"m{threads}.safetensors")
    check(open("m1.safetensors", "rb").read() == open("m3.safetensors", "rb").read(), "the members depend on the threads")
    head, members = tensors("e.safetensors")[0], tensors("m1.safetensors")[0]
    theta = np.concatenate([members["W"], members["b"][:, :, None]], 2).astype(float)
    star = np.concatenate([head["W"][0], head["b"][0][:, None]], 1).astype(float)
    P = covariance(head, z, structure)
    if not common:
        C = np.kron(np.eye(K) - 1 / K, np.eye(D + 1))
        P = C @ P @ C
    deviation = (theta - star).reshape(S, -1)
    found, size = deviation.T @ deviation / S, np.sqrt(np.diag(P))
    check(np.all(np.abs(deviation.mean(0)) < 5 * size / np.sqrt(S) + 1e-6), "the members are not around theta*")
    check(np.all(np.abs(found - P) < 6 * np.outer(size, size) / np.sqrt(S) + 1e-6), f"{np.abs(found - P).max()}")
    p = predict("m1.safetensors")["probs"]
    expected = softmax(np.einsum("skd,nd->snk", theta, with_one(new))).mean(0)
    check(np.allclose(p, expected, rtol=0, atol=1e-5), "predictions of the members")


@case
def members_are_drawn_from_a_gaussian_only():
    problem()
    fails(USAGE, "fit", "--features", "z.npy", "--labels", "y.npy", "--method", "sgd", "-o", "e.safetensors", "--members-out", "m.safetensors", words="laplace")
    fails(USAGE, *FIT, "--part", "1/2", "-o", "e.safetensors", "--members-out", "m.safetensors", words="--part")
    fails(USAGE, *FIT, "-o", "e.safetensors", "--members-out", "e.safetensors", words="e.safetensors")


@case
def two_classes_and_one_feature_by_quadrature():
    rng = np.random.default_rng(2)
    z = rng.normal(size=(60, 1)).astype(np.float32)
    y = (rng.random(60) < 1 / (1 + np.exp(-2 * z[:, 0]))).astype(np.int32)
    np.save("z.npy", z), np.save("y.npy", y), np.save("new.npy", np.linspace(-3, 3, 13, dtype=np.float32)[:, None])
    arrays, _ = fit("e.safetensors", "--structure", "full", "--samples", 40000)
    x, new = with_one(z.astype(float)), with_one(np.load("new.npy").astype(float))
    # Centred, the two classes have opposite parameters: u = theta_1 - theta_0 has the prior N(0, 2 / tau), and an axis each to integrate.
    grid = np.linspace(-5, 9, 561), np.linspace(-4, 4, 321)
    u = np.stack(np.meshgrid(*grid, indexing="ij"), -1)
    f = u @ x.T
    log_posterior = (y * f - np.logaddexp(0, f)).sum(-1) - (u**2).sum(-1) / 4
    exact = np.exp(log_posterior - log_posterior.max())
    exact /= exact.sum()
    peak = u.reshape(-1, 2)[exact.argmax()]
    theta = np.append(arrays["W"][0, :, 0], arrays["b"][0]).astype(float)
    centre = np.array([theta[1] - theta[0], theta[3] - theta[2]])
    check(abs(peak - centre).max() < 0.03, (peak, centre))
    # The Gaussian itself: its density on the same grid, from the Hessian of the log posterior.
    q = 1 / (1 + np.exp(-x @ centre))
    precision = (x * (q * (1 - q))[:, None]).T @ x + np.eye(2) / 2
    d = u - centre
    gaussian = np.exp(-0.5 * np.einsum("abi,ij,abj->ab", d, precision, d))
    gaussian /= gaussian.sum()
    s = 1 / (1 + np.exp(-u @ new.T))
    p = predict("e.safetensors")
    mean, spread = np.einsum("ab,abn->n", gaussian, s), None
    spread = np.sqrt(np.einsum("ab,abn->n", gaussian, (s - mean)**2))
    check(abs(mean - p["probs"][:, 1]).max() < 6 * spread.max() / 200, (mean, p["probs"][:, 1]))
    check(abs(spread + p["std"]).max() < 0.02 * spread.max(), (spread, p["std"]))
    check(abs(np.einsum("ab,abn->n", exact, s) - p["probs"][:, 1]).max() < 0.02, "far from the exact posterior")


@case
def bits_do_not_depend_on_threads_blocks_or_batches():
    problem()
    for structure in STRUCTURES:
        run(*FIT, "--structure", structure, "--threads", 1, "-o", "one.safetensors")
        run(*FIT, "--structure", structure, "--threads", 3, "-o", "three.safetensors")
        check(open("one.safetensors", "rb").read() == open("three.safetensors", "rb").read(), structure)
        all_rows = predict("one.safetensors", "--threads", 1)
        for flags in (("--threads", 3), ("--block", 32), ("--block", 7)):
            again = predict("one.safetensors", *flags)
            check(all((all_rows[k] == again[k]).all() for k in all_rows), (structure, flags))
        new = np.load("new.npy")
        np.save("new.npy", new[17:])
        part = predict("one.safetensors", "--row-offset", 17)
        np.save("new.npy", new)
        check((part["std"] == all_rows["std"][17:]).all() and (part["probs"] == all_rows["probs"][17:]).all(), structure)
        other = tensors("one.safetensors")
        fit("other.safetensors", "--structure", structure, "--seed", 1)
        check((predict("other.safetensors")["probs"] != all_rows["probs"]).any(), "another seed, the same draws")
        check((tensors("other.safetensors")[0]["W"] == other[0]["W"]).all(), "theta* depends on the seed")


@case
def by_content_a_row_has_the_same_answer_anywhere():
    problem()
    fit("e.safetensors", "--key", "content")
    there = predict("e.safetensors")
    new = np.load("new.npy")
    np.save("new.npy", new[::-1])
    back = predict("e.safetensors")
    check((there["probs"] == back["probs"][::-1]).all() and (there["std"] == back["std"][::-1]).all(), "the place of a row matters")


@case
def an_ensemble_of_draws_goes_everywhere():
    problem(n=600)
    fit("e.safetensors", "--samples", 30)
    rows = ("--features", "z.npy", "--labels", "y.npy")
    out, _ = run("inspect", "e.safetensors")
    check("laplace" in out and "kfac" in out, out)
    run("calibrate", "e.safetensors", "--features", "new.npy", "--labels", "new_y.npy", "-o", "c.safetensors", "--force")
    before, after = tensors("e.safetensors"), tensors("c.safetensors")
    check(all((before[0][k] == after[0][k]).all() for k in before[0]), "calibrate changed an array")
    p = predict("c.safetensors")
    check(np.isfinite(p["probs"]).all() and np.isfinite(p["std"]).all(), p)
    _, err = run("predict", "c.safetensors", "--features", "new.npy", "--link", "probit", "-o", "p.npz")
    check("calibration" in err, err)
    run("predict", "e.safetensors", *rows, "-o", "rows.npz")
    run("certify", "rows.npz", "--risk", 0.5, "--save", "e.safetensors")
    _, err = run("predict", "e.safetensors", "--features", "new.npy", "-o", "p.npz")
    check("certificate" in err, err)
    run("sets", "rows.npz", "--apply", "p.npz", "-o", "sets.npz")
    run("evaluate", "rows.npz")
    run("report", "rows.npz", "-o", "page.html")
    out, _ = run("compare", *rows, "--samples", 2, "--epochs", 1, "--test-features", "new.npy", "--test-labels", "new_y.npy")
    check("laplace" in out, out)


@cases_of([("K > N", 5, 3, 5), ("D > N", 12, 40, 3), ("a class of one row", 31, 2, 30)])
def few_rows_are_no_trouble(n, d, k):
    problem(n, d, k)
    for structure in STRUCTURES:
        fit("e.safetensors", "--structure", structure, "--prior-precision", 0.001)
        for link in ("mc", "probit", "bridge"):
            p = predict("e.safetensors", "--link", link)
            check(all(np.isfinite(p[a]).all() for a in ("probs", "sr", "entropy", "margin")), (structure, link))


@cases_of([("a constant feature", lambda z: np.hstack([z[:, :3], np.ones((len(z), 1))])), ("a feature twice", lambda z: z[:, [0, 1, 2, 2]]),
           ("all zero", np.zeros_like), ("huge", lambda z: 1e12 * z), ("tiny", lambda z: 1e-12 * z)])
def a_singular_covariance_is_no_trouble(change):
    z, y, new = problem()
    np.save("z.npy", change(z).astype(np.float32)), np.save("new.npy", change(new).astype(np.float32))
    for structure in STRUCTURES:
        for tau in (1, 1e-6):
            words = (*FIT, "--structure", structure, "--prior-precision", tau, "-o")
            if structure == "full" and abs(change(z)).max() > 1e12:  # tau is lost beside 1e24
                fails(DATA, *words, "no.safetensors", words=("singular", "--prior-precision"))
                continue
            run(*words, "e.safetensors")
            for link in ("mc", "probit", "bridge"):
                p = predict("e.safetensors", "--link", link)
                check(all(np.isfinite(p[a]).all() for a in ("probs", "sr", "entropy", "margin")), (structure, tau, link))


@case
def a_saturated_head_has_right_answers():
    z, y, new = problem()
    arrays, _ = fit("map.safetensors")
    np.savez("head.npz", W=1e4 * arrays["W"][0], b=1e4 * arrays["b"][0])
    for structure in STRUCTURES:
        run(*FIT, "--structure", structure, "--head", "head.npz", "-o", "e.safetensors")
        p = predict("e.safetensors")
        check(all(np.isfinite(a).all() for a in p.values()), structure)


@case
def what_cannot_be_is_said():
    problem()
    fails(USAGE, *FIT, "--prior-precision", 0, "-o", "e.safetensors", words=("prior-precision", "1e-30"))
    fails(USAGE, *FIT, "--structure", "half", "-o", "e.safetensors", words=("structure", "kfac"))
    np.save("z.npy", np.random.default_rng(0).normal(size=(N, 3000)).astype(np.float32))
    fails(USAGE, *FIT, "--structure", "full", "-o", "e.safetensors", words=("8192", "9003", "kfac"))
    problem()
    run(*FIT[:-1], "point", "-o", "point.safetensors")
    fails(USAGE, "predict", "point.safetensors", "--features", "new.npy", "--link", "probit", "-o", "q.npz", words=("laplace", "point"))
    fails(USAGE, *FIT, "--layers", 2, "-o", "e.safetensors", words=("laplace",))


@case
def what_cannot_be_is_said_before_the_map():
    problem(d=3000)
    wide = ("--features", "z.npy", "--labels", "y.npy", "--test-features", "z.npy", "--test-labels", "y.npy")
    for words in [(*FIT, "--structure", "full", "-o", "e.safetensors"), (*FIT, "--prior-precision", 0, "-o", "e.safetensors"),
                  (*FIT, "--prior-precision", "validation", "-o", "e.safetensors"), (*FIT[:-1], "hmc", "--prior-precision", 0, "-o", "e.safetensors"),
                  ("compare", *wide, "--methods", "laplace", "--structure", "full")]:
        err = fails(USAGE, *words)
        check("MAP" not in err, (words, err))
    classes = 16385
    np.save("z.npy", np.ones((classes, 1), np.float32))
    np.save("y.npy", np.arange(classes, dtype=np.int32))
    for words in [FIT, (*FIT[:-1], "sgld", "--precondition", "kfac")]:
        check("MAP" not in fails(USAGE, *words, "-o", "e.safetensors", words=("16384", "16385")), words)
    np.savez("head.npz", W=np.zeros((classes, 1), np.float32), b=np.zeros(classes, np.float32))
    np.save("y.npy", np.arange(classes, dtype=np.int32) % 2)
    fails(USAGE, *FIT, "--head", "head.npz", "-o", "e.safetensors", words=("16384", "16385", "diagb"))


@case
def compare_counts_the_seconds_of_the_gaussian():
    """Eigenvectors of a matrix [400,400] take 10 n^3 operations: not less than some milliseconds anywhere."""
    problem(d=399)
    out, _ = run("compare", "--features", "z.npy", "--labels", "y.npy", "--test-features", "z.npy", "--test-labels", "y.npy", "--methods", "laplace", "--json")
    rows = {row["method"]: row for row in json.loads(out)["methods"]}
    check(rows["laplace"]["seconds_fit"] > 0.003, rows["laplace"]["seconds_fit"])


@case
def what_is_left_out_is_said_once():
    problem(d=2)
    np.save("z.npy", np.ones((N, 2), np.float32))
    _, err = run(*FIT, "--scores", "mds", "-o", "e.safetensors")
    check(err.count("left out") == 1, err)


def drop(name):
    def change(header, data):
        header["other"] = header.pop(name)
    return change


def shape(name, *sizes):
    def change(header, data):
        header[name]["shape"] = list(sizes)
    return change


def value(name, x):
    def change(header, data):
        at = header[name]["data_offsets"][0]
        data[at:at + 4] = np.float32(x).tobytes()
    return change


def meta(key, text):
    def change(header, data):
        header["__metadata__"][key] = text
    return change


@cases_of([("no V", FORMAT, drop("laplace_V"), "laplace_V"), ("no R", FORMAT, drop("laplace_R"), "laplace_R"),
           ("another shape", FORMAT, shape("laplace_R", D + 1, K), "laplace_R"), ("negative", DATA, value("laplace_R", -1), "at least 0"),
           ("NaN", DATA, value("laplace_V", np.nan), "finite"), ("infinite", DATA, value("laplace_U", np.inf), "finite"),
           ("unknown structure", FORMAT, meta("structure", "half"), "structure"), ("another", FORMAT, meta("structure", "full"), "laplace_P"),
           ("common", FORMAT, meta("common-mode", "perhaps"), "common-mode"), ("seed", FORMAT, meta("seed", "x"), "seed"),
           ("masks too", FORMAT, meta("drop16", "300"), "structure"), ("key", FORMAT, meta("key", "name"), "key")])
def a_bad_file_is_refused(code, change, word):
    problem()
    fit("e.safetensors")
    rewrite("e.safetensors", "bad.safetensors", change)
    fails(code, "predict", "bad.safetensors", "--features", "new.npy", "-o", "q.npz", words=(word,))


main()
