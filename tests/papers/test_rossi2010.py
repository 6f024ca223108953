import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flashcrowd.papers import campaign, curves, paper, reproduce, steps
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.papers.rossi2010 import JUDGES, mixtures, quantities
from flashcrowd.papers.verdict import Finding, Verdict

from .conftest import Tables, judged, made_of, run_row

ROSSI = paper.load("rossi2010")


YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.OPEN


def test_every_claim_names_a_judge_and_studies_that_exist() -> None:
    assert len(ROSSI.claims) >= 60
    for claim in ROSSI.claims:
        assert claim.judge in ROSSI.judges, claim.id
        assert set(claim.needs) <= set(ROSSI.studies), claim.id
        if "study" in claim.given:
            assert claim.given["study"] in claim.needs, claim.id


def test_every_item_is_drawn_and_needs_studies_that_exist() -> None:
    assert set(ROSSI.figures) == {item.id for item in ROSSI.items}
    shown = {study for item in ROSSI.items for study in (*item.studies, *item.also)}
    assert shown == set(ROSSI.studies)


@pytest.mark.parametrize("name", ROSSI.studies)
@pytest.mark.parametrize("quick", [False, True])
def test_every_study_is_sound(name: str, quick: bool) -> None:
    study = campaign.prepared(ROSSI, name, quick=quick)
    assert ("(quick)" in study.title) is quick
    assert study.points()


def _conditions(given: Mapping[str, Any], study: str) -> Iterator[tuple[str, str, object]]:
    """Every setting that a claim selects by, with its study."""
    study = given.get("study", study)
    for name, value in given.get("where", {}).items():
        yield study, name, value
    for key in ("alone", "part"):
        yield from ((study, name, value) for name, value in given.get(key, {}).items())
    literal = given.get("literal", ())
    readings = [literal] if isinstance(literal, Mapping) else literal
    for part in (*readings, *([given["than"]] if "than" in given else ())):
        yield from _conditions(part, study)
    for key in ("beside", "cells"):
        for part in given.get(key, ()):
            yield from _conditions(part, study)


def test_what_claims_select_is_swept_and_has_that_value() -> None:
    swept: dict[str, dict[str, list[object]]] = {}
    for name in ROSSI.studies:
        axes = campaign.prepared(ROSSI, name, quick=True).sweep
        swept[name] = {path: list(values) for axis in axes for path, values in axis.items()}
    for claim in ROSSI.claims:
        for study, setting, value in _conditions(claim.given, ""):
            found = [p for p in swept[study] if p == setting or p.endswith(f".{setting}")]
            assert len(found) == 1, (claim.id, study, setting)
            for one in value if isinstance(value, list) else [value]:
                assert one in swept[study][found[0]], (claim.id, study, setting, one)


def test_the_published_table_is_whole_and_adds_up() -> None:
    rows = mixtures.published()
    assert [(row["window"], row["tcp"]) for row in rows] == [
        (window, tcp) for window in ("windows", "linux") for tcp in (4, 3, 2, 1, 0)
    ]
    for row in rows:
        assert sum(row["shares"]) == pytest.approx(1.0, abs=0.015)
        shares = np.array(row["shares"])
        jain = shares.sum() ** 2 / (4 * (shares**2).sum())
        assert jain == pytest.approx(row["jain"], abs=0.03), row


@pytest.mark.parametrize("tcp", [3, 2, 1, 0])
def test_cells_of_single_flows_are_those_of_the_published_table(tcp: int) -> None:
    row = next(it for it in mixtures.published() if (it["window"], it["tcp"]) == ("linux", tcp))
    name = f"l-{tcp}-{4 - tcp}" if tcp else "four-ledbat"
    claim = next(claim for claim in ROSSI.claims if claim.id == name)
    for kind, shares in (("tcp", row["shares"][:tcp]), ("ledbat", row["shares"][tcp:])):
        cells = [cell for cell in claim.given["cells"] if cell.get("kind") == kind]
        assert [cell["published"] for cell in cells] == sorted(shares, reverse=True)
        assert [cell.get("rank", 1) for cell in cells] == list(range(1, len(shares) + 1))


# --- judges, on runs whose numbers are known ----------------------------------------------------


