# SPDX-License-Identifier: MIT
"""A file of lastlayer encode whole: its parts, its head, and its out-of-distribution points through every command."""
import json

import numpy as np

import samples
from tap import case, check, fails, main, run

CONFIDENCES = ["sr", "std", "hq", "maxmin", "entropy", "mi", "margin"]


def encoded(**change):
    """enc.npz as lastlayer encode writes it; change: array by name, None leaves it out. The same arrays as single files, too."""
    data = samples.make()
    arrays = {
        "features_train": data["features"], "labels_train": data["labels"].astype(np.int32),
        "features_val": data["test_features"][:40], "labels_val": data["test_labels"][:40].astype(np.int32),
        "features_test": data["test_features"], "labels_test": data["test_labels"].astype(np.int32),
        "features_out": data["out_features"], "W": data["W"], "b": data["b"], "classes": np.array([1, 4, 6]),
    }
    arrays.update(change)
    np.savez("enc.npz", **{name: array for name, array in arrays.items() if array is not None})
    return data


def same(one, other):
    return open(one, "rb").read() == open(other, "rb").read()


@case
def fit_takes_the_training_part_and_the_head():
    encoded()
    _, err = run("fit", "--features", "enc.npz", "--samples", 5, "-o", "whole.safetensors")
    check("head from enc.npz:W" in err and "labels from enc.npz:labels_train" in err, err)
    run("fit", "--features", "enc.npz:features_train", "--labels", "enc.npz:labels_train", "--head", "head.npz", "--samples", 5,
        "-o", "parts.safetensors")
    check(same("whole.safetensors", "parts.safetensors"), "the whole file and its parts give different ensembles")
    run("fit", "--features", "enc.npz", "--samples", 5, "--init", "map", "-o", "map.safetensors")
    run("fit", "--features", "features.npy", "--labels", "enc.npz:labels_train", "--samples", 5, "-o", "map_parts.safetensors")
    check(same("map.safetensors", "map_parts.safetensors"), "--init map does not leave the head out")


@case
def fit_without_a_head_in_the_file_solves_for_it():
    encoded(W=None, b=None)
    run("fit", "--features", "enc.npz", "--samples", 5, "-o", "whole.safetensors")
    run("fit", "--features", "features.npy", "--labels", "enc.npz:labels_train", "--samples", 5, "-o", "parts.safetensors")
    check(same("whole.safetensors", "parts.safetensors"), "no head, so the MAP")


@case
def predict_takes_the_test_and_the_out_part():
    data = encoded()
    run("fit", "--features", "enc.npz", "--samples", 5, "-o", "e.safetensors")
    _, err = run("predict", "e.safetensors", "--features", "enc.npz", "-o", "pred.npz")
    check("points from enc.npz:features_test, out-of-distribution points from enc.npz:features_out" in err, err)
    run("predict", "e.safetensors", "--features", "test_features.npy", "--labels", "enc.npz:labels_test", "-o", "in.npz")
    run("predict", "e.safetensors", "--features", "out_features.npy", "-o", "out.npz")
    whole, inside, outside = np.load("pred.npz"), np.load("in.npz"), np.load("out.npz")
    check(set(whole.files) == set(inside.files) | {"out_" + name for name in outside.files}, whole.files)
    for name in inside.files:
        check(np.array_equal(whole[name], inside[name]), name)
    for name in outside.files:
        check(np.array_equal(whole["out_" + name], outside[name]), "out_" + name)
    check(np.array_equal(whole["truth"], data["test_labels"]), "truth")


