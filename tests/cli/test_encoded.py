# SPDX-License-Identifier: MIT
"""A file of lastlayer encode whole: its parts, its head, and its out-of-distribution points through every command."""
import contextlib
import ctypes
import json
import os
import struct

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


@contextlib.contextmanager
def opened_once(path):
    """What runs inside opens this file of the current folder exactly once."""
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.inotify_init1(os.O_NONBLOCK)
    IN_OPEN = 0x20
    # Equal events in a row are merged into one: so the folder is watched, too, whose events come between those of the file.
    watch = [libc.inotify_add_watch(queue, os.fsencode(name), IN_OPEN) for name in (".", path)]
    check(queue >= 0 and min(watch) >= 0, os.strerror(ctypes.get_errno()))
    try:
        yield
        events = os.read(queue, 1 << 20)
    finally:
        os.close(queue)
    count = at = 0
    while at < len(events):
        which, _, _, name = struct.unpack_from("iIII", events, at)
        count += which == watch[1]
        at += 16 + name
    check(count == 1, f"{path} was opened {count} times")


@case
def every_command_opens_the_file_once():
    data = encoded()
    np.savez_compressed("deflated.npz", **np.load("enc.npz"))
    np.savez("pair.npz", features=data["features"], labels=data["labels"])
    for name in ("enc.npz", "deflated.npz"):
        with opened_once(name):
            run("fit", "--features", name, "--samples", 3, "-o", f"{name}.safetensors")
        with opened_once(name):
            run("predict", f"{name}.safetensors", "--features", name, "-o", "p.npz")
        with opened_once(name):
            run("compare", "--features", name, "--samples", 3, "--epochs", 1)
        with opened_once(name):
            run("search", "--features", name, "--samples", 3, "--method", "point,sgd", "--store", f"store-{name}")
        with opened_once(name):
            run("calibrate", f"{name}.safetensors", "--features", name, "-o", "c.safetensors")
        with opened_once(name):
            run("fit", "--features", f"{name}:features_train", "--samples", 3, "-o", "named.safetensors")
    check(same("enc.npz.safetensors", "deflated.npz.safetensors"), "compression changes the ensemble")
    for name, more in (("pair.npz", []), ("features.npy", ["--labels", "labels.npy"])):
        with opened_once(name):
            run("fit", "--features", name, *more, "--samples", 3, "-o", "other.safetensors")
    W = np.ones((3, data["features"].shape[1]), "f4")
    np.savez_compressed("head.npz", **{"other.bias": W[0], "fc.bias": W[:, 0], "fc.weight": W, "other": W})
    np.savez_compressed("bare.npz", **{"fc.weight": W, "bias": W[:, 0]})
    for name in ("head.npz", "head.npz:fc.weight", "bare.npz"):
        with opened_once(name.split(":")[0]):
            run("fit", "--features", "features.npy", "--labels", "labels.npy", "--head", name, "--method", "point", "-o", f"{name}.safetensors")
    check(same("head.npz.safetensors", "head.npz:fc.weight.safetensors"), "the same head by its name and without it")
    check(not same("head.npz.safetensors", "bare.npz.safetensors"), "a bias of another layer is none of this one")


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
    # NLL is made of the log p that predict kept with the labels, or of probs in f32
    nll = np.array([[e.pop("nll"), *e["intervals"].pop("nll")] for e in (whole, parts)])
    check(whole == parts and np.abs(nll[0] - nll[1]).max() < 1e-6, "the whole file and its parts are evaluated differently")
    check("auroc" in whole["ood"], whole)
    run("predict", "e.safetensors", "--features", "enc.npz:features_val", "-o", "other.npz")
    replaced, _ = run("evaluate", "pred.npz", "--ood", "other.npz", "--json")
    check(json.loads(replaced)["ood"]["n"] == 40, "--ood does not replace the points of the file")
    run("report", "pred.npz", "-o", "page.html")
    check("ut-of-distribution" in open("page.html", encoding="utf-8").read(), "the page leaves the out points out")


@case
def compare_takes_all_parts():
    encoded()
    out, _ = run("compare", "--features", "enc.npz", "--samples", 5, "--epochs", 2, "--predictions", "folder", "--protocol", "paper",
                 "--temperature", "none", "--json")
    parts, _ = run("compare", "--features", "features.npy", "--labels", "enc.npz:labels_train", "--head", "head.npz", "--test-features",
                   "test_features.npy", "--test-labels", "test_labels.npy", "--samples", 5, "--epochs", 2, "--protocol", "paper", "--temperature", "none", "--json")
    for row, part in zip(json.loads(out)["methods"], json.loads(parts)["methods"]):
        one, other = row["evaluation"], part["evaluation"]
        check(one["accuracy"] == other["accuracy"] and all(one["aurc"][c] == other["aurc"][c] for c in CONFIDENCES), row["method"])
        auroc = one["ood"]["auroc"]
        check(0 < auroc["sr"] < 1 and (auroc["std"] is None) == (row["method"] in ("point", "map")), auroc)
        check("out_sr" in np.load(f"folder/{row['method']}.npz").files, "the predictions leave the out points out")
    text, err = run("compare", "--features", "enc.npz", "--samples", 5, "--epochs", 2)
    check("validation rows choose" in err, err)
    check("AUROC std" in text.splitlines()[0], text)


@case
def a_table_has_no_room_for_out_points():
    encoded()
    run("fit", "--features", "enc.npz", "--method", "point", "-o", "e.safetensors")
    _, err = run("predict", "e.safetensors", "--features", "enc.npz", "-o", "pred.csv")
    check("cannot hold out-of-distribution rows" in err, err)
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
    fails(2, "fit", "--features", "enc.npz", "-o", "e2.safetensors", words="--labels is missing, and enc.npz has no labels")


main()
