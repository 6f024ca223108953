"""Job scripts of queues, as text."""

import gc
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cluster.executor import Executor, opened
from flashcrowd.cluster.queues import Options, cluster

pytestmark = pytest.mark.skipif(
    find_spec("dask_jobqueue") is None, reason="the extra `cluster` is not installed"
)

LOOPBACK = '[options.scheduler_options]\nhost = "127.0.0.1"\n'

SLURM = f"""
jobs = 4
[options]
queue = "short"
account = "net"
cores = 8
memory = "32GB"
walltime = "02:00:00"
job_script_prologue = ["module load python"]
{LOOPBACK}
"""

OAR = f"""
jobs = 2
[options]
queue = "default"
project = "net"
cores = 8
memory = "32GB"
walltime = "02:00:00"
memory_per_core_property_name = "memcore"
job_extra_directives = ["-t besteffort"]
{LOOPBACK}
"""

PROLOGUE = """
export DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL=10s
export DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL=1s
export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False
"""

SLURM_SCRIPT = f"""#!/usr/bin/env bash

#SBATCH -J dask-worker
#SBATCH -p short
#SBATCH -A net
#SBATCH -n 1
#SBATCH --cpus-per-task=8
#SBATCH --mem=30G
#SBATCH -t 02:00:00
{PROLOGUE.strip()}
module load python
PYTHON -m distributed.cli.dask_worker ADDRESS --name dummy-name --nthreads 1 \
--memory-limit 3.73GiB --nworkers 8 --nanny --death-timeout 60 --no-dashboard
"""

OAR_SCRIPT = f"""#!/usr/bin/env bash

#OAR -n dask-worker
#OAR -q default
#OAR --project net
#OAR -l /nodes=1/core=8,walltime=02:00:00
#OAR -t besteffort
#OAR -p memcore>=3815
{PROLOGUE.strip()}
PYTHON -m distributed.cli.dask_worker ADDRESS --name dummy-name --nthreads 1 \
--memory-limit 3.73GiB --nworkers 8 --nanny --death-timeout 60 --no-dashboard
"""


@pytest.mark.parametrize(
    ("kind", "text", "script"),
    [("slurm", SLURM, SLURM_SCRIPT), ("oar", OAR, OAR_SCRIPT)],
    ids=["slurm", "oar"],
)
def test_a_job_is_what_the_options_say(tmp_path: Path, kind: str, text: str, script: str) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(text)
    with cluster(kind, Options.read(file).options, file) as queued:
        wanted = script.replace("PYTHON", sys.executable)
        wanted = wanted.replace("ADDRESS", str(queued.scheduler_address))
        assert queued.job_script() == wanted


@pytest.mark.filterwarnings("error")
def test_oar_is_not_asked_for_memory_unless_it_is_said_how(tmp_path: Path) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(OAR.replace('memory_per_core_property_name = "memcore"\n', ""))
    with cluster("oar", Options.read(file).options, file) as queued:
        wanted = OAR_SCRIPT.replace("#OAR -p memcore>=3815\n", "").replace("PYTHON", sys.executable)
        assert queued.job_script() == wanted.replace("ADDRESS", str(queued.scheduler_address))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs = 0", "jobs: how many jobs there are to be"),
        ("jobs = 1\nqueue = 'x'", "queue: `jobs` and [options] may stand here"),
        ("jobs = ", "is no TOML: "),
        ("jobs = 1\noptions = 3", "options: a table is needed"),
        (f"jobs = 1\n[options]\ncores = 1\n{LOOPBACK}", "options: cores and memory of a job are n"),
        (f"jobs = 1\n[options]\nmemory = '1GB'\n{LOOPBACK}", "options: cores and memory of a job"),
        (
            "jobs = 1\n[options]\ncores = '8'\nmemory = '1GB'",
            "options.cores: 8: a whole number from 1 on is needed, as in cores = 8",
        ),
        (
            f"jobs = 1\n[options]\ncores = 1\nmemory = '1GB'\nqeue = 'x'\n{LOOPBACK}",
            "options.qeue: SLURMCluster of dask-jobqueue has no such option",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_mistakes_in_options(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(text)
    with (
        pytest.raises(ClusterError) as caught,
        opened(Executor.parse(f"slurm:{file}"), "simulation"),
    ):
        pass
    told = str(caught.value)
    assert told.startswith(f"{file}: {said}")
    assert "\n" not in told
    del caught
    gc.collect()  # here, not in another test: objects of dask-jobqueue complain half made


IMPORTED = """
import signal, sys
from pathlib import Path
from flashcrowd.cluster.queues import Options, cluster

before = signal.getsignal(signal.SIGINT)
file = Path(sys.argv[1])
with cluster("slurm", Options.read(file).options, file):
    assert "dask_jobqueue.runner" in sys.modules
    assert signal.getsignal(signal.SIGINT) is before
    signal.raise_signal(signal.SIGINT)
"""


def test_ctrl_c_stays_what_it_was(tmp_path: Path) -> None:
    """In a process of its own: the first import counts."""
    file = tmp_path / "queue.toml"
    file.write_text(SLURM)
    words = [sys.executable, "-c", IMPORTED, str(file)]
    run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == -signal.SIGINT, run.stderr
    assert run.stderr.endswith("KeyboardInterrupt\n")


def test_without_a_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "queue.toml"
    file.write_text(OAR)
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ClusterError, match="oarsub is not on this machine: "),
        opened(Executor.parse(f"oar:{file}"), "simulation"),
    ):
        pass


def test_without_a_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ClusterError, match="cannot be read: No such file"),
        opened(Executor.parse(f"slurm:{tmp_path / 'no.toml'}"), "simulation"),
    ):
        pass
