# SPDX-License-Identifier: MIT
"""Promises other than one risk at one cut: a cut for each class, costs, coverage, out-of-distribution rows. The oracle is scipy, on the counts that
the certificate itself lists and on counts of numpy."""
import json

import numpy as np
from scipy.special import log_softmax
from scipy.stats import beta, binom

from tap import case, cases_of, check, data_folder, fails, main, run

N, K = 3000, 4
COSTS = np.array([[0, 2, 2, 2], [4, 0, 2, 2], [4, 2, 0, 2], [10, 8, 8, 0]])


def near(found, expected, relative, what):
    check(abs(found - expected) <= relative * abs(expected), f"{what}: {found} in place of {expected}")


def problem():
    rng = np.random.default_rng(11)
    logits = rng.normal(size=(N, K)) * 4
    logits[:, 3] -= 9  # a class that is seldom decided
    p = np.exp(log_softmax(logits, axis=1))
    y = (p.cumsum(1) > rng.random((N, 1))).argmax(1)
    np.save("l.npy", logits), np.save("y.npy", y), np.save("costs.npy", COSTS)
    np.save("out.npy", rng.normal(size=(2000, K)))
    return logits, p, y


def certify(*words):
    return json.loads(run("certify", "--logits", "l.npy", "--labels", "y.npy", *words, "--json")[0])


def check_order(d, level, p_value):
    """Tests went in the order listed, until the first that failed, and the lowest cut that passed won."""
    tested = [t for t in d["tests"] if t["tested"]]
    check(tested == d["tests"][:len(tested)] and all(t["passed"] for t in tested[:-1]), str(d["tests"]))
    for t in tested:
        check(t["passed"] == (p_value(t) <= level), f"{t}: {p_value(t)} against {level}")
    passed = [t for t in tested if t["passed"]]
    check(d["certified"] == bool(passed), str(d["certified"]))
    if passed:
        best = min(passed, key=lambda t: t["cut"])
        check(d["cut"] == best["cut"] and d["accepted"] == best["accepted"], str(d))
        near(d["p_value"], p_value(best), 1e-9, "p_value")
        return best


@case
def a_cut_for_each_class():
    logits, p, y = problem()
    d = certify("--risk", 0.1, "--confidence", 0.9, "--per-class")
    check(d["certified"] and d["cut"] is None and [c["class"] for c in d["per_class"]] == list(range(K)), str(d)[:300])
    level, decided = 0.1 / K, logits.argmax(1)
    for k, c in enumerate(d["per_class"]):
        rows = decided == k
        check(c["n"] + c["n_proposing"] == rows.sum(), f"class {k} has {c['n']} and {c['n_proposing']} of {rows.sum()} rows")
        best = check_order(c, level, lambda t: binom.cdf(t["errors"], t["accepted"], 0.1))
        check(c["needed"] == int(np.ceil(np.log(level) / np.log(0.9))), f"{c['needed']}")
        if best:
            near(c["bound"], beta.ppf(1 - level, c["errors"] + 1, c["accepted"] - c["errors"]), 1e-9, "bound")
            whole = rows & (p.max(1) >= c["cut"])
            check(c["errors"] == best["errors"] <= (whole & (y != k)).sum() and c["accepted"] <= whole.sum(), str(c))
    check(d["accepted"] == sum(c["accepted"] for c in d["per_class"]) and d["errors"] == sum(c["errors"] for c in d["per_class"]), "sums")
    check(d["n"] + d["n_proposing"] == N and not d["per_class"][3]["certified"] and d["per_class"][0]["certified"], "who is certified")
    out, _ = run("certify", "--logits", "l.npy", "--labels", "y.npy", "--risk", 0.1, "--confidence", 0.9, "--per-class")
    check("never answered" in out and f"3: {d['per_class'][3]['n']}" in out and "for each class at most 0.1" in out, out)
    run("certify", "--logits", "l.npy", "--labels", "y.npy", "--risk", 0.1, "--per-class", "-o", "c.json")
    out, _ = run("verify", "c.json", "--logits", "l.npy", "--labels", "y.npy")
    check("matches  per_class" in out and "holds" in out, out)
    good = json.load(open("c.json"))
    good["per_class"][1]["cut"] += 1e-9
    good["per_class"][2]["errors"] += 1
    json.dump(good, open("bad.json", "w"))
    out, _ = run("verify", "bad.json", "--logits", "l.npy", "--labels", "y.npy", code=5)
    check("DIFFERS  class 1: cut:" in out and "DIFFERS  class 2: errors" in out and "2 entries differ" in out, out)
    good["per_class"].pop()
    json.dump(good, open("bad.json", "w"))
    out, _ = run("verify", "bad.json", "--logits", "l.npy", "--labels", "y.npy", code=5)
    check("3 classes in the certificate, 4 here" in out, out)
    fails(2, "certify", "--logits", "l.npy", "--labels", "y.npy", "--risk", 0.1, "--coverage", 0.5, "--per-class", words=["--per-class"])


