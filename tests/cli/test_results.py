# SPDX-License-Identifier: MIT
"""What predict, evaluate, threshold and compare say, against numpy and the real check vector."""
import csv
import io
import json
import math
import os
import re

import numpy as np

import samples
import tensors
from tap import case, cases_of, check, data_folder, fails, main, run

CONFIDENCES = ["sr", "std", "hq", "maxmin", "entropy", "mi", "margin"]
KEYS = ["n", "errors", "accuracy", "nll", "brier", "ece", "mce", "bins", "aurc", "aurc_band", "eaurc", "augrc", "failure_auroc", "rules"]


def strict(text):
    """JSON without NaN or Infinity."""
    def refuse(word):
        raise AssertionError(f"{word} in JSON")
    return json.loads(text, parse_constant=refuse)


def near(a, b, tolerance=1e-9):
    check(abs(a - b) <= tolerance * max(1, abs(b)), f"{a} where {b} was expected")


def aurc(confidence, wrong):
    return np.mean([wrong[confidence >= s].mean() for s in confidence])


def fitted(method="sgld", samples_count=8):
    data = samples.make()
    run(*samples.FIT, "--head", "head.npz", "--method", method, "--samples", samples_count, "-o", "ens.safetensors")
    return data


@case
def predict_writes_the_arrays():
    data = fitted()
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "--members", "0,5,10:20", "-o", "pred.npz")
    p = np.load("pred.npz")
    n, k = data["probs"].shape
    check({"probs", "label", "vote", "truth", "running", "member_pmax", "member_label", *CONFIDENCES} <= set(p.files), p.files)
    check(p["probs"].dtype == np.float32 and p["probs"].shape == (n, k), p["probs"].shape)
    for name in CONFIDENCES:
        check(p[name].dtype == np.float64 and p[name].shape == (n,), name)
    check(np.array_equal(p["truth"], data["test_labels"]), "truth is not the labels")
    check(np.array_equal(p["label"], p["probs"].argmax(1)), "label is not the argmax of probs")
    check(np.allclose(p["sr"], p["probs"].max(1), atol=1e-6), "sr is not the largest probability")
    check(p["running"].shape == (8, 3), p["running"].shape)
    near(p["running"][-1, 0], (p["label"] == p["truth"]).mean())
    check(p["member_pmax"].shape == (12, 8) and p["member_label"].shape == (12, 8), p["member_pmax"].shape)
    ranked = np.sort(p["probs"].astype(float), axis=1)
    check(np.allclose(p["margin"], ranked[:, -1] - ranked[:, -2], atol=1e-6), "margin")


@case
def predict_point_is_the_softmax_of_the_head():
    data = fitted("point", 1)
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "pred.npz")
    p = np.load("pred.npz")
    check(np.allclose(p["probs"], data["probs"], atol=1e-6), "not softmax(W z + b)")


@case
def predict_abstains():
    fitted()
    _, err = run("predict", "ens.safetensors", *samples.PREDICT, "--threshold", "0.8", "-o", "pred.npz")
    p = np.load("pred.npz")
    check(np.array_equal(p["abstain"].astype(bool), p["sr"] < 0.8), "abstain is not sr < 0.8")
    share = 100 * p["abstain"].astype(bool).mean()
    check(f"abstains on {int(p['abstain'].sum())} of 300 rows ({share:.2f} %)" in err, err)
    run("predict", "ens.safetensors", *samples.PREDICT, "--threshold", "-0.02", "--by", "std", "--no-probs", "-o", "pred.npz")
    p = np.load("pred.npz")
    check(np.array_equal(p["abstain"].astype(bool), p["std"] < -0.02), "abstain is not std < -0.02")
    check("probs" not in p.files, "--no-probs leaves probs")


