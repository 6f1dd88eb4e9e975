# SPDX-License-Identifier: MIT
"""diagnose: the rows and the draws against numpy, the verdict on chains that are right, stuck or repeat, and bad input. The arithmetic of R-hat
and of effective sample sizes is compared with R in tests/metrics."""
import json
import re

import numpy as np

import samples
from tap import case, cases_of, check, fails, main, run
from tensors import tensors

CHAINS = ("--method", "sgld", "--chains", "4", "--samples", "80")


def fit(*more, out="ens.safetensors"):
    return run(*samples.FIT, *more, "-o", out)


def diagnose(*more):
    out, err = run("diagnose", "ens.safetensors", "--features", "test_features.npy", "--json", *more)
    return json.loads(out), err


@case
def rows_and_draws_are_those_of_numpy():
    files = samples.make()
    fit(*CHAINS)
    got, _ = diagnose()
    ens, _ = tensors("ens.safetensors")
    p = samples.softmax(np.einsum("nd,skd->snk", files["test_features"].astype(float), ens["W"].astype(float)) + ens["b"][:, None])
    mean = p.mean(0)
    ordered = np.sort(mean, axis=1)
    nearest = np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[:200]
    check(got["rows"] == 200 and got["among"] == samples.N and got["members"] == 80 and got["chains"] == 4, str(got)[:200])
    check(got["row"] == nearest.tolist(), "other rows than those of smallest margin")
    for worst in got["worst"]:
        draws = p[:, worst["row"], mean[worst["row"]].argmax()]
        check(np.abs(draws - worst["draws"]).max() < 1e-5, f"row {worst['row']}: {np.abs(draws - worst['draws']).max()}")
    ranked = sorted(got["row_rhat"], reverse=True)
    check(got["rhat"]["most"] == ranked[0] and abs(got["rhat"]["median"] - np.median(ranked)) < 1e-12, "the summary of R-hat")
    check(got["above"] == sum(r > got["rhat_limit"] for r in ranked), "rows above the limit")


@case
def threads_do_not_matter():
    samples.make()
    fit(*CHAINS)
    check(diagnose("--threads", "1")[0] == diagnose("--threads", "2")[0], "threads change the diagnosis")


def noisy():
    """Labels that the features hardly tell: the posterior is nearly Gaussian."""
    files = samples.make(n=600)
    rng = np.random.default_rng(3)
    logits = 0.5 * files["features"] @ rng.normal(size=(samples.D, samples.K)) / np.abs(files["features"]).mean()
    np.save("labels.npy", (logits + rng.gumbel(size=logits.shape)).argmax(1))


@case
def hmc_is_well_and_a_short_sgld_is_not():
    noisy()
    _, err = fit("--method", "hmc", "--chains", "4", "--samples", "1600")
    good, said = diagnose()
    check(not good["apart"] and not good["repeating"] and "warning" not in said, f"{good['rhat']} {good['bulk']} {said}")
    check(re.search(r"4 chains on \d+ training rows .* R-hat", err), f"fit does not tell: {err}")
    _, err = fit("--method", "sgld", "--chains", "4", "--samples", "100", "--lr", "0.0001")
    bad, said = diagnose()
    check(bad["apart"] and bad["repeating"], f"{bad['rhat']} {bad['bulk']}")
    for text in (err, said):
        check("have not met" in text and "are worth about" in text and "--method hmc" in text, text)


@case
def one_chain_has_no_rhat():
    samples.make()
    fit("--method", "sgd", "--samples", "20")
    got, _ = diagnose()
    check(got["rhat"] == {"median": None, "most": None} and got["bulk"]["median"] > 0 and not got["apart"], str(got["rhat"]))
    out, _ = run("diagnose", "ens.safetensors", "--features", "test_features.npy")
    check("One chain has no R-hat" in out and "R-hat  " not in out, out)


@cases_of([
    ("no chains", ("--method", "bootstrap", "--samples", "20"), "no chain to diagnose"),
    ("draws", ("--method", "laplace",), "no chain to diagnose"),
    ("short", ("--method", "sgd", "--samples", "15"), "at least 16"),
    ("short chains", ("--method", "sgd", "--samples", "30", "--chains", "2"), "at least 16"),
])
def refused(options, words):
    samples.make()
    fit(*options)
    fails(2, "diagnose", "ens.safetensors", "--features", "test_features.npy", words=words)


@case
def bad_arguments():
    files = samples.make()
    fit(*CHAINS)
    fails(2, "diagnose", "ens.safetensors", words="--features")
    fails(2, "diagnose", "--features", "test_features.npy", words="ENSEMBLE")
    fails(2, "diagnose", "ens.safetensors", "--features", "test_features.npy", "--data", "mnist", words="exclude")
    np.save("narrow.npy", files["test_features"][:, :3])
    fails(5, "diagnose", "ens.safetensors", "--features", "narrow.npy", words="features")


@case
def members_that_all_agree():
    """Equal members are nothing to judge, and no NaN reaches the JSON."""
    samples.make()
    fit("--method", "sgd", "--samples", "20", "--lr", "1e-30")
    out, _ = run("diagnose", "ens.safetensors", "--features", "test_features.npy", "--json")
    check("nan" not in out.lower() and json.loads(out)["bulk"]["median"] is None, out[:300])
    out, _ = run("diagnose", "ens.safetensors", "--features", "test_features.npy")
    check("All members say the same" in out, out)


main()
