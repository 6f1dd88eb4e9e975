# SPDX-License-Identifier: MIT
"""What lastlayer 0.1 wrote (tests/files-0.1) is still read, and means the same."""
import csv
import json

import numpy as np

from tap import SOURCE, case, cases_of, check, main, run
from tensors import tensors

OLD = SOURCE / "tests/files-0.1"
PLAIN = {"LASTLAYER_ISA": "ref"}  # the level that made them
METHODS = ["point", "sgd", "sgld", "bootstrap", "dropout"]


@cases_of([(name, name) for name in METHODS])
def an_ensemble_predicts(method):
    run("predict", OLD / f"{method}.safetensors", "--features", OLD / "test_features.npy", "--labels", OLD / "test_labels.npy", "-o", "p.npz", env=PLAIN)
    new = np.load("p.npz")
    check(new["probs"].shape == (30, 3) and np.allclose(new["probs"].sum(1), 1, atol=1e-5), "these are no probabilities")
    if method == "sgld":
        old = np.load(OLD / "pred.npz")
        check((new["label"] == old["label"]).all(), "other labels than 0.1")
        for name in ("sr", "std", "hq", "entropy", "margin"):
            check(np.allclose(new[name], old[name], rtol=1e-6, atol=1e-12), f"another {name} than 0.1")
    if method == "dropout":
        rows = list(csv.DictReader(open(OLD / "pred.csv")))
        check([int(row["label"]) for row in rows] == new["label"].tolist(), "other labels than 0.1")
        check(np.allclose([float(row["sr"]) for row in rows], new["sr"], rtol=1e-6), "the masks of dropout are others than in 0.1")


@cases_of([(name, name) for name in METHODS])
def the_same_fit_gives_the_same_members(method):
    """From the theta* of 0.1, which its solver found: that of today stops elsewhere."""
    star, _ = tensors(OLD / "point.safetensors")
    np.savez("head.npz", W=star["W"][0], b=star["b"][0])
    run("fit", "--features", OLD / "features.npy", "--labels", OLD / "labels.npy", "--head", "head.npz", "--method", method, "--samples", 3,
        "--epochs", 2, "-o", "e.safetensors", env=PLAIN)
    old, new = tensors(OLD / f"{method}.safetensors")[0], tensors("e.safetensors")[0]
    check(all((old[name] == new[name]).all() for name in ("W", "b", "weight")), "other members than 0.1")


@case
def the_map_is_the_same_optimum():
    run("fit", "--features", OLD / "features.npy", "--labels", OLD / "labels.npy", "--method", "map", "-o", "e.safetensors", env=PLAIN)
    old, new = tensors(OLD / "point.safetensors")[0], tensors("e.safetensors")[0]
    check(all(np.allclose(old[name], new[name], atol=2e-3) for name in ("W", "b")), f"another MAP than 0.1: {np.abs(old['W'] - new['W']).max()}")


@cases_of([("npz", "pred.npz"), ("csv", "pred.csv")])
def predictions_are_evaluated(file):
    out, _ = run("evaluate", OLD / file, "--labels", OLD / "test_labels.npy", "--json")
    new = json.loads(out)
    check(new["n"] == 30 and 0 < new["accuracy"] < 1, "no evaluation")
    if file == "pred.npz":
        old = json.loads((OLD / "evaluation.json").read_text())
        for key in ("accuracy", "nll", "brier", "ece"):
            check(abs(new[key] - old[key]) < 1e-6, f"another {key} than 0.1: {new[key]}, {old[key]}")
        for name, value in old["aurc"].items():
            check(value is None or abs(new["aurc"][name] - value) < 1e-9, f"another AURC of {name} than 0.1")


@case
def the_json_of_an_evaluation_makes_a_page():
    run("report", OLD / "evaluation.json", "-o", "page.html")
    check("AURC" in open("page.html").read(), "the page has no AURC")


@case
def predictions_and_a_store_make_a_page():
    run("report", OLD / "pred.npz", "-o", "page.html")
    run("report", OLD / "store", "-o", "store.html")
    check("sgd" in open("store.html").read(), "the page has no method")


@case
def a_store_is_shown():
    out, _ = run("search", "--store", OLD / "store", "--show", "--json")
    trials = json.loads(out)["trials"]
    check(sorted(t["method"] for t in trials) == ["point", "sgd"], f"the trials are {trials}")


@case
def a_network_encodes():
    run("encode", OLD / "net.safetensors", "--data", OLD / "images.npz", "-o", "new.npz", env=PLAIN)
    new, old = np.load("new.npz"), np.load(OLD / "encoded.npz")
    for name in ("features_train", "features_val", "features_test", "labels_train", "W", "b"):
        check((new[name] == old[name]).all(), f"another {name} than 0.1")


@case
def an_encoded_file_is_fitted():
    run("fit", "--features", OLD / "encoded.npz", "--samples", 2, "-o", "e.safetensors")


@case
def an_ensemble_of_networks_predicts():
    run("predict", OLD / "network-ensemble.safetensors", "--data", OLD / "images.npz", "-o", "p.npz", env=PLAIN)
    check(np.load("p.npz")["label"].shape == (12,), "not one label per image")


main()
