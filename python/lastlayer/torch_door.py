# SPDX-License-Identifier: MIT
"""From a PyTorch model: its last layer becomes an ensemble. This module needs torch; `import lastlayer` does not."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Iterator, Optional, Tuple

import numpy as np

try:
    import torch
except ImportError as why:
    raise ImportError("from_torch needs PyTorch: pip install torch, or Debian's python3-torch") from why
from torch import nn

from ._errors import DataError, UsageError
from ._keywords import options as keywords
from ._run import Progress
from .ensemble import Ensemble
from .wrapped import Rows, Wrapped

LABELS = ("labels", "label")  # keys of a batch that is a dict, as Hugging Face has them


def _inner(model: Any) -> Any:
    """The module that computes, on its own device, without those that hand out work."""
    while True:
        if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        elif hasattr(model, "_orig_mod"):  # torch.compile
            model = model._orig_mod
        else:
            return model


@contextlib.contextmanager
def _quiet(model: Any) -> Iterator[None]:
    """Eval mode without gradients; every module gets its own mode back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def _to(value: Any, device: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, Mapping):
        return {name: _to(one, device) for name, one in value.items()}
    return type(value)(_to(one, device) for one in value) if type(value) in (list, tuple) else value


def _logits(output: Any) -> Any:
    """The tensor among what a model returns."""
    if hasattr(output, "logits"):
        return output.logits
    if isinstance(output, Mapping):
        return output.get("logits")
    return output[0] if isinstance(output, (tuple, list)) and output else output


