from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.cli import reproduce as command
from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.papers import Reproduction, null_world, paper, paper_page, verdict
from flashcrowd.papers.claim import Claim, Judged, judge
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.judges import GENERIC
from flashcrowd.papers.measured import Measured
from flashcrowd.papers.paper import Item
from flashcrowd.papers.rao2010 import JUDGES
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report.statistics import Estimate

Make = Callable[..., Evidence]

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.OPEN

SLOW = {("20 KiB/s", "0 ms"): 100.0, ("20 KiB/s", "400 ms"): 130.0, ("20 KiB/s", "1000 ms"): 120.0}
FLAT = {("20 KiB/s", "0 ms"): 100.0, ("20 KiB/s", "400 ms"): 101.0, ("20 KiB/s", "1000 ms"): 102.0}


def _number(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 10, low, high)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.01, 0.14, YES), (0.16, 0.3, NO), (0.1, 0.2, OPEN)]
)
def test_an_upper_bound_is_kept_broken_or_undecided(
    low: float, high: float, expected: Verdict
) -> None:
    assert verdict.at_most(_number(low, high), 0.15) is expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.16, 0.3, YES), (0.01, 0.14, NO), (0.1, 0.2, OPEN)]
)
def test_a_lower_bound_is_kept_broken_or_undecided(
    low: float, high: float, expected: Verdict
) -> None:
    assert verdict.more_than(_number(low, high), 0.15) is expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-0.04, 0.04, YES), (0.06, 0.2, NO), (-0.2, -0.06, NO), (-0.1, 0.02, OPEN)],
)
def test_likeness_has_two_sides(low: float, high: float, expected: Verdict) -> None:
    assert verdict.within(_number(low, high), 0.05) is expected


def test_less_is_less_for_the_whole_interval() -> None:
    assert verdict.less_than(_number(-0.2, -0.1), 0.0) is YES
    assert verdict.less_than(_number(0.0, 0.1), 0.0) is NO
    assert verdict.less_than(_number(-0.1, 0.1), 0.0) is OPEN


def test_a_single_run_decides_nothing() -> None:
    sample = Estimate(0.01, None, None, 1, 0.01, 0.01)
    assert verdict.at_most(sample, 0.15) is OPEN
    assert verdict.more_than(sample, 0.15) is OPEN
    assert verdict.within(sample, 0.15) is OPEN


def test_extremes_are_asked_of_every_run() -> None:
    found = Estimate(1448, 1400, 1500, 3, 1440, 1448)
    assert verdict.every_run_at_most(found, 1460) is YES
    assert verdict.every_run_at_most(found, 1447) is NO
    assert verdict.every_run_more_than(found, 1439) is YES
    assert verdict.every_run_more_than(found, 1440) is NO


def test_all_needs_all_and_any_needs_one() -> None:
    assert verdict.all_of([YES, YES]) is YES
    assert verdict.all_of([YES, OPEN]) is OPEN
    assert verdict.all_of([YES, OPEN, NO]) is NO
    assert verdict.any_of([NO, OPEN, YES]) is YES
    assert verdict.any_of([NO, OPEN]) is OPEN
    assert verdict.any_of([NO, NO]) is NO
    assert verdict.all_of([]) is Verdict.NOT_RUN


def _judge(name: str, made: Evidence, given: Mapping[str, Any]) -> Finding:
    claim = Claim("c", "s", "says", name, ("latency",), {"study": "latency", **given})
    return judge([claim], made, GENERIC | JUDGES)[0].finding


AGAINST_ZERO = {"against": {"rtt": "0 ms"}}


@pytest.mark.parametrize(
    ("name", "given", "when_slow", "when_flat"),
    [
        ("change-at-most", {**AGAINST_ZERO, "bound": 0.15}, NO, YES),
        ("change-more-than", {**AGAINST_ZERO, "bound": 0.15}, YES, NO),
        ("some-change-more-than", {**AGAINST_ZERO, "bound": 0.15}, YES, NO),
        ("change-within", {**AGAINST_ZERO, "bound": 0.05}, NO, YES),
        ("faster", {"where": {"rtt": "1000 ms"}, "against": {"rtt": "400 ms"}}, YES, NO),
        ("not-monotonic", {"where": {"leechers.upload": "20 KiB/s"}}, YES, NO),
    ],
)
def test_judges_say_yes_and_no(
    evidence: Make, name: str, given: dict[str, Any], when_slow: Verdict, when_flat: Verdict
) -> None:
    assert _judge(name, evidence(SLOW), given).verdict is when_slow
    assert _judge(name, evidence(FLAT), given).verdict is when_flat


