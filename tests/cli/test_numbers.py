# SPDX-License-Identifier: MIT
"""Numbers where floating point ends: gaps of thousands between logits, ties, and probabilities of few bits. The oracle is numpy's longdouble,
whose range of 1e-4932 holds every probability here as it is, without logarithms of our kind. Weights and features are small multiples of
powers of two, so that every logit is exact."""
import json
import struct

import numpy as np

import samples
from tap import case, cases_of, check, main, run
from tensors import rewrite, tensors

WIDE = np.longdouble
wide_enough = np.finfo(WIDE).tiny < WIDE("1e-4900")


def near(found, expected, relative, what, absolute=0):
    found, expected = np.asarray(found, WIDE), np.asarray(expected, WIDE)
    bad = ~(abs(found - expected) <= relative * abs(expected) + absolute)
    if bad.any():
        at = int(np.argmax(bad.ravel()))
        raise AssertionError(f"{what}[{at}] is {found.ravel()[at]!r}, expected {expected.ravel()[at]!r}")


def softmax(logits):
    e = np.exp(logits.astype(WIDE) - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Oracle:
    """Everything about logits [S,N,K], one definition each."""

    def __init__(self, logits, truth):
        p = softmax(logits)
        rows = np.arange(p.shape[1])
        self.p_hat = p.mean(0)
        self.label = self.p_hat.argmax(-1)
        others = self.p_hat.copy()
        others[rows, self.label] = 0
        own = p.copy()
        own[:, rows, self.label] = 0
        tails = own.sum(-1)                                  # [S,N] 1 - p(label) of each member
        self.tail, second = others.sum(-1), others.max(-1)
        self.margin_tail = self.tail + second
        self.log_true = np.log(self.p_hat[rows, truth])
        self.brier = ((self.p_hat - (np.arange(p.shape[2]) == truth[:, None])) ** 2).sum(-1)
        self.running = [-np.log(p[:s + 1].mean(0)[rows, truth]).mean() for s in range(len(p))]
        mean = tails.mean(0)
        self.std = np.sqrt(((tails - mean) ** 2).mean(0))
        self.maxmin = tails.max(0) - tails.min(0)
        log1p = np.log1p(-np.minimum(self.tail, WIDE(0.75)))
        top = np.where(self.tail < 0.5, -(1 - self.tail) * log1p, -self.p_hat.max(-1) * np.log(self.p_hat.max(-1)))
        self.entropy = top - (others * np.log(np.maximum(others, np.finfo(WIDE).tiny))).sum(-1)
        small = np.finfo(WIDE).tiny
        gain = (p * np.log(np.maximum(p, small) / np.maximum(self.p_hat, small))).mean(0)
        gain[rows, self.label] = np.where(self.tail < 1e-7, tails.var(0) / 2, gain[rows, self.label])  # log1p in the second order
        self.mi = gain.sum(-1)
        self.wrong = self.label != truth


def aurc(unsure, wrong):
    """The mean over points of the error rate among those that are as sure or surer; tied points go together."""
    value, group = np.unique(unsure, return_inverse=True)
    accepted, errors = np.cumsum(np.bincount(group)), np.cumsum(np.bincount(group, weights=wrong))
    return float(np.mean((errors / accepted)[group]))


def problem(n, d, k, s, size, seed=3):
    """Features, and a head for each of s members, whose logits reach `size`. Rows where members are sure of different classes are left out:
    their mean is a multiple of 1/s but for what no f64 holds, and rounding would decide about labels and ranks."""
    rng = np.random.default_rng(seed)
    z = (rng.integers(-4096, 4096, (9 * n, d)) / 4096).astype(np.float32)
    z *= np.float32(2) ** rng.integers(-6, 1, (9 * n, 1))  # rows from almost sure of nothing to sure of everything
    common = rng.integers(-32, 32, (k, d))
    unit = 2.0 ** np.round(np.log2(size / (40 * np.sqrt(d))))
    W = np.stack([(common + rng.integers(-3, 4, (k, d))) * unit for _ in range(s)]).astype(np.float32)
    b = np.zeros((s, k), np.float32)
    logits = np.einsum("skd,nd->snk", W.astype(np.float64), z.astype(np.float64))
    clear = np.flatnonzero((logits.argmax(-1) == logits.argmax(-1)[0]).all(0) | (abs(logits).max((0, 2)) < 15))[:n]
    check(len(clear) == n, "too few rows")
    z, logits = z[clear], logits[:, clear]
    ranks = np.argsort(-logits.mean(0), -1)
    truth = ranks[np.arange(n), np.where(rng.random(n) < .3, rng.integers(0, k, n), 0)]
    np.save("z.npy", z)
    np.save("y.npy", truth)
    return z, W, b, logits, truth


def ensemble(path, W, b):
    """An ensemble file with these members."""
    S, K, D = W.shape
    rng = np.random.default_rng(1)
    np.save("any_z.npy", rng.standard_normal((4 * K, D)).astype(np.float32))
    np.save("any_y.npy", np.arange(4 * K) % K)
    np.savez("any_head.npz", W=W[0], b=b[0])
    method = ("--method", "point") if S == 1 else ("--method", "sgd", "--samples", S, "--lr", "1e-9")
    run("fit", "--features", "any_z.npy", "--labels", "any_y.npy", "--head", "any_head.npz", "--head-layout", "kd", *method, "-o", path)

    def put(header, arrays):
        for name, x in (("W", W), ("b", b)):
            begin, end = header[name]["data_offsets"]
            check(end - begin == x.nbytes, f"{name} has {end - begin} bytes")
            arrays[begin:end] = x.tobytes()
    rewrite(path, path, put)


def evaluated(*arguments):
    return json.loads(run("evaluate", *arguments, "--json")[0])


def check_arrays(found, o, digits):
    check((found["label"] == o.label).all(), "labels")
    near(found["sr_logtail"], np.log(o.tail), digits, "sr_logtail", digits)
    near(found["margin_logtail"], np.log(o.margin_tail), digits, "margin_logtail", digits)
    near(found["log_true"], o.log_true, digits, "log_true", digits)
    near(-found["mi"], o.mi, 1e-4, "mi", 1e-9 * o.tail + WIDE("1e-305"))
    for name in ("std", "maxmin", "entropy"):  # numbers of f64, down to its end
        near(-found[name], getattr(o, name), 1e-6, name, 1e-6 * o.tail + WIDE("1e-305"))


def check_metrics(found, o, digits, ranks=1e-9):
    near(found["nll"], -o.log_true.mean(), digits, "nll")
    near(found["brier"], o.brier.mean(), 1e-6, "brier", 1e-9)
    for name, unsure in (("sr", o.tail), ("margin", o.margin_tail)):
        near(found["aurc"][name], aurc(unsure, o.wrong), ranks, f"AURC({name})")


GAPS = [(f"logits of {size:g}", size) for size in (100, 400, 1000, 10000)]


@cases_of(GAPS)
def predict_is_exact(size):
    """predict, and evaluate of its file, against the plain definitions; most rows are far beyond what probabilities of f64 hold."""
    _, W, b, logits, truth = problem(400, 8, 6, 4, size)
    o = Oracle(logits, truth)
    check((o.tail < WIDE("1e-66")).mean() > {100: -1, 400: 0, 1000: .05, 10000: .3}[size], "the problem is not saturated")
    ensemble("e.safetensors", W, b)
    run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "p.npz")
    found = np.load("p.npz")
    check_arrays(found, o, 1e-6)
    near(found["running"][:, 1], o.running, 1e-6, "running NLL")
    result = evaluated("p.npz")
    check_metrics(result, o, 1e-6)
    near(result["nll"], found["running"][-1, 1], 1e-12, "nll against running")
    for level in ("ref", "base"):
        run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "l.npz", env={"LASTLAYER_ISA": level})
        check_arrays(np.load("l.npz"), o, 1e-6)
    for words in (("--block", "1"), ("--block", "64", "--threads", "3")):
        run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", *words, "-o", "again.npz")
        again = np.load("again.npz")
        for name in found.files:
            check(found[name].tobytes() == again[name].tobytes(), f"{name} differs with {' '.join(words)}")


