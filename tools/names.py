#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names and sizes that the rules of the house ask for. Prints each violation; exit 1 if there is one. Usage: names.py ROOT

- a file name stands for one thing: no two files of src/, cli/ and libexec/ share one (kernels/ref and kernels/simd are two versions of one thing)
- a type name too
- a function of several files, lli_NOUN_..., belongs to its file: NOUN is the name of the file, of the header in its room that declares it, or of
  the room
- a room is a folder of src/ and nothing else
- a file of src/, cli/, libexec/, examples/ and python/ has at most 400 lines, a function at most 60; a room at most what src/LAYERS says behind its last bar
- every C file is formatted as .clang-format says, where clang-format 14 is installed
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys

FILE_LINES, FUNCTION_LINES = 400, 60
# Words of the whole house, short because every file says them.
VERBS = {"lli_fail", "lli_log", "lli_progress", "lli_cancelled", "lli_cancel_check", "lli_need", "lli_need_form", "lli_multiply",
         "lli_option_name", "lli_option_style"}

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
wrong = []
sources = [path for folder in ("src", "cli", "libexec", "examples", "python") for path in sorted((root / folder).rglob("*.[ch]"))]
text = {path: path.read_text() for path in sources}


def here(path):
    return path.relative_to(root).as_posix()


def twins(path):
    return "kernels/ref/" in here(path) or "kernels/simd/" in here(path)


places = collections.defaultdict(list)
for path in sources:
    if not twins(path):
        places[path.name].append(here(path))
for name, found in places.items():
    if len(found) > 1:
        wrong.append(f"{' and '.join(found)} share a name")

types = collections.defaultdict(set)
for path in sources:
    for name in re.findall(r"^(?:\}|typedef [^{;]*[ *]) ?(lli?_\w+);$", text[path], re.M):
        types[name].add(here(path))
for name, found in types.items():
    if len(found) > 1:
        wrong.append(f"{' and '.join(sorted(found))}: two types are called {name}")

DEFINED = re.compile(r"^(?!static\b|typedef\b)[a-z_][\w ]*[ *]+(lli_\w+)\([^;{]*\{", re.M)
for path in sources:
    if path.suffix != ".c" or here(path).startswith("src/kernels/"):
        continue
    headers = {header: text[header] for header in path.parent.glob("*.h")}
    for name in DEFINED.findall(text[path]):
        nouns = [path.stem, path.parent.name] + [header.stem for header, body in headers.items() if re.search(rf"\b{name}\(", body)]
        nouns += ["_".join(reversed(noun.split("_"))) for noun in nouns]  # csv_sink.c has lli_sink_csv
        if name not in VERBS and not any(name.startswith(f"lli_{noun}") for noun in nouns):
            wrong.append(f"{here(path)}: {name} begins like none of {', '.join(sorted(set(nouns)))}")

for path in sources:
    for name in sorted(set(re.findall(r"\blli?_\w+_room\b", text[path]))):
        wrong.append(f"{here(path)}: {name}: a room is a folder of src/, memory to work in is scratch")
for path in sources:
    lines = text[path].splitlines()
    if len(lines) > FILE_LINES:
        wrong.append(f"{here(path)}: {len(lines)} lines, {FILE_LINES} is the limit")
    start = None
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z_].*[^;]$", line) and "(" in line and not line.startswith(("#", "typedef", "/*")):
            start = number
        elif line == "}" and start:
            if number - start + 1 > FUNCTION_LINES:
                wrong.append(f"{here(path)}:{start}: a function of {number - start + 1} lines, {FUNCTION_LINES} is the limit")
            start = None

for line in (root / "src/LAYERS").read_text().splitlines():
    parts = line.split("#")[0].split("|")
    if len(parts) > 2:
        room, limit = parts[0].split(":")[0].strip(), int(parts[2].split()[0])
        lines = sum(len(body.splitlines()) for path, body in text.items() if here(path).startswith(f"src/{room}/"))
        if lines > limit:
            wrong.append(f"src/{room}: {lines} lines, {limit} is the limit; what is not a join belongs into another room")

formatter = shutil.which("clang-format-14")  # other versions break lines in other places
if formatter:
    everything = sources + [path for folder in ("include", "tests", "bench") for path in sorted((root / folder).rglob("*.[ch]"))]
    done = subprocess.run([formatter, "--dry-run", "-Werror", *map(str, everything)], cwd=root, stderr=subprocess.PIPE, text=True)
    for name in sorted(set(re.findall(r"^(\S+):\d+:\d+: error", done.stderr, re.M))):
        wrong.append(f"{here(pathlib.Path(name))}: not as .clang-format has it; run clang-format-14 -i on it")

print("\n".join(wrong) or f"{len(sources)} files, named and sized as the house asks")
sys.exit(1 if wrong else 0)
