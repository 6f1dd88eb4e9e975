# SPDX-License-Identifier: MIT
"""Text that others wrote, in files or as their names, is printed so that it can neither steer a terminal nor forge a line or JSON."""
import json
import os
import re
import struct
import subprocess

import numpy as np

import samples
from tap import COMMAND, SOURCE, case, cases_of, check, main

# Bell, escape sequence, C1 in UTF-8, DEL, right-to-left override and isolate, line separator, tab, line break; then JSON's own marks.
HOSTILE = "\x07\x1b[31m\x9b2J\x7f\u202e\u2067\u061c\u2028\t\r\nforged: line \"},{\\|"
NAME = b"\x1b[2J\xc2\x9b\x7f\xe2\x80\xae\n\xff\xc0\xafforged"  # of a file: also bytes that are not UTF-8
HARMFUL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def run(*words, code=0):
    """Exit code, stdout and stderr; both must be UTF-8 without a harmful character."""
    done = subprocess.run([COMMAND, *[w if isinstance(w, bytes) else str(w) for w in words]], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=240)
    check(done.returncode == code, f"exit {done.returncode} where {code} was expected: {words}\n{done.stderr[-800:]}")
    texts = [stream.decode("utf-8") for stream in (done.stdout, done.stderr)]
    for text in texts:
        found = HARMFUL.search(text)
        check(not found, f"{found and found.group()!r} reaches the terminal: {text[:500]!r}")
        check(not re.search(r"(?m)^\W*forged", text), f"a forged line: {text[:500]!r}")
    return texts


def safetensors(path, arrays, meta):
    kinds = {"float32": "F32", "float64": "F64", "int64": "I64"}
    header, offset = {"__metadata__": meta}, 0
    for name, a in arrays.items():
        header[name] = {"dtype": kinds[str(a.dtype)], "shape": list(a.shape), "data_offsets": [offset, offset + a.nbytes]}
        offset += a.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in arrays.values()))


@case
def inspect_names_and_metadata():
    safetensors(NAME, {HOSTILE: np.ones(2, np.float32)}, {HOSTILE: HOSTILE, "plain": "\u00e9\u4e2d\U0001f600"})
    out, _ = run("inspect", NAME)
    check("\\x1b[31m" in out and "\\u202e" in out and "\\u009b" in out and "\u00e9\u4e2d\U0001f600" in out, out)
    check(out.count("\n") == 5, f"not five lines: {out!r}")  # file, array, "metadata", two entries
    found = json.loads(run("inspect", NAME, "--json")[0])
    check(found["arrays"][0]["name"] == HOSTILE and found["metadata"] == {HOSTILE: HOSTILE, "plain": "\u00e9\u4e2d\U0001f600"}, found)
    check(found["file"] == NAME.decode("utf-8", "replace"), found["file"])


@case
def names_of_arrays_in_refusals():
    safetensors("m.safetensors", {HOSTILE: np.ones((2, 2), np.float32), "y": np.ones((2, 2), np.float32)}, {})
    np.savez("m.npz", **{HOSTILE.replace("\\", ""): np.ones(2), "y": np.ones(2)})
    with open("m.csv", "w", newline="") as f:
        f.write("\x9b31mforged,\u202eb\n1,2\n")
    for file in ["m.safetensors", "m.npz", "m.csv:nothing"]:
        _, err = run("fit", "--features", file, "--labels", file, "-o", "e.safetensors", code=2)
        check(err.count("\n") == 1, err)
    with open("d.csv", "w", newline="") as f:
        f.write("1,2\n3,\x9b31m\u202e\n")
    run("inspect", "d.csv", code=4)


MISSING = [
    ["train", "--data", NAME, "-o", "n.safetensors"],
    ["import", NAME, "-o", "n.safetensors"],
    ["encode", NAME, "--data", NAME, "-o", "f.npz"],
    ["fit", "--features", NAME, "--labels", NAME, "-o", "e.safetensors"],
    ["fit", "--network", NAME, "--data", NAME, "-o", "e.safetensors"],
    ["predict", NAME, "--features", NAME, "-o", "p.npz"],
    ["evaluate", NAME],
    ["evaluate", "--probs", NAME, "--labels", NAME],
    ["threshold", NAME, "--risk", "0.1"],
    ["compare", "--features", NAME, "--labels", NAME, "--test-features", NAME, "--test-labels", NAME],
    ["search", "--store", NAME, "--show"],
    ["search", "--features", NAME, "--labels", NAME, "--test-features", NAME, "--test-labels", NAME, "--store", "s"],
    ["reproduce", NAME],
    ["report", NAME, "-o", "r.html"],
    ["inspect", NAME],
    ["convert", NAME, "-o", "c.npy"],
    ["convert", "x.npy", "-o", NAME],
    [NAME],
    ["help", NAME],
    ["fit", b"--" + NAME],
    ["fit", "--method", NAME],
    ["evaluate", "--bins", NAME],
]


