# SPDX-License-Identifier: MIT
"""Ensembles of last layers: fitting, predicting, calibrating, certifying, files."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from . import _lastlayer as native
from ._arrays import dataset, optional, path_text, shape, take, view
from ._errors import DataError
from ._keywords import options as keywords
from ._run import Progress, how
from .predictions import Predictions
from .results import Calibration, Certificate, Diagnosis, Evaluation

CONFIDENCES = native.confidences()
SCORES = tuple(name for name, _, when, _ in native.fields() if name in CONFIDENCES and "scores" in when)


HEADS = (("W", "b"), ("weight", "bias"), ("kernel", "bias"), ("coef_", "intercept_"))


def _parts_of(head: Any) -> tuple:
    """(W, b) of a pair, of W alone, of a mapping (state_dict, an .npz file), of scikit-learn's linear models, of nn.Linear."""
    if isinstance(head, (tuple, list)):
        if len(head) != 2:
            raise DataError(f"head has {len(head)} parts; expected (W, b)")
        return head[0], head[1]
    if isinstance(head, Mapping) or hasattr(head, "files"):
        for weight, bias in HEADS:
            if weight in head:
                return head[weight], head[bias] if bias in head else None
        raise DataError(f"head holds {', '.join(map(str, head)) or 'nothing'}; expected W and b, or weight and bias: of one layer")
    if hasattr(head, "coef_"):
        return head.coef_, head.intercept_
    if hasattr(head, "weight") and hasattr(head, "bias"):
        return head.weight, head.bias
    return head, None


def head_of(head: Any, features: int, run: tuple) -> Any:
    """A capsule of a last layer. W is [K,D] or [D,K]."""
    if head is None:
        return None
    weight, bias = _parts_of(head)
    weight = take(weight, "head")
    sizes = shape(weight)
    square = len(sizes) == 2 and sizes[0] == sizes[1] == features
    return native.head(weight, optional(bias, "head"), features, 1 if square else 0, run)


@keywords("fit")
def fit(features: Any, labels: Any, head: Any = None, *, val_features: Any = None, val_labels: Any = None, sample_weight: Any = None,
        class_weight: Any = None, classes: int = 0, path: "Optional[str | os.PathLike[str]]" = None, resume: bool = False,
        n_jobs: Optional[int] = None, memory: Optional[int] = None, progress: Progress = None, **options: Any) -> "Ensemble":
    """An ensemble of last layers from features [N,D] and labels [N], the classes 0..K-1.

    head: the trained last layer where all methods start: (W [K,D], b [K]), a linear model of scikit-learn, an nn.Linear, a dict with weight
    and bias; without it the best one (MAP) is found first. A square W is taken as [K,D].
    val_features, val_labels: rows that training has not seen, for prior_precision='validation'.
    sample_weight: a number for each row; class_weight: 'balanced', or a number for each class.
    path: also write the ensemble there, member by member, so that a killed run can go on with resume=True.
    n_jobs: threads, None = all processors; the numbers do not depend on it. memory: most bytes to take.
    """
    run = how(n_jobs, memory, progress)
    data = dataset(features, labels, run, classes, sample_weight, class_weight)
    start = head_of(head, native.dataset_shape(data)[1], run)
    val = None if val_features is None else dataset(val_features, val_labels, run, name="val_features")
    return Ensemble(native.fit(data, start, val, options, None if path is None else path_text(path), resume, run))


