#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the interface of the library against the one of its first release with this soversion.

  abi.py LIBRARY            compares: functions may be added, and structs that say so may grow; anything else is a violation. Exit 1 if there is one
  abi.py LIBRARY --write    makes the description anew, for a new soversion; the header is kept beside it

LIBRARY is a build with debug information (those for the sanitizers have it). tests/abi/lastlayer.abi is what Debian's abigail-tools read off the
library, tests/abi/lastlayer.h the header that programs of that time were compiled with, tests/abi/may-grow the structs that may get more members at
their end. Which may, and why: ARCHITECTURE.md, "An interface that lasts".
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
folder = root / "tests/abi"
READ = ["abidw", "--headers-dir", root / "include", "--drop-private-types", "--exported-interfaces-only", "--no-parameter-names", "--no-elf-needed",
        "--drop-undefined-syms", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-architecture"]
CHANGED = 4 | 8  # bits of abidiff's exit code: a change, an incompatible one


def describe(library, out):
    subprocess.run([*READ, "--out-file", out, library], check=True)


def main():
    library = pathlib.Path(sys.argv[1]).resolve()
    if "--write" in sys.argv:
        describe(library, folder / "lastlayer.abi")
        shutil.copy(root / "include/lastlayer.h", folder / "lastlayer.h")
        return
    with tempfile.TemporaryDirectory() as scratch:
        now = pathlib.Path(scratch) / "now.abi"
        describe(library, now)
        done = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", folder / "may-grow", folder / "lastlayer.abi", now],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        print("the interface is that of tests/abi, or a larger one")
        return
    print(done.stdout)
    sys.exit("the interface broke: programs built against an older header would fail. Undo it, or add a new name beside the old one"
             if done.returncode & CHANGED else f"abidiff failed with {done.returncode}")


main()
