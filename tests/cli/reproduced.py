# SPDX-License-Identifier: MIT
"""What reproduce leaves behind: its tables, held against the stores they come from and against the paper's numbers."""
import csv
import json
import pathlib

from tap import SOURCE, check

METHODS = ["dropout", "bootstrap", "sgd", "sgld"]
PAPER = {(r["dataset"], r["task"], r["scope"], r["method"], r["metric"]): float(r["value"])
         for r in csv.DictReader((SOURCE / "src/pipeline/paper.csv").open())}


def tables(name, folder="results", suffix="-quick"):
    folder = pathlib.Path(folder, name + suffix)
    return json.loads((folder / "tables.json").read_text()), (folder / "tables.md").read_text(), list(csv.DictReader((folder / "tables.csv").open()))


def stores(name, task, scope):
    lines = pathlib.Path("results", name + "-quick", "seed-0", task, scope, "runs.jsonl").read_text().splitlines()
    return [t for t in map(json.loads, lines) if t["status"] == "ok"]


def least(score):
    return min(x for x in (score["aurc"]["sr"], score["aurc"]["std"]) if x is not None)


def largest(score):
    return max(x for x in (score["auroc"][c] for c in ("sr", "std")) if x is not None)


def check_row(name, row):
    """The row is the argmin of its store, and its numbers are those of the rows that report."""
    trials = [t for t in stores(name, row["task"], row["scope"]) if t["method"] == row["method"]]
    chooses, reports = ("val", "test") if row["protocol"] == "honest" else ("test", "test")
    if row["task"] == "ood" and row["protocol"] == "paper":
        best = max(trials, key=lambda t: largest(t["test"]))
        check(largest(next(t for t in trials if t["trial"] == row["trials"][0])["test"]) == largest(best["test"]), f"{row}: not the argmax")
    else:
        best = min(trials, key=lambda t: least(t[chooses]))
        check(least(next(t for t in trials if t["trial"] == row["trials"][0])[chooses]) == least(best[chooses]), f"{row}: not the argmin")
    score = next(t for t in trials if t["trial"] == row["trials"][0])[reports]
    metrics = row["metrics"]
    for metric, cell in metrics.items():
        expected = PAPER.get((name, row["task"], row["scope"], row["method"], metric))
        check(cell["paper"] == expected, f"{metric}: the paper says {expected}, the table {cell['paper']}")
        if expected is not None and cell["ours"] is not None:
            check(abs(cell["ratio"] - cell["ours"] / expected) < 1e-12, f"{metric}: ratio")
    if row["task"] == "selective":
        check(metrics["accuracy"]["ours"] == score["accuracy"] and metrics["min_aurc"]["ours"] == least(score), f"{row}")
        check(metrics["aurc_sr"]["ours"] == score["aurc"]["sr"], "aurc_sr")
    else:
        check(metrics["max_auroc"]["ours"] == largest(score) and metrics["aupr_in_sr"]["ours"] == score["aupr_in"]["sr"], f"{row}")
