"""The page of comparisons is what `make validation` writes, and knows which numbers are old."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from benches.validation import papers
from benches.validation.__main__ import PAGE, README, readme
from benches.validation.page import page, summary
from benches.validation.points import POINTS, Change, Point, Simulated, Validation, made, read
from pydantic import ValidationError


def test_the_page_is_what_make_validation_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read())


def test_each_paper_has_the_counts_of_its_page() -> None:
    found = list(papers.counts())
    assert [it.paper for it in found] == papers.names()
    for it in found:
        assert sum(it.of.values()) == it.claims
        assert set(it.of) <= {*papers.VERDICTS, "not run"}


def test_the_table_of_readme_is_what_make_validation_writes() -> None:
    rows = summary(read())
    assert rows in README.read_text(encoding="utf-8")
    assert readme(rows) == README.read_text(encoding="utf-8")
    assert len(rows.splitlines()) == 2 + 6


def point(**given: Any) -> Point:
    known = {"what": "a flow", "measure": "goodput", "against": "Linux", "held": "make test"}
    return Point.model_validate(known | given)


def test_a_change_of_its_rules_makes_a_number_old() -> None:
    changes = [
        Change(name=name, date=date(2026, 1, 1), rules=rules, what=name)
        for name, rules in {"a": ("tcp",), "b": ("utp",), "c": ("tcp",)}.items()
    ]
    data = read().model_copy(update={"change": tuple(changes)})
    expected = {("", "tcp"): "ac", ("a", "tcp"): "c", ("c", "tcp"): "", ("a", "utp"): "b"}
    for (after, rule), names in expected.items():
        later = data.since(Simulated(after=after, rules=(rule,)))
        assert [it.name for it in later] == list(names)
    assert not data.since(point(percent=(0, 0)))


def test_the_limit_decides_the_verdict() -> None:
    data = read()
    assert data.verdict(point(percent=(-data.limit, 3))) == "agrees"
    assert data.verdict(point(percent=(-data.limit - 0.1, 3))) == "differs"
    assert data.verdict(point(result="no run", verdict="not compared")) == "not compared"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"percent": (0, 0), "result": "equal", "verdict": "agrees"},
        {"percent": (0, 0), "held": ""},
        {"percent": (0, 0), "real": date(2026, 1, 1)},
        {"percent": (0, 0), "held": "", "real": date(2026, 1, 1)},
        {"percent": (0, 0), "typo": 1},
    ],
)
def test_an_incomplete_comparison_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        point(**given)


def test_a_table_that_is_written_is_current(tmp_path: Path) -> None:
    copy = tmp_path / "points.toml"
    copy.write_text(POINTS.read_text(encoding="utf-8"), encoding="utf-8")
    old = next(it for it in read().table if it.made)
    made(old.page, old.what, date(2030, 1, 2), copy)
    data = read(copy)
    (new,) = (it for it in data.table if (it.page, it.what) == (old.page, old.what))
    assert new.made == date(2030, 1, 2)
    assert not data.since(new)
    assert new.rules == old.rules
    assert [it for it in data.table if it != new] == [it for it in read().table if it != old]
    with pytest.raises(KeyError, match="nonsense"):
        made(old.page, "nonsense", date(2030, 1, 2), copy)


def test_a_change_that_there_is_not_is_refused() -> None:
    data = read().model_dump()
    data["table"][0]["after"] = "nonsense"
    with pytest.raises(ValidationError, match="there is no change nonsense"):
        Validation.model_validate(data)
