"""The least that a paper may be: a study, a sentence, and no figure."""

import sys
import types
from pathlib import Path

import pytest

from flashcrowd.papers import paper, reproduce
from flashcrowd.papers.verdict import Verdict

PAPER = """
id = "small"
title = "A slow seed"
authors = "Nobody"
published = "nowhere"
lead = "A seed is slow."
missing = "Nothing."

[studies.rates]
"""

CLAIMS = """
[[claim]]
id = "slower"
section = "1"
says = "With a tenth of the rate the download takes longer by more than half."
needs = ["rates"]
judge = "change-more-than"
given = { study = "rates", where = { "seed.upload" = "20 kB/s" }, against = { "seed.upload" = "200 kB/s" }, bound = 0.5 }
"""  # noqa: E501

RATES = """
# What is a tenth of the rate?

format = 1
title = "A slow seed"
repeats = 2

[network]
rtt = "30 ms"

[network.groups.home]

[network.groups.others]
hosts = 2

[workloads.torrent]
kind = "swarm"
size = "256 KiB"
piece = "64 KiB"

[workloads.torrent.populations.seed]
role = "seed"
group = "home"
profile = "modern"

[workloads.torrent.populations.leechers]
group = "others"
profile = "modern"

[sweep]
workloads.torrent.populations.seed.upload = ["20 kB/s", "200 kB/s"]
"""


def write(home: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> None:
    """The paper is the only one; `more` stands at the end of what it is."""
    folder = home / "small"
    folder.mkdir()
    for name, text in (("paper", PAPER + more), ("claims", CLAIMS), ("rates", RATES)):
        (folder / f"{name}.toml").write_text(text)
    code = types.ModuleType("flashcrowd.papers.small")
    monkeypatch.setattr(code, "FIGURES", {}, raising=False)
    monkeypatch.setattr(code, "JUDGES", {}, raising=False)
    monkeypatch.setitem(sys.modules, code.__name__, code)
    monkeypatch.setattr(paper, "HOME", home)


def test_a_paper_needs_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, monkeypatch)
    found = reproduce("small", out=tmp_path / "out")
    assert [judged.finding.verdict for judged in found.judged] == [Verdict.REPRODUCED]


def test_what_quick_mode_leaves_out_is_no_empty_report(tmp_path: Path) -> None:
    with pytest.raises(paper.UnknownName, match="nothing to run: quick mode does not play reads"):
        reproduce("circus2004", out=tmp_path / "out", quick=True, only=["reads"])
    assert not (tmp_path / "out").exists()
