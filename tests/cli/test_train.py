# SPDX-License-Identifier: MIT
"""train and encode: the same bytes however a run is cut and shared, what the files hold, and clear sentences."""
import json
import os
import random
import signal
import subprocess
import time

import numpy as np

import images
import samples
from tap import COMMAND, case, cases_of, check, fails, main, run
from tensors import read, tensors

NET = ("--net", "mlp:64,12")
TRAIN = ("train", "--data", "fashion", *NET)


def read_after(*words):
    run(*words)
    return read(words[-1])


def train(out, *more):
    return read_after(*TRAIN, "--epochs", 3, *more, "-o", out)


def forward(t, x):
    """The representation and the logits of an mlp, in f64."""
    h = x.reshape(len(x), -1).astype(np.float64) / 255
    layers = sum(name.endswith(".weight") for name in t)
    for i in range(layers - 1):
        h = np.maximum(h @ t[f"layers.{i}.weight"].T.astype(np.float64) + t[f"layers.{i}.bias"], 0)
    return h, h @ t[f"layers.{layers - 1}.weight"].T.astype(np.float64) + t[f"layers.{layers - 1}.bias"]


@case
def threads_and_seed():
    images.fashion()
    files = [train(f"{n}.safetensors", "--threads", n) for n in (1, 2, 3)]
    check(files[0] == files[1] == files[2], "the network depends on --threads")
    check(train("again.safetensors") == files[0], "the network is another one the second time")
    check(train("other.safetensors", "--seed", 1) != files[0], "another seed gives the same bits")
    for more in [("--optimiser", "nesterov", "--lr", ".02", "--l2", "1e-3", "--lr-every", 1), ("--augment", "rotate=15,shift=0.1,flip"), ("--keep", "best")]:
        one = [train("x.safetensors", *more, "--threads", n) for n in (1, 3)]
        check(one[0] == one[1] != files[0], f"{more}: depends on --threads, or does nothing")


