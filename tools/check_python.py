#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tests of the Python package with the current releases of what it works with, from PyPI, in a virtual environment of its own.

  check_python.py BUILD [TEST...]    BUILD has the command and the package (make python); TEST as torch, classifier; without it all

The environment stays in BUILD/check-python and is used again. Exit 1 if a test fails, 3 if PyPI cannot be reached.
"""
import os
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["numpy", "scikit-learn", "pandas", "polars", "pyarrow", "matplotlib", "torch==2.13.0", "keras", "mypy",
            "nbconvert", "ipykernel"]
root = pathlib.Path(__file__).resolve().parent.parent


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    place = build / "check-python"
    python = place / "bin/python"
    if not python.exists():
        venv.create(place, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-1500:], file=sys.stderr)
        print(f"check-python: pip could not install {' '.join(PACKAGES)}; this check needs PyPI, or a mirror that pip knows", file=sys.stderr)
        return 3
    names = "import importlib.metadata as m, sys; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep=', ')"
    print(subprocess.run([python, "-c", names, *(name.split("==")[0] for name in PACKAGES)], capture_output=True, text=True, check=True).stdout, end="")
    environment = {**os.environ, "PYTHONPATH": str(build / "python"), "LASTLAYER": str(build / "lastlayer"), "LASTLAYER_SOURCE": str(root),
                   "PYTHONDONTWRITEBYTECODE": "1", "KERAS_BACKEND": "torch"}
    tests = [root / f"tests/python/test_{name}.py" for name in sys.argv[2:]] or sorted((root / "tests/python").glob("test_*.py"))
    failed = [test.name for test in tests if subprocess.run([python, test], env=environment).returncode != 0]
    print(f"check-python: {len(tests) - len(failed)} of {len(tests)} test programs passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


sys.exit(main())
