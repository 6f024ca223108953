import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flashcrowd.base.units import Rate
from flashcrowd.papers import campaign, paper, reproduce
from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.papers.pan2009 import JUDGES, quantities, survives
from flashcrowd.papers.pan2009.words import LINES, described, limiter, stretch
from flashcrowd.papers.verdict import Finding, Verdict

from .conftest import Tables, judged, made_of, run_row

PAN = paper.load("pan2009")
YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.OPEN


def test_every_claim_names_a_judge_and_studies_that_exist() -> None:
    assert len(PAN.claims) >= 30
    for claim in PAN.claims:
        assert claim.judge in PAN.judges, claim.id
        assert set(claim.needs) <= set(PAN.studies), claim.id
        if "study" in claim.given:
            assert claim.given["study"] in claim.needs, claim.id


def test_every_item_is_drawn_and_needs_studies_that_exist() -> None:
    assert set(PAN.figures) == {item.id for item in PAN.items}
    shown = {study for item in PAN.items for study in (*item.studies, *item.also)}
    assert shown == set(PAN.studies)


@pytest.mark.parametrize("name", PAN.studies)
@pytest.mark.parametrize("quick", [False, True])
def test_every_study_is_sound(name: str, quick: bool) -> None:
    study = campaign.prepared(PAN, name, quick=quick)
    assert ("(quick)" in study.title) is quick
    assert study.points()


def _conditions(given: Mapping[str, Any], study: str) -> Iterator[tuple[str, str, object]]:
    """Every setting that a claim selects by, with its study."""
    study = given.get("study", study)
    for key in ("where", "against", "lower", "higher", "idle", "other"):
        yield from ((study, name, value) for name, value in given.get(key, {}).items())
    literal = given.get("literal", ())
    readings = [literal] if isinstance(literal, Mapping) else literal
    for other in given.get("others", ()):
        yield from ((study, name, value) for name, value in other.items())
    than = [given["than"]] if "than" in given else []
    for part in (*than, *readings, *given.get("beside", ())):
        yield from _conditions(part, study)


def test_what_claims_select_is_swept_and_has_that_value() -> None:
    swept: dict[str, dict[str, list[object]]] = {}
    for name in PAN.studies:
        axes = campaign.prepared(PAN, name, quick=False).sweep
        swept[name] = {path: list(values) for axis in axes for path, values in axis.items()}
    for claim in PAN.claims:
        for study, setting, value in _conditions(claim.given, ""):
            found = [p for p in swept[study] if p == setting or p.endswith(f".{setting}")]
            assert len(found) == 1, (claim.id, study, setting)
            for one in value if isinstance(value, list) else [value]:
                assert one in swept[study][found[0]], (claim.id, study, setting, one)


def test_sentences_about_lines_are_tested_in_variations_of_the_lines() -> None:
    item = next(item for item in PAN.items if item.id == "survives")
    assert [name for name, _ in survives.variations(PAN)] == list(item.also)


def test_the_lines_are_those_of_the_table() -> None:
    study = campaign.prepared(PAN, "no-limit", quick=False)
    axis = study.sweep[0]
    pairs = zip(
        axis["network.groups.home.access.down"], axis["network.groups.home.access.up"], strict=True
    )
    assert list(pairs) == list(LINES.values())
    ratios = [Rate(down).bps / Rate(up).bps for down, up in LINES.values()]
    quoted = [4, 16, 8, 4, 4, 13, 8, 12]
    assert all(abs(ratio - said) <= 0.5 for ratio, said in zip(ratios, quoted, strict=True))


# --- judges, on runs whose numbers are known ----------------------------------------------------

_HOME = "network.groups.home.access"
_LIMIT = "workloads.shared.populations.home.upload"

#: Of a line and a limit: download in kbit/s, and the round-trip times of six pings in ms.
Made = dict[tuple[str, str, str], tuple[float, list[float]]]


def _study(made: Made) -> StudyEvidence:
    """Six runs of each setting, whose download differs by a per cent."""
    runs: list[dict[str, Any]] = []
    series: list[dict[str, Any]] = []
    pings: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for point, ((down, up, limit), (rate, rtts)) in enumerate(made.items()):
        for repeat in range(6):
            run = len(runs)
            settings = {f"{_HOME}.down": down, f"{_HOME}.up": up, _LIMIT: limit}
            runs.append(run_row(run, point, repeat, outcome="stopped", end_s=60.0, **settings))
            value = rate * 1e3 * (1 + 0.01 * (repeat % 3 - 1))
            series += [
                {"run": run, "what": "link-rate", "source": "home-1 down", "t_s": t, "value": value}
                for t in (10.0, 20.0)
            ]
            pings += [
                {"run": run, "ping": "ping", "seq": seq, "sent_s": float(seq), "rtt_s": rtt / 1e3}
                for seq, rtt in enumerate(rtts)
            ]
            links.append({"run": run, "link": "home-1 up", "packets": 98, "dropped": 2})
    rows = {"runs": runs, "series": series, "pings": pings, "links": links}
    return StudyEvidence("made", made_of(rows))