def test_too_much_noise_leaves_a_claim_undecided(evidence: Make) -> None:
    near = {("20 KiB/s", "0 ms"): 100.0, ("20 KiB/s", "400 ms"): 114.0}
    found = _judge("change-at-most", evidence(near, noise=6.0), {**AGAINST_ZERO, "bound": 0.15})
    assert found.verdict is OPEN


def test_a_finding_names_the_furthest_case_and_the_counterexamples(evidence: Make) -> None:
    found = _judge("change-at-most", evidence(SLOW), {**AGAINST_ZERO, "bound": 0.25})
    assert found.verdict is NO
    assert found.measured.startswith("+30.0 % [")
    assert "RTT 400 ms" in found.measured
    assert "the worst of 2 cases" in found.measured
    assert found.why.startswith(
        "Holds in 1 of 2 cases. Broken in 1 of 2 cases: RTT 400 ms: +30.0 %"
    )
    assert found.n == 6


def test_the_cause_of_an_effect_is_what_removes_it(evidence: Make) -> None:
    given = {
        "as_is": {"leechers.upload": "with"}, "without": {"leechers.upload": "without"},
        "slow": {"rtt": "400 ms"}, "fast": {"rtt": "0 ms"},
    }  # fmt: skip
    both = {("with", "0 ms"): 100.0, ("with", "400 ms"): 120.0, ("without", "0 ms"): 100.0}
    assert _judge("explains", evidence(both | {("without", "400 ms"): 102.0}), given).verdict is YES
    assert _judge("explains", evidence(both | {("without", "400 ms"): 119.0}), given).verdict is NO
    none = both | {("with", "400 ms"): 90.0, ("without", "400 ms"): 90.0}
    found = _judge("explains", evidence(none), given)
    assert found.verdict is NO
    assert "no such difference" in found.why


def test_runs_that_stalled_do_not_count(evidence: Make) -> None:
    found = _judge("change-at-most", evidence(FLAT, stalled=2), {**AGAINST_ZERO, "bound": 0.15})
    assert found.n == 4


def test_a_claim_whose_study_was_not_run_has_no_verdict() -> None:
    claim = Claim("c", "s", "says", "faster", ("latency",), {})
    found = judge([claim], Evidence({}), GENERIC)[0].finding
    assert found.verdict is Verdict.NOT_RUN


def test_our_explanation_stands_only_where_a_claim_fails(evidence: Make) -> None:
    given = {"study": "latency", **AGAINST_ZERO, "bound": 0.15}
    claim = Claim("c", "s", "x", "change-at-most", ("latency",), given, otherwise="Because.")
    assert "Because." in judge([claim], evidence(SLOW), GENERIC)[0].finding.why
    assert "Because." not in judge([claim], evidence(FLAT), GENERIC)[0].finding.why


def test_a_setting_that_is_not_swept_is_a_mistake(evidence: Make) -> None:
    with pytest.raises(KeyError, match=r"loss.*is not swept in study 'latency'"):
        evidence(FLAT)["latency"].select({"loss": "5 %"})


def test_the_reason_of_a_failure_is_measured_too(evidence: Make) -> None:
    made = evidence(
        {
            ("with", "0 ms"): 100.0, ("with", "400 ms"): 120.0,
            ("without", "0 ms"): 100.0, ("without", "400 ms"): 102.0,
        }
    )  # fmt: skip
    reason = {
        "study": "latency", "says": "at 400 ms", "as_is": {"leechers.upload": "with"},
        "slow": {"rtt": "400 ms"}, "fast": {"rtt": "0 ms"},
        "variants": [{"says": "without it", "is": {"leechers.upload": "without"}}],
    }  # fmt: skip
    given = {"study": "latency", **AGAINST_ZERO, "bound": 0.15}
    claim = Claim("c", "s", "x", "change-at-most", ("latency",), given, reasons=(reason,))
    why = judge([claim], made, GENERIC)[0].finding.why
    assert "At 400 ms, +20.0 % [" in why
    assert "without it." in why
    flat = Claim("c", "s", "x", "change-at-most", ("latency",), given | {"bound": 0.5})
    assert judge([flat], made, GENERIC)[0].finding.why == ""


