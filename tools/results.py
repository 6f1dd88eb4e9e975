#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The experiments behind docs/results: runs lastlayer, keeps the tables, and writes beside them what made them (run.json).

  results.py mnist fashion notmnist steps vgg   images by name (tools/get-data)
  results.py quickdraw                          likewise
  results.py resnet56 imagenet clinc150         features of $LASTLAYER_TEST_DATA
  results.py promises                           on the features of make demo, and CLINC150 of $LASTLAYER_TEST_DATA
  results.py ood                                images by name, letters and CLINC150 of $LASTLAYER_TEST_DATA
  results.py laplace                            features of $LASTLAYER_TEST_DATA, and synthetic ones
  results.py map                                on the features of make demo, and those of $LASTLAYER_TEST_DATA
  results.py posterior                          on the features of make demo, and those of $LASTLAYER_TEST_DATA
  results.py posterior-peers                    packages of PyPI on the same heads, after posterior
  results.py ensembles                          on the features that the others left in results/, and those of $LASTLAYER_TEST_DATA

It says first what each took the last time. Everything is made in results/, where what is there is not made again: after a kill, run it again.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np

import ensembles
import laplace_costs
import map_passes
import ood_scores
import posterior
import posterior_peers
import pypi

root = pathlib.Path(__file__).resolve().parent.parent
os.chdir(root)
COMMAND = "build/lastlayer"
FULL = ["--full-lr", "0.01,0.001", "--full-epochs", "bootstrap:5/dropout:30"]  # fewer trials than the paper has
VGG = ["--net", "vgg16:width=0.5,dropout=0.1", "--epochs", 26, "--lr", 0.05, "--schedule", "one-cycle", "--augment", "shift=0.1,flip"]
commands = []


def lastlayer(*words, out=None, quiet=False):
    words = [COMMAND, *map(str, words)]
    if not quiet:
        print("$", " ".join(words), flush=True)
    begin = time.time()
    done = subprocess.run(words, stdout=subprocess.PIPE if out or quiet else None, stderr=subprocess.PIPE if quiet else None, text=True)
    if done.returncode:
        sys.exit((done.stderr or "") + "results: this failed: " + " ".join(words))
    commands.append({"command": " ".join(words[1:]), "seconds": round(time.time() - begin, 1)})
    if out:
        pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(out).write_text(done.stdout)
    return done.stdout


def features(name):
    """A file of $LASTLAYER_TEST_DATA, by a path that says nothing of this machine."""
    folder = os.environ.get("LASTLAYER_TEST_DATA") or sys.exit("results: LASTLAYER_TEST_DATA is not set; it names the folder of " + name)
    link = root / "results/features" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.symlink_to(pathlib.Path(folder, name).resolve(strict=True))
    return link.relative_to(root)


def keep(name, folder=None):
    """Tables and figures of reproduce, and the commands, into docs/results/NAME."""
    to = root / "docs/results" / name
    to.mkdir(parents=True, exist_ok=True)
    for ending in ["md", "csv", "json"] if folder else []:
        shutil.copyfile(f"{folder}/tables.{ending}", to / f"tables.{ending}")
    if folder:
        shutil.copytree(f"{folder}/figures", to / "figures", dirs_exist_ok=True)
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    version = subprocess.run([COMMAND, "--version"], capture_output=True, text=True).stdout.strip()
    file = to / "run.json"
    before = {c["command"]: c["seconds"] for c in json.loads(file.read_text())["commands"]} if file.exists() else {}
    for command in commands:  # one that found most of its work done tells no time
        command["seconds"] = max(command["seconds"], before.get(command["command"], 0))
    run = {"lastlayer": version, "cpu": cpu, "cores": os.cpu_count(), "seed": "0, or as the command says", "commands": commands[:]}
    file.write_text(json.dumps(run, indent=1) + "\n")
    commands.clear()


def images(name, *more):
    lastlayer("reproduce", name, "--seeds", "0,1,2", *more)
    keep(name, "results/" + name)


