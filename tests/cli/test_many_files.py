# SPDX-License-Identifier: MIT
"""Data sets of many files: the results of one file with all the rows, and sentences for files that do not fit together."""
import os
import pathlib
import re
import subprocess
import time

import numpy as np

import samples
from tap import COMMAND, case, cases_of, check, fails, main, run

os.environ["XDG_CACHE_HOME"] = os.getcwd()  # of no case
LITTLE = ("--memory", "600K", "--threads", "1")  # too little for the features: they stay in their files


def cut(folder, array, count, seed=0, dtype=None):
    """`count` files with the rows of the array, some with none."""
    os.makedirs(folder)
    edges = np.sort(np.random.default_rng(seed).integers(0, len(array) + 1, count - 1))
    for i, part in enumerate(np.split(array, edges)):
        np.save(f"{folder}/part-{i:04d}.npy", part if dtype is None else part.astype(dtype))


def make(count=1000, n=3000):
    os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
    files = samples.make(n, 24, 4)
    cut("emb", files["features"], count)
    cut("lab", files["labels"], count, seed=1)
    return files


def same(a, b):
    check(pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes(), f"{a} and {b} differ")


ONE = ("--features", "features.npy", "--labels", "labels.npy")
MANY = ("--features", "emb/part-*.npy", "--labels", "lab")


@cases_of([("1000, sgld", "sgld", 1000), ("200, bootstrap", "bootstrap", 200), ("200, dropout", "dropout", 200), ("2, point", "point", 2)])
def many_files_are_one(method, count):
    make(count)
    options = ("--method", method, *(() if method == "point" else ("--samples", 3)), *(("--epochs", 2) if method in ("bootstrap", "dropout") else ()))
    run("fit", *ONE, *options, "-o", "one.safetensors")
    run("fit", *MANY, *options, "-o", "many.safetensors")
    run("fit", *MANY, *options, *LITTLE, "-o", "little.safetensors")
    same("one.safetensors", "many.safetensors")
    same("one.safetensors", "little.safetensors")
    run("predict", "one.safetensors", *ONE, "-o", "one.npz")
    run("predict", "one.safetensors", *MANY, *LITTLE, "-o", "little.npz")
    same("one.npz", "little.npz")


@case
def a_curvature_reads_its_rows_from_files():
    make(40, 160000)
    run("fit", *ONE, "--method", "laplace", "-o", "one.safetensors")
    run("fit", *MANY, "--method", "laplace", "--memory", "12M", "--threads", "1", "-o", "little.safetensors")
    same("one.safetensors", "little.safetensors")


@case
def a_deep_head_reads_its_rows_from_files():
    make(40, 600)
    options = ("--layers", "2", "--method", "sgd", "--samples", "2")
    run("fit", *ONE, *options, "-o", "one.safetensors")
    run("fit", *MANY, *options, "--shuffle", "full", "--memory", "400K", "--threads", "1", "-o", "little.safetensors")
    a, b = (pathlib.Path(name + ".safetensors").read_bytes() for name in ("one", "little"))
    check(a[-4096:] == b[-4096:], "the members differ")
    run("predict", "one.safetensors", *ONE, "-o", "one.npz")
    run("predict", "one.safetensors", *MANY, "-o", "many.npz")
    same("one.npz", "many.npz")


@case
def blocks_are_read_ahead_from_files():
    make(300)
    options = ("--method", "sgd", "--samples", "2", "--shuffle", "block:256")
    run("fit", *ONE, *options, "-o", "one.safetensors")
    run("fit", *MANY, *options, *LITTLE, "-o", "little.safetensors")
    same("one.safetensors", "little.safetensors")


