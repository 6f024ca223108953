"""tma2012: its judges can say yes, no and neither, of made-up runs."""

from __future__ import annotations

from typing import Any

import pytest

from flashcrowd.papers import campaign, paper
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.tma2012.judges import uplink_wait
from flashcrowd.papers.verdict import Verdict

from .conftest import made_of, run_row

TMA = paper.load("tma2012")
SHARES = ("100 %", "75 %", "50 %", "25 %", "0 %")
POPULATIONS = "workloads.torrent.populations"


def made(times: tuple[float, ...], waits: tuple[float, ...], spread: float = 0.01) -> Evidence:
    """Six runs of each share: a download's time and the wait in the uplinks."""
    runs: list[dict[str, Any]] = []
    downloads: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for point, share in enumerate(SHARES):
        for repeat in range(6):
            run = len(runs)
            noise = 1 + spread * ((repeat * 7 + point * 3) % 5 - 2)
            settings = {
                f"{POPULATIONS}.tcp.share": share,
                f"{POPULATIONS}.seed.transport": "uTP" if point else "inherit",
            }
            sent = {"end_s": 900.0, "packets_sent": 1000, "packets_dropped": 0}
            runs.append(run_row(run, point, repeat, **sent, **settings))
            took = times[point] * noise
            downloads.append(
                {
                    "run": run, "swarm": "torrent", "host": "homes-1", "population": "tcp",
                    "arrived_s": 0.0, "left_s": took, "completed_s": took, "duration_s": took,
                }
            )  # fmt: skip
            # The seed's line and the downlinks say nothing.
            for link, wait in (
                ("homes-1 up", waits[point] * noise),
                ("homes-1 down", 9.0),
                ("server-1 up", 9.0),
            ):
                links.append({"run": run, "link": link, "packets": 100, "mean_queue_delay_s": wait})
    made = made_of({"runs": runs, "downloads": downloads, "links": links})
    return Evidence({"mixtures": StudyEvidence("mixtures", made, TMA.names)})


def verdict(claim: str, evidence: Evidence) -> Verdict:
    one = next(it for it in TMA.claims if it.id == claim)
    return TMA.judges[one.judge](evidence, one.given).verdict


YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.OPEN
ALIKE = (100.0, 100.0, 100.0, 100.0, 100.0)


@pytest.mark.parametrize(
    ("claim", "times", "waits", "found"),
    [
        ("utp-sooner", (100, 90, 90, 90, 80), ALIKE, YES),
        ("utp-sooner", (80, 90, 90, 90, 100), ALIKE, NO),
        ("mixture-soonest", (100, 100, 70, 100, 80), ALIKE, YES),
        ("mixture-soonest", (100, 90, 90, 90, 80), ALIKE, NO),
        # All TCP is no mixture, and a mixture is to be sooner than it as well.
        ("mixture-soonest", (50, 90, 90, 90, 80), ALIKE, NO),
        ("mixture-soonest", (60, 100, 70, 100, 80), ALIKE, NO),
        ("interferes-less", ALIKE, (2.0, 1.0, 1.0, 1.0, 0.5), YES),
        ("interferes-less", ALIKE, (0.5, 1.0, 1.0, 1.0, 2.0), NO),
    ],
)
def test_a_judge_says_yes_and_no(
    claim: str, times: tuple[float, ...], waits: tuple[float, ...], found: Verdict
) -> None:
    assert verdict(claim, made(times, waits)) is found


def test_a_judge_leaves_open_what_the_runs_do_not_decide() -> None:
    for claim in ("utp-sooner", "mixture-soonest", "interferes-less"):
        assert verdict(claim, made(ALIKE, ALIKE, spread=0.2)) is OPEN, claim


def test_the_wait_is_that_of_leechers_uplinks() -> None:
    study = made(ALIKE, (2.0, 1.0, 1.0, 1.0, 0.5), spread=0.0)["mixtures"]
    assert uplink_wait(study).of_run[0] == 2.0


@pytest.mark.parametrize("name", TMA.studies)
@pytest.mark.parametrize("quick", [False, True])
def test_every_study_is_sound(name: str, quick: bool) -> None:
    study = campaign.prepared(TMA, name, quick=quick)
    assert ("(quick)" in study.title) is quick
    assert len(study.points()) == len(SHARES)
