# SPDX-License-Identifier: MIT
"""The page in a real browser. What it shows is compared with numpy on the same predictions, and with evaluate --json."""
import json
import os
import pathlib
import re
import sys
import time
import xml.etree.ElementTree

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import devtools
from tap import Skip, case, check, fails, main, run

CONFIDENCES = ["sr", "std", "hq", "maxmin", "entropy", "mi", "margin"]
HOSTILE = ["<script>window.hacked=1</script>", "\"><img src=x onerror=window.hacked=1>", "'; window.hacked=1; '", "</script><script>window.hacked=1</script>",
           "</style><b>", "&lt;&amp;", "日本語 ñ é 🙂", "x" * 4000, "<!-- ", "]]>"]
browser = None


def start():
    global browser
    if not devtools.find():
        raise Skip("no chromium: tools/setup check installs it")
    if browser is None:
        browser = devtools.Browser()


def outputs(n, k, s, seed=0, noise=1.5):
    """Probabilities [S,N,K] of members that are often right, and the labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    logits = 3.0 * np.eye(k)[y] + noise * rng.standard_normal((n, k)) + 0.7 * rng.standard_normal((s, n, k))
    p = np.exp(logits - logits.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True), y


def write_predictions(name, n, k, s, seed=0, rows=(), **more):
    """A predictions file as predict writes it, made by numpy."""
    p, y = outputs(n, k, s, seed, **more)
    mean = p.mean(0)
    label = mean.argmax(1)
    own = p[:, np.arange(n), label]
    arrays = {"probs": mean.astype(np.float32), "label": label.astype(np.int32), "truth": y.astype(np.int32), "sr": mean.max(1),
              "entropy": (mean * np.log(mean)).sum(1)}
    top = -np.sort(-mean)
    arrays["margin"] = top[:, 0] - top[:, 1]
    if s > 1:
        votes = np.stack([(p.argmax(-1) == c).mean(0) for c in range(k)], 1)
        arrays["std"] = -own.std(0)
        arrays["maxmin"] = own.min(0) - own.max(0)
        arrays["mi"] = arrays["entropy"] - (p * np.log(p)).sum(-1).mean(0)
        arrays["hq"] = np.where(votes > 0, votes * np.log(np.maximum(votes, 1e-300)), 0).sum(1)
    running = [(p[:i + 1].mean(0)) for i in range(s)]
    arrays["running"] = np.array([[(m.argmax(1) == y).mean(), -np.log(m[np.arange(n), y]).mean(), ((m - np.eye(k)[y]) ** 2).sum(1).mean()] for m in running])
    if len(rows):
        arrays.update(member_pmax=p.max(-1)[:, rows].T.astype(np.float32).copy(), member_label=p.argmax(-1)[:, rows].T.astype(np.int32).copy(),
                      member_row=np.array(rows, np.int64))
    np.savez(name, **arrays)
    return arrays


def at_coverage(conf, wrong, coverage):
    """Threshold, answered, errors: the smallest attainable coverage that is not below; ties fall together."""
    n = len(conf)
    for cut in np.unique(conf)[::-1]:
        kept = conf >= cut
        if kept.sum() / n >= coverage:
            break
    return cut, int(kept.sum()), int((kept & wrong).sum()), kept


def open_page(path="report.html", **size):
    browser.open(path, **size)
    check(browser.problems == [], f"the page complains: {browser.problems}")
    strange = [url for url in browser.requests if not url.startswith(("file://", "data:"))]
    check(not strange and sum(url.startswith("file://") for url in browser.requests) == 1, f"requests left the page: {strange}")


def desk():
    text = browser.run("""Object.fromEntries(['answered','error','handed','avoided','accuracy','kept','threshold','name'].map(
        k => [k, document.getElementById('desk-' + k).textContent]))""")
    return {k: v.replace("\u00a0", " ").replace("\u202f", "") for k, v in text.items()}


def move(coverage):
    browser.run(f"""(() => {{ const s = document.getElementById('desk-coverage'); s.value = {round(1000 * coverage)};
        s.dispatchEvent(new Event('input', {{bubbles: true}})); }})()""")


def pick(id, value):
    browser.run(f"""(() => {{ const s = document.getElementById('{id}'); s.value = '{value}'; s.dispatchEvent(new Event('change', {{bubbles: true}})); }})()""")


def figures_are_not_empty():
    empty = browser.run("""[...document.querySelectorAll('main svg[role=img]')].filter(s => {
        const b = s.getBBox(); return b.width < 50 || b.height < 50 || !s.querySelector('title').textContent || !s.querySelector('desc').textContent
            || !s.querySelector('path.s, path.right, rect, circle') }).map(s => s.id)""")
    check(empty == [], f"empty figures: {empty}")
    broken = browser.run("[...document.querySelectorAll('path')].filter(p => /NaN|inf/i.test(p.getAttribute('d'))).length")
    check(broken == 0, f"{broken} broken paths")
    return browser.run("[...document.querySelectorAll('main svg[role=img]')].map(s => s.id)")


@case
def the_desk_computes_what_numpy_computes():
    start()
    rows = [3, 17]
    a = write_predictions("a.npz", 3000, 5, 6, rows=rows)
    b = write_predictions("b.npz", 3000, 5, 1, seed=0, noise=1.7)
    write_predictions("out.npz", 500, 5, 6, seed=9, noise=4.0)
    write_predictions("out1.npz", 500, 5, 1, seed=9, noise=4.0)
    np.save("images.npy", np.random.default_rng(1).integers(0, 255, (3000, 40, 36, 3), dtype=np.uint8))
    run("report", "a.npz", "b.npz", "--names", "six,one", "--ood", "out.npz,out1.npz", "--images", "images.npy", "-o", "report.html")
    open_page()
    ids = figures_are_not_empty()
    for wanted in ["svg-desk", "svg-risk-coverage", "svg-bars", "svg-histogram-0-sr", "svg-histogram-0-std", "svg-reliability-0", "svg-reliability-1",
                   "svg-ood-roc", "svg-ood-in", "svg-ood-out", "svg-ood-scores-0", "svg-running-accuracy", "svg-running-nll", "svg-running-brier", "svg-members-0-0"]:
        check(wanted in ids, f"no figure {wanted} among {ids}")
    for number, (arrays, confidences) in enumerate([(a, CONFIDENCES), (b, ["sr", "entropy", "margin"])]):
        pick("desk-method", number)
        wrong = arrays["label"] != arrays["truth"]
        offered = browser.run("[...document.getElementById('desk-by').options].map(o => o.textContent)")
        check(offered == [c for c in CONFIDENCES if c in confidences], f"offers {offered}")
        for by in confidences:
            pick("desk-by", CONFIDENCES.index(by))
            for coverage in [1, 0.9, 0.251, 0.003]:
                move(coverage)
                cut, accepted, errors, kept = at_coverage(arrays[by], wrong, coverage)
                shown, n = desk(), len(wrong)
                expected = {"answered": f"{100 * accepted / n:.2f} %", "error": f"{100 * errors / accepted:.2f} %", "handed": str(n - accepted),
                            "avoided": f"{wrong.sum() - errors} of {wrong.sum()}", "accuracy": f"{100 * (1 - errors / accepted):.2f} %", "kept": str(errors), "name": by}
                check(all(shown[k] == v for k, v in expected.items()), f"{by} at {coverage}: {shown}, expected {expected}")
                check(float(shown["threshold"]) == cut, f"{by} at {coverage}: cut {shown['threshold']}, expected {cut!r}")
                pairs = {}
                for t, p in zip(arrays["truth"][kept & wrong], arrays["label"][kept & wrong]):
                    pairs[int(t), int(p)] = pairs.get((int(t), int(p)), 0) + 1
                best = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:20]
                table = browser.run("[...document.getElementById('desk-pairs').tBodies[0].rows].map(r => [...r.cells].map(c => +c.textContent))")
                check(table == [[t, p, c] for (t, p), c in best], f"{by} at {coverage}: confusions {table[:3]}, expected {best[:3]}")
        order = np.argsort(-arrays[confidences[-1]], kind="stable")
        surest = [int(i) for i in order if wrong[i]][:12]
        gallery = browser.run("[...document.querySelectorAll('#desk-errors li')].map(l => +l.dataset.row)")
        check(gallery == surest, f"most confident errors {gallery}, expected {surest}")
        first = browser.run("[...document.querySelectorAll('#desk-rejected li')].map(l => +l.dataset.row)")
        check(first == [int(i) for i in order[::-1][:12]], f"first rejected {first}")
    pick("desk-method", 0)
    pick("desk-by", 0)
    wrong = a["label"] != a["truth"]
    browser.run("(() => { const r = document.getElementById('desk-risk'); r.value = '4'; r.dispatchEvent(new Event('input')); })()")
    grid = [at_coverage(a["sr"], wrong, g / 1000) for g in range(1001)]
    within = [g for g in grid if g[2] / g[1] <= 0.04][-1]
    check(desk()["handed"] == str(3000 - within[1]), f"at a risk of 4 %: {desk()}, expected {3000 - within[1]} handed over")
    check(browser.problems == [], f"the desk complains: {browser.problems}")
    figure_data_equal_evaluate()
    legends_sort_copy()
    print("#", f"page of {os.path.getsize('report.html')} bytes")


def figure_data_equal_evaluate():
    for number, name in enumerate("ab"):
        report = json.loads(run("evaluate", f"{name}.npz", "--ood", "out.npz" if name == "a" else "out1.npz", "--json")[0])
        bars = browser.run(f"[...document.querySelectorAll('#svg-reliability-{number} rect.right title')].map(t => t.textContent)")
        bins = [b for b in report["bins"] if b["n"]]
        check(len(bars) == len(bins), f"{len(bars)} bars for {len(bins)} bins")
        for bar, b in zip(bars, bins):
            found = [float(x) for x in re.findall(r"[\d.]+", bar)]
            check(found[2] == b["n"] and abs(found[3] - b["accuracy"]) < 1e-4 and abs(found[4] - b["confidence"]) < 1e-4, f"{bar}: {b}")
        for table, column, key in [("selective", 2, "aurc"), ("selective", 3, "eaurc"), ("selective", 4, "augrc"), ("selective", 5, "failure_auroc"),
                                   ("ood", 2, "auroc"), ("ood", 3, "aupr_in"), ("ood", 4, "aupr_out"), ("ood", 5, "fpr95")]:
            cells = browser.run(f"""[...document.getElementById('table-{table}').tBodies[0].rows].filter(r => r.cells[0].textContent === '{["six", "one"][number]}')
                .map(r => [r.cells[1].textContent, r.cells[{column}].dataset.v])""")
            values = (report["ood"] if table == "ood" else report)[key]
            shown = {by: float(v) for by, v in cells}
            check(shown == {by: v for by, v in values.items() if v is not None}, f"{key}: the page has {shown}, evaluate {values}")
        ends = browser.run(f"[...document.getElementById('table-scores').tBodies[0].rows[{number}].cells].map(c => [+c.dataset.lo, +c.dataset.hi])")
        for column, key in (4, "accuracy"), (5, "nll"), (6, "brier"), (7, "ece"):
            check(ends[column] == report["intervals"][key], f"interval of {key}: the page has {ends[column]}, evaluate {report['intervals'][key]}")
        sr = browser.run(f"[...document.getElementById('table-selective').tBodies[0].rows].filter(r => r.cells[0].textContent === '{['six', 'one'][number]}')[0].cells[2].dataset.hi")
        check(float(sr) == report["intervals"]["aurc"]["sr"][1], f"interval of the AURC of sr: {sr}")
        scores = browser.run(f"[...document.getElementById('table-scores').tBodies[0].rows[{number}].cells].map(c => c.dataset.v)")
        check([float(x) for x in scores[4:10]] == [report[k] for k in ["accuracy", "nll", "brier", "ece", "mce", "min_aurc"]], f"{scores}: {report['accuracy']}")


def legends_sort_copy():
    visible = "(s => [...document.querySelectorAll('#svg-risk-coverage ' + s)].filter(p => getComputedStyle(p).display !== 'none').length)"
    check(browser.run(visible + "('path.s.m0.c0')") == 1 and browser.run(visible + "('path.s.m0.c1')") == 0, "sr is not the one curve shown at first")
    click = "document.querySelector('#fig-risk-coverage [data-toggle={}]').click()"
    browser.run(click.format("m0"))
    check(browser.run(visible + "('path.m0')") == 0 and browser.run(visible + "('path.s.m1.c0')") == 1, "a method does not switch off")
    browser.run(click.format("m0"))
    browser.run(click.format("c1"))
    check(browser.run(visible + "('path.s.m0.c1')") == 1, "a confidence does not switch on")
    browser.run("document.querySelector('#table-selective th:nth-child(3) button').click()")
    column = [float(x) for x in browser.run("[...document.getElementById('table-selective').tBodies[0].rows].map(r => r.cells[2].dataset.v)")]
    check(column == sorted(column) and len(set(column)) > 2, f"not sorted: {column}")
    browser.run("document.querySelector('#table-selective th:nth-child(3) button').click()")
    column = [float(x) for x in browser.run("[...document.getElementById('table-selective').tBodies[0].rows].map(r => r.cells[2].dataset.v)")]
    check(column == sorted(column, reverse=True), f"not sorted downwards: {column}")
    copied = browser.run("(async () => { const b = document.querySelector('#fig-risk-coverage .copy'); b.click(); await new Promise(r => setTimeout(r, 200)); return b.dataset.text; })()")
    lines = copied.strip().split("\n")
    counts = {}
    for line in lines[1:]:
        counts[tuple(line.split(",")[:2])] = counts.get(tuple(line.split(",")[:2]), 0) + 1
    check(lines[0].startswith("method,confidence,threshold") and len(counts) == 10 and max(counts.values()) <= 1009, f"{lines[0]}: {counts}")
    for figure, heading in ("fig-histograms", "method,confidence,from"), ("fig-ood-curves", "curve,method"), ("fig-ood-scores", "method,confidence,from"):
        copied = browser.run("(async () => { const b = document.querySelector('#%s .copy'); if (!b) return ''; b.click(); await new Promise(r => setTimeout(r, 200)); "
                             "return b.dataset.text; })()" % figure)
        check(copied.startswith(heading) and copied.count("\n") > 40, f"{figure}: {copied[:80]}")
    check(browser.problems == [], f"complaints: {browser.problems}")


def wilson(k, n):
    z = 1.959963984540054
    middle, half = (k / n + z * z / (2 * n)) / (1 + z * z / n), z / (1 + z * z / n) * np.sqrt(k / n * (1 - k / n) / n + z * z / (4 * n * n))
    return middle - half, middle + half


@case
def doubt_is_drawn_and_told():
    start()
    a = write_predictions("a.npz", 2000, 4, 3)
    b = {k: v.copy() for k, v in a.items()}
    b["probs"][:2] = b["probs"][1::-1]
    b["sr"][:2] = b["sr"][1::-1]
    b["label"][:2] = b["label"][1::-1]
    np.savez("b.npz", **b)
    write_predictions("c.npz", 2000, 4, 3, noise=2.6)
    run("report", "a.npz", "b.npz", "c.npz", "--names", "first,same,worse", "-o", "report.html")
    open_page()
    wrong = a["label"] != a["truth"]
    band = browser.run("document.querySelector('#svg-risk-coverage path.band.m0.c0').getAttribute('d')")
    start_of, moves = re.match(r"M(-?\d+) (-?\d+)l(.*)", band).groups()[:2], np.array(re.findall(r"-?\d+", band.split("l")[1]), float).reshape(-1, 2)
    corners = np.array(start_of, float) + np.vstack([[0, 0], np.cumsum(moves, 0)])
    scale = browser.run("""(() => { const t = [...document.querySelectorAll('#svg-risk-coverage .tick[text-anchor=end]')];
        const of = (e) => [parseFloat(e.textContent) / 100, 10 * (e.getAttribute('y') - 4)]; return [of(t[0]), of(t[1])]; })()""")
    (v0, y0), (v1, y1) = scale
    at_end = np.sort([v0 + (y - y0) * (v1 - v0) / (y1 - y0) for x, y in corners if abs(x - corners[:, 0].max()) < 1])
    low, high = wilson(wrong.sum(), 2000)
    check(abs(at_end[0] - low) < 1e-3 and abs(at_end[-1] - high) < 1e-3, f"the band ends at {at_end}, Wilson {low, high}")
    bars = browser.run("[...document.querySelectorAll('#svg-reliability-0 rect.right title')].map(t => t.textContent)")
    for bar in bars:
        found = [float(x) for x in re.findall(r"\d[\d.]*", bar)]
        low, high = wilson(round(found[2] * found[3]), found[2])
        check(abs(found[5] - low) < 1e-3 and abs(found[6] - high) < 1e-3, f"{bar}: Wilson {low, high}")
    check(browser.run("document.querySelectorAll('#svg-reliability-0 .whisker').length") == len(bars), "a bar has no interval")
    counts = browser.run("[...document.querySelectorAll('#svg-reliability-0 .tiny')].map(t => +t.textContent)")
    check(sum(counts) == 2000, f"points per bin: {counts}")
    grey = browser.run("[...document.getElementById('table-scores').tBodies[0].rows].map(r => [4, 5, 6].map(i => r.cells[i].classList.contains('noise')))")
    check(grey == [[False] * 3, [True] * 3, [False] * 3], f"within noise: {grey}")
    best = browser.run("document.querySelector('#table-classes caption').textContent").split(",")[0].split()[-1]
    arrays = {"first": a, "same": b}[best]
    recall = [(np.mean(arrays["label"][a["truth"] == k] == k), k) for k in range(4)]
    rows = browser.run("[...document.getElementById('table-classes').tBodies[0].rows].map(r => [+r.cells[2].dataset.v, +r.cells[0].textContent])")
    check([r[1] for r in rows] == [k for _, k in sorted(recall)] and np.allclose([r[0] for r in rows], [r for r, _ in sorted(recall)]), f"classes: {rows}, numpy {sorted(recall)}")
    copied = browser.run("(async () => { const b = document.querySelector('#table-scores').closest('.table').querySelector('.copy'); b.click(); await new Promise(r => setTimeout(r, 200)); return b.dataset.text; })()")
    check("accuracy,accuracy low,accuracy high" in copied, copied[:200])


def saved(selector, name):
    """The file that a button saves."""
    path = pathlib.Path(name)
    path.unlink(missing_ok=True)
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=os.getcwd())
    browser.run(f"document.querySelector('{selector}').click()")
    for _ in range(200):
        if path.exists() and path.stat().st_size:
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{selector} saves no {name}")


@case
def costs_certificates_and_files():
    start()
    a = write_predictions("a.npz", 6000, 4, 3, noise=0.9)
    certificate = run("certify", "a.npz", "--risk", "0.05", "--json")[0]
    pathlib.Path("cert.json").write_text(certificate)
    c = json.loads(certificate)
    check(c["certified"], f"nothing to show: {certificate[:200]}")
    run("report", "a.npz", "--certificate", "cert.json", "-o", "report.html")
    open_page()
    wrong, kept = a["label"] != a["truth"], a["sr"] >= c["cut"]
    words = browser.run("document.getElementById('certificate').innerText").replace("\u00a0", " ").replace("\u202f", "")
    for part in [repr(c["cut"]), c["statement"], c["conditions"], f"{c['accepted']} were answered, {c['errors']} of them wrong",
                 f"answers {100 * kept.mean():.2f} %, {100 * wrong[kept].mean():.2f} % of them wrong"]:
        check(part in words, f"the card lacks '{part}': {words}")
    browser.run("document.getElementById('desk-certified').click()")
    check(desk()["handed"] == str((~kept).sum()) and desk()["kept"] == str((kept & wrong).sum()), f"at the certified cut: {desk()}")
    check(browser.run("document.querySelectorAll('#svg-desk .certified-mark').length") == 1, "the chart does not show the certified cut")
    grid = [at_coverage(a["sr"], wrong, g / 1000) for g in range(1001)]
    for price, hand in (10, 1), (3, 1), (0, 1):
        browser.run(f"""(() => {{ for (const [id, v] of [['desk-cost-wrong', {price}], ['desk-cost-handed', {hand}]]) {{
            const i = document.getElementById(id); i.value = v; i.dispatchEvent(new Event('input')); }} }})()""")
        best = min(price * e + hand * (6000 - k) for _, k, e, _ in grid)
        shown = price * int(desk()["kept"]) + hand * int(desk()["handed"])
        check(best - 10 <= shown <= best, f"costs {price} and {hand}: the desk pays {shown}, the best of a grid {best}")
    check(saved("#certificate .save", "certificate.json") == certificate, "the saved certificate differs")
    saved_cuts = json.loads(saved("#fig-desk .save:last-child", "thresholds.json"))
    sr = [s for s in saved_cuts[0]["confidences"] if s["by"] == "sr"][0]["thresholds"]
    check(len(sr) > 1000 and all(t["accepted"] == (a["sr"] >= t["cut"]).sum() for t in sr[::50]), f"thresholds: {sr[:2]}")
    for id in browser.run("[...document.querySelectorAll('figure.fig')].map(f => f.id)"):
        svg = saved(f"#{id} .save", f"{id}.svg")
        root = xml.etree.ElementTree.fromstring(svg)
        drawn = [e for e in root.iter() if e.tag.endswith(("path", "rect", "circle"))]
        check(len(drawn) > 5 and "var(" not in svg and "stroke:" in svg, f"{id}.svg has {len(drawn)} shapes, or needs a style sheet")
    hidden = saved("#fig-risk-coverage .save", "fig-risk-coverage.svg")
    check("sr: AURC" in hidden and "maxmin: AURC" not in hidden, "a file shows what the page hides")
    check(browser.problems == [], f"complaints: {browser.problems}")
    pathlib.Path("none.json").write_text(run("certify", "a.npz", "--risk", "0.00001", "--json")[0])
    run("report", "a.npz", "--certificate", "none.json", "-o", "report.html")
    open_page()
    check("none certified" in browser.run("document.getElementById('certificate').innerText") and browser.run("document.getElementById('desk-certified')") is None, "a promise that is none")
    d = json.loads(run("certify", "a.npz", "--risk", "0.2", "--per-class", "-o", "classes.json", "--json")[0])
    run("report", "a.npz", "--certificate", "classes.json", "-o", "report.html")
    browser.open("report.html")
    shown = browser.run("[...document.querySelectorAll('#table-certified tbody tr')].map(r => [...r.cells].map(c => c.textContent.replace(/\\s/g, '')))")
    expected = [[str(c["cut"]) if c["certified"] else "neveranswered", str(c["n"]), str(c["accepted"]), str(c["errors"])] for c in d["per_class"]]
    check(d["certified"] and len(shown) == len(expected), f"{len(shown)} classes on the page, {len(expected)} in the certificate")
    for row, e in zip(shown, expected):
        check((row[1] == e[0] or float(row[1]) == float(e[0])) and row[2:] == e[1:], f"{row} on the page, {e} in the certificate")
    check(browser.run("document.getElementById('desk-certified')") is None, "the desk shows one cut where there are several")
    pathlib.Path("bad.json").write_text('{"certified": true, "by": "sr"}')
    fails(4, "report", "a.npz", "--certificate", "bad.json", "-o", "r.html", words=["bad.json is not a certificate"])


@case
def themes_print_and_narrow_screens():
    start()
    write_predictions("a.npz", 400, 4, 3)
    run("report", "a.npz", "-o", "report.html")
    open_page()
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(paper)
    browser.run("document.getElementById('theme').click()")
    dark = browser.run(paper)
    check(light == "rgb(255, 255, 255)" and dark != light, f"light {light}, dark {dark}")
    browser.call("Emulation.setEmulatedMedia", media="print")
    check(browser.run(paper) == light and browser.run("getComputedStyle(document.querySelector('nav')).display") == "none", "print is dark, or shows the controls")
    check(len(browser.call("Page.printToPDF", printBackground=True)["data"]) > 20000, "no pages to print")
    browser.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    open_page()
    check(browser.run(paper) == dark, "a reader who prefers dark gets a light page")
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    open_page(width=390, height=800)
    check(browser.run("document.documentElement.scrollWidth") <= 390, "a narrow screen scrolls sideways")
    figures_are_not_empty()


@case
def labels_stay_in_their_pictures():
    start()
    arrays = write_predictions("a.npz", 400, 4, 5)
    arrays["running"][:, 0] = 0.95945
    np.savez("a.npz", **arrays)
    run("report", "a.npz", "-o", "report.html")
    for width in [1280, 390]:
        open_page(width=width, height=800)
        ticks = browser.run("[...document.querySelectorAll('#svg-running-accuracy .tick')].map(t => t.textContent)")
        check("95.945\u202f%" in ticks, f"ticks of 95.945 %: {ticks}")
        outside = browser.run("""[...document.querySelectorAll('main svg[role=img] text')].filter(t => { const b = t.getBBox(), v = t.ownerSVGElement.viewBox.baseVal;
            return b.x < -0.5 || b.x + b.width > v.width + 0.5; }).map(t => t.ownerSVGElement.id + ': ' + t.textContent)""")
        check(outside == [], f"{width}: labels are cut: {outside}")


@case
def precision_recall_curves_are_steps():
    start()
    write_predictions("a.npz", 60, 4, 3)
    write_predictions("out.npz", 40, 4, 3, seed=9, noise=4.0)
    run("report", "a.npz", "--ood", "out.npz", "-o", "report.html")
    open_page()
    for id, steps in ("svg-ood-in", True), ("svg-ood-out", True), ("svg-ood-roc", False):
        path = browser.run(f"document.querySelector('#{id} path.m0.c0').getAttribute('d')")
        moves = np.array(re.findall(r"-?\d+", path.split("l")[1]), float).reshape(-1, 2)
        slanted = (np.abs(moves).min(1) > 4).sum()
        check(len(moves) > 10 and (slanted == 0 or not steps), f"{id}: {slanted} of {len(moves)} pieces are slanted")


@case
def one_operating_point_has_one_number():
    start()
    arrays = write_predictions("a.npz", 9999, 5, 3)
    run("report", "a.npz", "-o", "report.html")
    open_page()
    card = browser.run("document.querySelectorAll('.card .big')[1].textContent").replace("\u00a0", " ")
    by = desk()["name"]
    wrong = arrays["label"] != arrays["truth"]
    order = np.argsort(-arrays[by], kind="stable")
    risk = np.cumsum(wrong[order]) / np.arange(1, 10000)
    last = np.append(arrays[by][order][1:] != arrays[by][order][:-1], True)
    for target, text in [(wrong.mean() / 2, "")] + [(t, str(100 * t)) for t in (0.1, 0.05, 0.02, 0.01)]:
        accepted = np.flatnonzero((risk <= target) & last)[-1] + 1
        if text:
            browser.run(f"(() => {{ const r = document.getElementById('desk-risk'); r.value = '{text}'; r.dispatchEvent(new Event('input')); }})()")
        check(desk()["handed"] == str(9999 - accepted), f"risk {text}: the desk hands over {desk()['handed']}, numpy {9999 - accepted}")
        check(text or card == desk()["answered"], f"the summary says {card}, the desk {desk()['answered']}")


@case
def right_and_wrong_have_colours_of_their_own():
    start()
    write_predictions("a.npz", 200, 3, 2)
    run("report", *["a.npz"] * 10, "--names", ",".join("abcdefghij"), "-o", "report.html")
    for theme in ["light", "dark", "print"]:
        browser.call("Emulation.setEmulatedMedia", media="print" if theme == "print" else "", features=[{"name": "prefers-color-scheme", "value": "dark" if theme == "dark" else "light"}])
        open_page()
        colour = {name: np.array([int(browser.run(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')").strip()[i:i + 2], 16) for i in (1, 3, 5)])
                  for name in ["right", "wrong", *[f"k{i}" for i in range(10)]]}
        near = [(a, b) for a in colour for b in colour if a < b and np.abs(colour[a] - colour[b]).sum() < 60]
        check(near == [], f"{theme}: colours that look alike: {near}")
        drawn = browser.run("[...document.querySelectorAll('#fig-risk-coverage [data-toggle^=m] path')].map(p => getComputedStyle(p).stroke)")
        check(len(drawn) == len(set(drawn)) == 10, f"{theme}: ten methods have the colours {drawn}")
    browser.call("Emulation.setEmulatedMedia", media="", features=[])


@case
def no_tile_is_alone_and_no_table_is_cut():
    start()
    write_predictions("a.npz", 500, 4, 3)
    run("report", "a.npz", "--names", "a long name of a method", "-o", "report.html")
    for width in [390, 800, 1280]:
        open_page(width=width, height=900)
        gaps = browser.run("""(() => { const rows = {}, box = document.querySelector('.cards').getBoundingClientRect();
            for (const c of document.querySelectorAll('.cards .card')) { const b = c.getBoundingClientRect(); rows[b.y] = Math.max(rows[b.y] || 0, b.right); }
            return Object.values(rows).map(right => Math.round(box.right - right)); })()""")
        check(all(gap == 0 for gap in gaps), f"{width}: rows of tiles end {gaps} pixels early")
        cut = browser.run("""[...document.querySelectorAll('main table')].filter(t => { const box = t.closest('.scroll');
            if (!box) return t.scrollWidth > t.parentElement.clientWidth;
            box.scrollLeft = 9999;
            const b = box.getBoundingClientRect(), cells = t.rows[1].cells, wide = box.scrollWidth > box.clientWidth;
            const more = getComputedStyle(box.nextElementSibling).display;
            return cells[cells.length - 1].getBoundingClientRect().right > b.right + 1 || (wide && Math.abs(cells[0].getBoundingClientRect().left - b.left) > 1)
                || (wide && more === 'none') || box.tabIndex !== 0; }).map(t => t.id)""")
        check(cut == [], f"{width}: tables are cut, or do not say that there is more: {cut}")
    check(browser.run("document.querySelector('#table-risks').closest('.scroll').classList.contains('wide')") is False, "the first table does not fit")
    browser.call("Emulation.setEmulatedMedia", media="print")
    words = browser.run("document.body.innerText")
    browser.call("Emulation.setEmulatedMedia", media="")
    asks = re.findall(r"[^.\n]*(?:slider|click|sideways|Copy)[^.\n]*", words)
    check("abstention desk" in words and asks == [], f"paper is asked to {asks}")


@case
def the_keyboard_reaches_every_control():
    start()
    write_predictions("a.npz", 300, 3, 3)
    run("report", "a.npz", "-o", "report.html")
    open_page()
    wanted = browser.run("[...document.querySelectorAll('a[href],button,select,input,summary')].length")
    reached = "window.reached = new Set(); document.addEventListener('focusin', e => window.reached.add(e.target)); 0"
    browser.run(reached)
    for _ in range(wanted + 5):
        browser.key("Tab")
    check(browser.run("window.reached.size") >= wanted, f"{browser.run('window.reached.size')} of {wanted} controls are reached")
    browser.run("document.getElementById('desk-coverage').focus()")
    browser.key("End")
    before = desk()
    for _ in range(10):
        browser.key("ArrowLeft")
    check(before["answered"] == "100.00 %" and desk()["answered"] != before["answered"], f"the arrows do not move the slider: {desk()}")
    browser.run("document.querySelector('#fig-risk-coverage [data-toggle=m0]').focus()")
    browser.key("Enter")
    check(browser.run("document.querySelector('#fig-risk-coverage [data-toggle=m0]').getAttribute('aria-pressed')") == "false", "Enter does not press a legend")
    unnamed = browser.run("[...document.querySelectorAll('button,select,input')].filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length))).length")
    check(unnamed == 0, f"{unnamed} controls have no name")


@case
def hostile_names_are_only_text():
    start()
    k = len(HOSTILE)
    write_predictions("a.npz", 500, k, 3, rows=[1, 2])
    pathlib.Path("names.txt").write_text("\n".join(HOSTILE) + "\n")
    name = "<script>window.hacked=1</script>\"'><b onload=x>"
    for title in ["</title><script>window.hacked=1</script>", "\" onload=window.hacked=1 x=\"", "ü" * 3000]:
        run("report", "a.npz", "--class-names", "names.txt", "--title", title, "--names", name, "-o", "report.html")
        open_page()
        check(browser.run("document.title") == title and browser.run("document.querySelector('h1').textContent") == title, "the title changed")
    check(browser.run("window.hacked") is None and browser.run("document.querySelectorAll('script').length") == 2, "a name became a script")
    check(browser.run("document.querySelectorAll('img, b[onload], iframe').length") == 0, "a name became an element")
    shown = set(browser.run("[...document.querySelectorAll('#desk-pairs td:first-child')].map(c => c.textContent)"))
    move(1)
    shown |= set(browser.run("[...document.querySelectorAll('#desk-pairs td:first-child')].map(c => c.textContent)"))
    check(shown and shown <= set(HOSTILE), f"names changed: {shown - set(HOSTILE)}")
    check(browser.run("document.querySelector('#desk-method').options[0].textContent") == name, "the method's name changed")
    check(browser.run("document.documentElement.scrollWidth") <= 1280, "a long name widens the page")
    blocked = browser.run("""(async () => { const s = document.createElement('script'); s.textContent = 'window.hacked = 2'; document.body.append(s);
        await new Promise(r => setTimeout(r, 50)); return window.hacked === undefined; })()""")
    check(blocked, "the page would run a script that is not its own")


def degenerate(name, n, k, s, labels=None):
    p, y = outputs(n, k, s, 3)
    np.save("p.npy", p if s > 1 else p[0])
    answer = p.mean(0).argmax(1)
    np.save("y.npy", labels(answer, k) if labels else y)
    run("report", "--probs", "p.npy", "--labels", "y.npy", "-o", "report.html")
    open_page()
    figures_are_not_empty()
    move(1)
    check(desk()["answered"] == "100.00 %", f"{name}: {desk()}")
    move(0.5)
    words = browser.run("document.querySelector('main').innerText")
    check(not re.search(r"NaN|undefined|Infinity|\bnull\b", words), f"{name}: {re.findall(r'.{30}(?:NaN|undefined|Infinity|null).{30}', words)}")
    check(browser.problems == [], f"{name}: {browser.problems}")
    return words


@case
def sensible_pages_of_odd_inputs():
    start()
    one = degenerate("one member", 300, 4, 1)
    check("no std" in one and browser.run("document.getElementById('svg-running-accuracy')") is None, "one member has a std or a running score")
    check(browser.run("document.getElementById('ood')") is None and browser.run("document.querySelectorAll('.thumb').length") == 0, "there is no ood, and no image")
    check("no error" in degenerate("no error", 200, 3, 2, lambda answer, k: answer), "no error is not told")
    check("No error is left" in browser.run("document.getElementById('desk').innerText"), "the desk shows confusions without an error")

    def single(answer, k):
        y = answer.copy()
        y[7] = (y[7] + 1) % k
        return y
    degenerate("one error", 200, 3, 2, single)
    move(1)
    check(desk()["kept"] == "1" and browser.run("document.getElementById('desk-pairs').tBodies[0].rows.length") == 1, f"one error: {desk()}")
    degenerate("only errors", 100, 3, 2, lambda answer, k: (answer + 1) % k)
    degenerate("two points", 2, 2, 1)
    degenerate("a thousand classes", 400, 1000, 2)
    check(os.path.getsize("report.html") < 1e6, f"{os.path.getsize('report.html')} bytes")


@case
def five_methods_stay_under_a_megabyte():
    start()
    for i, s in enumerate([1, 4, 4, 4, 4]):
        write_predictions(f"m{i}.npz", 12000, 20, s, seed=1, noise=1.5 + 0.2 * i)
    np.save("images.npy", np.random.default_rng(1).integers(0, 255, (12000, 32, 32, 3), dtype=np.uint8))
    run("report", *[f"m{i}.npz" for i in range(5)], "--images", "images.npy", "--ood", "m0.npz,m1.npz,m2.npz,m3.npz,m4.npz", "-o", "report.html")
    size = os.path.getsize("report.html")
    check(size < 1e6, f"{size} bytes")
    open_page()
    check(browser.run("document.querySelectorAll('#desk-errors .thumb').length") == 12, "the first gallery has no thumbnails")
    print("#", f"five methods: {size} bytes")


if __name__ == "__main__":
    try:
        main()
    finally:
        if browser:
            browser.close()
