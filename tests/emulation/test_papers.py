"""Papers on real programs: the smallest one, both engines, one page; and a line of pan2009."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from pathlib import Path

import pytest
from tests.clients.testbed import needs
from tests.late import ended
from tests.papers import test_small

from flashcrowd.engines import registry
from flashcrowd.papers import campaign, paper, reproduce
from flashcrowd.papers.pan2009 import quantities
from flashcrowd.store import open as open_results

EMULATION = """
[emulation]
says = "Real programs."
[emulation.quick]
says = "quick mode: one run"
repeats = 1
[emulation.set]
"network.stack" = "linux-6"
"workloads.torrent.size" = "64 KiB"
"workloads.torrent.piece" = "16 KiB"
"workloads.torrent.populations.leechers.upload" = "1 MB/s"
[emulation.studies.rates]
"""


def test_both_engines_are_judged_by_one_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("libtorrent")
    test_small.write(tmp_path, monkeypatch, EMULATION)
    out = tmp_path / "out"
    found = reproduce("small", out, engine="emulation", quick=True)
    assert found.simulated is not None
    for engine, judged in (("emulation", found.judged), ("simulation", found.simulated)):
        results = open_results(out / engine / "rates")
        assert results.manifest.engine.name == engine
        runs = results.tables["runs"].to_pylist()
        assert len(runs) == 2
        for run in runs:
            ended(run, "completed")
        if all(run["outcome"] == "completed" for run in runs):
            (one,) = judged
            longer = re.match(r"\+|[\d.]+ times", one.finding.measured)
            assert longer, "a tenth of the rate takes longer"
    (claim,) = json.loads((out / "claims.json").read_text())["claims"]
    assert claim["simulation"]["measured"] == found.simulated[0].finding.measured
    page = found.page.read_text()
    assert "on real programs" in page
    assert "Both engines ran the same studies" in page
    # What is there is not run again.
    before = (out / "emulation" / "rates" / "provenance.json").read_bytes()
    reproduce("small", out, engine="emulation", quick=True)
    assert (out / "emulation" / "rates" / "provenance.json").read_bytes() == before


@pytest.mark.slow
def test_a_line_of_pan2009_with_a_real_client_and_a_controller(tmp_path: Path) -> None:
    needs("libtorrent", "transmission")
    pan = paper.load("pan2009")
    about = copy.deepcopy(dict(pan.about))
    about["emulation"]["studies"]["lines"]["quick"]["keep"] = {
        "network.groups.home.access.down": ["4 Mbit/s"],
        "workloads.shared.populations.home.upload_control": ["unlimited", "autolimit"],
    }
    pan = dataclasses.replace(pan, about=about)
    found = {}
    for engine in registry.DEFAULT, "emulation":
        evidence = campaign.conduct(
            pan, tmp_path / engine, quick=True, studies=["lines"], repeats=1, jobs=2,
            further={"workloads.download.stop": "25 s", "timeline.end-of-uploads.at": "25 s"},
            engine=engine, real="emulation",
        )  # fmt: skip
        study = found[engine] = evidence["lines"]
        for run in study.results.tables["runs"].to_pylist():
            ended(run, "stopped")
        # From the sixteenth second on the seed has unchoked somebody.
        used = quantities.use(study, {"way": "up", "from_s": 16}).of_run
        free, controlled = (used[run] for run in (0, 1))
        assert 30 < controlled < free < 115 if engine == registry.DEFAULT else free > 60
        assert quantities.use(study, {"way": "down", "from_s": 0, "to_s": 11}).of_run[1] > 60
    asked = found["emulation"].results.tables["control"].to_pylist()
    limits = [row["limit_bps"] for row in asked if row["run"] == 1]
    assert limits[-1] > limits[1] >= 32_000, "the search begins at 4 KiB/s"
    assert all(row["rtt_s"] >= 0.04 for row in asked if row["rtt_s"] is not None)