def _study(**of_point: float) -> StudyEvidence:
    """A study in which a flow of each transport sends at a fixed rate, in Mbit/s, six runs each.

    From 60 s on the rate is half as high.
    """
    runs: list[dict[str, Any]] = []
    series: list[dict[str, Any]] = []
    for point, (transport, rate) in enumerate(of_point.items()):
        for repeat in range(6):
            run = len(runs)
            runs.append(run_row(run, point, repeat, **{"workloads.flow.transport": transport}))
            for t in range(0, 121, 10):
                now = rate * 1e6 * (1 + 0.01 * (repeat % 3 - 1)) * (0.5 if t > 60 else 1.0)
                for what, source in (("goodput", "flow/0"), ("link-rate", "senders-1 up")):
                    value = now if t else 0.0
                    series.append(
                        {
                            "run": run,
                            "what": what,
                            "source": source,
                            "t_s": float(t),
                            "value": value,
                        }
                    )
    made = made_of({"runs": runs, "series": series})
    made.study["timeline"] = {
        "slower": {"at": "60 s", "change": "network.links.bottleneck.rate", "to": "2 Mbit/s"}
    }
    made.study["network"] = {"links": {"bottleneck": {"rate": "4 Mbit/s"}}}
    return StudyEvidence("made", made)


def _judge(name: str, given: dict[str, Any], **of_point: float) -> Finding:
    return judged(name, given, _study(**of_point), JUDGES)


FAST = {"measure": "goodput", "to_s": 60, "where": {"transport": "fast"}}
OVER_SLOW = {**FAST, "than": {"where": {"transport": "slow"}}, "bound": 0.9}
OVER_LATER = {**FAST, "than": {"from_s": 60, "to_s": 120}, "bound": 0.1}


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("level", {**FAST, "is": "more-than", "bound": 3.0}, YES),
        ("level", {**FAST, "is": "more-than", "bound": 5.0}, NO),
        ("level", {**FAST, "is": "more-than", "bound": 4.0}, OPEN),
        ("near", {**FAST, "published": 4.1, "tolerance": 0.3}, YES),
        ("near", {**FAST, "published": 7.0, "tolerance": 0.3}, NO),
        ("compare", {**OVER_SLOW, "is": "more-than"}, YES),
        ("compare", {**OVER_SLOW, "is": "at-most"}, NO),
        ("compare", {**OVER_LATER, "is": "within"}, NO),
    ],
)
def test_judges_say_yes_and_no(name: str, given: dict[str, Any], expected: Verdict) -> None:
    assert _judge(name, given, fast=4.0, slow=2.0).verdict is expected


def test_some_case_is_enough_where_a_claim_says_so() -> None:
    given = {"measure": "goodput", "to_s": 60, "published": 4.0, "tolerance": 0.3}
    both = {"where": {"transport": ["fast", "slow"]}}
    assert _judge("near", {**given, **both}, fast=4.0, slow=2.0).verdict is NO
    found = _judge("near", {**given, **both, "any": True}, fast=4.0, slow=2.0)
    assert found.verdict is YES
    assert "the nearest of 2 cases" in found.measured


def test_a_part_of_a_loss_is_weighed_against_the_whole() -> None:
    where = {name: {"transport": name} for name in ("alone", "where", "part")}
    given = {"measure": "goodput", "to_s": 60, "bound": 0.5, "called": "share", **where}
    rates = {"alone": 6.0, "where": 2.0}
    assert _judge("accounts", {**given, "is": "less-than"}, **rates, part=5.0).verdict is YES
    found = _judge("accounts", {**given, "is": "less-than"}, **rates, part=3.0)
    assert found.verdict is NO
    assert "share 0.75" in found.measured


STEPS = {"path": "network.links.bottleneck.rate", "end_s": 120, "settle_s": 10}


def test_steps_are_those_of_the_timeline() -> None:
    found = steps.read(_study(fast=4.0), STEPS["path"], 120)
    assert [(s.from_s, s.to_s, s.value) for s in found] == [
        (0.0, 60.0, "4 Mbit/s"),
        (60.0, 120.0, "2 Mbit/s"),
    ]


def test_a_judge_looks_at_each_step_with_its_capacity() -> None:
    given = {"measure": "utilisation", "is": "more-than", "bound": 95.0}
    both = {"steps": {**STEPS, "only": ["4 Mbit/s", "2 Mbit/s"]}}
    assert _judge("level", {**given, **both}, fast=4.0).verdict is YES
    found = _judge("level", {**given, **both}, fast=3.0)
    assert found.verdict is NO
    assert "Broken in 2 of 2 cases" in found.why
    falls = {"measure": "goodput", **both}
    assert _judge("falls", falls, fast=4.0).verdict is YES
    backwards = {"steps": {**STEPS, "only": ["2 Mbit/s"]}}
    assert _judge("falls", {"measure": "goodput", **backwards}, fast=4.0).verdict is Verdict.NOT_RUN


def test_a_swept_setting_may_be_the_capacity() -> None:
    tables = dict(_study(fast=4.0).results.tables)
    swept = pa.array(["8 Mbit/s"] * tables["runs"].num_rows)
    tables["runs"] = tables["runs"].append_column("timeline.step.to", swept)
    given = {"capacity": "timeline.step.to", "to_s": 60}
    found = quantities.utilisation(StudyEvidence("made", Tables(tables)), given).of_run
    assert found[1] == pytest.approx(50.0)