def test_runs_that_did_not_end_as_planned_are_told_as_the_reason(evidence: Make) -> None:
    given = {"study": "latency", "against": {"rtt": "0 ms"}, "bound": 0.15}
    claim = Claim("c", "s", "says", "change-at-most", ("latency",), given)
    (judged,) = judge([claim], evidence(SLOW, runs=3, stalled=3), JUDGES | GENERIC)
    assert judged.finding == Finding(Verdict.NOT_RUN, "no run of latency ended as planned")
    (judged,) = judge([claim], evidence(SLOW, runs=6, stalled=3), JUDGES | GENERIC)
    assert judged.finding.verdict is NO


def _judged(name: str, verdict: Verdict, published: str = "") -> Judged:
    claim = Claim(name, "2", f"Sentence {name}.", "none", needs=("a",), published=published)
    return Judged(claim, Finding(verdict, f"measured {name}", 3))


def test_the_page_of_a_paper_begins_with_what_was_not_reproduced() -> None:
    judged = [_judged("kept", YES), _judged("broken", NO, "4 Mbit/s"), _judged("open", OPEN)]
    item = Item("figure-1", "Figure 1: a curve", ("a",))
    (table,) = paper_page.not_reproduced(judged, {"broken": item})
    assert isinstance(table, Table)
    (row,) = table.rows
    cells = [it if isinstance(it, str) else it.text for it in row]
    assert cells == ["2", "Sentence broken.", "4 Mbit/s", "measured broken", "Figure 1"]
    assert row[-1] == Cell("Figure 1", target="figure-1")
    assert list(paper_page.not_reproduced(judged[:1], {})) == []


def test_the_terminal_prints_what_was_not_reproduced_and_counts_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged = [_judged("kept", YES), _judged("broken", NO, "4 Mbit/s"), _judged("open", OPEN)]
    made = Reproduction(judged, Path("report.html"))
    command.show(made, everything=False)
    text = capsys.readouterr().out
    assert "not reproduced  Sentence broken. (2; broken)" in text
    assert "paper:      4 Mbit/s" in text
    assert "measured:   measured broken" in text
    assert "Sentence kept" not in text
    assert "3 claims: 1 reproduced, 1 not reproduced, 1 undecided." in text
    command.show(made, everything=True)
    assert "reproduced  Sentence kept." in capsys.readouterr().out


@pytest.mark.parametrize("name", paper.names())
def test_the_main_findings_of_a_paper_are_marked_and_say_so_first(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = paper.load(name).claims
    main = [claim for claim in claims if claim.main]
    assert 1 <= len(main) <= 2
    broken, kept = Finding(Verdict.NOT_REPRODUCED, "1"), Finding(Verdict.REPRODUCED, "2")
    judged = [Judged(claim, kept if claim.main else broken) for claim in claims]
    command.show(Reproduction(judged, tmp_path), everything=False)
    shown = " ".join(capsys.readouterr().out.split())
    first = shown.index("Other claims that are not reproduced")
    assert all(claim.says in shown[:first] for claim in main)
    assert all(claim.says not in shown[:first] for claim in claims if not claim.main)
    page = paper_page.main_findings([Judged(claim, Finding(Verdict.NOT_RUN, "")) for claim in main])
    assert page == []


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(7.0, 14.0, YES), (5.0, 6.0, NO), (16.0, 20.0, NO), (6.0, 9.0, OPEN), (14.0, 16.0, OPEN)],
)
def test_a_number_in_print_is_met_from_both_sides(
    low: float, high: float, expected: Verdict
) -> None:
    assert verdict.within_factor(_number(low, high), 10.0, 1.5) is expected


def test_a_factor_says_how_near_is_near(evidence: Make) -> None:
    given = {"study": "latency", "where": {"rtt": "400 ms"}, **AGAINST_ZERO, "published": 2.0}
    doubled = {("20 KiB/s", "0 ms"): 100.0, ("20 KiB/s", "400 ms"): 208.0}
    judges = Measured(lambda study, given: study.download_time, lambda study, point: point.label)
    for times, expected in ((doubled, YES), (SLOW, NO)):
        found = judges.times(evidence(times), {**given, "factor": 1.2})
        assert found.verdict is expected
        assert "factor of 1.2" in found.why
    assert judges.times(evidence(doubled), {**given, "factor": 1.2}).measured.startswith(
        "download time 2.080 × ["
    )


