# SPDX-License-Identifier: MIT
"""What is an ensemble worth? Beside each ensemble of last layers stand single heads that cost less: theta* (point), a head fitted anew (map), the last
member alone, the mean of all members' parameters; each also with a temperature. Pairs are compared on the same test rows. Used by results.py."""
import json
import os
import pathlib
import resource
import sys
from math import erfc, sqrt

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cli"))
from tensors import tensors  # noqa: E402

METHODS = ["sgd", "sgld", "bootstrap", "dropout"]
METRICS = {"accuracy": "accuracy", "nll": "NLL", "aurc": "AURC", "ood_auroc": "AUROC of unknowns"}
HIGHER = {"accuracy", "ood_auroc"}


def member_of(arrays, how):
    """One head out of an ensemble [S,K,D]: the last member or the mean. Dropout stores one head, which is its mean."""
    pick = (lambda a: a[-1]) if how == "last" else (lambda a: a.mean(0, dtype=np.float64).astype(np.float32))
    return {name: pick(arrays[name]) for name in ["W", "b"]}


class Task:
    """One file of features. Makes every row of the table in `folder`; what is there is not made again."""

    def __init__(self, lastlayer, features, folder, seed):
        self.lastlayer, self.features, self.folder, self.seed = lastlayer, str(features), pathlib.Path(folder), seed
        self.folder.mkdir(parents=True, exist_ok=True)
        costs = self.folder / "costs.json"
        self.costs = json.loads(costs.read_text()) if costs.exists() else {}

    def path(self, name, ending="safetensors"):
        return self.folder / f"{name}.{ending}"

    def make(self, name, *words):
        """An ensemble by `fit` or `calibrate`, its predictions, and what both cost in seconds of processor and bytes."""
        if name in self.costs and self.path(name, "npz").exists():
            return
        begin = cpu()
        self.lastlayer(*words, "-o", self.path(name), quiet=True)
        made = cpu()
        self.lastlayer("predict", self.path(name), "--features", self.features, "-o", self.path(name, "npz"), quiet=True)
        self.costs[name] = {"fit": made - begin, "predict": cpu() - made, "bytes": os.path.getsize(self.path(name))}
        (self.folder / "costs.json").write_text(json.dumps(self.costs))

    def fit(self, name, method, *more):
        self.make(name, "fit", "--features", self.features, "--method", method, "--seed", self.seed, *more)

    def with_temperature(self, name):
        self.make(name + "-T", "calibrate", self.path(name), "--features", self.features)

    def head_of(self, name, head):
        """A head as a point ensemble of one."""
        np.savez(self.path(name + "-head", "npz"), **head)
        self.fit(name, "point", "--head", self.path(name + "-head", "npz"))

    def all(self):
        self.fit("point", "point")
        theta = member_of(tensors(self.path("point"))[0], "last")
        np.savez(self.path("theta", "npz"), **theta)
        self.fit("map", "map", "--head", self.path("theta", "npz"))
        for name in ["point", "map"]:
            self.with_temperature(name)
        for method in METHODS:
            self.fit(method, method, "--head", self.path("theta", "npz"))
            members = tensors(self.path(method))[0]
            for how in singles_of(method):
                self.head_of(f"{method}-{how}", member_of(members, how))
                self.with_temperature(f"{method}-{how}")
            self.with_temperature(method)

    def compare(self, first, others):
        """[numbers of each], {"OTHER / FIRST": the differences of each other to the first}"""
        out = json.loads(self.lastlayer("evaluate", *[self.path(n, "npz") for n in [first, *others]], "--json", quiet=True))["methods"]
        return ({n: numbers_of(m["evaluation"]) for n, m in zip([first, *others], out)},
                {f"{n} / {first}": {key: m["differences"][key] for key in METRICS if m["differences"].get(key)} for n, m in zip(others, out[1:])})

    def result(self):
        plain, scaled = [[n for n in rows_of() if n.endswith("-T") == t] for t in [False, True]]
        numbers, pairs = self.compare("point", plain[1:])
        for first, others in [("point", scaled), ("point-T", scaled[1:]), ("map", METHODS), ("map-T", [m + "-T" for m in METHODS]),
                              *((f"{m}-{how}{t}", [m + t]) for m in METHODS for how in singles_of(m) for t in ["", "-T"])]:
            more, differences = self.compare(first, others)
            numbers |= more
            pairs |= differences
        out = "ood_auroc" in numbers["point"]
        return {"numbers": numbers, "pairs": pairs, "costs": self.costs,
                "out": {f"{score} / {single}": d for single in ["point", "map", "sgd-last"] for score, d in self.out_by_members(single).items()} if out else {}}

    def out_by_members(self, single):
        """AUROC of unknowns by what only members have, std and mi, each less that of a single head by sr, with its interval and p (DeLong)."""
        base = np.load(self.path(single, "npz"))
        rows = {}
        for method in METHODS:
            found = np.load(self.path(method, "npz"))
            for score in ["std", "mi"]:
                rows[f"{method} by {score}"] = delong(base["sr"], base["out_sr"], found[score], found["out_" + score])
        return rows


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def singles_of(method):
    return ["mean"] if method == "dropout" else ["last", "mean"]


