import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from flashcrowd.papers import campaign, paper, reproduce
from flashcrowd.papers.rao2010 import figures, iplane
from flashcrowd.papers.verdict import Verdict

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
            for part in ("where", "against", "as_is", "without", "slow", "fast"):
                wanted |= set(claim.given.get(part, {}))
    for setting in wanted:
        matching = [p for p in swept if p == setting or p.endswith(f".{setting}")]
        assert len(matching) == 1, (name, setting)


def test_the_paper_s_own_set_up_is_what_is_run() -> None:
    study = campaign.prepared(RAO, "latency", quick=False)
    assert len(study.points()) == 50
    assert study.repeats == 10
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
    with pytest.raises(paper.UnknownName, match="there are circus2004, pan2009"):
        paper.load("rao2011")
    with pytest.raises(paper.UnknownName, match=r"no item 'figure-1'.*completion"):
        RAO.choose(["figure-1"])


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
    for claim in ("extreme-can-hurt", "gaps-10", "gaps-20", "gaps-50", "gaps-100", "one-write"):
        assert verdicts[claim] is Verdict.REPRODUCED, claim
    assert verdicts["twenty-anomaly"] is not Verdict.NOT_REPRODUCED
    assert found.page.stat().st_size < 1_500_000
