# SPDX-License-Identifier: MIT
"""docs/results/ood: every score from features, and sr, on rows unlike those of training. Called by tools/results.py."""
import json
import os
import pathlib

SHOWN = ["sr", "msp", "energy", "maxlogit", "mds", "mds++", "rmds", "rmds++", "knn", "vim"]


def measure(lastlayer, name, features, folder):
    """AUROC with its interval, FPR95 and AURC of each score, for theta* of these features."""
    folder.mkdir(parents=True, exist_ok=True)
    ensemble, predictions, evaluation = (str(folder / f"{name}{end}") for end in ("-scores.safetensors", ".npz", ".json"))
    if not os.path.exists(predictions):
        lastlayer("fit", "--features", features, "--method", "point", "--scores", "all", "-o", ensemble)
        lastlayer("predict", ensemble, "--features", features, "-o", predictions)
    found = json.loads(lastlayer("evaluate", predictions, "--json", out=evaluation))
    ood, intervals = found["ood"], found["intervals"]["ood"]["auroc"]
    return {"in": found["n"], "out": ood["n"], "accuracy": found["accuracy"],
            "auroc": {s: [ood["auroc"][s], *(intervals[s] or [None, None])] for s in SHOWN},
            "fpr95": {s: ood["fpr95"][s] for s in SHOWN}, "aurc": {s: found["aurc"][s] for s in SHOWN}}


def page(results):
    """The tables in Markdown."""
    names = list(results)
    lines = ["# Rows unlike those of training: every score", "",
             "AUROC of in-distribution against other test rows, with its 95 % interval; the largest of a column is bold. Made by `make results ARGS=ood`.", "",
             "| score | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    best = {n: max(SHOWN, key=lambda s: results[n]["auroc"][s][0] or 0) for n in names}
    for s in SHOWN:
        cells = []
        for n in names:
            value, lo, hi = results[n]["auroc"][s]
            text = "" if value is None else f"{value:.4f}"
            text = f"**{text}**" if s == best[n] else text
            cells.append(text if lo is None else f"{text} [{lo:.3f}, {hi:.3f}]")
        lines.append(f"| {s} | " + " | ".join(cells) + " |")
    for title, key, of in (("FPR at 95 % TPR", "fpr95", "Share of the other rows that pass a cut which 95 % of the in-distribution rows pass."),
                           ("AURC", "aurc", "The same scores as a ranking of errors: what they were not made for.")):
        lines += ["", f"## {title}", "", of, "", "| score | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
        lines += [f"| {s} | " + " | ".join("" if results[n][key][s] is None else f"{results[n][key][s]:.4f}" for n in names) + " |" for s in SHOWN]
    lines += ["", "| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names),
              "| rows in, out | " + " | ".join(f"{results[n]['in']}, {results[n]['out']}" for n in names) + " |",
              "| accuracy | " + " | ".join(f"{results[n]['accuracy']:.4f}" for n in names) + " |", ""]
    return "\n".join(lines)


def encoded(lastlayer, name, train, encode):
    """Features of a network that is trained here, once."""
    folder = pathlib.Path("results/ood")
    folder.mkdir(parents=True, exist_ok=True)
    net, features = str(folder / f"{name}.safetensors"), str(folder / f"{name}-features.npz")
    if not os.path.exists(net):
        lastlayer("train", *train, "-o", net)
    if not os.path.exists(features):
        lastlayer("encode", net, *encode, "-o", features)
    return features
