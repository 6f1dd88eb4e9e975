# SPDX-License-Identifier: MIT
"""Scores from features against numpy and, where it is installed, scikit-learn; their files, parts, and rows that are hard to score."""
import json

import numpy as np

from tap import case, cases_of, check, fails, main, run
from tensors import rewrite, tensors

USAGE, FORMAT, DATA = 2, 4, 5
SCORES = ("msp", "energy", "maxlogit", "mds", "mds++", "rmds", "rmds++", "knn", "vim")
ROWS = ("--features", "z.npy", "--labels", "y.npy")
FIT = ("fit", *ROWS)
LITTLE = ("--memory", "11M", "--threads", "1")  # too little for the features: they stay in their files


def problem(n=900, d=12, k=5, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    z = (2 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d) + 0.5).astype(dtype)
    new = np.concatenate([z[:30].astype(float) + 0.1, 4 * rng.normal(size=(70, d))]).astype(dtype)
    np.save("z.npy", z), np.save("y.npy", y.astype(np.int32)), np.save("new.npy", new)
    np.save("new_y.npy", (np.arange(len(new)) % k).astype(np.int32))
    return z.astype(float), y, new.astype(float)


def fit(name, *more, method="point"):
    run(*FIT, "--method", method, *more, "-o", name)
    return tensors(name)


def predict(name, *more, out="p.npz"):
    run("predict", name, "--features", "new.npy", *more, "-o", out)
    return dict(np.load(out))


def unit(z):
    length = np.linalg.norm(z, axis=1, keepdims=True)
    return z / np.where(length > 0, length, 1)


def covariance(x):
    """Of rows whose mean is 0, with the floor under its eigenvalues."""
    try:
        from sklearn.covariance import EmpiricalCovariance
        C = EmpiricalCovariance(assume_centered=True).fit(x).covariance_
    except ImportError:
        C = x.T @ x / len(x)
    values, vectors = np.linalg.eigh(C)
    return (vectors * np.maximum(values, 1e-6 * values.max())) @ vectors.T


def mahalanobis(z, y, new):
    means = np.stack([z[y == k].mean(0) for k in np.unique(y)])
    within = np.linalg.inv(covariance(z - means[np.searchsorted(np.unique(y), y)]))
    total = np.linalg.inv(covariance(z - z.mean(0)))
    d = new[:, None] - means
    mds = -np.einsum("nki,ij,nkj->nk", d, within, d).min(1)
    d = new - z.mean(0)
    return mds, mds + np.einsum("ni,ij,nj->n", d, total, d)


def lse(f):
    return f.max(1) + np.log(np.exp(f - f.max(1, keepdims=True)).sum(1))


def vim(arrays, z, new):
    W, b = arrays["theta_W"].astype(float), arrays["theta_b"].astype(float)
    o = -np.linalg.pinv(W, rcond=1e-3) @ b
    D = z.shape[1]
    q = 1000 if D >= 2048 else 256 if D >= 512 else D // 2
    values, vectors = np.linalg.eigh((z - o).T @ (z - o) / len(z))
    outside = vectors[:, :D - q]
    alpha = (z @ W.T + b).max(1).mean() / np.linalg.norm((z - o) @ outside, axis=1).mean()
    return lse(new @ W.T + b) - alpha * np.linalg.norm((new - o) @ outside, axis=1)


def expected(arrays, names, z, y, new):
    f = new @ arrays["theta_W"].T.astype(float) + arrays["theta_b"]
    out = {"maxlogit": f.max(1), "energy": lse(f), "msp": np.exp(f.max(1) - lse(f)), "vim": vim(arrays, z, new)}
    for more, a, b in (("", z, new), ("++", unit(z), unit(new))):
        if "mds" + more in names:
            out["mds" + more], out["rmds" + more] = mahalanobis(a, y, b)
    bank = arrays["score_bank"].astype(float)
    out["knn"] = -np.sort(np.linalg.norm(unit(new)[:, None] - bank, axis=2), axis=1)[:, min(50, len(bank)) - 1]
    return out


