# SPDX-License-Identifier: MIT
"""Bad input gets one clear sentence, its exit code, no output file, and nothing is overwritten."""
import os
import struct
import subprocess

import numpy as np

import images
import samples
from tap import COMMAND, case, cases_of, check, fails, main, run

READ, FORMAT, DATA, USAGE = 3, 4, 5, 2
OUT = ("-o", "out.safetensors")


def npy(path, descr, shape, payload=b"", fortran=False):
    """An .npy file whose header may lie."""
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + payload)


def cut(path, keep):
    data = open(path, "rb").read()
    open(path, "wb").write(data[:int(len(data) * keep)])


def flip(path, where):
    data = bytearray(open(path, "rb").read())
    data[int(len(data) * where)] ^= 0xff
    open(path, "wb").write(bytes(data))


BROKEN = {
    "missing": (lambda p: os.remove(p), READ),
    "empty": (lambda p: open(p, "wb").close(), READ),
    "truncated": (lambda p: cut(p, 0.6), FORMAT),
    "cut in the header": (lambda p: open(p, "r+b").truncate(9), FORMAT),
    "garbage": (lambda p: open(p, "wb").write(bytes(range(255, 0, -1)) * 20), FORMAT),
    "a folder": (lambda p: (os.remove(p), os.mkdir(p)), READ),
}


def fit_with(role):
    return {
        "features": (*samples.FIT, *OUT),
        "labels": (*samples.FIT, *OUT),
        "head.npz": (*samples.FIT, "--head", "head.npz", *OUT),
    }[role]


@cases_of([(f"{role} {kind}", role, kind) for role in ["features", "labels", "head.npz"] for kind in BROKEN])
def fit_file(role, kind):
    samples.make()
    path = role if role.endswith(".npz") else role + ".npy"
    breaks, code = BROKEN[kind]
    breaks(path)
    open("out.safetensors", "w").write("precious")
    fails(code, *fit_with(role), words=path)