@case
def a_list_an_archive_and_halves():
    files = make(12, 600)
    names = sorted(os.listdir("emb"))
    pathlib.Path("list.txt").write_text("".join(f"emb/{name}\r\n\n" for name in names))
    run("fit", *ONE, "--samples", 2, "-o", "one.safetensors")
    run("fit", "--features", "@list.txt", "--labels", "labels.npy", "--samples", 2, "-o", "listed.safetensors")
    same("one.safetensors", "listed.safetensors")
    os.makedirs("both")
    for i in range(6):
        rows = slice(100 * i, 100 * i + 100)
        np.savez_compressed(f"both/{i}.npz", features=files["features"][rows], labels=files["labels"][rows])
    _, err = run("fit", "--features", "both", "--samples", 2, "-o", "both.safetensors")
    check("labels from both:labels" in err, err)
    same("one.safetensors", "both.safetensors")
    run("fit", "--features", "both/?.npz:features", "--samples", 2, "-o", "named.safetensors")
    same("one.safetensors", "named.safetensors")
    np.save("half.npy", files["features"].astype(np.float16))
    cut("halves", files["features"], 9, dtype=np.float16)
    cut("doubles", files["features"], 9, dtype=np.float64)
    np.save("double.npy", files["features"].astype(np.float64))
    for one, many in (("half.npy", "halves"), ("double.npy", "doubles")):
        run("fit", "--features", one, "--labels", "labels.npy", "--samples", 2, "-o", "one.safetensors")
        run("fit", "--features", many, "--labels", "lab", "--samples", 2, "-o", "many.safetensors")
        same("one.safetensors", "many.safetensors")


@case
def every_command_takes_them():
    files = make(30, 600)
    cut("val", files["val_features"], 30)
    cut("vlab", files["val_labels"], 20)
    cut("w", np.linspace(0.5, 2, 600), 30)
    np.save("w.npy", np.linspace(0.5, 2, 600))
    run("fit", *ONE, "--weights", "w.npy", "--samples", 2, "-o", "one.safetensors")
    run("fit", *MANY, "--weights", "w/*", "--samples", 2, "-o", "many.safetensors")
    same("one.safetensors", "many.safetensors")
    texts = []
    for features, labels, ensemble in (("val_features.npy", "val_labels.npy", "one.safetensors"), ("val", "vlab", "many.safetensors")):
        run("calibrate", ensemble, "--features", features, "--labels", labels, "-o", "calibrated-" + ensemble)
        out, _ = run("compare", *ONE, "--test-features", features, "--test-labels", labels, "--samples", 2, "--epochs", 2, "--json")
        texts.append(re.sub(r'"seconds_\w+": [^,]*, ', "", out))
        run("search", "--store", "store-" + ensemble, *ONE, "--test-features", features, "--test-labels", labels, "--method", "sgd", "--samples", "2", "--lr", "0.01")
    same("calibrated-one.safetensors", "calibrated-many.safetensors")
    check(texts[0] == texts[1], "compare differs")
    journal = [pathlib.Path(f"store-{name}.safetensors/store.json").read_bytes() for name in ("one", "many")]
    check(journal[0] == journal[1], "search saw other data")


@case
def the_hash_is_remembered_but_not_for_certificates():
    make(50, 2400)
    run("fit", *MANY, *LITTLE, "--samples", 2, "-o", "first.safetensors")
    remembered = list(pathlib.Path("cache/lastlayer").iterdir())
    check(len(remembered) == 1, f"{remembered}")
    text = remembered[0].read_text()
    remembered[0].write_text("0" * 64 + text[64:])
    run("fit", *MANY, *LITTLE, "--samples", 2, "-o", "second.safetensors")
    check(b"0" * 64 in pathlib.Path("second.safetensors").read_bytes(), "what was remembered is not used")
    run("predict", "first.safetensors", *MANY, *LITTLE, "-o", "p.npz")
    check(b"0" * 64 not in pathlib.Path("p.npz").read_bytes(), "predictions with labels believe the hash")
    for broken in ("", "zz" + text[2:], text + "\n"):
        remembered[0].write_text(broken)
        run("fit", *MANY, *LITTLE, "--samples", 2, "-o", "third.safetensors")
        same("first.safetensors", "third.safetensors")
        check(remembered[0].read_text() == text, "the broken line was not replaced")
    os.utime("emb/part-0003.npy")
    run("fit", *MANY, *LITTLE, "--samples", 2, "-o", "fourth.safetensors")
    check(len(list(pathlib.Path("cache/lastlayer").iterdir())) == 2, "another time is another set")


def other_columns():
    np.save("emb/part-0003.npy", np.zeros((5, 23), np.float32))


def other_type():
    np.save("emb/part-0003.npy", np.zeros((5, 24), np.float16))


