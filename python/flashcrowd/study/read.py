"""Reads the TOML of a study file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from flashcrowd.errors import MISSING, Problem, StudyError
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.text_file import text_of

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")

DEEPEST = 50
"""So deep may tables and lists stand in each other. A study needs eight levels."""


def read_text(path: str | Path) -> str:
    """The text of a study file.

    Raises:
        StudyError: it cannot be read.
    """
    try:
        return text_of(Path(path))
    except OSError as error:
        problem = Problem(str(path), error.strerror or "unreadable", "a study file")
        raise StudyError([problem], str(path)) from None
    except UnicodeDecodeError:
        problem = Problem(str(path), "not UTF-8", "a study file, a text in TOML")
        raise StudyError([problem], str(path)) from None


def parse_document(text: str, source: str) -> dict[str, Any]:
    """The content of a study file, from its text.

    Raises:
        StudyError: it is no TOML, or has another format.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError([_syntax(str(error), text, source)], source) from None
    except RecursionError:
        raise StudyError([_too_deep(source)], source) from None
    if not _shallow(document):
        raise StudyError([_too_deep(source)], source)
    if document.get("format") != 1:
        value = shown(document["format"]) if "format" in document else MISSING
        hint = "write `format = 1` at the top"
        raise StudyError([Problem("format", value, "1, the format of this version", hint)], source)
    return document


def _too_deep(source: str) -> Problem:
    allowed = f"tables and lists at most {DEEPEST} deep in each other"
    return Problem(source, "deeper", allowed)


def _shallow(document: Any) -> bool:
    """Whether nothing stands too deep in it; by levels, not by calls."""
    level = [document]
    for _ in range(DEEPEST + 1):
        tables = (it.values() if isinstance(it, dict) else it for it in level)
        level = [below for table in tables for below in table if isinstance(below, dict | list)]
        if not level:
            return True
    return False


def _syntax(message: str, text: str, source: str) -> Problem:
    found = _PLACE.search(message)
    lines = text.splitlines() or [""]
    line, column = len(lines), len(lines[-1]) + 1
    if found and found[1]:
        line, column = int(found[1]), int(found[2])
    shown_line = lines[line - 1].strip() if line <= len(lines) else ""
    hint = _PLACE.sub("", message)
    if re.search(r"=\s*[\d.]+\s*[A-Za-z%]", shown_line):
        hint += '; texts and quantities stand in quotes, as in "400 ms"'
    return Problem(f"{source}:{line}:{column}", shown_line, "TOML", hint)