@case
def predict_csv():
    fitted()
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "pred.npz")
    _, err = run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "--threshold", "0.8", "-o", "pred.csv")
    rows = list(csv.DictReader(open("pred.csv")))
    p = np.load("pred.npz")
    check(len(rows) == 300 and {"label", "vote", "sr", "std", "truth", "abstain"} <= set(rows[0]), rows[0].keys())
    check(np.array_equal([float(r["sr"]) for r in rows], p["sr"]), "sr does not survive the way through CSV")
    check("abstains on" in err, err)
    a = strict(run("evaluate", "pred.npz", "--json")[0])
    b = strict(run("evaluate", "pred.csv", "--json")[0])
    check(a["aurc"] == b["aurc"] and a["n"] == b["n"], "evaluate says other things of the .csv")


@case
def evaluate_json_against_numpy():
    data = fitted()
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "pred.npz")
    found = strict(run("evaluate", "pred.npz", "--labels", "test_labels.npy", "--json")[0])
    for key in KEYS:
        check(key in found, f"no key {key}")
    p, y = np.load("pred.npz"), data["test_labels"]
    wrong = p["label"] != y
    probs = p["probs"].astype(float)
    check(found["n"] == 300 and found["errors"] == wrong.sum(), found["errors"])
    near(found["accuracy"], 1 - wrong.mean())
    near(found["nll"], -np.log(probs[np.arange(300), y]).mean(), 1e-6)
    near(found["brier"], ((probs - np.eye(3)[y]) ** 2).sum(1).mean(), 1e-6)
    for name in ["sr", "std", "hq", "entropy"]:
        near(found["aurc"][name], aurc(p[name], wrong), 1e-9)
    check(set(CONFIDENCES) <= set(found["aurc"]), found["aurc"].keys())
    check(len(found["bins"]) == 10 and set(found["bins"][0]) == {"lo", "hi", "n", "accuracy", "confidence"}, found["bins"][0])
    check(sum(b["n"] for b in found["bins"]) == 300, "bins lose points")
    ece = sum(b["n"] / 300 * abs(b["accuracy"] - b["confidence"]) for b in found["bins"] if b["n"])
    near(found["ece"], ece)
    check({"best", "expected", "worst"} <= set(found["aurc_band"]["sr"] or {"best", "expected", "worst"}), found["aurc_band"])


@case
def evaluate_forms():
    fitted()
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "pred.npz")
    text, _ = run("evaluate", "pred.npz")
    for word in ["accuracy", "NLL", "Brier", "ECE", "AURC"]:
        check(word.lower() in text.lower(), f"no {word}: {text}")
    table = list(csv.reader(io.StringIO(run("evaluate", "pred.npz", "--csv")[0])))
    check(len(table) > 1 and len({len(row) for row in table}) == 1, "not a rectangular CSV")
    check(strict(run("evaluate", "pred.npz", "--json", "--bins", "5")[0])["bins"][4]["hi"] == 1, "--bins 5")


@case
def evaluate_probs_logits_members():
    data = samples.make()
    labels = ("--labels", "test_labels.npy", "--json")
    np.save("logits.npy", np.log(data["probs"]) + 3)
    a = strict(run("evaluate", "--probs", "probs.npy", *labels)[0])
    b = strict(run("evaluate", "--logits", "logits.npy", *labels)[0])
    near(a["nll"], b["nll"], 1e-6)
    near(a["aurc"]["sr"], b["aurc"]["sr"], 1e-6)
    check(a["aurc"]["std"] is None and a["aurc"]["hq"] is None, "one member has a std")
    rng = np.random.default_rng(4)
    members = samples.softmax(np.log(data["probs"]) + 0.5 * rng.standard_normal((6, 300, 3)))
    np.save("members.npy", members)
    c = strict(run("evaluate", "--probs", "members.npy", *labels)[0])
    mean = members.mean(0)
    wrong = mean.argmax(1) != data["test_labels"]
    std = -members[:, np.arange(300), mean.argmax(1)].std(0)
    near(c["aurc"]["std"], aurc(std, wrong), 1e-9)
    near(c["nll"], -np.log(mean[np.arange(300), data["test_labels"]]).mean(), 1e-6)


