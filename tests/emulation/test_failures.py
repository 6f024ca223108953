"""What ends a lab reaches whoever asked for the run: in words, and as status 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.emulation import dying_lab
from tests.emulation.left_behind import play_in
from tests.emulation.test_swarms import plan_of
from tests.engines.plans import made

from flashcrowd.emulation import launch
from flashcrowd.engines import EngineError
from flashcrowd.store import open as open_results


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("SIGKILL", "was killed by SIGKILL (out of memory?)"),
        ("SIGSEGV", "crashed: SIGSEGV"),
        ("3", "ended with status 3"),
        ("0", "ended with status 0"),
    ],
)
def test_the_end_of_a_lab_is_told_with_its_last_words(
    how: str, words: str, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(dying_lab.HOW, how)
    play_in(dying_lab, monkeypatch)
    with pytest.raises(EngineError) as failed:
        launch.in_lab(made(plan_of(study)), 1, launch.LabHandle())
    first, *more = str(failed.value).splitlines()
    assert first == f"the process of the run ({dying_lab.__name__}) {words}"
    assert f"  {dying_lab.LAST_WORDS}" in more


def test_a_limit_that_ended_a_run_is_named_and_strictness_hides_nothing(
    swarm: Path, tmp_path: Path
) -> None:
    """The content is larger than files may be; all else is smaller."""
    text = swarm.read_text() + '\n[expect.fast]\nmeasure = "mean download time"\nbelow = "30 s"\n'
    swarm.write_text(text.replace('size = "1 MB"', 'size = "4 MB"'))
    out = tmp_path / "e"
    words = f"-m flashcrowd run {swarm} --engine emulation --out {out} --quiet --strict --expect"
    run = subprocess.run(
        ["bash", "-c", f"ulimit -f 2000; exec {sys.executable} {words}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 1, run.stderr
    assert "1 of 1 run failed: " in run.stderr
    (row,) = open_results(out).tables["runs"].to_pylist()
    assert row["outcome"] == "failed"
    assert "File too large" in row["reason"]
    assert "files may not be so large (ulimit -f)" in row["reason"]