def hoeffding_bentkus(loss, m, r):
    a = min(loss / m, r) if m else 0
    h = (a * np.log(a / r) if a else 0) + (1 - a) * np.log((1 - a) / (1 - r))
    return min(np.exp(-m * h), np.e * binom.cdf(np.ceil(loss), m, r), 1)


@cases_of([("one cut", False), ("a cut for each class", True)])
def costs(per_class):
    _, p, y = problem()
    words = ("--costs", "costs.npy", "--risk", 0.4, *(["--per-class"] if per_class else []))
    d = certify(*words)
    decided = (p @ COSTS).argmin(1)
    check(d["costs"] == COSTS.tolist() and d["label_rule"] == "costs" and d["certified"], str(d)[:300])
    for k, c in enumerate(d["per_class"]) if per_class else [(None, d)]:
        rows = decided == k if per_class else np.ones(N, bool)
        check(c["n"] + c["n_proposing"] == rows.sum(), f"{k}: {c['n']}")
        best = check_order(c, 0.05 / (K if per_class else 1), lambda t: hoeffding_bentkus(t["loss"], t["accepted"], 0.04))
        if best:
            near(c["mean_cost"], 10 * best["loss"] / best["accepted"], 1e-12, "mean cost")
            check(c["mean_cost"] < 0.4 and c["bound"] is None, str(c))
    out, _ = run("certify", "--logits", "l.npy", "--labels", "y.npy", *words, "-o", "c.json")
    check("is the mean cost of the" in out, out)
    out, _ = run("verify", "c.json", "--logits", "l.npy", "--labels", "y.npy")
    check("holds" in out, out)
    good = json.load(open("c.json"))
    other = [row[:] for row in good["costs"]]
    other[0][1] += 1
    for bad, code in (({**good, "costs": other}, 5), ({**good, "costs": other[:2]}, 4), ({**good, "costs": 3}, 4), ({**good, "costs": [[0, 2]] * 2}, 5),
                      ({**good, "costs": [["x"]]}, 4), ({**good, "risk": 11}, 4), ({**good, "risk": None}, 4)):
        json.dump(bad, open("bad.json", "w"))
        run("verify", "bad.json", "--logits", "l.npy", "--labels", "y.npy", code=code)
    for risk in (0, 10, -1, 11):
        fails(2, "certify", "--logits", "l.npy", "--labels", "y.npy", "--costs", "costs.npy", "--risk", risk, words=["between 0 and 10"])
    np.save("flat.npy", np.ones((K, K)))
    fails(2, "certify", "--logits", "l.npy", "--labels", "y.npy", "--costs", "flat.npy", "--risk", 1, words=["between 1 and 1"])
    np.save("small.npy", np.eye(2))
    fails(5, "certify", "--logits", "l.npy", "--labels", "y.npy", "--costs", "small.npy", "--risk", 0.1, words=["[4,4]"])
    fails(2, "certify", "--logits", "l.npy", "--labels", "y.npy", "--costs", "costs.npy", "--coverage", 0.5, words=["--costs", "--risk"])


