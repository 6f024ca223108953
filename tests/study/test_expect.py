"""`[expect]` is checked before anything runs, and names what is there."""

from typing import Any

import pytest

from flashcrowd.base.errors import StudyError
from flashcrowd.study import Study

SMALL: dict[str, Any] = {
    "format": 1,
    "title": "Small",
    "network": {"rtt": "20 ms", "groups": {"a": {"access": "ADSL 1/8"}, "b": {}}},
    "workloads": {
        "t": {"kind": "transfer", "from": "a", "to": "b", "size": "1 MB"},
        "p": {"kind": "ping", "from": "a", "to": "b"},
    },
    "sweep": {"network.rtt": ["20 ms", "40 ms"]},
}


def expecting(**wanted: Any) -> dict[str, Any]:
    return {**SMALL, "expect": {"it": wanted}}


@pytest.mark.parametrize(
    "wanted",
    [
        {"measure": "p95 ping", "below": "100 ms"},
        {"measure": "p95 of ping", "below": "0.1 s"},
        {"measure": "mean goodput of t", "above": "2 Mbit/s", "below": "1 Gbit/s"},
        {"measure": "unanswered pings of p", "below": "2 %"},
        {"measure": "drops", "below": "3 packets"},
        {"measure": "ping", "change_below": "5 %", "baseline": {"rtt": "40 ms"}},
        {"measure": "ping", "change_above": "-5 %", "at": {"network.rtt": "40 ms"}},
        {"measure": "transfer time", "below": "9 s", "together": True},
    ],
)
def test_what_can_be_measured_can_be_expected(wanted: dict[str, Any]) -> None:
    study = Study.from_dict(expecting(**wanted))
    assert study.fingerprint() == Study.from_dict(SMALL).fingerprint()
    assert Study.from_dict(study.resolved()).resolved() == study.resolved()


@pytest.mark.parametrize(
    ("wanted", "path", "allowed"),
    [
        ({"measure": "p95 pong", "below": "1 s"}, "expect.it.measure", "a measure"),
        ({"measure": "download time", "below": "1 s"}, "expect.it.measure", "is there"),
        ({"measure": "ping of q", "below": "1 s"}, "expect.it.measure", "the name of a ping"),
        ({"measure": "ping"}, "expect.it", "at least one of below"),
        ({"measure": "ping", "below": "5 %"}, "expect.it.below", "a time"),
        ({"measure": "ping", "change_below": "5 ms"}, "expect.it.change_below", "per cent"),
        ({"measure": "ping", "below": 3}, "expect.it.below", "a text"),
        (
            {"measure": "ping", "below": "3 ms", "above": "0.005 s"},
            "expect.it.above",
            "less than `below`, 3 ms",
        ),
        ({"measure": "drops", "below": "3"}, "expect.it.below", "packets"),
        (
            {"measure": "ping", "below": "1 s", "baseline": {"rtt": "20 ms"}},
            "expect.it.baseline",
            "change_below",
        ),
        (
            {"measure": "ping", "below": "1 s", "at": {"loss": "1 %"}},
            "expect.it.at.loss",
            "a swept path",
        ),
        (
            {"measure": "ping", "change_below": "1 %", "baseline": {"rtt": "30 ms"}},
            "expect.it.baseline.rtt",
            "20 ms",
        ),
    ],
)
def test_mistakes_are_named(wanted: dict[str, Any], path: str, allowed: str) -> None:
    with pytest.raises(StudyError) as wrong:
        Study.from_dict(expecting(**wanted))
    (problem,) = wrong.value.problems
    assert problem.path == path
    assert allowed in problem.allowed


def test_a_change_needs_a_sweep() -> None:
    document = expecting(measure="ping", change_below="5 %")
    with pytest.raises(StudyError, match=r"expect\.it\.change_below"):
        Study.from_dict({**document, "sweep": {}})
