"""Which sentences survive what the paper does not state: windows, peers, distance, buffers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flashcrowd.drawing.blocks import Block, Cell, Table, Text
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence
from flashcrowd.papers.pan2009.judges import JUDGES
from flashcrowd.papers.pan2009.words import LIMITERS
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording

#: What was varied, with the headings of the columns.
VARIED = {
    "network.stack": "window",
    "hosts": "peers",
    "network.rtt": "RTT",
    "up_queue": "buffer",
    "profile": "client",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence that can be put to the test in any such setting.

    Attributes:
        says: what it says, as the heading of a column.
        judge: name of the judge.
        given: its parameters, but for the setting.
        limit: the upload limit that it is about.
    """

    says: str
    judge: str
    given: Given
    limit: str


_FALL = {"measure": "rate", "way": "down", "from_s": 20, "against": {"upload": "0 B/s"}}

SENTENCES = (
    Sentence(
        "the download loses more than half at 1000",
        "change", {**_FALL, "is": "less-than", "bound": -0.5}, "1000 kbit/s",
    ),
    Sentence(
        "less than a tenth at 400",
        "change", {**_FALL, "is": "more-than", "bound": -0.1}, "400 kbit/s",
    ),
    Sentence(
        "more than a tenth at 640",
        "change", {**_FALL, "is": "less-than", "bound": -0.1}, "640 kbit/s",
    ),
    Sentence(
        "loss of 1 % at most at 1000",
        "level", {"measure": "loss", "is": "at-most", "bound": 1.0}, "1000 kbit/s",
    ),
    Sentence(
        "RTT 204 ± 13 ms at 400",
        "near", {"measure": "rtt", "from_s": 20, "published": 204, "tolerance": 13}, "400 kbit/s",
    ),
    Sentence(
        "RTT 506 ± 65 ms at 1000",
        "near", {"measure": "rtt", "from_s": 20, "published": 506, "tolerance": 65}, "1000 kbit/s",
    ),
    Sentence(
        "histograms of 400 and 1000 share 5 % at most",
        "level",
        {"measure": "overlap", "from_s": 20, "other": {"upload": "400 kbit/s"}, "is": "at-most",
         "bound": 5.0},
        "1000 kbit/s",
    ),
)  # fmt: skip


def draw(evidence: Evidence) -> Iterator[Block]:
    """How many settings keep each sentence, and each setting."""
    study = evidence["hidden"]
    found = list(settings(evidence, study))
    every = sum(all(_holds(one) for one in row) for _, row in found)
    yield Text(
        "The line of Figures 2 to 4 with each window of Windows XP, one to five external peers, an "
        "RTT of 2 or 200 ms, four buffers, and both ways to hand out the upload: "
        f"{wording.count(len(found), 'setting')}. In {every} of them every sentence of the table "
        "holds."
    )
    yield _counts(found)
    yield Table(
        [*VARIED.values(), *(one.says for one in SENTENCES)],
        [
            [*(_word(path, value) for path, value in where.items()), *map(_cell, row)]
            for where, row in found
        ],
        "Each setting: verdict and deciding number, "
        f"{study.points.count()} per point. The upload limits are in kbit/s; the uplink has 1000.",
        frozenset(range(len(VARIED) + len(SENTENCES))),
        folded=True,
    )


def settings(
    evidence: Evidence, study: StudyEvidence
) -> Iterator[tuple[dict[str, object], list[Finding]]]:
    """Each setting with what became of each sentence there."""
    for point in study.select({"upload": "0 B/s"}):
        where = {path: study.value(point, path) for path in VARIED}
        row = []
        for one in SENTENCES:
            given = {**one.given, "study": study.name, "where": {**where, "upload": one.limit}}
            row.append(JUDGES[one.judge](evidence, given))
        yield where, row


def _counts(found: list[tuple[dict[str, object], list[Finding]]]) -> Table:
    """In how many settings each sentence holds, by each thing that was varied."""
    rows: list[list[str | Cell]] = []
    for path, heading in VARIED.items():
        for value in dict.fromkeys(where[path] for where, _ in found):
            chosen = [row for where, row in found if where[path] == value]
            rows.append([f"{heading} {_word(path, value)}", *_shares(chosen)])
    rows.insert(0, ["all", *_shares([row for _, row in found])])
    return Table(
        ["settings with", *(one.says for one in SENTENCES)],
        rows,
        "In how many settings a sentence is reproduced, of how many.",
        frozenset({0}),
    )


def _shares(rows: list[list[Finding]]) -> list[str]:
    return [f"{sum(_holds(row[i]) for row in rows)} of {len(rows)}" for i in range(len(SENTENCES))]


def _holds(finding: Finding) -> bool:
    return finding.verdict is Verdict.REPRODUCED


def _word(path: str, value: object) -> str:
    if path == "network.stack":
        return "65535 B" if value == "xp" else "17520 B"
    if path == "profile":
        return LIMITERS[str(value)]
    return str(value)


def _cell(finding: Finding) -> Cell:
    number = finding.measured.partition(" at ")[0]
    for name in ("download", "RTT", "area in common", "packets dropped in the uplink"):
        number = number.removeprefix(name).strip()
    return Cell(finding.verdict.value, number, finding.verdict.mark)
