# SPDX-License-Identifier: MIT
"""search: the same trials as by hand, whatever kills it; the choice is the argmin on the rows of its protocol."""
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np

import images
import samples
from tap import COMMAND, case, cases_of, check, fails, main, run

DATA = ("--features", "features.npy", "--labels", "labels.npy", "--head", "head.npz", "--test-features", "test_features.npy", "--test-labels",
        "test_labels.npy")
GRID = ("--lr", "0.2,0.02", "--samples", "3,12/bootstrap:2,5", "--epochs", "3", "--dropout", "0.2,0.5", "--batch-size", "64")
USAGE, WRITE = 2, 6


def search(*more, store="trials", grid=GRID, code=0):
    return run("search", *DATA, *grid, *more, "--store", store, code=code)


def shown(*more, store="trials"):
    """--show --json, without times."""
    found = json.loads(run("search", "--store", store, "--show", "--json", *more)[0])
    for trial in found["trials"]:
        check(trial.pop("seconds") >= 0, "seconds")
    return found


def by_name(found):
    return {t["trial"]: t for t in found["trials"]}


def value(trial, split):
    return min(x for x in (trial[split]["aurc"]["sr"], trial[split]["aurc"]["std"]) if x is not None)


SCORES = {"msp", "energy", "maxlogit", "mds", "mds++", "rmds", "rmds++", "knn", "vim"}


def defined(value):
    """A number, or one for each confidence without the scores from features, which a search does not fit."""
    return {name: x for name, x in value.items() if name not in SCORES} if isinstance(value, dict) else value


@case
def every_trial_once():
    samples.make()
    search()
    found = by_name(shown())
    expected = {"point-S1"} | {f"{m}-lr{lr}-B64-S{s}" for m in ("sgd", "sgld") for lr in ("0.2", "0.02") for s in (3, 12)}
    expected |= {f"bootstrap-lr{lr}-B64-E3-S{s}" for lr in ("0.2", "0.02") for s in (2, 5)}
    expected |= {f"dropout-lr{lr}-B64-E3-p{p}-S{s}" for p in ("0.2", "0.5") for lr in ("0.2", "0.02") for s in (3, 12)}
    check(set(found) == expected, set(found) ^ expected)
    lines = pathlib.Path("trials/runs.jsonl").read_text()
    check(lines.count("\n") == len(expected), "not one line per trial")
    search()
    check(pathlib.Path("trials/runs.jsonl").read_text() == lines, "a finished trial was repeated")
    for name, trial in found.items():
        full = json.loads(pathlib.Path("trials", trial["run"], f"S{trial['samples']}.json").read_text())
        for split in ("val", "test", "all"):
            check(full[split]["aurc"]["sr"] == trial[split]["aurc"]["sr"] and full[split]["n"] == trial[split]["n"], f"{name} {split}")