@case
def evaluate_ood():
    data = fitted()
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "pred.npz")
    run("predict", "ens.safetensors", "--features", "out_features.npy", "-o", "pred_out.npz")
    found = strict(run("evaluate", "pred.npz", "--ood", "pred_out.npz", "--json")[0])["ood"]
    check({"auroc", "aupr_in", "aupr_out", "fpr95", "base_rate"} <= set(found), found)
    inside, outside = np.load("pred.npz")["std"], np.load("pred_out.npz")["std"]
    pairs = (inside[:, None] > outside).mean() + (inside[:, None] == outside).mean() / 2
    near(found["auroc"]["std"], pairs)
    near(found["base_rate"], 0.5)
    check("AUROC" in run("evaluate", "pred.npz", "--ood", "pred_out.npz")[0].upper(), "no AUROC in the text")
    np.save("out_probs.npy", samples.softmax(data["out_features"] @ data["W"].T + data["b"]))
    run("evaluate", "--probs", "probs.npy", "--labels", "test_labels.npy", "--ood", "out_probs.npy")


@case
def costs_decide():
    data = samples.make()
    costs = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0.0]])
    np.save("costs.npy", costs)
    found = strict(run("evaluate", "--probs", "probs.npy", "--labels", "test_labels.npy", "--costs", "costs.npy", "--json")[0])
    decided = (data["probs"] @ costs).argmin(1)
    check(found["errors"] == (decided != data["test_labels"]).sum(), found["errors"])
    near(found["cost"], costs[data["test_labels"], decided].mean())


@case
def threshold_buys_what_it_says():
    data = fitted()
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "pred.npz")
    p = np.load("pred.npz")
    wrong = p["label"] != data["test_labels"]
    base = ("threshold", "pred.npz", "--labels", "test_labels.npy")
    found = strict(run(*base, "--risk", "0.05", "--json")[0])
    taken = p["sr"] >= found["cut"]
    check(found["found"] and found["accepted"] == taken.sum() and found["accepted_errors"] == wrong[taken].sum(), found)
    near(found["coverage"], taken.mean())
    near(found["risk"], wrong[taken].mean())
    best = max(((p["sr"] >= s).mean() for s in p["sr"] if wrong[p["sr"] >= s].mean() <= 0.05), default=0)
    near(found["coverage"], best)
    found = strict(run(*base, "--coverage", "0.8", "--by", "std", "--json")[0])
    attainable = sorted({(p["std"] >= s).mean() for s in p["std"]})
    near(found["coverage"], min(c for c in attainable if c >= 0.8))
    text, _ = run(*base, "--risk", "0.05")
    for word in ["sr >=", "coverage", "risk", "same points"]:
        check(word in text, f"no '{word}': {text}")


@case
def threshold_that_does_not_exist():
    data = samples.make()
    np.savez("pred.npz", label=np.ones(4, np.int32), sr=np.array([0.9, 0.8, 0.7, 0.6]))
    np.save("wrong.npy", np.zeros(4, int))
    text, _ = run("threshold", "pred.npz", "--labels", "wrong.npy", "--risk", "0.01")
    check("no threshold" in text, text)
    found = strict(run("threshold", "pred.npz", "--labels", "wrong.npy", "--risk", "0.01", "--json")[0])
    check(found["cut"] is None and not found["found"], found)


