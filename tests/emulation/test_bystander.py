"""What a home feels of a real client, without a limit and with `autolimit` beside it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.clients.testbed import needs
from tests.late import ended, late

import flashcrowd
from flashcrowd.store import open as open_results
from flashcrowd.traps import emulated, observed_run, trap

pytestmark = pytest.mark.usefixtures("measured_once")

END = "34 s"
FROM_S, TO_S = 20.0, 34.0
"""A client unchokes nobody before its first round, after ten seconds."""


@pytest.mark.slow
def test_with_autolimit_beside_qbittorrent_a_bystander_waits_less(tmp_path: Path) -> None:
    """A trap cut short: a seed behind 1 and 8 Mbit/s, libtorrent's peers, the kernel's TCP, a ping.

    The bounds are wide: real runs differ, and a search has not ended after half a minute.
    """
    needs("libtorrent", "qbittorrent")
    usual = trap.load("usual")
    short = {"timeline": {"end": {"at": END}}, "workloads": {"download": {"stop": END}}}
    document = trap.laid_over(emulated.document(usual, "qbittorrent"), short)
    study = usual.study(["unlimited", "autolimit"], 1, [], document)
    flashcrowd.run(study, out=tmp_path, progress=False, engine="emulation", jobs=2)
    results = open_results(tmp_path)
    runs = results.tables["runs"].to_pylist()
    assert len(runs) == 2
    for run in runs:
        ended(run, "stopped")
    asked = results.tables["control"].to_pylist()
    limits = [row["limit_bps"] for row in asked if row["run"] == 1 and row["limit_bps"]]
    assert limits[0] < max(limits), "it searches upwards from a few kB/s"
    if any(run["outcome"] == "invalid" for run in runs):
        late(f"{[run['reason'] for run in runs]}")
    cut = dataclasses.replace(usual, document=document)
    free, controlled = (of[0] for of in observed_run.read(cut, results).values())
    most = usual.most.bps
    assert free.mean(free.up, FROM_S, TO_S) > 0.6 * most
    assert 0 < controlled.mean(controlled.up, FROM_S, TO_S) < free.mean(free.up, FROM_S, TO_S)
    assert controlled.mean(controlled.down, FROM_S, TO_S) > 3e6
    assert controlled.delay(0.5, FROM_S, TO_S) < 0.8 * free.delay(0.5, FROM_S, TO_S)
