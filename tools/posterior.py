# SPDX-License-Identifier: MIT
"""docs/results/posterior: how near each method comes to the exact posterior of a head, and what it costs. Called by tools/results.py.

The reference is a long run of hmc. KL is the mean over the test rows of KL(exact, method) of the predicted probabilities; sd is the median ratio of the
standard deviations over members of p(label), method to exact, over the rows whose exact one is above 1e-4 and whose label is the same.
"""
import json
import os
import pathlib
import resource
import struct

import numpy as np

NEAR = ["--method", "sgld", "--precondition", "kfac", "--batch-size", 1024]
ROWS = {
    "map": ["--method", "map"],
    "laplace": ["--method", "laplace"],
    "laplace, full": ["--method", "laplace", "--structure", "full"],
    "sgd": ["--method", "sgd"],
    "sgld": ["--method", "sgld"],
    "sghmc": ["--method", "sghmc"],
    "cyclical": ["--method", "cyclical"],
    "psgld": ["--method", "psgld"],
    "swag": ["--method", "swag"],
    "bootstrap": ["--method", "bootstrap"],
    "bootstrap, solve": ["--method", "bootstrap", "--solve"],
    "dropout": ["--method", "dropout"],
    "sgld, kfac (lr .1)": ["--method", "sgld", "--precondition", "kfac"],
    "sgld, kfac, lr .01": ["--method", "sgld", "--precondition", "kfac", "--lr", 0.01],
    "sgld, kfac, lr .03, B 1024, thin 30, S 400": [*NEAR, "--lr", 0.03, "--thin", 30, "--samples", 400],
    "sgld, kfac, lr .02, B 1024, thin 25, S 800": [*NEAR, "--lr", 0.02, "--thin", 25, "--samples", 800],
    "sgld, kfac, lr .01, B 1024, thin 100, S 400": [*NEAR, "--lr", 0.01, "--thin", 100, "--samples", 400],
}
FULL_LIMIT = 8192  # parameters of laplace, full


def tensors(path):
    """{name: array} of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    types = {"F32": np.float32, "F64": np.float64}
    found = {name: entry for name, entry in header.items() if name != "__metadata__" and entry["dtype"] in types}
    return {name: np.frombuffer(data[8 + length:][slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"]) for name, entry in found.items()}


def predictive(ensemble, z):
    """Mean and sd over members of the probabilities [N,K] of rows z."""
    mean = square = 0
    for W, b in zip(ensemble["W"].astype(np.float64), ensemble["b"].astype(np.float64)):
        f = z @ W.T + b
        p = np.exp(f - f.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        mean, square = mean + p, square + p * p
    S = len(ensemble["W"])
    return mean / S, np.sqrt(np.maximum(square / S - (mean / S) ** 2, 0))


def divergence(exact, probs):
    """Mean over rows of KL(exact, probs)."""
    p, q = np.maximum(exact, 1e-300), np.maximum(np.asarray(probs, np.float64), 1e-38)
    return float(np.mean(np.sum(p * np.log(p / q), axis=1)))


def spread(exact, exact_sd, probs, sd):
    """Median ratio of the sd of p(label); sd [N] of the method's own label."""
    label = probs.argmax(1)
    width = np.take_along_axis(exact_sd, label[:, None], 1)[:, 0]
    rows = (label == exact.argmax(1)) & (width > 1e-4)
    return float(np.median(sd[rows] / width[rows]))