def rows_of():
    names = ["point", "map"] + [n for m in METHODS for n in [*(f"{m}-{how}" for how in singles_of(m)), m]]
    return [n + t for n in names for t in ["", "-T"]]


def numbers_of(e):
    got = {"accuracy": e["accuracy"], "nll": e["nll"], "aurc": e["aurc"]["sr"], "ece": e["ece"]}
    if e["ood"]:
        got["ood_auroc"] = e["ood"]["auroc"]["sr"]
    return got


def placements(inside, out):
    """DeLong: of each inside point the share of out points it beats, of each out point the share that beat it; ties half."""
    def share(a, b):
        b = np.sort(b)
        return (np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")) / (2 * len(b))
    return share(inside, out), 1 - share(out, inside)


def delong(inside_a, out_a, inside_b, out_b):
    """The difference of two AUROCs on the same points: b less a."""
    pairs = [placements(inside_a, out_a), placements(inside_b, out_b)]
    area = [p[0].mean() for p in pairs]
    error = sqrt(sum(((b - a).var(ddof=1)) / len(a) for a, b in zip(*pairs)))
    value = float(area[1] - area[0])
    return {"auroc": float(area[1]), "value": value, "interval": [value - 1.959963984540054 * error, value + 1.959963984540054 * error],
            "p": erfc(abs(value) / error / sqrt(2)) if error else 1.0}


# ---- tables ----

TITLES = {"point": "point", "map": "map", "last": "last member", "mean": "mean of parameters", "": "ensemble"}


def title_of(name):
    method, _, how = name.removesuffix("-T").partition("-")
    title = method if method in TITLES else f"{method}, {TITLES[how]}"
    return title.replace("dropout, mean of parameters", "dropout, no masks") + (" + T" if name.endswith("-T") else "")


def number(x, digits):
    return "-" if x is None else f"{x:.{digits}f}"


def mean(runs, *keys):
    found = [run for run in runs]
    for key in keys:
        found = [run[key] for run in found if key in run]
    return float(np.mean(found)) if found else None


def bold_best(cells, values, higher):
    """The best of a column in bold, ties of what is printed too."""
    known = [v for v in values if v is not None]
    best = cells[values.index(max(known) if higher else min(known))] if known else None
    return [f"**{c}**" if c == best else c for c in cells]


def markdown(heads, columns):
    rows = zip(*columns)
    return "\n".join(["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1), *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def heads_table(closed, half):
    """Every head of one task; means over its networks. closed: runs with all classes; half: runs with unknown points."""
    names = [n for n in rows_of() if not n.endswith("-T")]
    heads, columns = ["head"], [[title_of(n) for n in names]]
    for runs, key, digits, title in [(closed, "accuracy", 4, "accuracy"), (closed, "nll", 4, "NLL"), (closed, "ece", 4, "ECE"),
                                     (closed, "aurc", 5, "AURC"), (half, "ood_auroc", 4, "AUROC")]:
        for ending in ["", "-T"] if runs and key != "accuracy" else [""] if runs else []:
            values = [mean(runs, "numbers", n + ending, key) for n in names]
            heads.append(title + (" + T" if ending else ""))
            columns.append(bold_best([number(v, digits) for v in values], values, key in HIGHER))
    for key, title, scale, digits in [("fit", "fit, s", 1, 2), ("predict", "predict, s", 1, 2), ("bytes", "kB", 1e-3, 1)]:
        # a head taken out of an ensemble costs what the ensemble costs
        whole = [n.split("-")[0] if key == "fit" else n for n in names]
        heads.append(title)
        columns.append([number(mean(closed, "costs", n, key) * scale, digits) for n in whole])
    return markdown(heads, columns)


def words_of(runs, pair, key, word_only=False):
    """Mean difference over networks, the interval where there is one network, and how many networks say better or worse."""
    found = [run["pairs"][pair][key] for run in runs if key in run["pairs"].get(pair, {})]
    if not found:
        return "-"
    better, worse = (sum(d["word"] == w for d in found) for w in ["better", "worse"])
    word = "within noise" if not better and not worse else ", ".join(f"{w} {n} of {len(found)}" for w, n in [("better", better), ("worse", worse)] if n)
    if word_only:
        return word
    low, high = found[0]["interval"]
    return f"{found[0]['value']:+.2g} [{low:+.2g}, {high:+.2g}] {word}"


def pairs_table(tasks, key, pairs):
    """One metric: a row for each task, a column for each pair."""
    kind = "half" if key == "ood_auroc" else "closed"
    rows = [(name, runs[kind]) for name, runs in tasks.items() if runs[kind]]
    return markdown(["task", *(f"{title_of(a)} less {title_of(b)}" for a, b in pairs)],
                    [[name for name, _ in rows], *([words_of(runs, f"{a} / {b}", key) for _, runs in rows] for a, b in pairs)])


def out_table(tasks):
    """Unknowns by what only members have, against the best that a single head has."""
    rows = [(name, runs["half"]) for name, runs in tasks.items() if runs["half"]]
    singles = ["point", "map", "sgd-last"]
    columns = [[name for name, _ in rows]]
    for single in singles:
        values = [mean(runs, "numbers", single, "ood_auroc") for _, runs in rows]
        columns.append([number(v, 4) for v in values])
    scores = [f"{m} by {s}" for m in METHODS for s in ["std", "mi"]]
    for score in scores:
        cells = []
        for _, runs in rows:
            found = [run["out"][f"{score} / sgd-last"] for run in runs]
            cells.append(f"{np.mean([d['auroc'] for d in found]):.4f} ({sum(d['interval'][0] > 0 for d in found)}+ {sum(d['interval'][1] < 0 for d in found)}-)")
        columns.append(cells)
    return markdown(["task", *(title_of(s) + " by sr" for s in singles), *scores], columns)


def page(tasks):
    """tasks: {name: {"closed": [result of each network], "half": [...]}}"""
    text = ["# Ensembles of last layers beside single heads: the numbers", "",
            "Made by `make results ARGS=ensembles`; what they mean is in [ensembles](../ensembles.md). Methods at their defaults (sgd and sgld 100",
            "members, bootstrap 10, dropout 100 masks of rate .5). + T: with a temperature fitted on held-out rows. AURC and AUROC by sr. Seconds of one",
            "processor; a head taken out of an ensemble costs its fit, and one member to keep and to ask. Means over networks; the best of a column in bold.", ""]
    for name, runs in tasks.items():
        text += [f"## {name}", "", f"{len(runs['closed'])} networks." if len(runs["closed"]) > 1 else "One network or one set of features.", "",
                 heads_table(runs["closed"], runs["half"])]
    text += ["# Pairs on the same rows", "",
             "The difference with its 95 % interval is that of seed 0. Better and worse count networks whose p, adjusted by Holm, is below .05."
             " AURC, NLL: less is better.", ""]
    single = [(m, f"{m}-last") for m in METHODS if m != "dropout"] + [("dropout", "dropout-mean")]
    for key, title in METRICS.items():
        questions = {"Over theta*": [("map", "point"), ("sgd-last", "point"), *((m, "point") for m in METHODS)],
                     "What the members add to one of them": single,
                     "What they add to the mean of their parameters": [(m, f"{m}-mean") for m in METHODS if m != "dropout"]}
        if key != "accuracy":
            questions["With a temperature on both sides"] = [("map-T", "point-T"), ("sgd-last-T", "point-T")] + [(a + "-T", b + "-T") for a, b in single]
        for question, pairs in questions.items():
            text += [f"## {title}. {question}", "", pairs_table(tasks, key, pairs)]
    text += ["## Unknowns by the disagreement of members", "",
             "AUROC; in brackets the networks where it is above (+) or below (-) the last member of sgd by sr, a single head, by DeLong's 95 % interval.", "",
             out_table(tasks)]
    return "\n".join(text)
