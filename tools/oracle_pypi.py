#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the fixtures of packages that Debian does not have, with PyPI's, in a virtual environment of its own, and compares as oracle.py does.

  oracle_pypi.py BUILD    the environment stays in BUILD/oracle-pypi and is used again

Exit 1 if a fixture differs, 3 if PyPI cannot be reached.
"""
import pathlib
import subprocess
import sys

import pypi

PACKAGES = ["laplace-torch==0.3", "torch==2.13.0", "numpy"]
FIXTURES = ["laplace_torch"]
root = pathlib.Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    python = pypi.python_with(PACKAGES, pathlib.Path(sys.argv[1]).resolve() / "oracle-pypi", "oracle-pypi")
    sys.exit(subprocess.run([python, root / "tools/oracle.py", *FIXTURES]).returncode)
