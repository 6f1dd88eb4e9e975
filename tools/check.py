#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and runs every test: plain, under ASan + UBSan, under TSan, and the fuzz targets. The last line counts them.

  check.py             all of it, each fuzz target for a few seconds
  check.py --fuzz 60   only the fuzz targets, a minute each
"""
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as tree

root = pathlib.Path(__file__).resolve().parent.parent
os.chdir(root)
QUICK = ("-Doptimization=1", "-Ddebug=true")  # of sanitized builds: they compile in half the time
passed = failed = skipped = 0
bad = []


def run(*command, **more):
    return subprocess.run([str(c) for c in command], **more)


def configure(folder, *options, **env):
    options = list(options)
    if (root / folder / "build.ninja").exists():  # perhaps from before the tests' packages were there
        options.append("--reconfigure")
    if folder == "build" and os.environ.get("CI") == "true":  # sanitizers make the compiler see ghosts
        options.append("-Dwerror=true")
    done = run("meson", "setup", folder, *options, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout + f"\ncheck: meson setup {folder} failed")


def build(folder, *targets):
    done = run("ninja", "-C", folder, *targets, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout[-5000:] + f"\ncheck: {folder} does not build")


def count(folder):
    global passed, failed, skipped
    for case in tree.parse(root / folder / "meson-logs/testlog.junit.xml").iter("testcase"):
        name = f"{folder}: {case.get('classname') or ''} {case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            bad.append(name)
        elif case.find("skipped") is not None:
            skipped += 1
            print(f"skipped {name}")
        else:
            passed += 1


def suite(title, folder, *select):
    global failed
    begin = time.time()
    print(f"== {title}", flush=True)
    build(folder)
    done = run("meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", *select, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    before = failed
    count(folder)
    if done.returncode:
        print(done.stdout[-20000:])
        if failed == before:  # a program that timed out or crashed has no case of its own in the list
            failed += 1
            bad.append(f"{folder}: a test program did not end; see the list above")
    print(f"   {time.time() - begin:.0f} s", flush=True)


def fuzz(seconds):
    global passed, failed
    configure("build-fuzz", "-Dfuzz=true", *QUICK, "-Db_lundef=false", CC="clang")
    names = sorted(p.name for p in (root / "tests/fuzz/corpus").iterdir())
    build("build-fuzz", *(f"tests/fuzz/fuzz_{name}" for name in names))
    for name in names:
        target = root / "build-fuzz/tests/fuzz" / f"fuzz_{name}"
        corpus = root / "build-fuzz" / "corpus" / name
        corpus.mkdir(parents=True, exist_ok=True)
        print(f"== fuzz {name}, {seconds} s", flush=True)
        done = run(target, corpus, root / "tests/fuzz/corpus" / name, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1",
                   cwd=root / "build-fuzz", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            failed += 1
            bad.append(f"fuzz {name}")
            print(done.stdout[-5000:])
        else:
            passed += 1


if len(sys.argv) == 3 and sys.argv[1] == "--fuzz":
    fuzz(int(sys.argv[2]))
else:
    configure("build")
    suite("unit and command tests", "build")
    configure("build-asan", "-Db_sanitize=address,undefined", *QUICK, "-Db_lundef=false")
    suite("the same under ASan and UBSan", "build-asan", "--no-suite", "slow", "--no-suite", "browser")
    configure("build-tsan", "-Db_sanitize=thread", *QUICK, "-Db_lundef=false")
    suite("threads under TSan", "build-tsan", "--suite", "threads")
    fuzz(4)

for name in bad:
    print(f"FAILED {name}")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
if os.environ.get("CI") == "true" and skipped:
    print("check: under CI=true a skip is a failure", file=sys.stderr)
    sys.exit(1)
sys.exit(1 if failed or passed == 0 else 0)
