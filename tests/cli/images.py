# SPDX-License-Identifier: MIT
"""Small sets of images in the folder ./data, where --data looks for them by name."""
import gzip
import os
import pathlib
import struct

import numpy as np

from tap import lacks_data

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
FILES = {"train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"), "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")}


def write_idx(path, array):
    with open(path, "wb") as f:
        f.write(struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes())


def read_idx(path):
    data = gzip.open(path).read()
    rank = data[3]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(struct.unpack(f">{rank}I", data[4:4 + 4 * rank]))


def store(name, sets):
    """sets: part to (images, labels)."""
    folder = pathlib.Path("data") / name
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["LASTLAYER_DATA"] = "data"  # whatever this machine has elsewhere
    for part, arrays in sets.items():
        for file, array in zip(FILES[part], arrays):
            write_idx(folder / file, array)
    return sets


def fashion(train=600, test=200, name="fashion"):
    """The first images of Fashion-MNIST; returns part to (images, labels)."""
    if not FASHION.is_dir():
        lacks_data("no Fashion-MNIST: install dataset-fashion-mnist")
    rows = {"train": train, "test": test}
    return store(name, {part: [read_idx(FASHION / (f + ".gz"))[:rows[part]] for f in FILES[part]] for part in FILES})


def squares(name="mnist", train=400, test=120, side=12, classes=10):
    """Images of blurry bars and squares, one kind per class."""
    rng = np.random.default_rng(3)
    kinds = rng.integers(0, 2, (classes, 4, 4)) * 140
    sets = {}
    for part, n in ("train", train), ("test", test):
        labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
        images = np.kron(kinds[labels], np.ones((1, side // 4, side // 4))) + rng.integers(0, 100, (n, side, side))
        sets[part] = images, labels
    return store(name, sets)


def cifar10(rows=60, test=30):
    """Random colour images that differ by class, in CIFAR's own files."""
    rng = np.random.default_rng(4)
    kinds = rng.integers(0, 256, (10, 3, 4, 4))
    folder = pathlib.Path("data/cifar10")
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["LASTLAYER_DATA"] = "data"
    for name, n in [(f"data_batch_{i}.bin", rows // 5) for i in range(1, 6)] + [("test_batch.bin", test)]:
        labels = np.concatenate([np.arange(10), rng.integers(0, 10, n - 10)])
        images = np.kron(kinds[labels], np.ones((1, 1, 8, 8))) * 0.7 + rng.integers(0, 70, (n, 3, 32, 32))
        records = np.concatenate([labels[:, None], images.reshape(n, -1)], 1)
        (folder / name).write_bytes(records.astype(np.uint8).tobytes())
