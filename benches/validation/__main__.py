"""Writes docs/validation.md, and README's table of it: `make validation`."""

from __future__ import annotations

import re
from pathlib import Path

from benches.validation.page import page, summary
from benches.validation.points import read

ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "validation.md", ROOT / "README.md"
TABLE = re.compile(r"^\| model \| compared with \|.*\n(?:\|.*\n)+", re.M)


def main() -> None:
    """Writes both."""
    data = read()
    PAGE.write_text(page(data), encoding="utf-8")
    README.write_text(readme(summary(data)), encoding="utf-8")


def readme(table: str) -> str:
    """README with this table of how sure the answers are."""
    return TABLE.sub(lambda _: table, README.read_text(encoding="utf-8"), count=1)


if __name__ == "__main__":
    main()
