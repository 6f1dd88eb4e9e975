#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every #include under src/, cli/, libexec/, python/ and examples/ with src/LAYERS. Prints each violation; exit 1 if there is one."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
free, rooms = set(), {}
for line in (root / "src/LAYERS").read_text().splitlines():
    line = line.split("#")[0].strip()
    if not line:
        continue
    name, rest = line.split(":", 1)
    if name == "free":
        free = set(rest.split())
        continue
    sees, system, *_ = (rest + "|").split("|")
    rooms[name.strip()] = (set(sees.split()), set(system.split()))

wrong = []
count = 0
order = list(rooms)
for name, (sees, _) in rooms.items():
    for other in sees:
        if order.index(other) >= order.index(name):
            wrong.append(f"src/LAYERS: {name} may not see {other}, which stands below it")

for room, (sees, system) in rooms.items():
    folder = root / ("src/" + room if (root / "src" / room).is_dir() else room)
    for path in sorted(folder.rglob("*.[ch]")) + sorted(folder.rglob("*.cpp")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            count += 1
            kind, header = match.groups()
            here = f"{path.relative_to(root)}:{number}"
            if header == "lastlayer.h" or (header == "lastlayer-paper.h" and (room == "paper" or path.name == "cmd_reproduce.c")) \
                    or (header == "lastlayer-cluster.h" and (room == "cluster" or path.name == "ranks_mpi.c")):
                continue
            if kind == "<":
                if header not in free and header not in system:
                    wrong.append(f"{here}: <{header}> does not belong to {room}")
            elif "/" not in header and room in ("cli", "examples", "libexec", "python"):
                if not (path.parent / header).exists():
                    wrong.append(f"{here}: \"{header}\" is not a header of {room}")
            else:
                target = header.split("/")[0]
                if target != room and target not in sees:
                    wrong.append(f"{here}: {room} may not see {target}")
                elif not (root / "src" / header).exists():
                    wrong.append(f"{here}: no such header src/{header} (includes name their room)")

print("\n".join(wrong) or f"{count} includes, all as src/LAYERS says")
sys.exit(1 if wrong else 0)
