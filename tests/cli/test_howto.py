# SPDX-License-Identifier: MIT
"""The method of docs/howto/add-a-method.md: its diff is applied to a copy of the tree, built and run."""
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np

from tap import Skip, SOURCE, case, check, main
from tensors import tensors

PAGE = SOURCE / "docs/howto/add-a-method.md"
N, D, K = 120, 12, 3


def run(*command, code=0, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500, **more)
    check(done.returncode == code, f"{command} ended with {done.returncode}: {done.stdout[-3000:]}")
    return done.stdout


def copy_tree(to):
    """Everything but what is built: a folder that is new is in the copy as well."""
    left_out = shutil.ignore_patterns("__pycache__", "corpus")
    for path in SOURCE.iterdir():
        if path.is_file():
            shutil.copy2(path, to)
        elif not path.name.startswith((".", "build", "data", "demo", "dist", "results")):
            shutil.copytree(path, to / path.name, ignore=left_out if path.name != "src" else None)


def fit(command, output, *more):
    return [command, "fit", "--features", "z.npy", "--labels", "y.npy", "--method", "jitter", "-o", output, *more]


@case
def the_method_of_the_page_works():
    for tool in ("patch", "meson", "ninja"):
        if not shutil.which(tool):
            raise Skip(f"no {tool}")
    here = pathlib.Path.cwd()
    diff = re.findall(r"^```diff\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    check(len(diff) == 1, "the page has one diff")
    tree = here / "tree"
    tree.mkdir()
    copy_tree(tree)
    print("# " + run("patch", "-p1", "--no-backup-if-mismatch", input=diff[0], cwd=tree).replace("\n", "; "))
    files = re.findall(r"^\+\+\+ b/(\S+)", diff[0], re.M)
    changed = [f for f in files if (SOURCE / f).exists()]
    check(len(files) - len(changed) == 1, f"one new file: {files}")
    check(all(diff[0].count(f"\n+++ b/{f}\n") == 1 for f in files), "each file once")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LASTLAYER", "MESON", "NINJA", "MAKEFLAGS"))}
    run("meson", "setup", "build", "-Doptimization=1", "-Dwerror=true", cwd=tree, env=env)
    run("ninja", "-C", "build", "lastlayer", "tests/test_pipeline_conformance", cwd=tree, env=env)
    run("python3", "tools/methods.py", ".", cwd=tree)
    text = run("build/tests/test_pipeline_conformance", cwd=tree, env={**env, "CMOCKA_MESSAGE_OUTPUT": "TAP"})
    check("not ok" not in text and len(re.findall(r"^ok ", text, re.M)) > 10, text[-2000:])
    check_members(tree / "build/lastlayer", env)


def check_members(command, env):
    rng = np.random.default_rng(3)
    W, b = rng.standard_normal((K, D)).astype("f4"), rng.standard_normal(K).astype("f4")
    np.save("z.npy", rng.standard_normal((N, D)).astype("f4"))
    np.save("y.npy", np.arange(N) % K)
    np.savez("head.npz", weight=W, bias=b)
    run(*fit(command, "a.safetensors", "--head", "head.npz", "-S", "4000", "--threads", "1"), env=env)
    run(*fit(command, "b.safetensors", "--head", "head.npz", "-S", "4000", "--threads", "3"), env=env)
    check(pathlib.Path("a.safetensors").read_bytes() == pathlib.Path("b.safetensors").read_bytes(), "the same bytes for 1 and 3 threads")
    arrays, _ = tensors("a.safetensors")
    sigma = 0.1 * np.sqrt((np.sum(W.astype(float) ** 2) + np.sum(b.astype(float) ** 2)) / (K * (D + 1)))
    for found, around in ((arrays["W"], W), (arrays["b"], b)):
        xi = (found.astype(float) - around) / sigma
        check(np.abs(xi.mean(axis=0)).max() < 5 / np.sqrt(4000), "the mean is theta*")
        check(np.abs(xi.var(axis=0) - 1).max() < 5 * np.sqrt(2 / 4000), "the spread is sigma")
    text = run(*fit(command, "c.safetensors", "--layers", "2"), env=env, code=2)
    check("the method jitter does not work on several layers" in text, text)
    check("jitter" in run(command, "help", "fit", env=env), "help names it")
    data = ("--features", "z.npy", "--labels", "y.npy", "--test-features", "z.npy", "--test-labels", "y.npy")
    text = run(command, "compare", *data, "-S", "5", env=env)
    check(re.search(r"^\W*jitter\b", text, re.M), text)


main()
