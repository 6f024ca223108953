import json
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from flashcrowd.papers import campaign, paper, repairs, reproduce
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.rao2010 import JUDGES, figures, iplane, quantities
from flashcrowd.papers.verdict import Verdict

from .conftest import made_of, run_row

RAO = paper.load("rao2010")


def test_every_claim_names_a_judge_and_studies_that_exist() -> None:
    assert len(RAO.claims) >= 45
    for claim in RAO.claims:
        assert claim.judge in RAO.judges, claim.id
        assert set(claim.needs) <= set(RAO.studies), claim.id
        if "study" in claim.given:
            assert claim.given["study"] in claim.needs, claim.id


def test_payloads_are_not_drawn_where_their_points_were_not_run() -> None:
    study = SimpleNamespace(
        rows=lambda _: pa.table({"population": pa.array([], pa.string())}),
        select=lambda _: [],
        points=SimpleNamespace(only=lambda points: SimpleNamespace(points=tuple(points))),
    )
    assert list(figures._payloads(cast("Any", {"loss": study}))) == []


def test_every_item_is_drawn_and_needs_studies_that_exist() -> None:
    assert set(RAO.figures) == {item.id for item in RAO.items}
    assert {study for item in RAO.items for study in item.studies} == set(RAO.studies)


@pytest.mark.parametrize("name", RAO.studies)
@pytest.mark.parametrize("quick", [False, True])
def test_every_study_is_sound(name: str, quick: bool) -> None:
    study = campaign.prepared(RAO, name, quick=quick)
    assert ("(quick)" in study.title) is quick
    assert study.points()


@pytest.mark.parametrize("name", RAO.studies)
def test_what_claims_select_is_swept(name: str) -> None:
    swept = {path for axis in campaign.prepared(RAO, name, quick=False).sweep for path in axis}
    wanted: set[str] = set()
    for claim in RAO.claims:
        if claim.given.get("study") == name:
            for part in ("where", "against", "as_is", "without", "slow", "fast", "rtt", "base"):
                wanted |= set(claim.given.get(part, {}))
    for setting in wanted:
        matching = [p for p in swept if p == setting or p.endswith(f".{setting}")]
        assert len(matching) == 1, (name, setting)


def test_the_paper_s_own_set_up_is_what_is_run() -> None:
    study = campaign.prepared(RAO, "latency", quick=False)
    assert len(study.points()) == 50
    assert study.repeats == 5
    document = study.resolved()
    assert document["network"]["groups"]["leechers"]["hosts"] == 300
    torrent = document["workloads"]["torrent"]
    assert (torrent["size"], torrent["piece"]) == ("50 MiB", "256 KiB")
    leechers = torrent["populations"]["leechers"]
    assert leechers["profile"] == "mainline-4.0.2"
    assert leechers["departure"] == {"kind": "all-done"}


def test_systems_add_up_loopback_and_ethernet() -> None:
    study = campaign.prepared(RAO, "systems", quick=False)
    point = next(
        p for p in study.points()
        if p.values["network.groups.second.devices.loopback"] == "25 ms"
    )  # fmt: skip
    plan = json.loads(point.plan().to_json())["network"]
    groups = plan["groups"]

    def rtt_ms(one: str, other: str) -> float:
        there = plan["core_of"][groups.index(one) * len(groups) + groups.index(other)]
        back = plan["core_of"][groups.index(other) * len(groups) + groups.index(one)]
        cores = plan["cores"]
        return sum(cores[i]["conditions"]["delay_ns"] for i in (there, back)) / 1e6

    assert rtt_ms("second", "second") == 100
    assert rtt_ms("second", "third") == 400
    assert rtt_ms("first", "fourth") == 400


def test_the_shipped_distributions_have_the_quoted_percentiles() -> None:
    assert iplane.fraction_below("rtt", 400) == pytest.approx(0.98, abs=5e-4)
    assert iplane.fraction_below("rtt", 1000) == pytest.approx(0.998, abs=5e-4)
    assert iplane.fraction_below("loss", 5) == pytest.approx(0.95, abs=5e-4)
    assert np.all(np.diff(iplane.quantiles("rtt")[1]) >= 0)


def test_names_that_do_not_exist_are_refused_with_those_that_do() -> None:
    with pytest.raises(paper.UnknownName, match="there are aqm2014, circus2004"):
        paper.load("rao2011")
    with pytest.raises(paper.UnknownName, match=r"no item 'figure-1'.*completion"):
        RAO.choose(["figure-1"])


