import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.base.units import Size
from flashcrowd.emulation import requirements
from flashcrowd.engines import loopback
from flashcrowd.papers import campaign, paper, reproduce
from flashcrowd.papers.circus2004 import JUDGES, quantities, words
from flashcrowd.papers.circus2004.others import about_circus, instead
from flashcrowd.papers.claim import judge
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.verdict import Finding, Verdict

from .conftest import judged, made_of

CIRCUS = paper.load("circus2004")
YES, NO = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED

_GAP = "workloads.origin.populations.clients.arrivals.gap"
_LINE = "network.groups.clients.access.down"
_POLICY = "workloads.origin.policy"
PUBLISHED = {"kind": "circus", "active": "256 KiB", "lead_bound": 0.0, "pin_region": False}


def test_every_claim_names_a_judge_and_studies_that_exist() -> None:
    assert len(CIRCUS.claims) >= 45
    for claim in CIRCUS.claims:
        assert claim.judge in CIRCUS.judges, claim.id
        assert set(claim.needs) <= set(CIRCUS.studies), claim.id
        if "study" in claim.given:
            assert claim.given["study"] in claim.needs, claim.id


def test_every_item_is_drawn_and_needs_studies_that_exist() -> None:
    assert set(CIRCUS.figures) == {item.id for item in CIRCUS.items}
    shown = {study for item in CIRCUS.items for study in (*item.studies, *item.also)}
    assert shown == set(CIRCUS.studies)


@pytest.mark.parametrize("name", CIRCUS.studies)
@pytest.mark.parametrize("quick", [False, True])
def test_every_study_is_sound(name: str, quick: bool) -> None:
    assert campaign.prepared(CIRCUS, name, quick=quick).points()


def _recovering(rows: list[dict[str, Any]], state: str = "recovery") -> dict[str, list[Any]]:
    """A window of ten segments that one loss halves, and that grows by half a segment a round."""
    changes = [(0.0, "congestion_avoidance", None), (1.0, state, None)]
    changes += [(1.5, None, 5), (2.0, "congestion_avoidance", None)]
    grown = [(2.0 + 0.2 * each, None, 5 + each) for each in range(6)]
    events = [
        {
            "run": row["run"], "connection": 0, "t_s": at,
            "event": "congestion_state_updated" if new else "metrics_updated", "new": new,
            "congestion_window": window and window * 1448, "smoothed_rtt_s": window and 0.1,
        }
        for row in rows
        for at, new, window in [changes[0], (0.5, None, 10), *changes[1:], *grown]
    ]  # fmt: skip
    transfers = [{"run": row["run"], "goodput_bps": 44.736e6 / 2 * 1448 / 1500} for row in rows]
    return {"runs": rows, "connection_events": events, "transfers": transfers}


def _unrun(name: str, *, quick: bool, real: str = "") -> StudyEvidence:
    """A study before it is run: its points, a run each."""
    study = campaign.prepared(CIRCUS, name, quick=quick, real=real)
    rows = []
    for point in study.points():
        values = {
            path: json.dumps(value) if isinstance(value, Mapping) else value
            for path, value in point.values.items()
        }
        rows.append(
            {
                "run": point.index, "point": point.index, "repeat": 0, "seed": 1, **values,
                "outcome": "completed", "reason": "", "end_s": 1.0,
            }
        )  # fmt: skip
    if "origin" not in study.resolved()["workloads"]:
        return StudyEvidence(name, made_of(_recovering(rows), study.resolved()))
    populations = study.resolved()["workloads"]["origin"]["populations"]
    origins = [
        {
            "run": row["run"], "network_bps": 1e8, "disk_bps": 2e7, "miss_ratio": 0.2,
            "disk_busy_s": 4.0, "from_s": 0.0, "to_s": 15.0,
        }
        for row in rows
    ]  # fmt: skip
    downloads = [
        {"run": row["run"], "population": name, "duration_s": 5.0}
        for row in rows
        for name in populations
    ]
    made = {"runs": rows, "origins": origins, "downloads": downloads}
    return StudyEvidence(name, made_of(made, study.resolved()))


def _selections(given: Mapping[str, Any], study: str = "") -> Iterator[tuple[str, Any]]:
    """Every condition of a claim, with its study."""
    study = given.get("study", study)
    if "where" in given:
        yield study, given["where"]
        for key in ("against", "part"):
            yield study, given.get(key, {})
    for part in (given.get("than"), *given.get("beside", ())):
        if part:
            yield from _selections(part, study)


