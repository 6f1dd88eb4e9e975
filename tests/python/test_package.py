#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""import lastlayer: the same bytes as the command, arrays in place, signals, exceptions, fork, pickles."""
import hashlib
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import lastlayer as ll
from lastlayer import _lastlayer as native

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "oracle" / "lib"))
import draws  # noqa: E402

folder = pathlib.Path(tempfile.mkdtemp())
random = np.random.default_rng(0)
centres = 1.2 * random.normal(size=(4, 8))


def points(n):
    y = random.integers(0, 4, n)
    return (centres[y] + random.normal(size=(n, 8))).astype(np.float32), y


X, y = points(600)
T, t = points(500)
V, v = points(400)
np.savez(folder / "data.npz", X=X, y=y, T=T, t=t)


def command(*arguments):
    subprocess.run([os.environ["LASTLAYER"], *map(str, arguments)], check=True, capture_output=True)


def raises(kind, call, *words):
    try:
        call()
    except kind as why:
        assert all(word in str(why) for word in words), f"{why} lacks one of {words}"
        return why
    raise AssertionError(f"no {kind.__name__}")


@tap.case
def same_bytes_as_the_command():
    one = {row["name"] for row in native.methods() if row["samples"] == 1}
    for method in sorted(set(ll.methods()) - {"ensemble"}):
        samples = [] if method in one else ["--samples", 5]
        command("fit", "--features", f"{folder}/data.npz:X", "--labels", f"{folder}/data.npz:y", "--method", method, "--seed", 3, *samples,
                "-o", folder / "c.safetensors")
        command("predict", folder / "c.safetensors", "--features", f"{folder}/data.npz:T", "--labels", f"{folder}/data.npz:t", "-o",
                folder / "c.npz")
        ensemble = ll.fit(X, y, method=method, seed=3, **({"samples": 5} if samples else {}))
        ensemble.save(folder / "p.safetensors")
        ensemble.predict(T, t).save(folder / "p.npz")
        for kind in ("safetensors", "npz"):
            assert (folder / f"c.{kind}").read_bytes() == (folder / f"p.{kind}").read_bytes(), f"{method}: other {kind}"


@tap.case
def the_prior_can_be_chosen():
    command("fit", "--features", f"{folder}/data.npz:X", "--labels", f"{folder}/data.npz:y", "--val-features", f"{folder}/data.npz:T",
            "--val-labels", f"{folder}/data.npz:t", "--method", "laplace", "--prior-precision", "validation", "-o", folder / "v.safetensors")
    ensemble = ll.fit(X, y, method="laplace", prior_precision="validation", val_features=T, val_labels=t)
    assert ensemble.to_bytes() == (folder / "v.safetensors").read_bytes()
    ensemble = ll.fit(X, y, method="laplace", prior_precision="evidence")
    assert ensemble.provenance["prior-precision-by"] == "evidence" and float(ensemble.provenance["prior-precision"]) > 0
    command("fit", "--features", f"{folder}/data.npz:X", "--labels", f"{folder}/data.npz:y", "--method", "laplace", "--samples", 7, "-o", folder / "l.safetensors",
            "--members-out", folder / "m.safetensors")
    drawn = ll.fit(X, y, method="laplace", samples=7).draw()
    assert drawn.to_bytes() == (folder / "m.safetensors").read_bytes() and drawn.W.shape[0] == 7
    raises(ll.UsageError, drawn.draw, "no Gaussian")
    raises(ll.UsageError, lambda: ll.fit(X, y, method="laplace", prior_precision="validation"), "val_features", "val_labels", "prior_precision=evidence")
    raises(TypeError, lambda: ll.fit(X, y, prior_precision="evident"), "prior_precision", "evidence|validation")


@tap.case
def content_keys_the_masks():
    """Against numpy's own Philox and hashlib: the mean of masked softmaxes of a row, whatever stands around it."""
    ensemble = ll.fit(X, y, method="dropout", samples=6, epochs=2, dropout=0.3, seed=9, key="content")
    drop16, W, b = int(ensemble.provenance["drop16"]), ensemble.W[0].astype(float), ensemble.b[0].astype(float)
    p = ensemble.predict(T).probs
    for row in range(20):
        key = int.from_bytes(hashlib.sha256(T[row].astype("<f4").tobytes()).digest()[:8], "big")
        mean = np.zeros(4)
        for s in range(6):
            planes = draws.blocks(9, draws.PREDICT_MASK, 0, s, [(key + q) % 2**64 for q in range(16)])
            number = [sum((int(planes[q, 0]) >> unit & 1) << (15 - q) for q in range(16)) for unit in range(8)]
            logits = W @ np.where(np.array(number) < drop16, 0, T[row] * 65536 / (65536 - drop16)) + b
            mean += np.exp(logits) / np.exp(logits).sum() / 6
        assert np.allclose(p[row], mean, atol=1e-6), row
    order = random.permutation(len(T))
    assert np.array_equal(ensemble.predict(T[order]).probs, p[order])
    assert np.array_equal(ensemble.predictor()(T[33:40], row=5)["probs"], p[33:40])
    assert np.array_equal(ll.Ensemble.from_bytes(ensemble.to_bytes()).predict(T[::-1]).probs, p[::-1])
    assert not np.array_equal(ll.fit(X, y, method="dropout", samples=6, epochs=2, dropout=0.3, seed=9).predict(T).probs, p)


