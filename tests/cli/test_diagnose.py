# SPDX-License-Identifier: MIT
"""diagnose: the rows and the draws against numpy, the verdict on chains that are right, stuck or repeat, and bad input. The arithmetic of R-hat
and of effective sample sizes is compared with R in tests/metrics."""
import json
import pathlib
import re

import numpy as np

import samples
from tap import case, cases_of, check, fails, main, run
from tensors import tensors

CHAINS = ("--method", "sgld", "--chains", "4", "--samples", "80")


def fit(*more, out="ens.safetensors"):
    return run(*samples.FIT, *more, "-o", out)


def diagnose(*more):
    out, err = run("diagnose", "ens.safetensors", "--features", "test_features.npy", "--json", *more)
    return json.loads(out), err


@case
def rows_and_draws_are_those_of_numpy():
    files = samples.make()
    fit(*CHAINS)
    got, _ = diagnose()
    ens, _ = tensors("ens.safetensors")
    p = samples.softmax(np.einsum("nd,skd->snk", files["test_features"].astype(float), ens["W"].astype(float)) + ens["b"][:, None])
    mean = p.mean(0)
    ordered = np.sort(mean, axis=1)
    nearest = np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[:200]
    check(got["rows"] == 200 and got["among"] == samples.N and got["members"] == 80 and got["chains"] == 4, str(got)[:200])
    check(got["row"] == nearest.tolist(), "other rows than those of smallest margin")
    for worst in got["worst"]:
        draws = p[:, worst["row"], mean[worst["row"]].argmax()]
        check(np.abs(draws - worst["draws"]).max() < 1e-5, f"row {worst['row']}: {np.abs(draws - worst['draws']).max()}")
    ranked = sorted(got["row_rhat"], reverse=True)
    check(got["rhat"]["most"] == ranked[0] and abs(got["rhat"]["median"] - np.median(ranked)) < 1e-12, "the summary of R-hat")
    check(got["above"] == sum(r > got["rhat_limit"] for r in ranked), "rows above the limit")


@case
def threads_do_not_matter():
    samples.make()
    fit(*CHAINS)
    check(diagnose("--threads", "1")[0] == diagnose("--threads", "2")[0], "threads change the diagnosis")


def noisy():
    """Labels that the features hardly tell: the posterior is nearly Gaussian."""
    files = samples.make(n=600)
    rng = np.random.default_rng(3)
    logits = 0.5 * files["features"] @ rng.normal(size=(samples.D, samples.K)) / np.abs(files["features"]).mean()
    np.save("labels.npy", (logits + rng.gumbel(size=logits.shape)).argmax(1))


@case
def hmc_is_well_and_a_short_sgld_is_not():
    noisy()
    _, err = fit("--method", "hmc", "--chains", "4", "--samples", "1600")
    good, said = diagnose()
    check(not good["apart"] and not good["repeating"] and "warning" not in said, f"{good['rhat']} {good['bulk']} {said}")
    check(re.search(r"4 chains on \d+ training rows .* R-hat", err), f"fit does not tell: {err}")
    _, err = fit("--method", "sgld", "--chains", "4", "--samples", "100", "--lr", "0.0001")
    bad, said = diagnose()
    check(bad["apart"] and bad["repeating"], f"{bad['rhat']} {bad['bulk']}")
    for text in (err, said):
        check("have not met" in text and "are worth about" in text and "--method hmc" in text, text)


@case
def one_chain_has_no_rhat():
    samples.make()
    fit("--method", "sgd", "--samples", "20")
    got, _ = diagnose()
    check(got["rhat"] == {"median": None, "most": None} and got["bulk"]["median"] > 0 and not got["apart"], str(got["rhat"]))
    out, _ = run("diagnose", "ens.safetensors", "--features", "test_features.npy")
    check("One chain has no R-hat" in out and "R-hat  " not in out, out)


