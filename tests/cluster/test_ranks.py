# SPDX-License-Identifier: MIT
"""Several ranks give the bytes of one process: every method, predictions, a search. RANKS="1 2 3 4 7" asks for other numbers than 2 and 3."""
import os
import pathlib
import re
import subprocess

import mpirun
from mpirun import each, nothing_left, ranks, same
import samples
import wide
from tap import SOURCE, case, cases_of, check, main, run

RANKS = [int(n) for n in os.environ.get("RANKS", "2 3").split()]
TEST = ("--features", "test_features.npy", "--labels", "test_labels.npy")


def methods():
    section = run("fit", "--help")[0].split("\nMethods, and their defaults\n")[1].split("\n\n")[0]
    found = [word for word in re.findall(r"^  (\w+) ", section, re.M) if word != "ensemble"]
    check({"point", "sgd", "bootstrap", "dropout"} <= set(found), f"no list of methods in: {section}")
    return found


@case
def ranks_talk():
    for n in RANKS:
        mpirun.finish(mpirun.start(mpirun.words(n, program=[os.environ["LASTLAYER_PROBE"]])))


@case
def every_method_gives_the_bytes_of_one_process():
    samples.make(n=150)
    for method in methods():
        options = (*samples.FIT, "--method", method, "--samples", "4", "--epochs", "2")
        run(*options, "-o", "one.safetensors")
        for n in RANKS:
            ranks(n, *options, "-o", "many.safetensors")
            same("one.safetensors", "many.safetensors")
            nothing_left("*.partial", "*.ranks*")


@case
def deep_heads_too():
    samples.make(n=120)
    options = (*samples.FIT, "--layers", "2", "--method", "bootstrap", "--samples", "3", "--epochs", "1", "--lr", "0.01")
    run(*options, "-o", "one.safetensors")
    ranks(RANKS[-1], *options, "-o", "many.safetensors")
    same("one.safetensors", "many.safetensors")


@cases_of([("npz", "npz", ()), ("csv", "csv", ("--threshold", "0.7")), ("a cut and members", "npz", ("--threshold", "0.7", "--members", "90,3,100:140,0"))])
def predictions_give_the_bytes_of_one_process(ending, options):
    samples.make(n=333)
    run(*samples.FIT, "--method", "dropout", "--samples", "5", "--epochs", "1", "-o", "ens.safetensors")
    said = run("predict", "ens.safetensors", *TEST, *options, "-o", f"one.{ending}")[1]
    for n in RANKS:
        process = mpirun.start(mpirun.words(n, "predict", "ens.safetensors", *TEST, *options, "-o", f"many.{ending}"))
        _, err = process.communicate(timeout=mpirun.TIMEOUT)
        check(process.returncode == 0 and err.decode() == said, f"another note than {said}: {err.decode()}")
        same(f"one.{ending}", f"many.{ending}")
        nothing_left("*.ranks*")


@cases_of([("sgd", "sgd", ("--samples", "3", "--thin", "5")), ("two groups", "sgld", ("--samples", "4", "--thin", "3", "--chains", "2")),
           ("velocities", "sghmc", ("--samples", "2", "--thin", "4")), ("sizes of the gradient", "psgld", ("--samples", "2", "--thin", "4")),
           ("cycles", "cyclical", ("--samples", "4", "--thin", "1")), ("slots", "swag", ("--samples", "2", "--epochs", "2", "--thin", "2")),
           ("masks", "dropout", ("--epochs", "2")), ("resamples", "bootstrap", ("--samples", "2", "--epochs", "1"))])
def ranks_divide_the_classes_of_a_wide_head(method, options):
    wide.make()
    options = (*samples.FIT, "--head", "head.npz", "--method", method, "--batch-size", "64", *options)
    run(*options, "-o", "one.safetensors")
    for n in RANKS:
        process = mpirun.start(mpirun.words(n, *options, "-o", "many.safetensors"))
        _, err = process.communicate(timeout=mpirun.TIMEOUT)
        check(process.returncode == 0, err.decode())
        divided = n > int(dict(zip(options, options[1:])).get("--chains", 2 if method == "bootstrap" else 1))
        check((f"ranks divide the {wide.CLASSES} classes" in err.decode()) == divided, f"divided or not: {err.decode()}")
        same("one.safetensors", "many.safetensors")
        nothing_left("*.partial")