def close(found, wanted):
    return abs(found - wanted).max() <= 1e-8 * max(1, abs(wanted).max())


@cases_of([("point", "point", np.float32), ("sgld, half precision", "sgld", np.float16), ("laplace", "laplace", np.float32), ("dropout", "dropout", np.float32)])
def every_score_is_that_of_numpy(method, dtype):
    z, y, new = problem(dtype=dtype)
    more = {"sgld": ("--samples", 5), "dropout": ("--epochs", 1, "--samples", 5)}.get(method, ())
    arrays, meta = fit("e.safetensors", "--scores", "all", *more, method=method)
    check(meta["scores"] == ",".join(SCORES), meta)
    check(method != "point" or (arrays["W"][0] == arrays["theta_W"]).all(), "theta* is not that of the point")
    p, wanted = predict("e.safetensors"), expected(arrays, SCORES, z, y, new)
    for name in SCORES:
        check(p[name].dtype == np.float64 and close(p[name], wanted[name]), (name, abs(p[name] - wanted[name]).max()))
    bank, rows = arrays["score_bank"], unit(z).astype(np.float32).astype(np.float16)
    check(bank.dtype == np.float16 and bank.shape == (90, 12), bank.shape)
    places = [np.flatnonzero((rows == row).all(1)) for row in bank]
    check(all(len(at) for at in places) and len({at[0] for at in places}) > 80, "the bank holds rows that are none of training")
    other = tensors("e.safetensors")[0]["score_bank"]
    check((fit("other.safetensors", "--scores", "knn", "--seed", 1)[0]["score_bank"] != other).any(), "the bank does not depend on the seed")


@cases_of([("K > N", 7, 4, 9), ("D > N", 14, 40, 3), ("a class of one row", 31, 3, 30), ("one feature", 60, 1, 3), ("more classes than a tile", 900, 3, 300)])
def hard_shapes_are_right_or_said(n, d, k):
    z, y, new = problem(n, d, k)
    new[0] = 0
    np.save("new.npy", new.astype(np.float32))
    y = np.minimum(y, k - 2)  # the last class has no row
    np.save("y.npy", y.astype(np.int32))
    _, err = run(*FIT, "--method", "point", "--scores", "all", "--classes", k, "-o", "e.safetensors")
    arrays, meta = tensors("e.safetensors")
    p, wanted = predict("e.safetensors"), expected(arrays, meta["scores"].split(","), z, y, new)
    for name in SCORES:
        there = name in meta.get("scores", "").split(",")
        check(there == (name in p) and (there or f"{name}" in err), (name, err))
        if there:
            check(np.isfinite(p[name]).all(), name)
            check(abs(p[name] - wanted[name]).max() <= 1e-6 * max(1, abs(wanted[name]).max()), (name, p[name], wanted[name]))


@case
def rows_that_do_not_vary_are_said():
    problem(n=40, d=3, k=4)
    np.save("z.npy", np.eye(4, 3, dtype=np.float32)[np.arange(40) % 4] + 0.1)
    _, err = run(*FIT, "--method", "point", "--scores", "mds,rmds++,energy", "-o", "e.safetensors")
    check("mds left out" in err and "rmds++ left out" in err and "within classes" in err, err)
    check(tensors("e.safetensors")[1]["scores"] == "energy", err)
    _, err = run(*FIT, "--method", "point", "--scores", "mds", "-o", "none.safetensors")
    check("scores" not in tensors("none.safetensors")[1], "an empty list of scores")
    predict("none.safetensors")
    np.save("z.npy", np.ones((40, 3), np.float32))
    _, err = run(*FIT, "--method", "point", "--scores", "all", "-o", "e.safetensors")
    p = predict("e.safetensors")
    check(all(np.isfinite(a).all() for a in p.values() if a.dtype.kind == "f"), "not finite")