@case
def compare_shows_all_methods():
    samples.make()
    words = ["compare", "--features", "features.npy", "--labels", "labels.npy", "--test-features", "test_features.npy",
             "--test-labels", "test_labels.npy", "--head", "head.npz", "--samples", "5", "--epochs", "3"]
    text, _ = run(*words)
    found = strict(run(*words, "--json")[0])
    table, _ = run(*words, "--markdown")
    for method in ["point", "sgd", "sgld", "bootstrap", "dropout"]:
        check(method in text and method in table and method in json.dumps(found), f"no {method}")
    check(table.lstrip().startswith("|") or "\n|" in table, "not a Markdown table")
    check("answer when" in text and "it is no promise" in text, "no suggested threshold")
    chosen = found["recommendation"]
    check(chosen["text"] in text and chosen["text"] in table, "one recommendation in all forms")
    check(found["protocol"] == "honest" and found["choosing"] == {"rows": chosen["rows"], "from": "half of the test rows"}, found["choosing"])
    check([row["name"] for row in found["methods"]][:3] == ["point", "point+T", "map"], found["methods"])
    paper = strict(run(*words, "--protocol", "paper", "--json")[0])
    check(paper["methods"][0]["evaluation"]["n"] == paper["choosing"]["rows"] > chosen["rows"], paper["choosing"])
    check("same points" in run(*words, "--protocol", "paper")[0], "the paper's protocol does not say so")
    every = strict(run(*words, "--temperature", "all", "--interval", ".9", "--json")[0])
    check(sum(row["temperature"] is not None for row in every["methods"]) * 2 == len(every["methods"]) and every["interval"] == 0.9, "all")


@case
def compare_all_groups_and_costs():
    """Each row with its group, and what it costs: bytes are those of the arrays that fit writes."""
    samples.make()
    words = ["compare", *samples.FIT[1:], "--test-features", "test_features.npy", "--test-labels", "test_labels.npy", "--samples", 4, "--epochs", 2,
             "--temperature", "none", "--methods"]
    rows = strict(run(*words, "all", "--json")[0])["methods"]
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row["name"])
        check(row["seconds_fit"] > 0 and row["seconds_per_thousand"] > 0, row["name"])
        options = {"sgld-kfac": ["--precondition", "kfac"], "bootstrap-solve": ["--solve"]}.get(row["name"], [])
        run(*samples.FIT, "--method", row["method"], *options, "--samples", 4, "--epochs", 2, "-o", "e.safetensors")
        arrays, _ = tensors.tensors("e.safetensors")
        check(row["bytes"] == sum(a.nbytes for a in arrays.values()), f"{row['name']}: {row['bytes']} bytes")
    check(groups == {"point": ["point"], "ensembles": ["bootstrap", "bootstrap-solve", "dropout"], "Gaussian": ["laplace", "swag"],
                     "samplers": ["sgd", "sgld", "sgld-kfac", "sghmc", "cyclical", "psgld", "hmc"]}, groups)
    text, table = run(*words, "laplace,hmc")[0], run(*words, "laplace,hmc", "--markdown")[0]
    check(re.findall(r"^(\w+) +(\w+) .* \d+ k?B$", text, re.M) == [("point", "point"), ("Gaussian", "laplace"), ("samplers", "hmc")], text)
    check(re.findall(r"^\| (\w+) \| (\w+) \|.*\| \d+ k?B \|$", table, re.M) == [("point", "point"), ("Gaussian", "laplace"), ("samplers", "hmc")], table)
    same = strict(run(*words, "all", "--precondition", "kfac", "--json")[0])["methods"]  # sgld is that already
    check("sgld-kfac" not in [row["name"] for row in same] and "sgld" in [row["name"] for row in same], same)
    fails(2, *words, "sgld,psychic", words="--methods lists psychic; expected default, all, or of point, map, bootstrap")


@case
def inspect_ensemble():
    fitted("sgld", 8)
    text, _ = run("inspect", "ens.safetensors")
    check("method sgld, S = 8 members, K = 3 classes, D = 6 features" in text, text)
    found = strict(run("inspect", "ens.safetensors", "--json")[0])
    check(found["ensemble"] == {"method": "sgld", "samples": 8, "classes": 3, "features": 6}, found)
    shapes = {a["name"]: a["shape"] for a in found["arrays"]}
    check(shapes["W"] == [8, 3, 6] and shapes["b"] == [8, 3], shapes)


