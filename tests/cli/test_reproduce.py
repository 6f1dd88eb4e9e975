# SPDX-License-Identifier: MIT
"""reproduce on small images and features: what it says is missing, and that a kill costs nothing."""
import json
import pathlib
import random
import re
import subprocess
import time
import xml.etree.ElementTree as tree

import numpy as np

import images
import samples
from reproduced import METHODS, PAPER, check_row, tables
from tap import COMMAND, case, cases_of, check, fails, main, run

USAGE, READ = 2, 3


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
            duration *= 0.7  # the machine has become faster, or nothing is left to do
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    run("reproduce", "mnist", "--quick")
    check(kills, "none of 8 was killed")
    check(tables("mnist")[0] == tables("mnist", "calm")[0], "it ended elsewhere")
    for row in tables("mnist")[0]["rows"]:
        check_row("mnist", row)


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


@case
def another_network_or_images_in_the_same_folder():
    """Features and networks that an earlier call left are used again only for what they were made of."""
    images.squares()
    for seed in (1, 2):
        run("train", "--data", "mnist", "--net", "mlp:8,6", "--epochs", 1, "--seed", seed, "-o", f"{seed}.safetensors")
    run("reproduce", "mnist", "--quick", "--network", "1.safetensors")
    before = tables("mnist", suffix="-quick-given")
    run("reproduce", "mnist", "--quick", "--network", "1.safetensors")
    check(tables("mnist", suffix="-quick-given")[0] == before[0], "the same call made other tables")
    fails(USAGE, "reproduce", "mnist", "--quick", "--network", "2.safetensors", words=["encoded.npz", "another network", "--results"], lines=None)
    run("reproduce", "mnist", "--quick")
    fails(USAGE, "reproduce", "mnist", "--quick", "--net", "mlp:9,6", words=["mlp:512,20 after 1 epochs", "--results"], lines=None)
    images.squares(train=300, name="other")
    fails(USAGE, "reproduce", "mnist", "--quick", "--data", "data/other", words=["other images", "--results"], lines=None)
    pathlib.Path("results/mnist-quick/seed-0/selective/network.safetensors").unlink()  # trained anew, on the other images
    fails(USAGE, "reproduce", "mnist", "--quick", "--data", "data/other", words=["encoded.npz", "--results"], lines=None)
    check(tables("mnist", suffix="-quick-given") == before, "tables changed")


@case
def tables_of_the_grid_of_the_call():
    """A store keeps the trials of other grids; the tables choose among those of the call."""
    images.squares()
    flags = ("--full", "--net", "mlp:8,6", "--epochs", 1, "--full-samples", "2", "--full-epochs", "1", "--full-dropout", "0.5", "--full-lr")
    found = {}
    for lr in ("0.1", "0.001", "0.1,0.001", "0.1"):
        run("reproduce", "mnist", *flags, lr)
        rows = [r for r in tables("mnist", suffix="")[0]["rows"] if r["scope"] == "full"]
        for cell in (c for r in rows for c in r["metrics"].values()):  # predictions are kept of the best trial in the store only
            cell.pop("lo", None), cell.pop("hi", None)
        check(all(any(f"-lr{x}-" in r["trials"][0] for x in lr.split(",")) for r in rows), (lr, [r["trials"] for r in rows]))
        check(found.setdefault(lr, rows) == rows, "the tables depend on what else the store holds")
    check(found["0.1"] != found["0.001"], "the grids do not differ")


@case
def networks_of_other_classes():
    images.squares()
    for classes in ("5,6,7,8,9,0,1,2,3,4", "first:5"):
        run("train", "--data", "mnist", "--net", "mlp:8,6", "--epochs", 1, "--classes", classes, "-o", "net.safetensors")
        fails(5, "reproduce", "mnist", "--quick", "--network", "net.safetensors", words=["net.safetensors", "the classes 0 to 9"])
    check(not pathlib.Path("results").exists(), "a folder was made")


