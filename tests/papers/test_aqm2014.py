"""aqm2014: its studies are sound, its judges can say no, and a small campaign gives a page."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.papers import campaign, paper, reproduce
from flashcrowd.papers.aqm2014 import quantities
from flashcrowd.papers.aqm2014.judges import JUDGES
from flashcrowd.papers.aqm2014.words import name
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.papers.verdict import Finding, Verdict

from .conftest import judged, made_of, run_row

AQM = paper.load("aqm2014")
YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.OPEN


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("study", AQM.studies)
def test_every_study_is_sound(study: str, quick: bool) -> None:
    made = campaign.prepared(AQM, study, quick=quick)
    assert made.repeats == (4 if quick else 10 if study == "breakdown" else 5)
    for point in made.points():
        point.plan()


def test_a_claim_about_all_combinations_has_them() -> None:
    document = tomllib.loads(AQM.file("breakdown").read_text())
    swept = document["sweep"][0]["network.links.bottleneck.queue"]
    queues = {json.dumps(value) for value in swept}
    for claim in AQM.claims:
        chosen = claim.given.get("where", {}).get("queue")
        if claim.needs == ("breakdown",) and isinstance(chosen, list):
            assert {json.dumps(it) for it in chosen} == queues - {'"170 packets"'}, claim.id


# --- judges, on runs whose numbers are known -----------------------------------------------------

#: Goodput of a flow of low priority over that of a TCP flow, by queue.
Ratios = Mapping[str, float]


def _study(ratios: Ratios) -> StudyEvidence:
    """Two TCP flows and two of low priority: six runs for each queue, the first minute is odd.

    Of 1000 segments that TCP sends 20 are sent again, and 10 of as many of low priority.
    """
    runs: list[dict[str, Any]] = []
    series: list[dict[str, Any]] = []
    transfers: list[dict[str, Any]] = []
    for point, (queue, ratio) in enumerate(ratios.items()):
        for repeat in range(6):
            run = len(runs)
            settings = {
                "network.links.bottleneck.queue": queue,
                "workloads.low.transport": "ledbat",
            }
            runs.append(run_row(run, point, repeat, **settings))
            noise = 1 + 0.01 * (repeat % 3 - 1)
            for flow, of in (("tcp/0", 1.5), ("tcp/1", 0.5), ("low/0", ratio), ("low/1", ratio)):
                series += [
                    {
                        "run": run, "what": "goodput", "source": flow, "t_s": float(t),
                        "value": 1e6 * (7.0 if t <= 60 else of * (noise if of == ratio else 1.0)),
                    }
                    for t in range(10, 121, 10)
                ]  # fmt: skip
            for transfer, again in (("tcp", 20), ("low", 10)):
                transfers.append(
                    {"run": run, "transfer": transfer, "segments": 1000, "retransmits": again}
                )
    rows = {"runs": runs, "series": series, "transfers": transfers}
    return StudyEvidence("made", made_of(rows))


def _judge(which: str, given: dict[str, Any], ratios: Ratios) -> Finding:
    return judged(which, given, _study(ratios), JUDGES)


def test_quantities_are_means_over_flows_after_a_minute() -> None:
    study = _study({"red": 0.5})
    (point,) = study.points.points
    for measure, expected in (
        (quantities.ratio(study, {}), 0.5),
        (quantities.tcp_share(study, {}), 2 / 3),
        (quantities.tcp_lost(study, {}), (20 / 30) / 0.5),
    ):
        found = measure.at(point)
        assert found is not None
        assert found.mean == pytest.approx(expected, abs=0.005), measure.name


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.0, 1.0, 0.1), YES),
        ((1.0, 0.1, 0.1), NO),
        ((1.0, 3.0, 3.0), NO),
        ((1.0, 0.1), OPEN),
        ((0.5, 1.0, 0.1), OPEN),
    ],
)
def test_generally_means_more_than_half(ratios: tuple[float, ...], verdict: Verdict) -> None:
    given = {"measure": "ratio", "low": 0.5, "high": 2.0}
    queues: Ratios = dict(zip(("red", "codel", "choke"), ratios, strict=False))
    found = _judge("mostly", given, queues)
    assert found.verdict is verdict, found


@pytest.mark.parametrize(
    ("ratios", "verdict"), [((0.1, 0.1, 2.0), YES), ((0.1, 2.0, 2.0), NO), ((0.1, 2.0), OPEN)]
)
def test_mainly_means_more_than_half(ratios: tuple[float, ...], verdict: Verdict) -> None:
    given = {"measure": "ratio", "is": "less-than", "bound": 1.0}
    queues: Ratios = dict(zip(("red", "codel", "choke"), ratios, strict=False))
    assert _judge("mostly", given, queues).verdict is verdict


@pytest.mark.parametrize(
    ("ratios", "verdict"), [((1.0, 19.0), YES), ((1.0, 3.0), OPEN), ((9.0,), OPEN)]
)
def test_one_setting_is_enough_and_none_of_ours_refutes_nothing(
    ratios: tuple[float, ...], verdict: Verdict
) -> None:
    given = {"measure": "tcp-share", "is": "less-than", "bound": 0.1}
    found = _judge("somewhere", given, dict(zip(("red", "codel"), ratios, strict=False)))
    assert found.verdict is verdict, found
    if len(ratios) > 1:
        assert "codel" in found.measured.lower(), "the setting that comes nearest"


def test_queues_have_names() -> None:
    assert name("170 packets") == "drop-tail, 170 packets"
    assert name('{"kind": "sfq", "limit": 20, "depth": 20}') == "SFQ (limit 20)"
    assert name("choke") == "CHOKe"


def test_a_small_campaign_gives_a_page(tmp_path: Path) -> None:
    stops = {"workloads.tcp.stop": "80 s", "workloads.low.stop": "80 s"}
    found = reproduce("aqm2014", tmp_path, quick=True, only=["breakdown"], further=stops, repeats=2)
    verdicts = {it.claim.id: it.finding.verdict for it in found.judged}
    assert verdicts["starves"] is Verdict.NOT_RUN
    assert verdicts["real-world"] is Verdict.NOT_TESTABLE
    assert verdicts["as-aggressive"] is NO
    page = found.page.read_text()
    assert "CHOKe, TCP-LP" in page
