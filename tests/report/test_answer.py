"""The first screen: which numbers decide, with what they are compared, what the sentences say."""

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from flashcrowd.metrics import parse
from flashcrowd.report import answer, headline, measures, points
from flashcrowd.report.baseline import baseline
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


def test_a_clear_difference_is_said_with_both_levels_and_its_interval():
    rates = {"cubic": {"a": [4.0, 4.2, 4.1]}, "bbr": {"a": [5.0, 5.25, 5.125]}}
    assert sentences(transfers(rates)) == [
        "Goodput is 5.12 Mbit/s with a transport bbr and 4.10 Mbit/s with a transport cubic: "
        "25.0 % higher (all pairs equal, n = 3)."
    ]


def test_no_difference_says_what_is_excluded():
    rates = {"cubic": {"a": [4.0, 4.2, 4.1]}, "bbr": {"a": [4.02, 4.17, 4.11]}}
    (said,) = sentences(transfers(rates))
    assert said.startswith(
        "Goodput does not differ clearly between a transport cubic and a transport bbr; "
        "differences larger than 1."
    )
    assert said.endswith(" % are excluded.")


def test_identical_runs_say_so():
    rates = {"cubic": {"a": [4.0, 4.2]}, "bbr": {"a": [4.0, 4.2]}}
    (said,) = sentences(transfers(rates))
    assert "is the same with a transport bbr as with a transport cubic, in every pair" in said


def test_intervals_that_exclude_nothing_are_not_called_evidence():
    rates = {"cubic": {"a": [1.0, 9.0]}, "bbr": {"a": [9.0, 2.0]}}
    (said,) = sentences(transfers(rates))
    assert said.endswith("the intervals over 2 runs are too wide to tell.")


def test_single_runs_are_samples():
    (said,) = sentences(transfers({"cubic": {"a": [1.0]}, "bbr": {"a": [9.0]}}))
    assert said.startswith("Goodput is 9.00 Mbit/s with a transport bbr and 1.00 Mbit/s with ")
    assert "times as high; one run a point is a sample" in said


def test_the_level_of_a_single_run_says_that_it_is_one():
    (said,) = sentences(transfers({"cubic": {"a": [1.0]}}))
    assert said == "Goodput: 1.000 Mbit/s (sample, n = 1)."


def test_a_change_beyond_twice_is_a_factor():
    rates = {"cubic": {"a": [1.0, 1.1]}, "bbr": {"a": [3.0, 3.3]}}
    (said,) = sentences(transfers(rates))
    assert "3.0 times as high (all pairs equal" in said


def test_of_three_values_the_third_has_its_own_change():
    rates = {"cubic": {"a": [4.0, 4.4]}, "bbr": {"a": [6.0, 6.6]}, "reno": {"a": [5.0, 5.5]}}
    (said,) = sentences(transfers(rates))
    assert said.endswith("50.0 % higher (all pairs equal, n = 2); a transport reno: 25.0 % higher.")


def others(**changes: list[float]) -> str:
    """What is said behind the largest change; each list has the ratios of three runs."""
    base = [4.0, 4.2, 4.1]
    rates = {"cubic": base, "bbr": [12.0, 12.6, 12.3]}
    rates |= {name: [a * b for a, b in zip(base, it, strict=True)] for name, it in changes.items()}
    (said,) = sentences(transfers({name: {"a": values} for name, values in rates.items()}))
    return said.partition("n = 3); ")[2]


def test_the_value_that_comes_nearest_is_named_where_all_differ():
    found = others(reno=[0.5, 0.51, 0.5], vegas=[0.9, 0.91, 0.9], highspeed=[1.5, 1.5, 1.51])
    assert found == "least with a transport vegas, 9.7 % lower."


def test_values_like_the_baseline_are_named_with_what_is_excluded():
    found = others(reno=[0.5, 0.51, 0.5], vegas=[0.99, 1.01, 1.0], highspeed=[1.001, 1.0, 0.999])
    assert found.startswith(
        "no clear difference with a transport vegas and a transport highspeed ("
    )
    assert found.endswith(" % is excluded).")
    assert "too few" not in found


def test_a_value_of_which_the_runs_say_nothing_is_not_called_like_the_baseline():
    found = others(vegas=[0.99, 1.01, 1.0], wild=[0.1, 9.0, 1.0])
    assert found.startswith("no clear difference with a transport vegas (one above ")
    assert found.endswith(", too few runs to tell for a transport wild.")


def test_many_values_like_the_baseline_are_counted():
    same = [0.99, 1.01, 1.0]
    found = others(a=same, b=same, c=same, d=same, e=[0.5, 0.5, 0.5])
    assert found.startswith("no clear difference with 4 of the 5 others (one above ")


def test_cases_have_the_names_that_the_study_gives_them():
    found = transfers({"cubic": {"a": [4.0, 4.4]}, "bbr": {"a": [6.0, 6.6]}})
    found.study["sweep"] = [{"workloads.a.transport": ["cubic", "bbr"]}]
    found.study["report"] = {"cases": ["as it is", "the new one"]}
    (said,) = sentences(found)
    assert said.startswith("Goodput is 6.3 Mbit/s with the new one and 4.2 Mbit/s with as it is: ")
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
    (said,) = sentences(found)
    assert said.startswith("Goodput is 4.2 Mbit/s with as it is and 6.3 Mbit/s with the new one: ")
    read = points.points_of(found)
    assert read.chosen("case", "the new one") == read.chosen("transport", "bbr") == (0, [1])


def test_names_of_other_cases_are_not_used():
    found = transfers({"cubic": {"a": [4.0, 4.4]}, "bbr": {"a": [6.0, 6.6]}})
    found.study["sweep"] = [{"workloads.a.transport": ["cubic", "bbr"]}]
    found.study["report"] = {"cases": ["of another sweep"], "baseline": {"case": "as it is"}}
    assert [axis.name for axis in points.points_of(found).axes] == ["a transport"]
    assert sentences(found)[0].startswith("Goodput is 6.3 Mbit/s with a transport bbr and 4.2 ")


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
    assert [name for name, _ in whole.contexts()] == [""]


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
