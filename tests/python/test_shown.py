#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What results show in a notebook: tables with intervals, the recommendation, the page in a frame, figures, frames of pandas and polars.
Cases that need a package which is not here are skipped; make check-python has them all.
"""
import html
import html.parser
import importlib.util
import pathlib
import sys

import numpy as np

import lastlayer as ll

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import samples  # noqa: E402
from tap import Skip, case, check, main  # noqa: E402

VOID = {"br"}


class Page(html.parser.HTMLParser):
    """Tables as lists of rows of texts; complains of elements that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.words = [], [], []
        self.feed(text)
        self.close()
        check(not self.open, f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        check(tag != "script", "a script")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag):
        check(self.open and self.open.pop() == tag, f"</{tag}> closes something else")

    def handle_data(self, data):
        self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data


def world():
    made = samples.make(n=600)
    ensemble = ll.fit(made["features"], made["labels"], samples=5)
    ensemble.class_names = ["<ant>", "bee", "cat"]
    return made, ensemble.predict(made["test_features"], made["test_labels"])


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise Skip(f"no {', '.join(missing)}")


@case
def an_evaluation_is_a_table_with_intervals():
    _, points = world()
    e = points.evaluate()
    page = Page(e._repr_html_())
    names, numbers = page.tables[0]
    shown = dict(zip(names, numbers))
    value, interval = shown["accuracy"].split(" ", 1)
    check(abs(float(value) - e.accuracy) < 1e-5, shown["accuracy"])
    lo, hi = (float(x) for x in interval.strip("[]").split(", "))
    check(abs(lo - e.intervals["accuracy"][0]) < 1e-3 and abs(hi - e.intervals["accuracy"][1]) < 1e-3, shown["accuracy"])
    by = {row[0]: row for row in page.tables[1][1:]}
    check(set(by) >= {"sr", "std", "hq"} and by["sr"][1].startswith(f"{e.aurc['sr']:.5g}"[:6]) and "[" in by["sr"][1], f"{by}")


@case
def a_comparison_begins_with_what_it_recommends():
    made, _ = world()
    c = ll.compare(made["features"], made["labels"], made["test_features"], made["test_labels"], samples=3, epochs=1)
    page = Page(c._repr_html_())
    check(page.words[0] == f"Recommended: {c.recommendation['name']}.", page.words[0])
    rows = {row[1]: row for row in page.tables[0][1:]}
    check(list(rows) == [row["name"] for row in c.methods], f"{list(rows)}")
    check([row[0] for row in rows.values() if row[0]] == ["point", "ensembles", "Gaussian", "samplers"], "the groups")
    check(all("[" in row[4] and "]" in row[4] for row in rows.values()), "no intervals of the accuracy")
    differences = {row[0]: row for row in page.tables[1][1:]}
    words = {"better", "worse", "within noise"}
    check(all(any(word in cell for word in words) for row in differences.values() for cell in row[1:]), f"{differences}")


@case
def results_without_a_table_show_their_text():
    made, points = world()
    for result in (points.certify(risk=0.2), points.threshold(risk=0.2), points.threshold(risk=1e-9), ll.sets(points, calibration=points),
                   ll.calibrate(logits=made["test_logits"], labels=made["test_labels"])):
        page = Page(result._repr_html_())
        check(" ".join("".join(page.words).split()) == " ".join(str(result).split()), f"{type(result)}: {page.words}")
    Page(ll.contrast({"a<b": points, "b": points})._repr_html_())


@case
def predictions_name_their_classes_and_escape_them():
    made, points = world()
    text = points._repr_html_()
    table = Page(text).tables[0]
    column = table[0].index("label")
    names = ["<ant>", "bee", "cat"]
    check([row[column] for row in table[1:]] == [names[k] for k in points.label[:5]] and "<ant>" not in text, f"{table}")


@case
def the_report_is_a_frame_around_the_page():
    _, points = world()
    report = points.report(title='a "title" & <more>')
    frame = Page(report._repr_html_())
    check(frame.tables == [], "the page leaks out of its frame")
    source = report._repr_html_().split('srcdoc="')[1].split('"')[0]
    check(html.unescape(source) == report.html, "the frame holds another page")


@case
def records_have_each_number_with_its_interval():
    made, points = world()
    e = points.evaluate()
    rows = {(row["metric"], row["of"]): row for row in e.records()}
    check(rows["accuracy", None]["value"] == e.accuracy and [rows["aurc", "sr"][x] for x in ("lo", "hi")] == e.intervals["aurc"]["sr"], f"{rows}")
    c = ll.compare(made["features"], made["labels"], made["test_features"], made["test_labels"], samples=3, epochs=1)
    for row in c.records():
        of = next(one for one in c.methods if one["name"] == row["method"])
        value = of["evaluation"][row["metric"]]
        check(row["value"] == (value["sr"] if isinstance(value, dict) else value), f"{row}")
        if of["difference"] and row["metric"] in of["difference"]:
            check(row["difference"] == of["difference"][row["metric"]]["value"] and row["word"] == of["difference"][row["metric"]]["word"], f"{row}")
    twice = ll.contrast({"a": points, "b": points}).records()
    check({row["method"] for row in twice} == {"a", "b"} and twice[-1]["difference"] == 0, f"{twice}")


@case
def frames_of_pandas():
    needs("pandas")
    made, points = world()
    frame = points.to_pandas()
    check(len(frame) == len(points) and np.array_equal(frame["sr"], points.sr) and "probs" not in frame, f"{frame.columns}")
    table = points.evaluate().to_pandas()
    check(list(table.columns) == ["metric", "of", "value", "lo", "hi"] and table["value"].dtype == float, f"{table.dtypes}")
    c = ll.compare(made["features"], made["labels"], made["test_features"], made["test_labels"], samples=3, epochs=1).to_pandas()
    wide = c.pivot(index="method", columns="metric", values="value")
    check(wide.loc["point", "accuracy"] > 0.5, f"{wide}")


@case
def frames_of_polars():
    needs("polars")
    _, points = world()
    frame = points.to_polars()
    check(frame.shape[0] == len(points) and np.array_equal(frame["sr"].to_numpy(), points.sr), f"{frame}")
    check(points.evaluate().to_polars().columns == ["metric", "of", "value", "lo", "hi"], "columns")


@case
def figures_of_matplotlib():
    _, points = world()
    if importlib.util.find_spec("matplotlib") is None:
        try:
            points.plot_reliability()
        except ImportError as why:
            check("pip install matplotlib" in str(why), str(why))
            raise Skip("no matplotlib; the sentence says so") from None
        raise AssertionError("no ImportError")
    import matplotlib

    matplotlib.use("agg")
    _, coverage, risk = points.risk_coverage("std")
    axes = points.plot_risk_coverage("std")
    x, y = axes.lines[0].get_data()
    check(np.array_equal(x, coverage) and np.array_equal(y, risk), "another curve")
    check(points.plot_risk_coverage(ax=axes) is axes and len(axes.lines) == 2, "the axes were not used")
    axes = points.plot_reliability()
    bins = [one for one in points.evaluate(interval=0).bins if one["n"]]
    check([patch.get_height() for patch in axes.patches] == [one["accuracy"] for one in bins], "other bins")
    axes = points.plot_confidence("sr")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    wrong = int(np.sum(points.label != points.truth))
    check(labels == [f"right ({600 - wrong})", f"wrong ({wrong})"], f"{labels}")
    axes.figure.savefig("figure.png")
    check(pathlib.Path("figure.png").stat().st_size > 1000, "no figure")


main()
