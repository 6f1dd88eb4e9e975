#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines of C end by column 140. Usage: columns.py ROOT. clang-format --lines=N:N wraps one."""
import pathlib
import sys

root, limit, bad = pathlib.Path(sys.argv[1]), 140, 0
for folder in "include", "src", "cli", "examples", "tests", "bench":
    for path in sorted((root / folder).rglob("*.[ch]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > limit:
                print(f"{path.relative_to(root)}:{number}: {len(line)} columns, {limit} is the limit")
                bad += 1
sys.exit(1 if bad else 0)
