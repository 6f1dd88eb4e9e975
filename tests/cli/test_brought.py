# SPDX-License-Identifier: MIT
"""What people bring: other forms of labels, features and heads work, or one sentence says how to convert them."""
import io
import json
import pathlib
import pickle
import subprocess
import zipfile

import numpy as np

import samples
from samples import FIT
from tap import COMMAND, Skip, cases_of, case, check, fails, main, run
from tensors import tensors

DATA, FORMAT, USAGE = 5, 4, 2
QUICK = ("--method", "sgd", "--samples", 2, "--epochs", 1)


def fit(name, features="features.npy", labels="labels.npy", *more):
    """The members, and what the command said."""
    err = run("fit", "--features", features, "--labels", labels, *QUICK, *more, "-o", name + ".safetensors")[1]
    return {k: a.tobytes() for k, a in tensors(name + ".safetensors")[0].items()}, err


@cases_of([
    ("one-hot f32", lambda y: np.eye(samples.K, dtype=np.float32)[y]),
    ("one-hot bool", lambda y: np.eye(samples.K, dtype=bool)[y]),
    ("one-hot in Fortran order", lambda y: np.asfortranarray(np.eye(samples.K)[y])),
    ("whole f64", lambda y: y.astype(np.float64)),
    ("whole f16", lambda y: y.astype(np.float16)),
    ("a column of f32", lambda y: y.astype(np.float32)[:, None]),
])
def labels_in_another_form_mean_the_same(form):
    made = samples.make()
    plain = fit("plain")[0]
    np.save("other.npy", form(made["labels"]))
    check(fit("other", labels="other.npy")[0] == plain, "other members")


@case
def one_hot_labels_say_how_many_classes():
    made = samples.make()
    np.save("wide.npy", np.eye(samples.K + 2)[made["labels"]])
    fit("wide", "features.npy", "wide.npy")
    check(tensors("wide.safetensors")[0]["b"].shape[1] == samples.K + 2, "not a class for each column")


def wrong_hot(y):
    rows = np.eye(samples.K)[y]
    rows[7, (y[7] + 1) % samples.K] = 1
    return rows


@cases_of([
    ("two ones", wrong_hot, "row 7 is not one-hot"),
    ("no one", lambda y: np.eye(samples.K)[y] * (np.arange(len(y)) != 7)[:, None], "row 7 is not one-hot"),
    ("probabilities", lambda y: np.full((len(y), samples.K), 1 / samples.K), "y.argmax(1)"),
    ("three axes", lambda y: y[:, None, None], "or one-hot rows [N,K]"),
    ("half a class", lambda y: y + .5, "expected a whole number"),
    ("NaN", lambda y: np.where(np.arange(len(y)) == 3, np.nan, y), "the label at row 3 is nan"),
    ("infinite", lambda y: np.where(np.arange(len(y)) == 3, np.inf, y), "row 3 is too large for a class number"),
    ("-1 and 1", lambda y: np.where(y > 0, 1, -1), "save (y > 0).astype(int)"),
])
def labels_that_are_none(form, words):
    made = samples.make()
    np.save("other.npy", form(made["labels"]))
    fails(DATA, "fit", "--features", "features.npy", "--labels", "other.npy", *QUICK, "-o", "no.safetensors", words=[words])


@case
def labels_from_one_are_asked_about():
    made = samples.make()
    np.save("from1.npy", made["labels"] + 1)
    err = fit("from1", labels="from1.npy")[1]
    check("class 0 has no row" in err and "save y - 1" in err, err)
    check("class 0" not in fit("told", "features.npy", "from1.npy", "--classes", samples.K + 1)[1], "warned although --classes says so")
    check("class 0" not in fit("plain")[1], "warned about labels from 0")
    fails(DATA, *FIT[:1], "--features", "features.npy", "--labels", "from1.npy", "--head", "head.npz", *QUICK, "-o", "no.safetensors",
          words=["classes"])


@cases_of([("[N,C,1,1]", (samples.N, -1, 1, 1)), ("[N,1,1,C]", (samples.N, 1, 1, -1)), ("[N,C,1]", (samples.N, -1, 1))])
def axes_of_length_one_are_dropped(shape):
    made = samples.make()
    np.save("pooled.npy", made["features"].reshape(shape))
    check(fit("pooled", "pooled.npy")[0] == fit("plain")[0], "other members")


@case
def maps_are_to_be_pooled():
    made = samples.make()
    maps = np.repeat(np.repeat(made["features"][:, :, None, None], 2, 2), 3, 3)
    np.save("maps.npy", maps)
    fails(DATA, "fit", "--features", "maps.npy", "--labels", "labels.npy", *QUICK, "-o", "no.safetensors", words=["x.mean((2, 3))", "--flatten"])


@cases_of([(f"{x} and {y}", x, y) for x, y in (("x_train", "y_train"), ("train_x", "train_y"), ("X", "targets"),
                                               ("train_features", "train_labels"), ("x_test", "test_y"))])
def other_names_in_a_file(x, y):
    made = samples.make()
    np.savez("both.npz", **{x: made["features"], y: made["labels"]})
    check(fit("named", "both.npz", "both.npz")[0] == fit("plain")[0], "other members")


