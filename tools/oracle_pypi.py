#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the fixtures of packages that Debian does not have, with PyPI's, in a virtual environment of its own, and compares as oracle.py does.

  oracle_pypi.py BUILD    the environment stays in BUILD/oracle-pypi and is used again

Exit 1 if a fixture differs, 3 if PyPI cannot be reached.
"""
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["laplace-torch==0.3", "torch==2.13.0", "numpy"]
FIXTURES = ["laplace_torch"]
root = pathlib.Path(__file__).resolve().parent.parent


def main():
    place = pathlib.Path(sys.argv[1]).resolve() / "oracle-pypi"
    python = place / "bin/python"
    if not python.exists():
        venv.create(place, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-1500:], file=sys.stderr)
        print(f"oracle-pypi: pip could not install {' '.join(PACKAGES)}; it needs PyPI, or a mirror that pip knows", file=sys.stderr)
        return 3
    # laplace-torch brings one that may be built for another torch, and needs it for nothing
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "torchvision"], capture_output=True)
    return subprocess.run([python, root / "tools/oracle.py", *FIXTURES]).returncode


if __name__ == "__main__":
    sys.exit(main())
