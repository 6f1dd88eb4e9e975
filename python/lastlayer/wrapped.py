# SPDX-License-Identifier: MIT
"""What the doors of PyTorch and Keras share: a network whose last layer is an ensemble."""
from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, List, Optional, Tuple

import numpy as np

from ._errors import DataError, UsageError
from ._keywords import options as keywords
from ._run import Progress
from .ensemble import CONFIDENCES, Ensemble, fit
from .functions import compare
from .predictions import Predictions
from .results import Calibration, Certificate, Comparison, Evaluation, Report, Threshold


def confidence_of(made: Predictions, by: str) -> np.ndarray:
    """One of the confidences, by its name."""
    if by not in CONFIDENCES:
        raise UsageError(f"by is {by!r}; expected one of {', '.join(CONFIDENCES)}")
    found = getattr(made, by)
    if found is None:
        raise UsageError(f"a single member has no {by}; use sr or margin")
    return found


def abstains(made: Predictions, cut: Optional[Threshold]) -> Optional[np.ndarray]:
    """Where to say "I don't know": below the cut, or where there is none below that of the certificate; None without either."""
    if cut is not None:
        return np.asarray(confidence_of(made, cut.by) < cut.cut)
    return None if made.abstain is None else made.abstain.astype(bool)


class Rows:
    """Features of one batch after the other in one array; `expected` rows are given room at once, so that nothing is copied twice."""

    def __init__(self, expected: int) -> None:
        self.expected, self.n = expected, 0
        self.room: Any = None
        self.labels: List[np.ndarray] = []

    def add(self, z: np.ndarray, y: Optional[np.ndarray]) -> None:
        if y is not None and len(y) != len(z):
            raise DataError(f"a batch has {len(z)} rows and {len(y)} labels; expected one label for each row")
        if self.room is None:
            self.room = np.empty((max(self.expected, len(z)), z.shape[1]), z.dtype)
        if self.n + len(z) > len(self.room):
            room = np.empty((2 * (self.n + len(z)), z.shape[1]), z.dtype)
            room[:self.n] = self.room[:self.n]
            self.room = room
        self.room[self.n:self.n + len(z)] = z
        self.n += len(z)
        if y is not None:
            self.labels.append(y)

    def arrays(self) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        if self.n == 0:
            raise DataError("there are no rows: the loader gave no batch")
        return self.room[:self.n], np.concatenate(self.labels) if self.labels else None


class Wrapped:
    """A network and an ensemble of its last layer. Call it on a batch; what it is given to calibrate, certify, evaluate and compare is
    what it was made of: a loader of batches with labels.
    """

    ensemble: Ensemble
    cut: Optional[Threshold] = None
    _train: Optional[tuple] = None

    def features(self, data: Any) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """What the last layer is given, [N,D], and the labels [N], or None."""
        raise NotImplementedError

    def _head(self) -> tuple:
        raise NotImplementedError

    def _fit(self, data: Any, keep: bool, options: dict) -> None:
        z, y = self._labelled(data)
        head = self._head()
        self.ensemble = fit(z, y, head, classes=len(head[0]), **options)
        self._train = (z, y) if keep else None

    def _labelled(self, data: Any) -> Tuple[np.ndarray, np.ndarray]:
        z, y = self.features(data)
        if y is None:
            raise DataError("the batches have no labels; expected (inputs, labels), or a dict with labels")
        return z, y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ensemble!r})"

    def predictions(self, data: Any, ood: Any = None, *, n_jobs: Optional[int] = None, progress: Progress = None) -> Predictions:
        """Everything about the rows of a loader, as numpy arrays."""
        z, y = self.features(data)
        out = None if ood is None else self.features(ood)[0]
        return self.ensemble.predict(z, y, ood=out, n_jobs=n_jobs, progress=progress)

    def _answer(self, z: np.ndarray) -> SimpleNamespace:
        made = self.ensemble.predict(z, progress=False)
        found = {name: getattr(made, name) for name in ("label", "probs", *CONFIDENCES)}
        return SimpleNamespace(**found, abstain=abstains(made, self.cut))

    @keywords("calibrate")
    def calibrate(self, data: Any, *, n_jobs: Optional[int] = None, progress: Progress = None, **options: Any) -> Calibration:
        """Fits a temperature on rows that training did not see. A cut that was chosen before is forgotten."""
        made = self.ensemble.calibrate(*self._labelled(data), n_jobs=n_jobs, progress=progress, **options)
        self.cut = None
        return made

    def threshold(self, data: Any, *, risk: Optional[float] = None, coverage: Optional[float] = None, by: str = "sr") -> Threshold:
        """The cut that reaches a risk or a coverage on these rows; answers abstain by it. It is not saved: certify is."""
        made = self.ensemble.predict(*self._labelled(data)).threshold(risk=risk, coverage=coverage, by=by)
        self.cut = made if made.found else self.cut
        return made

    @keywords("certify")
    def certify(self, data: Any, *, ood: Any = None, n_jobs: Optional[int] = None, progress: Progress = None, **options: Any) -> Certificate:
        """A cut with a promise, from rows that nothing was chosen on; answers abstain by it."""
        z, y = self._labelled(data)
        out = None if ood is None else self.features(ood)[0]
        made = self.ensemble.certify(z, y, ood=out, n_jobs=n_jobs, progress=progress, **options)
        self.cut = None
        return made

    @keywords("evaluate")
    def evaluate(self, data: Any, ood: Any = None, *, costs: Any = None, **options: Any) -> Evaluation:
        """Metrics with intervals."""
        return self.predictions(data, ood).evaluate(costs=costs, **options)

    @keywords("compare", "fit", without=("method",))
    def compare(self, data: Any, *, train: Any = None, val: Any = None, ood: Any = None, sample_weight: Any = None, class_weight: Any = None,
                n_jobs: Optional[int] = None, memory: Optional[int] = None, progress: Progress = None, **options: Any) -> Comparison:
        """Every method on the training rows, evaluated on these, and the one to take. `train`: their loader, where they were not kept."""
        if train is None and self._train is None:
            raise UsageError("the training rows were not kept; give their loader as train=")
        z, y = self._labelled(train) if train is not None else self._train  # type: ignore[misc]
        val_z, val_y = (None, None) if val is None else self._labelled(val)
        out = None if ood is None else self.features(ood)[0]
        return compare(z, y, *self._labelled(data), self._head(), val_features=val_z, val_labels=val_y, ood=out, sample_weight=sample_weight,
                       class_weight=class_weight, n_jobs=n_jobs, memory=memory, progress=progress, **options)

    @keywords("report", without=("labels", "class_names", "images"))
    def report(self, data: Any, path: "Optional[str | os.PathLike[str]]" = None, *, ood: Any = None, class_names: Optional[List[str]] = None,
               images: Any = None, name: Optional[str] = None, **options: Any) -> Report:
        """The page to look at; with a path it is written there too. `images`: u8 [N,H,W] or [N,H,W,3]."""
        made = self.predictions(data, ood).report(class_names=class_names, images=images, name=name, **options)
        if path is not None:
            made.save(path)
        return made

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the ensemble, with its calibration and certificate: the file of the command. The network is yours to save."""
        self.ensemble.save(path)
