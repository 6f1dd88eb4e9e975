# SPDX-License-Identifier: MIT
"""A data set of 1000 files on three ranks."""
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]


def check(build):
    os.environ.update(LASTLAYER=str(build / "lastlayer"), LASTLAYER_MPI=str(build / "lastlayer-mpi"), LASTLAYER_MPIRUN="mpirun.openmpi")
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return many_files()
        except AssertionError as why:
            return str(why)
        finally:
            os.chdir(home)


def many_files():
    import mpirun
    import numpy as np
    import samples
    import tap
    files = samples.make(n=5000, d=12, k=4)
    os.mkdir("emb")
    for i, rows in enumerate(np.array_split(files["features"], 1000)):
        np.save(f"emb/part-{i:04}.npy", rows)
    fit = ("--labels", "labels.npy", "--method", "bootstrap", "--samples", "4", "--epochs", "2")
    tap.run("fit", "--features", "features.npy", *fit, "-o", "one.safetensors")
    mpirun.ranks(3, "fit", "--features", "emb/part-*.npy", *fit, "-o", "many.safetensors")
    mpirun.same("one.safetensors", "many.safetensors")
    tap.run("predict", "one.safetensors", "--features", "features.npy", "-o", "one.npz")
    mpirun.ranks(3, "predict", "one.safetensors", "--features", "emb/part-*.npy", "-o", "many.npz")
    mpirun.same("one.npz", "many.npz")
    return ""
