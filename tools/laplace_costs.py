# SPDX-License-Identifier: MIT
"""What laplace takes, and what the prior precision is worth: the numbers of docs/results/laplace.md. For tools/results.py."""
import json
import os
import pathlib
import subprocess
import time

import numpy as np

COMMAND = "build/lastlayer"
folder = pathlib.Path("results/laplace")


def measured(commands, *words):
    """(seconds, peak in MB) of the command."""
    words = [COMMAND, *map(str, words)]
    print("$", " ".join(words), flush=True)
    begin = time.time()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit("results: this failed: " + " ".join(words))
    seconds = time.time() - begin
    commands.append({"command": " ".join(words[1:]), "seconds": round(seconds, 1)})
    return seconds, usage.ru_maxrss / 1024


def costs(commands, title, fit, rows, count):
    ensemble = folder / "cost.safetensors"
    ensemble.unlink(missing_ok=True)
    fitted = measured(commands, "fit", *fit, "--method", "laplace", "-o", ensemble)
    row = {"head": title, "fit seconds": fitted[0], "fit MB": fitted[1], "file MB": ensemble.stat().st_size / 1e6}
    for link in ("mc", "probit"):
        seconds, peak = measured(commands, "predict", ensemble, "--features", rows, "--link", link, "--no-probs", "-o", folder / "p.npz")
        row |= {f"{link} ms per row": 1000 * seconds / count, f"{link} MB": peak}
    return row


def imagenet(commands, features, head):
    data, given = np.load(features), np.load(head)
    np.save(folder / "z.npy", data["features"][:2500].astype(np.float32)), np.save(folder / "y.npy", data["labels"][:2500])
    np.save(folder / "new.npy", data["features"][2500:2700].astype(np.float32))
    np.savez(folder / "head.npz", W=given["W"].astype(np.float32), b=given["b"])
    fit = ("--features", folder / "z.npy", "--labels", folder / "y.npy", "--head", folder / "head.npz")
    return costs(commands, "ImageNet, ResNet-50: K = 1000, D = 2048, N = 2500, kfac, S = 100", fit, folder / "new.npy", 200)


def wide(commands):
    rng, K, D = np.random.default_rng(0), 50000, 64
    W, z = rng.normal(size=(K, D)).astype(np.float32), rng.normal(size=(20000, D)).astype(np.float32)
    y = np.concatenate([(z[i:i + 1000] @ W.T).argmax(1) for i in range(0, len(z), 1000)]).astype(np.int32)
    for name, array in (("z", z), ("y", y), ("new", rng.normal(size=(200, D)).astype(np.float32))):
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "head.npz", W=W, b=np.zeros(K, np.float32))
    fit = ("--features", folder / "z.npy", "--labels", folder / "y.npy", "--head", folder / "head.npz", "--structure", "diagb", "--samples", 20)
    return costs(commands, "synthetic: K = 50000, D = 64, N = 20000, diagb, S = 20", fit, folder / "new.npy", 200)


def priors(lastlayer, commands, features):
    """Accuracy, NLL and ECE on the test rows of CLINC150 for each way to choose tau; theta* alone first."""
    rows = []
    for method, word in (("map", "1"), ("laplace", "1"), ("laplace", "evidence"), ("laplace", "validation")):
        ensemble = folder / f"{method}-{word}.safetensors"
        ensemble.unlink(missing_ok=True)
        seconds, _ = measured(commands, "fit", "--features", features, "--method", method, "--prior-precision", word, "-o", ensemble)
        measured(commands, "predict", ensemble, "--features", f"{features}:features_test", "--labels", f"{features}:labels_test", "-o", folder / "p.npz")
        numbers = json.loads(lastlayer("evaluate", folder / "p.npz", "--json", quiet=True))
        meta = json.loads(lastlayer("inspect", ensemble, "--json", quiet=True))["metadata"]
        rows.append({"method, prior precision": f"{method}, {word}", "tau": float(meta["prior-precision"]), "fit seconds": seconds,
                     **{name: numbers[name] for name in ("accuracy", "nll", "ece")}})
    return rows


def table(rows):
    lines = ["| " + " | ".join(rows[0]) + " |", "|---|" + "---:|" * (len(rows[0]) - 1)]
    return "\n".join(lines + ["| " + " | ".join(f"{x:.3g}" if isinstance(x, float) else str(x) for x in row.values()) + " |" for row in rows]) + "\n"
