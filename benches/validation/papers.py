"""How the papers' claims came out, as their pages say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from flashcrowd.papers.paper import names

DOCS = Path(__file__).parents[2] / "docs"
VERDICTS = ("reproduced", "by construction", "not reproduced", "undecided", "not testable")
CAMPAIGNS = ("the whole campaign", "quick mode")


@dataclass(frozen=True)
class Count:
    """One campaign of a paper: how many of its claims met which verdict."""

    paper: str
    campaign: str
    claims: int
    of: Mapping[str, int]

    @property
    def cells(self) -> list[str]:
        """A row of the table: where, the claims, and each verdict."""
        where = f"[{self.paper}]({self.paper}.md)"
        return [where, self.campaign, str(self.claims), *(str(self.of.get(v, 0)) for v in VERDICTS)]


def counts() -> Iterator[Count]:
    """Each paper by the largest campaign that its page has, and that is complete."""
    for name in names():
        page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        found = (_count(page, name, it) for it in CAMPAIGNS)
        yield next(it for it in found if it and not it.of.get("not run"))


def _count(page: str, paper: str, campaign: str) -> Count | None:
    table = r"\| claims \| (?P<head>.*) \|\n.*\n\| (?P<row>.*) \|"
    found = re.search(rf"<!-- claims of {campaign} -->\n\n.*\n\n{table}", page)
    if found is None:
        return None
    claims, *rest = map(int, found["row"].split(" | "))
    return Count(paper, campaign, claims, dict(zip(found["head"].split(" | "), rest, strict=True)))
