# SPDX-License-Identifier: MIT
"""lastlayer-mpi on several ranks of this machine, by the MPI that it was linked with."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from tap import Skip, check  # noqa: E402

RANKED = os.environ.get("LASTLAYER_MPI", "lastlayer-mpi")
MPIRUN = os.environ.get("LASTLAYER_MPIRUN", "mpirun")
TIMEOUT = 240
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def words(n, *arguments, program=None):
    """The line that runs n ranks; each of several programs, one per rank, may have words before it."""
    if not shutil.which(MPIRUN):
        raise Skip(f"no {MPIRUN}: tools/setup check installs Open MPI")
    return [MPIRUN, "-n", str(n), *(program or [RANKED]), *map(str, arguments)]


def start(line, **more):
    return subprocess.Popen(line, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def finish(process, code=0, seconds=TIMEOUT):
    """The exit code of mpirun is as expected; anything but 0 where that is None. Returns stdout and our lines of stderr."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"still running after {seconds} s: {' '.join(process.args)}")
    out, err = out.decode(errors="replace"), err.decode(errors="replace")
    good = process.returncode != 0 if code is None else process.returncode == code
    check(good, f"exit {process.returncode} where {code} was expected: {' '.join(process.args)}\n{out[-500:]}{err[-2500:]}")
    return out, [line for line in err.splitlines() if line.startswith("lastlayer")]


def ranks(n, *arguments, code=0):
    """Runs n ranks to their end."""
    return finish(start(words(n, *arguments)), code)


def each(programs, *arguments, code=0):
    """One rank for each list of words before the program, with its own arguments behind the common ones."""
    line = [MPIRUN]
    words(0)
    for before, behind in programs:
        line += ([":"] if len(line) > 1 else []) + ["-n", "1", *before, RANKED, *map(str, arguments), *behind]
    return finish(start(line), code)


def pids(parent, n, seconds=60):
    """The processes of the n ranks below mpirun, by rank."""
    end = time.time() + seconds
    while time.time() < end:
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                program = os.readlink(folder / "exe")
                above = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if program != os.path.realpath(RANKED) or not is_below(above, parent):
                continue
            for entry in environment.split(b"\0"):
                name, _, value = entry.partition(b"=")
                if name in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK"):
                    found[int(value)] = int(folder.name)
        if len(found) == n:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{n} ranks did not start")


def is_below(pid, parent):
    while pid > 1:
        if pid == parent:
            return True
        try:
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def same(a, b):
    check(pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes(), f"{a} and {b} differ")


def nothing_left(*patterns):
    for pattern in patterns:
        left = [path.name for path in pathlib.Path(".").glob(pattern)]
        check(not left, f"left behind: {left}")