# --- judges, on runs whose numbers are known ----------------------------------------------------


def _with(evidence: Any, **rows: list[dict[str, Any]]) -> Evidence:
    """Four runs each at 0 and at 400 ms, with further tables."""
    made = evidence({("20 KiB/s", "0 ms"): 100.0, ("20 KiB/s", "400 ms"): 100.0}, runs=4)
    made["latency"].results.tables.update(made_of(rows).tables)
    made["latency"].results.study["network"] = {"loss": "5 %"}
    return made


@pytest.mark.parametrize(
    ("later", "expected"),
    [(50, Verdict.REPRODUCED), (998, Verdict.NOT_REPRODUCED), (0, Verdict.NOT_REPRODUCED)],
)
def test_a_ramp_up_may_be_needed_where_sends_come_both_sooner_and_later(
    evidence: Any, later: int, expected: Verdict
) -> None:
    gaps = [
        {"run": run, "population": "leechers", "gap_ms": gap, "count": count}
        for run in range(8)
        for gap, count in ((10.0, 100 if later == 50 else 2), (30.0, later))
    ]
    given = {"study": "latency", "limit_ms": 20, "bound": 10.0}
    assert JUDGES["gaps-around"](_with(evidence, send_gaps=gaps), given).verdict is expected


@pytest.mark.parametrize(
    ("late_s", "expected"), [(2.0, Verdict.REPRODUCED), (20.0, Verdict.NOT_REPRODUCED)]
)
def test_curves_are_alike_if_they_are_near_all_the_time(
    evidence: Any, late_s: float, expected: Verdict
) -> None:
    pieces = [
        {
            "run": run, "population": "leechers", "leechers": 2, "t_s": at,
            "mean": min(4.0, max(0.0, (at - (late_s if run >= 4 else 0.0)) / 25)),
        }
        for run in range(8)
        for at in range(0, 125, 5)
    ]  # fmt: skip
    made = _with(evidence, pieces=pieces)
    given = {"study": "latency", "where": {"rtt": "400 ms"}, "against": {"rtt": "0 ms"}}
    assert JUDGES["curves-alike"](made, {**given, "bound": 0.05}).verdict is expected


@pytest.mark.parametrize(
    ("repeats", "expected"), [(50, Verdict.REPRODUCED), (20, Verdict.NOT_REPRODUCED)]
)
def test_each_lost_segment_is_sent_again(evidence: Any, repeats: int, expected: Verdict) -> None:
    payloads = [{"run": run, "bytes": 1380, "count": 1000} for run in range(8)]
    made = _with(evidence, payloads=payloads)
    runs = made["latency"].results.tables["runs"]
    sent = runs.append_column("retransmitted_packets", pa.array([repeats] * runs.num_rows))
    made = _with(evidence, payloads=payloads, runs=sent.to_pylist())
    given = {"study": "latency", "measure": "repeats", "is": "more-than", "bound": 0.9}
    assert JUDGES["level"](made, given).verdict is expected


def test_an_idle_seed_and_a_transfer_s_time_are_read_from_their_tables(evidence: Any) -> None:
    idle = [
        {"run": run, "population": "seed", "start_s": 10.0, "end_s": 20.0, "idle_s": idle}
        for run in range(8)
        for idle in (0.0, run / 2)
    ]
    took = [{"run": run, "duration_s": 1.0 + run} for run in range(8)]
    study = _with(evidence, unchokes=idle, transfers=took)["latency"]
    assert quantities.seed_idle(study).of_run[3] == pytest.approx(7.5)
    assert quantities.transfer_time(study).of_run[3] == pytest.approx(4.0)