@cases_of(GAPS)
def logits_are_exact(size):
    _, _, _, logits, truth = problem(400, 8, 6, 4, size)
    for name, x in (("members", logits), ("one", logits[0])):
        np.save("logits.npy", x)
        o = Oracle(x.reshape(-1, *logits.shape[1:]), truth)
        check_metrics(evaluated("--logits", "logits.npy", "--labels", "y.npy"), o, 1e-12)


@case
def compare_is_exact():
    """The point method keeps the given head: compare's NLL and AURC are those of its logits."""
    z, W, b, logits, truth = problem(300, 8, 5, 1, 2000)
    o = Oracle(logits, truth)
    np.savez("head.npz", W=W[0], b=b[0])
    out, _ = run("compare", "--features", "z.npy", "--labels", "y.npy", "--head", "head.npz", "--test-features", "z.npy",
                 "--test-labels", "y.npy", "--samples", "2", "--epochs", "1", "--lr", "1e-6", "--json", "--predictions", ".",
                 "--protocol", "paper", "--temperature", "none")
    point = next(row for row in json.loads(out)["methods"] if row["method"] == "point")["evaluation"]
    near(point["nll"], -o.log_true.mean(), 1e-6, "nll")
    near(point["aurc"]["sr"], aurc(o.tail, o.wrong), 1e-9, "AURC(sr)")
    check_metrics(evaluated("point.npz"), o, 1e-6)