@pytest.mark.parametrize("quick", [False, True])
def test_what_claims_select_is_there(quick: bool) -> None:
    studies = {
        name: _unrun(name, quick=quick)
        for name in CIRCUS.studies
        if not (quick and CIRCUS.skipped(name))
    }
    for claim in CIRCUS.claims:
        for name, where in _selections(claim.given):
            assert studies[name].select(words.exact(studies[name], where)), (claim.id, where)


@pytest.mark.slow
@pytest.mark.parametrize("quick", [False, True])
def test_every_figure_can_be_drawn(quick: bool) -> None:
    studies = {
        name: _unrun(name, quick=quick)
        for name in CIRCUS.studies
        if not (quick and CIRCUS.skipped(name))
    }
    evidence = Evidence(studies, quick)
    for item in CIRCUS.items:
        if evidence.has(item.studies):
            assert list(CIRCUS.figures[item.id](evidence)), item.id


def test_points_are_called_as_the_paper_calls_them() -> None:
    said = {
        words.described(study, point)
        for study in (_unrun(name, quick=False) for name in CIRCUS.studies)
        for point in study.points.points
    }
    assert "T1, load 40 %, in order" in said
    assert "load 30 %, RTT 75 ms, loss 0.1 %, circus" in said
    assert "RTT 75 ms, loss 10 %" in said
    assert "1024 MB, relevance" in said
    assert "16 files, attach" in said
    assert (
        "blocks of 4 KB, load 20 %, attach" in said or "load 20 %, blocks of 4 KB, attach" in said
    )
    assert "load 30 %, circus, threshold 100 %" in said
    assert "load 40 %, circus, no read-ahead" in said
    assert "full size, circus" in said
    assert "memory 32 MB, attach" in said


def test_a_scaled_study_has_the_paper_s_proportions() -> None:
    for name in CIRCUS.studies:
        study = campaign.prepared(CIRCUS, name, quick=False)
        if name == "recovery":
            continue  # one connection, without a server's disk
        origin = study.resolved()["workloads"]["origin"]
        scale = words.scale_of(origin["disk"]["positioning"]["time"])
        assert scale == (16 if CIRCUS.file(name).stem == "network" else 64)
        assert Size(origin["files"]["size"]).bytes * scale == 512 << 20
        assert Size(origin["memory"]).bytes * scale == (256 if name == "files" else 128) << 20


def test_every_line_has_dummynet_s_queue_and_freebsd_at_both_ends() -> None:
    for name in CIRCUS.studies:
        network = campaign.prepared(CIRCUS, name, quick=False).resolved()["network"]
        lines = [group for group in network["groups"] if group != "server"]
        # Fifty full packets, in bytes: blocks of a 64th make smaller ones.
        queues = {network["groups"][line]["access"]["down_queue"] for line in lines}
        assert queues == {"75 kB"}, name
        assert network["stack"] == "freebsd", name


def test_every_policy_reads_a_block_at_a_time() -> None:
    for name in set(CIRCUS.studies) - {"reads", "recovery"}:
        for point in campaign.prepared(CIRCUS, name, quick=False).points():
            origin = json.loads(point.plan().to_json())["workloads"][0]["settings"]
            assert origin["extent_bytes"] == origin["block_bytes"], name


PLAYED = {"loopback": ("load", "mix"), "emulation": ("load", "mix", "network")}
IMPOSSIBLE = {"loopback": loopback.impossible, "emulation": requirements.impossible}


