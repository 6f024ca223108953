"""A paper on real programs: the smallest one, both engines, one page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.clients.testbed import needs
from tests.papers import test_small

from flashcrowd.papers import reproduce
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
        assert [run["outcome"] in ("completed", "invalid") for run in runs] == [True, True]
        if all(run["outcome"] == "completed" for run in runs):
            (one,) = judged
            assert one.finding.measured.startswith("+"), "a tenth of the rate takes longer"
    (claim,) = json.loads((out / "claims.json").read_text())["claims"]
    assert claim["simulation"]["measured"] == found.simulated[0].finding.measured
    page = found.page.read_text()
    assert "on real programs" in page
    assert "Both engines ran the same studies" in page
    # What is there is not run again.
    before = (out / "emulation" / "rates" / "provenance.json").read_bytes()
    reproduce("small", out, engine="emulation", quick=True)
    assert (out / "emulation" / "rates" / "provenance.json").read_bytes() == before
