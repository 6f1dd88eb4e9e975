# SPDX-License-Identifier: MIT
"""Figures with matplotlib, which is optional."""
from __future__ import annotations

from typing import Any

import numpy as np


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need matplotlib: pip install matplotlib, or look at .report()") from None
    return pyplot.subplots(figsize=(4.5, 3.5), layout="constrained")[1]


def risk_coverage(predictions: Any, by: str, ax: Any) -> Any:
    ax = _axes(ax)
    _, coverage, risk = predictions.risk_coverage(by)
    ax.step(coverage, risk, where="post", label=by)
    ax.set(xlabel="coverage: share of points answered", ylabel="risk: share of errors among them", xlim=(0, 1), ylim=(0, None))
    ax.legend(frameon=False)
    return ax


def reliability(predictions: Any, ax: Any) -> Any:
    ax = _axes(ax)
    evaluation = predictions.evaluate(interval=0)
    bins = [one for one in evaluation.bins if one["n"]]
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    ax.bar([one["lo"] for one in bins], [one["accuracy"] for one in bins], width=[one["hi"] - one["lo"] for one in bins], align="edge",
           alpha=0.5, edgecolor="white")
    ax.plot([one["confidence"] for one in bins], [one["accuracy"] for one in bins], "o", markersize=4)
    ax.set(xlabel="mean confidence", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1), title=f"ECE {evaluation.ece:.4f}")
    return ax


def confidence(predictions: Any, by: str, ax: Any) -> Any:
    ax = _axes(ax)
    values, right = getattr(predictions, by), predictions.label == predictions.truth
    edges = np.histogram_bin_edges(values, 40)
    for which, name in ((right, "right"), (~right, "wrong")):
        ax.hist(values[which], edges, alpha=0.6, density=True, label=f"{name} ({int(which.sum())})")
    ax.set(xlabel=by, ylabel="density")
    ax.legend(frameon=False)
    return ax
