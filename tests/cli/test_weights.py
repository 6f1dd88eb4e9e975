# SPDX-License-Identifier: MIT
"""--weights and --class-weight: what they change, what they refuse, and who remembers them."""
import pathlib

import numpy as np

import images
import samples
from samples import FIT
from tap import case, cases_of, check, fails, main, run
from tensors import tensors

USAGE, READ, DATA = 2, 3, 5
TEST = ("--test-features", "test_features.npy", "--test-labels", "test_labels.npy")
QUICK = ("--samples", 2, "--epochs", 1)


def fit(name, *more, method="sgd"):
    """The arrays of an ensemble without its provenance, and the provenance."""
    run(*FIT, "--method", method, *QUICK, *more, "-o", name + ".safetensors")
    arrays, meta = tensors(name + ".safetensors")
    return {k: a.tobytes() for k, a in arrays.items()}, meta


def balanced(y):
    count = np.bincount(y)
    return len(y) / ((count > 0).sum() * np.maximum(count, 1))


@case
def ones_are_nothing_and_zeros_are_rows_less():
    made = samples.make()
    np.save("ones.npy", np.ones(samples.N))
    some = (np.arange(samples.N) % 3 > 0).astype(np.float32)
    np.save("some.npy", some)
    plain, meta = fit("plain")
    check("weights_sha256" not in meta, "a hash of weights that were not given")
    weighed, more = fit("ones", "--weights", "ones.npy")
    check(plain == weighed and more.pop("weights_sha256") and more == meta, "weights of 1 changed something")
    zeros = fit("zeros", "--weights", "some.npy")[0]
    np.save("features.npy", made["features"][some > 0])
    np.save("labels.npy", made["labels"][some > 0])
    check(zeros == fit("removed")[0] != plain, "rows of weight 0 are not rows removed")


@case
def balanced_is_its_numbers():
    made = samples.make()
    w = balanced(made["labels"])
    np.save("classes.npy", w)
    np.save("rows.npy", w[made["labels"]])
    np.save("twos.npy", np.full(samples.N, 2.0))
    np.savetxt("classes.csv", w, delimiter=",", header="w", comments="")
    named, meta = fit("named", "--class-weight", "balanced")
    for flags in (("--class-weight", "classes.npy"), ("--weights", "rows.npy"), ("--class-weight", "classes.csv:w")):
        again, about = fit("again", *flags)
        check(again == named and about["weights_sha256"] == meta["weights_sha256"], flags)
    both = fit("both", "--weights", "twos.npy", "--class-weight", "balanced")[0]
    np.save("rows.npy", 2 * w[made["labels"]])
    check(both == fit("product", "--weights", "rows.npy")[0] != named, "both are not the product")


BAD = [
    ("negative", lambda w: w - 1.5, "expected a number of at least 0"),
    ("nan", lambda w: w * np.nan, "row 0 is nan"),
    ("infinite", lambda w: w / 0.0, "row 0 is inf"),
    ("too many", lambda w: np.ones(len(w) + 1), "301 weights for 300 rows"),
    ("two axes", lambda w: np.ones((len(w), 2)), "expected one axis"),
    ("all zero", lambda w: w * 0, "all 300 rows have the weight 0"),
    ("too small", lambda w: w * 1e-60, "scale the weights"),
]


@cases_of(BAD)
def bad_weights(make, words):
    samples.make()
    with np.errstate(divide="ignore"):
        np.save("w.npy", make(np.ones(samples.N)))
    fails(DATA, *FIT, "--weights", "w.npy", "-o", "e.safetensors", words=(words,))
    fails(DATA, "compare", *FIT[1:], *TEST, "--weights", "w.npy", words=(words,))


