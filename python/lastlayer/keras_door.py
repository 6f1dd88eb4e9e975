# SPDX-License-Identifier: MIT
"""From a Keras 3 model: its last layer becomes an ensemble. This module needs keras; `import lastlayer` does not."""
from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, Optional, Tuple

import numpy as np

try:
    import keras
except ImportError as why:
    raise ImportError("from_keras needs Keras 3: pip install keras, and a backend: torch, tensorflow or jax") from why

from ._errors import DataError, UsageError
from ._keywords import options as keywords
from ._run import Progress
from .ensemble import Ensemble
from .wrapped import Rows, Wrapped

if int(keras.__version__.split(".")[0]) < 3:
    raise ImportError(f"from_keras needs Keras 3, and this is Keras {keras.__version__}: pip install -U keras")


class KerasModel(Wrapped):
    """A Keras model whose last layer is an ensemble. `m(x)` has label, abstain, probs and the confidences as arrays.

    Data are (x, y), or anything that gives batches (x, y), such as a PyDataset or a tf.data.Dataset.
    """

    def __init__(self, model: Any, layer: Any = None) -> None:
        if not isinstance(model, keras.Model):
            raise UsageError(f"model is a {type(model).__name__}; expected a keras.Model")
        self.model = model
        self.layer = self._find(layer)
        try:
            self._body = keras.Model(model.inputs if len(model.inputs) > 1 else model.inputs[0], self.layer.input)
        except (AttributeError, TypeError, ValueError) as why:
            raise UsageError(f"the input of the layer {self.layer.name!r} is not known ({why}); call the model once on a batch, or build it "
                             "with an Input") from None

    @classmethod
    def load(cls, path: "str | os.PathLike[str]", model: Any, layer: Any = None) -> "KerasModel":
        """A saved ensemble on the model that it was made of."""
        made = cls(model, layer)
        made.ensemble = Ensemble.load(path)
        return made

    def _find(self, layer: Any) -> Any:
        dense = [one for one in self.model.layers if isinstance(one, keras.layers.Dense)]
        if isinstance(layer, keras.layers.Dense):
            return layer
        found = [one for one in dense if layer is None or one.name == layer]
        if not found:
            names = ", ".join(one.name for one in dense) or "it has none"
            raise UsageError(f"{'there is no last layer' if layer is None else f'layer {layer!r} is not there'}; expected one of the model's Dense: {names}")
        return found[-1]

    def _head(self) -> tuple:
        weight = np.asarray(keras.ops.convert_to_numpy(self.layer.kernel), dtype=np.float32)
        bias = keras.ops.convert_to_numpy(self.layer.bias) if self.layer.use_bias else None
        return np.ascontiguousarray(weight.T), bias

    def _pass(self, x: Any) -> np.ndarray:
        z = np.asarray(keras.ops.convert_to_numpy(self._body(x, training=False)))
        if z.ndim != 2:
            raise DataError(f"the last layer is given {list(z.shape)}; expected [rows, features], one row for each input: pool or flatten before it")
        return z if z.dtype in (np.float16, np.float32) else z.astype(np.float32)

    def features(self, data: Any) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """What the last layer is given for each row, [N,D], and the labels [N], or None."""
        if isinstance(data, tuple):
            x, y = data
            z = np.asarray(self._body.predict(x, verbose=0))
            return z if z.dtype == np.float16 else z.astype(np.float32, copy=False), np.asarray(y).reshape(-1)
        rows = Rows(0)
        for batch in data:
            x, y = batch[:2] if isinstance(batch, (tuple, list)) else (batch, None)
            rows.add(self._pass(x), None if y is None else np.asarray(keras.ops.convert_to_numpy(y)).reshape(-1))
        return rows.arrays()

    def __call__(self, x: Any) -> SimpleNamespace:
        """Answers for a batch of inputs: label, abstain (None without a cut), probs [N,K], sr, std, ... as arrays."""
        answer = self._answer(self._pass(x))
        for name, array in vars(answer).items():
            setattr(answer, name, None if array is None else np.array(array))
        return answer


@keywords("fit", without=("dropout_at", "layers"))
def from_keras(model: Any, data: Any, layer: Any = None, *, keep: bool = True, sample_weight: Any = None, class_weight: Any = None,
               key: str = "content", n_jobs: Optional[int] = None, memory: Optional[int] = None, progress: Progress = None,
               **options: Any) -> KerasModel:
    """An ensemble of the last layer of a trained Keras 3 model, which starts at its own weights.

    data: (x, y), or batches of them. layer: the Dense that gives the logits (a softmax in it does no harm), or its name; without it the last one.
    keep: keep the training features for compare. key: content, so that an answer depends on its row alone.
    """
    made = KerasModel(model, layer)
    made._fit(data, keep, {"sample_weight": sample_weight, "class_weight": class_weight, "key": key, "n_jobs": n_jobs, "memory": memory,
                           "progress": progress, **options})
    return made