@cases_of([(f"{role} {kind}", role, kind) for role in ["ens.safetensors", "test_features.npy", "test_labels.npy"] for kind in BROKEN])
def predict_file(role, kind):
    samples.make()
    run(*samples.FIT, "--method", "sgd", "--samples", "3", "-o", "ens.safetensors")
    breaks, code = BROKEN[kind]
    breaks(role)
    fails(code, "predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "pred.npz", words=role)


@cases_of([(f"{role} {kind}", role, kind) for role in ["pred.npz", "test_labels.npy", "probs.npy"] for kind in BROKEN])
def evaluate_file(role, kind):
    samples.make()
    run(*samples.FIT, "--method", "sgd", "--samples", "3", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "pred.npz")
    breaks, code = BROKEN[kind]
    breaks(role)
    source = ("--probs", "probs.npy") if role == "probs.npy" else ("pred.npz",)
    fails(code, "evaluate", *source, "--labels", "test_labels.npy", words=role)
    if role != "probs.npy":
        fails(code, "threshold", "pred.npz", "--labels", "test_labels.npy", "--risk", "0.1", words=role)


@cases_of([
    ("promises more rows", "<f4", (1000, 6), 64, "truncated"),
    ("shape overflows", "<f4", (2 ** 62, 8), 64, ""),
    ("shape overflows twice", "<f4", (2 ** 40, 2 ** 40), 64, ""),
    ("negative shape", "<f4", (-3, 6), 64, ""),
    ("objects", "|O", (3, 6), 64, ""),
    ("strings", "<U5", (3, 6), 360, ""),
    ("complex numbers", "<c8", (3, 6), 144, ""),
])
def features_header(descr, shape, size, words):
    samples.make()
    npy("features.npy", descr, shape, b"\0" * size)
    fails(FORMAT, *samples.FIT, *OUT, words=["features.npy", words])


@cases_of([
    ("one axis", lambda d: np.save("features.npy", d["features"][:, 0]), "[N,D]"),
    ("three axes", lambda d: np.save("features.npy", d["features"].reshape(300, 2, 3)), "--flatten"),
    ("no rows", lambda d: np.save("features.npy", d["features"][:0]), "row"),
    ("no columns", lambda d: np.save("features.npy", d["features"][:, :0]), "column"),
    ("a NaN", lambda d: put("features", d, (17, 4), np.nan), ["NaN", "row 17", "column 4"]),
    ("an infinity", lambda d: put("features", d, (299, 5), np.inf), ["infinite", "row 299", "column 5"]),
    ("an infinity in f16", lambda d: np.save("features.npy", np.full((300, 6), np.inf, np.float16)), ["infinite", "row 0"]),
    ("too few labels", lambda d: np.save("labels.npy", d["labels"][:-1]), ["299", "300"]),
    ("too many labels", lambda d: np.save("labels.npy", np.append(d["labels"], 0)), ["301", "300"]),
    ("labels of floats", lambda d: np.save("labels.npy", d["labels"] * 1.5), "whole number"),
    ("labels one-hot", lambda d: np.save("labels.npy", 2 * np.eye(3, dtype=int)[d["labels"]]), "not one-hot"),
    ("label negative", lambda d: put("labels", d, 5, -1), ["row 5", "-1"]),
    ("one class", lambda d: np.save("labels.npy", d["labels"] * 0), "two classes"),
    ("class number above N", lambda d: put("labels", d, 5, 10 ** 6), "--classes"),
    ("label beyond 32 bits", lambda d: put("labels", d, 5, 2 ** 40), "row 5"),
])
def arrays(change, words):
    change(samples.make())
    for method in ["point", "sgd"]:
        fails(DATA, *samples.FIT, "--method", method, *OUT, words=words)


def put(name, data, index, value):
    array = data[name].copy()
    array[index] = value
    np.save(name + ".npy", array)


@case
def label_at_the_number_of_classes():
    samples.make()
    fails(DATA, *samples.FIT, "--classes", "2", *OUT, words=["label", "2"])
    fails(DATA, *samples.FIT, "--head", "head.npz", "--classes", "4", *OUT, words="--classes")


@cases_of([
    ("D disagrees", lambda d: np.savez("head.npz", W=d["W"][:, :5], b=d["b"]), DATA, []),
    ("K below the labels", lambda d: np.savez("head.npz", W=d["W"][:2], b=d["b"][:2]), DATA, ["2"]),
    ("K of W and b disagree", lambda d: np.savez("head.npz", W=d["W"], b=d["b"][:2]), DATA, []),
    ("rank of W", lambda d: np.savez("head.npz", W=d["W"][0], b=d["b"]), DATA, []),
    ("rank of b", lambda d: np.savez("head.npz", W=d["W"], b=d["W"]), DATA, []),
    ("NaN in W", lambda d: np.savez("head.npz", W=d["W"] * np.nan, b=d["b"]), DATA, []),
    ("infinite b", lambda d: np.savez("head.npz", W=d["W"], b=d["b"] * np.inf), DATA, []),
    ("no W", lambda d: np.savez("head.npz", foo=d["W"], bar=d["b"], baz=d["b"]), USAGE, ["foo, bar, baz"]),
])
def head(change, code, words):
    change(samples.make())
    fails(code, *samples.FIT, "--head", "head.npz", *OUT, words=["head", *words])


@case
def square_head_needs_a_layout():
    data = samples.make(d=3)
    fails(DATA, *samples.FIT, "--head", "head.npz", *OUT, words="--head-layout")
    run(*samples.FIT, "--head", "head.npz", "--head-layout", "kd", "--method", "point", "-o", "kd.safetensors")
    np.savez("head.npz", W=data["W"].T, b=data["b"])
    run(*samples.FIT, "--head", "head.npz", "--head-layout", "dk", "--method", "point", "-o", "dk.safetensors")
    check(open("kd.safetensors", "rb").read() == open("dk.safetensors", "rb").read(), "[K,D] and its transpose give different ensembles")


@case
def ensemble_of_another_width():
    data = samples.make()
    run(*samples.FIT, "--method", "point", "-o", "ens.safetensors")
    np.save("test_features.npy", data["test_features"][:, :5])
    fails(DATA, "predict", "ens.safetensors", *samples.PREDICT, "-o", "pred.npz", words=["5", "6"])


@case
def predict_refuses():
    data = samples.make()
    run(*samples.FIT, "--method", "point", "-o", "ens.safetensors")
    base = ("predict", "ens.safetensors", *samples.PREDICT)
    np.save("short.npy", data["test_labels"][:-1])
    np.save("high.npy", data["test_labels"] + 1)
    fails(DATA, *base, "--labels", "short.npy", "-o", "p.npz", words=["299", "300"])
    fails(DATA, *base, "--labels", "high.npy", "-o", "p.npz", words="label")
    fails(USAGE, *base, "-o", "p.xyz", words="p.xyz")
    fails(USAGE, *base, "--members", "5,x", "-o", "p.npz", words="--members")
    for rows in ["300", "-1", "5:2", "0:301"]:
        fails(USAGE, *base, f"--members={rows}", "-o", "p.npz", words="members")
    np.save("nan.npy", np.where(np.arange(6) == 2, np.nan, data["test_features"]).astype(np.float32))
    fails(DATA, "predict", "ens.safetensors", "--features", "nan.npy", "-o", "p.npz", words=["NaN", "row 0", "column 2"])
    fails(FORMAT, "predict", "features.npy", *samples.PREDICT, "-o", "p.npz", words="features.npy")


@case
def logits_beyond_single_precision():
    data = samples.make()
    head = ("--head", "head.npz", "--samples", "3")
    run(*samples.FIT, *head, "--method", "sgd", "-o", "ens.safetensors")
    large = data["test_features"].copy()
    large[[7, 9]] = np.sign(data["W"][0]) * 3.3e38
    check(np.abs(data["W"][0]).sum() > 1.2, data["W"])
    np.save("large.npy", large)
    fails(DATA, "predict", "ens.safetensors", "--features", "large.npy", "-o", "p.npz", words=["logits of row 7", "beyond single precision"])
    fails(DATA, "compare", *samples.FIT[1:], *head, "--epochs", "1", "--test-features", "large.npy", "--test-labels", "test_labels.npy",
          words="logits of row 7")


@cases_of([
    ("rows do not sum to 1", lambda d: np.save("probs.npy", d["probs"] * 1.01), "--logits"),
    ("negative", lambda d: np.save("probs.npy", d["probs"] - [0.5, -0.5, 0]), "--logits"),
    ("one axis", lambda d: np.save("probs.npy", d["probs"][:, 0]), "[N,K]"),
    ("NaN", lambda d: np.save("probs.npy", d["probs"] * np.nan), ""),
    ("row count", lambda d: np.save("probs.npy", d["probs"][:-1]), "299"),
    ("labels beyond K", lambda d: np.save("test_labels.npy", d["test_labels"] + 1), "label"),
    ("labels negative", lambda d: np.save("test_labels.npy", d["test_labels"] - 1), "label"),
    ("labels of floats", lambda d: np.save("test_labels.npy", d["test_labels"] + 0.5), "whole number"),
])
def probabilities(change, words):
    change(samples.make())
    err = fails(DATA, "evaluate", "--probs", "probs.npy", "--labels", "test_labels.npy", words=words)
    check("probs.npy" in err or "test_labels.npy" in err, f"no file is named: {err}")


@case
def evaluate_refuses():
    data = samples.make()
    run(*samples.FIT, "--method", "point", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "pred.npz")
    fails(USAGE, "evaluate", "pred.npz", words=["pred.npz", "--labels"])
    fails(USAGE, "threshold", "pred.npz", "--risk", ".1", words=["pred.npz", "--labels"])
    fails(DATA, "evaluate", "head.npz", "--labels", "test_labels.npy", words="head.npz")
    np.save("short.npy", data["test_labels"][:-1])
    fails(DATA, "evaluate", "pred.npz", "--labels", "short.npy", words=["299", "300"])
    np.save("costs.npy", np.ones((2, 3)))
    fails(DATA, "evaluate", "pred.npz", "--labels", "test_labels.npy", "--costs", "costs.npy", words="cost")
    fails(READ, "evaluate", "pred.npz", "--labels", "test_labels.npy", "--costs", "none.npy", words="none.npy")
    fails(READ, "evaluate", "pred.npz", "--labels", "test_labels.npy", "--ood", "none.npz", words="none.npz")
    fails(USAGE, "threshold", "pred.npz", "--labels", "test_labels.npy", "--risk", ".1", "--by", "std", words="std")


@case
def evaluate_of_several_refuses():
    data = samples.make()
    run(*samples.FIT, "--method", "point", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "a.npz")
    turned = data["test_labels"][::-1]
    row = int(np.flatnonzero(turned != data["test_labels"])[0])
    np.save("turned.npy", turned)
    np.save("few.npy", data["test_features"][:9])
    np.save("few_labels.npy", data["test_labels"][:9])
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "turned.npy", "-o", "turned.npz")
    run("predict", "ens.safetensors", "--features", "few.npy", "--labels", "few_labels.npy", "-o", "few.npz")
    fails(DATA, "evaluate", "a.npz", "turned.npz", words=["a.npz", "turned.npz", f"row {row} ", "same order"])
    fails(DATA, "evaluate", "a.npz", "few.npz", words=["a.npz", "few.npz", "300", "9"])
    fails(READ, "evaluate", "a.npz", "none.npz", words="none.npz")
    fails(USAGE, "evaluate", "a.npz", "a.npz", "--interval", "0", words="--interval")
    fails(USAGE, "evaluate", "a.npz", "a.npz", "--classifier", "votes", words="--classifier votes")
    fails(USAGE, "evaluate", "a.npz", "a.npz", "--compat", "brosse", words="--compat brosse")
    fails(USAGE, "evaluate", "a.npz", "a.npz", "--probs", "probs.npy", words="--probs")
    fails(USAGE, "evaluate", "a.npz", "a.npz", "--ood", "a.npz", words=["--ood", "one per method"])
    fails(DATA, "evaluate", "a.npz", "a.npz", "--ood", "a.npz,few.npz", words=["300", "9", "out-of-distribution"])
    fails(USAGE, "evaluate", "a.npz", "--by", "std", words="--by")