@case
def bits_do_not_depend_on_threads_blocks_or_parts():
    z, y, new = problem(n=2000, d=70)
    more = ("--method", "bootstrap", "--samples", 4, "--epochs", 1, "--scores", "all")
    run(*FIT, *more, "--threads", 1, "-o", "one.safetensors")
    run(*FIT, *more, "--threads", 3, "-o", "three.safetensors")
    one = open("one.safetensors", "rb").read()
    check(one == open("three.safetensors", "rb").read(), "threads")
    for part in ("1/2", "2/2"):
        run(*FIT, *more, "--part", part, "-o", "parts.safetensors")
    run("merge", "parts.safetensors")
    check(one == open("parts.safetensors", "rb").read(), "parts")
    whole = predict("one.safetensors", "--threads", 1)
    for flags in (("--threads", 3), ("--block", 7), ("--no-probs",)):
        again = predict("one.safetensors", *flags)
        check(all((whole[name] == again[name]).all() for name in SCORES), flags)
    for part in ("1/2", "2/2"):
        run("predict", "one.safetensors", "--features", "new.npy", "--part", part, "-o", "q.npz")
    run("merge", "q.npz")
    check(all((whole[name] == np.load("q.npz")[name]).all() for name in SCORES), "parts of predictions")
    np.save("new.npy", new[41:42].astype(np.float32))
    check(all(predict("one.safetensors")[name][0] == whole[name][41] for name in SCORES), "a row alone")


@case
def rows_in_many_files_have_the_same_scores():
    z, y, _ = problem(n=40000, d=70)
    np.savez("head.npz", W=np.random.default_rng(0).normal(size=(5, 70)).astype(np.float32), b=np.arange(5, dtype=np.float32))
    more = ("--method", "point", "--head", "head.npz", "--scores", "all")
    run(*FIT, *more, "-o", "one.safetensors")
    for i in range(4):
        np.save(f"part-{i}.npy", np.load("z.npy")[11000 * i:11000 * (i + 1)])
    run("fit", "--features", "part-*.npy", "--labels", "y.npy", *more, *LITTLE, "-o", "files.safetensors")
    a, b = tensors("one.safetensors")[0], tensors("files.safetensors")[0]
    check(all((a[name] == b[name]).all() for name in a), "other bits")


@case
def scores_go_where_confidences_go():
    problem()
    fit("e.safetensors", "--scores", "rmds++,msp")
    run("predict", "e.safetensors", *ROWS, "-o", "rows.npz")
    run("predict", "e.safetensors", "--features", "new.npy", "-o", "out.npz")
    p = np.load("rows.npz")
    check("rmds++" in p and "mds" not in p, p.files)
    out, _ = run("evaluate", "rows.npz", "--ood", "out.npz", "--json")
    found = json.loads(out)
    a, b = p["rmds++"], np.load("out.npz")["rmds++"]
    auroc = ((a[:, None] > b).mean() + 0.5 * (a[:, None] == b).mean())
    check(abs(found["ood"]["auroc"]["rmds++"] - auroc) < 1e-12, (found["ood"]["auroc"], auroc))
    lo, hi = found["intervals"]["ood"]["auroc"]["rmds++"]
    check(lo < auroc < hi and found["ood"]["auroc"]["mds"] is None, found["ood"])
    shown = [found["aurc"][c] for c in ("sr",) if found["aurc"][c] is not None]
    check(found["min_aurc"] == min(shown), "a score entered min AURC")
    text, _ = run("evaluate", "rows.npz")
    check("rmds++" in text and "maxlogit" not in text, text)
    run("threshold", "rows.npz", "--risk", 0.3, "--by", "rmds++")
    _, err = run("predict", "e.safetensors", "--features", "new.npy", "--by", "rmds++", "--threshold", 0, "-o", "q.npz")
    q = np.load("q.npz")
    check((q["abstain"] == (q["rmds++"] < 0)).all() and "rmds++" in err, err)
    run("certify", "rows.npz", "--risk", 0.5, "--by", "msp", "--save", "e.safetensors")
    _, err = run("predict", "e.safetensors", "--features", "new.npy", "-o", "q.npz")
    check("certificate" in err and "abstain" in np.load("q.npz"), err)
    run("calibrate", "e.safetensors", "--features", "new.npy", "--labels", "new_y.npy", "--force", "-o", "c.safetensors")
    check((predict("c.safetensors")["rmds++"] == predict("e.safetensors")["rmds++"]).all(), "calibration changed a score")
    run("report", "rows.npz", "-o", "page.html")
    page = open("page.html").read()
    check("rmds++" in page and "c13" in page, "the page has no score")
    run("predict", "e.safetensors", "--features", "new.npy", "-o", "q.csv")
    check("rmds++" in open("q.csv").readline(), open("q.csv").readline())
    for text in (["inspect", "e.safetensors"],):
        out, _ = run(*text)
        check("rmds++" in out, out)


