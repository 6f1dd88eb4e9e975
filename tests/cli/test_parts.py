# SPDX-License-Identifier: MIT
"""Parts and merge: the bytes of the run that was not divided, in any order, and sentences for parts that do not fit together."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import samples
from tap import COMMAND, case, cases_of, check, fails, main, run

ENDS = ("--features", "test_features.npy", "--labels", "test_labels.npy")


def methods():
    """Every method that works on a head, as the help has them."""
    help_text, _ = run("fit", "--help")
    section = help_text.split("\nMethods, and their defaults\n")[1].split("\n\n")[0]
    words = re.findall(r"^  (\w+) ", section, re.M)
    check({"point", "sgd", "bootstrap", "dropout"} <= set(words), f"no list of methods in: {section}")
    return [word for word in words if word != "ensemble"]


def same(a, b):
    check(pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes(), f"{a} and {b} differ")


def fit(*options, output="ens.safetensors", code=0):
    return run(*samples.FIT, *options, "-o", output, code=code)


def divide(n, *options, order=None):
    for i in order or range(1, n + 1):
        fit(*options, "--part", f"{i}/{n}")


@cases_of([("3 parts", 3), ("7 parts, more than members", 7), ("1 part", 1)])
def every_method_merges_to_the_bytes_of_one_run(n):
    samples.make(n=200)
    for method in methods():
        options = ("--method", method, "--samples", "4", "--epochs", "2")
        fit(*options, output="one.safetensors")
        divide(n, *options, order=reversed(range(1, n + 1)))
        run("merge", "ens.safetensors")
        same("one.safetensors", "ens.safetensors")
        for path in pathlib.Path(".").glob("ens.*"):
            path.unlink()


@case
def a_part_without_work_says_so():
    samples.make(n=100)
    _, err = fit("--method", "sgd", "--samples", "2", "--part", "2/3")
    check(os.path.exists("ens.safetensors.part-2-of-3") and not os.path.exists("ens.safetensors"), "the wrong file")
    check("has nothing to do" in err + fit("--method", "sgd", "--samples", "2", "--part", "1/3")[1], err)


@case
def chains_are_parts():
    samples.make(n=200)
    options = ("--method", "sgld", "--samples", "6", "--chains", "3")
    fit(*options, output="one.safetensors")
    divide(3, *options, order=[3, 1, 2])
    run("merge", "ens.safetensors")
    same("one.safetensors", "ens.safetensors")
    fit("--method", "sgld", "--samples", "2", output="short.safetensors")
    import tensors
    one, short = tensors.tensors("one.safetensors")[0], tensors.tensors("short.safetensors")[0]
    check((one["W"][:2] == short["W"]).all() and (one["W"][2:4] != short["W"]).any(), "the first chain is not the one of a single chain")


@case
def a_deep_head_merges():
    samples.make(n=120)
    options = ("--layers", "2", "--method", "bootstrap", "--samples", "3", "--epochs", "1", "--lr", "0.01")
    fit(*options, output="one.safetensors")
    divide(2, *options)
    run("merge", "ens.safetensors")
    same("one.safetensors", "ens.safetensors")


@case
def parts_done_twice_and_brought_together():
    samples.make(n=150)
    options = ("--method", "bootstrap", "--samples", "5", "--epochs", "1")
    fit(*options, output="one.safetensors")
    divide(3, *options, order=[2, 3, 2, 1, 3])
    os.mkdir("[odd] *")
    for path in pathlib.Path(".").glob("ens.safetensors.part-*"):
        shutil.move(path, "[odd] *")
    run("merge", "[odd] */ens.safetensors")
    same("one.safetensors", "[odd] */ens.safetensors")
    run("merge", "[odd] */ens.safetensors")  # once more, over the first
    same("one.safetensors", "[odd] */ens.safetensors")


@case
def what_is_missing_is_named():
    samples.make(n=100)
    options = ("--method", "bootstrap", "--samples", "4", "--epochs", "1")
    fails(3, "merge", "ens.safetensors", words="has no parts")
    divide(4, *options, order=[1, 4])
    fails(3, "merge", "ens.safetensors", words="parts 2, 3 of 4 are missing")
    divide(4, *options, order=[2])
    fails(3, "merge", "ens.safetensors", words="part 3 of 4 is missing")
    divide(3, *options, order=[3])
    fails(2, "merge", "ens.safetensors", words=("out of 4", "out of 3"))


@cases_of([("data", ("--labels", "other.npy"), "labels_sha256"), ("seed", ("--seed", "9"), "seed"), ("step size", ("--lr", "0.02"), "lr")])
def parts_of_other_runs_are_refused(what, key):
    import numpy as np
    files = samples.make(n=100)
    np.save("other.npy", files["labels"][::-1])
    options = ("--method", "bootstrap", "--samples", "4", "--epochs", "1")
    divide(2, *options, order=[1])
    if what[0] == "--labels":
        run("fit", "--features", "features.npy", *what, *options, "--part", "2/2", "-o", "ens.safetensors")
    else:
        fit(*options, *what, "--part", "2/2")
    fails(5, "merge", "ens.safetensors", words=("parts of different outputs", key))
    shutil.copy("ens.safetensors.part-1-of-2", "ens.safetensors.part-2-of-2")
    fails(5, "merge", "ens.safetensors", words="expected part 2/2")


@case
def bad_parts_are_refused():
    samples.make(n=100)
    for text in ("0/3", "4/3", "3", "1/0", "a/b", "1/2/3", "-1/2", "1/2000000000000"):
        fails(2, *samples.FIT, "--part", text, "-o", "ens.safetensors", words="expected I/N")
    divide(2, "--method", "bootstrap", "--samples", "2", "--epochs", "1")
    whole = pathlib.Path("ens.safetensors.part-2-of-2").read_bytes()
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        pathlib.Path("ens.safetensors.part-2-of-2").write_bytes(whole[:size])
        fails(3 if size == 0 else 4, "merge", "ens.safetensors", words="part-2-of-2")
    pathlib.Path("ens.safetensors.part-2-of-2").write_bytes(b"hello, I am no part")
    fails(4, "merge", "ens.safetensors", words="part-2-of-2")


@case
def a_killed_part_resumes():
    samples.make(n=4000, d=40, k=8)
    options = ("--method", "bootstrap", "--samples", "6", "--epochs", "60", "--threads", "1")
    fit(*options, output="one.safetensors")
    words = [COMMAND, *samples.FIT, *options, "--part", "1/2", "-o", "ens.safetensors"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    work = pathlib.Path("ens.safetensors.part-1-of-2.partial")
    for _ in range(2000):
        if process.poll() is not None or (work.exists() and work.stat().st_size > 0):
            break
        try:
            process.wait(0.005)
        except subprocess.TimeoutExpired:
            pass
    process.kill()
    process.wait()
    divide(2, *options, order=[2])
    if work.exists():
        fails(3, "merge", "ens.safetensors", words=("part 1 of 2 is missing", "--resume"))
    fit(*options, "--part", "1/2", "--resume")
    run("merge", "ens.safetensors")
    same("one.safetensors", "ens.safetensors")
    check(not work.exists(), "the work file of the part is still there")


@cases_of([("npz", "npz", ()), ("csv", "csv", ()), ("a cut and members", "npz", ("--threshold", "0.7", "--members", "90,3,100:140,0")),
           ("no probs", "npz", ("--no-probs", "--classifier", "votes"))])
def predictions_merge_to_the_bytes_of_one_run(ending, options):
    samples.make(n=333)
    fit("--method", "dropout", "--samples", "7", "--epochs", "1")
    for n in (1, 3, 13):
        run("predict", "ens.safetensors", *ENDS, *options, "-o", f"one.{ending}")
        for i in reversed(range(1, n + 1)):
            run("predict", "ens.safetensors", *ENDS, *options, "--part", f"{i}/{n}", "--block", 32 * i, "-o", f"pred.{ending}")
        run("merge", f"pred.{ending}")
        same(f"one.{ending}", f"pred.{ending}")
        for path in pathlib.Path(".").glob("pred.*"):
            path.unlink()


@case
def predictions_of_an_encoded_file_keep_their_out_rows():
    import numpy as np
    files = samples.make(n=100)
    np.savez("encoded.npz", features_train=files["features"], labels_train=files["labels"], features_test=files["test_features"],
             labels_test=files["test_labels"], features_out=files["out_features"], W=files["W"], b=files["b"])
    run("fit", "--features", "encoded.npz", "--method", "sgld", "--samples", "3", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", "--features", "encoded.npz", "-o", "one.npz")
    for i in (1, 2, 3):
        run("predict", "ens.safetensors", "--features", "encoded.npz", "--part", f"{i}/3", "-o", "pred.npz")
    run("merge", "pred.npz")
    same("one.npz", "pred.npz")


@case
def parts_of_other_predictions_are_refused():
    samples.make(n=100)
    fit("--method", "sgld", "--samples", "3")
    one = ("predict", "ens.safetensors", *ENDS, "-o", "pred.npz")
    run(*one, "--part", "1/2", "--threshold", "0.5")
    run(*one, "--part", "2/2", "--threshold", "0.6")
    fails(5, "merge", "pred.npz", words=("parts of different outputs", "threshold"))
    run("predict", "ens.safetensors", "--features", "val_features.npy", "--labels", "test_labels.npy", "--threshold", "0.5", "--part", "2/2", "-o", "pred.npz")
    fails(5, "merge", "pred.npz", words=("parts of different outputs", "rows_sha256"))
    fails(2, "predict", "ens.safetensors", *ENDS, "--part", "1/2", words="--part needs --output")


SEARCH = ("search", "--features", "features.npy", "--labels", "labels.npy", "--test-features", "test_features.npy", "--test-labels", "test_labels.npy",
          "--out-features", "out_features.npy", "--method", "point,sgd,bootstrap", "--lr", "0.1,0.02", "--samples", "2,4", "--epochs", "1")


def trials(store):
    """Its trials without their seconds."""
    table = json.loads(run("search", "--store", store, "--show", "--json")[0])
    for trial in table["trials"]:
        del trial["seconds"]
    return table


@cases_of([("2 parts", 2), ("9 parts, more than runs", 9)])
def a_search_merges_to_the_trials_of_one(n):
    samples.make(n=120)
    run(*SEARCH, "--store", "one")
    for i in reversed(range(1, n + 1)):
        run(*SEARCH, "--part", f"{i}/{n}", "--store", "many")
    run(*SEARCH, "--part", f"1/{n}", "--store", "many")  # once more: nothing is left to do
    run("merge", "many")
    check(trials("one") == trials("many"), "the trials differ")
    for name in ("store.json", "choice.json"):
        same(f"one/{name}", f"many/{name}")
    files = sorted(p.relative_to("one").as_posix() for p in pathlib.Path("one").rglob("*") if p.is_file())
    check(files == sorted(p.relative_to("many").as_posix() for p in pathlib.Path("many").rglob("*") if p.is_file()), f"other files: {files}")
    for name in files:
        if name != "runs.jsonl":
            same(f"one/{name}", f"many/{name}")
    run("merge", "many")
    check(trials("one") == trials("many"), "a second merge changed the trials")
    run(*SEARCH, "--store", "many")  # a store like any other: nothing is left to do
    check(trials("one") == trials("many"), "the search went on")


@case
def searches_of_other_data_do_not_merge():
    samples.make(n=100)
    run(*SEARCH, "--part", "1/2", "--store", "many")
    run("search", *SEARCH[1:], "--seed", "5", "--part", "2/2", "--store", "many")
    fails(2, "merge", "many", words=("belongs to another search", "seed"))
    check(not os.path.exists("many"), "a store was begun")


@case
def the_line_of_the_example_works():
    """examples/cluster/parallel.sh, with what there is of GNU parallel."""
    from tap import SOURCE
    samples.make(n=150)
    fit("--method", "bootstrap", "--samples", "5", "--epochs", "1", output="one.safetensors")
    words = ["sh", str(SOURCE / "examples/cluster/parallel.sh"), "3", "--features", "features.npy", "--labels", "labels.npy", "--method", "bootstrap",
             "--samples", "5", "--epochs", "1"]
    subprocess.run(words, check=True, env={**os.environ, "LASTLAYER": COMMAND, "OUTPUT": "ens.safetensors"}, stdout=subprocess.DEVNULL)
    same("one.safetensors", "ens.safetensors")


main()