@cases_of([(f"{name} {value}", name, value, words) for name, value, words in [
    ("sr", np.inf, "confidence sr is infinite in row 1"), ("sr", np.nan, "confidence sr is NaN in row 1"),
    ("sr", 2.0, "confidence sr is 2 in row 1"), ("std", -np.inf, "confidence std is infinite in row 1"),
    ("sr_tail", np.inf, "sr_tail is inf in row 1"), ("probs", 7.0, "probs has 7 in row 1, class 0"),
    ("sr_logtail", np.nan, "sr_logtail is nan in row 1"), ("margin_logtail", 1.0, "margin_logtail is 1 in row 1"),
    ("log_true", 2.0, "log_true is 2 in row 1"), ("out_sr", np.inf, "confidence sr is infinite in row 1")]])
def every_reader_refuses_the_same_predictions(name, value, words):
    """evaluate, threshold and report read predictions through one check."""
    samples.make()
    run(*samples.FIT, "--method", "sgd", "--samples", "3", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "good.npz")
    run("predict", "ens.safetensors", "--features", "out_features.npy", "-o", "good_out.npz")
    arrays = {**np.load("good.npz"), **{f"out_{key}": x for key, x in np.load("good_out.npz").items() if key != "running"}}
    np.savez("pred.npz", **arrays)
    run("evaluate", "pred.npz")
    arrays[name].reshape(len(arrays[name]), -1)[1, 0] = value
    np.savez("pred.npz", **arrays)
    fails(DATA, "evaluate", "pred.npz", words=["pred.npz", words])
    fails(DATA, "report", "pred.npz", "-o", "page.html", words=["pred.npz", words])
    if not name.startswith("out_"):
        fails(DATA, "threshold", "pred.npz", "--risk", ".1", words=["pred.npz", words])
        fails(DATA, "threshold", "pred.npz", "--coverage", ".9", "--by", "hq", words=["pred.npz", words])