def not_finite():
    x = np.load("emb/part-0003.npy")
    x[2, 5] = np.nan
    np.save("emb/part-0003.npy", x)


@cases_of([
    ("other columns", other_columns, 5, ("part-0003.npy", "[5,23] f32", "part-0000.npy", "same type"), MANY),
    ("other type", other_type, 5, ("part-0003.npy", "[5,24] f16"), MANY),
    ("not finite", not_finite, 5, ("NaN at row", "column 5"), MANY),
    ("not finite, in files", not_finite, 5, ("NaN at row", "column 5"), (*MANY, "--memory", "200K", "--threads", "1")),
    ("truncated", lambda: os.truncate("emb/part-0003.npy", 200), 4, ("part-0003.npy",), MANY),
    ("no rows in all", lambda: None, 3, ("none-*.npy", "no such file"), ("--features", "none-*.npy", "--labels", "lab")),
    ("an empty folder", lambda: os.makedirs("empty"), 3, ("empty", ".safetensors"), ("--features", "empty", "--labels", "lab")),
    ("missing in the list", lambda: pathlib.Path("list.txt").write_text("emb/part-0000.npy\nemb/gone.npy\n"), 3, ("emb/gone.npy",),
     ("--features", "@list.txt", "--labels", "lab")),
    ("a list of bytes", lambda: pathlib.Path("list.txt").write_bytes(b"a\0b\n"), 4, ("list.txt", "no path"), ("--features", "@list.txt", "--labels", "lab")),
    ("too few labels", lambda: os.remove("lab/part-0004.npy"), 5, ("labels for 600 rows",), MANY),
])
def is_refused(prepare, code, words, options):
    make(6, 600)
    prepare()
    fails(code, "fit", *options, "--samples", 2, "-o", "x.safetensors", words=words)


@case
def a_file_that_shrinks_meanwhile_is_a_sentence():
    make(20)
    words = [COMMAND, "fit", *MANY, *LITTLE, "--method", "sgd", "--samples", "20", "--thin", "1000000", "-o", "x.safetensors"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not os.path.exists("x.safetensors.partial") and running.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    os.truncate("emb/part-0007.npy", 300)
    _, err = running.communicate(timeout=120)
    check(running.returncode == 3, f"exit {running.returncode}: {err}")
    check(b"part-0007.npy: was changed" in err, f"{err}")


@case
def an_output_is_not_one_of_the_files():
    import shutil
    make(5)
    run("fit", *ONE, "--method", "point", "-o", "ens.safetensors")
    shutil.copy("ens.safetensors", "emb/part-9999.safetensors")
    for features in ("emb/part-*", "emb", "@list.txt"):
        pathlib.Path("list.txt").write_text("emb/part-0000.npy\nemb/part-9999.safetensors\n")
        fails(2, "fit", "--features", features, "--labels", "lab", "-o", "emb/part-9999.safetensors", words="also one of the files of the input")


@case
def evaluate_takes_many_files():
    files = make(7, 300)
    cut("out", files["probs"].astype(np.float32), 5, seed=3)
    np.save("whole.npy", files["probs"].astype(np.float32))
    np.save("truth.npy", files["test_labels"])
    cut("truth", files["test_labels"], 4, seed=5)
    one = run("evaluate", "--probs", "whole.npy", "--labels", "truth.npy", "--json")[0]
    check(run("evaluate", "--probs", "out/part-*.npy", "--labels", "truth", "--json")[0] == one, "many outputs and labels differ from one file")
    check(run("evaluate", "--probs", "whole.npy", "--labels", "truth", "--json")[0] == one, "many labels differ from one file")
    run("fit", *ONE, "--method", "point", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", "--features", "test_features.npy", "-o", "pred.npz")
    same_numbers = run("evaluate", "pred.npz", "--labels", "truth.npy", "--json")[0]
    check(run("evaluate", "pred.npz", "--labels", "truth/part-*.npy", "--json")[0] == same_numbers, "labels of predictions in many files differ")
    np.save("truth/part-9.npy", files["test_labels"][:1])
    fails(5, "evaluate", "--probs", "out", "--labels", "truth", words="301")


main()