def address(array):
    how, (where, _, _, _) = native.array_memory(native.array(array))
    return how, where


class Interface:
    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Dlpack:
    """Speaks DLPack alone; numpy's own capsules know the first version of the protocol, and from 2.1 on the second."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)


@tap.case
def arrays_stay_where_they_are():
    frozen = X.copy()
    frozen.flags.writeable = False
    np.save(folder / "x.npy", X)
    for array in (X, frozen, np.load(folder / "x.npy", mmap_mode="r"), X.astype(np.float16), X[::2], X.T, X[:, ::-1]):
        assert address(array) == ("buffer", array.ctypes.data)
    assert address(Interface(X)) == ("array_interface", X.ctypes.data)
    assert address(Dlpack(X)) == ("dlpack", X.ctypes.data)
    expected = ll.fit(X, y, samples=3).W
    wide = np.zeros((600, 16), np.float32)
    wide[:, ::2] = X
    for array in (np.asfortranarray(X), wide[:, ::2], X.astype(">f4"), X.astype(np.float64), X.tolist(), Interface(X), Dlpack(X)):
        assert np.array_equal(ll.fit(array, y, samples=3).W, expected)
    ensemble = ll.fit(X, y, samples=3)
    W = ensemble.W
    del ensemble
    assert np.array_equal(W, expected) and not W.flags.writeable


@tap.case
def wrong_arrays_get_a_sentence():
    raises(ll.DataError, lambda: ll.fit(X.astype(np.complex64), y), "features", "expected")
    raises(ValueError, lambda: ll.fit(np.array(["a", "b"]), y), "features")
    raises(ll.Error, lambda: ll.fit(X[:0], y[:0]))
    raises(ll.Error, lambda: ll.fit(np.float32(1), y))
    raises(ll.Error, lambda: ll.fit(X[0], y))
    raises(ll.DataError, lambda: ll.fit(X, y[:-1]), "600", "599")
    bad = X.copy()
    bad[7, 3] = np.nan
    raises(ll.DataError, lambda: ll.fit(bad, y), "7")
    raises(ll.DataError, lambda: ll.fit(X, y).predict(T[:, :5]))


@tap.case
def exceptions_are_pythons_own():
    raises(ValueError, lambda: ll.fit(X, y, batch_size=-1), "batch_size is -1")
    raises(TypeError, lambda: ll.fit(X, y, batchsize=1), "batchsize")
    raises(TypeError, lambda: ll.fit(X, y, samples="ten"), "samples")
    raises(OSError, lambda: ll.load(folder / "nothing.safetensors"), "nothing.safetensors")
    raises(OSError, lambda: ll.fit(X, y, samples=2).save(folder / "none" / "e.safetensors"))
    raises(FloatingPointError, lambda: ll.fit(1e18 * X, y, head=(np.ones((4, 8)), None), method="sgd", lr=1e6))
    raises(MemoryError, lambda: ll.fit(X, y, memory=1000))
    (folder / "garbage.safetensors").write_bytes(b"x" * 100)
    raises(ll.FormatError, lambda: ll.load(folder / "garbage.safetensors"))


def long_fit(**more):
    ll.fit(X, y, method="sgd", samples=1000, thin=10**6, **more)


@tap.case
def interrupts_end_a_call():
    began = time.monotonic()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    raises(KeyboardInterrupt, long_fit)
    assert time.monotonic() - began < 20  # the fit alone takes hours


@tap.case
def a_callback_may_end_it_and_others_run():
    ticks, seen = [], []
    stop = threading.Event()
    other = threading.Thread(target=lambda: [ticks.append(stop.wait(0.001)) for _ in iter(stop.is_set, True)])
    other.start()

    def look(what, done, total):
        seen.append((what, done, total))
        if len(ticks) > 20:
            raise LookupError("enough")

    raises(LookupError, lambda: long_fit(progress=look), "enough")
    stop.set()
    other.join()
    assert seen and all(0 <= done <= total for _, done, total in seen)


@tap.case
def works_after_a_fork():
    expected = ll.fit(X, y, samples=3)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        again = ll.fit(X, y, samples=3)
        os._exit(0 if np.array_equal(again.W, expected.W) and np.array_equal(expected.predict(T).sr, again.predict(T).sr) else 1)
    assert os.waitpid(child, 0)[1] == 0


@tap.case
def pickles_and_predictors():
    ensemble = ll.fit(X, y, samples=5)
    p = ensemble.predict(T)
    again = pickle.loads(pickle.dumps(ensemble))
    assert again.to_bytes() == ensemble.to_bytes()
    answer = again.predictor()(T[:7])
    for name in ("label", "sr", "std", "margin", "probs"):
        assert np.array_equal(answer[name], getattr(p, name)[:7]), name
    assert np.array_equal(p.label, p.probs.argmax(axis=1)) and np.allclose(p.sr, p.probs.max(axis=1), atol=1e-6)


@tap.case
def metrics_and_promises():
    ensemble = ll.fit(X, y, samples=5)
    p = ensemble.predict(T, t)
    e = p.evaluate()
    assert e.n == 500 and np.isclose(e.accuracy, np.mean(p.label == t)) and 0 < e.aurc["sr"] < 1
    assert "<table>" in e._repr_html_() and "accuracy" in str(e)
    assert np.isclose(ll.evaluate(probs=p.probs, labels=t).accuracy, e.accuracy)
    cut = p.threshold(coverage=0.8)
    assert cut.coverage >= 0.8 and np.isclose(cut.coverage, np.mean(p.sr >= cut.cut))
    _, coverage, risk = p.risk_coverage()
    assert coverage[-1] == 1 and np.isclose(risk[-1], 1 - e.accuracy)
    logits = np.log(p.probs.astype(float))
    c = ll.calibrate(logits=logits, labels=t)
    soft = np.exp(logits / c.temperature)
    assert np.allclose(c.probs(logits=logits), soft / soft.sum(axis=1, keepdims=True))
    assert ensemble.calibrate(V, v).kind == ensemble.calibration == "temperature"
    promise = ensemble.certify(T, t, risk=0.2)
    new = ensemble.predict(V)
    assert promise.certified and np.array_equal(new.abstain, new.sr < promise.cut) and ensemble.promise
    s = ll.sets(new, calibration=p, alpha=0.1)
    assert s.mask.shape == (400, 4) and np.array_equal(s.mask.sum(axis=1), s.size) and s.mask[np.arange(400), new.label].all()
    assert ll.contrast({"a": p, "b": p}).to_dict()
    ensemble.class_names = "ant bee cat dog".split()
    assert ll.Ensemble.from_bytes(ensemble.to_bytes()).class_names == ["ant", "bee", "cat", "dog"]
    raises(ll.DataError, lambda: setattr(ensemble, "class_names", ["ant"]), "4")
    page = ll.report(p, class_names=["<ant>", "bee", "cat", "dog"])
    assert page.html.startswith("<!") and "&lt;ant>" in page.html.replace("&gt;", ">") and "<ant>" not in page.html
    assert page._repr_html_().startswith("<iframe srcdoc=")


@tap.case
def comparison():
    c = ll.compare(X, y, T, t, samples=2, epochs=1, temperature="none")
    names = [row["name"] for row in c.methods]
    assert "sgld" in names and "point" in names and "Recommended" in str(c)
    few = ll.compare(X, y, T, t, samples=2, temperature="none", methods="laplace,sgld-kfac").methods
    assert [(row["group"], row["name"]) for row in few] == [("point", "point"), ("Gaussian", "laplace"), ("samplers", "sgld-kfac")]
    assert all(row["bytes"] > 0 and row["seconds_per_thousand"] > 0 for row in few)
    raises(ll.UsageError, lambda: ll.compare(X, y, T, t, methods="psychic"), "methods lists psychic")
    raises(ll.UsageError, lambda: ll.compare(X, y, T, t, temperature="some"), "temperature")


@tap.case
def diagnosis():
    made = ll.fit(X, y, method="sgld", samples=80, chains=4)
    assert made.diagnosis is None
    d = made.diagnose(T)
    assert made.diagnosis == d.to_dict() and pickle.loads(pickle.dumps(made)).diagnosis == made.diagnosis
    assert d.draws.shape == (200, 80) and len(d.row) == 200 and d.chains == 4 and "R-hat" in str(d)
    p = np.einsum("nd,skd->snk", T, made.W) + made.b[:, None]
    p = np.exp(p - p.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    label = p.mean(0)[d.row].argmax(1)
    assert np.allclose(d.draws, p[:, d.row, label].T, atol=1e-5)
    raises(ll.UsageError, lambda: ll.fit(X, y, method="bootstrap", samples=20, epochs=1).diagnose(T), "no chain")


@tap.case
def nothing_leaks():
    """Every capsule gives back what it holds: references to the features return to where they were."""
    before = sys.getrefcount(X)
    for _ in range(50):
        ensemble = ll.fit(X, y, method="point")
        ensemble.predict(X, y).evaluate(interval=0)
        raises(ll.Error, lambda: ll.fit(X, y, samples=-1))
    del ensemble
    assert sys.getrefcount(X) == before


tap.main()