@cases_of([(" ".join(w if isinstance(w, str) else "X" for w in words), words) for words in MISSING])
def refusals_quote_names(words):
    np.save("x.npy", np.zeros(3))
    done = subprocess.run([COMMAND, *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=240)
    out, err = run(*words, code=done.returncode)
    check(done.returncode in (2, 3, 4, 5, 6), f"exit {done.returncode}")
    check(not out and err.count("\n") == 1 and "forged" in err, f"not one sentence: {err!r}")


@case
def summaries_name_their_output():
    samples.make()
    run("fit", "--features", "features.npy", "--labels", "labels.npy", "--samples", "3", "-o", NAME + b".safetensors")
    run("predict", NAME + b".safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "-o", NAME + b".npz")
    out, _ = run("report", NAME + b".npz", "-o", NAME + b".html")
    check("\\x1b[2J" in out and "\\xff" in out, out)
    json.loads(run("evaluate", NAME + b".npz", "--json")[0])
    json.loads(run("threshold", NAME + b".npz", "--coverage", "0.5", "--json")[0])
    run("convert", NAME + b".npz:sr", "-o", NAME + b".npy")


@case
def a_forged_ensemble():
    samples.make()
    meta = {"format": "lastlayer-ensemble-1", "method": HOSTILE, "samples": "1", "version": HOSTILE}
    safetensors("e.safetensors", {"W": np.ones((1, 3, 6), np.float32), "b": np.ones((1, 3), np.float32), "weight": np.ones(1)}, meta)
    run("inspect", "e.safetensors")
    json.loads(run("inspect", "e.safetensors", "--json")[0])
    done = subprocess.run([COMMAND, "predict", "e.safetensors", "--features", "test_features.npy", "-o", "p.npz"], capture_output=True)
    run("predict", "e.safetensors", "--features", "test_features.npy", "-o", "p.npz", code=done.returncode)


@case
def a_forged_store():
    samples.make()
    data = ["--features", "features.npy", "--labels", "labels.npy", "--test-features", "test_features.npy", "--test-labels", "test_labels.npy"]
    run("search", *data, "--method", "point,sgd", "--lr", "0.1", "--samples", "2", "--store", "s")
    lines = [json.loads(line) for line in open("s/runs.jsonl")]
    forged = {**lines[-1], "trial": HOSTILE, "run": HOSTILE, "method": HOSTILE}
    with open("s/runs.jsonl", "a") as f:
        f.write(json.dumps(forged) + "\n" + "\x1b[31mno trial\n")
    out, _ = run("search", "--store", "s", "--show", "--json")
    found = json.loads(out)
    check(sorted(t["trial"] for t in found["trials"]) == sorted([HOSTILE] + [t["trial"] for t in lines]), found["trials"])
    check(set(found["best"]) == {"point", "sgd", HOSTILE} and found["best"][HOSTILE] == HOSTILE, found["best"])
    for form in ["--csv", "--markdown", None]:
        out, _ = run("search", "--store", "s", "--show", *([form] if form else []))
        rows = [line for line in out.splitlines() if "forged" in line]
        check(len(rows) == 1, rows)
        if form == "--markdown":
            cells = re.split(r"(?<!\\)(?:\\\\)*\|", rows[0])
            heads = next(line for line in out.splitlines() if "method" in line).split("|")
            check(len(cells) == len(heads), f"a name adds cells: {rows[0]}")
    # The same name in best.json, which a search that goes on writes, and in a page.
    done = subprocess.run([COMMAND, "report", "s", "-o", "r.html"], capture_output=True)
    run("report", "s", "-o", "r.html", code=done.returncode)


@case
def class_names_in_a_page():
    samples.make()
    with open("names.txt", "w", newline="") as f:
        f.write("\x1b[31m\u202e<script>alert(1)</script>\nb\x9b\nc\u2028\n")
    run("report", "--probs", "probs.npy", "--labels", "test_labels.npy", "--class-names", "names.txt", "--title", HOSTILE, "-o", "r.html")
    page = open("r.html", encoding="utf-8").read()
    found = re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", page)
    check(not found, f"{found and found.group()!r} in the page")
    check("<script>alert" not in page, "a class name became a script")


@case
def a_forged_network_text():
    samples.make()
    safetensors("n.safetensors", {"layers.0.W": np.ones((3, 6), np.float32)}, {"format": "lastlayer-network-1", "net": HOSTILE, HOSTILE: "1"})
    for words in [["inspect", "n.safetensors"], ["inspect", "n.safetensors", "--json"]]:
        run(*words)
    for words in [["encode", "n.safetensors", "--data", "features.npy", "-o", "f.npz"],
                  ["import", "n.safetensors", "-o", "o.safetensors"]]:
        done = subprocess.run([COMMAND, *words], capture_output=True)
        check(done.returncode in (2, 3, 4, 5), done)
        run(*words, code=done.returncode)


@case
def only_the_gate_prints():
    """Whoever adds a command prints through term.h, which escapes."""
    for file in sorted((SOURCE / "cli").glob("*.c")):
        if file.name in ("term.c", "help.c", "manual.c", "complete.c", "main.c"):  # the gate itself, and our own words
            continue
        found = re.search(r"(?<![a-z_])(printf|fprintf|vprintf|fputs|puts|putchar|fputc|putc|fwrite)\s*\(", file.read_text())
        check(not found, f"{file.name} calls {found and found.group(1)}; it should print through term.h")


if __name__ == "__main__":
    main()