class Task:
    """One head: its rows, theta* and reference, in a folder."""

    def __init__(self, lastlayer, features, folder, draws):
        self.lastlayer, self.features, self.folder, self.draws = lastlayer, str(features), pathlib.Path(folder), draws  # of hmc, in two chains
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = ["--features", f"{features}:features_train", "--labels", f"{features}:labels_train"]
        data = np.load(features)
        self.z, self.truth, self.shape = data["features_test"].astype(np.float64), data["labels_test"], (*data["features_train"].shape, len(np.unique(data["labels_train"])))

    def path(self, name):
        return str(self.folder / name)

    def fit(self, name, flags):
        """CPU seconds of a fit, which is made once."""
        file, seconds = self.path(name + ".safetensors"), self.folder / (name + ".seconds")
        if not (os.path.exists(file) and seconds.exists()):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.lastlayer("fit", *self.rows, *flags, "-o", file)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.write_text(str(round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)))
        return file, float(seconds.read_text())

    def reference(self):
        """theta* as a file, and the long run of hmc with its floor."""
        star, seconds = self.fit("map", ROWS["map"])
        head = self.path("head.npz")
        found = tensors(star)
        np.savez(head, W=found["W"][0], b=found["b"][0])
        self.head = ["--head", head]
        file, reference_seconds = self.fit("hmc", [*self.head, "--method", "hmc", "--chains", 2, "--samples", self.draws])
        members = tensors(file)
        halves = [predictive({k: members[k][part] for k in "Wb"}, self.z) for part in (slice(self.draws // 2), slice(self.draws // 2, self.draws))]
        self.exact, self.exact_sd = predictive(members, self.z)
        np.savez(self.path("exact.npz"), probs=self.exact, sd=self.exact_sd)
        between = divergence(halves[0][0], halves[1][0])
        return {"rows": self.shape[0], "features": self.shape[1], "classes": self.shape[2], "map_seconds": seconds, "reference_seconds": reference_seconds,
                "reference_draws": self.draws, "kl_of_halves": between, "exact": self.scores_of(self.exact)}

    def scores(self, *what):
        """NLL, AURC and ECE by evaluate."""
        found = json.loads(self.lastlayer("evaluate", *what, "--interval", 0, "--json", quiet=True))
        return {"nll": found["nll"], "aurc": found["aurc"]["sr"], "ece": found["ece"]}

    def scores_of(self, probs):
        """The same of probabilities that are in no file of predictions."""
        file = self.path("probs.npz")
        np.savez(file, probs=np.maximum(probs, 1e-300), truth=self.truth)
        return self.scores("--probs", file + ":probs", "--labels", file + ":truth")

    def measure(self, name, flags):
        file, seconds = self.fit(name.replace(", ", "-").replace(" ", "-"), flags if name == "map" else [*self.head, *flags])
        predictions = file.replace(".safetensors", ".npz")
        if not os.path.exists(predictions):
            self.lastlayer("predict", file, "--features", f"{self.features}:features_test", "--labels", f"{self.features}:labels_test", "-o", predictions, quiet=True)
        found = np.load(predictions)
        width = spread(self.exact, self.exact_sd, found["probs"], -found["std"]) if "std" in found else None
        return {**self.scores(predictions), "kl": divergence(self.exact, found["probs"]), "spread": width, "seconds": seconds, "bytes": os.path.getsize(file)}

    def all(self):
        result = self.reference()
        N, D, K = self.shape
        rows = {name: flags for name, flags in ROWS.items() if name != "laplace, full" or K * (D + 1) <= FULL_LIMIT}
        result["methods"] = {name: self.measure(name, flags) for name, flags in rows.items()}
        return result


def cell(value, text):
    """Empty where there is no number: a spread of one member, an NLL that is infinite."""
    return "" if value is None else format(value, text)


def table(task):
    lines = ["| | NLL | AURC | ECE | KL | sd | CPU s | bytes |", "|---|---:|---:|---:|---:|---:|---:|---:|"]

    def add(name, r):
        lines.append(f"| {name} | {cell(r['nll'], '.4f')} | {r['aurc']:.5f} | {r['ece']:.4f} | {cell(r.get('kl'), '.5f')} | {cell(r.get('spread'), '.3g')} | "
                     f"{cell(r.get('seconds'), '.1f')} | {cell(r.get('bytes'), ',')} |")

    add(f"exact: hmc, {task['reference_draws']} draws", {**task["exact"], "kl": 0.0, "spread": 1.0, "seconds": task["reference_seconds"]})
    for name, r in task["methods"].items():
        add(name, r)
    return lines


def peer_table(peers):
    """The rung at which each stopped: the first that is near, or the last within its limit."""
    lines = ["| | draws | NLL | AURC | ECE | KL | sd | CPU s | compilation, s | peak MB | |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"]
    for name, r in peers.items():
        if r["rungs"]:
            last = r["rungs"][-1]
            lines.append(f"| {name} | {last['draws'] or ''} | {r['nll']:.4f} | {r['aurc']:.5f} | {r['ece']:.4f} | {last['kl']:.5f} | {cell(last['spread'], '.3g')} | "
                         f"{last['seconds']:.1f} | {r['compile_seconds']:.1f} | {r['peak_mb']} | {r['settings']} |")
        else:
            lines.append(f"| {name} | | | | | | | | | | {r['failed']} |")
    return lines


def page(results, peers):
    """The tables in Markdown."""
    lines = ["# How near to the exact posterior?", "", "Made by `make results ARGS=posterior`. What the columns mean: [posterior](../posterior.md).", ""]
    for name, task in results.items():
        lines += [f"## {name}", "", f"N = {task['rows']}, D = {task['features']}, K = {task['classes']}. theta* took {task['map_seconds']:.1f} CPU s, which the other rows leave out. "
                  f"KL between the two chains of the reference: {task['kl_of_halves']:.5f}; a quarter of it, {task['kl_of_halves'] / 4:.5f}, is its own noise in every KL below.", ""]
        lines += [*table(task), ""]
        if name in peers:
            versions = next(r["versions"] for r in peers[name].values() if "versions" in r)
            lines += ["Programs of others, from the same MAP under the same prior, on one thread: " + ", ".join(f"{k} {v}" for k, v in versions.items()) + ".", "",
                      *peer_table(peers[name]), ""]
    return "\n".join(lines)
