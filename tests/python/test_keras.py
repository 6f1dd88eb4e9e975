#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""from_keras, where there is a Keras 3 (Debian has none: make check-python brings it); else its sentence."""
import os
import pathlib
import sys
import warnings

import numpy as np

import lastlayer as ll

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

os.environ.setdefault("KERAS_BACKEND", "torch")
try:
    import keras
except ImportError:
    keras = None
warnings.simplefilter("ignore", ll.LastLayerWarning)
random = np.random.default_rng(1)
centres = random.normal(size=(4, 20))


def points(n):
    y = random.integers(0, 4, n)
    return (centres[y] + random.normal(size=(n, 20))).astype(np.float32), y


X, y = points(500)
T, t = points(400)
V, v = points(400)


@tap.case
def needs_keras():
    if keras is not None:
        raise tap.Skip("Keras is here")
    try:
        ll.from_keras(None, None)
    except ImportError as why:
        assert "pip install keras" in str(why)
        return
    raise AssertionError("no sentence")


@tap.case
def models_and_data():
    if keras is None:
        raise tap.Skip("Keras 3 is not installed")
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(12, activation="relu"), keras.layers.Dropout(0.5),
                              keras.layers.Dense(4, activation="softmax", name="scores")])
    m = ll.from_keras(model, (X, y), method="point")
    answer = m(T)
    assert np.allclose(answer.probs, model.predict(T, verbose=0), atol=1e-5) and np.array_equal(answer.label, answer.probs.argmax(1))
    x = keras.Input((20,))
    h = keras.layers.Dense(12, activation="relu")(x)
    body = keras.Model(x, keras.layers.Dense(4, use_bias=False, name="head")(h))
    m = ll.from_keras(body, [(X[i:i + 100], y[i:i + 100]) for i in range(0, 500, 100)], "head", samples=5)
    same = ll.from_keras(body, (X, y), samples=5)
    assert np.allclose(m.ensemble.W, same.ensemble.W, atol=1e-4) and m.evaluate((T, t), interval=0).n == 400
    m.calibrate((V, v))
    promise = m.certify((T, t), risk=0.7)
    assert promise.certified and np.array_equal(m(V).abstain, m(V).sr < promise.cut)
    m.save("m.safetensors")
    assert np.array_equal(ll.KerasModel.load("m.safetensors", body)(V).probs, m(V).probs)
    for call, words in ((lambda: ll.from_keras(body, (X, y), "none"), "head"), (lambda: ll.from_keras(3, (X, y)), "keras.Model")):
        try:
            call()
        except ll.UsageError as why:
            assert words in str(why)
        else:
            raise AssertionError(f"no sentence with {words}")


tap.main()
