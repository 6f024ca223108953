"""`flashcrowd run --on slurm`, in the queue of a real Slurm on this machine."""

import time
from pathlib import Path

import pytest
from tests.cluster import slurm
from tests.runner import small
from tests.runner.bytes import tables
from tests.runner.test_command import command, done, wait_for_runs

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

REPEATS = 16
"""Of two points, so that the study lasts longer than Slurm takes to replace a job."""

PYTHON = Path(__file__).parents[2] / "python"


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(slurm.absent()), reason=slurm.absent() or "-"),
]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"debug"', '"nowhere"'), "invalid partition specified: nowhere; Batch job submission "),
        (('"1GB"', '"900TB"'), "Memory specification can not be satisfied; "),
        (('"00:10:00"', '"soon"'), "Invalid --time specification; "),
    ],
    ids=["partition", "memory", "walltime"],
)
def test_what_slurm_refuses_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    study = tmp_path / "small.toml"
    study.write_text(small.swarm("leechers", hosts=8, size="2 MB", repeats=4))
    queue = tmp_path / "queue.toml"
    queue.write_text(OPTIONS.format(folder=tmp_path, python=PYTHON).replace(*change))
    scratch = tmp_path / "slurm"
    scratch.mkdir()
    with slurm.slurm(scratch) as environment:
        words = ("run", study, "--out", tmp_path / "r", "--on", f"slurm:{queue}")
        status, out, err = done(*words, env=environment)
        assert not slurm.jobs(environment)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"{queue}: sbatch refuses these jobs: {said}")
    assert "; change what stands under [options]: " in line
    assert not (tmp_path / "r").exists()


def test_a_cancelled_job_is_replaced(tmp_path: Path) -> None:
    study = tmp_path / "long.toml"
    study.write_text(small.swarm("leechers", hosts=40, size="20 MB", repeats=4))
    queue = tmp_path / "queue.toml"
    queue.write_text(OPTIONS.format(folder=tmp_path, python=PYTHON))
    scratch = tmp_path / "slurm"
    scratch.mkdir()
    with slurm.slurm(scratch) as environment:
        words = ("run", study, "--repeats", REPEATS, "--out")
        where = ("--on", f"slurm:{queue}")
        process = command(*words, tmp_path / "r", *where, env=environment)
        wait_for_runs(tmp_path / "r")
        first = slurm.jobs(environment, "RUNNING")
        assert first
        slurm.cancel(first[0], environment)
        _, err = process.communicate(timeout=250)
        assert process.returncode == 0, err
        assert "has no worker: waiting for one; `squeue --me` shows its jobs; " in err
        assert f"{2 * REPEATS} of {2 * REPEATS} runs done" in err
        end = time.monotonic() + 20
        while left := slurm.jobs(environment):
            assert time.monotonic() < end, f"jobs are left: {left}"
            time.sleep(0.2)
        logs = list(tmp_path.glob("dask-worker-*.out")) + list(tmp_path.glob("dask-worker-*.err"))
        assert len({log.stem for log in logs}) >= 3, "the cancelled job was not replaced"
    calm = command(*words, tmp_path / "calm", "--quiet")
    assert calm.communicate(timeout=250) == ("", "")
    assert tables(tmp_path / "r") == tables(tmp_path / "calm")
