# SPDX-License-Identifier: MIT
"""fit and predict on deep heads and whole networks: against numpy, cut and resumed, and clear sentences."""
import json
import os
import random
import signal
import subprocess

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

import images
import samples
from tap import COMMAND, case, cases_of, check, fails, main, run
from tensors import read, rewrite, tensors

METHODS = ["point", "sgd", "sgld", "bootstrap", "dropout", "ensemble"]
DATA = ("--data", "mnist")
FIT = ("fit", "--network", "net.safetensors", *DATA, "--samples", 3, "--epochs", 2, "--lr", ".05", "--batch-size", 32)


def trained(*more, net="mlp:16,8"):
    sets = images.squares()
    run("train", *DATA, "--net", net, "--epochs", 3, *more, "-o", "net.safetensors")
    return sets


def member_probs(t, s, x):
    """Probabilities of member s of an mlp, in f64."""
    h = x.reshape(len(x), -1).astype(np.float64) / 255
    layers = sum(name.endswith(".weight") for name in t)
    for i in range(layers):
        h = h @ t[f"layers.{i}.weight"][s].T.astype(np.float64) + t[f"layers.{i}.bias"][s]
        h = np.maximum(h, 0) if i < layers - 1 else h
    return samples.softmax(h)


@cases_of([(m, m) for m in METHODS])
def whole_network(method):
    sets = trained()
    files = []
    for threads in (1, 2, 3):
        run(*FIT, "--method", method, "--threads", threads, "-o", "e.safetensors")
        files.append(read("e.safetensors"))
    check(files[0] == files[1] == files[2], "the ensemble depends on --threads")
    run(*FIT, "--method", method, "--seed", 9, "-o", "other.safetensors")
    check((read("other.safetensors") == files[0]) == (method == "point"), "the seed")
    answers = []
    for block, threads in ((256, 1), (32, 2), (50, 3)):
        run("predict", "e.safetensors", *DATA, "--block", block, "--threads", threads, "--members", "0:5", "-o", "p.npz")
        answers.append(read("p.npz"))
    check(answers[0] == answers[1] == answers[2], "the answers depend on --block or --threads")
    t, meta = tensors("e.safetensors")
    p = np.load("p.npz")
    check(meta["format"] == "lastlayer-ensemble-2" and meta["net"] == "mlp:16,8" and meta["input"] == "12x12x1", meta)
    check(np.array_equal(p["truth"], sets["test"][1]), "truth is not the test labels")
    if method == "dropout":
        pmax = p["member_pmax"]
        check(len(np.unique(pmax[0])) == 3, f"passes do not differ: {pmax[0]}")
        return
    members = len(t["weight"])
    probs = np.stack([member_probs(t, s, sets["test"][0].astype(np.uint8)) for s in range(members)])
    check(np.abs(p["probs"] - probs.mean(0)).max() < 2e-5, f"probs: {np.abs(p['probs'] - probs.mean(0)).max()}")
    check(np.abs(p["member_pmax"] - probs[:, :5].max(2).T).max() < 2e-5, "member_pmax")
    if members > 1:
        check(np.abs(p["std"] + probs.std(0)[np.arange(len(p["label"])), p["label"]]).max() < 2e-5, "std")
        for i in range(3):
            w = t[f"layers.{i}.weight"]
            check(not np.array_equal(w[0], w[1]) and not np.array_equal(w[1], w[2]), f"members agree in layer {i}")