@case
def features_times_sixty():
    """Saturated features in the usual way: a fitted head on features whose scale grew. AURC of sr and margin of predict and of --logits."""
    rng = np.random.default_rng(8)
    centers = rng.integers(-8, 9, (12, 16)) / 4
    y = rng.integers(0, 12, 1500)
    z = np.round((centers[y] + 2.5 * rng.standard_normal((1500, 16))) * 128) / 128
    np.save("z.npy", (z * 60).astype(np.float32))
    np.save("y.npy", y)
    W, b = (centers / 2).astype(np.float32)[None], np.zeros((1, 12), np.float32)
    ensemble("e.safetensors", W, b)
    logits = (60 * z @ centers.T / 2)[None]
    o = Oracle(logits, y)
    check((o.tail < 1e-66).mean() > .3 and .1 < o.wrong.mean() < .6, "not the problem meant")
    run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "p.npz")
    np.save("logits.npy", logits[0])
    for result in (evaluated("p.npz"), evaluated("--logits", "logits.npy", "--labels", "y.npy")):
        check_metrics(result, o, 1e-6, ranks=1e-4)  # gaps are multiples of 60/1024: a few rows differ by what f64 rounds off
    old = dict(np.load("p.npz"))
    for name in ("sr_logtail", "margin_logtail"):
        del old[name]
    np.savez("old.npz", **old)
    check(abs(evaluated("old.npz")["aurc"]["sr"] / aurc(o.tail, o.wrong) - 1) > 1e-3, "the logarithms of the tails make no difference")


@case
def nll_of_impossible_rows():
    """One feature, two classes, a gap of 110: half the rows are right, the others lose 110 nats."""
    np.save("z.npy", np.ones((2, 1), np.float32))
    np.save("y.npy", np.array([0, 1]))
    W, b = np.array([[[110], [0]]], np.float32), np.zeros((1, 2), np.float32)
    ensemble("e.safetensors", W, b)
    run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "p.npz")
    near(evaluated("p.npz")["nll"], 55, 1e-12, "nll")
    near(np.load("p.npz")["running"][0, 1], 55, 1e-12, "running nll")
    np.save("logits.npy", np.array([[110., 0], [110, 0]]))
    near(evaluated("--logits", "logits.npy", "--labels", "y.npy")["nll"], 55, 1e-12, "nll of --logits")
    np.savez("head.npz", W=W[0], b=b[0])
    out, _ = run("compare", "--features", "z.npy", "--labels", "y.npy", "--head", "head.npz", "--test-features", "z.npy",
                 "--test-labels", "y.npy", "--samples", "2", "--epochs", "1", "--lr", "1e-9", "--protocol", "paper",
                 "--temperature", "none", "--json")
    near(next(row for row in json.loads(out)["methods"] if row["method"] == "point")["evaluation"]["nll"], 55, 1e-12, "nll of compare")
    run("predict", "e.safetensors", "--features", "z.npy", "-o", "blind.npz")  # without labels: probs alone, and words that say so
    out, err = run("evaluate", "blind.npz", "--labels", "y.npy", "--json")
    check(json.loads(out)["nll"] is None and "note: 1 of 2 points give their true class a probability below 1.2e-38" in err, err)
    check("predict with these labels to get it exactly" in err and "warning: 1 of 2 points" in err and "the NLL is infinite" in err, err)