def test_arithmetic_is_computed(evidence: Make) -> None:
    four = {"of": [4, 640], "over": [8]}
    cases = [
        ([{**four, "published": 300, "within": 0.1}], YES),
        ([{**four, "published": 300, "within": 0.05}], NO),
        ([{**four, "low": 300, "high": 330}, {"of": [2, 3], "published": 6}], YES),
        ([{**four, "low": 300, "high": 330}, {"of": [2, 3], "published": 7}], NO),
    ]
    for numbers, expected in cases:
        found = _judge("arithmetic", evidence(FLAT), {"unit": "kB", "numbers": numbers})
        assert found.verdict is expected
        assert found.measured.startswith("320")


def test_what_holds_by_construction_is_counted_apart(evidence: Make) -> None:
    given = {"study": "latency", **AGAINST_ZERO, "bound": 0.15}
    claim = Claim(
        "c", "s", "says", "change-at-most", ("latency",), given, by_construction="Read off."
    )
    found = [judge([claim], evidence(times), GENERIC)[0] for times in (FLAT, SLOW)]
    assert [one.finding.verdict for one in found] == [Verdict.BY_CONSTRUCTION, NO]
    assert found[0].finding.why.endswith("Read off.")
    assert "1 by construction" in paper_page.tally(found)


def test_what_a_paper_asks_is_not_testable_and_keeps_its_number(evidence: Make) -> None:
    given = {"study": "latency", **AGAINST_ZERO, "bound": 0.15}
    claim = Claim("c", "s", "says", "change-at-most", ("latency",), given, asks="It asks.")
    for times in (FLAT, SLOW):
        bare, asked = judge([replace(claim, asks=""), claim], evidence(times), GENERIC)
        assert asked.finding.verdict is Verdict.NOT_TESTABLE
        assert asked.finding.measured == bare.finding.measured
        assert asked.finding.why.endswith("It asks.")
    other = judge([claim], Evidence({}), GENERIC)[0]
    assert other.finding.verdict is Verdict.NOT_RUN


def test_claims_give_no_result_of_arithmetic() -> None:
    """A number that is written down is no computation."""
    for name in paper.names():
        for claim in paper.load(name).claims:
            if claim.judge == "arithmetic":
                assert set(claim.given) <= {"unit", "numbers"}, claim.id
                for number in claim.given["numbers"]:
                    assert len([*number["of"], *number.get("over", ())]) > 1, claim.id


def test_in_the_null_world_effects_are_gone(evidence: Make) -> None:
    given = {"study": "latency", "where": {"rtt": "400 ms"}, **AGAINST_ZERO}
    numbers = {"numbers": [{"of": [2, 3], "published": 6}]}
    claims = [
        Claim("effect", "s", "says", "change-more-than", ("latency",), {**given, "bound": 0.15}),
        Claim("none", "s", "says", "change-at-most", ("latency",), {**given, "bound": 0.15}),
        Claim("computed", "s", "says", "arithmetic", (), numbers),
    ]
    world = null_world.visit(claims, evidence(SLOW), GENERIC, 8)
    assert world.reproduced == ("effect", "computed")
    assert world.always == ("computed",)
    assert sum(world.survived) < 12
    assert world.sentence.endswith("(mean of 8 shuffles). Always: computed.")


def test_a_shuffle_gives_each_point_one_run_of_each_repeat(evidence: Make) -> None:
    first = evidence(SLOW)
    for seed in range(3):
        moved = null_world.shuffled(first, seed)["latency"].points.points
        assert [point.label for point in moved] == [
            point.label for point in first["latency"].points.points
        ]
        runs = [sorted(run.repeat for run in point.runs) for point in moved]
        assert runs == [list(range(6))] * 3
        assert moved[0].runs != first["latency"].points.points[0].runs


@pytest.mark.parametrize("published", ["", "4 Mbit/s"])
def test_a_page_of_a_paper_has_no_section_without_content(published: str) -> None:
    judged = [_judged("kept", YES, published)]
    for name in paper.names():
        page = paper_page.build(paper.load(name), Evidence({}, quick=True), judged)
        tables = [it for section in page.sections for it in section.blocks if isinstance(it, Table)]
        empty = [section.slug for section in page.sections if not section.blocks]
        assert empty == []
        assert ("published" in [section.slug for section in page.sections]) == bool(published)
        assert all(table.rows for table in tables[:-1]), name
        assert "the paper's size" not in " ".join(page.warnings)
