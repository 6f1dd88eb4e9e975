# SPDX-License-Identifier: MIT
"""A Slurm of one machine, for one array: munge, slurmctld and slurmd with files in a scratch folder, ended afterwards. Needs root."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
CONF = """ClusterName=lltest
SlurmctldHost={host}({address})
SlurmUser=root
SlurmctldPort={port}
SlurmdPort={next}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
NodeName={host} NodeAddr={address} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def wait_for(what, seconds, test):
    end = time.time() + seconds
    while time.time() < end:
        if test():
            return
        time.sleep(0.3)
    raise AssertionError(f"{what}: not after {seconds} s")


def output(*words, **more):
    return subprocess.run(list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more).stdout


def start(folder):
    host = socket.gethostname().split(".")[0]
    address = output("hostname", "-I").split()[0]
    (folder / "slurm.conf").write_text(CONF.format(host=host, address=address, folder=folder, port=16817, next=16818, cpus=os.cpu_count()))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (folder / "munge.key").write_bytes(os.urandom(1024))
    os.chmod(folder / "munge.key", 0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    programs = [["munged", "-F", "-f", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
                 f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"],
                ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-N", host]]
    running = []
    for words in programs:
        running.append(subprocess.Popen(words, **quiet))
        if words[0] == "munged":
            wait_for("munged", 10, lambda: (folder / "munge.socket").exists())
    wait_for("a node that is idle", 60, lambda: "idle" in output("sinfo", "-h", "-o", "%t"))
    return running


def run_array(root, program):
    """The array of the example on four tasks, then its merge. Returns what was wrong, "" if nothing was."""
    os.environ["LASTLAYER"] = str(program)
    import samples
    import tap
    folder, home, running = pathlib.Path(tempfile.mkdtemp(prefix="ll-slurm-")), os.getcwd(), []
    os.chmod(folder, 0o755)
    try:
        running = start(folder)
        os.chdir(folder)
        samples.make(n=200)
        text = (root / "examples/cluster/slurm-array.sh").read_text().replace("--cpus-per-task=4", "--cpus-per-task=1").replace("#SBATCH --mem=8G\n", "")
        pathlib.Path("array.sh").write_text(text)
        env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
        job = output("sbatch", "--parsable", "--array=1-4", "array.sh", env=env).strip()
        done = output("sbatch", "--wait", f"--dependency=afterok:{job}", "--wrap", "lastlayer merge ens.safetensors", env=env)
        tap.run("fit", "--features", "features.npy", "--labels", "labels.npy", "--method", "bootstrap", "--samples", "100", "-o", "one.safetensors")
        if not pathlib.Path("ens.safetensors").exists():
            logs = "".join(path.read_text()[-1500:] for path in folder.glob("slurm*.out"))
            return f"no merged ensemble: {done}{logs}{(folder / 'slurmctld.log').read_text()[-1500:]}"
        return "" if pathlib.Path("ens.safetensors").read_bytes() == pathlib.Path("one.safetensors").read_bytes() else "other bytes than those of one process"
    except AssertionError as why:
        logs = "".join(path.read_text()[-1500:] for path in folder.glob("*.log"))
        return f"{why}\n{logs}"
    finally:
        os.chdir(home)
        for process in reversed(running):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)
