# SPDX-License-Identifier: MIT
"""reproduce: from images to tables in the short version, what it says is missing, and that a kill costs nothing."""
import csv
import json
import os
import pathlib
import random
import subprocess
import time

import numpy as np

import images
import samples
from tap import COMMAND, SOURCE, Skip, case, cases_of, check, fails, main, run

METHODS = ["dropout", "bootstrap", "sgd", "sgld"]
USAGE, READ = 2, 3
PAPER = {(r["dataset"], r["task"], r["scope"], r["method"], r["metric"]): float(r["value"])
         for r in csv.DictReader((SOURCE / "src/pipeline/paper.csv").open())}


def data(name):
    """Where the images of `name` are, or a skip."""
    for folder in (os.environ.get("LASTLAYER_DATA"), SOURCE / "data"):
        if folder and (pathlib.Path(folder) / name).is_dir():
            return {"LASTLAYER_DATA": str(folder)}
    if name == "fashion" and images.FASHION.is_dir():
        return {}
    check(name != "fashion" or os.environ.get("CI") != "true", "no Fashion-MNIST: install dataset-fashion-mnist")
    raise Skip(f"no images of {name}")


def tables(name, folder="results", suffix="-quick"):
    folder = pathlib.Path(folder, name + suffix)
    return json.loads((folder / "tables.json").read_text()), (folder / "tables.md").read_text(), list(csv.DictReader((folder / "tables.csv").open()))


def stores(name, task, scope):
    lines = pathlib.Path("results", name + "-quick", "seed-0", task, scope, "runs.jsonl").read_text().splitlines()
    return [t for t in map(json.loads, lines) if t["status"] == "ok"]


def least(score):
    return min(x for x in (score["aurc"]["sr"], score["aurc"]["std"]) if x is not None)


def largest(score):
    return max(x for x in (score["auroc"][c] for c in ("sr", "std", "hq")) if x is not None)


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


@cases_of([("fashion", "fashion"), ("mnist", "mnist")])
def quick(name):
    env = data(name)
    begin = time.monotonic()
    out, err = run("reproduce", name, "--quick", env=env)
    seconds = time.monotonic() - begin
    check("stage 1 of 6" in err and "in all" in err and "left" in err, err)
    found, markdown, lines = tables(name)
    check(out == markdown and "# " + name in markdown, "stdout is not the Markdown")
    for row in found["rows"]:
        check_row(name, row)
    for task in ("selective", "ood"):
        for protocol in ("honest", "paper"):
            rows = [(r["method"], r["scope"]) for r in found["rows"] if r["task"] == task and r["protocol"] == protocol]
            check(rows == [(m, s) for m in METHODS for s in ("last", "full")] + [("point", "last")], rows)
    accuracy = next(r for r in found["rows"] if r["method"] == "point")["metrics"]["accuracy"]["ours"]
    check(accuracy > (0.75 if name == "fashion" else 0.9), f"accuracy {accuracy}")
    check(len(lines) > 200 and all(float(x["ours"]) == x["ours"] or x["ours"] for x in lines), "CSV")
    again, _ = run("reproduce", name, "--quick", env=env)
    check(again == out, "what was there was made again, differently")
    print(f"# {name}: {seconds:.0f} s")


@case
def killed_and_continued():
    """On small images: kill -9 at random moments, go on, and end in the same tables."""
    images.squares(train=3000, test=600)
    begin = time.monotonic()
    run("reproduce", "mnist", "--quick", "--results", "calm")
    duration = time.monotonic() - begin
    dice, kills = random.Random(3), 0
    for _ in range(8):
        process = subprocess.Popen([COMMAND, "reproduce", "mnist", "--quick"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(dice.uniform(0, duration / 2))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    run("reproduce", "mnist", "--quick")
    check(kills > 1, f"only {kills} of 8 were killed")
    check(tables("mnist")[0] == tables("mnist", "calm")[0], "it ended elsewhere")


@case
def another_network_and_grid():
    """--full with a network and a grid of one's own; what an earlier call left and this one would not make is refused."""
    images.squares()
    flags = ("--full", "--net", "mlp:8,6", "--epochs", 2, "--full-lr", "0.01", "--full-samples", "2", "--full-epochs", "1", "--full-dropout", "0.5")
    out, _ = run("reproduce", "mnist", *flags)
    check("Network: mlp:8,6" in out and "Grid of the full network: lr 0.01, S 2, epochs 1, p 0.5" in out, out)
    found = tables("mnist", suffix="")[0]
    check(all("-S2" in r["trials"][0] for r in found["rows"] if r["scope"] == "full"), "the grid of the full network")
    fails(USAGE, "reproduce", "mnist", *flags[:3], "--epochs", 3, words=["mlp:8,6 after 2 epochs", "--results"], lines=None)
    network = "results/mnist/seed-0/selective/network.safetensors"
    out, _ = run("reproduce", "mnist", "--quick", "--network", network)
    check(f"Network: {network}" in out and not pathlib.Path("results/mnist-quick").exists(), out)
    rows = {(r["method"], r["scope"]) for r in tables("mnist", suffix="-quick-given")[0]["rows"]}
    check(rows == {(m, s) for m in METHODS for s in ("last", "full")} | {("point", "last")}, rows)


@cases_of([
    ("no name", (), "no experiment"),
    ("unknown", ("svhn",), "expected mnist, fashion"),
    ("imagenet without features", ("imagenet",), "features_train"),
    ("quick and full", ("mnist", "--quick", "--full"), "exclude each other"),
    ("features and network", ("mnist", "--features", "f.npz", "--network", "n.safetensors"), "--network"),
    ("seeds", ("mnist", "--seeds", "1,x"), "--seeds"),
    ("one network, two seeds", ("mnist", "--seeds", "1,2", "--network", "n.safetensors"), "one seed"),
])
def refused(arguments, word):
    fails(USAGE, "reproduce", *arguments, words=[word])
    check(not pathlib.Path("results").exists(), "a folder was made")


@case
def cifar100_says_what_it_needs():
    err = fails(READ, "reproduce", "cifar100", words=["train.bin", "test.bin", "data/cifar100"], lines=None, env={"LASTLAYER_DATA": "."})
    check(not pathlib.Path("results").exists(), err)


@case
def features_of_ones_own():
    """Any features of the right shape: imagenet's table of one, two and three layers, on a small problem."""
    made = samples.make()
    np.savez("f.npz", features_train=made["features"], labels_train=made["labels"], features_test=made["test_features"], labels_test=made["test_labels"],
             W=made["W"], b=made["b"])
    run("reproduce", "imagenet", "--features", "f.npz", "--quick", "--seeds", "0,1")
    found, markdown, _ = tables("imagenet", suffix="-quick-given")
    rows = [(r["method"], r["scope"]) for r in found["rows"] if r["protocol"] == "honest"]
    check(rows == [(m, f"layers-{n}") for n in (1, 2, 3) for m in METHODS + ["point"]], rows)
    check(found["seeds"] == [0, 1] and all(len(r["trials"]) == 2 for r in found["rows"]), "seeds")
    check("±" in markdown and "0.1032" in markdown, markdown)
    run("reproduce", "cifar10", "--features", "f.npz", "--quick")
    rows = [(r["method"], r["scope"]) for r in tables("cifar10", suffix="-quick-given")[0]["rows"] if r["protocol"] == "paper"]
    check(rows == [(m, "last") for m in METHODS + ["point"]], rows)


if __name__ == "__main__":
    main()
