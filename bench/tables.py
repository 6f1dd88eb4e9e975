# SPDX-License-Identifier: MIT
"""Writes bench/RESULTS.md from the rows that bench/run.py measured, beside the targets. Measures nothing itself."""
import datetime
import importlib
import math
import os
import pathlib
import platform
import re
import subprocess

root = pathlib.Path(__file__).resolve().parent.parent
METHODS = ["sgd", "sgld", "bootstrap", "dropout", "predict-dropout", "predict-ensemble"]
TITLES = {"mnist": "MNIST head", "cifar10": "CIFAR-10 head", "cifar100": "CIFAR-100 head", "imagenet": "ImageNet head slice"}
# How many times faster than idiomatic PyTorch on one core, in the order of METHODS; dropout at p = .5, a share of it at .1 and .3.
TARGETS = {
    "mnist": [300, 220, 300, 270, 35, 15],
    "cifar10": [8.5, 12, 12, 25, 45, 3.5],
    "cifar100": [2.1, 2.7, 2.6, 5, 7, 1.6],
    "imagenet": [1.12, 1.2, 1.08, 1.4, 1.7, 1.0],
}
OTHER_P = 0.6
# The same over the strongest other peer.
STRONGEST = {("mnist", "sgd"): 50, ("mnist", "bootstrap"): 15, ("cifar10", "sgd"): 4, ("cifar10", "bootstrap"): 6, ("cifar100", "sgd"): 1.4}
SCALING = {"bootstrap": 1.9, "imagenet/sgd": 1.7}

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def times(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def verdict(reached, target):
    return "met" if reached >= target else f"missed ({100 * reached / target:.0f} %)"


def below(missed):
    return "\nBelow target:\n\n" + "".join(f"- {sentence}\n" for sentence in missed) if missed else ""


def select(rows, **want):
    return [row for row in rows if all(row.get(key) == value for key, value in want.items())]


def target_of(shape, method, p):
    return TARGETS[shape][METHODS.index(method)] * (OTHER_P if p in (0.1, 0.3) else 1)


def cells(rows):
    """(shape, method, p, lastlayer's row, rows of the peers) of the one-core table."""
    one = select(rows, table="one core")
    for shape in TARGETS:
        for method in METHODS:
            for p in ([0.5, 0.1, 0.3] if "dropout" in method else [0]):
                found = select(one, shape=shape, method=method, p=p)
                if found:
                    yield shape, method, p, found[0], found[1:]


def label(method, p):
    return f"{method}, p = {p:g}" if p else method


def measured(rows, ours):
    return select(rows, table="parts", shape=ours["shape"], method=ours["method"], p=ours["p"])


def meanwhile(rows, ours):
    """What others on the machine took while a cell was measured."""
    found = {row["who"]: row["seconds"] for row in measured(rows, ours)}
    if not found:
        return {}
    same = "still" if "still" in found else "statistics"
    fastest = min(row["least"] for row in select(rows, table="parts", shape=ours["shape"], who=same))
    return {"slowed": f"{found[same] / fastest:.2f}x", "a load from 4 MB": times(found["walk"])}


def parts(rows, shapes, peak, ours):
    """{what: seconds} of lastlayer's time on a cell. Parts were measured alone, in turns with the whole; the last is what they leave."""
    s, shape, method, p = shapes[ours["shape"]], ours["shape"], ours["method"], ours["p"]
    found = {row["who"]: row["seconds"] for row in measured(rows, ours)}
    if not found:
        return {}
    if method.startswith("predict"):
        least = 2 * s["D"] * s["K"] / peak * 1e-9
        plain = select(rows, table="one core", shape=shape, method="predict-ensemble", who="lastlayer")
        split = {"multiply-adds at the peak": least, "softmax and statistics": found["statistics"]}
        if p and plain:
            split["masks"] = ours["seconds"] - plain[0]["seconds"]
        rest = "weights, panels, products below the peak"
    else:
        steps = math.ceil(s["N"] / s["B"]) if shape == "imagenet" else 1
        found = {name: seconds / steps for name, seconds in found.items()}
        least = 4 * s["N"] * s["D"] * s["K"] / peak * 1e-9 / steps
        split = {"multiply-adds at the peak": least, "the rest of a step": found["still"] - least,
                 "waiting for rows": found["moving"] - found["still"]}
        if method in ("sgld", "dropout"):
            split["noise" if method == "sgld" else "masks"] = found["extra"]
        split["resample and shuffle" if method == "bootstrap" else "shuffle"] = found["order"]
        split["copy of the features"] = found["copy"]
        rest = "else"
    return {**split, rest: ours["seconds"] - sum(split.values())}


def bound(split):
    total = sum(split.values())
    return ", ".join(f"{name} {100 * seconds / total:.0f} %" for name, seconds in sorted(split.items(), key=lambda part: -part[1])
                     if seconds > 0.04 * total)


def summary(rows, shapes, peak):
    text, missed = [], []
    for shape, method, p, ours, peers in cells(rows):
        ratio, target = peers[0]["seconds"] / ours["seconds"], target_of(shape, method, p)
        least = peers[0]["least"] / ours["least"]
        other = min(peers[1:], key=lambda row: row["seconds"], default=None)
        against = other["seconds"] / ours["seconds"] if other else math.nan
        bar = STRONGEST.get((shape, method))
        text.append([TITLES[shape], label(method, p), f"{ratio:.3g}x", f"{target:.3g}x", verdict(ratio, target), f"{least:.3g}x"]
                    + ([f"{against:.3g}x ({other['who']})"] if other else [""])
                    + ([f"{bar}x", verdict(against, bar)] if other and bar else ["", ""]))
        short = [f"{reached:.3g}x over {peer['who']}, aim {wanted:.3g}x, which would be {times(peer['seconds'] / wanted)}"
                 for reached, wanted, peer in ((ratio, target, peers[0]), (against, bar, other)) if wanted and peer and reached < wanted]
        if short:
            missed.append(f"{TITLES[shape]}, {label(method, p)}: {'; '.join(short)}; {times(ours['seconds'])} are bound by "
                          + bound(parts(rows, shapes, peak, ours)) + "".join(f"; {name} {how}" for name, how in meanwhile(rows, ours).items()))
    head = ["head", "method", "over torch", "target", "", "fastest over fastest", "over the strongest other peer", "target", ""]
    return table(head, text) + below(missed)


def spent(rows, shapes, peak):
    """Tables of the parts of every cell."""
    def column(name):
        short = {"resample and shuffle": "shuffle", "noise": "noise or masks", "masks": "noise or masks"}
        return name if predict else short.get(name, name)

    text = ""
    for predict in (False, True):
        body, names = [], []
        for shape, method, p, ours, _ in cells(rows):
            if method.startswith("predict") == predict:
                split = parts(rows, shapes, peak, ours)
                total = ours["seconds"]
                body.append({"head": TITLES[shape], "method": label(method, p), "time": times(total),
                             **{column(name): f"{100 * seconds / total:.0f} %" for name, seconds in split.items()},
                             **meanwhile(rows, ours)})
                names += [name for name in body[-1] if name not in names]
        names.sort(key=lambda name: (name in ("slowed", "a load from 4 MB"), name == "else"))
        if body:
            text += "\n" + table(names, [[row.get(name, "") for name in names] for row in body])
    return text


def details(rows, shapes, peak):
    text = ""
    for shape, s in shapes.items():
        body = []
        for at, method, p, ours, peers in cells(rows):
            if at != shape:
                continue
            for row in [ours] + peers:
                nll = f"{row['nll_test']:.4f}" + ("" if math.isnan(row["nll_train"]) else f" / {row['nll_train']:.4f}")
                body.append([label(method, p) if row is ours else "", row["who"], times(row["seconds"]), times(row["least"]),
                             f"{row['seconds'] / ours['seconds']:.3g}", f"{row['gflops']:.1f}", f"{100 * row['gflops'] / peak:.0f} %", nll,
                             f"{row['anon_mb']:.0f}", f"{row['peak_mb']:.0f}"])
        if body:
            unit = "step" if shape == "imagenet" else "epoch"
            text += f"\n### {TITLES[shape]}: {s['N']} x {s['D']}, K = {s['K']}, B = {s['B']}, lr = {s['lr']}\n\n"
            text += f"Time of one {unit}, or of one member on one point.\n\n"
            head = ["method", "who", "CPU time", "fastest", "x lastlayer", "GF/s", "of peak", "NLL test / train", "RssAnon MB", "peak RSS MB"]
            text += table(head, body)
    return text


def machine(rows, one, apart, bar):
    """What bounds threads: what the cores reach together where the threads of lastlayer are out of the question."""
    units = {row["who"]: row["gflops"] for row in select(rows, table="peak", shape=one["shape"], method=one["method"])}
    processes, alone = one["seconds"] / apart["seconds"], units["all"] / units["one"]
    culprit = ("cores that are no whole ones" if alone < bar else "the memory and the third-level cache that cores share" if processes < bar
               else "the threads, which wait for each other")
    return (f"bound by {culprit}: {apart['who']}, which have nothing but the machine in common, reach {processes:.2f}x, multiply-adds alone "
            f"{alone:.2f}x")


def cores(rows, count):
    body, missed = [], []
    for shape in TARGETS:
        for method in METHODS:
            found = select(rows, table="all cores", shape=shape, method=method)
            if not found:
                continue
            one, ours, peer, apart = found
            work = {"sgd": "sgd, one chain", "bootstrap": "bootstrap, independent chains"}.get(method, method)
            scale, bar = one["seconds"] / ours["seconds"], SCALING.get(f"{shape}/{method}", SCALING.get(method)) if count == 2 else None
            body.append([TITLES[shape], work, times(one["seconds"]), times(ours["seconds"]), f"{scale:.2f}x"]
                        + ([f"{bar}x", verdict(scale, bar)] if bar else ["", ""])
                        + [f"{peer['who']} {times(peer['seconds'])}", f"{peer['seconds'] / ours['seconds']:.3g}x"])
            if bar and scale < bar:
                missed.append(f"{TITLES[shape]}, {work}: {scale:.2f}x, aim {bar}x; " + machine(rows, one, apart, bar))
    head = ["head", "work", "1 thread", f"{count} threads", "scaling", "target", "", "peer, all cores", "over the peer"]
    return table(head, body) + below(missed)


def memory(rows, shapes):
    body, missed = [], []
    for shape, s in shapes.items():
        padded = s["N"] * ((s["D"] + 16) // 16 * 16) * 4 / 2**20
        ours = select(rows, table="one core", shape=shape, who="lastlayer")
        for what, key, bar, of in (("training", "anon_mb", padded + 20, "RssAnon"), ("prediction", "work_mb", 2, "buffers of one thread")):
            found = [row for row in ours if row["method"].startswith("predict") == (what == "prediction")]
            if not found:
                continue
            worst = max(found, key=lambda row: row[key])
            body.append([TITLES[shape], f"{what}, {of}", f"{worst[key]:.1f} MB ({label(worst['method'], worst['p'])})", f"{bar:.1f} MB",
                         "met" if worst[key] <= bar else "missed"])
            if worst[key] > bar:
                missed.append(f"{TITLES[shape]}, {what}: {worst[key]:.2f} MB, aim {bar:.1f} MB")
    return table(["head", "memory of lastlayer", "most", "at most", ""], body) + below(missed)


def growth(rows):
    text = ""
    for letter in "NDKS":
        found = select(rows, table="growth", letter=letter)
        values = sorted({row["value"] for row in found})
        if not values:
            continue
        body, last = [], {}
        for value in values:
            train, predict, whole = (select(found, value=value, method=m)[0] for m in ("sgd", "predict-ensemble", "lastlayer fit"))
            body.append([value, times(train["seconds"]), f"{train['anon_mb']:.1f}", times(predict["seconds"]), f"{predict['work_mb']:.1f}",
                         times(whole["seconds"]), f"{whole['anon_mb']:.1f}"])
            last[value] = train["seconds"], predict["seconds"], whole["seconds"]
        if len(values) > 1:
            a, b = values[0], values[-1]
            slope = [f"~ {letter}^{math.log(y / x) / math.log(b / a):.2f}" for x, y in zip(last[a], last[b])]
            body.append([f"{b // a}-fold", slope[0], "", slope[1], "", slope[2], ""])
        head = [letter, "sgd epoch", "RssAnon MB", "predict, member x point", "buffers MB", "`lastlayer fit`, whole run", "RssAnon MB"]
        text += "\n" + table(head, body)
    return text


def versions():
    names = []
    for module in ("torch", "numpy", "sklearn"):
        try:
            names.append(f"{module} {importlib.import_module(module).__version__}")
        except ImportError:
            pass
    blas = next(iter(sorted(pathlib.Path("/etc/alternatives").glob("libblas.so.3*"))), None)
    return ", ".join(names) + f", Python {platform.python_version()}" + (f", BLAS {os.path.realpath(blas).split('/')[-2]}" if blas else "")


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = [re.search(rf"^{key}\s*: (.*)", text, re.M) for key in ("model name", "cpu family", "model")]
    return "{} (family {}, model {})".format(*(match[1] for match in found)) if all(found) else platform.machine()


def page(rows, f):
    version = subprocess.run([root / "build/lastlayer", "--version"], stdout=subprocess.PIPE, text=True).stdout.strip()
    peak = max(f["peaks"])
    calls = ", ".join(f"{s['chain']} epoch{'s' * (s['chain'] > 1)} ({name})" for name, s in f["shapes"].items())
    wrong = "".join(f"- WRONG: {sentence}\n" for sentence in f["wrong"]) or "None: final NLL and norm of W are those of every peer.\n"
    bounds = ", ".join(f"{method} {100 * t:g} %" for method, t in f["tolerance"].items())
    text = f"""# Bench results

Written by `make bench` ({('bench/run.py ' + f['words']).strip()}; seed {f['seed']}, medians of {f['repeats']} repeats) on
{datetime.date.today()} in {f['minutes']:.0f} minutes. Every number below is of that run.

- Processor: {processor()}, {f['cores']} cores; load average before the start {f['load']:.2f}.
- Multiply-add peak of one core: {peak:.1f} GF/s (measured {len(f['peaks'])} times, {min(f['peaks']):.1f} to {peak:.1f}).
- Times and ratios are of medians, but for the columns "fastest": the machine is not ours alone, and what runs beside slows lastlayer,
  which keeps the multiply-add units busy, more than it slows an interpreter.
- {version}; {versions()}.
- Data: synthetic, K Gaussian clusters through a ReLU (`bench/features.c`). All contestants read the same files, start at zero, and use the
  same learning rate, batch size and prior. They take turns, repeat by repeat. Training counts 4 N D K operations per epoch, prediction
  2 D K per member and point.
- One core: CPU time. All cores: wall time. lastlayer is timed as whole calls of ll_fit and ll_predictor_run, set-up included;
  a call of ll_fit is {calls}. The peers are timed without loading their data.
- torch: nn.Linear, optim.SGD, a loop over shuffled indices. torch-hand: gradient by hand. torch-bmm: members batched. torch-stacked: all
  members in one product. numpy: gradient by hand. sklearn: MLPClassifier without hidden layers.

## Disagreements

{wrong}
Allowed: {bounds}, of the norm of W, and of the NLL or of what was learnt (ln K - NLL), whichever is smaller.

## One core against the targets

{summary(rows, f['shapes'], peak)}
## What the time is spent on

Parts of lastlayer's time on one core, measured alone by `bench/parts.c` in the turns of their cell, medians again. The rest of a step: a
step whose rows stay in the cache, less its multiply-adds at the peak: softmax, transposes, products below the peak. Waiting for rows: what
shuffled rows add to that. Softmax and statistics: the same members cut down to one feature. Else, or what concerns weights: what is left of
the whole; below zero where a part alone was slower than in its place.

The last columns say what others on the machine took in those turns. Slowed: the steps whose rows stay in the cache, or the statistics,
against their fastest repeat of this run, though they are the same work in all cells of a head. A load from 4 MB: that were walked through
just before, so that it would be the time of the third-level cache if that were ours alone.
{spent(rows, f['shapes'], peak)}
## Every contestant on one core
{details(rows, f['shapes'], peak)}
## All cores, wall time

{cores(rows, f['cores'])}
## Memory

{memory(rows, f['shapes'])}
## Growth

One dimension grows, the others stay: N 16384, D 64, K 16, S 16, B 128 (for S: N 2048, D 256). lastlayer alone, one core.
{growth(rows)}"""
    return text.rstrip() + "\n"