class Ensemble:
    """S last layers. Call `predict` on features [N,D]; `W` [S,K,D] and `b` [S,K] are views of its memory. Pickles; `save` writes the file
    that the command reads.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._version = 0  # counts changes, so that predictors notice

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "Ensemble":
        """Reads a file of `save`, or of the command. It stays mapped: replace it, do not write into it."""
        return cls(native.ensemble_read(path_text(path), how()))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Ensemble":
        """From what `to_bytes` gave."""
        return cls(native.ensemble_read(data, how()))

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the ensemble, with its calibration and certificate, .safetensors."""
        native.ensemble_write(self._handle, path_text(path), how())

    def draw(self) -> "Ensemble":
        """The members of an ensemble of laplace, which keeps a Gaussian in their place: S heads drawn from it."""
        return Ensemble(native.ensemble_draw(self._handle, how()))

    def to_bytes(self) -> bytes:
        """The bytes of that file."""
        return native.ensemble_write(self._handle, None, how())

    def __getstate__(self) -> bytes:
        return self.to_bytes()

    def __setstate__(self, state: bytes) -> None:
        self.__init__(native.ensemble_read(state, how()))  # type: ignore[misc]

    @property
    def samples(self) -> int:
        """S"""
        return native.ensemble_info(self._handle)["samples"]

    @property
    def classes(self) -> int:
        """K"""
        return native.ensemble_info(self._handle)["classes"]

    @property
    def features(self) -> int:
        """D"""
        return native.ensemble_info(self._handle)["features"]

    @property
    def method(self) -> str:
        """What made it."""
        return native.ensemble_info(self._handle)["method"]

    @property
    def provenance(self) -> Dict[str, str]:
        """What decided the numbers."""
        return native.ensemble_info(self._handle)["meta"]

    @property
    def certificate(self) -> Optional[Dict[str, Any]]:
        """The certificate it carries, or None."""
        text = native.ensemble_info(self._handle)["certificate"]
        return None if text is None else json.loads(text)

    @property
    def diagnosis(self) -> Optional[Dict[str, Any]]:
        """What `diagnose` found last, or None."""
        text = native.ensemble_info(self._handle)["diagnosis"]
        return None if text is None else json.loads(text)

    @property
    def calibration(self) -> Optional[str]:
        """The kind of calibration it carries, or None."""
        return native.ensemble_info(self._handle)["calibration"]

    @property
    def promise(self) -> Optional[str]:
        """What the certificate promises, in words, or None."""
        return native.ensemble_info(self._handle)["promise"]

    @property
    def class_names(self) -> Optional[List[str]]:
        """Names of the classes, or None. Assign a list of K texts."""
        text = self.provenance.get("class_names")
        return None if text is None else text.split("\n")

    @class_names.setter
    def class_names(self, names: Sequence[str]) -> None:
        native.ensemble_set_class_names(self._handle, [str(name) for name in names], how())

    @property
    def W(self) -> np.ndarray:
        """f32 [S,K,D], of dropout [1,K,D]; a view."""
        return view(native.ensemble_memory(self._handle, "W"), self._handle)  # type: ignore[return-value]

    @property
    def b(self) -> np.ndarray:
        """f32 [S,K], of dropout [1,K]; a view."""
        return view(native.ensemble_memory(self._handle, "b"), self._handle)  # type: ignore[return-value]

    @property
    def weight(self) -> np.ndarray:
        """f64 [S], how much each member counts; a view."""
        return view(native.ensemble_memory(self._handle, "weight"), self._handle)  # type: ignore[return-value]

    def __repr__(self) -> str:
        info = native.ensemble_info(self._handle)
        extra = "".join(f", {word}" for word, there in (("calibrated", info["calibration"]), ("certified", info["promise"])) if there)
        return f"Ensemble({info['method']}: {info['samples']} members, {info['classes']} classes, {info['features']} features{extra})"

    @keywords("predict")
    def predict(self, features: Any, labels: Any = None, *, ood: Any = None, costs: Any = None, n_jobs: Optional[int] = None,
                memory: Optional[int] = None, progress: Progress = None, **options: Any) -> Predictions:
        """Labels, confidences and probabilities of all rows, on all threads. `labels` become `truth`; `ood`: features of
        out-of-distribution rows, whose predictions are `.out`.
        """
        run = how(n_jobs, memory, progress)
        data = dataset(features, labels, run, self.classes if labels is not None else 0)
        made = native.predict(self._handle, data, options, optional(costs, "costs"), None, run)
        out = None
        if ood is not None:
            rows = dataset(ood, None, run, name="ood")
            out = Predictions(native.predict(self._handle, rows, options, optional(costs, "costs"), None, run))
        return Predictions(made, out, self.class_names)

    def predictor(self) -> "Predictor":
        """For single points and small batches, microseconds each. One for each thread."""
        return Predictor(self)

    @keywords("calibrate")
    def calibrate(self, features: Any, labels: Any, *, n_jobs: Optional[int] = None, progress: Progress = None, **options: Any) -> Calibration:
        """Fits a temperature on rows that training did not see; from now on predictions are calibrated by it."""
        run = how(n_jobs, None, progress)
        made = Calibration(native.calibrate(self._handle, dataset(features, labels, run, self.classes), options, run))
        native.ensemble_set_calibration(self._handle, made._handle, run)
        self._version += 1
        return made

    def diagnose(self, features: Any, *, n_jobs: Optional[int] = None, progress: Progress = None) -> Diagnosis:
        """Whether the chains of a sampler have mixed, judged on the rows that are hardest to decide; best with `fit(..., chains=4)`. The ensemble
        keeps it as `diagnosis`.
        """
        run = how(n_jobs, None, progress)
        return Diagnosis(native.diagnose(self._handle, dataset(features, None, run), run))

    def uncalibrate(self) -> None:
        """Removes the calibration, and the certificate that was made with it."""
        native.ensemble_set_calibration(self._handle, None, how())
        self._version += 1

    @keywords("certify")
    def certify(self, features: Any, labels: Any, *, ood: Any = None, n_jobs: Optional[int] = None, progress: Progress = None,
                **options: Any) -> Certificate:
        """A cut with a promise, from rows that nothing was chosen on; from now on predictions have `abstain` and `answer` by it."""
        predictions = self.predict(features, labels, ood=ood, n_jobs=n_jobs, progress=progress)
        made = predictions.certify(**options)
        native.ensemble_set_certificate(self._handle, made._handle, how(n_jobs))
        self._version += 1
        return made

    @keywords("evaluate")
    def evaluate(self, features: Any, labels: Any, *, ood: Any = None, costs: Any = None, n_jobs: Optional[int] = None, progress: Progress = None,
                 **options: Any) -> Evaluation:
        """Predicts and evaluates: `predict(...).evaluate(...)`."""
        return self.predict(features, labels, ood=ood, costs=costs, n_jobs=n_jobs, progress=progress).evaluate(costs=costs, **options)


class Predictor:
    """Answers single points and small batches at once, on the calling thread."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self._made = -1
        self._handle: Any = None

    def __call__(self, features: Any, row: int = 0, probs: bool = True) -> Dict[str, np.ndarray]:
        """features f32 [D] or [n,D]: a dict of label, sr_tail, probs and the confidences. `row` keys the masks of dropout."""
        if self._made != self.ensemble._version:
            self._handle = native.predictor(self.ensemble._handle)
            self._made = self.ensemble._version
            self._shape = self.ensemble.features, self.ensemble.classes
            self._scores = self.ensemble.provenance.get("scores", "").split(",")
        z = np.ascontiguousarray(features, dtype=np.float32)
        n = z.size // self._shape[0]
        answer = {"label": np.empty(n, np.int32), "sr_tail": np.empty(n), "probs": np.empty((n, self._shape[1]), np.float32) if probs else None}
        for name in CONFIDENCES:
            answer[name] = np.empty(n) if name not in SCORES or name in self._scores else None
        native.predictor_run(self._handle, z, row, tuple(answer.values()))
        return {name: array for name, array in answer.items() if array is not None or name not in SCORES}  # type: ignore[misc]