@case
def lr_auto_is_printed():
    data = samples.make()
    _, err = run(*samples.FIT, "--method", "sgd", "--samples", "2", "--lr", "auto", "-o", "a.safetensors")
    lr = float(err.split("lr = ")[1].split(",")[0])
    expected = 1 / (1 + (data["features"].astype(float) ** 2).sum(1).mean())
    check(math.isclose(lr, expected, rel_tol=1e-3), err)


CHECK_VECTOR = {"accuracy": .9359, "nll": .25706, "brier": .10545, "ece": .03991, "mce": .28608}
CHECK_SELECTIVE = {"aurc": 6.658e-3, "eaurc": 4.555e-3, "augrc": 6.005e-3, "failure_auroc": .93415}


@case
def check_vector_of_the_paper():
    folder = data_folder("cifar10-vgg16")
    found = strict(run("evaluate", "--probs", folder / "probs.npy", "--labels", folder / "labels.npy", "--json")[0])
    for key, value in CHECK_VECTOR.items():
        check(math.isclose(found[key], value, rel_tol=2e-4), f"{key}: {found[key]} where {value} was expected")
    for key, value in CHECK_SELECTIVE.items():
        check(math.isclose(found[key]["sr"], value, rel_tol=2e-4), f"{key}: {found[key]['sr']} where {value} was expected")


@case
def real_head_of_resnet56():
    file = str(data_folder("cifar10-resnet56") / "features.npz")
    train = ("--features", file + ":features_train", "--labels", file + ":labels_train")
    run("fit", *train, "--head", file, "--method", "point", "-o", "e.safetensors")
    run("predict", "e.safetensors", "--features", file + ":features_test", "--labels", file + ":labels_test", "-o", "p.npz")
    found = strict(run("evaluate", "p.npz", "--json")[0])
    for key, value in {"accuracy": .9339, "nll": .3458, "brier": .1107}.items():
        check(math.isclose(found[key], value, rel_tol=1e-3), f"{key}: {found[key]}")
    check(math.isclose(found["aurc"]["sr"], .00773, rel_tol=2e-3), found["aurc"])


def plain_confidences(z, w, b):
    """Every confidence of the rows z [N,D] under the heads w [S,K,D], b [S,K]: plain loops in f64, tails and differences without cancellation."""
    z = z.astype(float)
    p = np.empty((len(w), len(z), w.shape[1]))
    rest = np.empty_like(p)  # 1 - p
    for s in range(len(w)):
        a = z @ w[s].astype(float).T + b[s].astype(float)
        e = np.exp(a - a.max(1, keepdims=True))
        top = e.argmax(1)
        p[s] = e / e.sum(1, keepdims=True)
        rest[s] = 1 - p[s]
        e[np.arange(len(z)), top] = 0
        rest[s, np.arange(len(z)), top] = e.sum(1) / (1 + e.sum(1))
    rows, mean = np.arange(len(z)), p.mean(0)
    label = mean.argmax(1)
    tail = rest[:, rows, label]  # [S,N]
    x = np.where(mean > 0.5, -(rest - rest.mean(0)), p - mean) / mean
    votes = np.stack([(p.argmax(2) == k).mean(0) for k in range(p.shape[2])], 1)
    lost = np.where(votes > 0, votes * np.log(np.maximum(votes, 1e-9)), 0)
    ranked = np.sort(mean, axis=1)
    tops = np.where(mean > 0.5, np.log1p(-np.minimum(rest.mean(0), 0.5)), np.log(mean))
    return label, {
        "sr": -tail.mean(0),
        "std": -np.sqrt(((tail - tail.mean(0)) ** 2).mean(0)),
        "hq": np.round(lost.sum(1), 12),
        "maxmin": -(tail.max(0) - tail.min(0)),
        "entropy": (mean * tops).sum(1),
        "mi": -(mean * ((1 + x) * np.log1p(x) - x).mean(0)).sum(1),
        "margin": ranked[:, -1] - ranked[:, -2],
    }


