"""Templates and studies that run in seconds have enough runs to answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashcrowd.study import Study
from flashcrowd.study.template import TEMPLATES, study_text

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))

ENOUGH = 8

FEWER = {
    "patch": "a run takes ten seconds and more",
    "too-big": "a run takes ten seconds and more",
    "forty-gigabytes": "a run takes ten seconds and more",
    "many-leechers": "a run takes ten seconds and more",
    "tribler-2620": "the prose of its page is of five runs",
    "latency": "the figure of the front page, with runs of seconds",
    "suggest": "fifty runs of a second",
    "origin-crowd": "played on real sockets as well, in real time",
    "upload-control": "sixteen controllers, each three times on real programs",
    "real-crowd": "real programs in real time",
    "seven-programs": "real programs in real time",
    "two-torrents": "real programs in real time",
    "block-a-second": "real programs in real time",
    "utp-then-tcp": "real programs in real time",
}
"""Studies with fewer runs, and why."""


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_has_enough_runs_to_answer(name: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(study_text(name, None, []))
    assert is_enough(Study.load(path))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_that_runs_in_seconds_has_enough_runs_to_answer(path: Path) -> None:
    played = path.stem.endswith("-distance") or path.stem.startswith("libtorrent-")
    if not (played or path.stem in FEWER):  # against real programs, in real time
        assert is_enough(Study.load(path))


def is_enough(study: Study) -> bool:
    """Whether it has a fixed number of runs that is not too small, or runs until it is sure."""
    return not isinstance(study.repeats, int) or study.repeats >= ENOUGH
