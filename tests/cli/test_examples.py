# SPDX-License-Identifier: MIT
"""Every example of every help page works when pasted, in the order of the pipeline."""
import os
import pathlib
import shlex
import shutil

import images
import samples
from tap import case, check, main, run



def examples_of(page):
    lines = page.split("\nExamples\n")[1].split("\n\n")[0].splitlines()
    return [line.strip() for line in lines]


def commands():
    """All of them, in the order of the help page, which is the one in which data flow."""
    page = run("help")[0].split("\nCommands\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in page.splitlines() if line.startswith("  ") and line[2] != " " and not line.startswith("  help ")]


@case
def examples_of_all_help_pages():
    samples.make()
    images.squares("mnist")
    run(*samples.FIT, "--method", "sgd", "--samples", "5", "-o", "few.safetensors")
    run("predict", "few.safetensors", "--features", "out_features.npy", "-o", "pred_out.npz")
    run("predict", "few.safetensors", "--features", "val_features.npy", "-o", "pred_val.npz")
    run("predict", "few.safetensors", "--features", "test_features.npy", "-o", "point.npz")
    for part in (1, 2):
        run(*samples.FIT, "--method", "bootstrap", "--samples", "4", "--epochs", "1", "--part", f"{part}/2", "-o", "ens.safetensors")
    for name in commands():
        if name == "import":  # our own names are PyTorch's
            shutil.copy("net.safetensors", "model.safetensors")
        lines = examples_of(run(name, "--help")[0])
        check(lines, f"{name} has no example")
        for line in lines:
            words = shlex.split(line)
            check(words[:2] == ["lastlayer", name], f"not an example of {name}: {line}")
            out, err = run(*words[1:])
            check(out or name in ("convert",), f"silent: {line}")
            if "-o" in words:
                path = pathlib.Path(words[words.index("-o") + 1])
                check(path.stat().st_size > 0, f"no {path} from: {line}")
    for line in examples_of(run("--help")[0]):
        run(*shlex.split(line)[1:])
    check(not [p for p in os.listdir(".") if p.endswith(".partial") or "tmp" in p], f"left behind: {os.listdir('.')}")


if __name__ == "__main__":
    main()