@pytest.mark.parametrize("real", PLAYED)
@pytest.mark.parametrize("quick", [False, True])
def test_what_the_real_server_plays_is_the_paper_s_and_is_judged_and_drawn(
    quick: bool, real: str
) -> None:
    studies = {}
    assert CIRCUS.played(real) == PLAYED[real]
    for name in CIRCUS.played(real):
        study = campaign.prepared(CIRCUS, name, quick=quick, real=real)
        origin = study.resolved()["workloads"]["origin"]
        scale = words.scale_of(origin["disk"]["positioning"]["time"])
        proportions = [Size(origin[key]).bytes * scale for key in ("memory", "block")]
        assert (scale, *proportions) == (16, 128 << 20, 64 << 10)
        assert Size(origin["files"]["size"]).bytes * scale == 512 << 20
        for point in study.points():
            plan = point.plan().parsed
            assert sys.platform != "linux" or list(IMPOSSIBLE[real](plan)) == []
        studies[name] = _unrun(name, quick=quick, real=real)
    untold = CIRCUS.untold(real)
    evidence = Evidence(studies, quick, untold=untold)
    for claim in CIRCUS.claims:
        played = claim.needs in (("mix",), ("network",)) and claim.needs[0] in studies
        if played and claim.id not in untold:
            for name, where in _selections(claim.given):
                assert studies[name].select(words.exact(studies[name], where)), (claim.id, where)
    found = {
        one.claim.id: one.finding.verdict for one in judge(CIRCUS.claims, evidence, CIRCUS.judges)
    }
    assert found["files-eight"] is Verdict.NOT_RUN
    assert found["doubles-mixed"] is not Verdict.NOT_RUN
    assert all(found[claim] is Verdict.NOT_TESTABLE for claim in untold)
    # The simulation beside it is judged as well.
    assert judge(CIRCUS.claims, Evidence(studies, quick), CIRCUS.judges)
    for item in CIRCUS.items:
        if evidence.has(item.studies):
            assert list(CIRCUS.figures[item.id](evidence)), item.id


# --- judges, on runs whose numbers are known ----------------------------------------------------

#: Network and disk throughput in MB/s, and download time in s, by load and policy.
MADE = {
    ("10", "in-order"): (12.5, 10.0, 7.0),
    ("10", json.dumps(PUBLISHED)): (12.5, 5.0, 7.0),
    ("10", "attach"): (12.5, 5.5, 7.0),
    ("40", "in-order"): (20.0, 15.0, 40.0),
    ("40", json.dumps(PUBLISHED)): (50.0, 1.4, 7.2),
    ("40", "attach"): (50.0, 9.9, 14.0),
}
GAPS = {"10": "671089 us", "40": "167772 us"}


def _study() -> StudyEvidence:
    """Six runs of each point, which differ by a per cent."""
    runs: list[dict[str, Any]] = []
    origins: list[dict[str, Any]] = []
    downloads: list[dict[str, Any]] = []
    for point, ((load, policy), (network, disk, time)) in enumerate(MADE.items()):
        for repeat in range(6):
            run, factor = len(runs), 1 + 0.01 * (repeat % 3 - 1)
            runs.append(
                {
                    "run": run, "point": point, "repeat": repeat, "seed": repeat,
                    _LINE: "10 Mbit/s", _GAP: GAPS[load], _POLICY: policy,
                    "outcome": "completed", "reason": "", "end_s": 60.0,
                }
            )  # fmt: skip
            origins.append(
                {
                    "run": run, "network_bps": 8e6 * network * factor, "disk_bps": 8e6 * disk,
                    "miss_ratio": disk / network, "disk_busy_s": disk, "from_s": 0.0, "to_s": 15.0,
                }
            )  # fmt: skip
            downloads += [
                {"run": run, "population": "clients", "duration_s": took}
                for took in (0.9 * time * factor, 1.1 * time * factor, None)
            ]
    rows = {"runs": runs, "origins": origins, "downloads": downloads}
    origin = {
        "files": {"size": "8 MiB"}, "populations": {"clients": {}},
        "disk": {"positioning": {"time": "78125 ns"}},
    }  # fmt: skip
    return StudyEvidence("made", made_of(rows, {"workloads": {"origin": origin}}))


def _judge(name: str, given: Mapping[str, Any]) -> Finding:
    return judged(name, given, _study(), JUDGES)


def _where(load: int, policy: str) -> dict[str, Any]:
    return {"where": {"load": load, "policy": policy}}


