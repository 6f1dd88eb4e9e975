# SPDX-License-Identifier: MIT
"""reproduce on small images and features: what it says is missing, and that a kill costs nothing."""
import pathlib
import random
import subprocess
import time

import numpy as np

import images
import samples
from reproduced import METHODS, check_row, tables
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
    check("half of the test rows choose" in markdown and "validation rows choose, test" not in markdown, markdown)
    check("theta* of several layers: 20 epochs of Adam with batches of 512, as the last one left it" in markdown, markdown)
    np.savez("f.npz", **np.load("f.npz"), features_val=made["out_features"], labels_val=made["test_labels"])
    run("reproduce", "cifar10", "--features", "f.npz", "--quick")
    rows = [(r["method"], r["scope"]) for r in tables("cifar10", suffix="-quick-given")[0]["rows"] if r["protocol"] == "paper"]
    check(rows == [(m, "last") for m in METHODS + ["point"]], rows)
    markdown = tables("cifar10", suffix="-quick-given")[1]
    check("half of the test rows choose" not in markdown and "validation rows choose, test rows report" in markdown, markdown)


if __name__ == "__main__":
    main()
