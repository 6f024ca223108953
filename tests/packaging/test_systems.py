"""What works where Linux is not, and what is said where it does not.

Other systems are simulated: what their Python does not have is taken away (`elsewhere.py`).
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUDY = str(ROOT / "studies" / "dumbbell.toml")
SYSTEMS = ("win32", "darwin")
LINUX_ALONE = ("content_server", "emulation", "engines", "testbed", "traps", "cli", "clients")
POSIX_ALONE = (*LINUX_ALONE, "autolimit", "download")


def on(system: str, *words: str) -> subprocess.CompletedProcess[str]:
    """What a command does on another system, as far as that can be simulated."""
    script = Path(__file__).with_name("elsewhere.py")
    return subprocess.run(
        [sys.executable, "-P", str(script), system, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["list"],
        ["explain", "network.rtt"],
        ["check", STUDY],
        ["plan", STUDY],
        ["schema"],
    ],
    ids=lambda words: words[0],
)
def test_what_asks_no_system_works_on_windows(words: list[str]) -> None:
    done = on("win32", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout) > 100


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_study_runs_goes_on_and_has_a_report_on_another_system(
    system: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "found" / "results")
    run = [
        "run",
        STUDY,
        "--set",
        "stop.horizon=2 s",
        "--set",
        "measures.series={}",
        "--repeats",
        "2",
    ]
    run += ["--out", out]
    for words in (run, [*run, "+", "report", out]):
        done = on(system, *words)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "found/results/tables/runs.parquet").exists()
    assert "<svg" in (tmp_path / "found/results/report.html").read_text(encoding="utf-8")


def test_every_module_but_those_of_some_systems_can_be_imported_on_windows() -> None:
    done = on("win32", "modules")
    failed = [line.partition(":") for line in done.stdout.splitlines()]
    assert failed
    for module, _, why in failed:
        assert module.split(".")[1] in POSIX_ALONE, f"{module}: {why}"
        assert "fcntl" in why or "resource" in why, f"{module}: {why}"


def test_every_module_can_be_imported_on_macos() -> None:
    done = on("darwin", "modules")
    assert (done.stdout, done.stderr, done.returncode) == ("\n", "", 0)


@pytest.mark.parametrize(
    ("system", "words", "said"),
    [
        ("win32", ["serve", "."], "flashcrowd serve needs Linux; here is Windows."),
        ("darwin", ["doctor", "--help"], "flashcrowd doctor needs Linux; here is macOS."),
        ("win32", ["fetch", "x"], "flashcrowd fetch needs Linux or macOS; here is Windows."),
        ("darwin", ["run", STUDY, "--engine", "emulation"], "the engine emulation needs Linux;"),
        ("darwin", ["traps", "--engine", "emulation"], "the engine emulation needs Linux;"),
    ],
)
def test_what_a_system_cannot_do_is_said_at_the_command(
    system: str, words: list[str], said: str
) -> None:
    done = on(system, *words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(said)
    assert line.endswith(
        'Studies, reports and `utp` work on all three (the page "Install" of the documentation).'
    )