@case
def same_as_by_hand():
    """fit, predict, evaluate on the whole test set give the numbers of `all`; its halves those of `val` and `test`."""
    data = samples.make()
    search("--out-features", "out_features.npy", "--seed", 3)
    found = by_name(shown())
    for trial in found.values():
        flags = ["--method", trial["method"], "--seed", 3]
        for flag, key in (("--samples", "samples"), ("--lr", "lr"), ("--batch-size", "batch_size"), ("--epochs", "epochs"), ("--dropout", "dropout")):
            flags += [flag, trial[key]] if trial[key] is not None and not (trial["method"] == "point" and key == "samples") else []
        run(*samples.FIT, "--head", "head.npz", *flags, "-o", "ens.safetensors")
        run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "pred.npz")
        run("predict", "ens.safetensors", "--features", "out_features.npy", "-o", "out.npz")
        whole = json.loads(run("evaluate", "pred.npz", "--ood", "out.npz", "--json")[0])
        for key in ("n", "errors", "accuracy", "nll", "brier", "ece", "mce", "aurc"):
            check(trial["all"][key] == defined(whole[key]), f"{trial['trial']}: {key} is {trial['all'][key]}, by hand {whole[key]}")
        for key in ("auroc", "aupr_in", "aupr_out", "fpr95"):
            check(trial["all"][key] == defined(whole["ood"][key]), f"{trial['trial']}: {key}")
        p = np.load("pred.npz")
        wrong = int((p["label"] != data["test_labels"]).sum())
        check(trial["val"]["errors"] + trial["test"]["errors"] == wrong and trial["val"]["n"] == 150 and trial["test"]["n"] == 150, "halves")
        check(all(v is None for v in trial["val"]["auroc"].values()), "the rows that choose saw out-of-distribution rows")
    # The kept predictions are those of the half that reports.
    kept = np.load("trials/best/honest-sgld.npz")
    best = found[json.loads(pathlib.Path("trials/choice.json").read_text())["best"]["sgld"]]
    check(int((kept["label"] != kept["truth"]).sum()) == best["test"]["errors"] and len(kept["label"]) == 150, "best/honest-sgld.npz")
    check(kept["out_sr"].shape == (300,), "out-of-distribution rows of best/honest-sgld.npz")
    check(np.load("trials/best/paper-sgld.npz")["sr"].shape == (300,), "best/paper-sgld.npz")


@case
def prefixes_are_separate_runs():
    """S = 3 and 12 in one run, S = 3 alone, and S = 12 added later: the same numbers."""
    samples.make()
    schedule = ("--lr-t0", "5")  # weights of sgld that fall
    search(*schedule)
    together = by_name(shown())
    for s in ("3/bootstrap:2", "12/bootstrap:5"):
        search(*schedule, store="apart", grid=[s if g == GRID[3] else g for g in GRID])
    apart = by_name(shown(store="apart"))
    check(together == apart, "shared and separate runs differ")


@case
def cycles_of_a_search():
    """The cycles of fewer members are shorter: each S is a run of its own."""
    samples.make()
    search("--method", "cyclical", "--seed", "3")
    found = by_name(shown())
    for S in (3, 12):
        run(*samples.FIT, "--head", "head.npz", "--method", "cyclical", "--samples", S, "--lr", "0.2", "--batch-size", "64", "--seed", "3", "-o", "ens.safetensors")
        run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "pred.npz")
        whole = json.loads(run("evaluate", "pred.npz", "--json")[0])
        check(found[f"cyclical-lr0.2-B64-S{S}"]["all"]["nll"] == whole["nll"], (S, found.keys()))


@case
def chains_of_a_search():
    """With several chains each S is a run of its own; methods without chains take no notice."""
    samples.make()
    search("--method", "point,sgd,bootstrap", "--chains", "3", "--seed", "3")
    found = by_name(shown())
    for S in (3, 12):
        trial = found[f"sgd-lr0.2-B64-S{S}"]
        run(*samples.FIT, "--head", "head.npz", "--method", "sgd", "--samples", S, "--lr", "0.2", "--batch-size", "64", "--chains", "3", "--seed", "3",
            "-o", "ens.safetensors")
        run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", "pred.npz")
        whole = json.loads(run("evaluate", "pred.npz", "--json")[0])
        check(trial["all"]["nll"] == whole["nll"] and trial["all"]["aurc"] == defined(whole["aurc"]), (S, trial["all"], whole))
    fails(USAGE, "search", *DATA, *GRID, "--chains", "5", "--store", "other", words="cannot be divided equally among --chains 5")
    fails(USAGE, "search", *DATA, *GRID, "--seed", "3", "--store", "trials", words="it has a chains")
    table = json.loads(run("compare", *DATA, "--samples", "6", "--chains", "2", "--epochs", "1", "--json")[0])
    check({"point", "sgd", "bootstrap"} <= {row["method"] for row in table["methods"]}, table)


