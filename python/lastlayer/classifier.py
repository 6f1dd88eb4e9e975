# SPDX-License-Identifier: MIT
"""A scikit-learn estimator. This module needs scikit-learn; `import lastlayer` does not, and loads it when the class is asked for."""
from __future__ import annotations

import inspect
import os
from typing import Any, Dict, Optional

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted
except ImportError as why:
    raise ImportError("LastLayerClassifier needs scikit-learn: pip install scikit-learn, or Debian's python3-sklearn") from why
try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6

    def validate_data(estimator: Any, X: Any, **how: Any) -> Any:
        return estimator._validate_data(X, **how)


from . import _lastlayer as native
from ._errors import DataError, UsageError
from ._keywords import describe, rows
from ._keywords import options as keywords
from .ensemble import fit
from .predictions import Predictions
from .results import Calibration, Certificate, Evaluation, Report, Threshold
from .wrapped import abstains, confidence_of

TYPES = (np.float32, np.float16, np.float64)  # others become the first
LEFT_OUT = ("seed", "dropout_at")  # the first is random_state, the other means nothing to a head
ORDERED = {row["name"] for row in native.methods() if row["samples"] != 1}  # whose results depend on the order of the rows
ORDER = "members are trained on shuffled batches, so the result depends on the order of the rows and on how many there are"
SINGLE = "logits are single precision and are added in the order of the rows, and the check compares to 1e-7; they agree to 1e-5"
WEIGHT_CHECKS = ("check_sample_weights_invariance", "check_sample_weight_equivalence_on_dense_data",
                 "check_sample_weight_equivalence_on_sparse_data")


def expected_failed_checks(estimator: "LastLayerClassifier") -> Dict[str, str]:
    """Checks of scikit-learn that a method cannot pass, and why: for its check_estimator(..., expected_failed_checks=...)."""
    return {name: ORDER if estimator.method in ORDERED else SINGLE for name in WEIGHT_CHECKS}


