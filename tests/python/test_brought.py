#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people bring to Python: it works, or one sentence says how to convert it. tests/cli/test_brought.py does the same for the command."""
import pathlib
import pickle
import sys
import types
import warnings

import numpy as np

import lastlayer as ll

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import samples  # noqa: E402
from tap import Skip, case, cases_of, check, main  # noqa: E402

K = samples.K
QUICK = {"method": "sgd", "samples": 2, "epochs": 1}


def refused(kind, words, call):
    """The call raises this error, with one sentence that has these words."""
    try:
        call()
    except kind as why:
        check(all(word in str(why) for word in words) and "\n" not in str(why), f"{why} lacks one of {words}")
        return
    raise AssertionError(f"no {kind.__name__}")


def same(one, other):
    check(np.array_equal(one.W, other.W) and np.array_equal(one.b, other.b), "other members")


def words_of(y):
    return np.array(["ant", "bee", "cat"])[y]


@cases_of([
    ("one-hot f64", lambda y: np.eye(K)[y]), ("one-hot bool", lambda y: np.eye(K, dtype=bool)[y]), ("whole f64", lambda y: y.astype(float)),
    ("whole f16", lambda y: y.astype(np.float16)), ("a column", lambda y: y[:, None]), ("a list", lambda y: y.tolist()), ("u8", lambda y: y.astype(np.uint8)),
])
def labels_in_another_form_mean_the_same(form):
    made = samples.make()
    same(ll.fit(made["features"], form(made["labels"]), **QUICK), ll.fit(made["features"], made["labels"], **QUICK))
    truth = form(made["test_labels"])
    check(ll.evaluate(probs=made["test_probs"], labels=truth).accuracy == ll.evaluate(probs=made["test_probs"], labels=made["test_labels"]).accuracy, "evaluate")


@cases_of([
    ("texts", words_of, ["texts", "return_inverse=True", "searchsorted"]), ("bytes", lambda y: words_of(y).astype("S"), ["texts", "return_inverse"]),
    ("objects", lambda y: words_of(y).astype(object), ["texts"]), ("a list of texts", lambda y: words_of(y).tolist(), ["texts"]),
    ("half a class", lambda y: y + .5, ["whole number"]), ("-1 and 1", lambda y: np.where(y > 0, 1, -1), ["(y > 0).astype(int)"]),
    ("probabilities", lambda y: np.full((len(y), K), 1 / K), ["y.argmax(1)"]),
])
def labels_that_are_none(form, words):
    made = samples.make()
    refused(ll.DataError, words, lambda: ll.fit(made["features"], form(made["labels"]), **QUICK))
    refused(ll.DataError, words[:1], lambda: ll.evaluate(probs=made["test_probs"], labels=form(made["test_labels"])))


@case
def the_lines_for_texts_work():
    made = samples.make()
    names, y = np.unique(words_of(made["labels"]), return_inverse=True)
    other = np.searchsorted(names, words_of(made["test_labels"]))
    check(np.array_equal(y, made["labels"]) and np.array_equal(other, made["test_labels"]), "the lines of the sentence make other numbers")


@case
def labels_from_one_are_asked_about():
    made = samples.make()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ll.fit(made["features"], made["labels"] + 1, **QUICK)
    check(any("class 0 has no row" in str(one.message) and "y - 1" in str(one.message) for one in said), f"{[str(one.message) for one in said]}")
    check(all(one.filename == __file__ for one in said), f"a warning names a line of {said[0].filename}")
    refused(ll.DataError, ["y - 1"], lambda: ll.evaluate(probs=made["test_probs"], labels=made["test_labels"] + 1))


@case
def features_in_another_form():
    made = samples.make()
    x, y = made["features"], made["labels"]
    plain = ll.fit(x, y, **QUICK)
    for shape in ((-1, samples.D, 1, 1), (-1, 1, 1, samples.D), (-1, samples.D, 1)):
        same(ll.fit(x.reshape(shape), y, **QUICK), plain)
    same(ll.fit(x.tolist(), y, **QUICK), plain)
    maps = np.repeat(np.repeat(x[:, :, None, None], 2, 2), 3, 3)
    refused(ll.DataError, ["x.mean((2, 3))", "x.reshape(len(x), -1)"], lambda: ll.fit(maps, y, **QUICK))
    refused(ll.DataError, ["row 0, column 2"], lambda: ll.fit(np.where(np.arange(samples.D) == 2, np.nan, x), y, **QUICK))
    refused(ll.DataError, ["is a path", "numpy.load('features.npy')"], lambda: ll.fit("features.npy", y, **QUICK))
    refused(ll.DataError, ["is a path"], lambda: ll.fit(pathlib.Path("features.npy"), y, **QUICK))
    np.savez("both.npz", train_x=x, train_y=y)
    refused(ll.DataError, ["train_x, train_y", "['train_x']"], lambda: ll.fit(np.load("both.npz"), y, **QUICK))
    refused(ll.DataError, ["expected"], lambda: ll.fit([[1.0, 2.0], [3.0]], [0, 1], **QUICK))


