#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes every committed fixture again and compares: tests/oracle/NAME.py writes NAME.json, tests/fixtures/NAME.json is what it wrote
when it was committed. Numbers may differ by 1e-6 relative; "made_by" (script and versions) and "made_files" (which
hold dates) are not compared. A script that misses a package ends with 77. Exit code 1 if one differs.

  oracle.py            all of them
  oracle.py NAME ...   these
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
SHOWN = 10


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def differences(old, new, where):
    """Yields a line for each place where the two differ."""
    if is_number(old) and is_number(new):
        if not math.isclose(old, new, rel_tol=1e-6, abs_tol=1e-12):
            yield f"{where}: committed {old}, now {new}"
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key in ("made_by", "made_files"):
                continue
            if key not in old or key not in new:
                yield f"{where}.{key}: only {'now' if key in new else 'in the committed one'}"
            else:
                yield from differences(old[key], new[key], f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: committed {len(old)} elements, now {len(new)}"
        else:
            for i, (a, b) in enumerate(zip(old, new)):
                yield from differences(a, b, f"{where}[{i}]")
    elif old != new:
        yield f"{where}: committed {old!r}, now {new!r}"


def compare(script, folder):
    name = script.stem
    committed, made = root / "tests/fixtures" / f"{name}.json", pathlib.Path(folder) / f"{name}.json"
    done = subprocess.run([sys.executable, script, made], cwd=script.parent, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode == 77:
        return None  # it has said what is missing
    if done.returncode:
        return [f"{name}: the script failed"]
    if not committed.exists():
        return [f"{name}: there is no {committed.relative_to(root)}"]
    return list(differences(json.loads(committed.read_text()), json.loads(made.read_text()), name))


def main():
    names = sys.argv[1:]
    scripts = [s for s in sorted((root / "tests/oracle").glob("*.py")) if not names or s.stem in names]
    lost = {f.stem for f in (root / "tests/fixtures").glob("*.json")} - {s.stem for s in scripts}
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for script in scripts:
            found = compare(script, folder)
            print(f"{script.stem}: {'not made' if found is None else f'{len(found)} differences' if found else 'same'}", flush=True)
            for line in (found or [])[:SHOWN]:
                print(f"  {line}")
            bad += bool(found)
    for name in sorted(lost) if not names else []:
        print(f"{name}: a fixture without a script")
        bad += 1
    sys.exit(1 if bad or not scripts else 0)


if __name__ == "__main__":
    main()