@cases_of([(m, m) for m in ("bootstrap", "dropout", "ensemble")])
def promises_of_networks(method):
    """calibrate, certify and sets on an ensemble of networks, by numpy's probabilities of the members and scipy's search."""
    trained()
    calibration = images.squares(test=600)["test"]
    run(*FIT, "--method", method, "-o", "e.safetensors")
    found = json.loads(run("calibrate", "e.safetensors", *DATA, "--json", "-o", "c.safetensors")[0])
    run("predict", "e.safetensors", *DATA, "-o", "raw.npz")
    raw = np.load("raw.npz")
    log_p = np.log(raw["probs"].astype(float))
    if method != "dropout":
        t, _ = tensors("e.safetensors")
        log_p = np.log(np.mean([member_probs(t, s, calibration[0].astype(np.uint8)) for s in range(3)], 0))
    nll = lambda b: -log_softmax(np.exp(b) * log_p, axis=1)[np.arange(len(log_p)), calibration[1]].mean()
    beta = np.exp(minimize_scalar(nll, bounds=(-5, 5), method="bounded", options={"xatol": 1e-9}).x)
    check(abs(beta - 1) > 0.05 and abs(1 / found["temperature"] / beta - 1) < 1e-3, f"T {found['temperature']}, by scipy {1 / beta}")
    new = images.squares(train=20, test=900)["test"]
    run("predict", "c.safetensors", *DATA, "--no-calibration", "-o", "raw.npz")
    run("predict", "c.safetensors", *DATA, "-o", "p.npz")
    raw, p = np.load("raw.npz"), np.load("p.npz")
    check(np.array_equal(p["truth"], new[1]), "other rows than the new ones")
    expected = samples.softmax(np.log(np.maximum(raw["probs"].astype(float), 1e-300)) / found["temperature"])
    check(np.abs(p["probs"] - expected).max() < 1e-4, f"calibrated probs: {np.abs(p['probs'] - expected).max()}")
    check(np.array_equal(p["label"], raw["label"]), "a temperature changes no label")
    _, err = run("certify", "p.npz", "--risk", 0.3, "--confidence", 0.8, "--save", "c.safetensors", "-o", "cert.json")
    d = json.load(open("cert.json"))
    check(d["certified"] and d["n"] == 600 and "has the certificate" in err, f"{d['certified']} {err}")
    _, err = run("predict", "c.safetensors", *DATA, "-o", "a.npz")
    a = np.load("a.npz")
    check("at most 0.3 of the answered ones are wrong" in err, err)
    check(np.array_equal(a["answer"], np.where(p["sr"] >= d["cut"], p["label"], -1)), "answers are not by the cut")
    check("holds" in run("verify", "cert.json", "p.npz")[0], "verify")
    run("sets", "p.npz", "--apply", "p.npz", "--alpha", 0.1, "-o", "sets.npz")
    sets = np.unpackbits(np.load("sets.npz")["set"], axis=1, bitorder="little")[:, :10]
    covered = sets[np.arange(900), new[1]].mean()
    check(covered >= 0.9 and np.array_equal(sets.sum(1), np.load("sets.npz")["set_size"]), f"covered {covered}")


@cases_of([(m, m) for m in METHODS])
def deep_head(method):
    data = samples.make()
    words = (*samples.FIT, "--layers", 2, "--method", method, "--samples", 3, "--epochs", 2)
    files = []
    for threads in (1, 2, 3):
        run(*words, "--threads", threads, "-o", "e.safetensors")
        files.append(read("e.safetensors"))
    check(files[0] == files[1] == files[2], "the ensemble depends on --threads")
    run("predict", "e.safetensors", *samples.PREDICT, "-o", "p.npz")
    t, meta = tensors("e.safetensors")
    d = data["features"].shape[1]
    check(meta["init"] == "adam" and meta["net"] == "head:2" and t["layers.0.weight"].shape[1:] == (d, d), meta)
    if method != "dropout":
        x = data["test_features"].astype(np.float64)
        probs = np.stack([samples.softmax(np.maximum(x @ t["layers.0.weight"][s].T + t["layers.0.bias"][s], 0) @ t["layers.1.weight"][s].T +
                                          t["layers.1.bias"][s]) for s in range(len(t["weight"]))])
        check(np.abs(np.load("p.npz")["probs"] - probs.mean(0)).max() < 2e-5, "probs")


@case
def point_on_a_network_is_encoding_and_head():
    trained()
    run("encode", "net.safetensors", *DATA, "-o", "enc.npz")
    run(*FIT, "--method", "point", "-o", "full.safetensors")
    run("fit", "--features", "enc.npz", "--method", "point", "-o", "last.safetensors")
    run("predict", "full.safetensors", *DATA, "-o", "full.npz")
    run("predict", "last.safetensors", "--features", "enc.npz", "-o", "last.npz")
    full, last = np.load("full.npz"), np.load("last.npz")
    check(set(full.files) == set(last.files), set(full.files) ^ set(last.files))
    for name in full.files:
        check(np.array_equal(full[name], last[name]), name)