@case
def compare_shows_a_score_once():
    z, y, new = problem()
    z, y, new = np.load("z.npy"), np.load("y.npy"), np.load("new.npy")
    np.savez("all.npz", features_train=z[:600], labels_train=y[:600], features_val=z[600:700], labels_val=y[600:700],
             features_test=z[700:], labels_test=y[700:], features_out=new[30:])
    few = ("compare", "--features", "all.npz", "--samples", 2, "--epochs", 1)
    out, _ = run(*few)
    check(out.count("AUROC rmds++ ") == 1 and "energy" not in out, out)
    rows = json.loads(run(*few, "--json")[0])
    check(rows["recommendation"]["criterion"] == "aurc_sr", rows["recommendation"])
    out, _ = run(*few, "--scores", "energy,knn")
    check(out.count("AUROC energy ") == 1 and out.count("AUROC knn ") == 1 and "rmds" not in out, out)
    check("Of features alone" not in run(*few, "--scores", "none")[0], "--scores none shows one")


@case
def without_theta_the_members_are_meant():
    z, y, new = problem()
    fit("e.safetensors", "--scores", "energy", "--samples", 3, method="sgd")
    arrays, meta = tensors("e.safetensors")
    W, b = arrays["W"].astype(float).mean(0).astype(np.float32), arrays["b"].astype(float).mean(0).astype(np.float32)

    def rename(header, data):
        header["old_W"], header["old_b"] = header.pop("theta_W"), header.pop("theta_b")

    rewrite("e.safetensors", "m.safetensors", rename)
    check(close(predict("m.safetensors")["energy"], lse(new @ W.T.astype(float) + b)), "not the mean of the members")


@case
def what_cannot_be_is_said():
    problem()
    fails(USAGE, *FIT, "--scores", "mds,rdms", "-o", "e.safetensors", words=("rdms", "rmds++"))
    fails(USAGE, *FIT, "--scores", "", "-o", "e.safetensors", words=("scores",))
    fails(USAGE, *FIT, "--scores", "knn", "--layers", 2, "-o", "e.safetensors", words=("layers",))
    fit("e.safetensors", "--scores", "knn")
    fails(USAGE, "predict", "e.safetensors", "--features", "new.npy", "--by", "vim", "--threshold", 0, "-o", "q.npz", words=("vim", "--scores"))
    check("scores" not in fit("none.safetensors", "--scores", "none")[1], "none")


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
        data[at:at + 8] = np.float64(x).tobytes()
    return change


def meta(text):
    def change(header, data):
        header["__metadata__"]["scores"] = text
    return change


@cases_of([("no bank", FORMAT, drop("score_bank"), "score_bank"), ("no alpha", FORMAT, drop("score_alpha"), "score_alpha"),
           ("no theta_b", FORMAT, drop("theta_b"), "theta_b"), ("another shape", FORMAT, shape("score_within", 6, 24), "score_within"),
           ("NaN", DATA, value("score_mean", np.nan), "finite"), ("infinite", DATA, value("score_alpha", np.inf), "finite"),
           ("unknown score", FORMAT, meta("mds,odin"), "odin"), ("empty", FORMAT, meta(""), "scores"), ("none", FORMAT, meta("none"), "scores")])
def a_bad_file_is_refused(code, change, word):
    problem()
    fit("e.safetensors", "--scores", "all")
    rewrite("e.safetensors", "bad.safetensors", change)
    fails(code, "predict", "bad.safetensors", "--features", "new.npy", "-o", "q.npz", words=(word,))


main()
