# SPDX-License-Identifier: MIT
"""The command that writes the page, as far as no browser is needed: what it refuses, and what it puts in."""
import csv
import html
import json
import pathlib
import re
import zipfile

import numpy as np
import samples
from tap import case, cases_of, check, fails, main, run


def prepare():
    files = samples.make()
    run(*samples.FIT, "--method", "sgd", "--samples", "5", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "--members", "4,1", "-o", "pred.npz")
    run("predict", "ens.safetensors", "--features", "test_features.npy", "-o", "bare.npz")
    np.save("images.npy", np.zeros((samples.N, 5, 4), np.uint8))
    return files


@cases_of([
    ("nothing", [], 2, "nothing to report on"),
    ("two sources", ["pred.npz", "--probs", "probs.npy"], 2, "expected one of PREDICTIONS, --probs and --logits"),
    ("no output", ["pred.npz"], 2, "--output is missing"),
    ("outputs without labels", ["--probs", "probs.npy", "-o", "r.html"], 2, "--probs needs --labels"),
    ("no truth", ["bare.npz", "-o", "r.html"], 2, "holds no true labels"),
    ("only an ensemble", ["ens.safetensors", "-o", "r.html"], 2, "needs predictions"),
    ("output is input", ["pred.npz", "-o", "pred.npz"], 2, "is also the input"),
    ("output is the images", ["pred.npz", "--images", "images.npy", "-o", "images.npy"], 2, "is also the input"),
    ("too few names", ["pred.npz", "pred.npz", "--names", "a", "-o", "r.html"], 2, "--names has 1 entries; expected 2"),
    ("too many names", ["pred.npz", "--names", "a,b", "-o", "r.html"], 2, "--names has 2 entries; expected 1"),
    ("missing file", ["no.npz", "-o", "r.html"], 3, "no.npz"),
    ("missing class names", ["pred.npz", "--class-names", "no.txt", "-o", "r.html"], 3, "no.txt"),
    ("not predictions", ["features.npy", "-o", "r.html"], 5, "holds no predictions"),
    ("class names too short", ["pred.npz", "--class-names", "two.txt", "-o", "r.html"], 5, "two.txt has 2 lines; expected 3"),
    ("class names not text", ["pred.npz", "--class-names", "features.npy", "-o", "r.html"], 4, "is not a text file"),
    ("images of floats", ["pred.npz", "--images", "features.npy", "-o", "r.html"], 5, "expected u8 [N,H,W]"),
    ("too few images", ["pred.npz", "--images", "few.npy", "-o", "r.html"], 5, "there are 3 images"),
    ("no such folder", ["pred.npz", "-o", "no/r.html"], 6, "folder does not exist"),
    ("seventeen files", ["pred.npz"] * 17 + ["-o", "r.html"], 2, "at most 16 files"),
])
def refuses(arguments, code, words):
    prepare()
    pathlib.Path("two.txt").write_text("one\ntwo\n")
    np.save("few.npy", np.zeros((3, 5, 4), np.uint8))
    fails(code, "report", *arguments, words=words)


@case
def what_the_page_says():
    prepare()
    run("report", "pred.npz", "ens.safetensors", "--names", "mine", "--title", "It's <b>", "--images", "images.npy", "-o", "r.html")
    page = pathlib.Path("r.html").read_text()
    check("It&#39;s &lt;b&gt;</h1>" in page and "<b>&lt;" not in page, "the title is not escaped")
    command = re.search(r'<pre id="command">(.*?)</pre>', page).group(1)
    check(command == "lastlayer report pred.npz ens.safetensors --names mine --title &#39;It&#39;\\&#39;&#39;s &lt;b&gt;&#39; --images images.npy -o r.html", command)
    for key in ["version", "seed", "features_sha256", "labels_sha256", "method", "lr"]:
        check(page.count(f"<dt>{key}</dt>") == 2, f"provenance has {page.count(f'<dt>{key}</dt>')} times {key}")
    for id in ["svg-members-0-0", "svg-members-0-1", "svg-running-nll"]:
        check(f'id="{id}"' in page, f"no {id}")
    check("row 4: answer" in page and "row 1: answer" in page, "the rows of --members are lost")
    outside = set(re.findall(r"https?://[^\"'\s<)]+", page)) - {"http://www.w3.org/2000/svg"}
    check(not outside, f"the page names {outside}")
    again = page
    run("report", "pred.npz", "ens.safetensors", "--names", "mine", "--title", "It's <b>", "--images", "images.npy", "-o", "r.html")
    check(pathlib.Path("r.html").read_text() == again, "the same inputs give another page")


