# SPDX-License-Identifier: MIT
"""The programs of examples/, as C and as C++, against the command."""
import json
import os
import re
import subprocess

import numpy

import samples
import tap

PROGRAMS = dict(zip(os.environ["EXAMPLE_NAMES"].split(":"), os.environ["EXAMPLE_PATHS"].split(":")))


def program(name, *arguments, text=None):
    done = subprocess.run([PROGRAMS[name], *arguments], input=text, capture_output=True, text=True, timeout=tap.TIMEOUT)
    tap.check(done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr}")
    return done.stdout


@tap.cases_of([(name, name) for name in PROGRAMS if name.startswith("tour")])
def tour(name):
    samples.make()
    out = program(name, "features.npy", "labels.npy", "test_features.npy", "test_labels.npy")
    tap.run("fit", "--features", "features.npy", "--labels", "labels.npy", "--method", "sgld", "--samples", 20, "-o", "e.safetensors")
    tap.run("predict", "e.safetensors", "--features", "test_features.npy", "--labels", "test_labels.npy", "-o", "p.npz")
    expected, _ = tap.run("evaluate", "p.npz", "--json")
    accuracy, aurc = re.search(r"accuracy ([0-9.]+), AURC\(sr\) ([0-9.]+)", out).groups()
    expected = json.loads(expected)
    tap.check(abs(float(accuracy) - expected["accuracy"]) < 1e-4 and abs(float(aurc) - expected["aurc"]["sr"]) < 1e-5, f"{out} is not {expected}")


@tap.cases_of([(name, name) for name in PROGRAMS if name.startswith("serve")])
def serve(name):
    samples.make()
    tap.run("fit", "--features", "features.npy", "--labels", "labels.npy", "--method", "dropout", "--samples", 10, "--epochs", 2, "-o", "e.safetensors")
    tap.run("predict", "e.safetensors", "--features", "test_features.npy", "-o", "p.npz")
    rows = numpy.load("test_features.npy")[:20]
    predicted = numpy.load("p.npz")
    cut = float(numpy.median(predicted["sr"][:20]))
    out = program(name, "e.safetensors", repr(cut), text="\n".join(" ".join(repr(float(x)) for x in row) for row in rows)).splitlines()
    tap.check(len(out) == 20, f"{len(out)} answers for 20 rows")
    for line, label, sr in zip(out, predicted["label"], predicted["sr"]):
        expected = f"I don't know ({sr:.4f})" if sr < cut else f"{label} ({sr:.4f})"
        tap.check(line == expected, f"{line} is not {expected}")


if __name__ == "__main__":
    tap.main()