@case
def bad_class_weights():
    samples.make()
    np.save("two.npy", np.ones(2))
    np.save("minus.npy", -np.ones(3))
    fails(DATA, *FIT, "--class-weight", "two.npy", "-o", "e.safetensors", words=("two.npy", "2 weights for 3 classes"))
    fails(DATA, *FIT, "--class-weight", "minus.npy", "-o", "e.safetensors", words=("minus.npy", "class 0 is -1"))
    fails(READ, *FIT, "--class-weight", "balance", "-o", "e.safetensors", words=("balance",))
    np.save("w.npy", np.ones(samples.N))
    fails(USAGE, *FIT, "--weights", "w.npy", "-o", "w.npy", words=("also the input",))


@case
def every_command_that_trains():
    samples.make()
    np.save("two.npy", np.ones(samples.N) * 2)
    head = ("--head", "head.npz")
    grid = ("--method", "point,sgd", "--samples", "2", "--lr", "0.1")
    plain = run("compare", *FIT[1:], *TEST, *QUICK, "--json")[0]
    weighed = run("compare", *FIT[1:], *TEST, *QUICK, "--class-weight", "balanced", "--json")[0]
    check(plain != weighed, "compare does not weigh")
    run("search", *FIT[1:], *head, *TEST, *grid, "--class-weight", "balanced", "--store", "with")
    run("search", *FIT[1:], *head, *TEST, *grid, "--class-weight", "balanced", "--store", "with")
    run("search", *FIT[1:], *head, *TEST, *grid, "--store", "without")
    for store, flags in (("with", ()), ("without", ("--class-weight", "balanced")), ("with", ("--weights", "two.npy"))):
        out, err = run("search", *FIT[1:], *head, *TEST, *grid, *flags, "--store", store, code=USAGE)
        check("belongs to another search" in err and "weights_train_sha256" in err, err)


@case
def threads_change_nothing():
    samples.make()
    run(*FIT, "--method", "sgd", *QUICK, "--class-weight", "balanced", "-o", "e.safetensors")
    whole = pathlib.Path("e.safetensors").read_bytes()
    run(*FIT, "--method", "sgd", *QUICK, "--class-weight", "balanced", "--threads", 3, "-o", "again.safetensors")
    check(pathlib.Path("again.safetensors").read_bytes() == whole, "threads change bits")


@case
def networks_and_their_training():
    """A network trained on weighed images, and its chains: 1 is nothing, 0 is not seen, and the files know."""
    sets = images.squares(classes=4)
    y = sets["train"][1]
    np.save("ones.npy", np.ones(len(y)))
    np.save("classes.npy", np.array([1, 0, 1, 1.0]))
    train = ("train", "--data", "mnist", "--net", "mlp:16,8", "--epochs", 2)
    chain = ("--data", "mnist", "--method", "sgd", "--samples", 2, "--lr", ".05", "--batch-size", 32)
    made = {}
    for name, flags in (("plain", ()), ("ones", ("--weights", "ones.npy")), ("some", ("--class-weight", "classes.npy")),
                        ("even", ("--class-weight", "balanced"))):
        run(*train, *flags, "-o", name + ".safetensors")
        run("fit", "--network", "plain.safetensors", *chain, *flags, "-o", name + "-e.safetensors")
        made[name] = [tensors(name + end) for end in (".safetensors", "-e.safetensors")]
        for arrays, meta in made[name]:
            check(("weights_sha256" in meta) == bool(flags), name)
    bits = {name: [{k: a.tobytes() for k, a in t.items()} for t, _ in both] for name, both in made.items()}
    check(bits["ones"] == bits["plain"], "weights of 1 changed a network")
    check(all(bits["even"][i] != bits["plain"][i] != bits["some"][i] for i in (0, 1)), "weights are not used")
    run("encode", "some.safetensors", "--data", "mnist", "-o", "enc.npz")
    with np.load("enc.npz") as enc:
        label = (enc["features_train"] @ enc["W"].T + enc["b"]).argmax(1)
        check((label != 1).mean() > 0.99 and (enc["labels_train"] == 1).any(), "a class of weight 0 was learnt")
    fails(DATA, *train, "--weights", "classes.npy", "-o", "n.safetensors", words=("4 weights for 400 rows",))


if __name__ == "__main__":
    main()