COSTS = {  # of 1000 ms, by upload limit, with and without the ramp-up
    "10 KiB/s": {"testbed": 1.2, "no-ramp-up": 1.15},
    "100 KiB/s": {"testbed": 1.5, "no-ramp-up": 1.1},
}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("10 KiB/s", "100 KiB/s", Verdict.REPRODUCED),
        ("100 KiB/s", "10 KiB/s", Verdict.NOT_REPRODUCED),
    ],
)
def test_what_a_ramp_up_costs_is_compared_between_limits(
    evidence: Any, low: str, high: str, expected: Verdict
) -> None:
    runs, downloads = [], []
    for point, (limit, stack, rtt) in enumerate(product(COSTS, COSTS[low], (0, 1000))):
        for repeat in range(4):
            time = 100.0 * (COSTS[limit][stack] if rtt else 1.0) * (1 + repeat / 1000)
            at = {"leechers.upload": limit, "network.stack": stack, "network.rtt": f"{rtt} ms"}
            downloads.append({"run": len(runs), "duration_s": time, "completed_s": time})
            runs.append(run_row(len(runs), point, repeat, **at, end_s=time))
    latency = evidence({("20 KiB/s", "0 ms"): 100.0}).studies["latency"]
    rows = [{**latency.results.tables["downloads"].to_pylist()[0], **row} for row in downloads]
    latency.results.tables.update(made_of({"runs": runs, "downloads": rows}).tables)
    made = Evidence({"causes": StudyEvidence("causes", latency.results)})
    given = {
        "study": "causes", "slow": {"leechers.upload": low}, "fast": {"leechers.upload": high},
        "rtt": {"rtt": "1000 ms"}, "base": {"rtt": "0 ms"},
        "with_ramp_up": {"stack": "testbed"}, "without": {"stack": "no-ramp-up"},
    }  # fmt: skip
    assert JUDGES["ramp-up-costs-more"](made, given).verdict is expected


def test_a_repair_ends_with_the_old_window_or_with_the_next_repair() -> None:
    log = repairs.Log(
        at=np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        state=np.array(["slow_start", "", "loss", "slow_start", "", "recovery", "", "open", ""]),
        window=np.array([np.nan, 10.0, np.nan, 1.0, 4.0, np.nan, 2.0, 3.0, 4.0]),
        round_trip=np.full(9, 0.1),
    )
    first, second = repairs.repairs(log)
    assert first == repairs.Repair("loss", 10.0, 1.0, 3.0, regained=False)
    assert second == repairs.Repair("recovery", 4.0, 2.0, 3.0, regained=True)


TINY = {"network.groups.leechers.hosts": 6, "workloads.torrent.size": "1 MiB"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything on six leechers and one megabyte: a path test, not a reproduction."""
    folder = tmp_path_factory.mktemp("rao2010")
    only = ["completion", "send-gaps", "pieces", "iplane"]
    reproduce("rao2010", folder, quick=True, only=only, further=TINY, repeats=2)
    return folder


def test_a_tiny_campaign_gives_a_page_with_claims_and_figures(tiny: Path) -> None:
    page = (tiny / "report.html").read_text(encoding="utf-8")
    claims = json.loads((tiny / "claims.json").read_text(encoding="utf-8"))
    assert claims["quick"] is True
    assert len(claims["claims"]) == len(RAO.claims)
    ran = [c for c in claims["claims"] if c["verdict"] not in ("not run", "not testable")]
    assert len(ran) >= 10
    assert (tiny / "figures" / "completion-rtt.svg").exists()
    assert "Completion time against round-trip time (quick mode)" in page
    headings = re.findall(r"<h[12]>(.*?)</h[12]>", page)
    assert all("quick mode" in h for h in headings if h not in ("The paper", "What was run"))


def test_the_page_of_a_paper_loads_nothing(tiny: Path) -> None:
    page = (tiny / "report.html").read_text(encoding="utf-8")
    wanted = re.findall(r'(?:src|href|action|data|poster)\s*=\s*"([^"]*)"', page)
    assert [w for w in wanted if not w.startswith(("#", "data:"))] == []
    assert re.findall("<script[^>]*>", page) == ["<script>"]  # for reading


def test_a_second_call_runs_nothing_again(tiny: Path) -> None:
    before = (tiny / "latency" / "provenance.json").read_bytes()
    again = reproduce("rao2010", tiny, quick=True, only=["completion"], further=TINY, repeats=2)
    assert (tiny / "latency" / "provenance.json").read_bytes() == before
    verdicts = {one.finding.verdict for one in again.judged if one.claim.needs == ("loss",)}
    assert verdicts == {Verdict.NOT_RUN}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_quick_campaign_reproduces_the_paper_s_main_findings(tmp_path: Path) -> None:
    found = reproduce("rao2010", tmp_path, quick=True)
    verdicts = {one.claim.id: one.finding.verdict for one in found.judged}
    assert Verdict.NOT_RUN not in verdicts.values()
    for claim in (
        "extreme-can-hurt",
        "ten-flat",
        "ten-rises",
        "pipeline",
        "meter-slow",
        "one-write",
    ):
        assert verdicts[claim] is Verdict.REPRODUCED, claim
    assert verdicts["twenty-anomaly"] is not Verdict.NOT_REPRODUCED
    assert found.page.stat().st_size < 1_500_000
