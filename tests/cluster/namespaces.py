# SPDX-License-Identifier: MIT
"""Four machines in one: network namespaces with addresses and host names of their own on a bridge, and an MPI that starts ranks in them. Needs
root. Nothing leaves this machine."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import samples  # noqa: E402

COUNT, DEADLINE, GRACE = 4, 5, 20
AGENT = """#!/bin/sh
host=$1; shift
n=${host##*.}
exec ip netns exec lltest$n unshare --uts sh -c "hostname lltest$n; exec sh -c '$*'"
"""
FIT = ("fit", "--features", "features.npy", "--labels", "labels.npy", "--method", "bootstrap", "--samples", "6", "--threads", "1")


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def make():
    ip("link", "add", "lltestbr", "type", "bridge")
    ip("link", "set", "lltestbr", "up")
    for n in range(1, COUNT + 1):
        ip("netns", "add", f"lltest{n}")
        ip("link", "add", f"llv{n}", "type", "veth", "peer", "name", "eth0", "netns", f"lltest{n}")
        ip("link", "set", f"llv{n}", "master", "lltestbr", "up")
        ip("-n", f"lltest{n}", "addr", "add", f"10.77.0.{n}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", f"lltest{n}", "link", "set", device, "up")


def remove():
    """With every process that is still in them."""
    for n in range(1, COUNT + 1):
        found = subprocess.run(["ip", "netns", "pids", f"lltest{n}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for pid in found.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", f"lltest{n}"], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", f"llv{n}"], stderr=subprocess.DEVNULL)  # the kernel ends a namespace when it finds the time
    subprocess.run(["ip", "link", "del", "lltestbr"], stderr=subprocess.DEVNULL)


def line(mpi, *command, ranks=COUNT):
    """mpirun in the first namespace, with the agent as its remote shell."""
    inside = ["ip", "netns", "exec", "lltest1", "unshare", "--uts", "sh", "-c", 'hostname lltest1; exec "$@"', "sh"]
    if mpi == "mpich":
        start = ["mpiexec.mpich", "-f", "hosts", "-launcher", "rsh", "-launcher-exec", os.path.abspath("agent"), "-iface", "eth0"]
    else:
        net = "10.77.0.0/24"
        start = ["mpirun.openmpi", "--hostfile", "hosts", "--mca", "plm_rsh_agent", os.path.abspath("agent"), "--mca", "btl", "tcp,self",
                 "--mca", "btl_tcp_if_include", net, "--mca", "oob_tcp_if_include", net]
    return [*inside, *start, "-n", str(ranks), *map(str, command)]


def cut_link(program, mpi):
    """Cuts the link of rank 2 while the ranks compute. Returns what was wrong, "" if nothing was."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_TLS": "tcp,self"}  # no memory is shared
    home = os.getcwd()
    remove()
    make()
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            samples.make(n=4000, d=40, k=8)
            pathlib.Path("agent").write_text(AGENT)
            os.chmod("agent", 0o755)
            pathlib.Path("hosts").write_text("".join(f"10.77.0.{n}{'' if mpi == 'mpich' else ' slots=1'}\n" for n in range(1, COUNT + 1)))
            words = line(mpi, program, *FIT, "--epochs", "100000", "--deadline", DEADLINE, "-o", "ens.safetensors")
            with open("said", "w") as said:
                process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            work = pathlib.Path("ens.safetensors.partial")
            for _ in range(600):
                if work.exists() and work.stat().st_size:
                    break
                time.sleep(0.1)
            else:
                return "the ranks did not start: " + pathlib.Path("said").read_text()[-2000:]
            time.sleep(1)
            before = time.time()
            ip("link", "set", "llv3", "down")
            try:
                process.wait(DEADLINE + GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                return f"the job still runs {DEADLINE + GRACE} s after the cut"
            print(f"   cut to end: {time.time() - before:.1f} s with --deadline {DEADLINE}", flush=True)
            sentences = [text for text in pathlib.Path("said").read_text().splitlines() if "rank 2 of 4 on lltest3 has said nothing" in text]
            return "" if len(sentences) == 1 and process.returncode else "no sentence names rank 2: " + pathlib.Path("said").read_text()[-2000:]
    finally:
        os.chdir(home)
        remove()
