"""Papers on real programs: which studies they can run, and what they do not tell."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from flashcrowd._core import Plan
from flashcrowd.clients import settings
from flashcrowd.emulation.requirements import impossible
from flashcrowd.engines import PlanRejected, registry
from flashcrowd.papers import campaign, paper, reproduce
from flashcrowd.papers.claim import Claim, judge
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.verdict import Verdict
from flashcrowd.study import Study

EMULATED = [
    (name, study) for name in paper.names() for study in paper.load(name).played("emulation")
]


@pytest.mark.parametrize(("name", "study"), EMULATED)
@pytest.mark.parametrize("quick", [False, True])
def test_real_programs_can_run_it(name: str, study: str, quick: bool) -> None:
    chosen = paper.load(name)
    prepared = campaign.prepared(chosen, study, quick=quick, real="emulation")
    points = prepared.points()
    for point in (points[0], points[-1]):
        plan = point.plan().parsed
        assert list(impossible(plan)) == []
        for workload in plan.workloads:
            for population in workload["populations"] if workload["kind"] == "swarm" else ():
                assert settings.of(plan, population)


def test_what_cannot_be_played_is_refused_before_anything_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def last(plan: Plan) -> list[str]:
        lines = any(it["kind"] == "ping" for it in plan.workloads)
        return ["no client is installed; take another machine"] if lines else []

    monkeypatch.setattr("flashcrowd.engines.emulation.missing", last)
    with pytest.raises(PlanRejected, match="no client is installed; take another machine"):
        reproduce("rossi2010", tmp_path / "out", quick=True, engine="emulation")
    assert not (tmp_path / "out").exists()


def test_a_full_study_of_rao2010_is_the_paper_s() -> None:
    study = campaign.prepared(paper.load("rao2010"), "latency", quick=False, real="emulation")
    assert (len(study.points()), study.repeats) == (50, 5)
    document = study.resolved()
    assert document["network"]["groups"]["leechers"]["hosts"] == 300
    leechers = document["workloads"]["torrent"]["populations"]["leechers"]
    assert (leechers["program"], leechers["profile"]) == ("mainline-4.0.2",) * 2


def test_what_a_machine_bears_is_asked_with_one_run_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_a_time = {}

    def noted(study: Study, *, out: Path, jobs: int, engine: str, **_: object) -> Tables:
        at_a_time[engine, out.name] = jobs
        return Tables()

    monkeypatch.setattr(campaign, "run", noted)
    rao = paper.load("rao2010")
    for engine in registry.ENGINES:
        campaign.conduct(
            rao,
            tmp_path,
            quick=True,
            studies=["latency", "hosts"],
            jobs=4,
            engine=engine,
            real="emulation",
        )
    assert at_a_time["emulation", "latency"] == at_a_time["simulation", "hosts"] == 4
    assert at_a_time["emulation", "hosts"] == 1


class Tables:
    tables: dict[str, pa.Table] = {"send_gaps": pa.table({"run": [1]})}  # noqa: RUF012
    study = {"measures": {"send_gaps": False}}  # noqa: RUF012
    provenance: dict[str, str] = {}  # noqa: RUF012


def test_what_programs_do_not_tell_is_not_testable_and_not_zero() -> None:
    rao = paper.load("rao2010")
    given = {"study": "latency", "limit_ms": 20, "bound": 10.0}
    claim = Claim("c", "s", "says", "gaps-around", ("latency",), given)
    evidence = Evidence({"latency": StudyEvidence("latency", Tables())})
    (judged,) = judge([claim], evidence, rao.judges)
    assert judged.finding.verdict is Verdict.NOT_TESTABLE
    assert judged.finding.measured == "real programs do not tell of send gaps"


def test_what_programs_cannot_be_told_is_not_testable_with_the_reason() -> None:
    circus = paper.load("circus2004")
    untold = circus.untold("emulation")
    assert untold
    assert set(untold) <= {claim.id for claim in circus.claims}
    judged = judge(circus.claims, Evidence({}, untold=untold), circus.judges)
    found = {one.claim.id: one.finding for one in judged if one.claim.id in untold}
    for name, finding in found.items():
        assert (finding.verdict, finding.measured) == (Verdict.NOT_TESTABLE, untold[name])


def test_the_eight_lines_of_pan2009_have_a_kernel_s_download_and_a_real_client_s_upload() -> None:
    pan = paper.load("pan2009")
    study = campaign.prepared(pan, "lines", quick=True, real="emulation")
    assert (len(study.points()), study.repeats) == (40, 2)
    document = study.resolved()
    home = document["workloads"]["shared"]["populations"]["home"]
    assert (home["program"], document["workloads"]["download"]["kind"]) == (
        "transmission",
        "transfer",
    )
    controls = next(iter(study.sweep[1].values()))
    assert controls[0] == "unlimited"
    assert controls[-1] == "autolimit"
    # The simulation of the paper has the same lines.
    lines = campaign.prepared(pan, "lines", quick=True).sweep[0]
    assert study.sweep[0] == lines
    assert pan.at_a_time("emulation") == 10
    assert paper.load("circus2004").at_a_time("emulation") is None


def test_a_paper_that_is_not_for_real_programs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        paper.Paper, "played", lambda it, real: ("a study",) if it.name == "rao2010" else ()
    )
    with pytest.raises(
        paper.UnknownName, match="rossi2010 is not for the engine emulation; rao2010 is"
    ):
        reproduce("rossi2010", tmp_path / "out", engine="emulation")
    with pytest.raises(registry.UnknownEngine, match="did you mean 'emulation'"):
        reproduce("rao2010", tmp_path / "out", engine="emulate")
    assert not (tmp_path / "out").exists()
