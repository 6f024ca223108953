"""What a page of the documentation says of a paper is written from the runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flashcrowd.drawing.blocks import Cell, Table
from flashcrowd.papers import paper, paper_docs, record
from flashcrowd.papers.claim import Claim, Judged
from flashcrowd.papers.distance import Distance
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.verdict import Finding, Verdict

PAGE = """# A paper

<!-- claims of the whole campaign -->

old

<!-- end of claims -->

<!-- claims of quick mode -->

older
<!-- end of claims -->

Text.

<!-- item figure-1 -->

oldest
<!-- end of item -->
"""

JUDGED = [
    Judged(Claim("a", "1", "It is so.", "level"), Finding(Verdict.REPRODUCED, "1")),
    Judged(Claim("b", "2", "Or | so.", "level"), Finding(Verdict.NOT_REPRODUCED, "2 [1, 3]")),
]


def test_of_several_numbers_those_are_named_that_are_not_met(evidence: Evidence) -> None:
    measured = "3+1 2 for 2; 2+2 5 for 3 (not reproduced); 1+3 4 for 4 (undecided); n = 10"
    claim = Claim("c", "3", "Three numbers.", "level")
    text = paper_docs.claims(
        record.of(evidence, ()), [Judged(claim, Finding(Verdict.NOT_REPRODUCED, measured))]
    )
    assert "| Three numbers. | 2+2 5 for 3 |\n" in text


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ("1 as it is; 2 with", "1 as it is; 2 with"),
        (f"1 as it is; {'2' * 100}; {'3' * 100}", f"1 as it is; {'2' * 100}; 1 more in the report"),
        (f"{'1' * 150}; 2; 3", f"{'1' * 150}; 2 more in the report"),
    ],
)
def test_a_cell_has_as_many_numbers_as_are_read_at_a_glance(
    evidence: Evidence, measured: str, said: str
) -> None:
    claim = Claim("c", "3", "Numbers.", "level")
    text = paper_docs.claims(
        record.of(evidence, ()), [Judged(claim, Finding(Verdict.NOT_REPRODUCED, measured))]
    )
    assert f"| Numbers. | {said} |\n" in text


class Drawn(paper.Paper):
    @property
    def figures(self):
        rows = [["one", Cell("2", "[1, 3]")]]
        return {"figure-1": lambda evidence: [Table(["a", "b"], rows, "What it shows.")]}


def _paper() -> paper.Paper:
    item = {"id": "figure-1", "title": "Figure 1", "studies": ["latency"]}
    return Drawn("p", Path(), {"studies": {"latency": {}}, "item": [item]})


def _replaced(text: str, evidence: Evidence, of: paper.Paper | None = None) -> str:
    found = record.of(evidence, JUDGED)
    return paper_docs.replaced(text, of or _paper(), evidence, found, JUDGED)


@pytest.fixture
def evidence(evidence: Callable[..., Evidence]) -> Evidence:
    made = evidence({("20 KiB/s", "0 ms"): 100.0, ("20 KiB/s", "400 ms"): 130.0})
    sessions = [{"finished": f"2026-11-{day}T10:00:00+00:00"} for day in (29, 30)]
    made["latency"].results.provenance.update(  # type: ignore[attr-defined]
        version="0.1.0", commit="abcdef0123", sessions=sessions
    )
    return made


def test_the_places_of_a_campaign_are_written_and_no_other(evidence: Evidence) -> None:
    text = _replaced(PAGE, evidence)
    assert "2026-11-29 to 2026-11-30, flashcrowd 0.1.0 (abcdef01): 12 runs of 1 study.\n" in text
    assert "| claims | reproduced | not reproduced |\n| --- | --- | --- |\n| 2 | 1 | 1 |\n" in text
    assert "| Or \\| so. | 2 [1, 3] |\n" in text
    assert "What it shows.\n\n| a | b |\n| --- | --- |\n| one | 2 [1, 3] |\n" in text
    assert "older\n" in text
    assert "old\n" not in text
    assert "oldest" not in text
    assert _replaced(text, evidence) == text

    quick = replace(evidence, quick=True)
    both = _replaced(text, quick)
    assert "older\n" not in both
    assert both.count("| Or \\| so. |") == 1, "the whole campaign lists them already"
    for by_hand in ("old\n", "Not run.\n", "Two of eight studies have been run.\n"):
        page = PAGE.replace("old\n", by_hand, 1)
        text = _replaced(page, quick)
        assert by_hand in text
        assert "oldest" in text
        assert "| Or \\| so. | 2 [1, 3] |\n" in text, "no whole campaign lists them"


def test_a_page_without_a_place_is_refused_before_anything_runs(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    with pytest.raises(paper_docs.NoPlace, match=r"page\.md"):
        paper_docs.check(page, quick=True)
    page.write_text("<!-- claims of quick mode -->\n\nold\n<!-- end of claims -->\n")
    paper_docs.check(page, quick=True)
    with pytest.raises(paper_docs.NoPlace, match="claims of the whole campaign"):
        paper_docs.check(page, quick=False)


@pytest.mark.parametrize("name", paper.names())
def test_pages_of_papers_have_their_places(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / f"{name}.md"
    for quick in (False, True):
        paper_docs.check(page, quick=quick, whole=True)
    known = {item.id for item in paper.load(name).items}
    assert {match["item"] for match in paper_docs._PLACE.finditer(page.read_text())} - {
        None
    } <= known


def test_tables_of_different_units_stay_apart():
    one, other = (Table(["a", f"b ({unit})"], [["x", "1"]], "It.") for unit in ("s", "ms"))
    assert [it.caption for it in paper_docs.beside(one, other)] == ["Simulated. It.", "Real. It."]
    (same,) = paper_docs.beside(one, one)
    assert same.rows == [["x", "1"]]


BY_PROGRAMS = "<!-- item figure-1 by programs -->\n\nold\n<!-- end of item -->\n"


class Sided(paper.Paper):
    @property
    def figures(self):
        def drawn(evidence: Evidence) -> list[Table]:
            rows = [["one", "2"], ["two", "4" if evidence.quick else "5"]]
            return [Table(["a", "b"], rows[evidence.quick :], "What it shows.")]

        return {"figure-1": drawn}


def test_real_programs_write_their_places_alone(evidence: Evidence, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    with pytest.raises(paper_docs.NoPlace, match="item NAME by programs"):
        paper_docs.check(page, quick=True, real=True)
    page.write_text(PAGE + BY_PROGRAMS)
    paper_docs.check(page, quick=True, real=True)
    item = {"id": "figure-1", "title": "Figure 1", "studies": ["latency"]}
    sided = Sided("p", Path(), {"studies": {"latency": {}}, "item": [item]})
    distances = [Distance("latency", ("They differ.",)), Distance("other", ("No.",))]
    # The real one lacks a row, and differs in the other.
    real = replace(evidence, quick=True)
    paper_docs.write_by_programs(page, sided, evidence, real, distances)
    text = page.read_text()
    assert text.startswith(PAGE)
    assert "| two | 5 / 4 |" in text
    assert "| one |" not in text.removeprefix(PAGE)
    assert "What it shows. Simulated / real." in text
    assert "| They differ. |" in text
    assert "No." not in text.removeprefix(PAGE)
    # And the others leave them alone.
    assert "old" not in text.removeprefix(PAGE)
    assert _replaced(text, evidence, sided).endswith(text.removeprefix(PAGE))