@case
def classes_that_the_network_does_not_know_are_out():
    sets = trained("--classes", "first:5")
    run(*FIT, "--method", "sgd", "-o", "e.safetensors")
    run("predict", "e.safetensors", *DATA, "-o", "p.npz")
    p, labels = np.load("p.npz"), sets["test"][1]
    check(p["probs"].shape == ((labels < 5).sum(), 5) and len(p["out_label"]) == (labels >= 5).sum(), p["probs"].shape)
    check(np.array_equal(p["truth"], labels[labels < 5]), "truth")
    out, _ = run("evaluate", "p.npz", "--json")
    check(0 <= json.loads(out)["ood"]["auroc"]["sr"] <= 1, out)
    np.save("other.npy", np.random.default_rng(0).integers(0, 255, (30, 12, 12)).astype(np.uint8))
    run("predict", "e.safetensors", *DATA, "--out-data", "other.npy", "-o", "q.npz")
    check(len(np.load("q.npz")["out_label"]) == 30, "--out-data")


@cases_of([(m, m) for m in METHODS[1:]])
def killed_and_resumed(method):
    trained()
    words = [*FIT[:5], "--method", method, "--samples", 6, "--epochs", 30 if method == "dropout" else 6, "--lr", ".02", "--batch-size", 4,
             "--threads", 2]
    run(*words, "-o", "whole.safetensors")
    chance, kills = random.Random(3), 0
    command = [COMMAND, *map(str, words), "-o", "cut.safetensors", "--resume"]
    for attempt in range(30):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(chance.uniform(0.02, 0.2) if attempt < 20 else None)
            break
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
            kills += 1
    check(child.returncode == 0, f"exit {child.returncode} after {kills} kills")
    check(read("cut.safetensors") == read("whole.safetensors"), f"other bytes after {kills} kills")
    check(not os.path.exists("cut.safetensors.partial"), "the work file is still there")


@case
def deep_head_from_an_encoded_file():
    trained()
    run("encode", "net.safetensors", *DATA, "-o", "enc.npz")
    run("fit", "--features", "enc.npz", "--layers", 3, "--samples", 3, "-o", "deep.safetensors")
    run("predict", "deep.safetensors", "--features", "enc.npz", "-o", "p.npz")
    run("evaluate", "p.npz")
    out, _ = run("compare", "--features", "enc.npz", "--layers", 2, "--samples", 3, "--epochs", 2, "--json")
    check([row["name"] for row in json.loads(out)["methods"]] == ["point", "point+T", "bootstrap", "dropout", "sgd", "sgld"], out)
    out, err = run("compare", "--features", "enc.npz", "--layers", 2, "--methods", "all", "--samples", 3, "--epochs", 2, "--temperature", "none", "--json")
    check([row["name"] for row in json.loads(out)["methods"]] == ["point", "bootstrap", "dropout", "ensemble", "swag", "sgd", "sgld", "sghmc", "cyclical", "psgld"], out)
    check("left out, since they do not apply here: map, bootstrap-solve, laplace, sgld-kfac, hmc." in err, err)
    for name, words in (("hmc", "does not work on several layers"), ("sgld-kfac", "works on the last layer alone")):
        fails(2, "compare", "--features", "enc.npz", "--layers", 2, "--methods", name, words=words)
    run("fit", "--features", "enc.npz", "--init", "adam", "--samples", 3, "-o", "adam.safetensors")
    check(tensors("adam.safetensors")[1]["format"] == "lastlayer-ensemble-1", "one layer by Adam is a head like any other")


@case
def compare_on_a_network():
    trained("--classes", "first:5")
    out, _ = run("compare", "--network", "net.safetensors", *DATA, "--samples", 3, "--epochs", 2, "--lr", ".02", "--predictions", "all", "--json")
    rows = {row["method"]: row for row in json.loads(out)["methods"]}
    check(sorted(rows) == sorted(METHODS[:5]), list(rows))
    for method, row in rows.items():
        run("fit", "--network", "net.safetensors", *DATA, "--method", method, "--samples", 3, "--epochs", 2, "--lr", ".02", "-o", "e.safetensors")
        run("predict", "e.safetensors", *DATA, "-o", "p.npz")
        one, other = np.load("p.npz"), np.load(f"all/{method}.npz")
        check(one.files == other.files and all(one[a].tobytes() == other[a].tobytes() for a in one.files), f"{method}: compare and fit give different members")
        check(0 <= row["evaluation"]["ood"]["auroc"]["sr"] <= 1, row)
    fails(2, "compare", "--network", "net.safetensors", *DATA, "--features", "x.npy", words="exclude each other")
    fails(2, "compare", "--network", "net.safetensors", *DATA, "--test-features", "x.npy", words="exclude each other")
    fails(2, "compare", "--features", "x.npy", "--out-data", "mnist", words="--out-data belongs to --data")


