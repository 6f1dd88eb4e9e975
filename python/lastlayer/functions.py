# SPDX-License-Identifier: MIT
"""For anyone's outputs: metrics, cuts, promises, sets and the page from probabilities or logits, [N,K] or [S,N,K] of members."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from . import _lastlayer as native
from ._arrays import dataset, take
from ._keywords import options as keywords
from ._keywords import split
from ._run import Progress, how
from .ensemble import head_of
from .predictions import Predictions, of_outputs, report_of
from .results import Calibration, Certificate, Comparison, Contrast, Evaluation, Report, Sets, Threshold


def _points(predictions: Any, probs: Any, logits: Any, labels: Any) -> Predictions:
    if isinstance(predictions, Predictions):
        return predictions
    if predictions is not None:
        raise TypeError("expected Predictions; give probabilities as probs=, logits as logits=")
    return of_outputs(probs, logits, labels)


def _outside(ood: Any, logits: Any) -> Optional[Predictions]:
    if ood is None or isinstance(ood, Predictions):
        return ood
    return of_outputs(None if logits is not None else ood, ood if logits is not None else None)


@keywords("evaluate")
def evaluate(predictions: Optional[Predictions] = None, *, probs: Any = None, logits: Any = None, labels: Any = None, ood: Any = None,
             costs: Any = None, **options: Any) -> Evaluation:
    """Metrics with intervals. `ood`: the same outputs for out-of-distribution rows."""
    return _points(predictions, probs, logits, labels).evaluate(_outside(ood, logits), costs=costs, **options)


def threshold(predictions: Optional[Predictions] = None, *, probs: Any = None, logits: Any = None, labels: Any = None,
              risk: Optional[float] = None, coverage: Optional[float] = None, by: str = "sr") -> Threshold:
    """The cut of a confidence that reaches a risk or a coverage on these points."""
    return _points(predictions, probs, logits, labels).threshold(risk=risk, coverage=coverage, by=by)


@keywords("certify")
def certify(predictions: Optional[Predictions] = None, *, probs: Any = None, logits: Any = None, labels: Any = None, ood: Any = None,
            **options: Any) -> Certificate:
    """A cut with a promise, tested on rows that did not propose it. The rows must have chosen nothing before."""
    return _points(predictions, probs, logits, labels).certify(_outside(ood, logits), **options)


@keywords("calibrate")
def calibrate(*, probs: Any = None, logits: Any = None, labels: Any, **options: Any) -> Calibration:
    """A temperature for these outputs; `.probs(logits=...)` of the result calibrates new ones."""
    if (probs is None) == (logits is None):
        raise TypeError("expected either probs or logits")
    outputs = take(logits if probs is None else probs, "logits" if probs is None else "probs")
    return Calibration(native.calibrate_outputs(outputs, probs is None, take(labels, "labels"), options, how()))


@keywords("sets")
def sets(predictions: Optional[Predictions] = None, *, probs: Any = None, logits: Any = None, labels: Any = None, calibration: Any,
         calibration_labels: Any = None, **options: Any) -> Sets:
    """Sets of classes that hold the true one with probability at least 1 - alpha.

    calibration: Predictions with truth, or the same kind of outputs with calibration_labels, of rows that nothing was fitted to.
    """
    rows = _points(predictions, probs, logits, labels)
    known = calibration if isinstance(calibration, Predictions) else of_outputs(
        None if logits is not None else calibration, calibration if logits is not None else None, calibration_labels)
    return rows.sets(known, **options)


@keywords("report", without=("labels", "class_names", "images"))
def report(predictions: "Optional[Predictions | Mapping[str, Predictions]]" = None, *, probs: Any = None, logits: Any = None,
           labels: Any = None, class_names: Optional[List[str]] = None, images: Any = None, name: Optional[str] = None,
           **options: Any) -> Report:
    """The page to look at, of one method or of several: a dict of name and Predictions. `images`: u8 [N,H,W] or [N,H,W,3]."""
    if isinstance(predictions, Mapping):
        return report_of(list(predictions.items()), class_names, images, options)
    one = _points(predictions, probs, logits, labels)
    return report_of([(name, one)], class_names or one.class_names, images, options)


@keywords("evaluate")
def contrast(predictions: Mapping[str, Predictions], *, by: str = "sr", **options: Any) -> Contrast:
    """Predictions of the same rows against the first of them, with paired tests: a dict of name and Predictions."""
    points = list(predictions.values())
    outs = [one.out._handle if one.out else None for one in points]
    return Contrast(native.contrast(list(predictions), [one._handle for one in points], outs, by, options, how()))


@keywords("compare", "fit", without=("method",))
def compare(features: Any, labels: Any, test_features: Any, test_labels: Any, head: Any = None, *, val_features: Any = None,
            val_labels: Any = None, ood: Any = None, sample_weight: Any = None, class_weight: Any = None, n_jobs: Optional[int] = None,
            memory: Optional[int] = None, progress: Progress = None, **options: Any) -> Comparison:
    """Every method on these features, evaluated on the test rows, and the one to take. The validation rows choose; without them a half of
    the test rows does.
    """
    run = how(n_jobs, memory, progress)
    chosen, fitted = split(options, "compare", "fit")
    train = dataset(features, labels, run, 0, sample_weight, class_weight)
    _, width, classes = native.dataset_shape(train)
    test = dataset(test_features, test_labels, run, classes, name="test_features")
    val = None if val_features is None else dataset(val_features, val_labels, run, classes, name="val_features")
    out = None if ood is None else dataset(ood, None, run, name="ood")
    return Comparison(native.compare(train, test, head_of(head, width, run), out, val, chosen, fitted, run))


def methods() -> Dict[str, str]:
    """Name and summary of every method."""
    return {row["name"]: row["summary"] for row in native.methods()}


