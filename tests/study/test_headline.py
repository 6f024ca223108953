"""`[report]`: measures in words, and baselines, checked against what the study has."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.study import mistakes

from flashcrowd.base import metrics
from flashcrowd.base.errors import StudyError
from flashcrowd.base.units import UnitError
from flashcrowd.study import Study

STUDY = Path(__file__).parents[2] / "studies" / "background-transfer.toml"


def study(report: dict[str, Any]) -> Study:
    document = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    return Study.from_dict({**document, "report": report})


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("download time", "mean download time"),
        ("p95 of ping of bystander", "p95 ping of bystander"),
        ("p99.9  ping", "p99.9 ping"),
        ("last completion of swarm", "last completion of swarm"),
        ("median download time of swarm in fibre", "median download time of swarm in fibre"),
        ("mean unanswered pings", "unanswered pings"),
        ("one-way delay of call from home-1", "one-way delay of call from home-1"),
    ],
)
def test_measures_are_read_as_people_write_them(text: str, canonical: str):
    assert str(metrics.parse(text)) == canonical
    assert metrics.parse(canonical) == metrics.parse(text)


@pytest.mark.parametrize(
    "text", ["", "pings", "p95", "p100 ping", "p95 last completion", "ping on"]
)
def test_what_is_no_measure_is_refused(text: str):
    with pytest.raises(UnitError, match="a measure, as in"):
        metrics.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("p95 one-way delay of call", '"tail one-way delay" for its 95th percentile'),
        ("p95 delay of call", "did you mean one of one-way delay, tail one-way delay, queueing"),
    ],
)
def test_a_measure_that_is_called_otherwise_is_hinted_at(text: str, hint: str):
    with pytest.raises(UnitError) as error:
        metrics.parse(text)
    assert hint in error.value.hint


def test_a_headline_is_kept_in_the_resolved_study_and_changes_no_result():
    report = {"headline": ["p95 of ping"], "baseline": {"up_queue": "20 packets"}}
    asked, plain = study(report), study({})
    resolved = asked.resolved()
    assert resolved["report"] == {
        "by": "none",
        "baseline": report["baseline"],
        "headline": ["p95 ping"],
        "matters": {},
        "cases": [],
    }
    assert Study.from_dict(resolved).fingerprint() == asked.fingerprint() == plain.fingerprint()


@pytest.mark.parametrize(
    ("report", "place", "hint"),
    [
        ({"headline": ["p95 pong"]}, r"report\.headline\[0\]", 'did you mean "ping"'),
        ({"headline": ["download time"]}, r"report\.headline\[0\]", "no swarm is"),
        ({"headline": ["goodput of backups"]}, r"report\.headline\[0\]", 'did you mean "backup"'),
        ({"headline": ["goodput in x"]}, r"report\.headline\[0\]", "groups and populations have"),
        ({"headline": ["total goodput"]}, r"report\.headline\[0\]", 'it has a "goodput"'),
        ({"headline": ["drops of home-1"]}, r"report\.headline\[0\]", 'did you mean "home-1 up"?'),
        ({"headline": ["drops of home-2 up"]}, r"report\.headline\[0\]", "the name of a link"),
        ({"headline": ["drops of server-1 up"]}, r"report\.headline\[0\]", "the name of a link"),
        ({"headline": ["drops in home"]}, r"report\.headline\[0\]", "groups and populations have"),
        ({"matters": {"drops of dsl": "9 packets"}}, r"report\.matters", "the name of a link"),
        ({"headline": ["transfer time"]}, r"report\.headline\[0\]", 'it has a "goodput"'),
        ({"baseline": {"transport": "libtup"}}, r"report\.baseline\.transport", 'mean "libutp"?'),
        ({"baseline": "libutp"}, r"report\.baseline", "a swept path and one of its values"),
        ({"baseline": {"transports": "libutp"}}, r"report\.baseline\.transports", "a swept path"),
        ({"cases": ["one", "two"]}, r"report\.cases", "; add 5 to cases"),
        ({"cases": [*"abcdef", "a"]}, r"report\.cases\[6\]", "each name once"),
        (
            {"baseline": {"case": "no bakcup"}, "cases": ["no backup", *"abcde"]},
            r"report\.baseline\.case",
            'did you mean "no backup"?',
        ),
        ({"baseline": {"case": "no backup"}}, r"report\.baseline\.case", "a swept path"),
        ({"by": "host"}, r"report\.by", "group"),
        ({"matters": "5 ms"}, r"report\.matters", "a share"),
        ({"matters": {"p95 pong": "5 ms"}}, r"report\.matters", 'did you mean "ping"'),
        ({"matters": {"p95 ping": "5 kB"}}, r"report\.matters", 'a share, as in "5 %", or'),
        ({"matters": {"download time": "1 s"}}, r"report\.matters", "no swarm is"),
        ({"headlines": []}, r"report\.headlines", "headline"),
    ],
)
def test_what_the_study_has_not_is_refused_with_its_place(
    report: dict[str, Any], place: str, hint: str
):
    with pytest.raises(StudyError, match=place) as error:
        study(report)
    assert hint in str(error.value)


def test_a_baseline_goes_with_the_axis_that_the_command_line_fixes():
    document = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    document["report"] = {"baseline": {"up_queue": "20 packets", "transport": "libutp"}}
    fixed = {"network.groups.home.access.up_queue": "40 packets"}
    assert Study.from_dict(document, set=fixed).report.baseline == {"transport": "libutp"}


def test_names_of_cases_go_with_the_axis_that_the_command_line_fixes():
    document = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    rest = {"network.groups.home.access.up_queue": "40 packets"}
    assert Study.from_dict(document, set=rest).report.cases[0] == "no backup"
    document["report"]["baseline"] = {"case": "no backup"}
    assert Study.from_dict(document, set=rest).report.baseline == {"case": "no backup"}
    fixed = {"workloads.backup.transport": "libutp", "workloads.backup.flows": 1}
    assert Study.from_dict(document, set=fixed).report.baseline == {}
    assert Study.from_dict(document, set=fixed).report.cases == []


def test_what_only_some_workloads_of_a_kind_have_is_asked_of_these():
    path = STUDY.with_name("patch.toml")
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    document["report"] = {"headline": ["source upload"]}
    assert Study.from_dict(document).report.headline == ["source upload"]
    document["report"] = {"headline": ["last completion in people"]}
    with pytest.raises(StudyError, match="groups and populations have: download time"):
        Study.from_dict(document)
    document = tomllib.loads(STUDY.with_name("latency.toml").read_text(encoding="utf-8"))
    document["report"] = {"headline": ["last completion", "source upload"]}
    with pytest.raises(StudyError, match=r"report\.headline\[1\]") as error:
        Study.from_dict(document)
    assert 'what its seeds send is "seed upload"' in str(error.value)


def test_links_and_flows_that_only_some_points_have_are_asked_of_these():
    document = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    document["report"] = {"headline": ["total goodput", "drops of home-2 up"]}
    document["sweep"] = {"workloads.backup.flows": [1, 2]}
    for workload in document["workloads"].values():
        workload["from"] = "home-1"
    with pytest.raises(StudyError, match="the name of a link") as error:
        Study.from_dict(document)
    assert "total goodput" not in str(error.value)
    document["sweep"] = {"workloads.backup.flows": [1, 2], "network.groups.home.hosts": [1, 2]}
    Study.from_dict(document)


def test_a_direction_of_a_call_is_that_of_one_of_its_hosts():
    document = tomllib.loads(STUDY.with_name("home-bystanders.toml").read_text(encoding="utf-8"))
    for direction in ("video", "video from home-1", "video from server-1"):
        Study.from_dict({**document, "report": {"headline": [f"jitter of {direction}"]}})
    with pytest.raises(StudyError, match=r"report\.headline\[0\]") as error:
        Study.from_dict({**document, "report": {"headline": ["jitter of video from home"]}})
    assert 'did you mean "video from home-1"?' in str(error.value)
    with pytest.raises(StudyError, match=r"report\.headline\[0\]"):
        Study.from_dict({**document, "report": {"headline": ["goodput of upload from home-1"]}})


def test_expectations_of_what_no_run_can_have_are_refused_as_well():
    document = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    for measure in ("total goodput of upload", "utilisation of uplink"):
        bound = "1 Mbit/s" if "goodput" in measure else "50 %"
        expect = {"much": {"measure": measure, "above": bound}}
        with pytest.raises(StudyError, match=r"expect\.much\.measure"):
            Study.from_dict({**document, "expect": expect})


def test_an_end_that_several_paths_have_names_them() -> None:
    paths = [f"workloads.swarm.populations.{name}.upload" for name in ("seed", "leechers")]
    report = {"baseline": {"upload": "50 kB/s"}}
    document = tomllib.loads(mistakes.STUDY) | {"report": report}
    document["sweep"] = [{path: ["50 kB/s", "60 kB/s"] for path in paths}]
    with pytest.raises(StudyError, match="the end of one swept path alone") as error:
        Study.from_dict(document)
    assert all(path in str(error.value) for path in paths)