@case
def bad_input():
    trained()
    samples.make()
    fit = ("fit", "--network", "net.safetensors")
    end = ("-o", "e.safetensors")
    fails(2, *fit, *end, words="--data is missing")
    fails(2, "fit", *DATA, *end, words="--data belongs to --network")
    fails(2, *fit, *DATA, "--features", "features.npy", *end, words="--network and --features exclude each other")
    fails(2, *fit, *DATA, "--labels", "labels.npy", *end, words="--network and --labels exclude each other")
    fails(2, *fit, *DATA, "--layers", 2, *end, words="--network and --layers exclude each other")
    fails(2, *fit, *DATA, "--method", "dropout", "--dropout-at", "own", *end, words="has no dropout layers of its own")
    fails(3, "fit", "--network", "none.safetensors", *DATA, *end, words="none.safetensors")
    fails(4, "fit", "--network", "head.npz", *DATA, *end, words="is not a network")
    for layers in 0, 4, -1:
        fails(2, *samples.FIT, "--layers", layers, *end, words="--layers")
    fails(2, *samples.FIT, "--layers", 2, "--head", "head.npz", *end, words="leave out the head")
    fails(2, *samples.FIT, "--layers", 2, "--init", "map", *end, words="leave out --init map")
    fails(2, *samples.FIT, "--method", "ensemble", *end, words=["trains whole networks", "--layers 2"])
    run(*FIT, "--method", "point", *end)
    images.squares("fashion", side=16)
    fails(5, *fit, "--data", "fashion", "-o", "x.safetensors", words=["16x16x1", "12x12x1"])
    fails(5, "predict", "e.safetensors", "--data", "fashion", "-o", "p.npz", words=["16x16x1", "12x12x1"])
    fails(5, "predict", "e.safetensors", *samples.PREDICT, "-o", "p.npz", words=["6 columns", "fitted on 144"])
    fails(2, "predict", "e.safetensors", *DATA, *samples.PREDICT, "-o", "p.npz", words="--data and --features exclude each other")
    fails(2, "predict", "e.safetensors", *samples.PREDICT, "--out-data", "fashion", "-o", "p.npz", words="--out-data belongs to --data")
    run(*samples.FIT, "--head", "head.npz", "--method", "point", "-o", "head.safetensors")
    fails(5, "predict", "head.safetensors", *DATA, "-o", "p.npz", words="encode them first")


def damaged(change, source="e.safetensors"):
    """bad.safetensors: the file with another header."""
    rewrite(source, "bad.safetensors", lambda header, arrays: change(header))


@cases_of([
    ("another network", lambda h: h["__metadata__"].update(net="mlp:16,9"), ["layers.1.weight", "mlp:16,9"]),
    ("a text that is no network", lambda h: h["__metadata__"].update(net="mlq:3"), "mlq:3"),
    ("no network", lambda h: h["__metadata__"].pop("net"), "net is missing"),
    ("no input", lambda h: h["__metadata__"].pop("input"), "input is missing"),
    ("a strange input", lambda h: h["__metadata__"].update(input="12x12"), "HEIGHTxWIDTHxCHANNELS"),
    ("other classes", lambda h: h["__metadata__"].update(outputs="11"), "layers.2.weight"),
    ("a tensor is missing", lambda h: h.update({"x": h.pop("layers.0.bias")}), "layers.0.bias"),
    ("another type", lambda h: h["layers.2.bias"].update(dtype="I32"), "layers.2.bias"),
    ("a class twice", lambda h: h["__metadata__"].update(classes="0,1,2,3,4,5,6,7,8,8"), "the classes of the network"),
    ("classes that are no numbers", lambda h: h["__metadata__"].update(classes="many"), "the classes of the network"),
    ("no scaling", lambda h: h.update({"x": h.pop("scaling")}), "scaling"),
])
def damaged_file(change, words):
    trained()
    run(*FIT, "--method", "sgd", "-o", "e.safetensors")
    damaged(change)
    fails(4 if "mlq" not in words else 2, "predict", "bad.safetensors", *DATA, "-o", "p.npz", words=words)


