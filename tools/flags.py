#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library names options, the command adds dashes. Usage: flags.py ROOT

No text under src/ holds a --flag, unless it quotes a whole command line (lastlayer convert --flatten). What stands in backquotes is the
name of an option of some table, in src/ or cli/, and no %s: lli_option_name is for those. The name of an option is its member's.
"""
import pathlib
import re
import sys

root, bad = pathlib.Path(sys.argv[1]), []
text = re.compile(r'"(?:[^"\\\n]|\\.)*"')
row = re.compile(r'\{\s*(?:\.name = )?"([a-z][a-z0-9-]*)"[^{}]*?(?:AT|offsetof)\((?:\w+, )?([\w.]+)\)|LIST\("([a-z-]+)", [^,]+, (\w+)')
files = {path: path.read_text() for folder in ("src", "cli") for path in sorted((root / folder).rglob("*.[ch]"))}
names = {"head-layout"}
for path, source in files.items():
    for match in row.finditer(source):
        name, member = match[1] or match[3], match[2] or match[4]
        names.add(name)
        if member.split(".")[-1] != name.replace("-", "_"):
            bad.append(f"{path.relative_to(root)}: the option {name} has the member {member}; expected {name.replace('-', '_')}")
for path, source in files.items():
    if path.is_relative_to(root / "cli"):
        continue
    code = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), source, flags=re.S)
    for number, line in enumerate(code.splitlines(), 1):
        for literal in text.findall(line):
            where = f"{path.relative_to(root)}:{number}"
            if re.search(r"--[a-z%]", re.sub(r"lastlayer [a-z]+ --[a-z]+", "", literal)):
                bad.append(f"{where}: {literal} speaks of a flag; write the option in backquotes, without dashes")
            for quoted in re.findall(r'(?<=["\s(])`([a-z%][a-z0-9-]*)', literal):
                if quoted not in names and path != root / "src/base/context.c":
                    bad.append(f"{where}: `{quoted}` is no option of any table")
print("\n".join(bad))
sys.exit(1 if bad else 0)
