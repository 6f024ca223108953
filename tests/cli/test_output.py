"""What commands print: to a terminal, a pipe, a full disk, or to nobody."""

import io
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from rich.console import Console
from tests.cli.in_process import flashcrowd

from flashcrowd.base.need import Need
from flashcrowd.base.reasons import alike
from flashcrowd.cli import main
from flashcrowd.cli.run import _warn
from flashcrowd.scenario.check import SHRINK
from flashcrowd.study.need import StudyNeed
from flashcrowd.study.progress import Lines, _bar, shown
from flashcrowd.study.template import study_text

STUDIES = Path(__file__).parents[2] / "studies"
LATENCY = str(STUDIES / "latency.toml")
DUMBBELL = str(STUDIES / "dumbbell.toml")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """A command line of a shell, in which `flashcrowd` is this package."""
    text = f'flashcrowd() {{ {sys.executable} -m flashcrowd "$@"; }}; {command}'
    return subprocess.run(
        ["sh", "-c", text], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_closed_output_is_no_fault():
    made = shell(f"flashcrowd check {LATENCY} >&-")
    assert (made.returncode, made.stderr) == (0, "")


def test_a_closed_standard_error_is_no_fault():
    made = shell(f"flashcrowd check {LATENCY} --set network.rt=1 2>&-")
    assert (made.returncode, made.stdout) == (2, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [f"check {LATENCY}", "schema", "--help"])
def test_a_full_disk_is_told_in_one_line(words: str):
    made = shell(f"flashcrowd {words} >/dev/full")
    assert made.returncode == 1
    assert made.stderr == "the output cannot be written: No space left on device\n"


def test_a_plan_that_cannot_be_written_is_told(tmp_path: Path):
    made = shell(f"flashcrowd plan {LATENCY} --out {tmp_path}/none/plan.json")
    assert made.returncode == 2
    assert f"{tmp_path}/none/plan.json\n    allowed  a file that can be written" in made.stderr


def test_a_report_into_a_file_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "dangling"):
        made = shell(f"flashcrowd report {tmp_path} --out {tmp_path / name}")
        assert (made.returncode, made.stdout) == (2, "")
        assert "is no folder" in made.stderr


def test_toml_in_toml_without_end_is_refused(tmp_path: Path):
    for depth in (60, 300, 5000):
        path = tmp_path / "deep.toml"
        path.write_text("format = 1\nx = " + "[" * depth + "]" * depth)
        made = shell(f"flashcrowd check {path}")
        assert made.returncode == 2
        assert "at most 50 deep" in made.stderr
        deep = "[" * depth + "]" * depth
        made = shell(f"flashcrowd check {LATENCY} --set 'network.rtt={deep}'")
        assert made.returncode == 2
        assert "Traceback" not in made.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_a_file_without_end_is_refused():
    made = shell("flashcrowd check /dev/zero")
    assert made.returncode == 2
    assert "too large" in made.stderr
    made = shell(f"""flashcrowd check {LATENCY} --set 'network.rtt={{file = "/dev/zero"}}'""")
    assert made.returncode == 2
    assert "cannot read /dev/zero: it is no file but a folder, a pipe or a device" in made.stderr


