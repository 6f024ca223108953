"""The page of the crates (docs/rust.md)."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The page says why.
LEFT_OUT = {"oracle", "python"}


def test_every_crate_is_listed_once() -> None:
    text = (ROOT / "docs/rust.md").read_text(encoding="utf-8")
    crates = {it.parent.name for it in ROOT.glob("crates/*/Cargo.toml")}
    lines = re.findall(r"^- <a href=.rust/flashcrowd_(\w+)/index.html.>.*</a>: \w.*$", text, re.M)
    assert sorted(lines) == sorted(crates - LEFT_OUT)