@case
def divergence_has_its_own_code():
    samples.make()
    for method in ["sgd", "sgld", "dropout", "bootstrap"]:
        fails(7, *samples.FIT, "--method", method, "--lr", "100000", "--samples", "3", *OUT, words=["diverged", "lr"])


@case
def compare_refuses():
    data = samples.make()
    base = ("compare", "--features", "features.npy", "--labels", "labels.npy")
    fails(USAGE, *base, "--test-features", "test_features.npy", words="--test-labels")
    np.save("narrow.npy", data["test_features"][:, :4])
    fails(DATA, *base, "--test-features", "narrow.npy", "--test-labels", "test_labels.npy")
    fails(READ, *base, "--test-features", "none.npy", "--test-labels", "test_labels.npy", words="none.npy")


@case
def file_and_name():
    data = samples.make()
    np.savez("all.npz", features_train=data["features"], labels_train=data["labels"], other=data["probs"])
    named = ("--features", "all.npz:features_train", "--labels", "all.npz:labels_train")
    run("fit", *named, "--method", "point", "-o", "a.safetensors")
    _, err = run("fit", "--features", "all.npz:features_train", "--method", "point", "-o", "b.safetensors")
    check("note: labels from all.npz:labels_train" in err, err)
    check(open("a.safetensors", "rb").read() == open("b.safetensors", "rb").read(), "labels found beside the features give another file")
    fails(USAGE, "fit", "--features", "all.npz:nothing", "--labels", "labels.npy", *OUT, words=["nothing"])
    fails(USAGE, "fit", "--features", "features.npy", *OUT, words="--labels is missing")
    with open("all.npz", "r+b") as file:
        file.truncate(100)
    fails(FORMAT, "fit", "--features", "all.npz:features_train", *OUT, words="all.npz")
    fails(FORMAT, "compare", *samples.FIT[1:], "--test-features", "all.npz", words="all.npz")


