"""Points that share tables are what they are one by one, mistakes included."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.study import mistakes

from flashcrowd.base import paths
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.plan.lower import lower
from flashcrowd.scenario import distribution
from flashcrowd.scenario.problems import problems_of
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.study import Study
from flashcrowd.study.findings import Findings
from flashcrowd.study.sweep import combinations, shape_problems

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))

RESOLVED = Study.from_dict(mistakes.study()).resolved()
ROOTS = ("network", "workloads", "profiles", "timeline", "measures", "stop")
PLACES = [path for path in paths.leaves(RESOLVED) if path[0] in ROOTS and len(path) > 1]
VALUES = [
    *dict.fromkeys(str(paths.look_up(RESOLVED, path)) for path in PLACES),
    *("none", "unlimited", "inherit", "7 ms", "3 kB", "9 kB/s", "1 MB/s", "10 %", "linux-2.6"),
    *(1, 2, 7, True, 0.5, {}, {"kind": "ping"}, []),
]


def one_by_one(study: Study) -> tuple[list[Scenario], list[Problem]]:
    """The scenarios of a study, each from its whole document, and what is wrong with these."""
    findings, found = Findings(study.sweep), []
    for _, chosen in combinations(study.sweep):
        document = study._base()
        for path, value in chosen.items():
            document = paths.replaced(document, paths.parse(path) or [], value)
        try:
            found.append(Scenario.model_validate(document, context={"files": study._files}))
        except ValidationError as error:
            findings.add(problems_of(error, Scenario, document), chosen)
    return found, said(findings)


def said(findings: Findings) -> list[Problem]:
    try:
        findings.raise_any("")
    except StudyError as error:
        return error.problems
    return []


def problems(study: Study, scenarios: list[Scenario]) -> list[Problem]:
    """What is wrong between the tables of each point."""
    findings = Findings(study.sweep, known=wrong(study.scenario))
    for scenario, (_, chosen) in zip(scenarios, combinations(study.sweep), strict=True):
        findings.add(wrong(scenario), chosen)
    return said(findings)


def wrong(scenario: Scenario) -> list[Problem]:
    try:
        lower(scenario)
    except StudyError as error:
        return error.problems
    return []


def same(study: Study) -> None:
    expected, refused = one_by_one(study)
    if refused:
        with pytest.raises(StudyError) as caught:
            study.points()
        assert caught.value.problems == refused
        return
    assert [point.scenario for point in study.points()] == expected
    told = problems(study, expected)
    if told:
        with pytest.raises(StudyError) as caught:
            study.check()
        assert caught.value.problems == told
        return
    assert study.check()
    plans = [point.plan() for point in study.points()]
    assert [plan.to_json() for plan in plans] == [lower(it).to_json() for it in expected]
    assert [plan.data for plan in plans] == [lower(it).data for it in expected]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_points_of_a_study_that_ships(path: Path):
    same(Study.load(path))


values = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique_by=str)


@given(st.lists(st.tuples(st.sampled_from(PLACES), values), min_size=1, max_size=3))
def test_any_values_at_several_places(axes: list[tuple[tuple[str, ...], list[Any]]]):
    document = {**mistakes.study(), "sweep": [{paths.join(path): each} for path, each in axes]}
    study = Study._validated(document, "study", Path())
    if not shape_problems(study.sweep, study._document()):
        same(study)


def test_a_table_is_validated_once_for_all_points_that_share_it(monkeypatch: Any):
    read: list[object] = []
    points = distribution.read_points
    monkeypatch.setattr(
        distribution, "read_points", lambda *given: read.append(given) or points(*given)
    )
    made = Study.from_dict(
        {
            **mistakes.study(),
            "sweep": {
                "network.rtt": [{"file": "iplane"}, "20 ms"],
                "workloads.echo.interval": [f"{count} ms" for count in range(100, 150)],
            },
        }
    )
    assert len(made.points()) == 100
    assert len(read) == 1