QUIET = [40.0, 41.0, 40.0, 41.0, 40.0, 41.0]
FULL = [90.0, 110.0, 130.0, 90.0, 110.0, 130.0]
MADE: Made = {
    ("2 Mbit/s", "512 kbit/s", "0 B/s"): (1900, QUIET),
    ("2 Mbit/s", "512 kbit/s", "unlimited"): (1000, FULL),
    ("8 Mbit/s", "1 Mbit/s", "0 B/s"): (7600, QUIET),
    ("8 Mbit/s", "1 Mbit/s", "unlimited"): (1600, FULL),
    ("12 Mbit/s", "1 Mbit/s", "0 B/s"): (11400, QUIET),
    ("12 Mbit/s", "1 Mbit/s", "unlimited"): (1200, FULL),
}


def _judge(name: str, given: dict[str, Any]) -> Finding:
    return judged(name, given, _study(MADE), JUDGES)


USE = {"measure": "use", "way": "down"}
FREE = {"upload": "unlimited"}
FALL = {**USE, "where": FREE, "against": {"upload": "0 B/s"}}
PAIR = {"called": "gap", "lower": {**FREE, "access.down": ["8 Mbit/s", "12 Mbit/s"]}}
SPREAD = {**USE, "called": "range", "where": FREE, "against": {"upload": "0 B/s"}}


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("change", {**FALL, "is": "less-than", "bound": -0.4}, YES),
        ("change", {**FALL, "is": "less-than", "bound": -0.7}, NO),
        ("change", {**FALL, "is": "less-than", "bound": -0.7, "any": True}, YES),
        ("change", {**FALL, "is": "less-than", "bound": -0.95, "any": True}, NO),
        ("between", {**USE, "where": FREE, "low": 5, "high": 60}, YES),
        ("between", {**USE, "where": FREE, "low": 15, "high": 60}, NO),
        ("ranked", {**USE, **PAIR, "higher": {**FREE, "access.down": "2 Mbit/s"}}, YES),
        ("ranked", {**USE, **PAIR, "higher": {"upload": "0 B/s"}}, YES),
        ("trend", {**USE, "where": FREE, "is": "less-than", "bound": -0.7}, YES),
        ("trend", {**USE, "where": FREE, "is": "more-than", "bound": 0.0}, NO),
        ("spread", {**SPREAD, "is": "more-than", "bound": 30.0}, YES),
        ("spread", {**SPREAD, "is": "less-than", "bound": 0.0}, NO),
        ("mostly", {**FALL, "is": "less-than", "bound": -0.7}, YES),
        ("mostly", {**FALL, "is": "less-than", "bound": -0.95}, NO),
        ("best", {**USE, "where": {"upload": "0 B/s"}, "others": [FREE], "slack": 0.01}, YES),
        ("best", {**USE, "where": FREE, "others": [{"upload": "0 B/s"}], "slack": 0.01}, NO),
        ("level", {"measure": "loss", "where": FREE, "is": "at-most", "bound": 1.0}, NO),
        ("near", {"measure": "rtt", "where": FREE, "published": 110, "tolerance": 5}, YES),
    ],
)
def test_judges_say_yes_and_no(name: str, given: dict[str, Any], expected: Verdict) -> None:
    assert _judge(name, given).verdict is expected


def test_other_readings_are_named_with_their_verdicts() -> None:
    lost = {**FALL, "is": "less-than", "bound": -0.4}
    less = {"says": "At 70 %", "bound": -0.7}
    (one, two) = (_judge("change", {**lost, "literal": it}) for it in (less, [less, {"bound": 0}]))
    assert one.verdict is two.verdict is YES
    assert one.why.startswith("At 70 %: downlink utilisation")
    assert one.why.endswith("(not reproduced).")
    assert two.why.startswith(one.why)
    assert two.why.endswith("(reproduced).")
    assert "Holds in 2 of 3 cases." in _judge("change", {**lost, "bound": -0.7}).why


def test_the_best_of_several_is_compared_with_each() -> None:
    nothing = {"upload": "0 B/s"}
    given = {**USE, "where": nothing, "others": [FREE, FREE], "slack": 0.01}
    assert _judge("best", given).measured.endswith(
        "at line 4, nothing uploaded, against no limit, the worst of 6 cases"
    )