def test_a_strange_file_is_not_echoed(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("hidden:x:0:0\n")
    made = shell(f"""flashcrowd check {LATENCY} --set 'network.rtt={{file = "{secret}"}}'""")
    assert made.returncode == 2
    assert "hidden" not in made.stderr


def test_lines_come_at_the_start_every_ten_seconds_and_at_the_end():
    told: list[str] = []
    now = [0.0]
    need = StudyNeed([Need(1, 1, 60.0, 5_000_000, 60.0)], repeats=4, jobs=2)
    lines = Lines(need, "flashcrowd run x.toml", tell=told.append, clock=lambda: now[0])
    with shown("A title", 0, 4, True, lines) as watch:
        assert watch is not None
        for second in range(1, 31):
            now[0] = float(second)
            watch(second // 10, second / 10)
    assert told == [
        "A title: 4 runs; about 2 min, and 170 MB of memory, 2 at a time; "
        "if interrupted, go on with: flashcrowd run x.toml",
        "1 of 4 runs done, 6 a minute, about 30 s left",
        "2 of 4 runs done, 6 a minute, about 20 s left",
        "3 of 4 runs done, 6 a minute, about 10 s left",
        "3 of 4 runs done, after 30 s",
    ]


def test_the_first_seconds_of_a_run_do_not_say_how_long_the_rest_will_take():
    told: list[str] = []
    now = [0.0]
    lines = Lines(None, tell=told.append, clock=lambda: now[0])
    with shown("A title", 0, 4, True, lines) as watch:
        assert watch is not None
        for now[0], work in ((10.0, 0.001), (20.0, 0.5)):
            watch(0, work)
    assert told[1:3] == ["0 of 4 runs done", "0 of 4 runs done, 1.5 a minute, about 2.3 min left"]


def test_where_the_estimate_has_run_out_no_time_is_said():
    told: list[str] = []
    now = [0.0]
    lines = Lines(None, tell=told.append, clock=lambda: now[0])
    with shown("A title", 0, 4, True, lines) as watch:
        assert watch is not None
        for now[0], finished, work in ((10.0, 2, 3.95), (20.0, 3, 3.99), (30.0, 4, 4.0)):
            watch(finished, work)
    assert [it.rpartition(", ")[2] for it in told[1:4]] == [
        "the last 2 runs are still at work",
        "the last run is still at work",
        "8 a minute",
    ]


def test_runs_beside_each_other_say_nothing_until_each_has_begun():
    told: list[str] = []
    now = [0.0]
    need = StudyNeed([None], repeats=6, jobs=6)
    lines = Lines(need, tell=told.append, clock=lambda: now[0])
    with shown("A title", 0, 6, True, lines) as watch:
        assert watch is not None
        for now[0], work in ((10.0, 6 * 0.01), (20.0, 6 * 0.2)):
            watch(0, work)
    assert told[1:3] == ["0 of 6 runs done", "0 of 6 runs done, 3.6 a minute, about 1.3 min left"]


def test_runs_done_before_are_named_and_not_counted_for_the_time():
    told: list[str] = []
    need = StudyNeed([Need(1, 1, 60.0, 5_000_000, 60.0)], repeats=4, jobs=2)
    Lines(need, tell=told.append).start("A title", 2, 4)
    assert told == [
        "A title: 4 runs, 2 of them done before; about 1 min, and 170 MB of memory, 2 at a time"
    ]


@pytest.mark.parametrize(
    ("here", "cores"),
    [(True, "2 idle cores"), (False, "2 idle cores of the machine of benches/README.md")],
)
def test_the_time_is_that_of_the_cores_that_there_are(here: bool, cores: str):
    told: list[str] = []
    need = StudyNeed([Need(1, 1, 60.0, 5_000_000, 60.0)], repeats=8, jobs=8, cores=2, here=here)
    Lines(need, tell=told.append).start("A title", 0, 8)
    assert told == [f"A title: 8 runs; about 4 min on {cores}, and 200 MB of memory, 8 at a time"]


def test_what_takes_days_is_told_before_it_begins(monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    need = StudyNeed([Need(1, 1, 86_400.0, 5_000_000, 60.0)], repeats=66, jobs=2)
    warning = "warning: this will take about 33 d. Fewer --repeats take less; or divide the hosts"
    with shown("A title", 0, 66, True, Lines(need, tell=told.append)):
        assert told[0].startswith(warning)
    assert SHRINK in told[0]
    (page,) = re.findall(r"docs/[a-z-]+\.md", SHRINK)
    assert (Path(__file__).parents[2] / page).is_file()
    terminal = Console(file=io.StringIO(), force_terminal=True)
    monkeypatch.setattr("flashcrowd.base.terminal.console", lambda **_: terminal)
    told.clear()
    with shown("A shard", 16, 33, True, Lines(need, tell=told.append)):
        assert [line.partition(". ")[0] for line in told] == ["warning: this will take about 8.5 d"]
    short = StudyNeed([Need(1, 1, 60.0, 5_000_000, 60.0)], repeats=4, jobs=2)
    told.clear()
    with shown("Short", 0, 4, True, Lines(short, tell=told.append)):
        assert told == []


def test_a_check_and_a_run_say_the_same_of_what_takes_long(tmp_path: Path):
    long = ["--repeats", "100000", "--no-calibrate"]
    _, out, _ = flashcrowd(tmp_path, "check", LATENCY, *long)
    assert SHRINK in out
    _, out, _ = flashcrowd(tmp_path, "check", LATENCY, "--no-calibrate")
    assert SHRINK not in out


def test_the_settings_that_shrink_a_crowd_are_settings(tmp_path: Path):
    settings = re.findall(r"--set (\S+?)=('[^']+'|\S+)", SHRINK)
    assert len(settings) == 2
    study = tmp_path / "crowd.toml"
    study.write_text(study_text("crowd"))
    words: list[str] = []
    for path, value in settings:
        path = path.replace("USERS", "crowd").replace("ORIGIN", "origin")
        words += ["--set", f"{path}={value.strip(chr(39))}"]
    status, _, error = flashcrowd(tmp_path, "check", study, "--no-calibrate", *words)
    assert status == 0, error


def test_silence_is_kept_where_it_is_wanted():
    with shown("A title", 0, 4, False, Lines(tell=pytest.fail)) as watch:
        assert watch is None
    with shown("A title", 0, 4, True) as watch:
        assert watch is None


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_bar_is_called_like_the_study_and_keeps_its_times(width: int):
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=width, color_system=None)
    with _bar(console, "A [long] title of a study " * 5, 1, 4) as watch:
        watch(1, 1.5)
    last = [line for line in written.getvalue().splitlines() if "runs" in line][-1]
    assert "A [long]" in last
    assert "2/4 runs" in last
    assert "left -:--:--" in last


def test_runs_that_are_invalid_for_one_reason_are_one_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reasons = ["late in 3 of 60 seconds (at most 2.5 ms)", "late in 7 of 61 seconds (at most 9 ms)"]
    rows = [{"run": n, "outcome": "invalid", "reason": reasons[n % 2]} for n in range(12)]
    rows += [
        {"run": 12, "outcome": "failed", "reason": "no port"},
        {"run": 13, "outcome": "completed", "reason": ""},
    ]
    results = SimpleNamespace(tables={"runs": pa.Table.from_pylist(rows)})
    assert _warn(results, "emulation")  # type: ignore[arg-type]
    first, second, remedy = capsys.readouterr().err.splitlines()
    assert first == (
        "warning: 12 of 14 emulation runs are invalid: late in 3 to 7 of 60 to 61 seconds "
        "(at most 2.5 to 9 ms) (run 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …)"
    )
    assert second == "warning: 1 of 14 emulation runs failed: no port (run 12)"
    assert "--jobs" in remedy


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (
            [f"swarm update: {n} of 30 leechers complete" for n in (9, 0, 19, 23, 0)],
            "swarm update: 0 to 23 of 30 leechers complete",
        ),
        (["after 998 s.", "after 1\u202f364.5 s."], "after 998 to 1\u202f364.5 s."),
        (["peer-9 left", "peer-12 left"], "peer-9 left, or the like"),
        (["no answer of 10.0.0.1:80", "no answer of 10.0.0.2:80"],
         "no answer of 10.0.0.1:80, or the like"),
        (["port 80"], "port 80"),
    ],
)  # fmt: skip
def test_reasons_that_differ_in_amounts_alone_have_their_range(
    reasons: list[str], said: str
) -> None:
    assert alike(reasons) == [(said, len(reasons))]


def test_a_missing_key_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    arrivals = 'workloads.swarm.populations.leechers.arrivals={kind = "poisson"}'
    with pytest.raises(SystemExit):
        main(["check", str(STUDIES / "many-leechers.toml"), "--set", arrivals])
    assert "as in gap = " in capsys.readouterr().err