class LastLayerClassifier(ClassifierMixin, BaseEstimator):
    """An ensemble of last layers as a scikit-learn classifier. `predict` never abstains, `answer` does.

    Fitted: classes_, n_features_in_, feature_names_in_, ensemble_, coef_ [S,K,D], intercept_ [S,K].

    random_state: seed of everything random; the same seed gives the same numbers. None draws one.
    class_weight: 'balanced', a dict of class and weight, or None. head: the trained last layer (W [K,D], b [K]), else the best one is found first.
    n_jobs: threads, None = all processors; no number depends on it. memory: most bytes to take.
    """

    @keywords("fit", without=LEFT_OUT)
    def __init__(self, method: str = "sgld", *, key: str = "content", random_state: Any = 0, class_weight: Any = None, head: Any = None,
                 n_jobs: Optional[int] = None, memory: Optional[int] = None, **options: Any) -> None:
        """Everything is kept as it is given; fit looks at it."""
        self.method, self.key, self.random_state, self.class_weight = method, key, random_state, class_weight
        self.head, self.n_jobs, self.memory = head, n_jobs, memory
        for row in rows("fit", LEFT_OUT):
            if row["name"] not in ("method", "key"):
                setattr(self, row["name"], options.pop(row["name"], row["default"]))
        if options:
            raise TypeError(f"LastLayerClassifier has no parameter {min(options)}")

    def __sklearn_tags__(self) -> Any:
        return super().__sklearn_tags__()

    def _more_tags(self) -> Dict[str, Any]:  # scikit-learn before 1.6
        return {"_xfail_checks": expected_failed_checks(self)}

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _by_class(self) -> Any:
        if not isinstance(self.class_weight, dict):
            return self.class_weight
        return np.array([self.class_weight.get(name, 1) for name in self.classes_.tolist()], dtype=np.float64)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LastLayerClassifier":
        """Fits the ensemble to features X [N,D] and labels y [N], numbers or texts."""
        if y is None:
            raise UsageError("LastLayerClassifier requires y to be passed, but the target y is None")
        if getattr(X, "ndim", 2) > 2:
            raise DataError(f"X is {list(X.shape)}; expected [rows, features]: X.mean((2, 3)) pools [N,C,H,W], X.reshape(len(X), -1) flattens")
        if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            raise DataError(f"y is {list(y.shape)}; expected one class for each row: y.argmax(1) makes them of one-hot rows")
        X, y = validate_data(self, X, y=y, dtype=TYPES)
        check_classification_targets(y)
        self.classes_, labels = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("y has one class; a classifier needs two classes or more")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        options = {name: value for name, value in self.get_params(deep=False).items()
                   if name not in ("random_state", "class_weight", "head", "n_jobs", "memory")}
        self.ensemble_ = fit(X, labels, self.head, sample_weight=sample_weight, class_weight=self._by_class(), classes=len(self.classes_),
                             seed=self._seed(), n_jobs=self.n_jobs, memory=self.memory, progress=False, **options)
        self.__dict__.pop("threshold_", None)
        if self.classes_.tolist() != list(range(len(self.classes_))):
            names = [str(name) for name in self.classes_]
            if all(name.isprintable() and name for name in names):
                self.ensemble_.class_names = names
        return self

    @property
    def coef_(self) -> np.ndarray:
        """The weights of every member, [S,K,D]; of dropout [1,K,D]."""
        return self.ensemble_.W

    @property
    def intercept_(self) -> np.ndarray:
        """The biases of every member, [S,K]; of dropout [1,K]."""
        return self.ensemble_.b

    def _labels(self, y: Any) -> np.ndarray:
        y = column_or_1d(y)
        place = np.searchsorted(self.classes_, y)
        known = (place < len(self.classes_)) & (self.classes_[np.minimum(place, len(self.classes_) - 1)] == y)
        if not np.all(known):
            first = int(np.flatnonzero(~np.asarray(known))[0])
            raise DataError(f"y[{first}] is {y[first]!r}, a class that fit did not see")
        return place

    def predictions(self, X: Any, y: Any = None, ood: Any = None) -> Predictions:
        """Everything about rows: label (as number of classes_), confidences, probabilities."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=TYPES, reset=False)
        if ood is not None:
            ood = validate_data(self, ood, dtype=TYPES, reset=False)
        made = self.ensemble_.predict(X, None if y is None else self._labels(y), ood=ood, n_jobs=self.n_jobs, memory=self.memory, progress=False)
        made.class_names = [str(name) for name in self.classes_]
        return made

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        made = self.predictions(X)
        return self.classes_[made.label]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [N,K], f64."""
        probs = self.predictions(X).probs.astype(np.float64)
        return probs / probs.sum(axis=1, keepdims=True)

    def confidence(self, X: Any, by: str = "sr") -> np.ndarray:
        """How sure each answer is, f64: `sr` the mean probability of the label, `std`, `margin`, ... Larger is surer."""
        return np.array(confidence_of(self.predictions(X), by))

    def _abstains(self, made: Predictions) -> np.ndarray:
        found = abstains(made, getattr(self, "threshold_", None))
        if found is None:
            raise UsageError("there is no cut to abstain by; call threshold(X, y, risk=...) or certify(X, y, risk=...) first")
        return found

    def abstain(self, X: Any) -> np.ndarray:
        """Where to say "I don't know", by the cut of `threshold` or `certify`, the later of the two."""
        return self._abstains(self.predictions(X))

    def answer(self, X: Any, unknown: Any = None) -> np.ndarray:
        """The class of each row, and `unknown` where the classifier abstains."""
        made = self.predictions(X)
        answers = self.classes_[made.label]
        if not isinstance(unknown, type(answers[:1].tolist()[0] if len(answers) else None)):
            answers = answers.astype(object)
        elif isinstance(unknown, str):
            answers = answers.astype(np.result_type(answers.dtype, np.array(unknown).dtype))
        answers[self._abstains(made)] = unknown
        return answers

    @keywords("calibrate")
    def calibrate(self, X: Any, y: Any, **options: Any) -> Calibration:
        """Fits a temperature on rows that fit did not see. A cut that was chosen before is forgotten: it was one of other confidences."""
        check_is_fitted(self)
        made = self.ensemble_.calibrate(validate_data(self, X, dtype=TYPES, reset=False), self._labels(y), n_jobs=self.n_jobs, progress=False, **options)
        self.__dict__.pop("threshold_", None)
        return made

    def threshold(self, X: Any, y: Any, *, risk: Optional[float] = None, coverage: Optional[float] = None, by: str = "sr") -> Threshold:
        """The cut that reaches a risk or a coverage on these rows; `answer` and `abstain` use it."""
        made = self.predictions(X, y).threshold(risk=risk, coverage=coverage, by=by)
        if made.found:
            self.threshold_ = made
        return made

    @keywords("certify")
    def certify(self, X: Any, y: Any, *, ood: Any = None, **options: Any) -> Certificate:
        """A cut with a promise, from rows that nothing was chosen on; `answer` and `abstain` use it."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=TYPES, reset=False)
        made = self.ensemble_.certify(X, self._labels(y), ood=ood, n_jobs=self.n_jobs, progress=False, **options)
        self.__dict__.pop("threshold_", None)
        return made

    @keywords("evaluate")
    def evaluate(self, X: Any, y: Any, *, ood: Any = None, **options: Any) -> Evaluation:
        """Metrics with intervals. `ood`: features of out-of-distribution rows."""
        return self.predictions(X, y, ood).evaluate(**options)

    @keywords("report", without=("labels", "class_names", "images"))
    def report(self, X: Any, y: Any, *, ood: Any = None, images: Any = None, name: Optional[str] = None, **options: Any) -> Report:
        """The page to look at. `images`: u8 [N,H,W] or [N,H,W,3]."""
        return self.predictions(X, y, ood).report(images=images, name=name, **options)

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the ensemble, the file of the command. Pickle keeps the whole estimator."""
        check_is_fitted(self)
        self.ensemble_.save(path)


LastLayerClassifier.__doc__ = f"{inspect.cleandoc(LastLayerClassifier.__doc__ or '')}\n\nOptions [default]:\n    {describe('fit', LEFT_OUT)}\n"