@cases_of([
    ("net beside network", ("mnist", "--network", "n.safetensors", "--net", "mlp:8,6"), "--net says what to train"),
    ("epochs beside features", ("mnist", "--features", "f.npz", "--epochs", 3), "--epochs says what to train"),
    ("grid of no full network", ("mnist", "--full-lr", "0.1"), "--full-lr belongs to"),
    ("full samples of features", ("mnist", "--features", "f.npz", "--quick", "--full-samples", "3"), "--full-samples belongs to"),
    ("a seed twice", ("mnist", "--seeds", "0,1,0"), "--seeds has 0 twice"),
    ("no name", (), "the experiment is missing"),
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
    check("half of the test rows choose" in markdown and "validation rows choose, test" not in markdown, markdown)
    check("theta* of several layers: 20 epochs of Adam with batches of 512, as the last one left it" in markdown, markdown)
    np.savez("f.npz", **np.load("f.npz"), features_val=made["out_features"], labels_val=made["test_labels"])
    run("reproduce", "cifar10", "--features", "f.npz", "--quick")
    rows = [(r["method"], r["scope"]) for r in tables("cifar10", suffix="-quick-given")[0]["rows"] if r["protocol"] == "paper"]
    check(rows == [(m, "last") for m in METHODS + ["point"]], rows)
    markdown = tables("cifar10", suffix="-quick-given")[1]
    check("half of the test rows choose" not in markdown and "validation rows choose, test rows report" in markdown, markdown)


@case
def the_papers_own_task():
    """Its network, recipe and grid, on few images: only then there is a ratio to its numbers."""
    images.squares(train=200, test=100)
    run("reproduce", "mnist")
    found, markdown, _ = tables("mnist", suffix="")
    check("ours/paper" in markdown and "Not the paper's task" not in markdown and "equally spaced" in markdown, markdown)
    ratios = [(r, m, c) for r in found["rows"] for m, c in r["metrics"].items() if c["ratio"] is not None]
    check(len(ratios) > 50, len(ratios))
    for r, metric, cell in ratios:
        expected = PAPER["mnist", r["task"], r["scope"], r["method"], metric]
        check(abs(cell["ratio"] - cell["ours"] / expected) <= 1e-12 * abs(cell["ratio"]), (metric, cell))


def bold_cells(line):
    return [i for i, cell in enumerate(line.split("|")) if "**" in cell]


@case
def tables_to_publish():
    """Intervals are those of evaluate, the best numbers bold, LaTeX has the same cells, figures are drawings; unknown rows make a table."""
    made = samples.make()
    np.savez("f.npz", features_train=made["features"], labels_train=made["labels"], features_test=made["test_features"], labels_test=made["test_labels"],
             features_val=made["test_features"][::-1], labels_val=made["test_labels"][::-1], features_out=made["out_features"], W=made["W"], b=made["b"])
    latex, _ = run("reproduce", "clinc150", "--features", "f.npz", "--quick", "--latex")
    found, markdown, _ = tables("clinc150", suffix="-quick-given")
    folder = pathlib.Path("results/clinc150-quick-given")
    check(latex == (folder / "tables.tex").read_text() and latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 8, latex)
    check("ours/paper" not in markdown and "Not the paper's task" in markdown and "the rows of features_out" in markdown, markdown)
    compared = 0
    for row in [r for r in found["rows"] if r["protocol"] == "honest"]:
        out, _ = run("evaluate", folder / f"seed-0/selective/last/best/honest-{row['method']}.npz", "--json")
        told = json.loads(out)
        metric, where = ("aurc_sr", told["intervals"]["aurc"]["sr"]) if row["task"] == "selective" else ("auroc_sr", told["intervals"]["ood"]["auroc"]["sr"])
        cell = row["metrics"][metric]
        check([cell["lo"], cell["hi"]] == where and cell["lo"] < cell["ours"] < cell["hi"] if where else "lo" not in cell, (row["method"], cell, where))
        compared += bool(where)
    check(compared > 4, compared)
    lines = [line for line in markdown.split("## ")[1].splitlines() if line.startswith("|")][2:]
    accuracy = [r["metrics"]["accuracy"]["ours"] for r in found["rows"][:len(lines)]]
    check([5 in bold_cells(line) for line in lines] == [a == max(accuracy) for a in accuracy], lines)
    plain = re.sub(r"[*\\]", "", lines[0]).strip("| ").split(" | ")
    check(plain[4] in re.sub(r"\\textbf{([^}]*)}", r"\1", latex), plain)
    figures = {path.stem: tree.parse(path).getroot() for path in (folder / "figures").iterdir()}
    check(set(figures) == {"risk-coverage", "bars", "histograms", "reliability", "ood"}, figures)
    for name, root in figures.items():
        names = [text.text for text in root.findall("{http://www.w3.org/2000/svg}text")]
        drawings = root.findall("{http://www.w3.org/2000/svg}svg")
        check(names == ["point", *METHODS] and drawings and all(len(list(d.iter())) > 10 for d in drawings), (name, names, len(drawings)))


if __name__ == "__main__":
    main()
