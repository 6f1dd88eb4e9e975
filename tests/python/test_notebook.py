#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The notebook in examples, executed by nbconvert where Jupyter is there (Debian's tests have none: make check-python brings it). It is
committed without outputs."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

NOTEBOOK = tap.SOURCE / "examples/digits.ipynb"


def outputs(notebook):
    return [(kind, "".join(data)) for cell in notebook["cells"] for out in cell.get("outputs", ()) for kind, data in
            ({"text/plain": out["text"]} if "text" in out else out.get("data", {})).items()]


@tap.case
def it_is_committed_clean():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert not outputs(notebook) and all(cell.get("execution_count") is None for cell in notebook["cells"])


@tap.case
def it_runs_and_shows_tables_a_figure_and_the_page():
    for name in ("nbconvert", "ipykernel", "torch", "sklearn", "matplotlib"):
        if importlib.util.find_spec(name) is None:
            raise tap.Skip(f"{name} is not installed")
    folder = pathlib.Path(os.environ.get("LASTLAYER_NOTEBOOK", ".")).resolve()  # names the place where the executed one should stay
    shutil.copy(NOTEBOOK, "digits.ipynb")
    settings = {**os.environ, "JUPYTER_DATA_DIR": os.path.abspath("jupyter"), "IPYTHONDIR": os.path.abspath("ipython"), "JUPYTER_PLATFORM_DIRS": "1"}
    for form in ("notebook", "html"):
        done = subprocess.run([sys.executable, "-m", "nbconvert", "--execute", "--to", form, "--output", folder / f"shown.{form}", "digits.ipynb"],
                              capture_output=True, text=True, env=settings)
        assert done.returncode == 0, done.stderr[-3000:]
        if form == "notebook":
            made = json.loads(next(folder.glob("shown*.ipynb")).read_text(encoding="utf-8"))
            shown = outputs(made)
            pages = [data for kind, data in shown if kind == "text/html"]
            assert any("<table>" in page and "accuracy" in page for page in pages), "no table of metrics"
            assert any(page.startswith("<iframe srcdoc=") for page in pages), "no page"
            assert any(kind == "image/png" for kind, _ in shown), "no figure"
            assert any("left to a person" in data for _, data in shown), shown
            if "LASTLAYER_NOTEBOOK" not in os.environ:
                return


tap.main()
