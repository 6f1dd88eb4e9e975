# SPDX-License-Identifier: MIT
"""Small synthetic files under the names that the help pages use."""
import numpy as np

N, D, K = 300, 6, 3


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def clusters(rng, centers, n, spread=1.6):
    labels = rng.integers(0, len(centers), n)
    return (centers[labels] + spread * rng.standard_normal((n, centers.shape[1]))).astype(np.float32), labels


def make(n=N, d=D, k=K):
    """Writes features, labels, the same of test and val rows, out_features, probs and logits (.npy), and head.npz; returns them by name."""
    rng = np.random.default_rng(7)
    centers = 2 * rng.standard_normal((k, d))
    z, y = clusters(rng, centers, n)
    zt, yt = clusters(rng, centers, n)
    zv, yv = clusters(np.random.default_rng(8), centers, n)
    W = (centers / 3).astype(np.float32)
    b = (-(centers ** 2).sum(1) / 6).astype(np.float32)
    files = {
        "features": z, "labels": y, "test_features": zt, "test_labels": yt, "val_features": zv, "val_labels": yv,
        "out_features": (6 * rng.standard_normal((n, d))).astype(np.float32),
        "probs": softmax(zt @ W.T + b), "val_probs": softmax(zv @ W.T + b), "val_logits": zv @ W.T + b, "test_logits": zt @ W.T + b, "test_probs": softmax(zt @ W.T + b),
    }
    for name, array in files.items():
        np.save(name + ".npy", array)
    np.savez("head.npz", W=W, b=b)
    return {**files, "W": W, "b": b}


FIT = ("fit", "--features", "features.npy", "--labels", "labels.npy")
PREDICT = ("--features", "test_features.npy")