@case
def other_labels_and_old_files():
    """The log p of the true class is of the labels that predict had. For other labels, and in files of 0.1, probs is what there is."""
    _, W, b, logits, truth = problem(300, 8, 6, 3, 400)
    ensemble("e.safetensors", W, b)
    run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "p.npz")
    exact = evaluated("p.npz")
    check(evaluated("p.npz", "--labels", "y.npy") == exact, "the same labels again")
    moved = truth.copy()
    moved[7] = Oracle(logits, truth).label[7]
    np.save("moved.npy", moved)
    o = Oracle(logits, moved)
    near(evaluated("p.npz", "--labels", "moved.npy")["nll"], -o.log_true.mean(), 1e-6, "nll with one other label")
    run("predict", "e.safetensors", "--features", "z.npy", "-o", "blind.npz")
    check("log_true" not in np.load("blind.npz").files, "log_true without labels")
    out, err = run("evaluate", "blind.npz", "--labels", "y.npy", "--json")
    check("note:" in err and "single precision" in err and "predict with these labels" in err, err)
    check(json.loads(out)["nll"] is None and json.loads(out)["aurc"] == exact["aurc"], "a blind file")
    old = {name: x for name, x in np.load("p.npz").items() if name not in ("sr_logtail", "margin_logtail", "log_true")}
    np.savez("old.npz", **old)
    result = evaluated("old.npz")
    check(result["accuracy"] == exact["accuracy"] and result["ece"] == exact["ece"], "a file of 0.1")
    np.savez("old_out.npz", **old)
    run("evaluate", "p.npz", "--ood", "old_out.npz")  # one side has logarithms and the other has not


@case
def equal_logits():
    """Ten equal logits: 1/10 to the last bit, in the bin that begins there; a margin of 0, also in the mean of members that differ."""
    np.save("y.npy", np.zeros(4, int))
    for K in (2, 3, 5, 7, 10, 49, 1000):
        np.save("logits.npy", np.zeros((4, K)))
        np.save("z.npy", np.ones((4, 1), np.float32))
        ensemble("e.safetensors", np.zeros((2, K, 1), np.float32), np.zeros((2, K), np.float32))
        run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "p.npz")
        p = np.load("p.npz")
        check((p["sr"] == 1 / K).all() and (p["margin"] == 0).all() and (p["margin_logtail"] == 0).all(), f"K = {K}: sr {p['sr'][0]!r}")
        near(p["sr_logtail"], np.log(1 - WIDE(1) / K), 1e-7, "sr_logtail", 1e-15)
        for result in (evaluated("p.npz"), evaluated("--logits", "logits.npy", "--labels", "y.npy")):
            bins = [bin for bin in result["bins"] if bin["n"]]
            check(len(bins) == 1 and bins[0]["confidence"] == 1 / K and bins[0]["lo"] <= 1 / K < bins[0]["hi"], f"K = {K}: {bins}")
    # tied in the mean: each member prefers another one
    logits = np.array([[[2, 1, 0.]], [[1, 2, 0.]], [[1.5, 1.5, -1]]])
    np.save("logits.npy", logits)
    ensemble("e.safetensors", logits.transpose(0, 2, 1).astype(np.float32), np.zeros((3, 3), np.float32))
    np.save("z.npy", np.ones((1, 1), np.float32))
    run("predict", "e.safetensors", "--features", "z.npy", "-o", "p.npz")
    p = np.load("p.npz")
    check(p["margin"][0] == 0 and p["label"][0] == 0 and p["margin_logtail"][0] == 0, f"margin {p['margin'][0]!r}")


@case
def equal_members_know_nothing_of_each_other():
    """mi, std and maxmin of identical members are exactly 0, from predict, logits and probabilities, ordinary and saturated."""
    for size in (3, 4000):
        _, W, b, logits, truth = problem(300, 8, 6, 1, size)
        o = Oracle(logits, truth)
        for S in (2, 3, 7):
            ensemble("e.safetensors", np.repeat(W, S, 0), np.repeat(b, S, 0))
            run("predict", "e.safetensors", "--features", "z.npy", "-o", "p.npz")
            p = np.load("p.npz")
            for name in ("mi", "std", "maxmin", "hq"):
                check(((p[name] == 0) & ~np.signbit(p[name])).all(), f"{name} of predict, S = {S}")
            np.save("logits.npy", np.repeat(logits, S, 0))
            np.save("probs.npy", np.repeat(o.p_hat[None].astype(np.float32), S, 0))
            for words in (("--logits", "logits.npy"), ("--probs", "probs.npy")):
                result = evaluated(*words, "--labels", "y.npy")
                for name in ("mi", "std", "maxmin", "hq"):  # all tied: one threshold, whose risk is the error rate
                    near(result["aurc"][name], 1 - result["accuracy"], 1e-12, f"AURC({name}) of {words[0]}, S = {S}")


