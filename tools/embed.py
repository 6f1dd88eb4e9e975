#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT.c FILE...: makes each file a NUL-terminated array of the library, lli_asset_<stem>."""
import pathlib
import sys

lines = ["/* SPDX-License-Identifier: MIT */", "/* Made by tools/embed.py. */"]
for path in map(pathlib.Path, sys.argv[2:]):
    data = path.read_bytes()
    assert b"\0" not in data and b"</" not in data, f"{path} cannot stand inside an element of a page"
    lines.append(f"extern const char lli_asset_{path.stem}[];")
    lines.append(f"const char lli_asset_{path.stem}[] = {{")
    for i in range(0, len(data), 24):
        lines.append("    " + "".join(f"{b if b < 128 else b - 256}," for b in data[i:i + 24]))
    lines.append("    0};")
pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