@case
def two_splits_in_one_file_are_not_guessed():
    made = samples.make()
    np.savez("both.npz", x_train=made["features"], y_train=made["labels"], x_test=made["features"], y_test=made["labels"])
    fails(USAGE, "fit", "--features", "both.npz", "--labels", "both.npz", *QUICK, "-o", "no.safetensors", words=["both.npz:NAME", "x_test"])
    check(fit("named", "both.npz:x_train", "both.npz:y_train")[0] == fit("plain")[0], "the names were not taken")


@case
def the_head_of_scikit_learn():
    made = samples.make()
    head = np.load("head.npz")
    np.savez("sklearn.npz", coef_=head["W"], intercept_=head["b"])
    check(fit("sklearn", "features.npy", "labels.npy", "--head", "sklearn.npz")[0] ==
          fit("own", "features.npy", "labels.npy", "--head", "head.npz")[0], "coef_ and intercept_ are another head")
    np.savez("binary.npz", coef_=head["W"][:1], intercept_=head["b"][:1])
    fails(DATA, "fit", "--features", "features.npy", "--labels", "labels.npy", "--head", "binary.npz", *QUICK, "-o", "no.safetensors",
          words=["numpy.vstack([-w, w]) / 2"])


@case
def the_head_of_keras():
    try:
        import h5py
    except ImportError:
        raise Skip("h5py is missing (python3-h5py)") from None
    made = samples.make()
    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        for name, W, b in (("dense", np.eye(samples.D, dtype="f4"), np.zeros(samples.D, "f4")), ("dense_1", made["W"].T, made["b"])):
            file[f"layers/{name}/vars/0"], file[f"layers/{name}/vars/1"] = W, b
    with zipfile.ZipFile("model.keras", "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", memory.getvalue())
    if subprocess.run([COMMAND, "inspect", "model.keras"], capture_output=True).returncode != 0:
        raise Skip("no lastlayer-h5")
    fails(USAGE, "fit", "--features", "features.npy", "--labels", "labels.npy", "--head", "model.keras", *QUICK, "-o", "no.safetensors",
          words=["model.keras:NAME", "/layers/dense_1/vars/0"])
    check(fit("keras", "features.npy", "labels.npy", "--head", "model.keras:/layers/dense_1/vars/0")[0] ==
          fit("own", "features.npy", "labels.npy", "--head", "head.npz")[0], "kernel and bias of Keras are another head")


@case
def a_threshold_of_any_outputs():
    made = samples.make()
    for flag, name in (("--probs", "test_probs"), ("--logits", "test_logits")):
        out = json.loads(run("threshold", flag, name + ".npy", "--labels", "test_labels.npy", "--risk", 0.05, "--json")[0])
        right = made["test_logits"].argmax(1) == made["test_labels"]
        answered = samples.softmax(made["test_logits"].astype(float)).max(1) >= out["cut"] - 1e-6
        check(out["found"] and out["risk"] <= 0.05 and abs(out["accepted"] - answered.sum()) <= 1 and abs((~right[answered]).sum() - out["accepted_errors"]) <= 1,
              f"{out}")
    np.save("one.npy", made["test_probs"][:, 1])
    fails(DATA, "threshold", "--probs", "one.npy", "--labels", "test_labels.npy", "--risk", 0.05, words=["numpy.stack([1 - p, p], -1)"])
    fails(DATA, "threshold", "--logits", "one.npy", "--labels", "test_labels.npy", "--risk", 0.05, words=["numpy.stack([0 * f, f], -1)"])


TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


@cases_of([
    ("texts in .npy", "labels.npy", lambda p: np.save(p, np.array(["cat", "dog"])), ["holds texts", "return_inverse=True", "--class-names"]),
    ("bytes in .npy", "labels.npy", lambda p: np.save(p, np.array([b"cat", b"dog"])), ["holds texts"]),
    ("texts in .csv", "labels.csv", lambda p: pathlib.Path(p).write_text("label\ncat\ndog\n"), ["line 2, column 1", "pandas.factorize"]),
    ("joblib", "m.joblib", lambda p: pathlib.Path(p).write_bytes(b"ZF0x123"), ["can run any code", "joblib.load", "m.coef_"]),
    ("a pickle", "m.pkl", lambda p: pathlib.Path(p).write_bytes(pickle.dumps([1])), ["can run any code", "m.coef_"]),
    ("a pickle without a name", "m", lambda p: pathlib.Path(p).write_bytes(pickle.dumps([1])), ["can run any code", "m.coef_"]),
    ("a .pkl that is none", "m.pickle", lambda p: pathlib.Path(p).write_bytes(b"hello"), ["can run any code"]),
    ("old PyTorch", "m.bin2", lambda p: pathlib.Path(p).write_bytes(TORCH), ["PyTorch pickle", "torch.load"]),
    ("ONNX", "m.onnx", lambda p: pathlib.Path(p).write_bytes(b"\x08\x07\x12\x07pytorch"), ["numpy_helper.to_array", 'onnx.load("m.onnx")']),
    ("Parquet", "m.parquet", lambda p: pathlib.Path(p).write_bytes(b"PAR1....PAR1"), ["pandas.read_parquet", "numpy.stack"]),
    ("Parquet without a name", "m", lambda p: pathlib.Path(p).write_bytes(b"PAR1....PAR1"), ["pandas.read_parquet"]),
])
def what_is_not_read_says_how_to_convert(name, write, words):
    samples.make()
    write(name)
    fails(FORMAT, "fit", "--features", "features.npy", "--labels", name, *QUICK, "-o", "no.safetensors", words=words)


main()