@case
def late_divergence_spares_the_prefix():
    """A chain whose first members came before it diverged has finished the small trials."""
    samples.make()
    found = None
    for lr in (20, 50, 100, 200, 500):
        search("--method", "sgd", "--lr", lr, "--samples", "1,400", store=f"s{lr}", grid=("--batch-size", "7", "--thin", "1"))
        found = by_name(shown(store=f"s{lr}"))
        states = [found[f"sgd-lr{lr}-B7-S{s}"]["status"] for s in (1, 400)]
        if states == ["ok", "diverged"]:
            break
    check(states == ["ok", "diverged"], found)
    search("--method", "sgd", "--lr", lr, "--samples", "1", store="alone", grid=("--batch-size", "7", "--thin", "1"))
    check(by_name(shown(store="alone"))[f"sgd-lr{lr}-B7-S1"] == found[f"sgd-lr{lr}-B7-S1"], "the prefix is another")
    out, _ = search("--method", "sgd", "--lr", lr, "--samples", "1,400", store=f"s{lr}", grid=("--batch-size", "7", "--thin", "1"))
    check("diverged" in out, out)


@case
def choice_is_the_argmin():
    samples.make()
    search("--out-features", "out_features.npy")
    honest, paper = shown(), shown("--protocol", "paper")
    check((honest["protocol"], honest["chosen_on"], honest["reported_on"]) == ("honest", "val", "test"), honest["protocol"])
    check((paper["protocol"], paper["chosen_on"], paper["reported_on"]) == ("paper", "all", "all"), paper["protocol"])
    check(json.loads(pathlib.Path("trials/choice.json").read_text())["chosen_on"] == "val", "choice.json")
    for found, split in ((honest, "val"), (paper, "all")):
        values = [value(t, split) for t in found["trials"]]
        check(values == sorted(values), "the table is not sorted")
        for method, name in found["best"].items():
            own = [t for t in found["trials"] if t["method"] == method]
            check(value(by_name(found)[name], split) == min(value(t, split) for t in own), f"{method}: {name} is not the argmin")
            kept = pathlib.Path("trials/best", f"{found['protocol']}-{method}.npz")
            check(name.encode() in kept.read_bytes(), f"{kept} is not of {name}")
    auroc = shown("--protocol", "paper", "--by", "auroc")
    largest = {t["trial"]: max(x for x in (t["all"]["auroc"][c] for c in ("sr", "std")) if x is not None) for t in auroc["trials"]}
    for method, name in auroc["best"].items():
        check(largest[name] == max(largest[t["trial"]] for t in auroc["trials"] if t["method"] == method), f"{method} by auroc")
    figures = shown("--by", "aurc-hq")
    check(figures["by"] == "aurc-hq" and len(figures["trials"]) == len(honest["trials"]), "figures")
    fails(USAGE, "search", "--store", "trials", "--show", "--by", "auroc", words=["--protocol paper"])
    # The last search says what it chose on.
    search("--protocol", "paper", "--out-features", "out_features.npy")
    check(json.loads(pathlib.Path("trials/choice.json").read_text())["chosen_on"] == "all", "choice.json after --protocol paper")


@case
def validation_rows_of_their_own():
    data = samples.make()
    np.savez("encoded.npz", features_train=data["features"], labels_train=data["labels"], features_val=data["test_features"][:100],
             labels_val=data["test_labels"][:100], features_test=data["test_features"][100:], labels_test=data["test_labels"][100:],
             features_out=data["out_features"], W=data["W"], b=data["b"])
    run("search", "--features", "encoded.npz", *GRID, "--store", "whole")
    np.save("val_features.npy", data["test_features"][:100])
    np.save("val_labels.npy", data["test_labels"][:100])
    np.save("rest_features.npy", data["test_features"][100:])
    np.save("rest_labels.npy", data["test_labels"][100:])
    run("search", *DATA[:6], "--val-features", "val_features.npy", "--val-labels", "val_labels.npy", "--test-features", "rest_features.npy",
        "--test-labels", "rest_labels.npy", "--out-features", "out_features.npy", *GRID, "--store", "apart")
    found = shown(store="whole")
    check(found == shown(store="apart"), "the whole file and its parts differ")
    check(all(t["val"]["n"] == 100 and t["test"]["n"] == 200 and "all" not in t for t in found["trials"]), "rows")
    check(shown("--protocol", "paper", store="whole")["chosen_on"] == "test", "paper chooses on the test rows")


