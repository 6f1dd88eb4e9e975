#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fuzz targets of build-fuzz: what a run is, and the count of what they did. tools/check.py builds and runs them.

  fuzz.py --keep    adds to tests/fuzz/corpus what runs found, as far as it reaches new code and is small
  fuzz.py --table   compares the table of docs/reliability.md with tests/fuzz/counts.csv: a test
"""
import concurrent.futures
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent
seeds = root / "tests/fuzz/corpus"
built = root / "build-fuzz"
counts = root / "tests/fuzz/counts.csv"
page = root / "docs/reliability.md"
BEGIN, END = "<!-- tests/fuzz/counts.csv -->\n", "<!-- end of counts -->\n"
COLUMNS = ("target", "executions", "seconds", "crashes", "edges")
LONGEST = {"number": 128, "net": 128, "split": 256, "escape": 256, "lists": 256, "grid": 512, "options": 512, "names": 512, "slots": 1024}  # bytes, else:
LONGEST_ELSE = 4096
CORPUS_EACH, CORPUS_FILE = 48 << 10, 8 << 10  # bytes of found inputs kept per target, and of one

# What a target reads, for the table.
READS = {
    "npy": ".npy", "npz": ".npz", "safetensors": ".safetensors", "idx": ".idx", "idx_gz": ".idx.gz", "csv": ".csv", "cifar": "CIFAR .bin",
    "png": ".png", "file": "a file of any name, and one array of it", "json": "JSON, against jansson",
    "ensemble": "an ensemble; predicts a row",
    "network": "a network; encodes a row", "import": "a network of Keras or PyTorch", "dataset": "features and labels, a head, images",
    "predictions": "predictions; evaluates them", "outputs": "probabilities and logits of others", "costs": "a cost matrix",
    "names": "class names", "evaluation": "the JSON of an evaluation", "trials": "runs.jsonl of a search",
    "store": "all files of a search's store", "partial": "the work file of a fit", "slots": "the work file of a training",
    "options": "the command line", "grid": "the lists of a search", "lists": "rows, classes, shuffles", "net": "the text of a network",
    "number": "a number, against the C library", "split": "FILE:NAME", "escape": "text made harmless, against jansson",
}


def targets():
    return sorted(p.name for p in seeds.iterdir())


def one(name, seconds):
    """Runs a target. Returns its name, whether it came through, its row of counts, and what it printed."""
    found = built / "corpus" / name
    crashes = built / "crashes"
    for folder in (found, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    program = built / "tests/fuzz" / f"fuzz_{name}"
    begin = time.time()
    done = subprocess.run(
        [program, found, seeds / name, f"-max_total_time={seconds}", f"-max_len={LONGEST.get(name, LONGEST_ELSE)}", "-timeout=5",
         "-rss_limit_mb=512", "-print_final_stats=1", f"-dict={root / 'tests/fuzz/words.dict'}", f"-artifact_prefix={crashes}/{name}-"],
        cwd=built, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    text = done.stdout
    executions = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    edges = re.findall(r"\bcov: (\d+)", text)
    row = {"target": name, "executions": int(executions[-1]) if executions else 0, "seconds": round(time.time() - begin),
           "crashes": int(done.returncode != 0), "edges": int(edges[-1]) if edges else 0}
    for path in re.findall(r"Test unit written to (\S+)", text):
        text += f"\nto see it again: {os.path.relpath(program)} {os.path.relpath(path)}\n"
    return name, done.returncode == 0, row, text


def run(names, seconds):
    """Runs targets, one per processor, and yields each as it ends, as one() does."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for job in concurrent.futures.as_completed([pool.submit(one, name, seconds) for name in names]):
            yield job.result()


def read_counts():
    if not counts.exists():
        return {}
    with counts.open(newline="") as file:
        return {row["target"]: {k: row[k] if k == "target" else int(row[k]) for k in COLUMNS} for row in csv.DictReader(file)}


def add_count(row):
    """Adds the row to the file: sums, and the most edges that any run reached. Then writes the table of the page again."""
    rows = read_counts()
    old = rows.get(row["target"], dict.fromkeys(COLUMNS, 0))
    rows[row["target"]] = {"target": row["target"], **{k: old[k] + row[k] for k in COLUMNS[1:4]}, "edges": max(old["edges"], row["edges"])}
    with counts.open("w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows[name] for name in sorted(rows))
    if page.exists():
        text = page.read_text()
        head, rest = text.split(BEGIN)
        page.write_text(head + BEGIN + table() + END + rest.split(END)[1])


def table():
    rows = read_counts()
    lines = ["| target | reads | executions | seconds | crashes | edges |", "|---|---|---:|---:|---:|---:|"]
    for name in targets():
        row = rows.get(name, dict.fromkeys(COLUMNS, 0))
        lines.append(f"| `{name}` | {READS[name]} | {row['executions']:,} | {row['seconds']:,} | {row['crashes']} | {row['edges']:,} |")
    total = {k: sum(row[k] for row in rows.values()) for k in COLUMNS[1:4]}
    lines.append(f"| all | | {total['executions']:,} | {total['seconds']:,} | {total['crashes']} | |")
    return "\n".join(lines) + "\n"


def check_table():
    text = page.read_text()
    if text.count(BEGIN) != 1 or BEGIN + table() + END not in text:
        sys.exit("fuzz: the table of docs/reliability.md is not that of tests/fuzz/counts.csv; a run of make fuzz writes both")


def keep():
    """Small inputs that reach what the committed ones do not, the smallest first."""
    for name in targets():
        with tempfile.TemporaryDirectory() as folder:
            merged = pathlib.Path(folder) / "merged"
            shutil.copytree(seeds / name, merged)
            before = {p.name for p in merged.iterdir()}
            subprocess.run([built / "tests/fuzz" / f"fuzz_{name}", "-merge=1", "-rss_limit_mb=512", merged, built / "corpus" / name], check=True,
                           cwd=built, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            room = CORPUS_EACH - sum(p.stat().st_size for p in (seeds / name).iterdir())
            for path in sorted((p for p in merged.iterdir() if p.name not in before), key=lambda p: (p.stat().st_size, p.name)):
                size = path.stat().st_size
                if size <= min(CORPUS_FILE, room):
                    shutil.copy(path, seeds / name / path.name)
                    room -= size


def main(arguments):
    if arguments == ["--table"]:
        check_table()
    elif arguments == ["--keep"]:
        keep()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