@case
def ranks_solve_for_the_map_of_a_wide_head():
    wide.make()
    options = (*samples.FIT, "--method", "point", "--classes", wide.CLASSES)
    run(*options, "-o", "one.safetensors")
    for n in RANKS:
        ranks(n, *options, "-o", "many.safetensors")
        same("one.safetensors", "many.safetensors")


@cases_of([("control variates", "sgld", ("--samples", "2", "--thin", "2", "--control-variates", "on"), "--control-variates"),
           ("resamples that are solved", "bootstrap", ("--samples", "1", "--solve"), "--solve"),
           ("a Gaussian", "laplace", ("--samples", "2", "--structure", "diag"), "laplace"),
           ("no steps", "point", (), None)])
def what_is_not_divided_says_so(method, options, because):
    wide.make()
    options = (*samples.FIT, "--head", "head.npz", "--method", method, *options)
    run(*options, "-o", "one.safetensors")
    process = mpirun.start(mpirun.words(RANKS[-1], *options, "-o", "many.safetensors"))
    _, err = process.communicate(timeout=mpirun.TIMEOUT)
    check(process.returncode == 0, err.decode())
    check((f"are not divided: with {because} " in err.decode()) if because else "divide" not in err.decode(), f"divided or not: {err.decode()}")
    same("one.safetensors", "many.safetensors")


@case
def each_rank_holds_its_own_classes():
    wide.make(features=200)
    options = (*samples.FIT, "--head", "head.npz", "--method", "swag", "--samples", "2", "--epochs", "2", "--thin", "2", "--batch-size", "64", "--threads", "1")
    run(*options, "-o", "one.safetensors")
    enough = "60M"  # 23 states of 3.4 MB are too many for one process, not for each of three
    run(*options, "--memory", enough, "-o", "small.safetensors", code=8)
    ranks(3, *options, "--memory", enough, "-o", "many.safetensors")
    same("one.safetensors", "many.safetensors")


SEARCH = ("search", "--features", "features.npy", "--labels", "labels.npy", "--test-features", "test_features.npy", "--test-labels", "test_labels.npy",
          "--out-features", "out_features.npy", "--method", "point,sgd,bootstrap", "--lr", "0.1,0.02", "--samples", "2,4", "--epochs", "1")


def same_store(one, many):
    lists = [sorted(p.relative_to(store).as_posix() for p in pathlib.Path(store).rglob("*") if p.is_file()) for store in (one, many)]
    check(lists[0] == lists[1], f"other files: {lists}")
    for name in lists[0]:
        if name != "runs.jsonl":
            same(f"{one}/{name}", f"{many}/{name}")
    lines = [sorted(re.sub(r'"seconds":[^,}]*', "", line) for line in open(f"{store}/runs.jsonl")) for store in (one, many)]
    check(lines[0] == lines[1], "the trials differ")


@case
def a_search_gives_the_trials_of_one_process():
    samples.make(n=120)
    table = run(*SEARCH, "--store", "one")[0]
    for n in RANKS:
        out, _ = ranks(n, *SEARCH, "--store", f"many{n}")
        check(out == table, f"another table:\n{out}\n{table}")
        same_store("one", f"many{n}")
        nothing_left("*.ranks*")
    ranks(RANKS[0], *SEARCH, "--store", f"many{RANKS[-1]}")  # nothing is left to do
    same_store("one", f"many{RANKS[-1]}")


@case
def what_ranks_left_of_a_search_is_taken():
    samples.make(n=120)
    run(*SEARCH, "--store", "one")
    half = [word if word != "point,sgd,bootstrap" else "point,sgd" for word in SEARCH]
    run(*half, "--store", "many")
    run(*SEARCH, "--part", "2/3", "--store", "other")
    part = pathlib.Path("other.part-2-of-3")
    store = pathlib.Path("many.ranks.part-2-of-3")
    part.rename(store)
    (store / "store.json").write_bytes(pathlib.Path("many/store.json").read_bytes())  # as ranks write it, without the entries of a part
    ranks(2, *SEARCH, "--store", "many")
    same_store("one", "many")
    nothing_left("*.ranks*")


