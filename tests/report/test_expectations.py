"""Expectations: kept, broken or undecided, by intervals and nothing else."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from flashcrowd.drawing.blocks import Table
from flashcrowd.report import expectations, study_page
from flashcrowd.report.expectations import Judged, judge, overall

# Download times of the synthetic crowd: about 516 s, 10 % more for each second of round-trip time.


def expecting(source: Any, **wanted: Any) -> Any:
    study = {**source.study, "expect": {"it": wanted}}
    return type(source)(source.tables, study, source.provenance)


def outcomes(judged: list[Judged]) -> list[str]:
    return [each.outcome for each in judged]


def test_the_answer_says_where_an_expectation_is_kept(swarm: Callable) -> None:
    source = expecting(swarm(extras=False), measure="mean download time", below="525 s")
    found = judge(source)
    (said,) = expectations.sentences(found)
    assert said.startswith("Expected: mean download time below 525 s: ")
    for outcome in set(outcomes(found)):
        where = [each.where for each in found if each.outcome == outcome]
        assert f"{outcome} at {' and '.join(where)}" in said or f"at {len(where)} points" in said
    answer = study_page.build(source).sections[0]
    assert any(getattr(block, "text", "") == said for block in answer.blocks)


def test_the_answer_says_that_an_expectation_is_kept_everywhere(swarm: Callable) -> None:
    found = judge(expecting(swarm(), measure="mean download time", below="600 s"))
    assert list(expectations.sentences(found)) == [
        "Expected: mean download time below 600 s: kept at all 6 points."
    ]


def test_a_bound_that_every_interval_keeps_is_kept(swarm: Callable) -> None:
    found = judge(expecting(swarm(), measure="mean download time", below="600 s"))
    assert outcomes(found) == ["kept"] * 6
    assert overall(found) == "kept"
    assert found[0].where == "RTT 0 ms, loss 0 %"
    assert found[0].says == "mean download time below 600 s"


def test_a_bound_that_an_interval_breaks_is_broken(swarm: Callable) -> None:
    found = judge(expecting(swarm(), measure="mean download time", below="525 s"))
    assert outcomes(found)[:3] == ["kept", "undecided", "broken"]
    assert found[1].why == "the bound is inside the interval"
    assert overall(found) == "broken"


def test_above_turns_it_round(swarm: Callable) -> None:
    found = judge(expecting(swarm(), measure="mean download time", above="10 min"))
    assert outcomes(found) == ["broken"] * 6
    both = judge(expecting(swarm(), measure="download time", above="400 s", below="600 s"))
    assert outcomes(both) == ["kept"] * 6


def test_a_change_is_against_the_baseline_at_each_value_of_the_other_axis(swarm: Callable) -> None:
    found = judge(expecting(swarm(), measure="mean download time", change_below="3 %"))
    assert [each.where for each in found] == [
        f"RTT {rtt} ms, loss {loss} %" for loss in (0, 5) for rtt in (200, 400)
    ]
    assert outcomes(found) == ["kept", "broken"] * 2
    not_faster = judge(expecting(swarm(), measure="mean download time", change_above="-1 %"))
    assert outcomes(not_faster) == ["kept"] * 4


def test_a_baseline_of_its_own_and_chosen_points(swarm: Callable) -> None:
    wanted = {"baseline": {"loss": "0 %"}, "at": {"network.rtt": "0 ms"}}
    found = judge(expecting(swarm(), measure="mean download time", change_below="5 %", **wanted))
    assert [(each.where, each.outcome) for each in found] == [("RTT 0 ms, loss 5 %", "kept")]
    assert "against loss 0 %" in found[0].says


def test_a_change_of_the_baseline_alone_is_undecided(swarm: Callable) -> None:
    wanted = {"change_below": "5 %", "at": {"network.rtt": "0 ms"}}
    found = judge(expecting(swarm(), measure="mean download time", **wanted))
    assert [(each.outcome, each.why) for each in found] == [
        ("undecided", "no point to compare is chosen")
    ]


def test_points_together_are_one_number_a_seed(swarm: Callable) -> None:
    found = judge(expecting(swarm(), measure="download time", below="600 s", together=True))
    assert [each.where for each in found] == ["over 6 points"]
    (one,) = found
    assert one.found is not None
    assert one.found.n == 6
    change = judge(
        expecting(swarm(), measure="download time", change_below="5 %", together=True)
    )  # fmt: skip
    assert [(each.where, each.outcome) for each in change] == [("over 4 points", "kept")]


def test_one_run_decides_nothing(swarm: Callable) -> None:
    found = judge(expecting(swarm(repeats=1), measure="download time", below="600 s"))
    assert set(outcomes(found)) == {"undecided"}
    assert found[0].why == "one run has no interval"


def test_runs_that_stalled_keep_nothing(swarm: Callable) -> None:
    found = judge(expecting(swarm(stalled=True), measure="download time", below="600 s"))
    assert outcomes(found)[:2] == ["kept", "undecided"]
    assert found[1].why == "1 of 6 runs did not end as planned"
    broken = judge(expecting(swarm(stalled=True), measure="download time", below="1 s"))
    assert outcomes(broken) == ["broken"] * 6


def test_what_was_never_measured_is_undecided(swarm: Callable) -> None:
    found = judge(expecting(swarm(extras=False), measure="p95 ping", below="1 s"))
    assert [(each.outcome, each.why) for each in found] == [
        ("undecided", "was not measured in any run")
    ]


def test_a_study_that_expects_nothing_is_not_judged(swarm: Callable) -> None:
    assert judge(swarm()) == []


def test_percentiles_have_names_and_units(swarm: Callable) -> None:
    found = judge(expecting(swarm(), measure="p95 ping of phone", below="0.2 s"))
    assert found[0].unit == "ms"
    # One in a hundred of them has no answer; a mean of the others is not below what it might be.
    assert outcomes(found)[:2] == ["undecided", "broken"]
    assert found[0].why.endswith(f"% never ended at {found[0].where}")


def test_page_and_terminal_show_it(swarm: Callable) -> None:
    source = expecting(swarm(extras=False), measure="mean download time", below="525 s")
    page = study_page.build(source)
    section = next(each for each in page.sections if each.slug == "expected")
    (table,) = section.blocks
    assert isinstance(table, Table)
    assert "kept" in table.caption
    console = Console(width=150)
    with console.capture() as shown:
        console.print(expectations.summary(judge(source)))
    assert "Expectations: " in shown.get()
    assert "undecided: the bound is inside the interval" in shown.get()


@pytest.mark.parametrize(
    ("outcome", "status"), [("kept", 0), ("broken", 4), ("undecided", 5)]
)  # fmt: skip
def test_each_outcome_has_a_status_of_its_own(outcome: Any, status: int) -> None:
    assert expectations.STATUS[outcome] == status


@pytest.mark.parametrize("width", [80, 40])
def test_a_narrow_terminal_says_what_is_expected(swarm: Callable, width: int) -> None:
    source = swarm(rtts_ms=(0,), losses=("0 %",), repeats=3)
    source.study["expect"] = {"quick": {"measure": "p95 download time", "below": "1 s"}}
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(expectations.summary(judge(source)))
    text = console.export_text()
    assert "…" not in text
    words = " ".join(text.split())
    assert "quick:" in words
    assert "broken" in words
