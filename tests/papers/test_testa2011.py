"""testa2011: its studies are sound, its judges can say no, and a tiny campaign gives a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flashcrowd.drawing.blocks import Table, Text
from flashcrowd.papers import campaign, paper, reproduce
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.testa2011 import conclusions, quantities, queues, service, waits, windows
from flashcrowd.papers.testa2011.downloads import completions, kept
from flashcrowd.papers.testa2011.settings import STAYS, SWARMS, at, words
from flashcrowd.papers.verdict import Finding, Verdict

from .conftest import made_of

TESTA = paper.load("testa2011")
YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.OPEN
STUDY = {"title": "made up", "workloads": {"torrent": {"size": "25 MiB"}}}


#: Mean completion time of the first and of the second half, by swarm and stay.
Times = Mapping[tuple[str, str], tuple[float, float]]

ALIKE: Times = {(swarm, stay): (100.0, 100.0) for swarm in SWARMS for stay in STAYS}
APART: Times = {**ALIKE, ("50-50", "seeds stay a random time"): (120.0, 90.0)}


def made(times: Times, *, runs: int = 6, long: float = 20.0, name: str = "populations") -> Evidence:
    """Runs of eight completions each, of which four count; `long` per cent of long queues."""
    rows: list[dict[str, Any]] = []
    downloads: list[dict[str, Any]] = []
    lengths: list[dict[str, Any]] = []
    for point, ((swarm, stay), halves) in enumerate(times.items()):
        for repeat in range(runs):
            run = len(rows)
            populations = "workloads.torrent.populations"
            rows.append(
                {
                    "run": run, "point": point, "repeat": repeat, "seed": repeat,
                    f"{populations}.first.data_transport": SWARMS[swarm][0],
                    f"{populations}.second.data_transport": SWARMS[swarm][1],
                    f"{populations}.first.departure": STAYS[stay],
                    f"{populations}.second.departure": STAYS[stay],
                    "outcome": "stopped", "reason": "", "end_s": 1000.0,
                    "packets_sent": 1000, "packets_dropped": 10,
                }
            )  # fmt: skip
            for rank in range(8):
                half = rank % 2
                noise = 1 + 0.002 * ((repeat * 7 + point * 3 + half * (2 + repeat)) % 5 - 2)
                duration = 999.0 if rank < 4 else halves[half] * noise
                downloads.append(
                    {
                        "run": run, "population": ("first", "second")[half],
                        "arrived_s": 0.0, "completed_s": 500.0 + rank, "left_s": 900.0,
                        "duration_s": duration,
                        "downloaded_bytes": 100, "uploaded_bytes": 103 + repeat % 2,
                    }
                )  # fmt: skip
            for half in ("first", "second"):
                share = long + 0.1 * (repeat % 3)
                for packets, count in ((2, 1000 - 10 * share), (150, 10 * share)):
                    lengths.append(
                        {
                            "run": run,
                            "owner": half,
                            "way": "up",
                            "packets": packets,
                            "count": 2 * int(count),
                            "online": int(count),
                        }
                    )
    tables = {"runs": rows, "downloads": downloads, "queues": lengths}
    return Evidence({name: StudyEvidence(name, made_of(tables, STUDY), TESTA.names)})


def judged(evidence: Evidence, name: str) -> Finding:
    claim = next(claim for claim in TESTA.claims if claim.id == name)
    return TESTA.judges[claim.judge](evidence, claim.given)


def test_every_claim_names_a_judge_and_studies_that_exist() -> None:
    assert len(TESTA.claims) >= 40
    for claim in TESTA.claims:
        assert claim.judge in TESTA.judges, claim.id
        assert set(claim.needs) <= set(TESTA.studies), claim.id
        if "study" in claim.given:
            assert claim.given["study"] in claim.needs, claim.id


def test_every_item_is_drawn_and_every_study_is_shown() -> None:
    assert set(TESTA.figures) == {item.id for item in TESTA.items}
    for study in TESTA.studies:
        assert any(item.uses(study) for item in TESTA.items), study


@pytest.mark.parametrize("name", TESTA.studies)
@pytest.mark.parametrize("quick", [False, True])
def test_every_study_is_sound(name: str, quick: bool) -> None:
    study = campaign.prepared(TESTA, name, quick=quick)
    assert ("(quick)" in study.title) is quick
    assert study.points()


def test_the_paper_s_own_set_up_is_what_is_run() -> None:
    study = campaign.prepared(TESTA, "populations", quick=False)
    assert study.repeats == 10
    document = study.resolved()
    torrent = document["workloads"]["torrent"]
    assert torrent["stop_after"] == 100
    for half in ("first", "second"):
        line = document["network"]["groups"][half]
        assert line["hosts"] == 50
        assert (line["access"]["up"], line["access"]["down"]) == ("1 Mbit/s", "8 Mbit/s")
        assert line["access"]["up_queue"] == "200 packets"
        assert torrent["populations"][half]["arrivals"] == {
            "kind": "poisson", "start": "0 s", "gap": "20 s",
        }  # fmt: skip
    stack = document["stacks"]["uTP"]
    assert stack["controller"] == "ledbat-draft"
    assert stack["ledbat"]["target"] == "25 ms"


def test_a_variation_differs_from_its_study_in_what_it_says_and_nothing_else() -> None:
    base = campaign.prepared(TESTA, "populations", quick=False).resolved()
    for name in TESTA.studies:
        variation = TESTA.variation(name)
        if not variation.says:
            continue
        varied = campaign.prepared(TESTA, name, quick=False).resolved()
        assert variation.says in varied["title"]
        assert varied["network"]["groups"].keys() == base["network"]["groups"].keys()
        assert varied != {**base, "title": varied["title"]}, name


def test_the_first_half_of_the_completions_does_not_count() -> None:
    study = made(ALIKE)["populations"]
    one = completions(study)[0]
    assert (len(one.duration_s), one.discarded) == (8, 4)
    assert one.kept().max() < 101
    assert len(one.kept("first")) == 2
    point = at(study, "TCP", "seeds never leave")
    assert point is not None
    assert len(kept(study, point)) == 6 * 4
    assert words(study, point) == "all TCP, seeds never leave"


def test_the_ratio_of_upload_to_download_is_that_of_those_who_left() -> None:
    found = quantities.share_ratio(made(ALIKE)["populations"]).of_run
    assert found[0] == pytest.approx(1.03)


def test_seeds_are_counted_over_the_time_that_counts() -> None:
    found = quantities.seeds_a_leecher(made(ALIKE)["populations"]).of_run
    # From the fifth completion at 504 s to the end at 1000 s: seeds until 900 s, and the first one.
    leeching = sum(max(0, 500 + rank - 504) for rank in range(8))
    seeding = sum(900 - max(504, 500 + rank) for rank in range(8)) + 1000 - 504
    assert found[0] == pytest.approx(seeding / leeching)


def test_an_upload_is_that_of_a_half_while_it_is_online() -> None:
    study = made(ALIKE)["populations"]
    # Each of four peers sends 103 or 104 bytes in 900 s.
    first, second = (quantities.upload_rate(study, half).of_run for half in ("first", "second"))
    assert first == second
    assert [first[run] for run in (0, 1)] == pytest.approx([8e-3 * 103 / 900, 8e-3 * 104 / 900])


def test_queues_are_shares_of_samples() -> None:
    study = made(ALIKE)["populations"]
    point = at(study, "TCP", "seeds never leave")
    assert point is not None
    assert queues.longer(study, 100).of_run[0] == pytest.approx(20.0)
    assert queues.mean_length(study).of_run[0] == pytest.approx(0.8 * 2 + 0.2 * 150)
    line = queues.above(study, point)
    assert line.share[0] == pytest.approx(1.0)
    assert line.share[100] == pytest.approx(0.2, abs=0.01)
    assert line.share[150] == pytest.approx(0.0, abs=1e-12)


def test_unchokes_are_those_of_the_halves() -> None:
    rows = {
        "downloads": [
            {"run": 0, "peer": 1, "population": "first"},
            {"run": 0, "peer": 2, "population": "second"},
        ],
        "unchokes": [
            {"peer": 1, "remote": 2, "population": "first", "start_s": 0.0, "end_s": 8.0},
            {"peer": 1, "remote": 2, "population": "first", "start_s": 10.0, "end_s": 12.0},
            {"peer": 2, "remote": 1, "population": "second", "start_s": 0.0, "end_s": 10.0},
        ],
    }
    for row in rows["downloads"]:
        row |= {"arrived_s": 0.0, "completed_s": 20.0 * row["peer"], "left_s": None}
    for row in rows["unchokes"]:
        row |= {"run": 0, "bytes": 1000}
    runs = [{"run": 0, "point": 0, "repeat": 0, "seed": 0, "outcome": "stopped", "end_s": 30.0}]
    study = StudyEvidence("service", made_of({**rows, "runs": runs}, STUDY))
    assert service.rate(study, "first", "second").of_run == {0: pytest.approx(1.6)}
    assert service.rate(study, "second", "first").of_run == {0: pytest.approx(0.8)}
    assert service.rate(study, "first", "first").of_run == {}
    # The one was a leecher for 20 s, the other, which needs 40 s, until the end at 30 s.
    assert service.slots(study, "first").of_run == {0: pytest.approx(10 / 20)}
    assert service.slots(study, "second").of_run == {0: pytest.approx(10 / 30)}
    # One unchoke in 20 s, and two in 30 s.
    assert service.won(study, "first").of_run == {0: pytest.approx(3.0)}
    assert service.won(study, "second").of_run == {0: pytest.approx(4.0)}
    assert service.won_apart(study).of_run == {0: pytest.approx(4 / 3 - 1)}


def _logged(run: int, connection: int, host: str, remote: str, role: str) -> dict[str, Any]:
    return {
        "run": run, "connection": connection, "host": host, "remote": remote, "role": role,
        "opened_s": 1.0,
    }  # fmt: skip


def _event(connection: int, t_s: float, event: str, kind: str, **more: int) -> dict[str, Any]:
    nothing = {"payload_bytes": 0, "offset": None, "ack": None}
    about = {"run": 0, "connection": connection, "t_s": t_s, "event": f"packet_{event}"}
    return {**about, "packet_type": kind, **nothing, **more}


def test_requests_and_acknowledgements_are_followed_from_end_to_end() -> None:
    request = {"payload_bytes": 17, "offset": 40}
    block = {"payload_bytes": 1460, "offset": 0}
    events = [
        _event(0, 1.0, "sent", "data", **request),
        _event(1, 1.1, "sent", "data", **block),
        _event(0, 1.2, "received", "data", **block),
        _event(0, 1.2, "sent", "ack", ack=1460),
        _event(0, 1.3, "sent", "ack", ack=1460),  # a duplicate: the first one counts
        _event(1, 1.4, "received", "data", **request),
        _event(1, 1.5, "sent", "ack", ack=57),  # of a request: no block came to this end
        _event(1, 1.9, "received", "ack", ack=1460),
        _event(0, 2.0, "received", "ack", ack=57),
        _event(1, 2.1, "received", "ack", ack=1460),
        _event(0, 6.5, "sent", "data", payload_bytes=17, offset=57),  # too late to be seen
        _event(1, 6.6, "received", "data", payload_bytes=17, offset=57),
        _event(0, 2.2, "sent", "data", payload_bytes=9, offset=80),  # no request
        _event(1, 2.3, "received", "data", payload_bytes=9, offset=80),
    ]
    ends = [_logged(0, 0, "first-1", "second-1", "client")]
    ends += [_logged(0, 1, "second-1", "first-1", "server")]
    ends += [_logged(0, 2, "first-2", "seed-1", "client")]  # the other end is not logged
    runs = [{"run": 0, "point": 0, "repeat": 0, "seed": 0, "outcome": "stopped", "end_s": 30.0}]
    made_up = {"connections": ends, "connection_events": events, "runs": runs}
    about = {"measures": {"connections": {"from": "0 s", "to": "9 s"}}}
    study = StudyEvidence("waits", made_of(made_up, about))
    assert waits.transit(study, waits.REQUEST, "first").of_run == {0: pytest.approx(400.0)}
    assert waits.transit(study, waits.ACKNOWLEDGEMENT, "first").of_run == {0: pytest.approx(700.0)}
    assert waits.transit(study, waits.REQUEST, "second").of_run == {}
    assert waits.transits_apart(study, waits.REQUEST).of_run == {}


@pytest.mark.parametrize(
    ("name", "times", "expected"),
    [
        ("utp-faster", APART, YES),
        ("utp-faster", ALIKE, OPEN),
        ("utp-faster", {**APART, ("50-50", "seeds stay a random time"): (90.0, 120.0)}, NO),
        ("homogeneous-alike", ALIKE, YES),
        ("homogeneous-alike", {**ALIKE, ("uTP", "seeds stay a random time"): (80.0, 80.0)}, NO),
        ("never-no-difference", ALIKE, YES),
        ("never-no-difference", {**ALIKE, ("50-50", "seeds never leave"): (150.0, 90.0)}, NO),
        ("never-halves-alike", ALIKE, YES),
        ("never-halves-alike", {**ALIKE, ("50-50", "seeds never leave"): (150.0, 90.0)}, NO),
        ("mix-differs", ALIKE, NO),
        ("mix-differs", {**ALIKE, ("50-50", "seeds stay a random time"): (150.0, 90.0)}, YES),
        ("netiquette", ALIKE, NO),
    ],
)
def test_judges_say_yes_and_no(name: str, times: Times, expected: Verdict) -> None:
    assert judged(made(times), name).verdict is expected


@pytest.mark.parametrize(("long", "expected"), [(20.0, YES), (40.0, NO), (5.0, NO)])
def test_about_a_fifth_has_two_sides(long: float, expected: Verdict) -> None:
    assert judged(made(ALIKE, long=long), "above-100").verdict is expected


def test_a_cause_is_what_takes_half_of_the_effect_away() -> None:
    for times, expected in ((ALIKE, YES), (APART, NO)):
        both = {**made(APART).studies, **made(times, name="requests-20").studies}
        finding = judged(Evidence(both), "cause-requests")
        assert finding.verdict is expected
        assert "with 20 requests outstanding" in finding.measured


def test_no_cause_is_found_for_an_effect_that_is_not_there() -> None:
    both = {**made(ALIKE).studies, **made(ALIKE, name="requests-20").studies}
    assert judged(Evidence(both), "cause-requests").verdict is OPEN


@pytest.mark.parametrize("name", ["delay-25", "ten-ms"])
def test_arithmetic_is_computed(name: str) -> None:
    assert judged(Evidence({}), name).verdict is YES


@pytest.mark.parametrize(
    ("long", "expected"), [((80.0, 80.0), NO), ((50.0, 50.0), YES), ((20.0, 80.0), YES)]
)
def test_two_causes_are_judged_by_what_both_take_away(
    long: tuple[float, float], expected: Verdict
) -> None:
    names = ("control-over-utp", "ledbat-plus-plus")
    studies = made(ALIKE, long=80.0).studies
    for name, share in zip(names, long, strict=True):
        studies = {**studies, **made(ALIKE, long=share, name=name).studies}
    assert judged(Evidence(studies), "target-deviates").verdict is expected
    one = {name: study for name, study in studies.items() if name != names[1]}
    assert judged(Evidence(one), "target-deviates").verdict is Verdict.NOT_RUN


def test_a_change_against_two_swarms_is_one_against_each() -> None:
    far: Times = {**ALIKE, ("50-50", "seeds stay a random time"): (150.0, 90.0)}
    assert judged(made(far), "mix-differs").verdict is YES
    near: Times = {**far, ("uTP", "seeds stay a random time"): (120.0, 120.0)}
    finding = judged(made(near), "mix-differs")
    assert finding.verdict is NO
    assert "against all uTP" in finding.measured


def test_sentences_are_judged_with_the_window_of_ns2_and_without() -> None:
    both = Evidence({**made(APART).studies, **made(ALIKE, name="unbounded").studies})
    found = {claim.id: (one.verdict, free.verdict) for claim, one, free in windows.findings(both)}
    assert found["utp-faster"] == (YES, OPEN)
    assert found["homogeneous-alike"] == (YES, YES)
    assert found["netiquette"] == (NO, NO)
    assert "flat-above-50" not in found, "the buffers were not run"
    assert "cause-requests" not in found, "a cause is about two studies"
    alike = sum(one is free for one, free in found.values())
    text, table = windows.draw(both)
    assert isinstance(text, Text)
    assert f"of {len(found)} sentences {alike} get the same verdict" in text.text
    assert isinstance(table, Table)
    assert len(table.rows) == len(found)


def test_conclusions_are_a_row_for_each_variation_that_was_run() -> None:
    both = {**made(APART).studies, **made(ALIKE, name="requests-20").studies}
    table = conclusions.table(Evidence(both))
    assert [row[0] for row in table.rows] == ["nothing", TESTA.variation("requests-20").says]
    column = next(i for i, text in enumerate(table.header) if "finish earlier" in text)
    assert [getattr(row[column], "text", "") for row in table.rows] == ["reproduced", "undecided"]
    assert np.all([len(row) == len(table.header) for row in table.rows])


TINY = {
    "workloads.torrent.size": "1 MiB",
    "workloads.torrent.stop_after": 8,
    "network.groups.first.hosts": 4,
    "network.groups.second.hosts": 4,
    **{
        f"network.groups.{half}-{kind}.hosts": 2
        for half in ("first", "second")
        for kind in ("slow", "fast", "busy", "other")
    },
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything on eight leechers and one megabyte: a path test, not a reproduction."""
    folder = tmp_path_factory.mktemp("testa2011")
    only = ["completion", "queues", "halves", "buffers", "access", "background"]
    reproduce("testa2011", folder, quick=True, only=only, further=TINY, repeats=2)
    return folder


