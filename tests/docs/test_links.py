"""Links lead somewhere: to a file of the repository, and to a heading of a page."""

import re
from functools import cache
from os.path import normpath
from pathlib import Path

import pytest
from tests.docs.promises import ROOT, pages

TEXTS = [*pages(), "benches/README.md", "benches/notebook.md"]
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
CODE = re.compile(r"^```.*?^```", re.M | re.S)


@cache
def anchors(page: str) -> frozenset[str]:
    """The headings of a page as the site and the forge spell them in addresses."""
    text = CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    plain = (re.sub(r"\]\([^)]*\)", "", it).lower() for it in HEADING.findall(text))
    return frozenset(re.sub(r"[^\w\- ]", "", it).replace(" ", "-") for it in plain)


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    for link in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        file = normpath(Path(page).parent / target) if target else page
        assert (ROOT / file).exists(), f"{page} links to {link}"
        assert not anchor or file not in TEXTS or anchor in anchors(file), f"{page}: {link}"
