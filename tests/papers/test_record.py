"""A paper's studies may be run at different times: the record keeps what each has found."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pytest

from flashcrowd.papers import claim as claims
from flashcrowd.papers import paper_docs, record
from flashcrowd.papers.claim import Claim
from flashcrowd.papers.evidence import Evidence, Given
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
STUDIES = ("first", "second")
PAGE = "<!-- claims of the whole campaign -->\n\nold\n<!-- end of claims -->\n"


class Claimed(Paper):
    @cached_property
    def claims(self) -> list[Claim]:
        return CLAIMS


@pytest.fixture
def campaign(evidence: Callable[..., Evidence]) -> Callable[..., Evidence]:
    def made(
        *studies: str, commit: str | None = "abcdef0123", day: int = 29, took_s: float = 100.0
    ) -> Evidence:
        study = evidence({("20 KiB/s", "0 ms"): took_s})["latency"]
        sessions = [{"finished": f"2026-11-{day}T10:00:00+00:00"}]
        study.results.provenance.update(  # type: ignore[attr-defined]
            version="0.1.0", commit=commit, sessions=sessions
        )
        return Evidence(dict.fromkeys(studies, study))

    return made


def _after(before: Record, evidence: Evidence, studies: tuple[str, ...] = STUDIES) -> Record:
    judged = claims.judge(CLAIMS, evidence, JUDGES)
    return before.after(record.of(evidence, judged), CLAIMS, studies)


def _verdicts(found: Record, of: list[Claim] = CLAIMS) -> dict[str, str]:
    return {it.claim.id: it.finding.verdict.value for it in found.judged(of)}


def test_campaigns_of_some_studies_add_up(campaign: Callable[..., Evidence]) -> None:
    found = _after(Record(), campaign("first"))
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
    assert f"flashcrowd {said}: " in _after(Record(), campaign("first", commit=commit)).sentence


def test_a_finding_goes_with_the_runs_that_it_rests_on(campaign: Callable[..., Evidence]) -> None:
    found = _after(Record(), campaign("first", "second"))
    assert _verdicts(found)["both"] == "undecided"
    same = _after(found, campaign("first", day=30))
    assert _verdicts(same) == _verdicts(found), "the runs are the same"
    other = _after(found, campaign("first", took_s=120.0))
    assert _verdicts(other)["both"] == "not run", "its first study has other runs now"
    assert _verdicts(other)["two"] == "not reproduced"


def test_a_finding_from_more_studies_stays(campaign: Callable[..., Evidence]) -> None:
    """A claim may ask a study where it was run, and do without."""

    def asked(evidence: Evidence, given: Given) -> Finding:
        return Finding(Verdict.REPRODUCED, " ".join(sorted(evidence.studies)))

    more = [Claim("asks", "5", "More.", "asks", ("first",), {"beside": [{"study": "second"}]})]

    def after(before: Record, evidence: Evidence) -> Record:
        judged = claims.judge(more, evidence, {"asks": asked})
        return before.after(record.of(evidence, judged), more, STUDIES)

    both = after(Record(), campaign("first", "second"))
    assert after(both, campaign("first")).claims["asks"].measured == "first second"
    one = after(both, campaign("second", took_s=120.0))
    assert _verdicts(one, more) == {"asks": "not run"}, "what it asked is another study now"
    assert after(one, campaign("first")).claims["asks"].measured == "first"


def test_a_study_that_the_paper_has_no_more_goes(campaign: Callable[..., Evidence]) -> None:
    found = _after(Record(), campaign("first", "old"), ("first", "old"))
    assert found.sentence.endswith(" of 2 studies.")
    assert _after(found, campaign("first")).sentence.endswith(" of 1 study.")


def test_a_finding_goes_with_its_claim(campaign: Callable[..., Evidence]) -> None:
    found = _after(Record(), campaign("first", "second"))
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
    made = Claimed("p", Path(), {"studies": {name: {} for name in STUDIES}, "item": []})
    for evidence in (campaign("first"), campaign("second", day=30)):
        paper_docs.check(page, quick=False, whole=False)
        paper_docs.write(page, made, evidence, claims.judge(CLAIMS, evidence, JUDGES))
    assert "| 4 | 1 | 1 | 1 | 1 |" in page.read_text()
    assert "| Second. | not reproduced |" in page.read_text()
    assert _verdicts(record.read(page))["one"] == "reproduced"
    before = (tmp_path / "paper.json").read_bytes()
    quick = replace(campaign("first", "second"), quick=True)
    paper_docs.write(page, made, quick, claims.judge(CLAIMS, quick, JUDGES))
    assert (tmp_path / "paper.json").read_bytes() == before, "it is of the whole campaign"


@pytest.mark.parametrize("quick", [True, False])
def test_some_studies_do_not_replace_what_all_have_found(tmp_path: Path, quick: bool) -> None:
    page = tmp_path / "paper.md"
    table = "| claims | reproduced |\n| --- | --- |\n| 4 | 4 |\n"
    filled = PAGE.replace("the whole campaign", paper_docs.MODES[quick]).replace("old\n", table)
    page.write_text(filled)
    with pytest.raises(paper_docs.NoPlace, match="without --only"):
        paper_docs.check(page, quick=quick, whole=False)
    paper_docs.check(page, quick=quick)
    page.write_text(filled.replace(table, "Not run.\n"))
    paper_docs.check(page, quick=quick, whole=False)


@pytest.mark.parametrize(
    "damage",
    [
        "",
        '{"studies": {"a": 1}, "claims": {}}',
        '{"studies": [], "claims": {}}',
        '{"claims": {"a": {"verdict": "perhaps"}}}',
        '{"studies": {"a": {"build": 3, "first": "", "last": "", "runs": 1, "digest": ""}}}',
        "[" * 9,
    ],
)
def test_a_damaged_record_is_refused_before_anything_runs(tmp_path: Path, damage: str) -> None:
    page = tmp_path / "paper.md"
    page.write_text(PAGE)
    record.beside(page).write_text(damage)
    with pytest.raises(record.RecordError, match=r"paper\.json: is no record .*delete it"):
        paper_docs.check(page, quick=False)
