#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arrow columns (pyarrow, polars), frames and figures. Debian lacks pyarrow and polars: make check-python brings them. The Arrow C data
interface is tried without them too, by structs made here."""
import ctypes
import importlib
import pathlib
import sys

import numpy as np

import lastlayer as ll
from lastlayer import _lastlayer as native

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

random = np.random.default_rng(0)
X = random.normal(size=(200, 4)).astype(np.float32)
y = (X[:, 0] + 0.3 * random.normal(size=200) > 0).astype(np.int64)
expected = ll.fit(X, y, samples=3).W


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise tap.Skip(f"{name} is not installed") from None


def memory(array):
    how, (where, kind, sizes, _) = native.array_memory(native.array(array))
    return how, where, kind, tuple(sizes)


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


Release = {kind: ctypes.CFUNCTYPE(None, ctypes.POINTER(kind)) for kind in (Schema, Array)}
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
                   ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.c_void_p),
                   ("release", Release[Schema]), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                  ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.c_void_p), ("release", Release[Array]), ("private_data", ctypes.c_void_p)]
capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype, capsule_of.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Column:
    """FixedSizeList<float>[width] of an array, as the interface describes it; counts how often it was released."""

    def __init__(self, array, nulls=0):
        self.array, self.nulls, self.released, self.kept = array, nulls, 0, []

    def _struct(self, kind, **fields):
        def release(pointer):
            self.released += 1
            pointer.contents.release = Release[kind]()

        made = kind(**fields, release=Release[kind](release))
        self.kept += [made, fields]
        return made

    def __arrow_c_array__(self, requested_schema=None):
        n, width = self.array.shape
        inner = self._struct(Schema, format=b"f", name=b"item")
        schema = self._struct(Schema, format=b"+w:%d" % width, name=b"", n_children=1, children=(ctypes.POINTER(Schema) * 1)(ctypes.pointer(inner)))
        values = self._struct(Array, length=n * width, n_buffers=2, buffers=(ctypes.c_void_p * 2)(None, self.array.ctypes.data))
        rows = self._struct(Array, length=n, null_count=self.nulls, n_buffers=1, buffers=(ctypes.c_void_p * 1)(None), n_children=1,
                            children=(ctypes.POINTER(Array) * 1)(ctypes.pointer(values)))
        return (capsule_of(ctypes.addressof(schema), b"arrow_schema", None), capsule_of(ctypes.addressof(rows), b"arrow_array", None))


@tap.case
def arrow_by_hand():
    column = Column(X)
    capsule = native.array(column)
    how, (where, _, sizes, _) = native.array_memory(capsule)
    assert how.startswith("arrow") and where == X.ctypes.data and tuple(sizes) == X.shape, (how, sizes)
    del capsule
    assert column.released >= 1
    assert np.array_equal(ll.fit(Column(X), y, samples=3).W, expected)
    try:
        ll.fit(Column(X, nulls=3), y)
    except ll.DataError as why:
        assert "null" in str(why) or "missing" in str(why), why
    else:
        raise AssertionError("nulls were taken for numbers")


@tap.case
def arrow_columns():
    pa = module("pyarrow")
    column = pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), 4)
    how, where, kind, sizes = memory(column)
    assert how.startswith("arrow") and where == column.values.buffers()[1].address and kind == "<f4" and sizes == X.shape
    chunks = pa.chunked_array([column.slice(0, 70), column.slice(70)])
    for given in (column, chunks):
        assert np.array_equal(ll.fit(given, pa.array(y), samples=3).W, expected)
    assert np.array_equal(ll.fit(X, pa.chunked_array([y[:9], y[9:]]), samples=3).W, expected)


@tap.case
def polars_columns():
    pl = module("polars")
    frame = pl.DataFrame({"z": pl.Series(X, dtype=pl.Array(pl.Float32, 4)), "y": y})
    assert memory(frame["z"])[3] == X.shape
    assert np.array_equal(ll.fit(frame["z"], frame["y"], samples=3).W, expected)
    assert np.array_equal(ll.fit(pl.DataFrame(X), y, samples=3).W, expected)
    made = ll.fit(X, y, samples=3).predict(X, y)
    assert np.array_equal(made.to_polars()["sr"].to_numpy(), made.sr)


@tap.case
def pandas_frames():
    pd = module("pandas")
    assert np.array_equal(ll.fit(pd.DataFrame(X, columns=list("abcd")), pd.Series(y), samples=3).W, expected)
    made = ll.fit(X, y, samples=3).predict(X, y)
    frame = made.to_pandas()
    assert np.array_equal(frame["label"], made.label) and len(frame) == 200 and "probs" not in frame


@tap.case
def figures():
    matplotlib = module("matplotlib")
    matplotlib.use("svg")
    made = ll.fit(X, y, samples=3).predict(X, y)
    axes = made.plot_risk_coverage()
    line = axes.get_lines()[0]
    _, coverage, risk = made.risk_coverage()
    assert np.array_equal(line.get_xdata(), coverage) and np.array_equal(line.get_ydata(), risk)
    assert made.plot_risk_coverage(by="std", ax=axes) is axes and len(axes.get_lines()) == 2
    assert f"{made.evaluate(interval=0).ece:.4f}" in made.plot_reliability().get_title()
    legend = [text.get_text() for text in made.plot_confidence("margin").get_legend().get_texts()]
    assert legend == [f"right ({int((made.label == y).sum())})", f"wrong ({int((made.label != y).sum())})"], legend


tap.main()