@cases_of([("12", 12), ("100", 100)])
def members_of_a_chain_are_close(count):
    file = str(data_folder("cifar10-resnet56") / "features.npz")
    train = ("--features", file + ":features_train", "--labels", file + ":labels_train", "--head", file)
    run("fit", *train, "--method", "sgd", "--samples", count, "-o", "ens.safetensors")
    run("predict", "ens.safetensors", "--features", file + ":features_test", "--labels", file + ":labels_test", "-o", "pred.npz")
    found = json.loads(run("evaluate", "pred.npz", "--json")[0])["aurc"]
    run("convert", "ens.safetensors", "-o", "ens.npz")
    ensemble, data, p = np.load("ens.npz"), np.load(file), np.load("pred.npz")
    label, plain = plain_confidences(data["features_test"], ensemble["W"], ensemble["b"])
    wrong = label != data["labels_test"]
    check(np.array_equal(p["label"], label), "labels")
    for name in CONFIDENCES:
        order = np.argsort(-plain[name])
        end = np.searchsorted(-plain[name][order], -plain[name], side="right")  # points at least as sure
        expected = np.mean(np.cumsum(wrong[order])[end - 1] / end)
        check(abs(found[name] / expected - 1) < 1e-4, f"AURC({name}) is {found[name]}, expected {expected}")
    error = np.abs(p["mi"] / plain["mi"] - 1)
    check(np.median(error) < 1e-4 and error.max() < 1e-2, f"mi is off by {np.median(error)}, at most {error.max()}")


def one_table(path, z, y):
    """Features, the labels among them, in one table."""
    rows = np.column_stack([z[:, :2], y, z[:, 2:]])
    formats = ["%.9g", "%.9g", "%d"] + ["%.9g"] * (z.shape[1] - 2)
    names = ["a", "b", "label"] + [f"z{i}" for i in range(z.shape[1] - 2)]
    np.savetxt(path, rows, formats, ",", header=",".join(names), comments="")


@case
def the_column_of_the_labels_is_no_feature():
    data = samples.make()
    one_table("t.csv", data["features"], data["labels"])
    one_table("test.csv", data["test_features"], data["test_labels"])
    os.link("t.csv", "other.csv")  # one file under two names
    options = ("--method", "sgd", "--samples", "3")
    run(*samples.FIT, *options, "-o", "apart.safetensors")
    note = "note: the features are the columns a, b, z0, z1, z2, z3 of t.csv; label holds the labels"
    for labels in "t.csv:label", "other.csv:label":
        _, err = run("fit", "--features", "t.csv", "--labels", labels, *options, "-o", "table.safetensors")
        check(note in err, err)
        apart, table = tensors.tensors("apart.safetensors")[0], tensors.tensors("table.safetensors")[0]
        check(all(np.array_equal(apart[k], table[k]) for k in "Wb"), "the members differ from those of the features alone")
    run("predict", "apart.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "apart.npz")
    run("predict", "table.safetensors", "--features", "test.csv", "--labels", "test.csv:label", "-o", "table.npz")
    check(np.array_equal(np.load("apart.npz")["probs"], np.load("table.npz")["probs"]), "predictions")
    _, err = run("predict", "table.safetensors", "--features", "test.csv", "-o", "p.npz", code=5)
    check("the features have 7 columns but the ensemble was fitted on 6; if one of them holds the labels, say so: --labels FILE:NAME" in err, err)
    _, err = run("compare", "--features", "t.csv", "--labels", "t.csv:label", "--test-features", "test.csv", "--test-labels", "test.csv:label",
                 "--samples", "2")
    check(err.count("label holds the labels") == 2, err)


@case
def the_column_of_the_labels_is_no_output():
    data = samples.make()
    one_table("p.csv", data["probs"], data["test_labels"])
    out, err = run("evaluate", "--probs", "p.csv", "--labels", "p.csv:label", "--json")
    check("the outputs are the columns a, b, z0 of p.csv; label holds the labels" in err, err)
    near(strict(out)["accuracy"], np.mean(data["probs"].argmax(1) == data["test_labels"]))


if __name__ == "__main__":
    main()
