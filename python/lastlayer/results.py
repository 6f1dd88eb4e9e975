# SPDX-License-Identifier: MIT
"""What calls return. Every result prints as the command prints it, and shows as a table in a notebook."""
from __future__ import annotations

import csv
import html
import io
import json
import math
import os
from typing import Any, Dict, List, Optional

import numpy as np

from . import _lastlayer as native
from ._arrays import path_text, take, view
from ._html import lines_html, markdown_html
from ._run import how

PLAIN, JSON, CSV, MARKDOWN = range(4)


class Result:
    """Numbers of the library under their names: `result.n` is `result.to_dict()["n"]`. None = undefined."""

    _handle: Any = None

    def _text(self, form: int) -> str:
        return native.text(self._handle, form, None)

    def to_dict(self) -> Dict[str, Any]:
        """Everything, as the command's JSON has it."""
        if "_dict" not in self.__dict__:
            self.__dict__["_dict"] = json.loads(self._text(JSON))
        return self.__dict__["_dict"]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            values = self.to_dict()
            if name in values:
                return values[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self.to_dict()})

    def __str__(self) -> str:
        return self._text(PLAIN).rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return markdown_html(self._text(MARKDOWN))


class Table(Result):
    """A result that is a table of numbers too: a row for each number, with its interval."""

    def records(self) -> List[Dict[str, Any]]:
        """The rows, as dicts. None = there is none."""
        return [{name: _number(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(self._text(CSV)))]

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        import pandas

        return pandas.DataFrame.from_records(self.records())

    def to_polars(self) -> Any:
        """The rows as a polars frame."""
        import polars

        return polars.DataFrame(self.records(), infer_schema_length=None)


def _number(cell: str) -> Any:
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell


class Evaluation(Table):
    """Metrics with intervals. `e.accuracy`, `e.aurc["sr"]`, `e.intervals`, `print(e)`; `e.to_pandas()` has metric, of, value, lo, hi."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle


class Comparison(Table):
    """All methods side by side, and the one to take. `c.methods`, `c.recommendation["name"]`, `print(c)`; `c.to_pandas()` has a row for each method
    and metric, with its interval and its difference to point.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def records(self) -> List[Dict[str, Any]]:
        made: List[Dict[str, Any]] = []
        for row in self.methods:
            values, intervals, differences = row["evaluation"] or {}, (row["evaluation"] or {}).get("intervals") or {}, row["difference"] or {}
            for metric in ("accuracy", "nll", "brier", "ece", "aurc", "eaurc", "augrc", "failure_auroc", "coverage_at_risk"):
                value, interval = (_of_sr(tree.get(metric)) for tree in (values, intervals))
                difference = differences.get(metric) or {}
                lo, hi = interval or (None, None)
                low, high = difference.get("interval") or (None, None)
                made.append({"method": row["name"], "samples": row["samples"], "temperature": row["temperature"], "metric": metric, "value": value, "lo": lo,
                             "hi": hi, "difference": difference.get("value"), "difference_lo": low, "difference_hi": high,
                             "p_adjusted": difference.get("p_holm"), "word": difference.get("word")})
        return made


def _of_sr(value: Any) -> Any:
    """The entry of sr where a metric has one for each confidence."""
    return value.get("sr") if isinstance(value, dict) else value


class Contrast(Table):
    """Given predictions side by side, against the first of them."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle


class Certificate(Result):
    """A cut with a promise: `c.certified`, `c.cut`, `c.statement`."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def _repr_html_(self) -> str:
        return lines_html(str(self))

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the certificate, .json."""
        native.certificate_write(self._handle, path_text(path), how())


class Diagnosis(Result):
    """Whether chains have mixed: `d.rhat`, `d.bulk` and `d.tail` over rows, `d.apart` and `d.repeating`; `d.row` are the rows looked at."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def _repr_html_(self) -> str:
        return lines_html(str(self))

    @property
    def draws(self) -> np.ndarray:
        """f64 [rows,S], the probability that each member gives to the label of all; a view."""
        return view(native.diagnosis_memory(self._handle, "draws"), self._handle)  # type: ignore[return-value]


class Calibration(Result):
    """A temperature, or scales and shifts for each class: `c.temperature`, `c.nll_before`, `c.nll`."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        info = native.calibration_info(handle)
        self.scale, self.shift = view(info.pop("parameters"), handle)  # type: ignore[misc]
        self.__dict__["_dict"] = {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in info.items()}

    def _repr_html_(self) -> str:
        return lines_html(str(self))

    def log_probs(self, *, probs: Any = None, logits: Any = None) -> np.ndarray:
        """Calibrated log-probabilities [N,K] of new outputs, [N,K] or [S,N,K]."""
        if (probs is None) == (logits is None):
            raise TypeError("expected either probs or logits")
        outputs = take(probs if logits is None else logits, "probs" if logits is None else "logits")
        sizes = native.array_memory(outputs)[1][2]
        out = np.empty((sizes[-2] if len(sizes) > 1 else 0, self.classes))
        native.calibration_apply(self._handle, outputs, logits is not None, out, how())
        return out

    def probs(self, *, probs: Any = None, logits: Any = None) -> np.ndarray:
        """Calibrated probabilities [N,K] of new outputs."""
        return np.exp(self.log_probs(probs=probs, logits=logits))


class Threshold(Result):
    """A cut of one confidence: answer when it is at least `t.cut`. Chosen and measured on the same points."""

    def __init__(self, by: str, values: Dict[str, Any]) -> None:
        if not values["found"]:
            values.update(cut=None, coverage=None, risk=None)
        self.__dict__["_dict"] = {"by": by, **values}

    def __str__(self) -> str:
        if not self.found:
            return f"no cut of {self.by} reaches this risk: {self.errors} of {self.n} points are wrong, and the surest ones are among them"
        return (f"answer when {self.by} >= {self.cut:.17g}: answers {100 * self.coverage:.2f} % of {self.n} points, "
                f"{100 * self.risk:.2f} % of those wrong (chosen on these points; certify gives a promise)")

    def _repr_html_(self) -> str:
        return lines_html(str(self))


class Sets(Result):
    """Sets of classes that hold the true one: `s.mask` [N,K], `s.size` [N], `s.sets()`."""

    def __init__(self, rule: Any, made: tuple, classes: int) -> None:
        self._rule = rule
        self._handle, packed, size = made
        self.size = view(size, self._handle)
        bits: np.ndarray = np.unpackbits(np.asarray(view(packed, self._handle), dtype=np.uint8), axis=1, bitorder="little")
        self.mask = bits[:, :classes].astype(bool)

    def _text(self, form: int) -> str:
        return native.text(self._rule, form, self._handle)

    def _repr_html_(self) -> str:
        return lines_html(str(self))

    def sets(self, names: Optional[List[Any]] = None) -> List[List[Any]]:
        """The classes in each set, by number or by name."""
        return [[int(k) if names is None else names[k] for k in np.flatnonzero(row)] for row in self.mask]


class Report:
    """One self-contained HTML page. A notebook shows it inline."""

    def __init__(self, page: str) -> None:
        self.html = page

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1e3:.0f} KB of HTML; .save(path) writes it, a notebook shows it)"

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html, quote=True)}" style="width:100%;height:720px;border:1px solid #ccc"></iframe>'