def test_the_constants_of_the_text_stand_beside_the_verdict() -> None:
    given = {
        **FAST, "is": "more-than", "bound": 3.0, "literal": {"where": {"transport": "slow"}},
        "beside": [{"says": "the slow one", "where": {"transport": "slow"}}],
    }  # fmt: skip
    found = _judge("level", given, fast=4.0, slow=2.0)
    assert found.verdict is YES
    assert "With the constants of the text: goodput 2.0" in found.why
    assert "(not reproduced)" in found.why
    assert "The slow one: 2.0" in found.why


def test_cells_name_those_that_miss() -> None:
    def cells(second: float) -> dict[str, Any]:
        one = {"name": "a", "measure": "goodput", "to_s": 60, "published": 4.0, "tolerance": 0.3}
        return {
            "where": {"transport": "fast"},
            "cells": [one, {**one, "name": "b", "published": second}],
        }

    assert _judge("cells", cells(4.1), fast=4.0).verdict is YES
    found = _judge("cells", cells(9.0), fast=4.0)
    assert found.verdict is NO
    assert "b 4.000 for 9 (not reproduced)" in found.measured


def test_unevenness_is_that_of_the_stretch() -> None:
    read = curves.read(_study(fast=4.0), "goodput")
    assert set(curves.unevenness(read, "flow/0", 0, 60).values()) == {0.0}
    whole = curves.unevenness(read, "flow/0", 0, 120)
    assert min(whole.values()) == pytest.approx(100 / 3)


def test_shares_and_fairness_are_of_the_flows_after_a_minute() -> None:
    series = [
        {"run": 0, "what": "goodput", "source": source, "t_s": float(t), "value": value}
        for source, value in (("tcp/0", 6.0), ("ledbat/0", 2.0), ("ledbat/1", 2.0))
        for t in (30, 90, 150)
    ]
    runs = [run_row(0, 0, 0, **{"workloads.tcp.flows": 1, "end_s": 150.0})]
    study = StudyEvidence("made", made_of({"runs": runs, "series": series}))
    assert list(quantities.flows(study, 0)) == ["tcp/0", "ledbat/0", "ledbat/1"]
    assert quantities.share(study, {"kind": "tcp"}).of_run[0] == pytest.approx(0.6)
    assert quantities.share(study, {"kind": "ledbat"}).of_run[0] == pytest.approx(0.2)
    ranked = [quantities.ranked_share(study, {"kind": "ledbat", "rank": n}) for n in (1, 2, 3)]
    assert [one.of_run for one in ranked] == [{0: pytest.approx(0.2)}] * 2 + [{}]
    assert quantities.ratio(study, {}).of_run[0] == pytest.approx(1 / 3)
    assert quantities.jain(study, {}).of_run[0] == pytest.approx(100 / (3 * 44))
    assert quantities.jain(study, {"kind": "ledbat"}).of_run[0] == pytest.approx(1.0)


# --- a small campaign ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three of the items with two repeats."""
    folder = tmp_path_factory.mktemp("rossi2010")
    reproduce("rossi2010", folder, quick=True, only=["figure-1", "figure-4b"], repeats=2)
    return folder


def test_a_tiny_campaign_gives_a_page_with_claims_and_figures(tiny: Path) -> None:
    page = (tiny / "report.html").read_text(encoding="utf-8")
    claims = json.loads((tiny / "claims.json").read_text(encoding="utf-8"))
    assert claims["quick"] is True
    assert len(claims["claims"]) == len(ROSSI.claims)
    ran = [c for c in claims["claims"] if c["verdict"] not in ("not run", "not testable")]
    assert len(ran) >= 10
    assert (tiny / "figures" / "packet-sizes.svg").exists()
    headings = re.findall(r"<h[12]>(.*?)</h[12]>", page)
    assert all("quick mode" in h for h in headings if h not in ("The paper", "What was run"))


def test_a_second_call_runs_nothing_again(tiny: Path) -> None:
    before = (tiny / "sizes" / "provenance.json").read_bytes()
    reproduce("rossi2010", tiny, quick=True, only=["figure-1"], repeats=2)
    assert (tiny / "sizes" / "provenance.json").read_bytes() == before


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_quick_campaign_reproduces_the_paper_s_main_findings(tmp_path: Path) -> None:
    found = reproduce("rossi2010", tmp_path, quick=True)
    verdicts = {one.claim.id: one.finding.verdict for one in found.judged}
    assert Verdict.NOT_RUN not in verdicts.values()
    for claim in ("starved", "higher-priority", "depends-on-tcp", "forward-yields"):
        assert verdicts[claim] is Verdict.REPRODUCED, claim
    assert found.page.stat().st_size < 2_500_000