def notmnist():
    letters = features("notmnist/notmnist-t10k-images-idx3-ubyte.gz")
    net = "results/mnist/seed-0/selective/network.safetensors"
    lastlayer("encode", net, "--data", "mnist", "--out-data", letters, "-o", "results/notmnist.npz")
    lastlayer("compare", "--features", "results/notmnist.npz", "--json", out="docs/results/notmnist/last-layer.json")
    lastlayer("compare", "--network", net, "--data", "mnist", "--out-data", letters, "--samples", 10, "--epochs", 5, "--json",
              out="docs/results/notmnist/full-network.json")
    keep("notmnist")


def steps():
    """The whole network at every learning rate of the paper: who still learns?"""
    lastlayer("search", "--network", "results/mnist/seed-0/selective/network.safetensors", "--data", "mnist", "--method", "sgd,sgld",
              "--lr", "0.1,0.01,0.001,0.0001", "--batch-size", 32, "--samples", 10, "--store", "results/steps", "--markdown",
              out="docs/results/mnist-steps/trials.md")
    keep("mnist-steps")


def vgg():
    """A smaller VGG-16 than the paper's, trained for a fraction of its epochs; then the paper's grid on its last layer."""
    net = "results/vgg/net.safetensors"
    pathlib.Path("results/vgg").mkdir(parents=True, exist_ok=True)
    if not os.path.exists(net):
        lastlayer("train", "--data", "cifar10", *VGG, "--json", "--resume", "-o", net, out="docs/results/cifar10-vgg16/training.json")
    if not os.path.exists("results/vgg/encoded.npz"):
        lastlayer("encode", net, "--data", "cifar10", "-o", "results/vgg/encoded.npz")
    lastlayer("reproduce", "cifar10", "--features", "results/vgg/encoded.npz", "--seeds", "0", "--results", "results/vgg")
    keep("cifar10-vgg16", "results/vgg/cifar10-given")


def resnet56():
    lastlayer("reproduce", "cifar10", "--features", features("cifar10-resnet56/features.npz"), "--seeds", "0,1,2")
    keep("cifar10-resnet56", "results/cifar10-given")


def clinc150():
    """150 intents; the out-of-scope questions are the unknown."""
    lastlayer("reproduce", "clinc150", "--features", features("clinc150/clinc150.npz"))
    keep("clinc150", "results/clinc150-given")


def quickdraw():
    """345 classes of drawings, one network."""
    lastlayer("reproduce", "quickdraw")
    keep("quickdraw", "results/quickdraw")


