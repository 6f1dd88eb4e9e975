# SPDX-License-Identifier: MIT
"""Ranks that die, fall silent or have no room on their disk: the job ends with a sentence, and goes on to the same bytes on another number
of ranks. KILLS=20 asks for that many kills."""
import os
import pathlib
import random
import resource
import signal
import time

import mpirun
from mpirun import nothing_left, pids, ranks, same
import samples
import wide
from tap import case, check, main, run

BOOTSTRAP = (*samples.FIT, "--method", "bootstrap", "--samples", "6", "--threads", "1")
LONG = (*BOOTSTRAP, "--epochs", "200")
ENDLESS = (*BOOTSTRAP, "--epochs", "100000")


def begun(path="many.safetensors.partial"):
    """Waits until the ranks write."""
    for _ in range(6000):
        if os.path.exists(path) and os.path.getsize(path) > 0:
            return
        time.sleep(0.005)
    raise AssertionError(f"no {path}")


@case
def a_killed_rank_ends_the_job_and_another_number_goes_on():
    samples.make(n=4000, d=40, k=8)
    run(*LONG, "-o", "one.safetensors")
    rng, cut_short = random.Random(5), 0
    for kill in range(int(os.environ.get("KILLS", "2"))):
        n, resumed = rng.choice([(2, 3), (3, 2), (4, 1), (3, 4)])
        process = mpirun.start(mpirun.words(n, *LONG, "-o", "many.safetensors"))
        victims = pids(process.pid, n)
        begun()
        time.sleep(rng.random() * 0.5)
        victim = rng.randrange(n)
        try:
            os.kill(victims[victim], signal.SIGKILL)
        except ProcessLookupError:
            pass  # it was done
        before = time.time()
        process.communicate(timeout=60)
        check(time.time() - before < 30, "a job without one of its ranks went on")
        if not os.path.exists("many.safetensors"):  # if it is there, the rank died after the last byte
            check(process.returncode != 0, "a job without an output ended well")
            cut_short += 1
            ranks(resumed, *LONG, "--resume", "-o", "many.safetensors")
        same("one.safetensors", "many.safetensors")
        nothing_left("*.partial")
        os.unlink("many.safetensors")
    print(f"# {cut_short} of {kill + 1} kills came before the last byte", flush=True)


@case
def a_silent_rank_is_named_within_the_deadline():
    samples.make(n=4000, d=40, k=8)
    process = mpirun.start(mpirun.words(3, *ENDLESS, "--deadline", "2", "-o", "many.safetensors"))
    victims = pids(process.pid, 3)
    begun()
    os.kill(victims[2], signal.SIGSTOP)
    before = time.time()
    try:
        _, said = mpirun.finish(process, None, 40)
    finally:
        for pid in victims.values():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    check(any("rank 2 of 3" in line and "--deadline" in line for line in said), f"no sentence names rank 2: {said}")
    check(len(said) == 1, f"more than one sentence: {said}")
    check(time.time() - before < 30, "it took too long")


@case
def a_slow_rank_is_not_taken_for_a_dead_one():
    samples.make(n=4000, d=40, k=8)
    options = (*samples.FIT, "--method", "sgd", "--samples", "4", "--thin", "6000", "--threads", "1")
    run(*options, "-o", "one.safetensors")
    ranks(2, *options, "--deadline", "1", "-o", "many.safetensors")  # one chain: the other rank waits for it
    same("one.safetensors", "many.safetensors")


@case
def a_full_disk_on_one_rank():
    samples.make(n=4000, d=40, k=8)
    run(*LONG, "-o", "one.safetensors")
    process = mpirun.start(mpirun.words(2, *LONG, "-o", "many.safetensors"))
    victims = pids(process.pid, 2)
    begun()
    resource.prlimit(victims[1], resource.RLIMIT_FSIZE, (4096, 4096))
    _, said = mpirun.finish(process, 6)
    check(len(said) == 1 and "rank 1 of 2" in said[0] and "many.safetensors" in said[0], said)
    check(not os.path.exists("many.safetensors"), "an unfinished output has its name")
    ranks(3, *LONG, "--resume", "-o", "many.safetensors")
    same("one.safetensors", "many.safetensors")


def writes(pid):
    """Waits until the process has an output that has no name yet."""
    for _ in range(6000):
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                if os.readlink(link).startswith(os.getcwd()) and "(deleted)" in os.readlink(link):
                    return
            except OSError:
                pass
        time.sleep(0.005)
    raise AssertionError("no output")


@case
def a_full_disk_on_one_rank_of_predict():
    samples.make(n=30000, d=40, k=8)
    run(*samples.FIT, "--method", "dropout", "--samples", "300", "--epochs", "1", "-o", "ens.safetensors")
    process = mpirun.start(mpirun.words(2, "predict", "ens.safetensors", *samples.PREDICT, "--threads", "1", "-o", "p.npz"))
    victims = pids(process.pid, 2)
    writes(victims[1])
    resource.prlimit(victims[1], resource.RLIMIT_FSIZE, (4096, 4096))
    _, said = mpirun.finish(process, 6)
    check(len(said) == 1 and "rank 1 of 2" in said[0], said)
    nothing_left("p.npz*")


@case
def an_interrupted_job_goes_on_without_mpi():
    samples.make(n=4000, d=40, k=8)
    run(*LONG, "-o", "one.safetensors")
    process = mpirun.start(mpirun.words(2, *LONG, "-o", "many.safetensors"))
    pids(process.pid, 2)
    begun()
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    if pathlib.Path("many.safetensors.partial").exists():
        run(*LONG, "--resume", "-o", "many.safetensors")
    same("one.safetensors", "many.safetensors")


@case
def a_divided_chain_goes_on_with_another_number_of_ranks():
    wide.make(features=60)
    options = (*samples.FIT, "--head", "head.npz", "--method", "sghmc", "--samples", "24", "--thin", "12", "--batch-size", "64", "--threads", "1")
    run(*options, "-o", "one.safetensors")
    cut_short = 0
    for n, resumed in ((2, 3), (3, 1)):
        process = mpirun.start(mpirun.words(n, *options, "-o", "many.safetensors"))
        pids(process.pid, n)
        begun()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        if not os.path.exists("many.safetensors"):
            cut_short += 1
            ranks(resumed, *options, "--resume", "-o", "many.safetensors")
        same("one.safetensors", "many.safetensors")
        nothing_left("*.partial")
        os.unlink("many.safetensors")
    print(f"# {cut_short} of 2 came before the last byte", flush=True)


if __name__ == "__main__":
    main()
