#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and runs every test, stage by stage. The last line counts the cases.

  check.py             make check: the stages of CHECK
  check.py --long      make check-long: the stages of LONG, for hours when a machine has nothing else to do
  check.py --aarch64   only the stage of that name
  check.py --fuzz 60   only the fuzz targets, a minute each, or those named after it; adds to the counts in docs/reliability.md

A stage is a row of the table below: a title and a function, which records each case as passed, failed or skipped. A stage that cannot be built
has failed, and the others go on. A skip never fails the run: a test that lacks its data fails by itself where LASTLAYER_REQUIRE_DATA=1.
"""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as tree

import fuzz as fuzzing

root = pathlib.Path(__file__).resolve().parent.parent
os.chdir(root)
QUICK = ("-Doptimization=1", "-Ddebug=true", "-Db_lundef=false")  # of sanitized builds: they compile in half the time
PATIENT = ("--timeout-multiplier", "3")  # and run many times slower
counts = {"passed": 0, "failed": 0, "skipped": 0}
failures = []


class Broken(Exception):
    """A stage that could not run; the text says why."""


def record(verdict, name, why=""):
    counts[verdict] += 1
    if verdict == "failed":
        failures.append(name)
    elif verdict == "skipped":
        print(f"   skipped {name}: {why}", flush=True)


def run(*command, **more):
    """Returns the exit code and everything the command printed."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    return done.returncode, done.stdout


def configure(folder, *options, **env):
    options = list(options)
    if (root / folder / "build.ninja").exists():  # perhaps from before the tests' packages were there
        options.append("--reconfigure")
    if folder in ("build", "build-aarch64") and os.environ.get("CI") == "true":  # sanitizers make the compiler see ghosts
        options.append("-Dwerror=true")
    code, text = run("meson", "setup", folder, *options, env={**os.environ, **env})
    if code:
        raise Broken(f"{text}\nmeson setup {folder} failed")


def build(folder, *targets):
    code, text = run("ninja", "-C", folder, *targets)
    if code:
        raise Broken(f"{text[-5000:]}\n{folder} does not build")


def count(folder):
    """Records the cases of the last run of meson test."""
    for case in tree.parse(root / folder / "meson-logs/testlog.junit.xml").iter("testcase"):
        name = f"{folder}: " + f"{case.get('classname')} {case.get('name')}".split(" / ")[-1]
        if case.find("failure") is not None or case.find("error") is not None:
            record("failed", name)
        elif case.find("skipped") is not None:
            record("skipped", name, case.findtext("system-out") or "no reason given")
        else:
            record("passed", name)


def suite(folder, *select, **env):
    """Builds the folder and runs its tests, or those that meson test selects by these arguments."""
    build(folder)
    tests(folder, "--no-rebuild", *select, **env)


def tests(folder, *select, **env):
    """Runs tests of the folder, and builds first what these need."""
    before = counts["failed"]
    log = root / folder / "meson-logs/testlog.junit.xml"
    log.unlink(missing_ok=True)
    code, text = run("meson", "test", "-C", folder, "--print-errorlogs", *select, env={**os.environ, **env})
    if not log.exists():
        raise Broken(f"{text[-5000:]}\nno test of {folder} ran")
    count(folder)
    if code:
        print(text[-20000:])
        if counts["failed"] == before:  # a program that timed out or crashed has no case of its own in the list
            record("failed", f"{folder}: a test program did not end; see the list above")


def plain():
    configure("build")
    build("build", "tests/kernels/levels")
    code, text = run("build/tests/kernels/levels")
    if code:
        raise Broken(f"{text}\nbuild/tests/kernels/levels does not run")
    print("   " + text.strip().replace("\n", "\n   "), flush=True)
    suite("build", "--no-suite", "torture", "--no-suite", "mpi", "--no-suite", "python")


def python():
    """The package with Debian's numpy, scikit-learn, torch and mypy; the first stage built it."""
    if "python-package" not in run("ninja", "-C", "build", "-t", "targets", "all")[1]:
        record("skipped", "the Python package", "no Python of 3.11 or later with its headers: tools/setup check installs them")
        return
    suite("build", "--suite", "python")


