#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/keras.json: models saved by Keras 3 itself, every way it has, and the logits that Keras computes from them.

The numbers are few and coarse, so that the files shrink. Keras is no Debian package: pip install keras jax h5py; without it the script
ends with exit code 77. Usage: keras.py [OUT]"""
import base64
import json
import os
import pathlib
import sys
import tempfile
import zlib

os.environ.setdefault("KERAS_BACKEND", "jax")
sys.path.pop(0)  # this file is called keras too
try:
    import keras
    import numpy as np
except ImportError as why:
    print(f"left out: {why}", file=sys.stderr)
    sys.exit(77)

from keras import layers as L

rng = np.random.default_rng(7)
GROUPS = [(8, 2), (8, 2), (16, 3), (32, 3), (32, 3)]  # vgg16:width=0.0625


def coarse(name, shape):
    if name == "kernel":
        size = np.exp2(np.round(np.log2(np.sqrt(2.5 / np.prod(shape[:-1])))))
        return rng.choice([-1, 0, 1], shape) * size
    low = {"moving_variance": 0.5, "gamma": 0.75}.get(name, -0.25)
    return low + rng.integers(0, 3, shape) / 4


def flat():
    return keras.Sequential([keras.Input((3, 4, 1)), L.Flatten(), L.Dense(6, activation="relu"), L.Dropout(0.5), L.Dense(5, activation="relu"), L.Dense(3)])


def nested():
    inner = keras.Sequential([L.Dense(5, activation="relu"), L.Dense(5, activation="relu")])
    x = keras.Input((3, 4, 1))
    y = inner(L.Dense(5, activation="relu")(L.Flatten()(x)))
    return keras.Model(x, L.Dense(3)(L.Dense(5, activation="relu")(y)))


def vgg():
    model = keras.Sequential([keras.Input((32, 32, 1))])
    for channels, count in GROUPS:
        for _ in range(count):
            model.add(L.Conv2D(channels, 3, padding="same", activation="relu"))
            model.add(L.BatchNormalization())
        model.add(L.MaxPooling2D())
    for layer in L.Flatten(), L.Dense(32, activation="relu"), L.BatchNormalization(), L.Dense(3):
        model.add(layer)
    return model


def packed(model, ending, folder):
    path = pathlib.Path(folder) / ("model" + ending)
    model.save_weights(path) if ending == ".weights.h5" else model.save(path)
    return base64.b64encode(zlib.compress(path.read_bytes(), 9)).decode()


def case(name, make, endings, folder):
    model = make()
    model.compile("sgd", "mse")
    for v in model.weights:
        if "seed" not in v.path:
            v.assign(coarse(v.name, v.shape))
    images = rng.integers(0, 256, (4, *model.input_shape[1:3]))
    logits = model.predict(images[..., None].astype("f4") / 255, verbose=0)
    return {"name": name, "images": images.tolist(), "logits": np.round(logits.astype("f8"), 8).tolist(),
            "made_files": {ending: packed(model, ending, folder) for ending in endings}}


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/keras.json")
    with tempfile.TemporaryDirectory() as folder:
        cases = [case("flat", flat, [".keras", ".weights.h5", ".h5"], folder), case("nested", nested, [".keras"], folder),
                 case("vgg", vgg, [".keras"], folder)]
    made_by = f"tests/oracle/keras.py, Keras {keras.__version__} on {keras.backend.backend()}, numpy {np.__version__}"
    out.write_text(json.dumps({"made_by": made_by, "cases": cases}) + "\n")


main()