def kept(path, code, *arguments, words="is also the input"):
    """The command is refused, and the file, wherever it lies, is as it was."""
    before = open(path, "rb").read()
    fails(code, *arguments, words=words)
    check(open(path, "rb").read() == before, f"{path} is another file now")


@case
def outputs_that_are_inputs():
    data = samples.make()
    sets = images.squares()
    x, y = [a.astype(np.uint8) for a in sets["train"]]
    np.savez("images.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    os.symlink("images.npz", "link.npz")
    tiny = ("--net", "mlp:8", "--epochs", 1)
    run("train", "--data", "mnist", *tiny, "-o", "net.safetensors")
    fit = ("fit", "--network", "net.safetensors", "--method", "point")
    run(*fit, "--data", "mnist", "-o", "full.safetensors")
    for output in "images.npz", "link.npz":
        kept("images.npz", USAGE, "predict", "full.safetensors", "--data", "images.npz", "-o", output)
        kept("images.npz", USAGE, "predict", "full.safetensors", "--data", "mnist", "--out-data", "images.npz:x_test", "-o", output)
    os.rename("images.npz", "images.safetensors")
    kept("images.safetensors", USAGE, *fit, "--data", "images.safetensors", "-o", "images.safetensors")
    os.mkdir("cp")
    np.savez("cp/sgd.npz", features_train=data["features"], labels_train=data["labels"])
    base = ("compare", "--test-features", "test_features.npy", "--test-labels", "test_labels.npy", "--predictions", "cp")
    kept("cp/sgd.npz", USAGE, *base, "--features", "cp/sgd.npz")
    kept("cp/sgd.npz", USAGE, *base, "--features", "cp/sgd.npz:features_train", "--labels", "labels.npy")
    fails(USAGE, *base[:-1], "new", "--features", "features.npy", "--labels", "new/sgd.npz/", "--json", "--markdown")
    check(not os.path.exists("new"), "a refused compare made its folder")
    labels = "data/mnist/train-labels-idx1-ubyte"
    for what in ("train", *tiny), (*fit,), ("import", "net.safetensors"):
        kept(labels, USAGE, *what, "--data", "mnist", "-o", labels, words="ends in .safetensors")
        fails(USAGE, *what, "--data", "mnist", "-o", "foo.bar", words="ends in .safetensors")


@case
def a_page_is_not_written_over_its_store():
    samples.make()
    run("search", *samples.FIT[1:], "--test-features", "test_features.npy", "--test-labels", "test_labels.npy", "--method", "sgd", "--lr", ".01",
        "-S", 2, "--epochs", 1, "--store", "store")
    kept("store/choice.json", USAGE, "report", "store", "-o", "store/choice.json", words="is a file of the input store")
    for _ in range(2):
        run("report", "store", "-o", "store/page.html")


@case
def one_wild_label():
    x = np.random.default_rng(0).integers(0, 255, (50, 4, 4)).astype(np.uint8)
    y = np.arange(50) % 3
    end = ("--net", "mlp:4", "--epochs", 1, "-o", "net.safetensors")
    np.savez("wild.npz", x_train=x, y_train=np.where(np.arange(50) == 7, 2 ** 31 - 2, y))
    with open("said", "w") as said:
        process = subprocess.Popen([COMMAND, "train", "--data", "wild.npz", *map(str, end)], stderr=said)
        _, status, used = os.wait4(process.pid, 0)
    said = open("said").read()
    check(os.waitstatus_to_exitcode(status) == DATA and "wild.npz: the largest label is 2147483646" in said, f"{status} {said}")
    check(used.ru_maxrss < 1000000, f"{used.ru_maxrss} kB were used")
    np.savez("some.npz", x_train=x, y_train=np.where(np.arange(50) == 7, 99, y))
    fails(DATA, "train", "--data", "some.npz", *end, words=["100 classes for 50 rows", "--classes first:100"])
    run("train", "--data", "some.npz", "--classes", "first:100", *end)


if __name__ == "__main__":
    main()