def test_a_tiny_campaign_gives_a_page_with_claims_and_figures(tiny: Path) -> None:
    page = (tiny / "report.html").read_text(encoding="utf-8")
    claims = json.loads((tiny / "claims.json").read_text(encoding="utf-8"))
    assert claims["quick"] is True
    assert len(claims["claims"]) == len(TESTA.claims)
    ran = [c for c in claims["claims"] if c["verdict"] not in ("not run", "not testable")]
    assert len(ran) >= 20
    for name in ("completion-rank", "completion-cdf", "queues", "halves", "buffers"):
        assert (tiny / "figures" / f"{name}.svg").exists(), name
    headings = re.findall(r"<h[12]>(.*?)</h[12]>", page)
    assert all("quick mode" in h for h in headings if h not in ("The paper", "What was run"))


def test_the_page_of_the_paper_loads_nothing(tiny: Path) -> None:
    page = (tiny / "report.html").read_text(encoding="utf-8")
    wanted = re.findall(r'(?:src|href|action|data|poster)\s*=\s*"([^"]*)"', page)
    assert [w for w in wanted if not w.startswith(("#", "data:"))] == []
    assert re.findall("<script[^>]*>", page) == ["<script>"]  # for reading


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_quick_campaign_finds_what_the_paper_s_model_does(tmp_path: Path) -> None:
    found = reproduce("testa2011", tmp_path, quick=True)
    verdicts = {one.claim.id: one.finding.verdict for one in found.judged}
    causes = ("control-slowed", "own-uplink")
    for claim in ("utp-faster", "not-with-leaving", "longer", "rare-resources", *causes):
        assert verdicts[claim] is YES, claim
    assert verdicts["cause-buffers"] is not NO  # +6 % [-12, +19] in five runs
    for claim in ("cause-requests", "steal", "netiquette"):
        assert verdicts[claim] is NO, claim
    assert found.page.stat().st_size < 1_500_000