def imagenet_halves():
    """Five validation images of each class: a random half fits, the other half tests."""
    rows, head = np.load(features("imagenet-resnet50/val5000.npz")), np.load(features("imagenet-resnet50/head.npz"))
    order = np.random.default_rng(0).permutation(len(rows["labels"]))
    parts = {"train": order[:len(order) // 2], "test": order[len(order) // 2:]}
    halves = {f"{what}_{part}": rows[what][index] for part, index in parts.items() for what in ["features", "labels"]}
    np.savez("results/imagenet-halves.npz", **halves, W=head["W"].astype(np.float32), b=head["b"])
    return "results/imagenet-halves.npz"


def imagenet():
    lastlayer("reproduce", "imagenet", "--features", imagenet_halves())
    keep("imagenet-resnet50", "results/imagenet-given")


def with_half_held_out(path, name):
    """Features without validation rows: a random half of the test rows takes their place."""
    rows, to = dict(np.load(path)), f"results/{name}-halves.npz"
    if not os.path.exists(to):
        order = np.random.default_rng(0).permutation(len(rows["labels_test"]))
        parts = {"val": order[:len(order) // 2], "test": order[len(order) // 2:]}
        np.savez(to, **rows | {f"{what}_{part}": rows[f"{what}_test"][index] for part, index in parts.items() for what in ["features", "labels"]})
    return to


def ensemble_tasks():
    """{name: {"closed": [(seed, features)], "half": [(seed, features) with unknown points]}}, those whose features are there."""
    tasks = {}
    for name in ["mnist", "fashion"]:
        found = {kind: [(seed, f"results/{name}/seed-{seed}/{task}/encoded.npz") for seed in range(3)] for kind, task in [("closed", "selective"), ("half", "ood")]}
        tasks[name] = {kind: [(seed, path) for seed, path in runs if os.path.exists(path)] for kind, runs in found.items()}
    clinc = [(0, features("clinc150/clinc150.npz"))]
    tasks["clinc150"] = {"closed": clinc, "half": clinc}
    tasks["cifar10, ResNet-56"] = {"closed": [(0, with_half_held_out(features("cifar10-resnet56/features.npz"), "resnet56"))], "half": []}
    tasks["cifar10, VGG-16"] = {"closed": [(0, path) for path in ["results/vgg/encoded.npz"] if os.path.exists(path)], "half": []}
    for name in [n for n, runs in tasks.items() if not runs["closed"]]:
        print(f"results: ensembles goes without {name}, whose features are not in results/: make results ARGS={name.split()[-1].split('-')[0].lower()}")
    return {name: runs for name, runs in tasks.items() if runs["closed"]}


def worth():
    """What an ensemble is worth: docs/results/ensembles."""
    results = {}
    for name, kinds in ensemble_tasks().items():
        results[name] = {kind: [] for kind in kinds}
        for kind, runs in kinds.items():
            for seed, path in runs:
                print(f"results: ensembles, {name}, {kind}, seed {seed}", flush=True)
                task = ensembles.Task(lastlayer, path, pathlib.Path("results/ensembles", name.replace(", ", "-"), f"{kind}-{seed}"), seed)
                task.all()
                results[name][kind].append(task.result())
    keep("ensembles")
    to = root / "docs/results/ensembles"
    (to / "tables.md").write_text(ensembles.page(results))
    (to / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def promises():
    """The tables of compare with intervals and recommendation: on the features of make demo, and on CLINC150."""
    if not os.path.exists("demo/encoded.npz"):
        sys.exit("results: demo/encoded.npz is missing; make demo makes it")
    lastlayer("compare", "--features", "demo/encoded.npz", "--risk", 0.05, "--markdown", out="docs/results/promises/demo.md")
    lastlayer("compare", "--features", features("clinc150/clinc150.npz"), "--risk", 0.02, "--samples", 10, "--epochs", 5, "--markdown",
              out="docs/results/promises/clinc150.md")
    keep("promises")


def ood():
    """Every score from features on three tasks: docs/results/ood."""
    letters = features("notmnist/notmnist-t10k-images-idx3-ubyte.gz")
    digits = ood_scores.encoded(lastlayer, "mnist", ["--data", "mnist"], ["--data", "mnist", "--out-data", letters])
    clothes = ood_scores.encoded(lastlayer, "fashion", ["--data", "fashion", "--classes", "first:5"], ["--data", "fashion"])
    tasks = {"MNIST, notMNIST": digits, "Fashion-MNIST, other classes": clothes, "CLINC150, out of scope": features("clinc150/clinc150.npz")}
    results = {}
    for title, rows in tasks.items():
        results[title] = ood_scores.measure(lastlayer, title.split(",")[0].lower(), rows, pathlib.Path("results/ood"))
    keep("ood")
    to = root / "docs/results/ood"
    (to / "tables.md").write_text(ood_scores.page(results))
    (to / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def laplace():
    """What laplace takes on heads of many classes, and how its prior precision is chosen: docs/results/laplace."""
    laplace_costs.folder.mkdir(parents=True, exist_ok=True)
    rows = [laplace_costs.imagenet(commands, features("imagenet-resnet50/val5000.npz"), features("imagenet-resnet50/head.npz")),
            laplace_costs.wide(commands)]
    priors = laplace_costs.priors(lastlayer, commands, features("clinc150/clinc150.npz"))
    keep("laplace")
    (root / "docs/results/laplace/tables.md").write_text(laplace_costs.table(rows) + "\n" + laplace_costs.table(priors))


def solvers():
    """Passes and seconds of each solver to the MAP: docs/results/map."""
    if not os.path.exists("demo/encoded.npz"):
        sys.exit("results: demo/encoded.npz is missing; make demo makes it")
    tasks = {"CIFAR-10, ResNet-56": features("cifar10-resnet56/features.npz"), "CLINC150": features("clinc150/clinc150.npz"),
             "Fashion-MNIST, demo": "demo/encoded.npz", "ImageNet, ResNet-50": imagenet_halves()}
    results = map_passes.measure(COMMAND, tasks)
    keep("map")
    to = root / "docs/results/map"
    (to / "tables.md").write_text(map_passes.page(results))
    (to / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def posterior_tasks():
    if not os.path.exists("demo/encoded.npz"):
        sys.exit("results: demo/encoded.npz is missing; make demo makes it")
    tasks = {"Fashion-MNIST": "demo/encoded.npz", "CIFAR-10, ResNet-56": features("cifar10-resnet56/features.npz")}
    return {name: (path, pathlib.Path("results/posterior", name.lower().replace(", ", "-"))) for name, path in tasks.items()}


def near():
    """Every method beside a long run of hmc: docs/results/posterior."""
    to = root / "docs/results/posterior"
    results = {name: posterior.Task(lastlayer, path, folder, 600).all() for name, (path, folder) in posterior_tasks().items()}
    keep("posterior")
    (to / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    write_posterior(to)


def near_peers():
    """Programs of others on the same heads, beside the same run of hmc."""
    to = root / "docs/results/posterior"
    python = pypi.python_with(posterior_peers.PACKAGES, root / "build/posterior-peers", "results")
    found = {}
    for name, (path, folder) in posterior_tasks().items():
        if not (folder / "exact.npz").exists():
            sys.exit("results: make results ARGS=posterior comes first: it makes the exact posterior")
        task = posterior.Task(lastlayer, path, folder, 600)
        found[name] = posterior_peers.measure(python, path, folder, 30)
        for peer, r in found[name].items():
            if r["rungs"]:
                r |= task.scores_of(np.load(posterior_peers.file(folder, peer, ".npz"))["probs"])
    commands.clear()
    (to / "peers.json").write_text(json.dumps(found, indent=1) + "\n")
    write_posterior(to)


def write_posterior(to):
    results, peers = json.loads((to / "results.json").read_text()), to / "peers.json"
    (to / "tables.md").write_text(posterior.page(results, json.loads(peers.read_text()) if peers.exists() else {}))


def cost(folder):
    """What the commands of an experiment took the last time."""
    file = root / "docs/results" / folder / "run.json"
    if not file.exists():
        return "not run before: nobody knows"
    run = json.loads(file.read_text())
    return f"{sum(c['seconds'] for c in run['commands']) / 60:.0f} min on {run['cpu']}, {run['cores']} cores"


RUN = {"mnist": (lambda: images("mnist", "--full", *FULL), "mnist"), "fashion": (lambda: images("fashion"), "fashion"),
       "notmnist": (notmnist, "notmnist"), "steps": (steps, "mnist-steps"),
       "vgg": (vgg, "cifar10-vgg16"), "resnet56": (resnet56, "cifar10-resnet56"), "clinc150": (clinc150, "clinc150"), "quickdraw": (quickdraw, "quickdraw"),
       "imagenet": (imagenet, "imagenet-resnet50"),
       "ensembles": (worth, "ensembles"), "promises": (promises, "promises"), "ood": (ood, "ood"), "laplace": (laplace, "laplace"), "map": (solvers, "map"), "posterior": (near, "posterior"),
       "posterior-peers": (near_peers, "posterior")}
if not sys.argv[1:] or set(sys.argv[1:]) - set(RUN):
    sys.exit(__doc__)
for name in sys.argv[1:]:
    print(f"results: {name} took the last time {cost(RUN[name][1])}", flush=True)
for name in sys.argv[1:]:
    RUN[name][0]()
