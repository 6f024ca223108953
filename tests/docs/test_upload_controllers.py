"""The table of aims in `docs/upload-controllers.md` is that of `flashcrowd traps --repeats 5`.

`FLASHCROWD_WRITE=1 pytest -m slow -n 0 tests/docs/test_upload_controllers.py` writes it into the
page. Runs that `results/traps` has are not made again.
"""

import os
import re
from pathlib import Path

import pytest

from flashcrowd import traps
from flashcrowd.traps import words

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "upload-controllers.md"
TABLE = re.compile(r"(?<=<!-- traps -->\n\n).*?(?=\n<!-- end of traps -->)", re.S)
HEADS = ("download", "upload", "delay", "start", "step", "below half", "all")


def table(rows: list[list[str]]) -> str:
    """Rows of `words.aims` as the page has them."""
    head = [f"of {len(traps.names())} traps", *HEADS]
    body = [[name if name == "oracle" else f"`{name}`", *met] for name, *met in rows]
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_table_is_what_the_traps_show() -> None:
    found = traps.conduct(out=ROOT / "results" / "traps", repeats=5)
    text = PAGE.read_text(encoding="utf-8")
    fresh = TABLE.sub(table(list(words.aims(found))), text)
    if os.environ.get("FLASHCROWD_WRITE"):
        PAGE.write_text(fresh, encoding="utf-8")
    else:
        assert fresh == text
