"""Which rules of plain English a sentence of a report breaks."""

from __future__ import annotations

import re

MOST_WORDS = 45
MOST_DIGITS = 4

BANNED = (
    "comparison", "exclude", "clear", "do not differ", "interval", "told", "beside",
    "a up ", "a upl", "n =", "nobody", "  ", "None", "nan", " ,", "..",
)  # fmt: skip
"""Phrases that no sentence of an answer has."""

NUMBER = re.compile(r"(?<![\w.-])\d[\d\u202f]*(?:\.\d+)?(?![\w.-])")

UNIT = re.compile(
    r" (?:%|[mµ]?s|min|h|[kMG]?B(?:/s)?|[kMG]?bit/s|MB/s|packets|units|times|runs?|others?|more)\b"
    r"| %"
)


def breaches(sentence: str) -> list[str]:
    """What is wrong with a sentence; nothing if it keeps to the voice."""
    found = [f"banned: {phrase!r}" for phrase in BANNED if phrase in sentence]
    if len(sentence.split()) > MOST_WORDS:
        found.append(f"{len(sentence.split())} words")
    if not sentence.endswith(".") or not (sentence[0].isupper() or sentence[0].isdigit()):
        found.append("no sentence")
    for number in NUMBER.findall(sentence):
        digits = number.replace("\u202f", "").replace(".", "").lstrip("0")
        if len(digits.rstrip("0") if "." not in number else digits) > MOST_DIGITS:
            found.append(f"digits: {number}")
    return found