def bfloat(x):
    """f32 rounded to bf16, to nearest and even, as 16 bits."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def widen(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def write_bf16(path, x):
    header = json.dumps({"probs": {"dtype": "BF16", "shape": x.shape, "data_offsets": [0, x.nbytes]}}).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + x.tobytes())


@case
def probabilities_of_few_bits():
    """A softmax of f16 or bf16 misses the sum of 1 by its rounding: it is taken, with a note; NLL and Brier are of p / sum p, confidences as
    given."""
    rng = np.random.default_rng(2)
    n, K = 500, 40
    logits = 3 * rng.standard_normal((n, K))
    y = np.array([rng.choice(K, p=p) for p in np.asarray(softmax(logits), float)])
    np.save("y.npy", y)
    e = widen(bfloat(np.exp(logits - logits.max(1, keepdims=True))))
    bits = bfloat(e / widen(bfloat(e.sum(1, keepdims=True))))  # every step rounded, as a softmax in bf16 does it
    write_bf16("bf16.safetensors", bits)
    half = np.float16(np.exp(logits - logits.max(1, keepdims=True)))
    half = half / half.sum(1, keepdims=True, dtype=np.float32).astype(np.float16)
    check(half.dtype == np.float16, "half")
    np.save("f16.npy", half)
    for path, type, given in (("bf16.safetensors", "bf16", widen(bits)), ("f16.npy", "f16", half)):
        p = given.astype(np.float64)
        check(abs(p.sum(1) - 1).max() > 1e-3 or type == "f16", "bf16 sums to 1")
        out, err = run("evaluate", "--probs", path, "--labels", "y.npy", "--json")
        check("note:" in err and type in err and "sum p" in err, err)
        result, q = json.loads(out), p / p.sum(1, keepdims=True)
        near(result["nll"], -np.log(q[np.arange(n), y]).mean(), 1e-12, "nll")
        near(result["brier"], ((q - (np.arange(K) == y[:, None])) ** 2).sum(1).mean(), 1e-12, "brier")
        near(result["aurc"]["sr"], aurc(-p.max(1), p.argmax(1) != y), 1e-12, "AURC(sr)")
        mean = [bin["confidence"] for bin in result["bins"] if bin["n"]]
        edges = np.minimum((p.max(1) * 10).astype(int), 9)
        near(mean, [p.max(1)[edges == j].mean() for j in range(10) if (edges == j).any()], 1e-12, "bins of the confidences as given")
    np.save("wide.npy", 1.004 * p.astype(np.float32))
    _, err = run("evaluate", "--probs", "wide.npy", "--labels", "y.npy", code=5)
    check("not probabilities" in err, err)
    write_bf16("off.safetensors", bfloat(1.03 * e / e.sum(1, keepdims=True)))
    _, err = run("evaluate", "--probs", "off.safetensors", "--labels", "y.npy", code=5)
    check("not probabilities" in err, err)
    zero = np.asarray(softmax(logits), np.float64)
    zero[np.arange(n), y] = np.where(np.arange(n) == 3, 0, zero[np.arange(n), y])
    zero /= zero.sum(1, keepdims=True)
    np.save("zero.npy", zero)
    out, err = run("evaluate", "--probs", "zero.npy", "--labels", "y.npy", "--json")
    check(json.loads(out)["nll"] is None and "probability 0" in err, err)


if not wide_enough:  # longdouble is double here: the oracle cannot hold the numbers
    import sys
    print("1..0 # SKIP numpy's longdouble has no more range than double here")
    sys.exit(0)


@cases_of([("f32 [1,N]", np.float32, (1, -1)), ("f16 [N,1]", np.float16, (-1, 1)), ("f64 [N,1,1]", np.float64, (-1, 1, 1))])
def a_confidence_of_another_type_and_shape_is_converted(dtype, shape):
    samples.make()
    probs = np.load("probs.npy")
    points = {"label": probs.argmax(1), "probs": probs, "sr": probs.max(1)}
    np.savez("plain.npz", **points)
    np.savez("shaped.npz", **{**points, "sr": points["sr"].astype(dtype).reshape(shape)})
    plain, shaped = (json.loads(run("evaluate", f, "--labels", "test_labels.npy", "--json")[0]) for f in ("plain.npz", "shaped.npz"))
    check(abs(plain["aurc"]["sr"] - shaped["aurc"]["sr"]) < 2e-3 and plain["n"] == shaped["n"], "another evaluation")


main()