def hold_out(rows):
    """bad.safetensors: net.safetensors with these rows held out."""
    def change(header, arrays):
        header["holdout"] = {"dtype": "I64", "shape": [len(rows)], "data_offsets": [len(arrays), len(arrays) + 8 * len(rows)]}
        arrays += np.array(rows, np.int64).tobytes()
    rewrite("net.safetensors", "bad.safetensors", change)


@cases_of([("the row after the last", [3, 400]), ("far away", [10 ** 6]), ("at the end of memory", [2 ** 62]), ("all of them", list(range(400)))])
def rows_held_out_that_are_not_there(rows):
    trained("--no-holdout")
    hold_out(rows)
    words = ["holdout", "400"]
    fails(4, "fit", "--network", "bad.safetensors", *DATA, "-o", "e.safetensors", words=words)
    fails(4, "compare", "--network", "bad.safetensors", *DATA, words=words)
    fails(4, "encode", "bad.safetensors", *DATA, "-o", "z.npz", words=words)
    fails(4, "search", "--network", "bad.safetensors", *DATA, "--method", "sgd", "--lr", ".01", "-S", 2, "--store", "store", words=words)


@case
def other_rows_are_warned_about():
    trained()
    images.squares(train=300)
    for words in (*FIT, "--method", "point", "-o", "e.safetensors"), ("encode", "net.safetensors", *DATA, "-o", "z.npz"):
        _, err = run(*words)
        check("warning: the network was not trained on these rows" in err, err)
    check("features_val" not in np.load("z.npz"), "rows of other data were held out")


@case
def encode_counts_the_validation_rows():
    trained()
    out, _ = run("encode", "net.safetensors", *DATA, "-o", "z.npz")
    check("360 training, 40 validation, 120 test rows" in out, out)


@case
def images_without_labels():
    sets = trained("--classes", "first:5")
    x = sets["test"][0].astype(np.uint8)
    run(*FIT, "--method", "sgd", "-o", "e.safetensors")
    np.savez("test.npz", images=x)
    np.savez("both.npz", images=x, labels=np.zeros(len(x), int))
    for data in "test.npz", "test.npz:images", "both.npz:images":
        run("predict", "e.safetensors", "--data", data, "-o", "p.npz")
        p = np.load("p.npz")
        check(p["probs"].shape == (len(x), 5) and "truth" not in p, p.files)
        run("encode", "net.safetensors", "--data", data, "-o", "z.npz")
        z = np.load("z.npz")
        check(len(z["features_test"]) == len(x) and "labels_test" not in z, z.files)
    fails(2, "train", "--data", "test.npz", "--classes", "0,1", "-o", "x.safetensors", words="has no labels")
    np.savez("train.npz", x_train=x, x_test=x)
    fails(5, "fit", "--network", "net.safetensors", "--data", "train.npz", "-o", "x.safetensors", words="no labels")
    fails(5, "compare", "--network", "net.safetensors", "--data", "train.npz", words="no labels")


@case
def images_of_fewer_classes():
    trained()
    images.squares(classes=3)
    for words in ("fit", "--network", "net.safetensors", *DATA, "-o", "x.safetensors"), ("encode", "net.safetensors", *DATA, "-o", "z.npz"):
        fails(5, *words, words=["the network knows classes up to 9", "end at 2"])


@cases_of([
    ("epochs", "epochs", "1000000000"), ("batch-size", "batch-size", "0"), ("half a row", "batch-size", "1.5"), ("optimiser", "optimiser", "zap"),
    ("lr", "lr", "nan"), ("augment", "augment", "foo"), ("scale", "scale", "0"), ("a negative scale", "scale", "-1"),
    ("a class twice", "classes", "0,1,2,3,4,5,6,7,8,8"), ("a class too large", "classes", "0,1,2,3,4,5,6,7,8,2147483647"),
])
def metadata_of_a_network(key, value):
    trained()
    damaged(lambda header: header["__metadata__"].update({key: value}), "net.safetensors")
    fails(4, "fit", "--network", "bad.safetensors", *DATA, "-o", "x.safetensors", words=["bad.safetensors", key, value[:20]])
    fails(4, "encode", "bad.safetensors", *DATA, "-o", "z.npz", words="bad.safetensors")


main()