@case
def heads_of_other_libraries():
    made = samples.make()
    x, y, W, b = made["features"], made["labels"], made["W"], made["b"]
    own = ll.fit(x, y, (W, b), **QUICK)
    for head in ({"W": W, "b": b}, {"weight": W, "bias": b}, {"kernel": W.T, "bias": b}, {"coef_": W, "intercept_": b}, np.load("head.npz"),
                 types.SimpleNamespace(coef_=W, intercept_=b), types.SimpleNamespace(weight=W, bias=b), [W, b]):
        same(ll.fit(x, y, head, **QUICK), own)
    same(ll.fit(x, y, {"weight": W}, **QUICK), ll.fit(x, y, W, **QUICK))
    refused(ll.DataError, ["numpy.vstack([-w, w]) / 2"], lambda: ll.fit(x, y, (W[:1], b[:1]), **QUICK))
    refused(ll.DataError, ["fc.weight", "expected W and b"], lambda: ll.fit(x, y, {"fc.weight": W, "fc.bias": b}, **QUICK))
    refused(ll.DataError, ["3 parts"], lambda: ll.fit(x, y, (W, b, b), **QUICK))
    refused(ll.DataError, ["is a path", "numpy.load('head.npz')"], lambda: ll.fit(x, y, "head.npz", **QUICK))


@case
def tensors_that_require_gradients():
    try:
        import torch
    except ImportError:
        raise Skip("no torch") from None
    made = samples.make()
    layer = torch.nn.Linear(samples.D, K)
    head = (layer.weight.detach().numpy(), layer.bias.detach().numpy())
    same(ll.fit(torch.tensor(made["features"], requires_grad=True), torch.tensor(made["labels"]), layer, **QUICK),
         ll.fit(made["features"], made["labels"], head, **QUICK))
    same(ll.fit(made["features"], made["labels"], layer.state_dict(), **QUICK), ll.fit(made["features"], made["labels"], head, **QUICK))


@case
def outputs_in_another_form():
    made = samples.make()
    y = made["test_labels"] > 0
    p = 1 - made["test_probs"][:, 0].astype(float)
    refused(ll.DataError, ["probs", "numpy.stack([1 - p, p], -1)"], lambda: ll.evaluate(probs=p, labels=y))
    check(ll.evaluate(probs=np.stack([1 - p, p], -1), labels=y).n == len(y), "the line of the sentence does not work")
    f = np.log(p / (1 - p))
    refused(ll.DataError, ["logits", "numpy.stack([0 * f, f], -1)"], lambda: ll.evaluate(logits=f, labels=y))
    check(abs(ll.evaluate(logits=np.stack([0 * f, f], -1), labels=y).nll - ll.evaluate(probs=np.stack([1 - p, p], -1), labels=y).nll) < 1e-9, "nll")
    refused(ll.DataError, ["probs", "use logits"], lambda: ll.evaluate(probs=made["test_logits"], labels=made["test_labels"]))
    refused(ll.DataError, ["predict_proba"], lambda: ll.evaluate(probs=types.SimpleNamespace(predict_proba=None), labels=y))
    refused(TypeError, ["probs="], lambda: ll.evaluate(made["test_probs"], labels=made["test_labels"]))
    for given in ({"probs": made["test_probs"]}, {"logits": made["test_logits"]}):
        check(ll.threshold(**given, labels=made["test_labels"], risk=0.05).found, "threshold")


@cases_of([
    ("joblib", "m.joblib", b"ZF0x123", ["can run any code", "joblib.load", "m.coef_"]), ("a pickle", "m.pkl", pickle.dumps([1]), ["can run any code"]),
    ("ONNX", "m.onnx", b"\x08\x07\x12\x07pytorch", ["numpy_helper.to_array"]), ("Parquet", "m.parquet", b"PAR1....PAR1", ["pandas.read_parquet"]),
])
def files_that_are_not_read(name, content, words):
    pathlib.Path(name).write_bytes(content)
    refused(ll.FormatError, words, lambda: ll.load(name))


@case
def the_classifier_takes_texts_and_refuses_matrices():
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise Skip("no scikit-learn") from None
    made = samples.make()
    x, y = made["features"], made["labels"]
    c = ll.LastLayerClassifier("sgd", samples=2, random_state=0).fit(x, words_of(y))
    check(set(c.predict(x)) <= {"ant", "bee", "cat"}, "other classes")
    refused(ll.DataError, ["y.argmax(1)"], lambda: ll.LastLayerClassifier("sgd", samples=2).fit(x, np.eye(K)[y]))
    refused(ll.DataError, ["X.mean((2, 3))", "reshape"], lambda: ll.LastLayerClassifier("sgd", samples=2).fit(np.repeat(x[:, :, None, None], 2, 3), y))


main()
