#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images turned, shifted and mirrored by scipy.ndimage: tests/fixtures/augment.json. Usage: augment.py OUTPUT."""
import json
import math
import sys

import numpy as np
import scipy
from scipy import ndimage

SHAPES = [(7, 9, 3), (12, 8, 1), (5, 5, 1)]
MOVES = [  # degrees, shift down and right in pixels, flip
    (0, 0, 0, False), (0, 0, 0, True), (15, 0, 0, False), (-11.3, 1.25, -0.8, False), (4, -2.5, 3.1, True), (90, 0, 0, False), (0, 2, -1, False),
]


def moved(image, degrees, dy, dx, flip):
    """out[p] = image at R (p - centre + shift) + centre, order 1, edges repeated; then left and right change places."""
    a = math.radians(degrees)
    turn = np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
    centre = (np.array(image.shape[:2]) - 1) / 2
    offset = turn @ (np.array([dy, dx]) - centre) + centre
    planes = [ndimage.affine_transform(image[:, :, c], turn, offset, order=1, mode="nearest") for c in range(image.shape[2])]
    out = np.stack(planes, axis=2)
    return out[:, ::-1] if flip else out


random = np.random.default_rng(3)
cases = []
for shape in SHAPES:
    image = np.round(random.uniform(-1, 2, shape), 4)
    for move in MOVES:
        cases.append({"shape": shape, "image": image.ravel().tolist(), "degrees": move[0], "dy": move[1], "dx": move[2], "flip": move[3],
                      "result": np.round(moved(image, *move), 8).ravel().tolist()})
versions = {"script": "tests/oracle/augment.py", "numpy": np.__version__, "scipy": scipy.__version__}
with open(sys.argv[1], "w") as f:
    json.dump({"made_by": versions, "cases": cases}, f)
    f.write("\n")