ORDER = {"against": {"policy": "in order"}}
DOUBLE = {
    "measure": "network", **_where(40, "circus"), "than": _where(40, "in order"),
    "is": "more-than", "bound": 1.0,
}  # fmt: skip
TENTH = {"measure": "disk", **ORDER, "is": "less-than", "bound": -0.9, "any": True}
BUSY = {"measure": "disk-use", "is": "more-than", "bound": 95}
NEAR = {"measure": "stretch", "is": "less-than", "bound": 1.1}
GAIN = {"measure": "network-gain", "from": "in order", "is": "more-than", "bound": 29}
FLAT = {"measure": "time", "where": {"policy": "circus"}, "is": "less-than", "bound": 0.1}


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("compare", DOUBLE, YES),
        ("compare", {**DOUBLE, **_where(10, "circus"), "than": _where(10, "in order")}, NO),
        ("change", {**TENTH, "where": {"policy": "circus"}}, YES),
        ("change", {**TENTH, "where": {"policy": "attach"}}, NO),
        ("level", {**BUSY, **_where(40, "in order")}, YES),
        ("level", {**BUSY, **_where(40, "circus")}, NO),
        ("spread", FLAT, YES),
        ("spread", {**FLAT, "where": {"policy": "attach"}}, NO),
        ("level", {**NEAR, **_where(40, "circus")}, YES),
        ("level", {**NEAR, **_where(40, "attach")}, NO),
        ("level", {**GAIN, **_where(40, "circus")}, YES),
    ],
)
def test_judges_say_yes_and_no(name: str, given: dict[str, Any], expected: Verdict) -> None:
    assert _judge(name, given).verdict is expected


RISEN = {
    "measure": "time", "where": {"load": 40, "policy": "in order"}, "against": {"load": 10},
    "called": "there:", "is": "less-than", "bound": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(("part", "expected"), [(10, YES), (40, NO)])
def test_a_share_of_an_increase_is_that_which_is_there_already(
    part: int, expected: Verdict
) -> None:
    assert _judge("share", {**RISEN, "part": {"load": part}}).verdict is expected


def test_a_connection_s_recovery_is_read_from_its_log() -> None:
    made = _unrun("recovery", quick=False)
    found = {
        name: quantities.measure(made, {"measure": name}).of_run[0]
        for name in ("timeouts", "growth", "recovery-time", "unused")
    }
    assert found == pytest.approx(
        {"timeouts": 0.0, "growth": 0.5, "recovery-time": 2.0, "unused": 50.0}
    )
    late = StudyEvidence("recovery", made_of(_recovering([{"run": 0}], "loss")))
    assert quantities.measure(late, {"measure": "timeouts"}).of_run == {0: 100.0}


def test_times_are_those_of_full_size() -> None:
    study = _study()
    of = quantities.times(study, {})
    point = study.select(words.exact(study, {"load": 40, "policy": "in order"}))[0]
    found = of.at(point)
    assert found is not None
    assert found.mean == pytest.approx(64 * 40.0)


def test_a_sentence_about_circus_can_be_asked_of_attach() -> None:
    about = about_circus(CIRCUS.claims)
    assert len(about) >= 20
    for claim in about:
        assert "attach" in str(instead(claim.given, "attach"))
        assert "circus" not in str(instead(claim.given, "attach"))
    assert _judge("spread", instead(FLAT, "attach")).verdict is NO


# --- a small campaign ---------------------------------------------------------------------------

SHORT = {
    "network.groups.T10.hosts": 10,
    "measures.windows.origins.from": "1 s",
    "measures.windows.origins.to": "6 s",
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One figure, with ten clients a run and one run a point."""
    folder = tmp_path_factory.mktemp("circus2004")
    reproduce("circus2004", folder, quick=True, only=["figure-12"], repeats=1, further=SHORT)
    return folder


def test_a_tiny_campaign_gives_a_page_with_claims_and_figures(tiny: Path) -> None:
    page = (tiny / "report.html").read_text(encoding="utf-8")
    claims = json.loads((tiny / "claims.json").read_text(encoding="utf-8"))
    assert claims["quick"] is True
    verdicts = {one["id"]: one["verdict"] for one in claims["claims"]}
    assert len(verdicts) == len(CIRCUS.claims)
    assert verdicts["doubles-mixed"] == "not run"
    assert verdicts["files-eight"] == "undecided"  # a single run decides nothing
    assert (tiny / "figures" / "figure-12.svg").exists()
    headings = re.findall(r"<h[12]>(.*?)</h[12]>", page)
    assert all("quick mode" in h for h in headings if h not in ("The paper", "What was run"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_quick_campaign_reproduces_the_paper_s_main_findings(tmp_path: Path) -> None:
    found = reproduce("circus2004", tmp_path, quick=True)
    verdicts = {one.claim.id: one.finding.verdict for one in found.judged}
    assert Verdict.NOT_RUN not in verdicts.values()
    for claim in ("order-of-magnitude", "near-minimum", "proportional", "size-disk"):
        assert verdicts[claim] is YES, claim
    assert found.page.stat().st_size < 2_500_000