@cases_of([
    ("no chains", ("--method", "bootstrap", "--samples", "20"), "no chain to diagnose"),
    ("draws", ("--method", "laplace",), "no chain to diagnose"),
    ("short", ("--method", "sgd", "--samples", "15"), "at least 16"),
    ("short chains", ("--method", "sgd", "--samples", "30", "--chains", "2"), "at least 16"),
])
def refused(options, words):
    samples.make()
    fit(*options)
    fails(2, "diagnose", "ens.safetensors", "--features", "test_features.npy", words=words)


@case
def bad_arguments():
    files = samples.make()
    fit(*CHAINS)
    fails(2, "diagnose", "ens.safetensors", words="--features")
    fails(2, "diagnose", "--features", "test_features.npy", words="ENSEMBLE")
    fails(2, "diagnose", "ens.safetensors", "--features", "test_features.npy", "--data", "mnist", words="exclude")
    np.save("narrow.npy", files["test_features"][:, :3])
    fails(5, "diagnose", "ens.safetensors", "--features", "narrow.npy", words="features")


@case
def members_that_all_agree():
    """Equal members are nothing to judge, and no NaN reaches the JSON."""
    samples.make()
    fit("--method", "sgd", "--samples", "20", "--lr", "1e-30")
    out, _ = run("diagnose", "ens.safetensors", "--features", "test_features.npy", "--json")
    check("nan" not in out.lower() and json.loads(out)["bulk"]["median"] is None, out[:300])
    out, _ = run("diagnose", "ens.safetensors", "--features", "test_features.npy")
    check("All members say the same" in out, out)


def line_of(path):
    """The points of a line, in tenths of a pixel: an absolute start, then steps."""
    numbers = np.array([int(n) for n in re.findall(r"-?\d+", path)]).reshape(-1, 2)
    return np.cumsum(numbers, axis=0)[:-1]  # the last step is the end of the path


def is_affine(pixels, values, slack=.5):
    a, b = np.polyfit(values, pixels, 1)
    return a < 0 and np.abs(a * np.asarray(values) + b - pixels).max() < slack  # up is less