def asan():
    configure("build-asan", "-Db_sanitize=address,undefined", *QUICK)
    suite("build-asan", "--no-suite", "slow", "--no-suite", "browser", *PATIENT)
    if not shutil.which("abidiff"):
        record("skipped", "the interface against tests/abi", "no abidiff: tools/setup check installs it")
    else:
        library = next((root / "build-asan").glob("liblastlayer.so.*.*.*[0-9]"))
        code, text = run("tools/abi.py", library)
        if code:
            print(text)
        record("failed" if code else "passed", "the interface against tests/abi")


def tsan():
    configure("build-tsan", "-Db_sanitize=thread", *QUICK)
    tests("build-tsan", "--suite", "threads", *PATIENT, LASTLAYER_TEST_SAMPLE="1")


def aarch64(*select, **env):
    """The rooms that need the C library alone, built for aarch64 and run by qemu-user."""
    lacking = [tool for tool in ("aarch64-linux-gnu-gcc", "qemu-aarch64") if not shutil.which(tool)]
    if platform.machine() == "aarch64":
        record("skipped", "aarch64 under qemu", "this machine is one, and the tests above ran on it")
    elif lacking:
        record("skipped", "aarch64 under qemu", f"no {' and no '.join(lacking)}: tools/setup check installs what is missing")
    else:
        configure("build-aarch64", "--cross-file", "tests/cross/aarch64.ini", "-Dbare=true")
        suite("build-aarch64", *select, **env)


def some_aarch64():
    aarch64("--suite", "base", "--suite", "kernels", "--suite", "predict", "--suite", "metrics", LASTLAYER_TEST_SAMPLE="1")


def fuzz(seconds, names=(), counted=False):
    names = names or fuzzing.targets()
    configure("build-fuzz", "-Dfuzz=true", *QUICK, CC="clang")
    build("build-fuzz", *(f"tests/fuzz/fuzz_{name}" for name in names))
    for name, passed, row, text in fuzzing.run(names, seconds):
        if counted:
            fuzzing.add_count(row)
            print(f"   {name}: {row['executions']:,} executions in {row['seconds']} s", flush=True)
        if not passed:
            print(text[-8000:], flush=True)
        record("passed" if passed else "failed", f"fuzz {name}")


def mpi():
    """lastlayer-mpi on 2 and 3 ranks of this machine."""
    if not (root / "build/lastlayer-mpi").exists():
        record("skipped", "2 and 3 ranks under mpirun", "build/lastlayer-mpi is not there, since MPI is not: tools/setup check installs Open MPI")
    else:
        suite("build", "--suite", "mpi")


AARCH64 = ("kernels, random numbers, predictions and metrics on aarch64 under qemu, a sample of shapes", some_aarch64)
CHECK = (
    ("unit and command tests", plain),
    ("the same under ASan and UBSan", asan),
    ("threads under TSan, a sample of cases", tsan),
    AARCH64,
    ("fuzz targets, 3 s each", lambda: fuzz(3)),
    ("Python", python),
    ("MPI: 2 and 3 ranks, kills and full disks", mpi),
    ("torture, a sample", lambda: suite("build", "--suite", "torture")),
)
LONG = (
    ("aarch64 under qemu, every shape, data and networks too", lambda: aarch64("--timeout-multiplier", "10")),
    ("reproduce --quick of every experiment on images", lambda: suite("build", "cli/quick", LASTLAYER_TEST_LONG="1")),
)


def main(arguments):
    stages = CHECK
    if len(arguments) > 1 and arguments[0] == "--fuzz":
        stages = ((f"fuzz targets, {arguments[1]} s each", lambda: fuzz(int(arguments[1]), arguments[2:], True)),)
    elif arguments == ["--long"]:
        stages = LONG
    elif arguments == ["--aarch64"]:
        stages = (AARCH64,)
    elif arguments:
        sys.exit(__doc__)
    for title, stage in stages:
        print(f"== {title}", flush=True)
        begin = time.time()
        try:
            stage()
        except Broken as why:
            print(why)
            record("failed", title)
        print(f"   {time.time() - begin:.0f} s", flush=True)
    for name in failures:
        print(f"FAILED {name}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
