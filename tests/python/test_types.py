#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types, judged by mypy: the sources, the stubs against what runs (stubtest), and that right programs pass and wrong ones do not."""
import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys

import lastlayer as ll
from lastlayer import _keywords

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

PACKAGE = pathlib.Path(ll.__file__).parent
DOORS = {"classifier": "sklearn", "torch_door": "torch", "keras_door": "keras"}
CONFIGURATION = """[mypy]
ignore_missing_imports = True
[mypy-torch.*,sklearn.*,keras.*,matplotlib.*,pandas.*,polars.*,tqdm.*]
follow_imports = skip
"""
PROGRAM = """
from typing import List
import numpy as np
import lastlayer as ll
X, y, loader, model = np.zeros((4, 2)), np.zeros(4, int), [1], object()
e: ll.Ensemble = ll.fit(X, y, method="sgld", samples=3, prior_precision=2.0, lr=None)
e = ll.fit(X, y, prior_precision="evidence")
e = ll.fit(X, y, prior_precision="evident")  # wrong
e = ll.fit(X, y, sampels=3)  # wrong
e = ll.fit(X, y, samples="three")  # wrong
e = ll.fit(X, y, method="magic")  # wrong
p: ll.Predictions = e.predict(X, y, by="std")
p.sr.mean(), p.std.mean(), p.probs[0]
p.labels  # wrong
t: ll.Threshold = p.threshold(risk=0.1)
t.cut + 1
c: ll.Certificate = e.certify(X, y, risk=0.1, rule="bonferroni")
c = e.certify(X, y, risks=0.1)  # wrong
v: ll.Evaluation = e.evaluate(X, y, interval=0, bins=5)
v = p.evaluate(bins=5.5)  # wrong
s: List[List[int]] = ll.sets(p, calibration=p, alpha=0.1).sets()
m: ll.TorchModel = ll.from_torch(model, loader, "fc", method="bootstrap", samples=5)
m = ll.from_torch(model, loader, thim=2)  # wrong
m.calibrate(loader, kind="vector").temperature
m.calibrate(loader, kind="matrix")  # wrong
k: ll.LastLayerClassifier = ll.LastLayerClassifier("sgd", epochs=2, random_state=3).fit(X, y)
k = ll.LastLayerClassifier(epoch=2)  # wrong
names: str = ll.methods()  # wrong
n: str = ll.__version__
"""


def mypy(module, *arguments, **environment):
    if importlib.util.find_spec("mypy") is None:
        raise tap.Skip("mypy is not installed (Debian's mypy)")
    pathlib.Path("mypy.ini").write_text(CONFIGURATION)
    done = subprocess.run([sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def package_path():
    """For mypy, which finds installed packages by itself and refuses their folder."""
    return {} if "-packages" in str(PACKAGE) else {"MYPYPATH": str(PACKAGE.parent)}


@tap.case
def sources_agree_with_themselves():
    code, text = mypy("mypy", "--config-file", "mypy.ini", tap.SOURCE / "python/lastlayer")
    assert code == 0, text


@tap.case
def stubs_are_what_runs():
    lacking = [door for door, package in DOORS.items() if importlib.util.find_spec(package) is None]
    allowed = [r"lastlayer\._lastlayer\..*", r"lastlayer\.(.*\.)?(Mapping|Iterable|Iterator|Sequence|Callable)"]
    allowed.append(r"lastlayer\.classifier\.LastLayerClassifier\.set_\w+_request")  # made by scikit-learn
    pathlib.Path("allowed").write_text("\n".join(allowed + [rf"lastlayer\.{door}" for door in lacking]) + "\n")
    code, text = mypy("mypy.stubtest", "lastlayer", "--mypy-config-file", "mypy.ini", "--allowlist", "allowed", "--ignore-unused-allowlist", **package_path())
    assert code == 0, text


@tap.case
def wrong_programs_are_noticed():
    lines = PROGRAM.splitlines()
    pathlib.Path("program.py").write_text(PROGRAM)
    _, text = mypy("mypy", "--config-file", "mypy.ini", "program.py", **package_path())
    found = {int(number) for number in re.findall(r"^program\.py:(\d+): error", text, re.M)}
    expected = {i for i, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert found == expected, f"{sorted(found ^ expected)}\n{text}"


@tap.case
def signatures_come_from_the_tables():
    """Every option of a table is an argument of what takes it, under the default of the table, and in the help."""
    takers = [(ll.fit, ("fit",)), (ll.Ensemble.predict, ("predict",)), (ll.Ensemble.evaluate, ("evaluate",)), (ll.Ensemble.calibrate, ("calibrate",)),
              (ll.Ensemble.certify, ("certify",)), (ll.sets, ("sets",)), (ll.Predictions.evaluate, ("evaluate",)), (ll.certify, ("certify",)),
              (ll.compare, ("compare", "fit")), (ll.report, ("report",))]
    if importlib.util.find_spec("sklearn"):
        takers.append((ll.LastLayerClassifier.__init__, ("fit",)))
    if importlib.util.find_spec("torch"):
        takers += [(ll.from_torch, ("fit",)), (ll.TorchModel.calibrate, ("calibrate",)), (ll.TorchModel.compare, ("compare", "fit"))]
    left_out = {"method", "labels", "class_names", "images", "dropout_at", "layers", "seed"}  # by some of them
    for taker, tables in takers:
        signature = inspect.signature(taker)
        assert not any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()), taker
        for table in tables:
            for row in _keywords.TABLES[table]:
                if row["name"] not in signature.parameters:
                    assert row["name"] in left_out, (taker, row["name"])
                elif row["name"] != "key" and row["name"] not in ("class_names", "images", "labels"):
                    first = next(one for one in (r for t in tables for r in _keywords.TABLES[t]) if one["name"] == row["name"])
                    assert signature.parameters[row["name"]].default == first["default"], (taker, row["name"])
                    assert row["name"] == "method" or f"{row['name']}: " in taker.__doc__, (taker, row["name"])


@tap.case
def it_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists() and "prior_precision: float | Literal['evidence', 'validation']=1.0" in (PACKAGE / "ensemble.pyi").read_text()


tap.main()
