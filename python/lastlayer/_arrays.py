# SPDX-License-Identifier: MIT
"""Arrays in and out without copies: capsules of the caller's arrays, and numpy views of the library's."""
from __future__ import annotations

import os
from typing import Any, Optional

import numpy as np

from . import _lastlayer as native
from ._errors import DataError
from ._run import logger


def take(array: Any, name: str) -> Any:
    """A capsule of the array where it lies. What speaks none of the protocols becomes a numpy array first."""
    if isinstance(array, np.ndarray) and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    capsule = None
    if not (hasattr(array, "columns") and hasattr(array, "__array__")):  # a frame is a table of columns, each with an array of its own
        try:
            capsule = native.array(array)
        except (TypeError, ValueError, BufferError, RuntimeError) as why:
            raise DataError(f"{name}: {why}") from None
    if capsule is not None:
        return capsule
    made = np.asarray(array)
    if made.dtype.kind not in "biuf":
        raise DataError(f"{name} has elements of the type {made.dtype}; expected numbers")
    return native.array(made)


def shape(capsule: Any) -> tuple:
    return native.array_memory(capsule)[1][2]


def optional(array: Any, name: str) -> Any:
    return None if array is None else take(array, name)


def _note_cost(capsule: Any, name: str) -> None:
    _, (_, kind, sizes, strides) = native.array_memory(capsule)
    dense = not any(strides)
    if len(sizes) == 2 and not (dense and kind in ("<f4", "<f2")):
        why = f"of type {kind.strip('<|')}" if kind not in ("<f4", "<f2") else "not contiguous"
        logger.info("%s are %s: a copy in float32 takes %.1f MB", name, why, 4e-6 * sizes[0] * sizes[1])


def dataset(features: Any, labels: Any, how: tuple, classes: int = 0, weights: Any = None, class_weight: Any = None,
            name: str = "features") -> Any:
    """A checked data set. It keeps the features alive."""
    rows = take(features, name)
    _note_cost(rows, name)
    balanced = isinstance(class_weight, str)
    if balanced and class_weight != "balanced":
        raise DataError(f"class_weight is {class_weight!r}; expected 'balanced' or a number for each class")
    return native.dataset(rows, optional(labels, "labels"), classes, optional(weights, "sample_weight"),
                          None if balanced else optional(class_weight, "class_weight"), balanced, how)


class Memory:
    """Memory of the library that numpy may look at; `owner` keeps it alive."""

    def __init__(self, where: tuple, owner: Any) -> None:
        address, kind, sizes, _ = where
        self.owner = owner
        self.__array_interface__ = {"data": (address, True), "typestr": kind, "shape": sizes, "version": 3}


def view(where: Optional[tuple], owner: Any) -> Optional[np.ndarray]:
    return None if where is None else np.asarray(Memory(where, owner))


def path_text(path: Any) -> str:
    return os.fsdecode(os.fspath(path))
