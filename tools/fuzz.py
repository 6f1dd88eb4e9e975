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

import counts as reliability

root = pathlib.Path(__file__).resolve().parent.parent
seeds = root / "tests/fuzz/corpus"
built = root / "build-fuzz"
counts = root / "tests/fuzz/counts.csv"
COLUMNS = ("target", "executions", "seconds", "crashes", "reached", "branches")
LONGEST = {"number": 128, "net": 128, "split": 256, "escape": 256, "lists": 256, "grid": 512, "options": 512, "names": 512, "slots": 1024}  # bytes, else:
LONGEST_ELSE = 4096
CORPUS_BYTES, CORPUS_BYTES_EACH, CORPUS_FILES = 32 << 10, 8 << 10, 64  # what is kept of a target's inputs: in all, of one, how many

# What a target reads, and the files whose branches count as its own.
READS = {
    "npy": (".npy", "formats/npy.c"), "npz": (".npz", "formats/npz.c formats/inflate.c formats/npy.c"),
    "safetensors": (".safetensors", "formats/safetensors.c formats/meta.c"), "idx": (".idx", "formats/idx.c"),
    "idx_gz": (".idx.gz", "formats/idx.c formats/inflate.c"), "csv": (".csv", "formats/csv.c formats/number.c"),
    "cifar": ("CIFAR .bin", "formats/cifar.c"), "png": (".png", "formats/png.c"),
    "hdf5": ("what the reader of HDF5 answers", "formats/safetensors.c formats/meta.c"),
    "file": ("a file of any name, and one array of it", "formats/format.c"), "json": ("JSON, against jansson", "formats/tree.c"),
    "ensemble": ("an ensemble; predicts a row", "ensemble/ensemble.c"), "network": ("a network; encodes a row", "interop/trained.c"),
    "import": ("a network of Keras or PyTorch", "interop/import.c interop/foreign.c"),
    "keras": ("a model of Keras, but for its HDF5", "formats/keras.c interop/keras_model.c"),
    "dataset": ("features and labels, a head, images", "data/dataset.c interop/head_file.c interop/images_file.c interop/image_source.c"),
    "predictions": ("predictions; evaluates them", "predict/predictions.c metrics/outcome.c"),
    "outputs": ("probabilities and logits of others", "predict/predictions.c predict/moments.c"),
    "costs": ("a cost matrix", "metrics/evaluate.c"), "names": ("class names", "interop/class_names.c"),
    "evaluation": ("the JSON of an evaluation", "interop/evaluation_file.c"),
    "certificate": ("a certificate; verifies it, shows it", "interop/verification.c store/report_certificate.c report/certificate_card.c"),
    "trials": ("runs.jsonl of a search", "store/results.c"),
    "store": ("all files of a search's store", "store/trial_store.c store/report_inputs.c"),
    "partial": ("the work file of a fit", "store/partial.c"), "slots": ("the work file of a training", "store/slots.c"),
    "options": ("the command line", "args.c"), "grid": ("the lists of a search", "search/grid.c"),
    "lists": ("rows, classes, shuffles", "data/row_list.c data/classes.c"), "net": ("the text of a network", "model/sequence.c"),
    "number": ("a number, against the C library", "formats/number.c"), "split": ("FILE:NAME", "formats/format.c"),
    "escape": ("text made harmless, against jansson", "base/escape.c"),
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
    row = {"target": name, "executions": int(executions[-1]) if executions else 0, "seconds": round(time.time() - begin),
           "crashes": int(done.returncode != 0)}
    for path in re.findall(r"Test unit written to (\S+)", text):
        text += f"\nto see it again: {os.path.relpath(program)} {os.path.relpath(path)}\n"
    return name, done.returncode == 0, row, text


def coverage(name):
    """Branches of the parser's own files that the inputs so far reach, and how many there are."""
    done = subprocess.run([built / "tests/fuzz" / f"fuzz_{name}", "-runs=0", "-print_coverage=1", seeds / name, built / "corpus" / name], cwd=built,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    found = {"reached": 0, "branches": 0}
    for reached, branches, path in re.findall(r"COVERED_FUNC: hits: \d+ edges: (\d+)/(\d+) \S+ (\S+):\d+", done.stdout):
        if path.endswith(tuple("/" + own for own in READS[name][1].split())):
            found["reached"] += int(reached)
            found["branches"] += int(branches)
    return found


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
    """Adds what a run did to the file, with the coverage as it is now. Then writes the table of the page again."""
    rows = read_counts()
    old = rows.get(row["target"], dict.fromkeys(COLUMNS, 0))
    rows[row["target"]] = {"target": row["target"], **{k: old[k] + row[k] for k in COLUMNS[1:4]}, **coverage(row["target"])}
    with counts.open("w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows[name] for name in sorted(rows))
    reliability.write(counts, table())


def table():
    rows = read_counts()
    lines = ["| target | reads | executions | seconds | crashes | branches |", "|---|---|---:|---:|---:|---:|"]
    for name in targets():
        row = rows.get(name, dict.fromkeys(COLUMNS, 0))
        lines.append(f"| `{name}` | {READS[name][0]} | {row['executions']:,} | {row['seconds']:,} | {row['crashes']} "
                     f"| {row['reached']} of {row['branches']} |")
    total = {k: sum(row[k] for row in rows.values()) for k in COLUMNS[1:4]}
    lines.append(f"| all | | {total['executions']:,} | {total['seconds']:,} | {total['crashes']} | |")
    return "\n".join(lines) + "\n"


def keep():
    """Small inputs that reach what the committed ones do not."""
    for name in targets():
        (built / "corpus" / name).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            merged = pathlib.Path(folder) / "merged"
            shutil.copytree(seeds / name, merged)
            before = {p.name for p in merged.iterdir()}
            subprocess.run([built / "tests/fuzz" / f"fuzz_{name}", "-merge=1", "-use_counters=0", "-rss_limit_mb=512", merged, built / "corpus" / name], check=True,
                           cwd=built, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            committed = list((seeds / name).iterdir())
            room, places = CORPUS_BYTES - sum(p.stat().st_size for p in committed), max(0, CORPUS_FILES - len(committed))
            new = sorted((p for p in merged.iterdir() if p.name not in before and p.stat().st_size <= CORPUS_BYTES_EACH),
                         key=lambda p: (p.stat().st_size, p.name))
            for path in new if len(new) <= places else [new[i * len(new) // places] for i in range(places)]:  # of all sizes alike
                if path.stat().st_size <= room:
                    shutil.copy(path, seeds / name / path.name)
                    room -= path.stat().st_size


def main(arguments):
    if arguments == ["--table"]:
        reliability.check(counts, table(), "make fuzz")
    elif arguments == ["--keep"]:
        keep()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
