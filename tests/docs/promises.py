"""The sentences of README and docs that promise, and the tests that hold them: `promises.toml`."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("promises.toml")

PROMISES = re.compile(
    r"^bound \||\b(?:never|always|at most|no more than|exit status|status (?:is )?[0-9]"
    r"|within (?:about )?(?:a|one|two|three|half a|[0-9][0-9.,]*) (?:m?s|second|minute|hour)s?)\b",
    re.IGNORECASE,
)
"""What a sentence has that promises something without an end: a bound, a time, an exit status."""

OTHERS = ("measured", "others", "advice", "definition", "model")
"""Why a sentence with such a word is no promise: a number that was measured, what other programs
or papers do, advice, the meaning of a setting, a rule that the simulation imitates."""

WORDS = 3
"""A part of a sentence that is shorter does not say which one it is."""

_COLUMNS = ("exit status", "bound")
"""Columns whose rows promise something."""

_CLAIMS = re.compile(r"^<!-- claims of .*?^<!-- end of claims -->$", re.DOTALL | re.MULTILINE)
"""What papers say."""

_FENCE = re.compile(r"```|~~~")
_ITEM = re.compile(r"\s*(?:[-*]|[0-9]+\.) ")
_LINK = re.compile(r"(?<=\])\([^)]*\)")
_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][)*]))\s+(?=[*_`\"(\[]*[A-Z0-9`~])")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, and the rows of its tables; no code, headings, claims of papers.

    Each row of a table with a column "exit status" or "bound" is about one.
    """
    paragraph: list[str] = []
    fenced = False
    table: str | None = None
    for line in [*_CLAIMS.sub("", text).split("\n"), ""]:
        fence = _FENCE.match(line.lstrip())
        item = _ITEM.match(line)
        row = line.lstrip().startswith("|")
        code = line.startswith("    ") and not paragraph
        if fence or fenced or item or row or code or line.startswith("#") or not line.strip():
            yield from _END.split(" ".join(" ".join(paragraph).split())) if paragraph else ()
            paragraph = []
            fenced ^= bool(fence)
            if not row or fenced:
                table = None
            elif table is None:
                table = next((f"{it} " for it in _COLUMNS if f"| {it} |" in line), "")
            elif "---" not in line:
                yield table + " ".join(line.split())
            if not item:
                continue
        paragraph.append(line[item.end() :] if item else line)


def pages() -> list[str]:
    """README and the pages of docs, by their paths."""
    docs = sorted(path for path in (ROOT / "docs").rglob("*.md") if "site" not in path.parts)
    return ["README.md", *(str(path.relative_to(ROOT)) for path in docs)]


def listed(path: Path = LIST) -> Mapping[str, Mapping[str, str | Sequence[str]]]:
    """For each page: a part of a sentence, and its tests, or why it is no promise."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def mistakes(page: str, text: str, entries: Mapping[str, str | Sequence[str]]) -> list[str]:
    """What is wrong with the list's entries for a page."""
    found = list(sentences(text))
    wrong: list[str] = []
    named: set[int] = set()
    for part, holders in entries.items():
        places = [place for place, sentence in enumerate(found) if part in sentence]
        if not places or len(part.split()) < WORDS:
            wrong.append(f"{page}: {WORDS} words or more of a sentence are needed, not {part!r}")
        named.update(places)
        for holder in [holders] if isinstance(holders, str) else holders:
            if holder not in OTHERS and not collected(holder):
                wrong.append(f"{page}: {part!r}: no such test is collected: {holder}")
    wrong += [
        f"{page}: {LIST.name} has no test for {sentence!r}: test it, or take it back"
        for place, sentence in enumerate(found)
        if place not in named and PROMISES.search(_LINK.sub("", sentence))
    ]
    return wrong


def collected(test: str) -> bool:
    """Whether `FILE::NAME` is a test that pytest or cargo finds."""
    name, _, function = test.partition("::")
    path = ROOT / name
    if not path.is_file():
        return False
    if path.suffix == ".py":
        return path.name.startswith("test_") and function in _functions(path)
    return bool(re.search(_RUST % re.escape(function), _rust(path))) and _known(path)


_RUST = r"#\[(?:[a-z_]+::)?test\b[^\n]*\]\s*(?:#\[[^\n]*\]\s*|//[^\n]*\s*)*(?:async )?fn %s\("


@cache
def _functions(path: Path) -> set[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {it.name for it in body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)
            and it.name.startswith("test_")}  # fmt: skip


@cache
def _rust(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _known(path: Path) -> bool:
    """Whether the file above names a file as one of its modules."""
    above = [path.parent / it for it in ("mod.rs", "main.rs", "lib.rs")]
    above += [path.parent.with_suffix(".rs")]
    of_cargo = path.parent.name == "tests" or path.name in ("main.rs", "lib.rs", "mod.rs")
    word = re.compile(rf"\bmod {re.escape(path.stem)};")
    return of_cargo or any(it.is_file() and word.search(_rust(it)) for it in above)