@case
def other_commands_are_those_of_one_process():
    samples.make(n=100)
    run(*samples.FIT, "--method", "sgd", "--samples", "3", "-o", "ens.safetensors")
    run("predict", "ens.safetensors", *TEST, "-o", "pred.npz")
    check(ranks(2, "evaluate", "pred.npz", "--json")[0] == run("evaluate", "pred.npz", "--json")[0], "another evaluation")
    check(ranks(2, "predict", "ens.safetensors", *TEST)[0] == run("predict", "ens.safetensors", *TEST)[0], "another table of answers")


@case
def one_sentence_for_a_failure():
    import numpy as np
    files = samples.make(n=100)
    _, said = ranks(2, *samples.FIT, "--method", "nonsense", "-o", "e.safetensors", code=2)
    check(len(said) == 1 and "nonsense" in said[0], said)
    _, said = ranks(2, *samples.FIT, "--part", "1/2", "-o", "e.safetensors", code=2)
    check(len(said) == 1 and "several ranks divide the work themselves" in said[0], said)
    _, said = ranks(2, "evaluate", "absent.npz", code=3)
    check(len(said) == 1 and "absent.npz" in said[0], said)
    bad = files["labels"].copy()
    bad[0] = -1
    np.save("bad.npy", bad)
    _, said = ranks(3, "fit", "--features", "features.npy", "--labels", "bad.npy", "-o", "e.safetensors", code=5)
    check(len(said) == 1 and "rank" not in said[0], f"all ranks say the same, so no rank is named: {said}")
    _, said = ranks(2, *samples.FIT, "--method", "sgd", "--lr", "1e6", "--samples", "3", "-o", "e.safetensors", code=7)
    check(len(said) == 1 and "diverged" in said[0], said)
    nothing_left("e.safetensors*")


@case
def unequal_ranks_are_refused():
    import numpy as np
    files = samples.make(n=100)
    np.save("other.npy", files["labels"][::-1])
    _, said = each([((), ()), (("env", "LASTLAYER_ISA=ref"), ())], *samples.FIT, "-o", "e.safetensors", code=5)
    check(len(said) == 1 and "isa is" in said[0] and "ref on rank 1" in said[0], said)
    fit = ("fit", "--features", "features.npy", "-o", "e.safetensors", "--labels")
    _, said = each([((), ("labels.npy",)), ((), ("labels.npy",)), ((), ("other.npy",))], *fit, code=5)
    check(len(said) == 1 and "labels_sha256" in said[0] and "on rank 2" in said[0], said)
    _, said = each([((), ("--seed", "1")), ((), ("--seed", "2"))], *samples.FIT, "-o", "e.safetensors", code=5)
    check(len(said) == 1 and "seed is 1 on rank 0 and 2 on rank 1" in said[0], said)
    _, said = each([((), ("labels.npy",)), ((), ("absent.npy",))], *fit, code=3)
    check(len(said) == 1 and "rank 1 of 2" in said[0] and "absent.npy" in said[0], said)
    run(*samples.FIT, "--method", "sgd", "--samples", "2", "-o", "ens.safetensors")
    ends = ("predict", "ens.safetensors", "--features", "test_features.npy", "-o", "p.npz", "--labels")
    _, said = each([((), ("test_labels.npy",)), ((), ("labels.npy",))], *ends, code=5)
    check(len(said) == 1 and "labels_sha256" in said[0], said)
    nothing_left("e.safetensors*", "p.npz*")


@case
def a_folder_that_is_not_shared_is_refused():
    samples.make(n=100)
    os.mkdir("there")
    for path in pathlib.Path(".").glob("*.npy"):
        (pathlib.Path("there") / path.name).write_bytes(path.read_bytes())
    _, said = each([((), ()), (("env", "-C", "there"), ())], *samples.FIT, "--method", "bootstrap", "--samples", "3", "--epochs", "1", "-o", "e.safetensors", code=6)
    check(len(said) == 1 and "all ranks must see one folder" in said[0], said)
    check(not os.path.exists("there/e.safetensors.partial") and not os.path.exists("e.safetensors"), "an output was made")


if __name__ == "__main__":
    main()
