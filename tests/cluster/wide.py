# SPDX-License-Identifier: MIT
"""A head of so many classes that ranks divide it, and rows of some of them, the first and last among them."""
import numpy as np

CLASSES = 4099  # from 4096 on several ranks divide them; some fill no panel of 16


def make(features=13, rows=300):
    rng = np.random.default_rng(3)
    centers = rng.standard_normal((CLASSES, features)).astype(np.float32)
    labels = rng.integers(0, CLASSES, rows)
    labels[:5] = 0, 15, 16, 4096, CLASSES - 1
    np.save("features.npy", (centers[labels] + rng.standard_normal((rows, features)) / 2).astype(np.float32))
    np.save("labels.npy", labels)
    np.savez("head.npz", W=centers / 10, b=np.zeros(CLASSES, np.float32))
