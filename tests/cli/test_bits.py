# SPDX-License-Identifier: MIT
"""The same inputs, options and seed give the same bytes, for any number of threads and any block of rows."""
import numpy as np

import samples
from tap import case, cases_of, check, main, run

METHODS = {
    "point": (),
    "sgd": ("--samples", "7"),
    "sgld": ("--samples", "7", "--lr-t0", "50"),
    "bootstrap": ("--samples", "5", "--epochs", "2"),
    "dropout": ("--samples", "9", "--epochs", "3"),
}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def fit(method, out, *more):
    run(*samples.FIT, "--method", method, *METHODS[method], *more, "-o", out)
    return read(out)


@cases_of([(method, method) for method in METHODS])
def threads_and_seed(method):
    samples.make()
    files = [fit(method, f"{t}.safetensors", "--threads", t) for t in (1, 2, 3)]
    check(files[0] == files[1] == files[2], "the ensemble depends on --threads")
    check(fit(method, "again.safetensors") == files[0], "the ensemble is another one the second time")
    if method != "point":
        check(fit(method, "other.safetensors", "--seed", "1") != files[0], "another seed gives the same bits")


@cases_of([(f"{method} {how}", method, how) for method in METHODS if method != "point" for how in ("block:50", "independent")])
def shuffles(method, how):
    samples.make()
    files = [fit(method, f"{t}.safetensors", "--threads", t, "--shuffle", how) for t in (1, 3)]
    check(files[0] == files[1], "the ensemble depends on --threads")
    check(fit(method, "full.safetensors") != files[0], f"{how} visits rows as a full shuffle would")
    check(b'"shuffle":"%s"' % how.encode() in files[0].replace(b'": "', b'":"'), "the shuffle is not in the provenance")


@cases_of([(method, method) for method in METHODS])
def blocks_and_threads_of_predict(method):
    samples.make()
    fit(method, "ens.safetensors")
    words = ["predict", "ens.safetensors", *samples.PREDICT, "--labels", "test_labels.npy", "--members", "0,5,10:20"]
    run(*words, "-o", "reference.npz")
    whole = read("reference.npz")
    for more in [("--threads", 1), ("--threads", 3), ("--block", 1), ("--block", 7), ("--block", 64, "--threads", 2), ("--block", 100000)]:
        run(*words, *more, "-o", "p.npz")
        check(read("p.npz") == whole, f"the predictions depend on {more}")


@case
def row_offset_keeps_the_masks():
    data = samples.make()
    fit("dropout", "ens.safetensors")
    run("predict", "ens.safetensors", *samples.PREDICT, "-o", "whole.npz")
    np.save("part.npy", data["test_features"][100:])
    run("predict", "ens.safetensors", "--features", "part.npy", "--row-offset", 100, "-o", "part.npz")
    run("predict", "ens.safetensors", "--features", "part.npy", "-o", "shifted.npz")
    whole, part, shifted = np.load("whole.npz"), np.load("part.npz"), np.load("shifted.npz")
    check(np.array_equal(whole["std"][100:], part["std"]), "--row-offset does not give the masks of the whole")
    check(not np.array_equal(part["std"], shifted["std"]), "the masks do not depend on the row")


if __name__ == "__main__":
    main()
