"""`flashcrowd run --on slurm`, in the queue of a real Slurm on this machine."""

import time
from pathlib import Path

import pytest
from tests.cluster import slurm
from tests.runner.bytes import tables
from tests.runner.test_command import STUDY, command, done, wait_for_runs

OPTIONS = """
jobs = 2
[options]
queue = "debug"
cores = 1
memory = "1GB"
walltime = "00:10:00"
local_directory = "{folder}"
log_directory = "{folder}"
job_script_prologue = ["export PYTHONPATH={python}"]
[options.scheduler_options]
host = "127.0.0.1"
"""

PYTHON = Path(__file__).parents[2] / "python"


@pytest.mark.slow
@pytest.mark.skipif(bool(slurm.absent()), reason=slurm.absent() or "-")
def test_a_cancelled_job_is_replaced(tmp_path: Path) -> None:
    study = tmp_path / "long.toml"
    study.write_text(STUDY.format(leechers=40, size="20 MB"))
    queue = tmp_path / "queue.toml"
    queue.write_text(OPTIONS.format(folder=tmp_path, python=PYTHON))
    scratch = tmp_path / "slurm"
    scratch.mkdir()
    with slurm.slurm(scratch) as environment:
        words = ("run", study, "--repeats", 40, "--out")
        where = ("--on", f"slurm:{queue}")
        process = command(*words, tmp_path / "r", *where, env=environment)
        wait_for_runs(tmp_path / "r")
        first = slurm.jobs(environment, "RUNNING")
        assert first
        slurm.cancel(first[0], environment)
        _, err = process.communicate(timeout=250)
        assert process.returncode == 0, err
        assert "80 of 80 runs done" in err
        end = time.monotonic() + 20
        while left := slurm.jobs(environment):
            assert time.monotonic() < end, f"jobs are left: {left}"
            time.sleep(0.2)
        logs = list(tmp_path.glob("dask-worker-*.out")) + list(tmp_path.glob("dask-worker-*.err"))
        assert len({log.stem for log in logs}) >= 3, "the cancelled job was not replaced"
    assert done(*words, tmp_path / "calm", "--quiet")[0] == 0
    assert tables(tmp_path / "r") == tables(tmp_path / "calm")
