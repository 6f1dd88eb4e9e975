#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/metrics.json: small random outcomes and their metrics by scikit-learn and brute-force numpy.

Nothing here shares a formula's code with the library: thresholds are tried one by one, orders inside ties are enumerated.
Usage: metrics.py [OUT]"""
import itertools
import json
import pathlib
import platform
import sys

import numpy as np
import sklearn
from sklearn.metrics import auc, average_precision_score, log_loss, precision_recall_curve, roc_auc_score, roc_curve

NAMES = ["sr", "std", "hq"]


def order_aurc(wrong):
    """Mean risk when points are accepted one by one in this order."""
    return float(np.mean(np.cumsum(wrong) / np.arange(1, len(wrong) + 1)))


def enumerated_aurc(conf, wrong):
    """Mean over every order inside ties, None if there are too many."""
    groups = [wrong[conf == s].tolist() for s in np.unique(conf)[::-1]]
    orders = [list(itertools.permutations(g)) if len(g) < 7 else None for g in groups]
    if any(o is None for o in orders) or np.prod([float(len(o)) for o in orders]) > 50000:
        return None
    return float(np.mean([order_aurc(np.concatenate(o)) for o in itertools.product(*orders)]))


def selective(conf, wrong):
    n, e = len(conf), int(wrong.sum())
    cuts = np.unique(conf)[::-1]
    coverage = np.array([0.0] + [np.mean(conf >= s) for s in cuts])
    joint = np.array([0.0] + [np.mean((conf >= s) & wrong) for s in cuts])
    aurc = float(np.mean([wrong[conf >= s].mean() for s in conf]))
    best = np.lexsort((wrong, -conf))
    worst = np.lexsort((~wrong, -conf))
    return {
        "aurc": aurc,
        "best": order_aurc(wrong[best]),
        "worst": order_aurc(wrong[worst]),
        "expected": enumerated_aurc(conf, wrong),
        "eaurc": aurc - order_aurc(np.sort(wrong)),
        "augrc": float(np.trapz(joint, coverage)),
        "failure_auroc": float(roc_auc_score(~wrong, conf)) if 0 < e < n else None,
        "ties": len(cuts) < n,
    }


def thresholds(conf, wrong):
    cuts = np.unique(conf)
    rows = [(float(np.mean(conf >= s)), float(wrong[conf >= s].mean()), float(s)) for s in cuts]
    at_risk, at_coverage = [], []
    for r in [0.0, 0.01, 0.05, 0.1, 0.2, 1.0]:
        fit = [row for row in rows if row[1] <= r]
        at_risk.append([r] + (list(max(fit)) if fit else [None, None, None]))
    for c in [0.01, 0.1, 0.5, 0.9, 0.95, 1.0]:
        at_coverage.append([c] + list(min(row for row in rows if row[0] >= c)))
    return {"at_risk": at_risk, "at_coverage": at_coverage}


def calibration(sr, wrong, m, edges, drop_one=False):
    a = np.array([j / m for j in range(m + 1)])
    kept = sr < 1 if drop_one else np.ones(len(sr), bool)
    ece, mce, count = 0.0, 0.0, []
    for j in range(m):
        if edges == "left":
            inside = (sr >= a[j]) & ((sr < a[j + 1]) | (j == m - 1))
        elif edges == "right":
            inside = ((sr > a[j]) | (j == 0)) & (sr <= a[j + 1])
        else:
            below = np.array([np.sum(sr < s) for s in sr])
            inside = (m * below) // len(sr) == j
        inside &= kept
        count.append(int(inside.sum()))
        if inside.any():
            gap = abs((~wrong[inside]).mean() - sr[inside].mean())
            ece += gap * inside.sum() / len(sr)
            mce = max(mce, gap)
    return {"m": m, "edges": edges, "drop_one": drop_one, "ece": float(ece), "mce": float(mce), "count": [c for c in count if c or edges != "mass"]}


def bare_trapezoid(positive, score):
    """Precision over recall at the thresholds alone."""
    recall = [np.sum(positive & (score >= s)) / positive.sum() for s in np.unique(score)[::-1]]
    precision = [np.mean(positive[score >= s]) for s in np.unique(score)[::-1]]
    return float(np.trapz(precision, recall))


def ood(inside, outside):
    conf = np.concatenate([inside, outside])
    is_in = np.arange(len(conf)) < len(inside)
    fpr, tpr, _ = roc_curve(is_in, conf, drop_intermediate=False)
    out = {"auroc": float(roc_auc_score(is_in, conf)), "fpr95": float(fpr[np.argmax(tpr >= 0.95)])}
    for key, positive, score in [("aupr_in", is_in, conf), ("aupr_out", ~is_in, -conf)]:
        precision, recall, _ = precision_recall_curve(positive, score)
        out[key] = {
            "step": float(average_precision_score(positive, score)),
            "trapezoid": float(auc(recall, precision)),
            "bare": bare_trapezoid(positive, score),
        }
    return out


def make_case(name, rng, n, K, n_out, levels, scale):
    """levels 0 = no ties; else confidences are rounded to that many values."""
    logits = rng.normal(size=(n, K)) * scale
    truth = np.array([rng.choice(K, p=p) for p in np.exp(0.7 * logits) / np.exp(0.7 * logits).sum(1, keepdims=True)])
    probs = np.exp(logits)
    probs /= probs.sum(1, keepdims=True)
    label = probs.argmax(1)
    vote = np.where(rng.random(n) < 0.2, rng.integers(0, K, n), label)

    def rounded(x):
        return np.round(x * levels) / levels if levels else x

    sr = rounded(probs.max(1))
    conf = {"sr": sr, "std": -rounded((1 - sr) * rng.random(n)), "hq": -np.round(3 * (1 - sr) * rng.random(n))}
    sr_out = rounded(np.clip(rng.choice(sr, n_out) * rng.random(n_out) ** 0.3, 0, 1))
    out = {"sr": sr_out, "std": -rounded((1 - sr_out) * rng.random(n_out)), "hq": -np.round(3 * (1 - sr_out) * rng.random(n_out))}
    costs = rng.random((K, K)) * (1 - np.eye(K)) * 5
    decision = (probs @ costs).argmin(1)
    wrong, wrong_vote = label != truth, vote != truth
    case = {
        "name": name, "n": n, "K": K, "n_out": n_out, "probs": probs.ravel().tolist(), "truth": truth.tolist(), "label": label.tolist(),
        "vote": vote.tolist(), "confidence": {c: conf[c].tolist() for c in NAMES}, "out": {c: out[c].tolist() for c in NAMES},
        "costs": costs.ravel().tolist(),
    }
    one_hot = np.eye(K)[truth]
    case["expect"] = {
        "errors": int(wrong.sum()),
        "nll": float(log_loss(truth, probs, labels=range(K))),
        "brier": float(((probs - one_hot) ** 2).sum(1).mean()),
        "selective": {c: selective(conf[c], wrong) for c in NAMES},
        "votes": {c: selective(conf[c], wrong_vote) for c in NAMES},
        "thresholds": {c: thresholds(conf[c], wrong) for c in NAMES},
        "calibration": [calibration(sr, wrong, m, e) for m in (1, 10, 15) for e in ("left", "right", "mass")] + [calibration(sr, wrong, 10, "left", True)],
        "ood": {c: ood(conf[c], out[c]) for c in NAMES},
        "base_rate": n / (n + n_out),
        "cost": float(costs[truth, decision].mean()),
        "cost_errors": int((decision != truth).sum()),
    }
    return case


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/metrics.json"
    rng = np.random.default_rng(20260101)
    cases = [
        make_case("no ties", rng, 120, 4, 80, 0, 2.0),
        make_case("some ties", rng, 100, 3, 60, 100, 2.0),
        make_case("bin edges", rng, 100, 5, 40, 10, 2.5),
        make_case("heavy ties, two classes", rng, 60, 2, 90, 4, 3.0),
        make_case("few points, every order enumerated", rng, 10, 3, 5, 5, 1.0),
        make_case("few points, all distinct", rng, 12, 3, 7, 0, 1.0),
    ]
    made = {"script": "tests/oracle/metrics.py", "python": platform.python_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    target.write_text(json.dumps({"made_by": made, "cases": cases}, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
