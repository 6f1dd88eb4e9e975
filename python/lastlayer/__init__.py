# SPDX-License-Identifier: MIT
"""lastlayer: an honest "I don't know" for any classifier.

    import lastlayer as ll

    ensemble = ll.fit(features, labels, head=(W, b))  # features of a trained network and its last layer
    answers = ensemble.predict(new_features)          # answers.label, answers.sr, answers.probs: numpy views
    ll.evaluate(probs=p, labels=y)                    # anyone's outputs

Linux, on the processor.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _lastlayer
from ._errors import (DataError, DivergedError, Error, FormatError, InternalError, LastLayerWarning, OutOfMemoryError, ReadError,
                      UsageError, WriteError)
from .ensemble import Ensemble, Predictor, fit
from .functions import calibrate, certify, compare, contrast, evaluate, methods, report, sets, threshold
from .predictions import Predictions
from .results import Calibration, Certificate, Comparison, Contrast, Diagnosis, Evaluation, Report, Sets, Threshold

if TYPE_CHECKING:
    from .classifier import LastLayerClassifier
    from .keras_door import KerasModel, from_keras
    from .torch_door import TorchModel, from_torch

__version__: str = _lastlayer.version()
load = Ensemble.load

# What needs packages that lastlayer itself does not: loaded when it is asked for, so not part of import *.
_DOORS = {"LastLayerClassifier": "classifier", "TorchModel": "torch_door", "from_torch": "torch_door", "KerasModel": "keras_door",
          "from_keras": "keras_door"}


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"lastlayer has no {name!r}")
    return getattr(importlib.import_module(f".{_DOORS[name]}", __name__), name)


def __dir__() -> list:
    return sorted({*globals(), *_DOORS})

__all__ = [
    "Calibration", "Certificate", "Comparison", "Contrast", "DataError", "Diagnosis", "DivergedError", "Ensemble", "Error", "Evaluation", "FormatError",
    "InternalError", "LastLayerWarning", "OutOfMemoryError", "Predictions", "Predictor", "ReadError", "Report", "Sets", "Threshold",
    "UsageError", "WriteError", "calibrate", "certify", "compare", "contrast", "evaluate", "fit", "load", "methods", "report", "sets",
    "threshold",
]
