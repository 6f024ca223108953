"""Measures how a text reads: long sentences, crowds of numbers, wide cells, words not used.

`python -m tests.docs.voice FILE...` prints each offence of Markdown files with its line, and gives
1 if there is one. The limits are in `voice.toml`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

RULES = Path(__file__).with_name("voice.toml")

CODE = "`…`"
"""Stands for code in a line: one word, no number."""

_END = re.compile(r"[.!?:;][\"'”’)\]*]*\s+")
_WORD = re.compile(r"\w")
_NUMBER = re.compile(r"(?<![\w.,/-])[-−+±]?\d[\d,.]*+(?:[ \u202f\u00a0]\d{3}\b)*(?!\w)")
_MONTH = "(?:Jan|Febr|March|April|May|June|July|Aug|Sept|Oct|Nov|Dec)[a-z]*"
_DATE = rf"(?:\d{{1,2}} )?{_MONTH} \d{{4}}|\d{{4}}-\d\d-\d\d(?:T\S+)?"


@dataclass(frozen=True)
class Passage:
    """A paragraph, an item of a list, a heading, or a cell of a table; code is `CODE`.

    Attributes:
        where: its line in a file, or the name of an option.
        kind: ``prose``, ``heading``, ``cell``, or ``answer``, whose numbers are not counted.
    """

    where: str
    text: str
    kind: str = "prose"

    def sentences(self) -> Iterator[Passage]:
        """Its sentences; a full stop, a colon and a semicolon end one."""
        place = 0
        for part in [*_END.finditer(self.text), None]:
            text = self.text[place : part.end() if part else None]
            if _WORD.search(text):
                yield Passage(self._line(place), " ".join(text.split()), self.kind)
            place = part.end() if part else place

    def _line(self, place: int) -> str:
        if not self.where.isdecimal():
            return self.where
        return str(int(self.where) + self.text.count("\n", 0, place))


@dataclass(frozen=True)
class Rules:
    """What `voice.toml` says."""

    limits: Mapping[str, int]
    names: re.Pattern[str]
    instead: Mapping[re.Pattern[str], str]
    instead_in_prose: Mapping[re.Pattern[str], str]
    not_yet: Mapping[str, str]


@cache
def rules() -> Rules:
    """The rules of `voice.toml`."""
    read: dict[str, Any] = tomllib.loads(RULES.read_text(encoding="utf-8"))
    names = "|".join(map(re.escape, read["names"]))
    return Rules(
        read["limits"],
        re.compile(rf"\b(?:{names})[ -]\d[\w.]*(?:(?:,| and| to|–) ?\d[\w.]*)*|{_DATE}"),
        _patterns(read["instead"]),
        _patterns(read["instead_in_prose"]),
        read.get("not_yet", {}),
    )


def _patterns(table: Mapping[str, str]) -> Mapping[re.Pattern[str], str]:
    return {re.compile(pattern, re.IGNORECASE): then for pattern, then in table.items()}


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return sum(1 for part in sentence.split() if _WORD.search(part) or CODE in part)


def numbers(sentence: str) -> int:
    """How many numbers a sentence has, without dates and the names of things."""
    return len(_NUMBER.findall(rules().names.sub("", sentence)))


def markdown(text: str) -> Iterator[Passage]:
    """The passages of a Markdown text, without code and comments."""
    row, kind = 0, "prose"
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        row = token.map[0] if token.map else row
        match token.type:
            case "heading_open":
                kind = "heading"
            case "th_open" | "td_open":
                kind = "cell"
            case "heading_close" | "th_close" | "td_close":
                kind = "prose"
            case "inline":
                yield Passage(str(row + 1), _visible(token.children or ()), kind)
            case _:
                pass


def _visible(tokens: Iterable[Token]) -> str:
    breaks = {"softbreak": "\n", "hardbreak": "\n", "code_inline": CODE, "image": ""}
    return "".join(breaks.get(it.type, it.content) for it in tokens if it.type != "html_inline")


def plain(where: str, text: str) -> Passage:
    """A text of a terminal or a page as a passage; code is between backquotes."""
    return Passage(where, re.sub(r"`[^`]*`", CODE, text))


def offences(passages: Iterable[Passage]) -> list[str]:
    """What is wrong with a text: a line for each offence, with its place."""
    found: list[str] = []
    said: list[Passage] = []
    limits = rules().limits
    for passage in passages:
        sentences = list(passage.sentences())
        for sentence in sentences:
            found += _unused(sentence)
        if passage.kind in {"prose", "answer"}:
            said += sentences
        elif passage.kind == "cell" and len(passage.text) > limits["cell"]:
            found.append(f"{passage.where}: a cell of {len(passage.text)} characters")
    for sentence in said:
        if sentence.kind == "prose" and (count := numbers(sentence.text)) > limits["numbers"]:
            found.append(f"{sentence.where}: {count} numbers: {sentence.text}")
    return [*found, *_lengths(said)]


def _unused(sentence: Passage) -> Iterator[str]:
    prose = rules().instead_in_prose if sentence.kind == "prose" else {}
    for pattern, instead in {**rules().instead, **prose}.items():
        if hit := pattern.search(sentence.text):
            phrase = hit[0] if hit[0] != sentence.text else f"{hit[0].split()[0]} …"
            yield f"{sentence.where}: {phrase!r} ({instead}): {sentence.text}"


def _lengths(said: Sequence[Passage]) -> Iterator[str]:
    limits, lengths = rules().limits, [words(it.text) for it in said]
    if lengths and (half := median(lengths)) > limits["median"]:
        yield f"{said[0].where}: half of the sentences have {half:g} words or more"
    long = sum(1 for it in lengths if it > limits["ninth"])
    crowded = 10 * long > len(lengths)
    bound = limits["ninth"] if crowded else limits["longest"]
    if crowded:
        yield f"{said[0].where}: {long} of {len(lengths)} sentences have over {bound} words"
    for sentence, length in zip(said, lengths, strict=True):
        if length > bound:
            yield f"{sentence.where}: {length} words: {sentence.text}"


def main(files: Sequence[str]) -> int:
    """Prints what is wrong with files; 1 if anything is."""
    found = [
        f"{file}:{offence}"
        for file in files
        for offence in offences(markdown(Path(file).read_text(encoding="utf-8")))
    ]
    print("\n".join(found or ["All is as voice.toml wants it."]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
