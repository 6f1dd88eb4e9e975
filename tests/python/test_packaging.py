#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What pip would install, configured as meson-python does it but not compiled: the package and the command, kernels with -O3. make wheel
builds it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

PROJECT = tomllib.loads((tap.SOURCE / "pyproject.toml").read_text(encoding="utf-8"))
FIRST = ["-Ddebug=false", "-Doptimization=2", "--prefix=/usr"]  # meson-python 0.12 puts these before ours


@tap.case
def what_lands_in_the_wheel():
    if not shutil.which("meson"):
        raise tap.Skip("no meson here")
    arguments = PROJECT["tool"]["meson-python"]["args"]["setup"]
    done = subprocess.run(["meson", "setup", tap.SOURCE, "b", *FIRST, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    kernels = [one["command"] for one in json.loads(pathlib.Path("b/compile_commands.json").read_text()) if "/kernels/" in one["file"]]
    assert kernels and all(re.findall(r" -O\S+", one)[-1] == " -O3" for one in kernels)
    plan = json.loads(subprocess.run(["meson", "introspect", "--installed", "b"], capture_output=True, text=True, check=True).stdout)
    names = sorted(place.split("/lastlayer/")[-1] if "-packages/lastlayer/" in place else place for place in plan.values())
    sources = sorted(one.name for one in (tap.SOURCE / "python/lastlayer").iterdir() if one.suffix in (".py", ".pyi", ".typed"))
    made = [name for name in names if name.endswith(".pyi") and name not in sources]
    assert sorted(sources + made + ["_lastlayer.abi3.so", "/usr/bin/lastlayer"]) == names and len(made) >= 7, names
    assert all("site-packages" in place or "dist-packages" in place or place == "/usr/bin/lastlayer" for place in plan.values()), plan


@tap.case
def what_it_needs():
    project = PROJECT["project"]
    assert [one.split(">")[0] for one in project["dependencies"]] == ["numpy"] and project["requires-python"] == ">=3.11"
    assert {"torch", "sklearn", "plots"} < set(project["optional-dependencies"])
    assert set(PROJECT["tool"]["meson-python"]["args"]) == {"setup", "compile", "dist", "install"}  # 0.12 wants all of them


@tap.case
def the_installed_description():
    """Of the interpreter that has it installed: make wheel asks for it there."""
    import importlib.metadata

    if os.environ.get("PYTHONPATH"):
        raise tap.Skip("the package lies in a build folder")
    import lastlayer

    assert importlib.metadata.version("lastlayer") == lastlayer.__version__
    files = {str(one) for one in importlib.metadata.files("lastlayer")}
    assert "lastlayer/py.typed" in files and any(name.endswith("bin/lastlayer") for name in files)


tap.main()
