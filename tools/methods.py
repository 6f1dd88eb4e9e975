#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A method is its row. Looks in src/, cli/ and tests/pipeline/ for code that knows a method by other means: a comparison with its name, its
row by identity, its place in the table, a count of methods, a sentence that lists them. Prints each; exit 1 if there is one."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
table = re.search(r"#define LLI_METHODS\(row\)((?:.*\\\n)*.*)", (root / "src/methods/method.h").read_text())
names = re.findall(r"row\((\w+)\)", table.group(1)) if table else []
if len(names) < 2:
    sys.exit("src/methods/method.h: no table LLI_METHODS of methods")
name = "(?:" + "|".join(names) + ")"
arguments = r"""(?:[^()";]|"[^"]*"|\([^()]*\))*"""

RULES = [
    ("compares a method's name", rf'\b(?:strn?cmp|memcmp|is|is_same)\s*\({arguments}"{name}"'),
    ("knows a row by identity", rf"\blli_method_{name}\b"),
    ("knows a place in the table", r"\bll_method_get\(\s*[0-9]"),
    ("lists the methods", rf'"[^"]*\bexpected [^"]*\b{name}\b(?:, (?:or )?| or |\|){name}\b'),
    ("counts the methods", r"\b(?:\w*METHODS\w*\s*=\s*|seen\s*\[\s*)[0-9]"),
]


def is_row(text, match):
    """The definition in the file of the method."""
    return text[:match.start()].endswith("const lli_method ") and text[match.end():].startswith(" = {")


def find(path):
    text = path.read_text()
    where = path.relative_to(root).as_posix()
    for what, pattern in RULES:
        for match in re.finditer(pattern, text):
            if where.startswith("src/methods/") and is_row(text, match):
                continue
            if re.search(r"\binit\b", match.group(0)):  # its words are those of the option `init`
                continue
            yield f"{where}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {' '.join(match.group(0).split())}"


# the room `paper` speaks of the methods of the paper, by its names
files = [p for folder in ("src", "cli", "tests/pipeline") for p in sorted((root / folder).rglob("*.[ch]")) if "src/paper" not in str(p)]
wrong = [line for path in files for line in find(path)]
print("\n".join(wrong) or f"{len(files)} files, none knows one of {len(names)} methods but by its row")
sys.exit(1 if wrong else 0)