@case
def threads_change_nothing():
    samples.make()
    for threads in (1, 2, 3):
        search("--threads", threads, store=f"t{threads}")
    check(shown(store="t1") == shown(store="t2") == shown(store="t3"), "threads change the numbers")
    for name in os.listdir("t1/best"):
        check(pathlib.Path("t1/best", name).read_bytes() == pathlib.Path("t3/best", name).read_bytes(), name)


@case
def killed_at_any_moment():
    """20 rounds: kill -9 at random moments, go on, and end where an undisturbed search ends."""
    samples.make()
    long = ("--samples", "30,400/bootstrap:5,40")
    grid = [g for g in GRID if g not in GRID[2:4]]
    begin = time.monotonic()
    search(*long, store="calm", grid=grid)
    duration = time.monotonic() - begin
    calm, dice, kills = shown(store="calm"), random.Random(5), 0
    for _ in range(20):
        shutil.rmtree("storm", ignore_errors=True)
        finished = ""
        for _ in range(3):
            process = subprocess.Popen([COMMAND, "search", *DATA, *grid, *long, "--store", "storm"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(dice.uniform(0, duration))
                duration *= 0.9  # the machine has become faster
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
            runs = pathlib.Path("storm/runs.jsonl")
            text = runs.read_text() if runs.exists() else ""
            whole = text[:text.rfind("\n") + 1]
            check(whole.startswith(finished), "a finished trial is gone")
            for line in whole.splitlines():
                json.loads(line)
            finished = whole
        search(*long, store="storm", grid=grid)
        check(shown(store="storm") == calm, "the search ended elsewhere")
        names = [json.loads(line)["trial"] for line in pathlib.Path("storm/runs.jsonl").read_text().splitlines()]
        check(len(names) == len(set(names)), "a trial was repeated")
        for name in os.listdir("calm/best"):
            check(pathlib.Path("calm/best", name).read_bytes() == pathlib.Path("storm/best", name).read_bytes(), name)
    check(kills >= 10, f"only {kills} of 60 searches were killed")


@case
def torn_line_is_cut_off():
    samples.make()
    search()
    calm = shown()
    runs = pathlib.Path("trials/runs.jsonl")
    lines = runs.read_text().splitlines(keepends=True)
    runs.write_text("".join(lines[:5]) + lines[5][:100])
    check(len(shown()["trials"]) == 5, "a torn line is shown")
    _, err = search()
    check("warning" not in err and shown() == calm, err)
    check(len(runs.read_text().splitlines()) == len(lines), "lines")


@cases_of([
    ("not JSON", lambda line: line[:40] + "\0" + line[41:]),
    ("cut in the middle", lambda line: line[:200] + "\n"),
    ("not a trial", lambda line: '{"hello": 1}\n'),
    ("without a score", lambda line: line.replace('"val":', '"vil":')),
    ("a text where a number was", lambda line: line.replace('"samples":3', '"samples":"3"').replace('"samples":12', '"samples":[]')),
])
def corrupted_line(change):
    samples.make()
    search("--method", "sgd")
    calm = shown()
    runs = pathlib.Path("trials/runs.jsonl")
    lines = runs.read_text().splitlines(keepends=True)
    lines[2] = change(lines[2])
    runs.write_text("".join(lines))
    out, err = run("search", "--store", "trials", "--show", "--json")
    check("runs.jsonl, line 3" in err and err.count("warning:") == 1, err)
    check(len(json.loads(out)["trials"]) == len(lines) - 1, "the others are not shown")
    _, err = search("--method", "sgd")
    check("line 3" in err, err)
    check(shown() == calm, "the trial was not run again")


@case
def twenty_thousand_trials():
    """Each of a method of its own, with a name that differs at its end: a moment, or a minute where every trial looks at all others."""
    samples.make()
    search(grid=("--method", "sgd", "--lr", "0.2", "--samples", "3", "--epochs", "1"))
    line, count, long = json.loads(pathlib.Path("trials/runs.jsonl").read_text().splitlines()[0]), 20000, "m" * 1000
    with open("trials/runs.jsonl", "w") as file:
        for i in range(count):
            line["val"]["aurc"]["sr"] = line["val"]["aurc"]["std"] = -i % 9999 / count
            file.write(json.dumps({**line, "trial": f"t{i:05}", "run": "r", "method": f"{long}{i:05}"}) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    found, text = shown(), run("search", "--store", "trials", "--show", "--csv")[0]
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    check([t["trial"] for t in found["trials"]] == [f"t{i:05}" for i in sorted(range(count), key=lambda i: (-i % 9999, i))], "the order")
    check(found["best"] == {f"{long}{i:05}": f"t{i:05}" for i in range(count)}, "the best")
    check(text.count(f"\n*,{long}") == count, "rows of the table")
    check(spent < 15, f"{spent} s of processor time")


@case
def second_search_is_refused():
    samples.make()
    process = subprocess.Popen([COMMAND, "search", *DATA, "--samples", "100000", "--store", "trials"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not pathlib.Path("trials/store.json").exists():
            check(process.poll() is None, "the first search ended")
            time.sleep(0.01)
        err = fails(WRITE, "search", *DATA, *GRID, "--store", "trials", words=["locked", "another process"])
        check("runs.jsonl" in err, err)
        shown()  # reading is allowed, also of nothing
    finally:
        process.kill()
        process.wait()
    search()


@cases_of([
    ("other features", lambda: np.save("features.npy", np.load("features.npy") + 1), (), "features_train_sha256"),
    ("other labels", lambda: np.save("labels.npy", np.load("labels.npy")[::-1].copy()), (), "labels_train_sha256"),
    ("other test rows", lambda: np.save("test_features.npy", np.load("test_features.npy") + 1), (), "features_test_sha256"),
    ("another head", lambda: np.savez("head.npz", W=np.load("head.npz")["W"] * 2, b=np.load("head.npz")["b"]), (), "head_sha256"),
    ("another seed", lambda: None, ("--seed", 4), "seed"),
    ("another prior", lambda: None, ("--prior-precision", 2), "prior-precision"),
])
def another_search_is_refused(change, more, word):
    samples.make()
    search("--method", "point")
    change()
    before = pathlib.Path("trials/runs.jsonl").read_text()
    fails(USAGE, "search", *DATA, *GRID, *more, "--store", "trials", words=["another search", word])
    check(pathlib.Path("trials/runs.jsonl").read_text() == before, "the store changed")


@case
def full_disk():
    """Files may not grow beyond a limit: the search stops with a sentence, and goes on when there is room again."""
    samples.make()
    search(store="calm")

    def limit(size):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    for size in (0, 1000, 12000, 40000):
        words = [str(w) for w in (COMMAND, "search", *DATA, *GRID, "--store", "trials")]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: limit(size))
        check(done.returncode == WRITE and done.stderr.count("lastlayer search:") == 1, f"{size}: {done.returncode} {done.stderr}")
        for line in pathlib.Path("trials/runs.jsonl").read_text().splitlines():
            json.loads(line)
    search()
    check(shown() == shown(store="calm"), "the search ended elsewhere")


@cases_of([
    ("unknown method", ("--method", "sgd,sgx"), "sgx"),
    ("empty method", ("--method", "sgd,"), "--method"),
    ("lr 0", ("--lr", "0.1,0"), "--lr"),
    ("negative lr", ("--lr=-1",), "--lr"),
    ("lr not a number", ("--lr", "0.1,fast"), "fast"),
    ("lr nan", ("--lr", "nan"), "nan"),
    ("half a member", ("--samples", "2.5"), "--samples"),
    ("empty entry", ("--samples", "1,,2"), "nothing"),
    ("dropout 1", ("--dropout", "1"), "--dropout"),
    ("slash of no method", ("--samples", "1/sgx:2"), "sgx"),
    ("batch size 0", ("--batch-size", "0"), "--batch-size"),
    ("auto samples", ("--samples", "auto"), "auto"),
    ("protocol", ("--protocol", "kind"), "kind"),
    ("by auroc without out rows", ("--by", "auroc", "--protocol", "paper"), "--out-features"),
    ("val labels alone", ("--val-labels", "labels.npy"), "--val-features"),
    ("two forms", ("--json", "--csv"), "--json"),
])
def refused(more, word):
    samples.make()
    fails(USAGE, "search", *DATA, *more, "--store", "trials", words=[word])
    check(not pathlib.Path("trials").exists(), "a store was made")


NETWORK = ("--network", "net.safetensors", "--data", "mnist", "--lr", "0.05", "--samples", "2,4", "--epochs", "2", "--dropout", "0.3", "--batch-size", "32")


def check_by_hand(trial, fit, predict, rows):
    """The trial's `rows` are what fit, predict and evaluate give."""
    flags = ["--method", trial["method"]]
    for flag, key in (("--samples", "samples"), ("--lr", "lr"), ("--batch-size", "batch_size"), ("--epochs", "epochs"), ("--dropout", "dropout")):
        flags += [flag, trial[key]] if trial[key] is not None and not (trial["method"] == "point" and key == "samples") else []
    run("fit", *fit, *flags, "-o", "hand.safetensors")
    run("predict", "hand.safetensors", *predict, "-o", "hand.npz")
    whole = json.loads(run("evaluate", "hand.npz", "--json")[0])
    for key in ("n", "errors", "accuracy", "nll", "brier", "ece", "aurc"):
        check(trial[rows][key] == defined(whole[key]), f"{trial['trial']}: {key} is {trial[rows][key]}, by hand {whole[key]}")


@case
def whole_networks():
    """The methods on all layers: the same as by hand, the rows that training held out choose, a kill costs nothing."""
    images.squares()
    run("train", "--data", "mnist", "--net", "mlp:16,8", "--epochs", 3, "-o", "net.safetensors")
    run("search", *NETWORK, "--store", "calm")
    calm = shown(store="calm")
    check(len(calm["trials"]) == 9 and calm["chosen_on"] == "val", [t["trial"] for t in calm["trials"]])
    for trial in calm["trials"]:
        check("all" not in trial, "test rows were split although rows were held out")
        check_by_hand(trial, ("--network", "net.safetensors", "--data", "mnist"), ("--data", "mnist"), "test")
    check(not os.listdir("calm/work"), "members were left behind")
    dice = random.Random(9)
    for _ in range(6):
        process = subprocess.Popen([COMMAND, "search", *NETWORK, "--store", "storm"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(dice.uniform(0, 1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    run("search", *NETWORK, "--store", "storm")
    check(shown(store="storm") == calm, "the search ended elsewhere")
    run("report", "calm", "-o", "r.html")
    for flag in ("features", "labels", "head", "bias", "test-features", "test-labels", "val-features", "val-labels", "out-features"):
        fails(USAGE, "search", *NETWORK, f"--{flag}", "x.npy", "--store", "s", words=[f"--network and --{flag}"])
    for flag, word in (("init", "map"), ("classes", 5), ("head-layout", "kd"), ("layers", 2)):
        fails(USAGE, "search", *NETWORK, f"--{flag}", word, "--store", "s", words=[f"--network and --{flag}"])
    made = images.squares()
    for part, word in (("train", "test"), ("test", "train")):
        np.savez("part.npz", **{f"x_{part}": made[part][0].astype(np.uint8), f"y_{part}": made[part][1]})
        fails(5, "search", "--network", "net.safetensors", "--data", "part.npz", "--store", "s", words=["part.npz has no", word])
    check(not pathlib.Path("s").exists(), "a store was made")
    fails(USAGE, "search", "--data", "mnist", *DATA, "--store", "s", words=["--data belongs to --network"])


@case
def deep_heads():
    samples.make()
    words = DATA[:4] + DATA[6:]
    run("search", *words, "--layers", 2, "--lr", "0.05", "--samples", "2,4", "--epochs", "2", "--dropout", "0.3", "--store", "deep")
    for trial in shown(store="deep")["trials"]:
        check_by_hand(trial, (*words[:4], "--layers", 2), (*samples.PREDICT, "--labels", "test_labels.npy"), "all")
    fails(USAGE, "search", *words, "--store", "deep", words=["another search"])
    # theta* is trained with the batches and the shuffle of the search, and auto is the lr of fit.
    own = ("--layers", 2, "--shuffle", "block:50")
    run("search", *words, *own, "--method", "point,sgd", "--lr", "auto", "--samples", 3, "--batch-size", "16,32", "--store", "own")
    run("fit", *words[:4], *own, "--method", "sgd", "--samples", 3, "--batch-size", 16, "-o", "e.safetensors")
    made = json.loads(run("inspect", "e.safetensors", "--json")[0])["metadata"]
    identity = json.loads(pathlib.Path("own/store.json").read_text())
    check(identity["head_sha256"] == made["head_sha256"], "search and fit start elsewhere")
    found = by_name(shown(store="own"))
    check(found[f"sgd-lr{made['lr']}-B16-S3"]["status"] == "ok", (list(found), made["lr"]))


@case
def a_network_that_diverges():
    """Of a run of a network that diverges, the trials that it could give are run by themselves."""
    images.squares()
    run("train", "--data", "mnist", "--net", "mlp:16,8", "--epochs", 1, "-o", "net.safetensors")
    states = None
    for lr in (1, 3, 10, 30, 100, 1000):
        run("search", "--network", "net.safetensors", "--data", "mnist", "--method", "sgd", "--lr", lr, "--samples", "1,60", "--batch-size", 32, "--thin", 1,
            "--store", f"s{lr}")
        states = [t["status"] for t in sorted(shown(store=f"s{lr}")["trials"], key=lambda t: t["samples"])]
        if states == ["ok", "diverged"]:
            break
    check(states == ["ok", "diverged"], states)


@case
def logits_beyond_single_precision():
    """Finite members whose logits are not: such a trial has diverged, and the search ends."""
    images.squares()
    run("train", "--data", "mnist", "--net", "mlp:16,8", "--epochs", 1, "-o", "net.safetensors")
    flags = ("--network", "net.safetensors", "--data", "mnist", "--epochs", 1)
    run("search", *flags, "--method", "bootstrap", "--lr", "0.01,1e4,1e5", "--samples", 2, "--store", "s")
    states = {t["lr"]: t["status"] for t in shown(store="s")["trials"]}
    check(states == {1e5: "diverged", 1e4: "diverged", 0.01: "ok"}, states)
    lines = pathlib.Path("s/runs.jsonl").read_text()
    run("search", *flags, "--method", "bootstrap", "--lr", "0.01,1e4,1e5", "--samples", 2, "--store", "s")
    check(pathlib.Path("s/runs.jsonl").read_text() == lines, "a trial that diverged was run again")
    rows = {r["method"]: r for r in json.loads(run("compare", *flags, "--samples", 2, "--lr", "1e5", "--protocol", "paper", "--json")[0])["methods"]}
    check(rows["point"]["evaluation"]["n"] == 120 and rows["bootstrap"]["diverged"], rows)
    run("fit", *flags, "--method", "bootstrap", "--lr", "1e4", "--samples", 2, "-o", "e.safetensors")
    fails(5, "predict", "e.safetensors", "--data", "mnist", "-o", "p.npz", words=["beyond single precision"])


@case
def report_of_a_store():
    """The page shows each method's best trial, on the rows of the protocol."""
    samples.make()
    search("--out-features", "out_features.npy")
    run("report", "trials", "-o", "r.html")
    page, found = pathlib.Path("r.html").read_text(), shown()
    for method, name in found["best"].items():
        check(f"<dd>{name}</dd>" in page, f"{name} is not on the page")
    check("150 points" in page or "150" in page, "rows")
    run("report", "trials", "--names", "mine", "-o", "named.html")
    check("mine sgld" in pathlib.Path("named.html").read_text(), "names of a store")
    shutil.copy("trials/best/honest-sgd.npz", "trials/best/honest-sgld.npz")
    fails(5, "report", "trials", "-o", "r2.html", words=["honest-sgld.npz", "does not belong to the chosen trial"])
    pathlib.Path("trials/choice.json").unlink()
    fails(3, "report", "trials", "-o", "r2.html", words=["without choice.json"])


@case
def another_rule():
    """A store keeps predictions by one rule: where another would have kept others it is refused, and the report stays as it was."""
    samples.make()
    search("--out-features", "out_features.npy")
    run("report", "trials", "-o", "r.html")
    kept = {p.name: p.read_bytes() for p in pathlib.Path("trials").rglob("*") if p.is_file()}
    paper, auroc = shown("--protocol", "paper"), shown("--protocol", "paper", "--by", "auroc")
    check(paper["best"] != auroc["best"], "the rules agree on these data")
    fails(USAGE, "search", *DATA, *GRID, "--out-features", "out_features.npy", "--protocol", "paper", "--by", "auroc", "--store", "trials",
          words=["was made with another rule", "--by auroc", "--show"], lines=None)
    check(kept == {p.name: p.read_bytes() for p in pathlib.Path("trials").rglob("*") if p.is_file()}, "the store changed")
    run("report", "trials", "-o", "r.html")
    search("--out-features", "out_features.npy", "--protocol", "paper", "--by", "auroc", store="own")
    search("--out-features", "out_features.npy", "--protocol", "paper", "--by", "auroc", store="own")
    run("report", "own", "-o", "r.html")


@case
def usage():
    """Every form of the usage begins with what it needs, and the methods in the sentences are all there are."""
    forms = [line for line in run("search", "--help")[0].splitlines() if "lastlayer search -" in line and line.startswith(("Usage:", "   or:"))]
    check([f.split("lastlayer search ")[1].split()[0] for f in forms] == ["--features", "--network", "--store"], forms)
    samples.make()
    methods = "".join(re.search(r"--method M .*?one of\s+([a-z|\s]+)\)", run("fit", "--help")[0], re.S).group(1).split())
    fails(USAGE, "search", *DATA, "--method", "x", "--store", "s", words=[f"expected some of {methods}"])
    fails(USAGE, "search", *DATA, "--samples", "10/x:10", "--store", "s", words=["--samples names the method x", f"expected one of {methods}"])


@case
def show_of_nothing():
    fails(3, "search", "--store", "nowhere", "--show", words=["nowhere/runs.jsonl"])


@case
def tables():
    samples.make()
    out, _ = search("--lr", "auto,0.02,0.02", "--samples", "4", grid=("--epochs", "2", "--method", "point,sgld,point"))
    check(out.count("\n*") >= 2 and "0.02" in out and "150 val rows" in out, out)
    lines = run("search", "--store", "trials", "--show", "--csv")[0].splitlines()
    check(len(lines) == 4 and lines[0].startswith("best,method,samples,lr"), lines)
    markdown = run("search", "--store", "trials", "--show", "--markdown")[0]
    check(markdown.count("| sgld |") == 2 and "|---" in markdown, markdown)


if __name__ == "__main__":
    main()
