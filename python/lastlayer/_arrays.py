# SPDX-License-Identifier: MIT
"""Arrays in and out without copies: capsules of the caller's arrays, and numpy views of the library's."""
from __future__ import annotations

import os
from typing import Any, Mapping, NoReturn, Optional

import numpy as np

from . import _lastlayer as native
from ._errors import DataError
from ._run import logger


def _refuse(array: Any, name: str, made: Optional[np.ndarray]) -> NoReturn:
    """What is no array of numbers: one sentence with the line that makes one."""
    kind = type(array).__name__
    if isinstance(array, (str, bytes, os.PathLike)):
        raise DataError(f"{name} is a path; expected an array: numpy.load({os.fsdecode(array)!r}) reads one, and the command reads other formats")
    if isinstance(array, Mapping) or hasattr(array, "files"):
        names = [str(key) for key in array]
        first = names[0] if names else "name"
        raise DataError(f"{name} is a {kind} that holds {', '.join(names) or 'nothing'}; expected one array of it, such as [{first!r}]")
    if hasattr(array, "predict_proba"):
        raise DataError(f"{name} is a {kind}; expected an array: what its predict_proba gives for the rows")
    if made is not None and made.dtype.kind in "OSU" and "labels" in name and made.ndim > 0:
        raise DataError(f"{name} are texts; expected class numbers from 0: names, y = numpy.unique({name}, return_inverse=True) makes them, and for "
                        "other rows y = numpy.searchsorted(names, other_labels) (LastLayerClassifier takes texts as they are)")
    raise DataError(f"{name} has elements of the type {kind if made is None else made.dtype}; expected numbers")


def take(array: Any, name: str) -> Any:
    """A capsule of the array where it lies. What speaks none of the protocols becomes a numpy array first."""
    if isinstance(array, np.ndarray) and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if getattr(array, "requires_grad", False):
        array = array.detach()
    if isinstance(array, (str, bytes, os.PathLike, Mapping)) or hasattr(array, "predict_proba") or hasattr(array, "files"):
        _refuse(array, name, None)
    if isinstance(array, np.ndarray) and array.dtype.kind in "OSU":
        _refuse(array, name, array)
    capsule = None
    if not (hasattr(array, "columns") and hasattr(array, "__array__")):  # a frame is a table of columns, each with an array of its own
        try:
            capsule = native.array(array)
        except (TypeError, ValueError, BufferError, RuntimeError) as why:
            raise DataError(f"{name}: {why}") from None
    if capsule is not None:
        return capsule
    try:
        made = np.asarray(array)
    except ValueError as why:
        raise DataError(f"{name}: {why}; expected an array of numbers") from None
    if made.dtype.kind not in "biuf":
        _refuse(array, name, made)
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