def test_pings_are_weighed_against_those_without_uploads() -> None:
    study = _study(MADE)
    given = {"k": 10, "idle": {"upload": "0 B/s"}}
    alarms = quantities.alarms(study, given)  # µ + 10 σ = 40.5 + 5 ms
    full, quiet = study.select({"upload": "unlimited"})[0], study.select({"upload": "0 B/s"})[0]
    assert {alarms.of_run[run.run] for run in full.runs} == {100.0}
    assert {alarms.of_run[run.run] for run in quiet.runs} == {0.0}
    common = quantities.overlap(study, {"other": {"upload": "0 B/s"}})
    assert {common.of_run[run.run] for run in full.runs} == {0.0}


def test_points_are_called_after_the_lines_of_the_table() -> None:
    study = _study(MADE)
    assert described(study, study.points.points[1]) == "line 4, no limit"


def test_rates_are_counted_from_the_begin_of_the_study_s_window() -> None:
    study = _study(MADE)
    given = {"way": "down"}
    whole = quantities.rate(study, given).of_run[0]
    windowed = {**study.results.study, "measures": {"window": {"from": "15 s"}}}
    rows = study.results.tables["series"].to_pylist()
    for row in rows:
        row["value"] *= 2 if row["t_s"] > 15 else 1
    study = StudyEvidence(
        "made",
        Tables({**study.results.tables, "series": pa.Table.from_pylist(rows)}, windowed),
    )
    assert quantities.rate(study, given).of_run[0] == pytest.approx(2 * whole)
    assert quantities.rate(study, {**given, "from_s": 0}).of_run[0] == pytest.approx(1.5 * whole)
    assert stretch(study) == "From 15 s to 60 s"


def test_a_client_is_called_by_its_limiter_and_not_by_its_name() -> None:
    study = _study(MADE)
    for tick, said in (("none", "upload spread"), ("500 ms", "upload every half second")):
        profiles = {"azureus": {"limiter": {"tick": tick}}}
        told = {**study.results.study, "profiles": profiles}
        of_study = StudyEvidence("made", Tables(dict(study.results.tables), told))
        assert limiter(of_study, "azureus") == said


# --- a small campaign ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The figures about one line, with three repeats."""
    folder = tmp_path_factory.mktemp("pan2009")
    only = ["figures-2-3", "figure-4", "causes"]
    reproduce("pan2009", folder, quick=True, only=only, repeats=3)
    return folder


def test_a_tiny_campaign_gives_a_page_with_claims_and_figures(tiny: Path) -> None:
    page = (tiny / "report.html").read_text(encoding="utf-8")
    claims = json.loads((tiny / "claims.json").read_text(encoding="utf-8"))
    assert claims["quick"] is True
    assert len(claims["claims"]) == len(PAN.claims)
    verdicts = {one["id"]: one["verdict"] for one in claims["claims"]}
    assert verdicts["intro-after"] == "not run"
    assert verdicts["rtt-not-loss"] == verdicts["detects"] == "reproduced"
    for figure in ("rising-limit", "round-trip-times"):
        assert (tiny / "figures" / f"{figure}.svg").exists()
    headings = re.findall(r"<h[12]>(.*?)</h[12]>", page)
    assert all("quick mode" in h for h in headings if h not in ("The paper", "What was run"))


def test_the_download_falls_before_the_uplink_is_full_where_quota_comes_in_pieces(
    tiny: Path,
) -> None:
    study = campaign.conduct(PAN, tiny, quick=True, studies=["ramp"], repeats=3)["ramp"]
    onset = quantities.onset(study, {})
    spread, pieces = (study.select({"profile": name})[0] for name in ("azureus", "half-second"))
    by_spread, by_pieces = onset.at(spread), onset.at(pieces)
    assert by_spread is not None
    assert by_pieces is not None
    assert by_spread.minimum > 800 > by_pieces.maximum


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_quick_campaign_reproduces_the_paper_s_main_findings(tmp_path: Path) -> None:
    found = reproduce("pan2009", tmp_path, quick=True)
    verdicts = {one.claim.id: one.finding.verdict for one in found.judged}
    assert Verdict.NOT_RUN not in verdicts.values()
    for claim in ("degrades", "rtt-not-loss", "rtt-alone", "gain-200", "no-limit-groups"):
        assert verdicts[claim] is YES, claim
    assert verdicts["window"] is not NO  # -6.2 % [-14.4, -0.1] in five runs, of 10 % allowed
    assert found.page.stat().st_size < 2_500_000
