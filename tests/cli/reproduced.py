# SPDX-License-Identifier: MIT
"""What reproduce leaves behind: its tables, held against the stores they come from and against the paper's numbers."""
import csv
import json
import pathlib

from tap import SOURCE, check

METHODS = ["dropout", "bootstrap", "sgd", "sgld"]
PAPER = {(r["dataset"], r["task"], r["scope"], r["method"], r["metric"]): float(r["value"])
         for r in csv.DictReader((SOURCE / "src/paper/paper.csv").open())}


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
        check(cell["ratio"] is None, f"{metric}: a ratio to the paper's number, of another task")
    if row["task"] == "selective":
        check(metrics["accuracy"]["ours"] == score["accuracy"] and metrics["min_aurc"]["ours"] == least(score), f"{row}")
        check(metrics["aurc_sr"]["ours"] == score["aurc"]["sr"], "aurc_sr")
    else:
        check(metrics["max_auroc"]["ours"] == largest(score) and metrics["aupr_in_sr"]["ours"] == score["aupr_in"]["sr"], f"{row}")


def check_lines(lines, rows):
    """The CSV has the numbers of the JSON: one line for each metric of each row that is not null."""
    def number(text):
        return float(text) if text else None
    said = {(x["task"], x["protocol"], x["scope"], x["method"], x["metric"]): (number(x["ours"]), number(x["paper"]), number(x["ratio"])) for x in lines}
    meant = {(r["task"], r["protocol"], r["scope"], r["method"], metric): (cell["ours"], cell["paper"], cell["ratio"])
             for r in rows for metric, cell in r["metrics"].items() if cell["ours"] is not None}
    check(len(said) == len(lines), "a line of the CSV comes twice")
    check(said == meant, f"CSV and JSON differ: {[(k, said.get(k), meant.get(k)) for k in said.keys() | meant.keys() if said.get(k) != meant.get(k)][:3]}")