@case
def schedules():
    """The shape of the learning rate: told per epoch, recorded where it is not the default, the same bytes after a stop, and repeated by members."""
    images.fashion()
    net = ("train", "--data", "fashion", "--net", "mlp:16,8", "--epochs", 10)
    steps = 17  # of an epoch: 540 rows in batches of 32
    plain = read_after(*net, "-o", "plain.safetensors")
    check(read_after(*net, "--schedule", "step", "-o", "same.safetensors") == plain, "--schedule step is not the default")
    check(not {"schedule", "warm-up"} & set(tensors("plain.safetensors")[1]), "the default schedule is recorded")
    for shape, more, meta, peak in [("cosine", (), {}, 0), ("cosine", ("--warm-up", 2), {"warm-up": "2"}, 2), ("one-cycle", (), {"warm-up": "3"}, 3),
                                    ("one-cycle", ("--warm-up", 4.5), {"warm-up": "4.5"}, 5), ("step", ("--warm-up", 2), {"warm-up": "2"}, 2)]:
        words = (*net, "--schedule", shape, *more)
        said = json.loads(run(*words, "--json", "-o", "net.safetensors")[0])
        rates = np.array([e["lr"] for e in said["epochs"]])
        found = tensors("net.safetensors")[1]
        check({k: v for k, v in found.items() if k in ("schedule", "warm-up")} == {**({} if shape == "step" else {"schedule": shape}), **meta}, f"{words}: {found}")
        check(("lr-every" in found) == ("lr-decay" in found) == (shape == "step"), found)
        check((np.diff(rates[:peak + 1]) > 0).all() and (np.diff(rates[peak:]) < 0).all() == (shape != "step"), f"{words}: {rates}")
        if shape == "cosine" and not more:
            check(np.allclose(rates, 0.001 * (1 + np.cos(np.pi * np.arange(10) / 10)) / 2, rtol=1e-12), rates)
        first = {"one-cycle": 0.001 / 25, "cosine": 0.001 / (2 * steps) if more else 0.001, "step": 0.001 / (2 * steps)}[shape]
        check(abs(rates[0] - first) < 1e-15, f"{words}: starts at {rates[0]}")
        check(read("net.safetensors") != plain, f"{words} does nothing")
        child = subprocess.Popen([COMMAND, *map(str, words), "-o", "cut.safetensors"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        next(line for line in child.stderr if line.startswith("note: epoch 4"))
        child.kill()
        child.wait()
        if os.path.exists("cut.safetensors.partial"):
            fails(2, *net, "--resume", "-o", "cut.safetensors", words="other options")
        run(*words, *(["--resume"] if os.path.exists("cut.safetensors.partial") else []), "-o", "cut.safetensors")
        check(read("cut.safetensors") == read("net.safetensors"), f"{words}: kill and resume end in other bytes")
    err = run(*net, "--schedule", "cosine", "--lr-every", 3, "-o", "net.safetensors")[1]
    check("--lr-every is not used by the schedule cosine" in err, err)
    run("fit", "--network", "net.safetensors", "--data", "fashion", "--method", "ensemble", "--samples", 2, "-o", "ens.safetensors")
    meta = tensors("ens.safetensors")[1]
    check(meta["train-schedule"] == "cosine" and "train-lr-every" not in meta, meta)
    bad = read("net.safetensors").replace(b'"schedule":"cosine"', b'"schedule":"cosime"')
    check(bad != read("net.safetensors"), "the header has another form")
    open("bad.safetensors", "wb").write(bad)
    fails(4, "fit", "--network", "bad.safetensors", "--data", "fashion", "--method", "ensemble", "-o", "e.safetensors", words=["cosime", "step|cosine|one-cycle"])


@case
def convolutions():
    """Every kind of layer, augmentation and the network's own dropout: the same bytes on any number of threads and after a stop."""
    images.cifar10()
    words = ("train", "--data", "cifar10", "--net", "vgg16:width=0.125", "--batch-size", 16, "--lr", ".01", "--epochs", 3)
    files = []
    for threads in 1, 2, 3:
        run(*words, "--threads", threads, "-o", "net.safetensors")
        files.append(read("net.safetensors"))
        run("encode", "net.safetensors", "--data", "cifar10", "--threads", threads, "--block", 7 * threads, "-o", "f.npz")
        files.append(read("f.npz"))
    check(files[0] == files[2] == files[4], "the network depends on --threads")
    check(files[1] == files[3] == files[5], "the features depend on --threads or --block")
    t, meta = tensors("net.safetensors")
    check(meta["augment"] == "rotate=15,shift=0.1,flip" and meta["optimiser"] == "nesterov" and meta["momentum"] == "0.9", meta)
    check(float(meta["shift"]) > 50 and 0.005 < float(meta["scale"]) < 0.05, meta)
    f = np.load("f.npz")
    check(f["features_test"].shape[0] == 30 and len(f["features_val"]) == 6 and np.isfinite(f["features_test"]).all(), "features")
    child = subprocess.Popen([COMMAND, *map(str, words), "-o", "cut.safetensors"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    next(line for line in child.stderr if line.startswith("note: epoch 1"))
    child.kill()
    child.wait()
    run(*words, *(["--resume"] if os.path.exists("cut.safetensors.partial") else []), "-o", "cut.safetensors")
    check(read("cut.safetensors") == files[0], "kill and resume end in other bytes")


@case
def killed_at_random_and_resumed():
    images.fashion()
    more = ("--epochs", "40", "--keep", "best", "--threads", "2")
    run(*TRAIN, *more, "-o", "whole.safetensors")
    chance = random.Random(5)
    kills = kept = 0
    words = [COMMAND, *map(str, TRAIN), *more, "-o", "cut.safetensors"]
    ended = False
    while not ended:
        child = subprocess.Popen(words + ["--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        epochs = chance.randrange(1, 4)  # told before the kill, which comes a random moment later
        for line in child.stderr:
            epochs -= line.startswith("note: epoch ")
            if epochs == 0:
                break
        time.sleep(chance.uniform(0, 0.003))
        child.kill()
        child.wait()
        ended = child.returncode == 0
        kills += not ended
        kept += os.path.exists("cut.safetensors.partial")
    check(kills > 1 and kept > 0, f"{kills} kills, {kept} with something kept: the test missed")
    check(read("cut.safetensors") == read("whole.safetensors"), "kill and resume end in other bytes")
    check(not os.path.exists("cut.safetensors.partial"), "the work file stayed")


@case
def interrupted_and_resumed():
    images.fashion()
    more = ("--epochs", "60")
    words = [COMMAND, *map(str, TRAIN), *more, "-o", "cut.safetensors"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    notes = 0
    for line in child.stderr:
        notes += line.startswith("note: epoch ")
        if notes == 3:
            break
    child.send_signal(signal.SIGINT)
    rest = child.stderr.read()
    child.wait()
    check(child.returncode == 130, f"exit {child.returncode}")
    notes += rest.count("note: epoch ")
    check(not os.path.exists("cut.safetensors"), "an interrupted run left a network")
    fails(6, *words[1:], words=["cut.safetensors.partial", "--resume"])
    fails(2, *words[1:], "--resume", "--lr", "0.002", words="other options")
    err = run(*words[1:], "--resume")[1]
    check(f"has {notes} of 60 epochs" in err, f"{notes} epochs were told, but: {err[:300]}")
    check(err.count("note: epoch ") == 60 - notes, "the resumed run did not go on where it was")
    run(*TRAIN, *more, "-o", "whole.safetensors")
    check(read("cut.safetensors") == read("whole.safetensors"), "interrupt and resume end in other bytes")


@case
def what_a_network_file_holds():
    data = images.fashion()
    out, err = run(*TRAIN, "--epochs", 4, "--json", "-o", "net.safetensors")
    said = json.loads(out)
    t, meta = tensors("net.safetensors")
    check(meta["format"] == "lastlayer-network-1" and meta["net"] == "mlp:64,12" and meta["input"] == "28x28x1", meta)
    check(meta["classes"] == "0,1,2,3,4,5,6,7,8,9" and meta["optimiser"] == "adam" and meta["lr"] == "0.001", meta)
    check("momentum" not in meta and "threads" not in meta, meta)
    held = t["holdout"]
    check(len(held) == 60 and np.array_equal(held, np.unique(held)) and held.max() < 600, held)
    check(said["holdout"] == 60 and said["rows"] == 540 and len(said["epochs"]) == 4, said)
    told = [[e["lr"], e["nll"], e["held_nll"], e["held_accuracy"]] for e in said["epochs"]]
    check(np.array_equal(np.array(told), t["epochs"]), "the epochs of the file are not those printed")
    check(said["epochs"][3]["nll"] < said["epochs"][0]["nll"], "the loss does not fall")
    # the held-out and test scores are the network's own
    x, y = data["train"]
    logits = forward(t, x[held])[1]
    nll = np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(60), y[held]])
    check(abs(nll - said["epochs"][3]["held_nll"]) < 1e-5, f"held-out NLL {nll}")
    check(abs(np.mean(logits.argmax(1) == y[held]) - said["epochs"][3]["held_accuracy"]) < 1e-12, "held-out accuracy")
    x, y = data["test"]
    check(abs(np.mean(forward(t, x)[1].argmax(1) == y) - said["test"]["accuracy"]) < 1e-12, "test accuracy")
    check("epoch 4 of 4: loss" in err and "held-out accuracy" in err and "left" in err, err)
    run(*TRAIN, "--epochs", 1, "--seed", 3, "-o", "other.safetensors")
    check(not np.array_equal(tensors("other.safetensors")[0]["holdout"], held), "the held-out rows do not follow the seed")
    out = run(*TRAIN, "--epochs", 2, "--no-holdout", "--table", "-o", "all.safetensors")[0]
    check("holdout" not in tensors("all.safetensors")[0] and "600 rows" in out and len(out.splitlines()) == 5, out)


@case
def best_epoch():
    """The parameters kept are those of a run that stopped there."""
    images.fashion()
    said = json.loads(run(*TRAIN, "--epochs", 12, "--keep", "best", "--lr", ".01", "--seed", 2, "--json", "-o", "best.safetensors")[0])
    kept = said["kept_epoch"]
    scores = [(e["held_accuracy"], -e["held_nll"]) for e in said["epochs"]]
    check(kept - 1 == scores.index(max(scores)) and kept < 12, f"kept {kept} of {scores}")
    run(*TRAIN, "--epochs", kept, "--lr", ".01", "--seed", 2, "-o", "short.safetensors")
    best, short = tensors("best.safetensors")[0], tensors("short.safetensors")[0]
    for name in best:
        check(name == "epochs" or np.array_equal(best[name], short[name]), f"{name} is not that of epoch {kept}")


@case
def encoded_features():
    data = images.fashion()
    train("net.safetensors")
    out = run("encode", "net.safetensors", "--data", "fashion", "-o", "f.npz")[0]
    check("540 training, 60 validation, 200 test rows, 12 features" in out, out)
    t, f = tensors("net.safetensors")[0], np.load("f.npz")
    held = np.zeros(600, bool)
    held[t["holdout"]] = True
    check(sorted(f.files) == sorted(["features_train", "labels_train", "features_val", "labels_val", "features_test", "labels_test", "W", "b", "classes"]), f.files)
    x, y = data["train"]
    for part, rows, labels in ("train", x[~held], y[~held]), ("val", x[held], y[held]), ("test", *data["test"]):
        z, logits = forward(t, rows)
        check(np.allclose(f["features_" + part], z, rtol=1e-4, atol=1e-5), f"features_{part}")
        check(np.array_equal(f["labels_" + part], labels), f"labels_{part}")
        check(np.allclose(f["features_" + part] @ f["W"].T + f["b"], logits, rtol=1e-4, atol=1e-4), f"features_{part} x head are not the logits")
    check(np.array_equal(f["classes"], np.arange(10)), f["classes"])
    whole = read("f.npz")
    for more in [("--threads", 1), ("--threads", 3), ("--block", 1), ("--block", 7, "--threads", 2), ("--block", 10000)]:
        run("encode", "net.safetensors", "--data", "fashion", *more, "-o", "g.npz")
        check(read("g.npz") == whole, f"the features depend on {more}")


@case
def some_classes():
    data = images.fashion()
    run(*TRAIN, "--epochs", 2, "--classes", "last:4", "-o", "net.safetensors")
    run("encode", "net.safetensors", "--data", "fashion", "-o", "f.npz")
    t, f = tensors("net.safetensors")[0], np.load("f.npz")
    x, y = data["test"]
    check(np.array_equal(f["classes"], [6, 7, 8, 9]), f["classes"])
    check(np.array_equal(f["labels_test"], y[y > 5] - 6.0), "labels_test")
    check(np.allclose(f["features_test"], forward(t, x[y > 5])[0], rtol=1e-4, atol=1e-5), "features_test")
    check(np.allclose(f["features_out"], forward(t, x[y <= 5])[0], rtol=1e-4, atol=1e-5), "features_out are not the other classes")
    check(len(f["features_train"]) + len(f["features_val"]) == (data["train"][1] > 5).sum(), "training rows")
    run("encode", "net.safetensors", "--data", "fashion", "--out-data", "data/fashion/train-images-idx3-ubyte", "-o", "g.npz")
    check(np.allclose(np.load("g.npz")["features_out"], forward(t, data["train"][0])[0], rtol=1e-4, atol=1e-5), "--out-data")


@case
def down_the_pipeline():
    """The head of the network on its features: the same test accuracy."""
    images.fashion()
    accuracy = json.loads(run(*TRAIN, "--epochs", 5, "--json", "-o", "net.safetensors")[0])["test"]["accuracy"]
    run("encode", "net.safetensors", "--data", "fashion", "-o", "f.npz")
    run("fit", "--features", "f.npz", "--method", "point", "-o", "e.safetensors")
    run("predict", "e.safetensors", "--features", "f.npz", "-o", "p.npz")
    said = json.loads(run("evaluate", "p.npz", "--json")[0])
    check(abs(said["accuracy"] - accuracy) < 1e-12, f"{said['accuracy']} is not {accuracy}")


@case
def other_rows_than_those_of_training():
    images.fashion()
    train("net.safetensors")
    images.fashion(train=500)
    err = run("encode", "net.safetensors", "--data", "fashion", "-o", "f.npz")[1]
    check("not trained on these rows" in err and "features_val" not in np.load("f.npz").files, err)


@case
def divergence():
    images.fashion()
    err = fails(7, *TRAIN, "--optimiser", "sgd", "--lr", "1e5", "-o", "net.safetensors", words=["diverged", "lr 1"])
    check("--lr" in err, err)


@case
def json_and_the_network_on_one_pipe():
    images.fashion(train=60, test=20)
    fails(2, *TRAIN, "--json", "-o", "/dev/stdout", words="--json")


@cases_of([
    ("no data", 2, ("train", *NET, "-o", "n.safetensors"), ["--data is missing", "lastlayer train"]),
    ("no output", 2, TRAIN, ["--output is missing"]),
    ("unknown data", 3, ("train", "--data", "nothing", *NET, "-o", "n.safetensors"), ["nothing"]),
    ("data that are not there", 3, ("train", "--data", "cifar10", *NET, "-o", "n.safetensors"), ["cifar10"]),
    ("no network", 2, ("train", "--data", "fashion", "--net", "resnet", "-o", "n.safetensors"), ["resnet", "mlp"]),
    ("lr 0", 2, (*TRAIN, "--lr", "0", "-o", "n.safetensors"), ["--lr is 0"]),
    ("lr below 0", 2, (*TRAIN, "--lr", "-1", "-o", "n.safetensors"), ["--lr is -1"]),
    ("momentum 1", 2, (*TRAIN, "--momentum", "1", "-o", "n.safetensors"), ["--momentum is 1"]),
    ("epochs 0", 2, (*TRAIN, "--epochs", "0", "-o", "n.safetensors"), ["--epochs is 0"]),
    ("unknown schedule", 2, (*TRAIN, "--schedule", "linear", "-o", "n.safetensors"), ["linear", "step|cosine|one-cycle"]),
    ("warm-up 0", 2, (*TRAIN, "--warm-up", "0", "-o", "n.safetensors"), ["--warm-up is 0"]),
    ("warm-up beyond the end", 2, (*TRAIN, "--epochs", "4", "--warm-up", "4.5", "-o", "n.safetensors"), ["--warm-up is 4.5 epochs", "4"]),
    ("own dropout above the paper's", 2, ("train", "--data", "fashion", "--net", "vgg16:dropout=1.5", "-o", "n.safetensors"), ["dropout=1.5", "F <= 1"]),
    ("unknown optimiser", 2, (*TRAIN, "--optimiser", "lion", "-o", "n.safetensors"), ["lion", "adam|sgd|nesterov"]),
    ("augmentation", 2, (*TRAIN, "--augment", "twist", "-o", "n.safetensors"), ["twist"]),
    ("best of nothing", 2, (*TRAIN, "--keep", "best", "--no-holdout", "-o", "n.safetensors"), ["--no-holdout"]),
    ("another format", 2, (*TRAIN, "-o", "n.npz"), [".safetensors"]),
    ("no folder", 6, (*TRAIN, "-o", "nowhere/n.safetensors"), ["nowhere"]),
    ("one class", 2, (*TRAIN, "--classes", "first:1", "-o", "n.safetensors"), ["first:1"]),
])
def refused(code, words, sentence):
    images.fashion(train=60, test=20)
    fails(code, *words, words=sentence)


@case
def files_that_are_no_networks():
    images.fashion(train=60, test=20)
    samples.make()
    run(*TRAIN, "--epochs", 1, "-o", "net.safetensors")
    run(*samples.FIT, "--method", "point", "-o", "ens.safetensors")
    data = ("--data", "fashion", "-o", "f.npz")
    fails(4, "encode", "ens.safetensors", *data, words=["ens.safetensors is not a network", "lastlayer-network-1"])
    fails(4, "encode", "head.npz", *data, words="head.npz is not a network")
    fails(3, "encode", "missing.safetensors", *data, words="missing.safetensors")
    fails(2, "encode", *data, words="the network is missing")
    fails(2, "encode", "net.safetensors", "--data", "fashion", "-o", "f.csv", words=".npz")
    good = read("net.safetensors")
    for name, old, new, words in [("shape", b'"net":"mlp:64,12"', b'"net":"mlp:64,13"', "layers.1.weight is [12,64] f32"), ("net", b'"mlp:64,12"', b'"qlp:64,12"', "qlp:64,12"),
                                  ("input", b'"28x28x1"', b'"28x28x2"', "layers.0.weight"), ("format", b"lastlayer-network-1", b"lastlayer-network-9", "lastlayer-network-9")]:
        bad = good.replace(old, new).replace(old.replace(b":", b": ", 1), new.replace(b":", b": ", 1))
        check(bad != good, f"{name}: the header has another form")
        open("bad.safetensors", "wb").write(bad)
        err = run("encode", "bad.safetensors", *data, code=2 if name == "net" else 4)[1]
        check(words in err, f"{name}: {err}")
    open("bad.safetensors", "wb").write(good[:-1000])
    fails(4, "encode", "bad.safetensors", *data, words="bad.safetensors")
    images.squares("mnist")
    fails(5, "encode", "net.safetensors", "--data", "mnist", "-o", "f.npz", words=["12x12x1", "28x28x1"])


@case
def written_through_a_pipe():
    images.fashion(train=60, test=20)
    run(*TRAIN, "--epochs", 1, "-o", "net.safetensors")
    with open("copy", "wb") as f:
        out = subprocess.run([COMMAND, *TRAIN, "--epochs", "1", "-o", "/dev/stdout"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        f.write(out.stdout)
    check(out.returncode == 0 and read("copy") == read("net.safetensors"), out.stderr.decode()[-500:])


if __name__ == "__main__":
    main()