class TorchModel(Wrapped):
    """A PyTorch model whose last layer is an ensemble. `m(batch)` has label, abstain, probs and the confidences as tensors."""

    def __init__(self, model: Any, layer: Any = None) -> None:
        if not isinstance(model, nn.Module):
            raise UsageError(f"model is a {type(model).__name__}; expected a torch.nn.Module")
        self.model = _inner(model)
        self.layer = self._named(layer)
        self.inputs = 0  # of a batch that is a tuple; 0 = not known yet

    @classmethod
    def load(cls, path: "str | os.PathLike[str]", model: Any, layer: Any = None) -> "TorchModel":
        """A saved ensemble on the model that it was made of."""
        made = cls(model, layer)
        made.ensemble = Ensemble.load(path)
        return made

    def _named(self, layer: Any) -> Any:
        if layer is None or isinstance(layer, nn.Linear):
            return layer
        modules = dict(self.model.named_modules())
        if not isinstance(modules.get(layer), nn.Linear):
            linear = [name for name, module in modules.items() if isinstance(module, nn.Linear)]
            found = f"a {type(modules[layer]).__name__}" if layer in modules else "not in the model"
            raise UsageError(f"layer {layer!r} is {found}; expected one of its nn.Linear: {', '.join(linear) or 'it has none'}")
        return modules[layer]

    @property
    def device(self) -> Any:
        """Where the model is."""
        return next((p.device for p in self.model.parameters()), torch.device("cpu"))

    def _head(self) -> tuple:
        weight, bias = self.layer.weight.detach().float().cpu(), self.layer.bias
        return weight.numpy(), None if bias is None else bias.detach().float().cpu().numpy()

    def _split(self, batch: Any) -> Tuple[tuple, dict, Any]:
        """(positional inputs, named inputs, labels or None) of a batch."""
        if isinstance(batch, Mapping):
            label = next((name for name in LABELS if name in batch), None)
            return (), {name: one for name, one in batch.items() if name not in LABELS}, batch[label] if label else None
        if not isinstance(batch, (tuple, list)):
            return (batch,), {}, None
        if self.inputs == 0 and len(batch) > 1:
            self.inputs = len(batch) - 1  # what a loader gives ends with the labels
        return tuple(batch[:self.inputs or 1]), {}, batch[-1] if len(batch) > max(self.inputs, 1) else None

    def _find(self, args: tuple, named: dict) -> Any:
        """The last nn.Linear that runs, if its output is that of the model."""
        ran: list = []
        hooks = [module.register_forward_hook(lambda this, given, out, name=name: ran.append((name, this, out.shape)))
                 for name, module in self.model.named_modules() if isinstance(module, nn.Linear)]
        try:
            output = _logits(self.model(*args, **named))
        finally:
            for hook in hooks:
                hook.remove()
        if not ran:
            raise UsageError("no nn.Linear runs in this model; lastlayer needs a last layer that is one, or features: ll.fit(features, labels)")
        name, module, shape = ran[-1]
        if isinstance(output, torch.Tensor) and output.shape != shape:
            raise UsageError(f"the last nn.Linear that runs, {name!r}, gives {list(shape)}, and the model {list(output.shape)}; name the layer that "
                             f"gives the logits: layer= one of {', '.join(dict.fromkeys(one[0] for one in ran))}")
        return module

    def _pass(self, args: tuple, named: dict) -> np.ndarray:
        """What the last layer is given for a batch: f32, or f16 where the model computes in it."""
        args, named = _to(args, self.device), _to(named, self.device)
        seen: list = []
        if self.layer is None:
            self.layer = self._find(args, named)
        hook = self.layer.register_forward_pre_hook(lambda module, given: seen.append(given[0]) if given else None)
        try:
            self.model(*args, **named)
        finally:
            hook.remove()
        if not seen or seen[-1].ndim != 2:
            found = f"{list(seen[-1].shape)}" if seen else "nothing"
            raise DataError(f"the last layer is given {found}; expected [rows, features], one row for each input: pool or flatten before it")
        z = seen[-1].detach()
        return z.to("cpu", torch.float16 if z.dtype == torch.float16 else torch.float32).numpy()

    def features(self, data: Any) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """What the last layer is given for each row of a loader, [N,D], and the labels [N], or None: one pass in eval mode."""
        try:
            expected = len(data.dataset)
        except (AttributeError, TypeError):
            expected = 0
        rows = Rows(expected)
        with _quiet(self.model):
            for batch in data:
                args, named, labels = self._split(batch)
                rows.add(self._pass(args, named), None if labels is None else torch.as_tensor(labels).detach().cpu().numpy())
        return rows.arrays()

    def __call__(self, batch: Any) -> SimpleNamespace:
        """Answers for a batch, with or without labels: label, abstain (None without a cut), probs [N,K], sr, std, ... as tensors."""
        with _quiet(self.model):
            args, named, _ = self._split(batch)
            answer = self._answer(self._pass(args, named))
        for name, array in vars(answer).items():
            if array is not None:
                wide = torch.from_numpy(np.array(array, dtype=np.int64 if name == "label" else None))
                narrow = wide.float() if self.device.type == "mps" and wide.dtype == torch.float64 else wide
                setattr(answer, name, narrow.to(self.device))
        return answer


@keywords("fit", without=("dropout_at", "layers"))
def from_torch(model: Any, loader: Any, layer: Any = None, *, keep: bool = True, sample_weight: Any = None, class_weight: Any = None,
               key: str = "content", n_jobs: Optional[int] = None, memory: Optional[int] = None, progress: Progress = None,
               **options: Any) -> TorchModel:
    """An ensemble of the last layer of a trained PyTorch model, which starts at its own weights.

    loader: batches (inputs, labels), (input, input, ..., labels), or dicts with labels or label, whose other entries the model takes by name.
    One pass in eval mode, without gradients, on the model's device; the model itself does not change.
    layer: the nn.Linear that gives the logits, or its name; without it the last one that runs.
    keep: keep the training features for compare. key: content, so that an answer depends on its row alone.
    """
    made = TorchModel(model, layer)
    made._fit(loader, keep, {"sample_weight": sample_weight, "class_weight": class_weight, "key": key, "n_jobs": n_jobs, "memory": memory,
                             "progress": progress, **options})
    return made
