"""A paper's studies may be run at different times: the record keeps what each has found."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pytest

from flashcrowd.papers import claim as claims
from flashcrowd.papers import paper_docs, record
from flashcrowd.papers.claim import Claim
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.paper import Paper
from flashcrowd.papers.record import Record
from flashcrowd.papers.verdict import Finding, Verdict

CLAIMS = [
    Claim("one", "1", "First.", "says", needs=("first",), given={"found": "reproduced"}),
    Claim("two", "2", "Second.", "says", needs=("second",), given={"found": "not reproduced"}),
    Claim("both", "3", "Both.", "says", needs=("first", "second"), given={"found": "undecided"}),
    Claim("none", "4", "Nothing.", "says", given={"found": "not testable"}),
]
JUDGES = {"says": lambda evidence, given: Finding(Verdict(given["found"]), given["found"], 2)}
PAGE = "<!-- claims of the whole campaign -->\n\nold\n<!-- end of claims -->\n"


class Claimed(Paper):
    @cached_property
    def claims(self) -> list[Claim]:
        return CLAIMS


@pytest.fixture
def campaign(evidence: Callable[..., Evidence]) -> Callable[..., Evidence]:
    def made(*studies: str, commit: str | None = "abcdef0123", day: int = 29) -> Evidence:
        study = evidence({("20 KiB/s", "0 ms"): 100.0})["latency"]
        sessions = [{"finished": f"2026-11-{day}T10:00:00+00:00"}]
        study.results.provenance.update(  # type: ignore[attr-defined]
            version="0.1.0", commit=commit, sessions=sessions
        )
        return Evidence(dict.fromkeys(studies, study))

    return made


def _after(before: Record, evidence: Evidence) -> Record:
    judged = claims.judge(CLAIMS, evidence, JUDGES)
    return before.after(record.of(evidence, judged), CLAIMS)


def _verdicts(found: Record, of: list[Claim] = CLAIMS) -> dict[str, str]:
    return {it.claim.id: it.finding.verdict.value for it in found.judged(of)}


def test_campaigns_of_some_studies_add_up(campaign: Callable[..., Evidence]) -> None:
    found = _after(Record({}, {}), campaign("first"))
    apart = {"one": "reproduced", "two": "not run", "both": "not run", "none": "not testable"}
    assert _verdicts(found) == apart
    found = _after(found, campaign("second", commit="fedcba9876", day=30))
    assert _verdicts(found) == {**apart, "two": "not reproduced"}, "no campaign has both"
    assert found.sentence.startswith(
        "2026-11-29 to 2026-11-30, flashcrowd 0.1.0 (abcdef01), 0.1.0 (fedcba98): "
    )
    assert found.sentence.endswith(" of 2 studies.")


@pytest.mark.parametrize(
    ("commit", "said"),
    [("abcdef0123", "0.1.0 (abcdef01)"), ("abcdef0123+", "0.1.0 (abcdef01+)"), (None, "0.1.0")],
)
def test_a_build_with_other_sources_says_so(
    campaign: Callable[..., Evidence], commit: str | None, said: str
) -> None:
    assert f"flashcrowd {said}: " in _after(Record({}, {}), campaign("one", commit=commit)).sentence


def test_a_finding_goes_with_the_runs_that_it_rests_on(campaign: Callable[..., Evidence]) -> None:
    found = _after(Record({}, {}), campaign("first", "second"))
    assert _verdicts(found)["both"] == "undecided"
    again = _after(found, campaign("first", day=30))
    assert _verdicts(again)["both"] == "not run", "its first study has other runs now"
    assert _verdicts(again)["two"] == "not reproduced"


def test_a_finding_goes_with_its_claim(campaign: Callable[..., Evidence]) -> None:
    found = _after(Record({}, {}), campaign("first", "second"))
    worded = [replace(it, says=f"{it.says} In other words.") for it in CLAIMS]
    assert _verdicts(found, worded) == _verdicts(found)
    for changed in (
        replace(CLAIMS[0], judge="other"),
        replace(CLAIMS[0], given={"found": "undecided"}),
        replace(CLAIMS[0], needs=("second",)),
        replace(CLAIMS[0], by_construction="So it was set."),
        replace(CLAIMS[0], asks="It asks."),
    ):
        assert _verdicts(found, [changed]) == {"one": "not run"}, changed


def test_a_record_is_kept_beside_the_page(
    campaign: Callable[..., Evidence], tmp_path: Path
) -> None:
    page = tmp_path / "paper.md"
    page.write_text(PAGE)

    made = Claimed("p", Path(), {"studies": {"first": {}, "second": {}}, "item": []})
    for evidence in (campaign("first"), campaign("second", day=30)):
        paper_docs.write(page, made, evidence, claims.judge(CLAIMS, evidence, JUDGES))
    assert "| 4 | 1 | 1 | 1 | 1 |" in page.read_text()
    assert "| Second. | not reproduced |" in page.read_text()
    assert _verdicts(record.read(page))["one"] == "reproduced"
    before = (tmp_path / "paper.json").read_bytes()
    quick = replace(campaign("first", "second"), quick=True)
    paper_docs.write(page, made, quick, claims.judge(CLAIMS, quick, JUDGES))
    assert (tmp_path / "paper.json").read_bytes() == before, "it is of the whole campaign"


@pytest.mark.parametrize("damage", ["", "{}", '{"studies": {"a": 1}, "claims": []}', "[" * 9])
def test_a_damaged_record_is_refused_before_anything_runs(tmp_path: Path, damage: str) -> None:
    page = tmp_path / "paper.md"
    page.write_text(PAGE)
    record.beside(page).write_text(damage)
    with pytest.raises(record.RecordError, match=r"paper\.json: .*delete it"):
        paper_docs.check(page, quick=False)


def test_an_unknown_verdict_is_refused(tmp_path: Path, campaign: Callable[..., Evidence]) -> None:
    page = tmp_path / "paper.md"
    record.write(page, _after(Record({}, {}), campaign("first")), CLAIMS)
    data = json.loads(record.beside(page).read_text())
    data["claims"][0]["verdict"] = "perhaps"
    record.beside(page).write_text(json.dumps(data))
    with pytest.raises(record.RecordError, match="perhaps"):
        record.read(page)