@case
def the_page_draws_chains():
    """Lines are the draws, bars their autocorrelation."""
    samples.make()
    fit(*CHAINS)
    got, _ = diagnose()
    pathlib.Path("d.json").write_text(json.dumps(got))
    run("predict", "ens.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "-o", "p.npz")
    run("report", "p.npz", "-o", "without.html")
    check('id="chains"' not in pathlib.Path("without.html").read_text(), "chains without a diagnosis")
    run("report", "p.npz", "d.json", "-o", "r.html")
    page = pathlib.Path("r.html").read_text()
    check('<a href="#chains">' in page and f"above {got['rhat_limit']:.4g} on {got['above']} of 200 rows" in page, "no summary of the chains")
    for t, worst in enumerate(got["worst"]):
        draws = np.array(worst["draws"]).reshape(4, 20)
        svg = page.split(f'id="svg-trace-0-{t}"')[1].split("</svg>")[0]
        check(f"p(label), row {worst['row']}<" in svg, svg[:500])
        lines = [line_of(path) / 10 for path in re.findall(r'<path class="s k\d" transform="scale\(.1\)" d="([^"]*)"', svg)]
        check(len(lines) == 4, f"{len(lines)} lines")
        x = np.linspace(lines[0][0, 0], lines[0][-1, 0], 20)  # points on a straight line are left out
        check(is_affine(np.concatenate([np.interp(x, *line.T) for line in lines]), draws.ravel()), f"row {worst['row']} is not what is drawn")
        svg = page.split(f'id="svg-correlation-0-{t}"')[1].split("</svg>")[0]
        bars = np.array([[float(n) for n in bar] for bar in re.findall(r'<rect class="bar[^"]*" x="[^"]*" y="([^"]*)" width="[^"]*" height="([^"]*)"', svg)])
        centred = draws - draws.mean(1, keepdims=True)
        rho = np.array([(centred[:, lag:] * centred[:, :20 - lag]).sum() for lag in range(11)]) / (centred**2).sum()
        check(len(bars) == 11, f"{len(bars)} bars")
        check(is_affine(np.where(rho >= 0, bars[:, 0], bars.sum(1)), rho), f"row {worst['row']}: other correlations than those of numpy")
    csv = page.split('id="fig-chains-0"')[1].split("<pre")[1].split("</pre>")[0]
    check(f"sgld,{got['worst'][0]['row']},3,20,{got['worst'][0]['draws'][-1]!r}" in csv, csv[:300])


@case
def kept_in_the_ensemble():
    """--save changes no number of the ensemble, and the page has the same chains as with the JSON."""
    samples.make()
    fit(*CHAINS)
    before, _ = tensors("ens.safetensors")
    test = ("--features", "test_features.npy", "--labels", "test_labels.npy")
    run("predict", "ens.safetensors", *test, "-o", "p.npz")
    got, _ = diagnose("--save")
    after, meta = tensors("ens.safetensors")
    check(json.loads(meta["diagnosis"]) == got and all(np.array_equal(before[name], after[name]) for name in before), "other members than before")
    run("predict", "ens.safetensors", *test, "-o", "again.npz")
    check(pathlib.Path("p.npz").read_bytes() == pathlib.Path("again.npz").read_bytes(), "the diagnosis changes predictions")
    pathlib.Path("ens.json").write_text(json.dumps(got))
    pages = []
    for file, names in (("ens.safetensors", ()), ("ens.json", ("--names", "p,ens"))):
        run("report", "p.npz", file, *names, "-o", "r.html")
        pages.append(pathlib.Path("r.html").read_text().split('id="chains"')[1].split("</section>")[0])
    check(pages[0] == pages[1] and "trace-0-0" in pages[0], "another figure than that of the JSON")
    check(diagnose("--save")[0] == got, "a second diagnosis is another")


@cases_of([
    ("no method", {"method": None}),
    ("too many chains", {"chains": 81}),
    ("no chains", {"chains": 0}),
    ("chains too short", {"members": 4}),
    ("chains of no length", {"members": 82}),
    ("more above than there are", {"above": 201}),
    ("more rows than there were", {"among": 3}),
    ("no limit", {"rhat_limit": "high"}),
    ("a negative R-hat", {"rhat": {"median": -1, "most": 2}}),
    ("no bulk", {"bulk": {}}),
    ("no draws", {"worst": [{"row": 1}]}),
    ("too few draws", {"worst": [{"row": 1, "draws": [0.5] * 79}]}),
    ("a draw above 1", {"worst": [{"row": 1, "draws": [0.5] * 79 + [1.5]}]}),
    ("a draw that is a text", {"worst": [{"row": 1, "draws": [0.5] * 79 + ["<b>"]}]}),
    ("a row below 0", {"worst": [{"row": -1, "draws": [0.5] * 80}]}),
    ("too many rows", {"worst": [{"row": 1, "draws": [0.5] * 80}] * 17}),
])
def a_damaged_diagnosis_is_refused(change):
    samples.make()
    one = {"method": "sgld", "members": 80, "chains": 4, "rows": 200, "among": 300, "above": 3, "rhat_limit": 1.1, "rhat": {"median": 1, "most": 1.2},
           "bulk": {"median": 50, "least": 20}, "tail": {"median": 50, "least": 20}, "apart": False, "repeating": False,
           "worst": [{"row": 1, "draws": [0.5] * 80}]}
    fit("--method", "point")
    run("predict", "ens.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "-o", "p.npz")
    pathlib.Path("d.json").write_text(json.dumps({**one, "method": "<b>&"}))
    run("report", "p.npz", "d.json", "-o", "r.html")
    page = pathlib.Path("r.html").read_text()
    check("&lt;b&gt;&amp;: 80 members of 4 chains" in page and "<b>&" not in page and "nan" not in page.split('id="chains"')[1].split("</section>")[0], "hostile name")
    check("All members of a chain say the same." in page, "equal draws")
    pathlib.Path("d.json").write_text(json.dumps({**one, **change}))
    fails(4, "report", "p.npz", "d.json", "-o", "r.html", words="d.json is not a whole diagnosis; expected what lastlayer diagnose --json prints")
    fails(2, "report", "ens.safetensors", "-o", "r.html", words="is an ensemble; a report needs predictions")


main()
