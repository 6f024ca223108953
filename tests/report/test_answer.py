"""The first screen: which numbers decide, with what they are compared, what the sentences say."""

import io
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.console import Console

from flashcrowd.base.metrics import parse
from flashcrowd.report import answer, headline, measures, points
from flashcrowd.report.baseline import baseline
from flashcrowd.report.finding import between, finding
from flashcrowd.report.matters import Least
from flashcrowd.report.measure import Measure
from flashcrowd.report.summary import summary

Swarm = Callable[..., Any]


def sentences(results: Any) -> list[str]:
    found = points.points_of(results)
    return answer.sentences(headline.headline(results, found), found)


def terminal(results: Any, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(summary(results))
    return console.file.getvalue()  # type: ignore[attr-defined]


def transfers(
    rates: dict[str, dict[str, list[float]]], *, limit: bool = False, sized: bool = False
) -> Any:
    """Results of transfers `a` and `b`: setting → transfer → Mbit/s of each run."""
    from tests.report.conftest import Synthetic

    runs, rows = [], []
    path = "workloads.a.limit" if limit else "workloads.a.transport"
    for point, (setting, by_transfer) in enumerate(rates.items()):
        for repeat in range(len(next(iter(by_transfer.values())))):
            run = len(runs)
            runs.append(
                {"run": run, "point": point, "repeat": repeat, "seed": repeat, path: setting,
                 "outcome": "completed", "reason": "", "end_s": 10.0}
            )  # fmt: skip
            for name, values in by_transfer.items():
                rows.append(
                    {"run": run, "transfer": name, "flow": 0, "start_s": 0.0,
                     "end_s": 10.0 if sized else None,
                     "duration_s": 10.0 if sized else None, "bytes": int(values[repeat] * 1.25e6),
                     "goodput_bps": values[repeat] * 1e6, "mean_rtt_s": None}
                )  # fmt: skip
    tables = {"runs": pa.Table.from_pylist(runs), "transfers": pa.Table.from_pylist(rows)}
    size = "10 MB" if sized else "none"
    workloads = {name: {"kind": "transfer", "size": size} for name in ("a", "b")}
    return Synthetic(tables, {"title": "Two transfers", "workloads": workloads})


def test_the_best_comes_first_then_the_numbers_then_how_sure_they_are():
    rates = {"cubic": {"a": [4.0, 4.2, 4.1]}, "bbr": {"a": [5.0, 5.25, 5.125]}}
    assert sentences(transfers(rates)) == [
        "Goodput is 5.12 Mbit/s with BBR as a transport and 4.10 with CUBIC: "
        "25 % higher than with CUBIC.",
        "The runs of a point are all alike (3 runs per point).",
    ]


@settings(max_examples=30, deadline=None)
@given(base=st.floats(1, 100), ratio=st.floats(0.2, 5), sized=st.booleans(), second=st.booleans())
def test_a_change_in_a_sentence_is_the_one_of_the_table(
    base: float, ratio: float, sized: bool, second: bool
) -> None:
    assume(abs(ratio - 1) > 0.06)
    found = transfers(
        {"cubic": {"a": [base, 1.1 * base]}, "bbr": {"a": [base * ratio, 1.1 * base * ratio]}},
        sized=sized,
    )
    if sized:
        rows = found.tables["transfers"].to_pylist()
        rows = [{**row, "duration_s": row["goodput_bps"] / 1e6} for row in rows]
        found.tables["transfers"] = pa.Table.from_pylist(rows)
    path = "workloads.a.transport"
    found.study["report"] = {"baseline": {path: "bbr" if second else "cubic"}}
    read = points.points_of(found)
    of = headline.headline(found, read)
    (change,) = [it for point in read.points if (it := of.change(of.measures[0], point))]
    said, *_ = sentences(found)
    part = re.search(r"([0-9.]+) (%|times as)", said.rpartition(": ")[2])
    assert part is not None, said
    number = float(part[1])
    told = 100 * (number - 1) if part[2] != "%" else number
    assert told == pytest.approx(abs(100 * change.mean), rel=0.06, abs=0.06), said
    assert (change.mean > 0) == any(word in said for word in ("higher", "longer", "times")), said


def test_what_does_not_matter_is_no_difference_however_sure_it_is():
    rates = {"cubic": {"a": [4.0, 4.2, 4.1]}, "bbr": {"a": [4.08, 4.284, 4.182]}}
    assert sentences(transfers(rates)) == [
        "Goodput is about the same with CUBIC or BBR as a transport: 4.10 to 4.18 Mbit/s.",
        "The runs of a point are all alike (3 runs per point).",
    ]
    found = transfers(rates)
    found.study["report"] = {"matters": "1 %"}
    assert sentences(found)[0].startswith("Goodput is 4.18 Mbit/s with BBR as a transport and 4.10")
    found.study["report"] = {"matters": {"goodput": "50 kbit/s"}}
    assert sentences(found)[0].startswith("Goodput is 4.18 Mbit/s with BBR as a transport and 4.10")
    found.study["report"] = {"matters": {"goodput of a": "200 kbit/s"}}
    assert "about the same" in sentences(found)[0]


def test_identical_runs_are_the_same():
    rates = {"cubic": {"a": [4.0, 4.2]}, "bbr": {"a": [4.0, 4.2]}}
    assert sentences(transfers(rates)) == [
        "Goodput is about the same with CUBIC or BBR as a transport: 4.1 Mbit/s.",
        "The runs of a point are all alike (2 runs per point).",
    ]


def test_what_runs_cannot_tell_says_so_and_what_to_do():
    rates = {"cubic": {"a": [1.0, 9.0]}, "bbr": {"a": [9.0, 7.0]}}
    (said,) = sentences(transfers(rates))
    assert said == (
        "Goodput is 5 Mbit/s with CUBIC as a transport and 8 Mbit/s with BBR, "
        "but 2 runs per point are too few to tell them apart; about 50 would tell."
    )


def test_where_it_is_known_how_long_runs_take_the_time_is_said():
    found = transfers({"cubic": {"a": [1.0, 9.0]}, "bbr": {"a": [9.0, 7.0]}})
    session = {"started": "2026-01-01T00:00:00+00:00", "finished": "2026-01-01T00:00:02+00:00"}
    read = points.points_of(found)
    (said,) = answer.sentences(
        headline.headline(found, read), read, (), {"sessions": [{**session, "runs": 4}]}
    )
    assert said.endswith("; about 50 would tell, in 48 s.")


def test_nothing_is_called_the_same_of_which_runs_say_nothing():
    rates = {"cubic": {"a": [1.0, 9.0]}, "bbr": {"a": [9.0, 1.1]}}
    (said,) = sentences(transfers(rates))
    assert "too few to tell them apart" in said
    assert "same" not in said


def test_single_runs_are_samples():
    assert sentences(transfers({"cubic": {"a": [1.0]}, "bbr": {"a": [9.0]}})) == [
        "Goodput is 9.00 Mbit/s with BBR as a transport and 1.00 with CUBIC: "
        "9.0 times as high as with CUBIC.",
        "Each number is a sample: one run per point.",
    ]
    (said,) = sentences(transfers({"cubic": {"a": [1.0]}}))
    assert said == "Goodput is 1.000 Mbit/s (one run: a sample)."


def test_a_change_beyond_twice_is_a_factor():
    times = {"cubic": {"a": [3.0, 3.3]}, "bbr": {"a": [10.0, 11.0]}}
    found = transfers(times, sized=True)
    rows = found.tables["transfers"].to_pylist()
    for row in rows:
        row["duration_s"] = row["goodput_bps"] / 1e6
    found.tables["transfers"] = pa.Table.from_pylist(rows)
    said, _ = sentences(found)
    assert said.startswith(
        "Transfer time is 3.1 s with CUBIC as a transport and 10.5 with BBR: 3.3 times as long"
    )


def test_levels_that_do_not_differ_stand_together():
    base = [4.0, 4.2, 4.1]
    rates = {"cubic": base, "reno": [6.0, 6.2, 6.1], "bbr": [6.1, 6.0, 6.2], "vegas": [2.0, 2.1, 2]}
    said, sure = sentences(transfers({name: {"a": values} for name, values in rates.items()}))
    assert said == (
        "Goodput is 6.10 Mbit/s with BBR or Reno as a transport, 4.10 with CUBIC and 2.03 with "
        "Vegas."
    )
    assert sure == (
        "Each difference is known within 8.9 % of the larger number "
        "(95 % confidence, 3 runs per point)."
    )


def shares(found: Any) -> list[float]:
    """Half of each interval of a table's change, as a share of the larger of both numbers."""
    read = points.points_of(found)
    of = headline.headline(found, read)
    (measure,) = of.measures
    halves = []
    for point in read.points:
        change, mean = of.change(measure, point), measure.at(point)
        if change is None or change.low is None or change.high is None or mean is None:
            continue
        base = mean.mean / (1 + change.mean)
        half = max(change.high - change.mean, change.mean - change.low) * base
        halves.append(half / max(mean.mean, base))
    return halves


@given(
    st.lists(st.sampled_from([1.0, 1.3, 2.0, 6.0, 30.0]), min_size=2, max_size=5, unique=True),
    st.lists(st.floats(-0.05, 0.05), min_size=15, max_size=15),
    st.booleans(),
)
def test_differences_are_known_as_well_as_the_table_says(
    means: list[float], luck: list[float], limit: bool
):
    rates = {
        f"{i + 1} Mbit/s" if limit else f"t{i}": {
            "a": [mean * (1 + it) for it in luck[3 * i : 3 * i + 3]]
        }
        for i, mean in enumerate(means)
    }
    found = transfers(rates, limit=limit)
    text = " ".join(sentences(found))
    known = re.search(r"known within ([\d.]+) %", text)
    assume(known is not None and "sure difference" not in text and "neither" not in text)
    assert known is not None
    printed, widest = float(known[1]) / 100, max(shares(found))
    assert all(share <= printed + 1e-9 for share in shares(found))
    assert printed <= max(0.001, widest * 1.1 + 0.001)


def test_a_large_fall_is_known_as_well_as_the_table_says():
    rates = {"cubic": {"a": [400.0, 406.0, 412.0]}, "bbr": {"a": [12.0, 14.0, 17.0]}}
    found = transfers(rates)
    (share,) = shares(found)
    assert 0.01 < share < 0.02
    assert f"The difference is known within {100 * share + 0.05:.1f} %" in sentences(found)[1]


def test_a_factor_is_that_of_the_table():
    rates = {"base": [14.0] * 3, "near": [16.0, 15.8, 16.2], "far": [2.0, 2.02, 1.98]}
    found = transfers({name: {"a": values} for name, values in rates.items()})
    found.study["report"] = {"matters": "20 %"}
    said, _ = sentences(found)
    assert said.endswith("14.0 to 16.0 Mbit/s with near or base as a transport and 2.0 with "
                         "far: 86 % lower than with base.")  # fmt: skip
    read = points.points_of(found)
    of = headline.headline(found, read)
    change = of.change(of.measures[0], read.points[2])
    assert change is not None
    assert f"{-100 * change.mean:.0f} % lower" in said


def test_four_levels_that_differ_are_named_each():
    rates = {"base": 1.0, "a": 1.3, "b": 9.4, "c": 14.0, "d": 20.0}
    runs = {
        name: {"a": [mean, mean * (1 + 0.01 * i), mean * 0.99]}
        for i, (name, mean) in enumerate(rates.items())
    }
    said, _ = sentences(transfers(runs))
    assert said == (
        "Goodput is 20.20 Mbit/s with d as a transport, 14.09 with c, 9.43 with b and 1.30 with "
        "a, against 1.00 with base."
    )


def test_many_levels_are_counted():
    rates = {f"t{i}": {"a": [i * 1.0, i * 1.1, i * 1.05]} for i in range(1, 9)}
    said, _ = sentences(transfers(rates))
    assert said.startswith(
        "Goodput is 8.40 Mbit/s with t8 as a transport, 3.15 to 7.35 with the other 5 and 2.10 "
        "with t2, against 1.05 with t1"
    )


NOISY = [7.0, 12.0, 10.0, 9.5, 11.5]
"""Runs of 10 Mbit/s whose difference from `STEADY` is open."""

STEADY = [10.2, 10.4, 10.3, 10.1, 10.5]


def test_a_level_differs_from_the_baseline_only_surely():
    rates = {"base": STEADY, "low": [9.2, 9.4, 9.3, 9.1, 9.6], "noisy": NOISY}
    lower = {"noisy2": [rate * 0.96 for rate in NOISY], "noisy3": [rate * 0.9 for rate in NOISY]}
    found = transfers({name: {"a": runs} for name, runs in {**rates, **lower}.items()})
    said, sure = sentences(found)
    assert said == (
        "Goodput is 10.30 Mbit/s with base as a transport: 9.5 % lower with low; "
        "no sure difference with the other 3."
    )
    assert "within 0.8 %" in sure
    read = points.points_of(found)
    of = headline.headline(found, read)
    changes = [of.change(of.measures[0], point) for point in read.points[1:]]
    assert [change.is_clear for change in changes if change] == [True, False, False, False]


def test_the_best_and_the_worst_may_differ_surely_and_neither_from_the_baseline():
    rates = {"base": [7.0, 13.0, 10.0, 9.0, 11.5], "best": [11.0] * 5, "worst": [9.0, 9.1] * 2}
    rates["worst"].append(9.0)
    (said, _) = sentences(transfers({name: {"a": runs} for name, runs in rates.items()}))
    assert said == (
        "Goodput is 11.0 Mbit/s with best as a transport and 9.0 with worst: 18 % lower; "
        "neither differs surely from the 10.1 Mbit/s with base."
    )


def test_how_sure_it_is_has_a_number_for_each_measure_where_these_are_far_apart():
    sure, open_ = [4.0, 4.1, 4.0], [1.0, 1.6, 1.2]
    rates = {
        "cubic": {"a": sure, "b": open_},
        "bbr": {"a": [2.0, 2.0, 2.1], "b": [6.0, 9.0, 9.5]},
    }
    *_, said = sentences(transfers(rates))
    assert said == (
        "The differences in goodput of a are known within 4.8 % of the larger number, "
        "in goodput of b within 49 % (95 % confidence, 3 runs per point)."
    )
    (said,) = sentences(transfers({"cubic": rates["cubic"]}))
    assert said == (
        "Goodput of a is 4.03 Mbit/s ±3.6 % and goodput of b is 1.27 Mbit/s ±60 % "
        "(95 % confidence, 3 runs)."
    )


def test_a_sentence_has_the_numbers_of_the_table():
    rates = {"cubic": {"a": [1206.0, 1206.2, 1205.8]}, "bbr": {"a": [34.5, 34.4, 34.6]}}
    found = transfers(rates)
    read = points.points_of(found)
    (measure,) = headline.headline(found, read).measures
    said, _ = sentences(found)
    printed = terminal(found, 200)
    for point in read.points:
        mean = measure.at(point)
        assert mean is not None
        text = measure.column(read.points).level(mean).partition(" ")[0]
        assert f" {text} " in said
        assert f" {text} " in printed


def test_a_measure_without_a_number_is_named():
    found = transfers({"cubic": {"a": [4.0, 4.2]}, "bbr": {"a": [6.0, 6.6]}})
    found.study["report"] = {"headline": ["goodput", "total goodput", "p95 ping"]}
    *_, said = sentences(found)
    assert said == 'No run has a number for "total goodput" or "p95 ping".'
    found.study["report"] = {"headline": ["p95 ping"]}
    assert 'No run has a number for "p95 ping".' in terminal(found, 100)


def test_a_measure_of_a_call_has_the_name_of_its_workload():
    found = transfers({"cubic": {"a": [4.0]}, "bbr": {"a": [6.0]}})
    calls = [
        {"run": run, "call": "talk", "from": sender, "to": "b", "sent": 100, "lost": 3 * run,
         "mean_delay_s": 0.02, "p95_delay_s": 0.03, "jitter_s": 0.001}
        for run in (0, 1) for sender in ("home-1", "server-1")
    ]  # fmt: skip
    found.tables["calls"] = pa.Table.from_pylist(calls)
    found.study["report"] = {
        "headline": ["call loss of talk"],
        "matters": {"call loss of talk": "40 %"},
    }
    of = headline.headline(found, points.points_of(found))
    both = [f"call loss of talk from {sender}" for sender in ("home-1", "server-1")]
    assert [it.name for it in of.measures] == both
    assert not of.absent
    assert [of.least(it).amount for it in of.measures] == [40.0, 40.0]


def test_a_share_of_what_is_too_small_to_matter_says_nothing():
    found = transfers({"cubic": {"a": [4.0, 4.1, 4.0, 4.1]}, "bbr": {"a": [6.0, 6.1, 6.0, 6.1]}})
    lost = [0, 0, 0, 0, 1, 2, 0, 1]
    calls = [
        {"run": run, "call": "talk", "from": "home-1", "to": "b", "sent": 1000, "lost": it,
         "mean_delay_s": 0.02, "p95_delay_s": 0.03, "jitter_s": 0.001}
        for run, it in enumerate(lost)
    ]  # fmt: skip
    found.tables["calls"] = pa.Table.from_pylist(calls)
    loss = "Call loss is about the same with CUBIC or BBR as a transport."
    found.study["report"] = {"headline": ["goodput", "call loss of talk from home-1"]}
    _, said, sure = sentences(found)
    assert said == loss
    assert sure.startswith("The difference is known within ")
    found.study["report"] = {"headline": ["call loss of talk from home-1"]}
    said, sure = sentences(found)
    assert said == loss
    assert sure == "All differences are too small to matter (4 runs per point)."


def test_the_tail_of_a_call_is_that_of_its_intervals():
    found = transfers({"cubic": {"a": [4.0]}, "bbr": {"a": [6.0]}})
    calls = [
        {"run": run, "call": "talk", "from": "home-1", "to": "b", "sent": 50, "lost": lost,
         "mean_delay_s": 0.02, "p95_delay_s": tail_s, "jitter_s": 0.001}
        for run in (0, 1) for lost, tail_s in ((0, 0.03), (0, 0.09), (50, None))
    ]  # fmt: skip
    found.tables["calls"] = pa.Table.from_pylist(calls)
    (mean,) = measures.named(found, parse("tail one-way delay of talk"))
    (largest,) = measures.named(found, parse("largest tail one-way delay of talk from home-1"))
    assert mean.of_run == {0: pytest.approx(60.0), 1: pytest.approx(60.0)}
    assert largest.of_run == {0: pytest.approx(90.0), 1: pytest.approx(90.0)}
    assert mean.without[0] == pytest.approx(1 / 3)


def trend(values: dict[str, float]) -> str:
    """What is said of limits and the mean goodput of `b`, of three runs each."""
    rates = {
        limit: {"b": [mean, mean * 1.02, mean * 0.98], "a": [1.0, 1.0, 1.0]}
        for limit, mean in values.items()
    }
    return sentences(transfers(rates, limit=True))[0]


def test_of_numbers_the_trend_is_told():
    said = trend({"1 Mbit/s": 8.0, "2 Mbit/s": 6.0, "unlimited": 4.0})
    assert said.startswith(
        "Goodput of b falls from 8.00 Mbit/s at an a limit of 1 Mbit/s to 4.00 Mbit/s unlimited"
    )
    said = trend({"1 Mbit/s": 8.0, "2 Mbit/s": 8.1, "3 Mbit/s": 8.0, "4 Mbit/s": 4.0})
    assert said.startswith(
        "Goodput of b stays at 8.00 Mbit/s up to an a limit of 3 Mbit/s and falls to 4.00 Mbit/s "
        "at 4 Mbit/s"
    )
    said = trend({"1 Mbit/s": 8.0, "2 Mbit/s": 2.0, "3 Mbit/s": 6.0})
    assert said.startswith(
        "Goodput of b is lowest at an a limit of 2 Mbit/s: 2.00 Mbit/s, against 8.00 Mbit/s at "
        "1 Mbit/s and 6.00 Mbit/s at 3 Mbit/s"
    )
    said = trend({"1 Mbit/s": 8.0, "2 Mbit/s": 8.1, "3 Mbit/s": 8.0})
    assert said.startswith("Goodput of b is about the same with each a limit: about 8.03 Mbit/s")


def crossed(values: dict[tuple[str, str], list[float]]) -> Any:
    """Results over two axes: transport and queue."""
    rates = {transport: {"a": runs} for (transport, _), runs in values.items()}
    found = transfers(rates)
    runs, rows = [], []
    for point, ((transport, queue), rates_of) in enumerate(values.items()):
        for repeat, rate in enumerate(rates_of):
            run = {"run": len(runs), "point": point, "repeat": repeat, "seed": repeat}
            swept = {"workloads.a.transport": transport, "links.l.queue": queue}
            runs.append({**run, **swept, "outcome": "completed", "reason": "", "end_s": 10.0})
            rows.append({"run": run["run"], "transfer": "a", "flow": 0, "start_s": 0.0,
                         "end_s": None, "duration_s": None, "bytes": int(rate * 1.25e6),
                         "goodput_bps": rate * 1e6, "mean_rtt_s": None})  # fmt: skip
    found.tables.update(runs=pa.Table.from_pylist(runs), transfers=pa.Table.from_pylist(rows))
    return found


def test_conditions_with_the_same_outcome_stand_together():
    queues = {"20 packets": 0.5, "200 packets": 0.5, "fq-codel": 0.96}
    found = crossed(
        {
            (transport, queue): [8 * share, 8.2 * share, 8.1 * share]
            for transport in ("cubic", "bbr")
            for queue, factor in queues.items()
            for share in [1.0 if transport == "cubic" else factor]
        }
    )
    assert sentences(found) == [
        "With an l queue of 20 or 200 packets, goodput is 8.10 Mbit/s with CUBIC as a transport "
        "and 4.05 with BBR: 50 % lower; with FQ-CoDel, it is 7.78 to 8.10 Mbit/s with CUBIC "
        "or BBR as a transport.",
        "The runs of a point are all alike (3 runs per point).",
    ]


def test_a_question_is_answered_with_yes_or_no_where_an_expectation_decides():
    from flashcrowd.report import expectations

    found = transfers({"cubic": {"a": [4.0, 4.2, 4.1]}})
    found.study["title"] = "Does it get 3 Mbit/s?"
    for bound, word in (("3 Mbit/s", "Yes"), ("5 Mbit/s", "No"), ("4.1 Mbit/s", "Not decided")):
        found.study["expect"] = {"enough": {"measure": "goodput", "above": bound}}
        read = points.points_of(found)
        judged = expectations.judge(found, read)
        (said,) = answer.sentences(headline.headline(found, read), read, judged)
        assert said.startswith(f"{word}: goodput is 4.10 Mbit/s (")


def test_cases_have_the_names_that_the_study_gives_them():
    found = transfers({"cubic": {"a": [4.0, 4.4]}, "bbr": {"a": [6.0, 6.6]}})
    found.study["sweep"] = [{"workloads.a.transport": ["cubic", "bbr"]}]
    found.study["report"] = {"cases": ["as it is", "the new one"]}
    said, _ = sentences(found)
    assert said.startswith("Goodput is 6.3 Mbit/s with the new one and 4.2 with as it is: ")
    read = points.points_of(found)
    assert [(axis.name, axis.cases) for axis in read.axes] == [
        ("case", ("as it is", "the new one"))
    ]
    assert [point.label for point in read.only(read.points[1:]).points] == ["the new one"]
    path, same = "workloads.a.transport", "workloads.b.transport"
    found.study["sweep"] = [{path: ["cubic", "bbr"], same: ["reno", "reno"]}]
    found.tables["runs"] = found.tables["runs"].append_column(same, [["reno"] * 4])
    (axis,) = points.points_of(found).axes
    assert (axis.paths, axis.cases) == ((path, same), ("as it is", "the new one"))


def test_a_baseline_can_be_a_case():
    found = transfers({"cubic": {"a": [4.0, 4.4]}, "bbr": {"a": [6.0, 6.6]}})
    found.study["sweep"] = [{"workloads.a.transport": ["cubic", "bbr"]}]
    cases = {"cases": ["as it is", "the new one"]}
    found.study["report"] = {**cases, "baseline": {"case": "the new one"}}
    said, _ = sentences(found)
    assert said.startswith("Goodput is 6.3 Mbit/s with the new one and 4.2 with as it is: ")
    read = points.points_of(found)
    assert read.chosen("case", "the new one") == read.chosen("transport", "bbr") == (0, [1])


def test_names_of_other_cases_are_not_used():
    found = transfers({"cubic": {"a": [4.0, 4.4]}, "bbr": {"a": [6.0, 6.6]}})
    found.study["sweep"] = [{"workloads.a.transport": ["cubic", "bbr"]}]
    found.study["report"] = {"cases": ["of another sweep"], "baseline": {"case": "as it is"}}
    assert [axis.name for axis in points.points_of(found).axes] == ["a transport"]
    assert sentences(found)[0].startswith("Goodput is 6.3 Mbit/s with BBR as a transport and 4.2")


def test_the_swept_knob_is_not_the_answer():
    rates = {"1 Mbit/s": {"a": [1.0], "b": [7.0]}, "2 Mbit/s": {"a": [2.0], "b": [5.0]}}
    found = transfers(rates, limit=True)
    chosen = headline.headline(found, points.read(found.tables["runs"]))
    assert [measure.name for measure in chosen.measures] == ["goodput of b"]
    alone = {setting: {"a": by["a"]} for setting, by in rates.items()}
    found = transfers(alone, limit=True)
    chosen = headline.headline(found, points.read(found.tables["runs"]))
    assert [measure.name for measure in chosen.measures] == ["goodput"]


def test_a_transfer_with_a_size_is_judged_by_its_time():
    found = transfers({"cubic": {"a": [1.0]}}, sized=True)
    chosen = headline.headline(found, points.read(found.tables["runs"]))
    assert [(m.name, m.of_run) for m in chosen.measures] == [("transfer time", {0: 10.0})]


def test_a_baseline_by_axis_pairs_within_the_other_axes(swarm: Swarm):
    found = points.read(swarm().tables["runs"])
    along = baseline(found, {"loss": "0 %"})
    assert along is not None
    assert along.words == "loss 0 %, at each RTT"
    bases = {point.label: along.of(point) for point in found.points}
    labels = {name: base.label for name, base in bases.items() if base}
    assert labels == {f"RTT {rtt} ms, loss 5 %": f"RTT {rtt} ms, loss 0 %" for rtt in (0, 200, 400)}
    whole = baseline(found, {"network.rtt": "0 ms", "loss": "0 %"})
    assert whole is not None
    assert {whole.of(point) for point in found.points} == {None, found.points[0]}
    assert whole.words == "RTT 0 ms, loss 0 %"


def test_without_a_word_the_first_axis_is_compared_with_its_first_value(swarm: Swarm):
    found = points.read(swarm().tables["runs"])
    along = baseline(found, {})
    assert along is not None
    assert along.words == "RTT 0 ms, at each loss"


def test_the_study_names_its_headline(swarm: Swarm):
    results = swarm()
    results.study["report"] = {"headline": ["p95 ping", "last completion"], "baseline": {}}
    found = points.read(results.tables["runs"])
    chosen = headline.headline(results, found)
    assert [measure.name for measure in chosen.measures] == ["p95 ping", "last completion"]


def test_breakdowns_are_means_of_each_part(swarm: Swarm):
    results = swarm(repeats=2, extras=False)
    rows = results.tables["downloads"].to_pylist()
    for row in rows:
        if row["peer"] % 2 and row["population"] == "leechers":
            row["host"] = f"fibre-{row['peer']}"
    results.tables["downloads"] = pa.Table.from_pylist(rows)
    results.study["network"] = {"groups": {"h": {}, "fibre": {}, "s": {}}}
    results.study["report"] = {"headline": ["mean download time"], "by": "group"}
    found = points.read(results.tables["runs"])
    parts = headline.headline(results, found).parts["mean download time"]
    assert parts["fibre"].name == "mean download time in fibre"
    wanted = [
        row["duration_s"] for row in rows if row["run"] == 0 and row["host"].startswith("fibre")
    ]
    assert parts["fibre"].of_run[0] == pytest.approx(sum(wanted) / len(wanted))


def test_statistics_are_those_of_numpy(swarm: Swarm):
    import numpy as np

    results = swarm(repeats=1, extras=False)
    times = [
        row["duration_s"]
        for row in results.tables["downloads"].to_pylist()
        if row["run"] == 0 and row["duration_s"] is not None
    ]
    for text, number in (
        ("median download time", np.median(times)),
        ("p95 download time", np.percentile(times, 95)),
        ("largest download time", max(times)),
    ):
        (measure,) = measures.named(results, parse(text))
        assert measure.of_run[0] == pytest.approx(float(number))


def test_no_interval_goes_where_the_number_cannot_be():
    rates = {"cubic": {"a": [0.1, 9.0]}}
    found = transfers(rates)
    (measure,) = measures.named(found, parse("goodput"))
    (point,) = points.read(found.tables["runs"]).points
    level = measure.at(point)
    assert level is not None
    assert level.low == 0.0


def test_the_terminal_has_a_column_for_each_measure_and_keeps_the_row_names(swarm: Swarm):
    results = swarm()
    results.study["report"] = {"headline": ["mean download time", "p95 ping of phone"]}
    wide = terminal(results, 140)
    assert "download time" in wide
    assert "p95 ping" in wide
    assert "[" in wide
    for width in (40, 60, 80):
        text = terminal(results, width)
        assert "…" not in text, text
        assert text.count("400 ms") >= 2, text


def test_what_seeds_sent_and_how_long_they_were_idle(swarm: Swarm):
    results = swarm(repeats=1, extras=False)
    row = {"run": 0, "swarm": "crowd", "needed_s": 10.0, "idle_share": None}
    results.tables["populations"] = pa.Table.from_pylist(
        [
            {**row, "role": "seed", "uploaded_bytes": 10_000_000, "idle_share": 0.5},
            {**row, "role": "seed", "uploaded_bytes": 20_000_000, "needed_s": 30.0,
             "idle_share": 0.1},
            {**row, "role": "leecher", "uploaded_bytes": 90_000_000},
        ]
    )  # fmt: skip
    found = {
        text: measures.named(results, parse(text))[0].of_run
        for text in ("seed upload", "seed share", "seed idle time")
    }
    assert found == {
        "seed upload": {0: 30.0},
        "seed share": {0: pytest.approx(25.0)},
        "seed idle time": {0: pytest.approx(20.0)},  # (5 + 3) of 40 seconds
    }


def test_a_measure_that_no_baseline_has_gets_no_column_of_changes():
    rates = {"cubic": {"a": [4.0, 4.4]}, "bbr": {"a": [6.0, 6.6]}}
    results = transfers(rates)
    assert "change" in terminal(results, 120)
    rows = results.tables["transfers"].filter(pa.array([False, False, True, True]))
    results.tables["transfers"] = rows
    text = terminal(results, 120)
    assert "6.3" in text
    assert "change" not in text
    assert "baseline" not in text


def test_a_difference_that_is_clear_from_one_side_only_is_undecided() -> None:
    """The interval of a ratio of two runs leaves zero out, that of its inverse does not."""
    values = {0: 27.60, 1: 27.41, 2: 50.94, 3: 54.71}
    both = {
        point: points.Point(
            point,
            (point,),
            str(point),
            tuple(points.Run(2 * point + i, point, i, i, "completed", "", 10.0) for i in (0, 1)),
        )
        for point in (0, 1)
    }
    delay = Measure("delay", "ms", values, "")
    clear = [between(delay, both[one], both[1 - one]) for one in (0, 1)]
    assert [it.is_clear for it in clear if it] == [True, False]
    axis = points.Axis(("workloads.a.transport",), "transport", (("cubic",), ("bbr",)))
    found = finding(delay, Least(), "less", axis, both)
    assert found is not None
    assert found.kind == "undecided"


@pytest.mark.parametrize(
    ("names", "words", "said"),
    [
        (2, 1, "CUBIC or BBR as a transport and"),
        (3, 1, "CUBIC, BBR or Reno as a transport and"),
        (4, 1, "CUBIC, BBR or 2 others as a transport (see the table) and"),
        (5, 1, "CUBIC, BBR or 3 others as a transport (see the table) and"),
        (3, 8, "CUBIC i i i i i i i, BBR i i i i i i i or Reno i i i i i i i as a transport and"),
        (3, 11, "CUBIC i i i i i i i i i i or 2 others as a transport (see the table) and"),
    ],
)
def test_up_to_three_settings_are_named_while_they_fit_and_more_are_counted(
    names: int, words: int, said: str
) -> None:
    alike = [" ".join([it, *"i" * (words - 1)]) for it in ("CUBIC", "BBR", "Reno", "H", "DCTCP")]
    rates = {name: {"a": [4.0, 4.02, 4.01]} for name in alike[:names]}
    first, *_ = sentences(transfers({"slow": {"a": [2.0, 2.02, 2.01]}, **rates}))
    change = "100 % higher than with slow."
    assert first == f"Goodput is 4.01 Mbit/s with {said} 2.01 with slow: {change}"