@case
def compare_writes_what_report_reads():
    samples.make()
    words = ["compare", *samples.FIT[1:], "--test-features", "test_features.npy", "--test-labels", "test_labels.npy", "--samples", "4", "--epochs", "2"]
    run(*words, "--predictions", "folder", "--members", "3,4,5,6,7")
    names = ["point", "sgd", "sgld", "bootstrap", "dropout"]
    for name in names:
        run(*samples.FIT, "--method", name, "--samples", "1" if name == "point" else "4", "--epochs", "2", "-o", "e.safetensors")
        run("predict", "e.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "--members", "3:8", "-o", "one.npz")
        all_rows, half = np.load("one.npz"), np.load(f"folder/{name}.npz")
        kept = np.isin(np.arange(3, 8), half["row"])
        for array in all_rows.files:
            rows = kept if array.startswith("member_") else half["row"]
            expected = all_rows[array][rows] if array != "running" else None
            if array == "member_row":
                expected = np.array([half["row"].tolist().index(r) for r in expected])
            check(expected is None or np.array_equal(expected, half[array]), f"{name}: compare and predict write different {array}")
    run("report", *[f"folder/{name}.npz" for name in names], "-o", "r.html")
    page = pathlib.Path("r.html").read_text()
    for name in names:
        check(f"<option value=\"{names.index(name)}\"" in page and f">{name}</option>" in page, f"{name} is not at the desk")
    fails(2, *words, "--members", "3", words="--members belongs to --predictions")


def comment(path):
    return json.loads(zipfile.ZipFile(path).comment)


@case
def what_compare_recommends():
    """Terminal, JSON and page say the same; the files hold the rows that report, and no others."""
    prepare()
    compare = ["compare", "--features", "features.npy", "--labels", "labels.npy", "--head", "head.npz", "--test-features", "test_features.npy",
               "--test-labels", "test_labels.npy", "--samples", 5, "--epochs", 2]
    out, _ = run(*compare, "--predictions", "half", "--members", f"0:{samples.N}", "--json")
    terminal, _ = run(*compare)
    made = json.loads(out)
    best = made["recommendation"]
    files = [f"half/{row['name']}.npz" for row in made["methods"]]
    all_rows = np.load("test_labels.npy")
    for file, row in zip(files, made["methods"]):
        p, e = np.load(file), row["evaluation"]
        n = samples.N - samples.N // 2
        check(len(p["label"]) == n == e["n"] and len(set(p["row"])) == n, f"{file} has {len(p['label'])} rows, the table is of {e['n']}")
        check(np.array_equal(p["truth"], all_rows[p["row"]]), "row does not say which row it is")
        check(np.array_equal(p["member_row"], np.arange(n)[np.argsort(p["row"])]), "members are not those of the rows that report")
        check(np.array_equal(p["member_label"][:, 0] == p["label"][p["member_row"]], np.ones(n, bool)) or p["member_label"].shape[1] > 1, "members")
        again, _ = run("evaluate", file, "--risk", made["risk"], "--json")
        check(json.loads(again)["accuracy"] == e["accuracy"] and json.loads(again)["aurc"] == e["aurc"], f"{file} is not what the table shows")
        meta = comment(file)
        check(meta["recommended"] == best["name"] and best["text"] == f"Recommended: {meta['recommended']}. {meta['recommendation']}", meta)
        check(meta["chosen_on"] == "half of the test rows", meta)
    check(best["text"] in terminal, terminal)
    run("report", *files, "--images", "images.npy", "-o", "r.html")
    page = html.unescape(pathlib.Path("r.html").read_text())
    card = re.search(r'id="recommendation">.*?</div>', page).group(0)
    check(f'<p class="big">{best["name"]}</p><p>{meta["recommendation"]}</p>' in card, card)
    scores = page.split('id="table-scores"')[1].split("</table>")[0]
    for row in made["methods"]:
        check(re.search(rf'<td>{re.escape(row["name"])}</td>.*<td>{row["group"]}</td><td class="n" data-v="{row["bytes"]}">', scores), f"{row['name']}: no group, no bytes")
    row = [r["name"] for r in made["methods"]].index(best["name"])
    check(re.search(rf'<option value="{row}" selected>', page), "the desk does not begin with the recommended method")
    run("report", *files, "pred.npz", "-o", "r.html")  # one that was not compared
    check('id="recommendation"' not in pathlib.Path("r.html").read_text(), "a recommendation among others than these methods")
    fails(5, "report", *files, "pred.npz", "--images", "images.npy", "-o", "r.html", words="hold different rows")
    np.save("few.npy", np.zeros((samples.N // 2, 5, 4), np.uint8))
    fails(5, "report", *files, "--images", "few.npy", "-o", "r.html", words="row numbers beyond")
    val = ["--val-features", "features.npy", "--val-labels", "labels.npy"]
    run(*compare, *val, "--predictions", "whole")
    check(len(np.load("whole/point.npz")["label"]) == samples.N and "row" not in np.load("whole/point.npz").files, "test rows that do not choose are missing")


def csv_of(page, figure):
    """The hidden CSV of a figure: list of rows, the heading first."""
    body = page.split(f'<figure id="{figure}"')[1].split("</figure>")[0]
    check('class="copy" data-csv="all"' in body, f"{figure} has no button")
    return list(csv.reader(html.unescape(re.search(r'<pre class="csv" hidden>\n(.*?)</pre>', body, re.S).group(1)).splitlines()))


@case
def numbers_behind_the_figures():
    """What the buttons copy, against numpy."""
    prepare()
    run("predict", "ens.safetensors", "--features", "out_features.npy", "-o", "out.npz")
    name = 'a "quoted", <name>'
    run("report", "pred.npz", "--ood", "out.npz", "--names", name.replace(",", ";"), "-o", "r.html")
    name = name.replace(",", ";")
    page, p, q = pathlib.Path("r.html").read_text(), np.load("pred.npz"), np.load("out.npz")
    wrong = p["label"] != p["truth"]
    rows = csv_of(page, "fig-histograms")
    check(rows[0] == ["method", "confidence", "from", "to", "share_of_right", "share_of_wrong"] and len(rows) == 81, rows[:2])
    for by, sign in ("sr", 1), ("std", -1):
        mine = np.array([r[2:] for r in rows[1:] if r[1] == by and r[0] == name], float)
        top = mine[-1, 1]
        check(len(mine) == 40 and abs(top - (1 if by == "sr" else (-p["std"]).max())) < 1e-12, f"{by}: {top}")
        place = np.minimum((sign * p[by] / top * 40).astype(int), 39)
        for column, kind in ((2, ~wrong), (3, wrong)):
            check(np.allclose(mine[:, column], np.bincount(place[kind], minlength=40) / kind.sum(), atol=1e-12), f"{by} {column}")
    rows = csv_of(page, "fig-running")
    check(np.allclose(np.array([r[1:] for r in rows[1:]], float)[:, 1:], p["running"], rtol=1e-15) and len(rows) == 6, rows)
    rows = csv_of(page, "fig-ood-curves")
    known, unknown = p["sr"], q["sr"]
    mine = np.array([r[3:] for r in rows[1:] if r[0] == "roc" and r[2] == "sr"], float)
    cuts = np.unique(np.concatenate([known, unknown, [np.inf]]))
    curve = {(float((unknown >= c).mean()), float((known >= c).mean())) for c in cuts}
    check(5 < len(mine) <= 52 and all(any(abs(x - a) + abs(y - b) < 1e-12 for a, b in curve) for x, y in mine), f"{len(mine)} points are not on the ROC")
    check({r[0] for r in rows[1:]} == {"roc", "precision_recall_in", "precision_recall_out"} and {r[2] for r in rows[1:]} == {"sr", "std", "hq"}, "curves")
    rows = csv_of(page, "fig-ood-scores")
    check(abs(sum(float(r[4]) for r in rows[1:]) - 1) < 1e-9 and abs(sum(float(r[5]) for r in rows[1:]) - 1) < 1e-9, "histograms of scores")


@case
def an_evaluation_read_back():
    """The JSON of evaluate beside predictions: the same numbers in the tables, the rules of its own options, no curves."""
    prepare()
    run("predict", "ens.safetensors", "--features", "out_features.npy", "-o", "out.npz")
    for name, more in ("plain", []), ("odd", ["--ood", "out.npz", "--bins", "7", "--edges", "right", "--aupr", "trapezoid"]):
        pathlib.Path(name + ".json").write_text(run("evaluate", "pred.npz", *more, "--json")[0])
    run("report", "plain.json", "pred.npz", "odd.json", "-o", "both.html")
    page = pathlib.Path("both.html").read_text()
    rows = {}
    for table in ("table-scores", "table-selective"):
        body = page.split(f'id="{table}"')[1].split("</table>")[0]
        for row in re.findall(r"<tr>(.*?)</tr>", body.split("<tbody>")[1], re.S):
            cells = re.findall(r"<td([^>]*)>(.*?)</td>", row, re.S)
            rows.setdefault((table, cells[0][1]), []).append(["" if "data-v" not in a else a for a, _ in cells[2:]])
    check(rows["table-scores", "plain"][0][1:] == rows["table-scores", "sgd"][0][1:], rows["table-scores", "plain"])
    check(rows["table-selective", "plain"] == rows["table-selective", "sgd"], "selective")
    check(len(re.findall(r'id="svg-reliability-\d+"', page)) == 3 and 'id="svg-histogram-1-sr"' in page and 'id="svg-histogram-0-sr"' not in page, "figures")
    run("report", "odd.json", "-o", "alone.html")
    page = pathlib.Path("alone.html").read_text()
    check("7 equal-width bins (a,b]" in page and "trapezoids" in page and 'href="#desk"' not in page and "no cut" not in page, "the page of one evaluation")
    for target in re.findall(r'href="#([a-z]+)"', page):
        check(f'id="{target}"' in page, f"a link to #{target}, which is not there")
    pathlib.Path("bad.json").write_text('{"n": 3}')
    fails(4, "report", "bad.json", "-o", "r.html", words=["bad.json is not an evaluation"])
    pathlib.Path("worse.json").write_text('{"n": ')
    fails(4, "report", "worse.json", "-o", "r.html", words=["worse.json: not JSON"])
    fails(2, "report", "plain.json", "--ood", "out.npz", "-o", "r.html", words=["is an evaluation"])
    fails(2, "report", "plain.json", "--labels", "test_labels.npy", "-o", "r.html", words=["--labels belongs to points"])
    fails(2, "report", "plain.json", "--images", "x.npy", "-o", "r.html", words=["--images belongs to points"])


def change_bin(key, value):
    def change(e):
        e["bins"][3][key] = value
    return change


@cases_of([
    ("bins are a text", lambda e: e.update(bins="x")),
    ("no bins", lambda e: e.pop("bins")),
    ("AURC is a list", lambda e: e.update(aurc=[1, 2])),
    ("AURC is a text", lambda e: e["aurc"].update(sr="low")),
    ("AURC above 1", lambda e: e["aurc"].update(std=1.5)),
    ("huge accuracy", lambda e: e.update(accuracy=5e300)),
    ("accuracy of other errors", lambda e: e.update(accuracy=e["accuracy"] / 2)),
    ("a bin upside down", change_bin("lo", 0.9)),
    ("a bin of too many points", change_bin("n", 10 ** 6)),
    ("accuracy of a bin", change_bin("accuracy", 2)),
    ("points", lambda e: e.update(n=2 ** 60, errors=0, accuracy=1)),
    ("classes", lambda e: e.update(classes=10 ** 15)),
    ("NLL is a text", lambda e: e.update(nll="x")),
])
def an_evaluation_of_nonsense(change):
    prepare()
    made = json.loads(run("evaluate", "pred.npz", "--json")[0])
    pathlib.Path("e.json").write_text(json.dumps(made))
    run("report", "e.json", "-o", "r.html")
    pathlib.Path("r.html").unlink()
    change(made)
    pathlib.Path("e.json").write_text(json.dumps(made))
    fails(4, "report", "e.json", "-o", "r.html", words=["e.json is not an evaluation"])


@cases_of([(" ".join(more), more, rule, words) for more, rule, words in (
    (("--edges", "mass"), "ece", "at most 10 bins of equally many points"),
    (("--compat", "brosse"), "brier", "divided by K"),
    (("--classifier", "votes"), "accuracy", "votes"),
    (("--bins", "1000"), "ece", "1000 equal-width bins"),
)])
def an_evaluation_of_any_options(more, rule, words):
    """The page says by which rule it was made, and shows its numbers."""
    prepare()
    made = json.loads(run("evaluate", "pred.npz", *more, "--json")[0])
    pathlib.Path("e.json").write_text(json.dumps(made))
    run("report", "e.json", "-o", "r.html")
    page = pathlib.Path("r.html").read_text()
    check(words in made["rules"][rule] and html.escape(made["rules"][rule]).replace("&#x27;", "&#39;") in page, f"the page does not say: {made['rules'][rule]}")
    scores = page.split('id="table-scores"')[1].split("</table>")[0]
    numbers = [float(x) for x in re.findall(r'data-v="([^"]+)"', scores.split("<tbody>")[1])]
    best = min(x for x in made["min_aurc"].values() if isinstance(x, float)) if isinstance(made["min_aurc"], dict) else made["min_aurc"]
    check(numbers[1:] == [made[key] for key in ("n", "errors", "accuracy", "nll", "brier", "ece", "mce")] + [best], f"{numbers} for {made}")


if __name__ == "__main__":
    main()
