"""`flashcrowd run`: what it prints, keeps and refuses, and as a process what ends it."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.in_process import flashcrowd
from tests.late import PATIENCE_S
from tests.runner import small
from tests.runner.bytes import tables

ROOT = Path(__file__).parents[2]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(small.swarm("leechers", hosts=8, size="2 MB", repeats=4))
    return path


def command(*words: object, **options) -> subprocess.Popen[str]:
    # Without what readline, which pytest imports, tells child processes of a terminal.
    size = ("COLUMNS", "LINES")
    options.setdefault("env", {k: v for k, v in os.environ.items() if k not in size})
    # A process that aborts says what its threads were at.
    options["env"] = {"PYTHONFAULTHANDLER": "1", **options["env"]}
    return subprocess.Popen(
        [sys.executable, "-m", "flashcrowd", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def done(*words: object, **options) -> tuple[int, str, str]:
    process = command(*words, **options)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def test_runs_and_names_the_folder(study: Path) -> None:
    environment = {**os.environ, "TERM": "xterm-256color"}
    status, out, err = done("run", study, "--report", cwd=study.parent, env=environment)
    assert status == 0
    first, *_, last = err.splitlines()
    assert first.startswith("Small: 8 runs; about ")
    assert first.endswith(f"; if interrupted, go on with: flashcrowd run {study} --report")
    assert last.startswith("8 of 8 runs done, after ")
    assert "\x1b" not in out + err
    assert "Results: results/small\nReport: results/small/report.html\n" in out
    assert (study.parent / "results" / "small" / "tables" / "downloads.parquet").exists()


def test_a_run_loads_neither_pandas_nor_all_of_scipy(study: Path) -> None:
    """A command is over in a second; either of these takes as long to load."""
    words = [sys.executable, "-X", "importtime", "-m", "flashcrowd", "run", study]
    words += ["--report", "--repeats", "2"]
    run = subprocess.run(words, check=True, capture_output=True, text=True, cwd=study.parent)
    lines = (line.rsplit("|", 1) for line in run.stderr.splitlines() if "import time" in line)
    # Of a module that another one loads late, only what it imports itself is listed.
    loaded = {".".join(line[-1].strip().split(".")[:2]) for line in lines if "." in line[-1]}
    assert {"pyarrow.lib", "scipy.special"} <= loaded
    assert "pandas" not in {it.partition(".")[0] for it in loaded}, "beyond the attempt to load it"
    assert "scipy.stats" not in loaded, "where few runs do not need it"


def test_bytes_do_not_depend_on_jobs_or_process(study: Path, tmp_path: Path) -> None:
    for jobs in (1, 2):
        assert done("run", study, "--quiet", "--jobs", jobs, "--out", tmp_path / str(jobs))[0] == 0
    assert tables(tmp_path / "1") == tables(tmp_path / "2")


def test_killed_and_started_again(study: Path, tmp_path: Path) -> None:
    study.write_text(small.swarm("leechers", hosts=30, size="5 MB", repeats=4))
    folder = tmp_path / "killed"
    process = command("run", study, "--quiet", "--out", folder)
    wait_for_runs(folder)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (folder / "tables").exists()
    assert done("run", study, "--quiet", "--out", folder)[0] == 0
    assert done("run", study, "--quiet", "--out", tmp_path / "calm", "--jobs", 1)[0] == 0
    assert tables(folder) == tables(tmp_path / "calm")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_says_how_to_go_on(study: Path, tmp_path: Path, number: signal.Signals) -> None:
    study.write_text(small.swarm("leechers", hosts=60, size="50 MB", repeats=4))
    folder = tmp_path / "r"
    process = command("run", study, "--out", folder)
    while not (folder / "manifest.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    assert "of 8 runs are finished and kept" in err
    assert f"Go on with: flashcrowd run {study} --out {folder}" in err
    assert "Traceback" not in err


def test_another_study_is_refused(study: Path, tmp_path: Path) -> None:
    assert flashcrowd(study.parent, "run", study, "--quiet", "--out", tmp_path / "r")[0] == 0
    settings = ("--quiet", "--set", "workloads.swarm.size=3 MB", "--out", tmp_path / "r")
    status, _, err = flashcrowd(study.parent, "run", study, *settings)
    assert status == 2
    assert 'workloads.swarm.size: was "2 MB", is "3 MB"' in err
    for _ in range(2):  # the second time it goes on there
        assert flashcrowd(study.parent, "run", study, *settings, "--fresh")[0] == 0
    assert (tmp_path / "r-2" / "tables").exists()
    assert not (tmp_path / "r-3").exists()


def test_a_stalled_run_is_a_result_and_named(study: Path, tmp_path: Path) -> None:
    leaving = small.swarm("leechers", hosts=8, size="2 MB", repeats=4).replace(
        'group = "seed"\nupload', 'group = "seed"\ndeparture = "at-once"\nupload'
    )
    study.write_text(leaving)
    status, _, err = flashcrowd(
        study.parent, "run", study, "--quiet", "--out", tmp_path / "r", "--repeats", 1
    )
    assert status == 0
    assert "warning: 2 of 2 runs stalled: " in err
    assert "(run 0, 1)" in err


@pytest.mark.parametrize(("horizon", "status"), [("1 s", 3), ("1 h", 0)])
def test_strict_tells_runs_that_were_cut(study: Path, horizon: str, status: int) -> None:
    words = ("--quiet", "--set", f"stop.horizon={horizon}", "--repeats", 1)
    assert flashcrowd(study.parent, "run", study, *words)[0] == 0
    assert flashcrowd(study.parent, "run", study, *words, "--strict")[0] == status


def test_a_table_is_not_cut_at_80_columns(study: Path) -> None:
    name = "a-population-with-a-name-of-sixty-letters-which-is-what-fits"
    swept = study.read_text().replace("[sweep]", f"[workloads.{name}]\n{PING}\n[sweep]")
    swept += f'"workloads.{name}.interval" = ["100 ms", "200 ms"]\n'
    study.write_text(swept)
    words = ("--repeats", 2, "--set", "workloads.swarm.size=100 kB")
    status, out, err = done("run", study, *words, cwd=study.parent)
    assert status == 0, err
    assert "…" not in out


PING = 'kind = "ping"\nfrom = "seed"\nto = "leechers-1"'


@pytest.mark.parametrize("words", [["--jobs", "0"], ["--set", "network.rtt=5 apples"]])
def test_mistakes_write_nothing(study: Path, words: list[str]) -> None:
    status, _, err = flashcrowd(study.parent, "run", study, *words)
    assert status in (1, 2)
    assert "Traceback" not in err
    assert not (study.parent / "results").exists()


def wait_for_runs(folder: Path) -> None:
    end = time.monotonic() + 60
    while not list((folder / "runs").glob("p*")):
        assert time.monotonic() < end, "no run was finished"
        time.sleep(0.005)


def test_the_command_that_a_report_names_mends_the_folder(study: Path, tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    repeats = ("--repeats", 2, "--set", "network.loss=0 %")
    assert flashcrowd(study.parent, "run", study, "--quiet", "--out", folder, *repeats)[0] == 0
    before = tables(folder)
    for file in (folder / "tables" / "runs.parquet", *(folder / "runs").iterdir()):
        file.write_bytes(file.read_bytes()[:-1])
    status, _, err = flashcrowd(study.parent, "report", folder)
    assert status == 2
    assert f"{folder / 'tables' / 'runs.parquet'}: is damaged" in err
    _, *words = shlex.split(err[err.index("flashcrowd run ") :])
    assert words == ["run", str(folder / "study.toml"), "--out", str(folder)]
    status, _, err = flashcrowd(study.parent, *words, "--quiet")
    assert status == 0
    assert err.count("mending: ") == err.count("\n")
    assert "runs.parquet is damaged" in err
    assert "its runs are run again" in err
    assert tables(folder) == before
    assert flashcrowd(study.parent, "report", folder)[0] == 0
