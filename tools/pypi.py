# SPDX-License-Identifier: MIT
"""A virtual environment with packages that Debian does not have."""
import subprocess
import sys
import venv


def python_with(packages, place, who):
    """The Python of an environment that is made once, in the folder `place`. Exit 3 if PyPI cannot be reached."""
    python = place / "bin/python"
    if not python.exists():
        venv.create(place, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-1500:], file=sys.stderr)
        print(f"{who}: pip could not install {' '.join(packages)}; it needs PyPI, or a mirror that pip knows", file=sys.stderr)
        sys.exit(3)
    # laplace-torch brings one that may be built for another torch, and needs it for nothing
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "torchvision"], capture_output=True)
    return python
