#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The experiments behind docs/results: runs lastlayer, keeps the tables, and writes beside them what made them (run.json).

  results.py mnist fashion notmnist steps vgg images by name (tools/get-data)
  results.py resnet56 imagenet                features of $LASTLAYER_TEST_DATA

Everything is made in results/, where what is there is not made again. All of it takes some hours on two cores.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np

root = pathlib.Path(__file__).resolve().parent.parent
os.chdir(root)
COMMAND = "build/lastlayer"
FULL = ["--full-lr", "0.01,0.001", "--full-epochs", "bootstrap:5/dropout:30"]  # fewer trials than the paper has
VGG = "vgg16:width=0.25"
commands = []


def lastlayer(*words, out=None):
    words = [COMMAND, *map(str, words)]
    print("$", " ".join(words), flush=True)
    begin = time.time()
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE if out else None, text=True)
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
    """Tables of reproduce, and the commands, into docs/results/NAME."""
    to = root / "docs/results" / name
    to.mkdir(parents=True, exist_ok=True)
    for ending in ["md", "csv", "json"] if folder else []:
        shutil.copyfile(f"{folder}/tables.{ending}", to / f"tables.{ending}")
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
    net, common = "results/vgg/net.safetensors", ["--samples", 10, "--json"]
    pathlib.Path("results/vgg").mkdir(parents=True, exist_ok=True)
    if not os.path.exists(net):
        lastlayer("train", "--data", "cifar10", "--net", VGG, "--epochs", 12, "--lr-every", 3, "--json", "--resume", "-o", net,
                  out="docs/results/cifar10-vgg16/training.json")
    lastlayer("encode", net, "--data", "cifar10", "-o", "results/vgg/encoded.npz")
    lastlayer("compare", "--features", "results/vgg/encoded.npz", *common, out="docs/results/cifar10-vgg16/last-layer.json")
    lastlayer("compare", "--network", net, "--data", "cifar10", *common, "--thin", 176, "--epochs", 1, "--dropout", 0.1,
              out="docs/results/cifar10-vgg16/full-network.json")
    keep("cifar10-vgg16")


def resnet56():
    lastlayer("reproduce", "cifar10", "--features", features("cifar10-resnet56/features.npz"), "--seeds", "0,1,2")
    keep("cifar10-resnet56", "results/cifar10-given")


def imagenet():
    """Five validation images of each class: a random half fits, the other half tests."""
    rows, head = np.load(features("imagenet-resnet50/val5000.npz")), np.load(features("imagenet-resnet50/head.npz"))
    order = np.random.default_rng(0).permutation(len(rows["labels"]))
    parts = {"train": order[:len(order) // 2], "test": order[len(order) // 2:]}
    halves = {f"{what}_{part}": rows[what][index] for part, index in parts.items() for what in ["features", "labels"]}
    np.savez("results/imagenet-halves.npz", **halves, W=head["W"].astype(np.float32), b=head["b"])
    lastlayer("reproduce", "imagenet", "--features", "results/imagenet-halves.npz")
    keep("imagenet-resnet50", "results/imagenet-given")


RUN = {"mnist": lambda: images("mnist", "--full", *FULL), "fashion": lambda: images("fashion"), "notmnist": notmnist, "steps": steps,
       "vgg": vgg, "resnet56": resnet56, "imagenet": imagenet}
if not sys.argv[1:] or set(sys.argv[1:]) - set(RUN):
    sys.exit(__doc__)
for name in sys.argv[1:]:
    RUN[name]()
