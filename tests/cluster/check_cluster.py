#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make check-cluster: what takes too long for make check. Each stage prints its time and whether it passed; exit 1 if one did not.

  bytes   every method, predictions, a search on 1, 2, 3, 4 and 7 ranks, Open MPI and MPICH
  kills   SIGKILL of a random rank at 20 moments, then the same command on another number of ranks
  links   four network namespaces with names and addresses of their own, one link cut: the sentence, and the end of the job, within the deadline
  files   1000 small files give the bytes of one large one, on three ranks
  slurm   the array of examples/cluster on a Slurm of this machine alone, to the bytes of one process
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time
import traceback

import cluster_files
import namespaces
import slurm_here

root = pathlib.Path(__file__).resolve().parent.parent.parent
os.chdir(root)
FOLDERS = {"Open MPI": ("build-openmpi", "ompi-c"), "MPICH": ("build-mpich", "mpich")}


def build(folder, name):
    options = ["-Dmpi=enabled", f"-Dmpi_name={name}", "-Dpython=disabled"]
    if (root / folder / "build.ninja").exists():
        options.append("--reconfigure")
    subprocess.run(["meson", "setup", folder, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, "lastlayer", "lastlayer-mpi", "tests/cluster/probe_ranks"], check=True, stdout=subprocess.DEVNULL)


def tests(name, **env):
    """The tests of this folder with both MPIs. True if all pass."""
    good = True
    for title, (folder, option) in FOLDERS.items():
        build(folder, option)
        done = subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "-t", "10", f"cluster/{name}"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **env})
        print(f"   {title}: {'passed' if done.returncode == 0 else done.stdout[-8000:]}", flush=True)
        good = good and done.returncode == 0
    return good


def links():
    good = True
    for title, (folder, option) in FOLDERS.items():
        build(folder, option)
        why = namespaces.cut_link(root / folder / "lastlayer-mpi", option)
        print(f"   {title}: {why or 'passed'}", flush=True)
        good = good and not why
    return good


def files():
    build(*FOLDERS["Open MPI"])
    why = cluster_files.check(root / "build-openmpi")
    print(f"   {why or 'passed'}", flush=True)
    return not why


def slurm():
    build(*FOLDERS["Open MPI"])
    if not shutil.which("slurmctld"):
        print("   slurmctld is missing: tools/setup cluster installs it", flush=True)
        return False
    why = slurm_here.run_array(root, root / "build-openmpi/lastlayer")
    print(f"   {why or 'passed'}", flush=True)
    return not why


STAGES = {
    "bytes": ("the bytes of one process on 1, 2, 3, 4 and 7 ranks", lambda: tests("ranks", RANKS="1 2 3 4 7")),
    "kills": ("20 kills, resumed on another number of ranks", lambda: tests("faults", KILLS="20")),
    "links": ("one of four links cut, within the deadline", links),
    "files": ("1000 small files as one large one", files),
    "slurm": ("the Slurm array of examples/cluster", slurm),
}


def main(names):
    failed = []
    for name in names or STAGES:
        title, stage = STAGES[name]
        print(f"== {name}: {title}", flush=True)
        begin = time.time()
        try:
            passed = stage()
        except Exception:  # a stage that cannot be made does not keep the others from running
            traceback.print_exc(file=sys.stdout)
            passed = False
        if not passed:
            failed.append(name)
        print(f"   {time.time() - begin:.0f} s", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