@case
def coverage_and_out_of_distribution_rows():
    _, p, y = problem()
    n = N - N // 3
    d = certify("--coverage", 0.6)
    t = next(t for t in d["tests"] if t["cut"] == d["cut"])
    near(d["p_value"], binom.sf(t["accepted"] - 1, n, 0.6), 1e-9, "p_value of a coverage")
    passed = [t for t in d["tests"] if t["passed"]]
    check(d["certified"] and d["p_value"] <= 0.05 and d["cut"] == max(t["cut"] for t in passed), "a coverage alone takes the highest cut")
    out = np.exp(log_softmax(np.load("out.npy"), axis=1)).max(1)
    d = certify("--out-rate", 0.2, "--ood", "out.npy")
    check(d["certified"] and d["n_out"] == 2000 and d["accepted_out"] == (out >= d["cut"]).sum(), str(d)[:300])
    near(d["p_value"], binom.cdf(d["accepted_out"], 2000, 0.2), 1e-9, "p_value of out rows")
    d = certify("--risk", 0.1, "--coverage", 0.3, "--out-rate", 0.3, "--ood", "out.npy")
    parts = [binom.cdf(d["errors"], d["accepted"], 0.1), binom.sf(d["accepted"] - 1, n, 0.3), binom.cdf(d["accepted_out"], 2000, 0.3)]
    near(d["p_value"], max(parts), 1e-9, "the largest of three")
    near(d["bound"], beta.ppf(1 - 0.05 / 3, d["errors"] + 1, d["accepted"] - d["errors"]), 1e-9, "bound at a third of delta")
    check(max(parts) <= 0.05 / 3, f"{parts}: each promise has a third of delta")
    for t in (t for t in d["tests"] if t["tested"]):
        most = max(binom.cdf(t["errors"], t["accepted"], 0.1), binom.sf(t["accepted"] - 1, n, 0.3), binom.cdf((out >= t["cut"]).sum(), 2000, 0.3))
        check(t["passed"] == (most <= 0.05 / 3), f"{t}: {most}")


@case
def answers_by_class():
    """A cut for each class in an ensemble: predict answers by it, and never with a class that has none."""
    rng = np.random.default_rng(2)
    centre = rng.normal(size=(K, 6)) * 1.5
    y = rng.choice(K, 5000, p=[0.5, 0.3, 0.19, 0.01])
    z = (centre[y] + rng.normal(size=(5000, 6))).astype(np.float32)
    for name, part in (("a", slice(0, 1000)), ("b", slice(1000, 5000))):
        np.save(f"{name}z.npy", z[part]), np.save(f"{name}y.npy", y[part])
    run("fit", "--features", "az.npy", "--labels", "ay.npy", "--method", "bootstrap", "--samples", 3, "-o", "e.safetensors")
    run("predict", "e.safetensors", "--features", "bz.npy", "--labels", "by.npy", "-o", "p.npz")
    run("certify", "p.npz", "--risk", 0.1, "--per-class", "--save", "e.safetensors", "-o", "c.json")
    d = json.load(open("c.json"))
    cut = np.array([c["cut"] if c["certified"] else np.inf for c in d["per_class"]])
    check(d["certified"] and np.isinf(cut).any(), str(cut))
    _, err = run("predict", "e.safetensors", "--features", "bz.npy", "-o", "a.npz")
    check("for each class at most 0.1" in err, err)
    a = np.load("a.npz")
    answered = a["sr"] >= cut[a["label"]]
    check((a["answer"] == np.where(answered, a["label"], -1)).all() and (a["abstain"] == ~answered).all(), "answers are not by the cuts")
    np.save("costs.npy", COSTS)
    fails(2, "certify", "p.npz", "--risk", 0.1, "--costs", "costs.npy", "--save", "e.safetensors", words=["--save", "--costs"])
    run("predict", "e.safetensors", "--features", "bz.npy", "--labels", "by.npy", "--costs", "costs.npy", "-o", "k.npz")
    d = json.loads(run("certify", "k.npz", "--risk", 0.5, "--costs", "costs.npy", "--json")[0])
    again = np.load("k.npz")
    decided = (again["probs"].astype(float) @ COSTS).argmin(1)
    check((decided == again["label"]).all() and d["certified"], "predict --costs and certify --costs decide alike")


@case
def certified_coverage_of_the_check_vector():
    """Halves of the CIFAR-10 outputs of a VGG-16; docs/results/certificates.md has the means over 100 of them."""
    folder, halves = data_folder("cifar10-vgg16"), 6
    probs, y = np.load(folder / "probs.npy"), np.load(folder / "labels.npy")
    found = {0.01: 0, 0.02: 0, 0.05: 0}
    for seed in range(halves):
        rows = np.random.default_rng(seed).permutation(10000)[:5000]
        np.save("p.npy", probs[rows]), np.save("y.npy", y[rows])
        for risk in found:
            d = json.loads(run("certify", "--probs", "p.npy", "--labels", "y.npy", "--risk", risk, "--seed", seed, "--json")[0])
            found[risk] += d["accepted"] / d["n"] / halves
    for risk, expected in ((0.01, 0.740), (0.02, 0.831), (0.05, 0.931)):
        check(abs(found[risk] - expected) < 0.03, f"{found[risk]} of the rows answered at a risk of {risk}, {expected} expected")


main()
