"""Slurm on this machine: one node, in a scratch folder, as root, without an init system."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")

CONF = """
ClusterName=flashcrowd
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=2
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
MinJobAge=10
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={name} NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=debug Nodes={name} Default=YES MaxTime=INFINITE State=UP
"""


def absent() -> str:
    """Why Slurm cannot be started here; nothing if it can."""
    missing = [name for name in NEEDED if shutil.which(name, path=_path()) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (packages slurm-wlm and munge)"
    return "" if os.geteuid() == 0 else "Slurm's daemons want root"


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """A Slurm with one node of four cores, until the block ends; gives what commands need."""
    name = socket.gethostname().partition(".")[0]
    controller, node = _free_ports(2)
    for part in ("state", "spool"):
        (folder / part).mkdir()
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(name=name, controller=controller, node=node, folder=folder))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(conf)}
    daemons = [
        [
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={folder}/munge.sock",
            f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log",
            f"--seed-file={folder}/munge.seed",
        ],
        ["slurmctld", "-D", "-i"],
        ["slurmd", "-D", "-N", name],
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for words in daemons:
            with (folder / f"{words[0]}.out").open("wb") as out:
                process = subprocess.Popen(words, env=environment, stdout=out, stderr=out)
            started.append(process)
            if words[0] == "munged":
                _until((folder / "munge.sock").exists, "munge does not listen")
        _until(lambda: b"idle" in _said(["sinfo", "-h", "-o", "%T"], environment), "no idle node")
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def jobs(environment: dict[str, str], state: str = "RUNNING,PENDING,COMPLETING") -> list[str]:
    """The numbers of jobs."""
    return _said(["squeue", "-h", "-t", state, "-o", "%i"], environment).decode().split()


def cancel(job: str, environment: dict[str, str]) -> None:
    """Cancel a job."""
    subprocess.run(["scancel", job], env=environment, check=True)


def _said(words: list[str], environment: dict[str, str]) -> bytes:
    return subprocess.run(words, env=environment, check=False, capture_output=True).stdout


def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)
