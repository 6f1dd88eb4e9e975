# SPDX-License-Identifier: MIT
"""evaluate of several files: differences to the first against numpy and scipy, in every form of output."""
import csv
import io
import json

import numpy as np
import samples
from scipy import stats
from tap import case, check, main, run

METHODS = [("point", ()), ("sgd", ("--samples", "5", "--lr", "0.3")), ("bootstrap", ("--samples", "3", "--epochs", "2"))]


def near(found, expected, relative, what, absolute=0.0):
    check(np.allclose(found, expected, rtol=relative, atol=absolute), f"{what}: {found} in place of {expected}")


def predictions():
    samples.make()
    for name, options in METHODS:
        run(*samples.FIT, "--method", name, *options, "-o", "ens.safetensors")
        run("predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "-o", f"{name}.npz")
        run("predict", "ens.safetensors", "--features", "out_features.npy", "-o", f"{name}_out.npz")
    return [f"{name}.npz" for name, _ in METHODS]


def holm(p):
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1)))
    return adjusted


def nll_of(file):
    with np.load(file) as arrays:
        return -arrays["log_true"]


@case
def differences_agree_with_numpy():
    files = predictions()
    found = json.loads(run("evaluate", *files, "--json")[0])
    check(found["by"] == "sr" and [m["name"] for m in found["methods"]] == files, "names")
    check(found["methods"][0]["differences"] is None, "the first differs from itself")
    for file, method in zip(files, found["methods"]):
        check(method["evaluation"] == json.loads(run("evaluate", file, "--json")[0]), f"{file} alone has other numbers")
    others = [m["differences"] for m in found["methods"][1:]]
    for file, d in zip(files[1:], others):
        gap = nll_of(file) - nll_of(files[0])
        test = stats.ttest_1samp(gap, 0)  # its statistic is mean/SE
        near(d["nll"]["value"], gap.mean(), 1e-9, "NLL", 1e-12)
        near(d["nll"]["p"], 2 * stats.norm.sf(abs(test.statistic)), 1e-6, "p of NLL", 1e-12)
        half = 1.959963984540054 * stats.sem(gap)
        near(d["nll"]["interval"], [gap.mean() - half, gap.mean() + half], 1e-6, "interval of NLL", 1e-9)
        check(d["ood_auroc"] is None, "there are no out points")
    for metric in others[0]:
        if others[0][metric] is None:
            continue
        near([d[metric]["p_adjusted"] for d in others], holm([d[metric]["p"] for d in others]), 1e-12, f"Holm of {metric}")
        for d in others:
            less = metric not in ("accuracy", "failure_auroc", "coverage_at_risk")
            word = "within noise" if d[metric]["p_adjusted"] >= 0.05 else "better" if (d[metric]["value"] < 0) == less else "worse"
            check(d[metric]["word"] == word, f"{metric}: {d[metric]}")


def same_shape(value, interval, where):
    """[lo, hi] or None in place of each number, else the same keys and lengths. Returns how many intervals there are."""
    if isinstance(value, dict):
        check(isinstance(interval, dict) and set(interval) == set(value), f"{where}: {interval}")
        return sum(same_shape(value[key], interval[key], f"{where}.{key}") for key in value)
    if isinstance(value, list):
        check(isinstance(interval, list) and len(interval) == len(value), f"{where}: {interval}")
        return sum(same_shape(v, i, f"{where}[{at}]") for at, (v, i) in enumerate(zip(value, interval)))
    if interval is None:
        return 0
    check(isinstance(interval, list) and len(interval) == 2 and interval[0] <= value <= interval[1], f"{where}: {value} in {interval}")
    return 1


@case
def intervals_are_the_same_tree():
    predictions()
    for more, least in (((), 20), (("--per-class",), 30), (("--ood", "bootstrap_out.npz", "--interval", "0.9"), 30)):
        found = json.loads(run("evaluate", "bootstrap.npz", *more, "--json")[0])
        values = {key: found[key] for key in found if key not in ("intervals", "options", "rules")}
        for key in ("ece", "coverage_at_risk"):  # by resampling, so that the value may be outside in a small sample
            values.pop(key), found["intervals"].pop(key)
        if values["ood"]:
            values["ood"].pop("fpr95"), found["intervals"]["ood"].pop("fpr95")
        count = same_shape(values, found["intervals"], "")
        check(count >= least, f"{more}: {count} intervals")
    found = json.loads(run("evaluate", "bootstrap.npz", "--per-class", "--json")[0])
    for row, interval in zip(found["per_class"]["classes"], found["intervals"]["per_class"]["classes"]):
        expected = stats.binomtest(row["right"], row["n"]).proportion_ci(0.95, "wilson")
        near(interval["recall"], [expected.low, expected.high], 1e-12, "recall")


@case
def forms_agree():
    files = predictions()
    more = ("--ood", ",".join(f.replace(".npz", "_out.npz") for f in files), "--by", "margin")
    found = json.loads(run("evaluate", *files, *more, "--json")[0])
    rows = list(csv.DictReader(io.StringIO(run("evaluate", *files, *more, "--csv")[0])))
    check(len(rows) == 3 * 10, f"{len(rows)} rows")
    for row in rows:
        method = found["methods"][files.index(row["method"])]
        e, metric = method["evaluation"], row["metric"]
        value = e["ood"][metric[4:]]["margin"] if metric.startswith("ood_") else e[metric]["margin"] if isinstance(e[metric], dict) else e[metric]
        check(float(row["value"]) == value, f"{row}: {value}")
        if method["differences"] is None:
            check(row["difference"] == "" and row["word"] == "", str(row))
            continue
        d = method["differences"][metric]
        check([float(row[k]) for k in ("difference", "difference_lo", "difference_hi", "p", "p_adjusted")]
              == [d["value"], *d["interval"], d["p"], d["p_adjusted"]] and row["word"] == d["word"], f"{row}: {d}")
        first = next(r for r in rows if r["method"] == files[0] and r["metric"] == metric)
        near(d["value"], float(row["value"]) - float(first["value"]), 1e-9, metric, 1e-12)
    page = run("evaluate", *files, *more)[0]
    for words in ("Differences to point.npz", "confidence margin", "within noise", "FPR95", "adjusted p", "Holm"):
        check(words in page, f"no {words}: {page}")
    again = run("evaluate", files[0], files[0])[0]
    check("better" not in again.split("\n\n")[3] and "worse" not in again.split("\n\n")[3], again)


if __name__ == "__main__":
    main()