@case
def evaluate_needs_nothing_more():
    encoded()
    run("fit", "--features", "enc.npz", "--samples", 5, "-o", "e.safetensors")
    run("predict", "e.safetensors", "--features", "enc.npz", "-o", "pred.npz")
    run("predict", "e.safetensors", "--features", "test_features.npy", "-o", "in.npz")
    run("predict", "e.safetensors", "--features", "out_features.npy", "-o", "out.npz")
    whole, _ = run("evaluate", "pred.npz", "--json")
    parts, _ = run("evaluate", "in.npz", "--labels", "test_labels.npy", "--ood", "out.npz", "--json")
    whole, parts = json.loads(whole), json.loads(parts)
    nll = whole.pop("nll"), parts.pop("nll")  # of the log p that predict kept with the labels, and of probs in f32
    check(whole == parts and abs(nll[0] - nll[1]) < 1e-6, "the whole file and its parts are evaluated differently")
    check("auroc" in whole["ood"], whole)
    run("predict", "e.safetensors", "--features", "enc.npz:features_val", "-o", "other.npz")
    replaced, _ = run("evaluate", "pred.npz", "--ood", "other.npz", "--json")
    check(json.loads(replaced)["ood"]["n"] == 40, "--ood does not replace the points of the file")
    run("report", "pred.npz", "-o", "page.html")
    check("ut-of-distribution" in open("page.html", encoding="utf-8").read(), "the page leaves the out points out")


@case
def compare_takes_all_parts():
    encoded()
    out, _ = run("compare", "--features", "enc.npz", "--samples", 5, "--epochs", 2, "--predictions", "folder", "--json")
    parts, _ = run("compare", "--features", "features.npy", "--labels", "enc.npz:labels_train", "--head", "head.npz", "--test-features",
                   "test_features.npy", "--test-labels", "test_labels.npy", "--samples", 5, "--epochs", 2, "--json")
    for row, part in zip(json.loads(out)["methods"], json.loads(parts)["methods"]):
        one, other = row["evaluation"], part["evaluation"]
        check(one["accuracy"] == other["accuracy"] and one["aurc"] == other["aurc"], row["method"])
        auroc = one["ood"]["auroc"]
        check(0 < auroc["sr"] < 1 and (auroc["std"] is None) == (row["method"] == "point"), auroc)
        check("out_sr" in np.load(f"folder/{row['method']}.npz").files, "the predictions leave the out points out")
    text, _ = run("compare", "--features", "enc.npz", "--samples", 5, "--epochs", 2)
    check("AUROC std" in text.splitlines()[0], text)


@case
def a_table_has_no_room_for_out_points():
    encoded()
    run("fit", "--features", "enc.npz", "--method", "point", "-o", "e.safetensors")
    _, err = run("predict", "e.safetensors", "--features", "enc.npz", "-o", "pred.csv")
    check("has no room for out-of-distribution rows" in err, err)
    check(len(open("pred.csv").readlines()) == samples.N + 1, "rows")
    run("evaluate", "pred.csv")


@case
def abstaining_also_on_the_out_part():
    encoded()
    run("fit", "--features", "enc.npz", "--method", "point", "-o", "e.safetensors")
    _, err = run("predict", "e.safetensors", "--features", "enc.npz", "--threshold", 0.9, "-o", "pred.npz")
    p = np.load("pred.npz")
    check(np.array_equal(p["out_abstain"], p["out_sr"] < 0.9) and "out-of-distribution rows (" in err, err)


@case
def parts_that_do_not_fit():
    data = encoded()
    run("fit", "--features", "enc.npz", "--method", "point", "-o", "e.safetensors")
    encoded(features_test=None, labels_test=None)
    fails(2, "predict", "e.safetensors", "--features", "enc.npz", "-o", "p.npz", words="enc.npz has no features_test")
    fails(2, "compare", "--features", "enc.npz", words="--test-features is missing")
    encoded(features_out=data["out_features"][:, :3])
    fails(5, "predict", "e.safetensors", "--features", "enc.npz", "-o", "p.npz", words=["3 columns", "fitted on 6"])
    fails(5, "compare", "--features", "enc.npz", words="out-of-distribution features have 3 columns")
    encoded(W=data["W"][:, :3])
    fails(5, "fit", "--features", "enc.npz", "-o", "e2.safetensors", words="the head's weight is [3,3]")
    encoded(labels_train=None)
    fails(2, "fit", "--features", "enc.npz", "-o", "e2.safetensors", words="--labels is missing, and enc.npz has none")


main()
