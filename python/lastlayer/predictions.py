# SPDX-License-Identifier: MIT
"""Predictions: labels, confidences, probabilities, and everything that is made of them."""
from __future__ import annotations

import html
import math
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _lastlayer as native
from ._arrays import optional, path_text, take, view
from ._keywords import options as keywords
from ._run import how
from .results import Certificate, Evaluation, Report, Sets, Threshold

FIELDS: Dict[str, str] = {name: meaning for name, _, _, meaning in native.fields()}


class Predictions:
    """Answers for N rows. `p.label`, `p.probs` and the confidences (`p.sr`, `p.std`, ...) are numpy views of the library's memory; what
    does not exist (`std` of a single member, `truth` without labels) is None. Scores from features whose names are no names in Python are in
    `p.arrays()`, like `p.arrays()["rmds++"]`.
    """

    def __init__(self, handle: Any, out: "Optional[Predictions]" = None, class_names: Optional[List[str]] = None) -> None:
        self._handle = handle
        self.out = out
        self.class_names = class_names

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            return view(native.predictions_memory(self._handle, name), self._handle)
        raise AttributeError(f"Predictions has no {name!r}")

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *FIELDS})

    def __len__(self) -> int:
        return native.predictions_shape(self._handle)[0]

    @property
    def classes(self) -> int:
        """K"""
        return native.predictions_shape(self._handle)[1]

    def arrays(self) -> Dict[str, np.ndarray]:
        """Every array there is, by name."""
        found = {name: getattr(self, name) for name in FIELDS}
        return {name: array for name, array in found.items() if array is not None}

    def _columns(self) -> Dict[str, np.ndarray]:
        return {name: array for name, array in self.arrays().items() if array.ndim == 1 and len(array) == len(self)}

    def to_pandas(self) -> Any:
        """What has an entry per row, as a pandas frame."""
        import pandas

        return pandas.DataFrame(self._columns())

    def to_polars(self) -> Any:
        """What has an entry per row, as a polars frame."""
        import polars

        return polars.DataFrame(self._columns())

    def __repr__(self) -> str:
        return f"Predictions({len(self)} rows, {self.classes} classes: {', '.join(self.arrays())})"

    def _repr_html_(self) -> str:
        shown = {name: column for name, column in self._columns().items() if not name.endswith("tail") and name != "log_true"}
        names = self.class_names

        def cell(name: str, value: Any) -> str:
            if names is not None and name in ("label", "vote", "truth", "answer"):
                return html.escape(names[value]) if 0 <= value < len(names) else "unknown"
            return f"{value:.6g}"

        head = "".join(f"<th>{name}</th>" for name in shown)
        rows = range(min(5, len(self)))
        body = "".join("<tr>" + "".join(f"<td>{cell(name, column[i])}</td>" for name, column in shown.items()) + "</tr>" for i in rows)
        more = f"<p>{len(self)} rows, {self.classes} classes</p>"
        return f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>'

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes .npz or .csv: the same bytes as the command."""
        native.predictions_write(self._handle, path_text(path), how())

    @keywords("evaluate")
    def evaluate(self, ood: "Optional[Predictions]" = None, *, costs: Any = None, **options: Any) -> Evaluation:
        """Metrics with intervals. `ood`: predictions of out-of-distribution rows."""
        out = ood or self.out
        return Evaluation(native.evaluate(self._handle, out._handle if out else None, options, optional(costs, "costs"), how()))

    def threshold(self, *, risk: Optional[float] = None, coverage: Optional[float] = None, by: str = "sr") -> Threshold:
        """The cut of a confidence that reaches a risk or a coverage on these points."""
        if (risk is None) == (coverage is None):
            raise TypeError("expected either risk or coverage")
        limits = math.nan if risk is None else risk, math.nan if coverage is None else coverage
        return Threshold(by, native.threshold(self._handle, by, *limits, how()))

    @keywords("certify")
    def certify(self, ood: "Optional[Predictions]" = None, **options: Any) -> Certificate:
        """A cut with a promise, tested on rows that did not propose it. The rows must have chosen nothing before."""
        out = ood or self.out
        return Certificate(native.certify(self._handle, out._handle if out else None, options, how()))

    @keywords("sets")
    def sets(self, calibration: "Predictions", **options: Any) -> Sets:
        """Sets of classes for these rows, by the rule that the calibration rows give."""
        rule = native.set_rule(calibration._handle, options, how())
        return Sets(rule, native.sets(rule, self._handle, 0, how()), self.classes)

    def risk_coverage(self, by: str = "sr") -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(cut, coverage, risk): a point for each cut, from the surest on."""
        owner, *arrays = native.curve(self._handle, by, how())
        cut, coverage, risk = (view(array, owner) for array in arrays)
        return cut, coverage, risk  # type: ignore[return-value]

    @keywords("report", without=("labels", "class_names", "images"))
    def report(self, *, class_names: Optional[List[str]] = None, images: Any = None, name: Optional[str] = None, **options: Any) -> Report:
        """The page to look at. `images`: u8 [N,H,W] or [N,H,W,3]."""
        return report_of([(name, self)], class_names or self.class_names, images, options)

    def plot_risk_coverage(self, by: str = "sr", ax: Any = None) -> Any:
        """Risk over coverage, with matplotlib. Returns the axes."""
        from . import plots

        return plots.risk_coverage(self, by, ax)

    def plot_reliability(self, ax: Any = None) -> Any:
        """Accuracy over confidence in bins, with matplotlib. Returns the axes."""
        from . import plots

        return plots.reliability(self, ax)

    def plot_confidence(self, by: str = "sr", ax: Any = None) -> Any:
        """How sure right and wrong points are, with matplotlib. Returns the axes."""
        from . import plots

        return plots.confidence(self, by, ax)


def report_of(named: List[Tuple[Optional[str], Predictions]], class_names: Optional[List[str]], images: Any, options: Dict[str, Any]) -> Report:
    names = None if class_names is None else [str(name) for name in class_names]
    inputs = [(name, one._handle) for name, one in named]
    return Report(native.report(inputs, options, names, optional(images, "images"), how()))


def of_outputs(probs: Any, logits: Any, labels: Any = None) -> Predictions:
    """Predictions made of someone else's probabilities or logits, [N,K] or [S,N,K]."""
    if (probs is None) == (logits is None):
        raise TypeError("expected predictions, or one of probs and logits")
    outputs = take(logits if probs is None else probs, "logits" if probs is None else "probs")
    return Predictions(native.predictions_of(outputs, probs is None, optional(labels, "labels"), how()))
