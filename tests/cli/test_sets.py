# SPDX-License-Identifier: MIT
"""Conformal sets from the command line, against the same in numpy: plain loops, sorted scores, exact binomial sums in fractions."""
import csv
import json
import math
import sys
import zipfile
from fractions import Fraction

import numpy as np

import samples
from tap import SOURCE, case, cases_of, check, fails, main, run

sys.path.insert(0, str(SOURCE / "tests/oracle"))
from lib import draws  # noqa: E402

SETS, CALIBRATION, NEW = 33, 0, 1


def problem(N=400, K=11, seed=4):
    """Probabilities that are honest, of rows easy and hard, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    p = samples.softmax(rng.standard_normal((N, K)) * rng.uniform(0.2, 5, (N, 1)))
    y = (p.cumsum(1) > rng.random((N, 1)) * p.sum(1, keepdims=True)).argmax(1)
    return p, y


def write(K=11):
    p, y = problem(400, K)
    q, t = problem(300, K, seed=5)
    for name, array in {"p": p, "y": y, "q": q, "t": t}.items():
        np.save(name + ".npy", array)
    return p, y, q, t


def uniform(seed, step, n):
    lanes = draws.blocks(seed, SETS, 0, step, np.arange((n + 1) // 2)).astype(np.uint64)
    bits = np.stack([lanes[:, 0] | lanes[:, 1] << np.uint64(32), lanes[:, 2] | lanes[:, 3] << np.uint64(32)], 1).ravel()[:n]
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def scores(p, score, step, seed=0):
    """[N,K]: how strange each class is."""
    if score == "lac":
        return -p  # the order of 1 - p
    out, u = np.empty_like(p), uniform(seed, step, len(p))
    for i, row in enumerate(p):
        before = 0.0
        for place, k in enumerate(sorted(range(len(row)), key=lambda k: -row[k]), 1):
            out[i, k] = before + (1 - u[i]) * row[k] + (0.01 * max(0, place - 5) if score == "raps" else 0)
            before += row[k]
    return out


def plain_rank(n, alpha):
    return math.ceil((n + 1) * (1 - Fraction(str(alpha))))


def pac_rank(n, alpha, confidence):
    """The least rank with P[Bin(n, 1-alpha) <= rank - 1] >= confidence."""
    p, total = 1 - Fraction(str(alpha)), Fraction(0)
    for rank in range(1, n + 1):
        total += math.comb(n, rank - 1) * p ** (rank - 1) * (1 - p) ** (n - rank + 1)
        if total >= Fraction(str(confidence)):
            return rank
    return n + 1


def quantile(s, rank):
    return np.sort(s)[rank - 1] if rank <= len(s) else np.inf


def expected(p, y, q, score="lac", alpha=0.1, seed=0, by_class=False, allow_empty=False, rank=plain_rank):
    N, K = p.shape
    own = scores(p, score, CALIBRATION, seed)[np.arange(N), y]
    cut, few = np.full(K, quantile(own, rank(N, alpha))), []
    for k in range(K if by_class else 0):
        mine = own[y == k]
        if rank(len(mine), alpha) <= len(mine):
            cut[k] = quantile(mine, rank(len(mine), alpha))
        else:
            few.append(k)
    found = scores(q, score, NEW, seed) <= cut
    if not allow_empty:
        found[np.arange(len(q)), q.argmax(1)] = True
    return found, few, cut


def sets(*more, probs="p.npy", labels="y.npy", apply="q.npy"):
    """The sets [N,K] and what was printed as JSON."""
    out, err = run("sets", "--probs", probs, "--labels", labels, "--apply", apply, "-o", "s.npz", "--json", *more)
    d = json.loads(out)
    with np.load("s.npz") as f:
        bits = np.unpackbits(f["set"], axis=1, bitorder="little")
        check(f["set"].shape[1] == (d["classes"] + 7) // 8 and not bits[:, d["classes"]:].any(), "bits behind the last class")
        check((bits.sum(1) == f["set_size"]).all() and f["set_size"].dtype == np.int32, "set_size")
    return bits[:, :d["classes"]].astype(bool), d, err


@cases_of([(f"{s} {a} {' '.join(more)}", s, a, more) for s in ("lac", "aps", "raps") for a in (0.1, 0.3)
           for more in ((), ("--allow-empty",), ("--by-class",), ("--by-class", "--allow-empty", "--seed", "7"))])
def as_numpy_makes_them(score, alpha, more):
    p, y, q, t = write()
    want, few, cut = expected(p, y, q, score, alpha, 7 if "7" in more else 0, "--by-class" in more, "--allow-empty" in more)
    found, d, _ = sets("--score", score, "--alpha", alpha, "--apply-labels", "t.npy", *more)
    check((found == want).all(), f"{(found != want).sum()} classes differ")
    check(d["few"] == few and d["rank"] == plain_rank(len(p), alpha), str(d["few"]))
    shift = 1 if score == "lac" else 0
    check(np.allclose([c["quantile"] for c in d["per_class"]], cut + shift, rtol=1e-12), "quantiles")
    covered = want[np.arange(len(t)), t]
    check(d["covered"] == covered.sum() and abs(d["coverage"] - covered.mean()) < 1e-15, "coverage")
    check(abs(d["mean_size"] - want.sum(1).mean()) < 1e-12, "mean size")
    for row in d["by_size"]:
        of = want.sum(1) == row["size"]
        check(row["n"] == of.sum() and row["covered"] == covered[of].sum(), f"size {row}")
    check(sum(row["n"] for row in d["by_size"]) == len(q), "sizes")
    for k, row in enumerate(d["per_class"]):
        check(row["class"] == k and row["n"] == (t == k).sum() and row["covered"] == covered[t == k].sum(), f"class {row}")
        check(row["n_calibration"] == (y == k).sum(), "calibration rows of a class")
    n, z, share = len(t), 1.959963984540054, covered.mean()
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    check(np.allclose(d["interval"], [(middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)], rtol=1e-9), "Wilson")


@cases_of([(s, s) for s in ("lac", "aps", "raps")])
def nested_in_alpha(score):
    write()
    for more in ((), ("--by-class",), ("--confidence", 0.9)):
        before, few = None, []
        for alpha in (0.01, 0.05, 0.1, 0.2, 0.4):
            found, d, _ = sets("--score", score, "--alpha", alpha, "--allow-empty", *more)
            more_of = found & ~before if before is not None else np.zeros_like(found)
            more_of[:, [k for k in few if k not in d["few"]]] = False  # these have a quantile of their own only now
            check(not more_of.any(), f"alpha {alpha} has classes that a smaller one has not")
            before, few = found, d["few"]


@case
def order_of_calibration_rows():
    p, y, _, _ = write()
    found, _, _ = sets()
    order = np.random.default_rng(1).permutation(len(y))
    np.save("p2.npy", p[order]), np.save("y2.npy", y[order])
    again, _, _ = sets(probs="p2.npy", labels="y2.npy")
    check((found == again).all(), "sets depend on the order of the calibration rows")


@cases_of([(f"{n} {a} {c}", n, a, c) for n in (50, 400) for a in (0.05, 0.1) for c in (0.5, 0.9, 0.99)])
def with_a_confidence(n, alpha, confidence):
    p, y, q, _ = write()
    np.save("p.npy", p[:n]), np.save("y.npy", y[:n])
    found, d, err = sets("--alpha", alpha, "--confidence", confidence)
    rank = pac_rank(n, alpha, confidence)
    check(d["rank"] == rank, f"rank {d['rank']} in place of {rank}")
    want, _, _ = expected(p[:n], y[:n], q, alpha=alpha, rank=lambda m, a: pac_rank(m, a, confidence))
    check((found == want).all(), "sets")
    least = next(m for m in range(1, 1000) if (1 - Fraction(str(alpha))) ** m <= 1 - Fraction(str(confidence)))
    check(d["needed"] == least and ("too few" in err) == (n < least), err)


@case
def too_few_rows():
    p, y, _, _ = write()
    np.save("p.npy", p[:8]), np.save("y.npy", y[:8])
    found, d, err = sets("--alpha", 0.1)
    check(found.all() and "needs 9" in err and "all classes" in err and d["quantile"] is None, err)
    check("all classes" in d["statement"], d["statement"])
    np.save("p.npy", p[:9]), np.save("y.npy", y[:9])
    found, d, err = sets("--alpha", 0.1)
    check(not found.all() and not err and d["needed"] == 9, err)


@case
def classes_with_few_rows():
    p, y, q, _ = write()
    keep = np.flatnonzero((y != 3) | (np.cumsum(y == 3) <= 2))
    np.save("p.npy", p[keep]), np.save("y.npy", y[keep])
    found, d, err = sets("--by-class")
    check(d["few"] == [3] and "1 of 11 classes" in err and err.rstrip().endswith(": 3."), err)
    check(d["per_class"][3]["quantile"] == d["quantile"], "the quantile of all rows stands in")


@case
def empty_sets():
    write()
    found, d, _ = sets("--alpha", 0.7, "--apply-labels", "t.npy", "--allow-empty")
    check((found.sum(1) == 0).any() and d["by_size"][0]["size"] == 0 and d["by_size"][0]["covered"] == 0, "no empty set")
    full, e, _ = sets("--alpha", 0.7, "--apply-labels", "t.npy")
    check(full.sum(1).min() == 1 and not (found & ~full).any() and e["coverage"] >= d["coverage"], "the first class is always in")


@case
def predictions_and_files():
    data = samples.make()
    run(*samples.FIT, "--method", "sgd", "--samples", 4, "-o", "e.safetensors")
    run("calibrate", "e.safetensors", "--features", "val_features.npy", "--labels", "val_labels.npy", "-o", "c.safetensors")
    run("predict", "c.safetensors", "--features", "val_features.npy", "-o", "v.npz")
    run("predict", "c.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "-o", "t.npz")
    out, err = run("sets", "v.npz", "--labels", "val_labels.npy", "--apply", "t.npz", "-o", "s.npz")
    check("coverage" in out and "true class" in out and not err, out + err)
    v, t = np.load("v.npz")["probs"].astype(float), np.load("t.npz")["probs"].astype(float)
    want, _, cut = expected(v, data["val_labels"], t)
    found = np.unpackbits(np.load("s.npz")["set"], axis=1, bitorder="little")[:, :samples.K].astype(bool)
    check((found == want).all(), "sets of calibrated predictions")
    meta = json.loads(zipfile.ZipFile("s.npz").comment)
    check(meta["score"] == "lac" and float(meta["alpha"]) == 0.1 and meta["seed"] == "0", str(meta))
    check(meta["calibration_rows"] == str(samples.N) and meta["format"] == "lastlayer-sets-1", str(meta))
    check(np.isclose(float(meta["quantile"]), 1 + cut[0], rtol=1e-12) and "confidence" not in meta, str(meta))
    run("sets", "v.npz", "--labels", "val_labels.npy", "--apply", "t.npz", "-o", "s.csv", "--score", "aps", "--by-class")
    want, _, _ = expected(v, data["val_labels"], t, "aps", by_class=True)
    with open("s.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    check([[int(k) for k in r["set"].split()] for r in rows] == [list(np.flatnonzero(w)) for w in want], "classes in .csv")
    check([int(r["set_size"]) for r in rows] == list(want.sum(1)), "set_size in .csv")
    run("predict", "e.safetensors", "--features", "test_features.npy", "-o", "u.npz")
    out, err = run("sets", "v.npz", "--labels", "val_labels.npy", "--apply", "u.npz")
    check("different ensembles" in err and "coverage" not in out, out + err)
    _, err = run("sets", "t.npz", "--apply", "t.npz")
    check("the new rows are the calibration rows" in err, err)


@cases_of([(s, s) for s in ("lac", "raps")])
def threads(score):
    p, y = problem(3000, 20)
    np.save("p.npy", p), np.save("y.npy", y)
    np.save("q.npy", problem(3000, 20, seed=5)[0])
    found = []
    for t in (1, 2, 3):
        run("sets", "--probs", "p.npy", "--labels", "y.npy", "--apply", "q.npy", "--score", score, "--by-class", "--threads", t, "-o",
            f"{t}.npz")
        with open(f"{t}.npz", "rb") as f:
            found.append(f.read())
    check(found[0] == found[1] == found[2], "the sets depend on --threads")


@case
def refusals():
    p, y, q, t = write()
    words = ("sets", "--probs", "p.npy", "--labels", "y.npy", "--apply", "q.npy")
    np.save("narrow.npy", samples.softmax(np.zeros((5, 3))))
    q[2, 1] = np.nan
    np.save("nan.npy", q)
    fails(5, *words[:-1], "narrow.npy", words=["3 classes", "11"])
    fails(5, *words[:-1], "nan.npy", words=["NaN", "row 2"])
    fails(5, "sets", "--probs", "nan.npy", "--labels", "t.npy", "--apply", "q.npy", words=["NaN", "row 2"])
    for bad in (0, 1, -0.1, 1.5, "nan"):
        fails(2, *words, "--alpha", bad, words=["--alpha"])
        fails(2, *words, "--confidence", bad, words=["--confidence"])
    fails(2, *words, "--score", "best", words=["lac|aps|raps"])
    fails(2, "sets", "--probs", "p.npy", "--apply", "q.npy", words=["--labels"])
    fails(2, "sets", "--probs", "p.npy", "--labels", "y.npy", words=["--apply"])
    fails(2, "sets", "--apply", "q.npy", words=["PREDICTIONS"])
    fails(5, *words, "--apply-labels", "y.npy", words=["300"])
    fails(2, *words, "-o", "p.npy", words=["p.npy"])
    fails(2, *words, "-o", "s.unknown", words=["s.unknown"])
    run(*words, "-o", "s.npz")
    fails(5, "evaluate", "s.npz", "--labels", "t.npy", words=["sets of classes", "--apply-labels"])
    samples.make()
    run(*samples.FIT, "--method", "point", "-o", "e.safetensors")
    run("predict", "e.safetensors", *samples.PREDICT, "-o", "none.npz")
    run("predict", "e.safetensors", *samples.PREDICT, "--no-probs", "--labels", "test_labels.npy", "-o", "bare.npz")
    fails(2, "sets", "none.npz", "--apply", "none.npz", words=["no true labels", "--labels"])
    fails(5, "sets", "bare.npz", "--apply", "none.npz", words=["no probs", "--no-probs"])


if __name__ == "__main__":
    main()
