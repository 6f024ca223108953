"""Reads the TOML of a study file."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from flashcrowd.base import paths, toml_text
from flashcrowd.base.errors import MISSING, Problem, StudyError, visible
from flashcrowd.scenario.problems import shown
from flashcrowd.scenario.text_file import text_of

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")

_LONGEST_LINE = 200

_SHIPPED = {"studies": 2, "papers": 3}
"""Folders of studies that ship, and of how many parts a path to one is."""


def read_text(path: str | Path) -> str:
    """The text of a study file.

    Raises:
        StudyError: it cannot be read.
    """
    try:
        return text_of(Path(path))
    except OSError as error:
        problem = Problem(str(path), error.strerror or "unreadable", "a study file", _shipped(path))
        raise StudyError([problem], str(path)) from None
    except UnicodeDecodeError as error:
        wide = error.object.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "it looks like UTF-16; save it as UTF-8" if wide else ""
        problem = Problem(str(path), "not UTF-8", "a study file, a text in TOML", hint)
        raise StudyError([problem], str(path)) from None


def at_hand(path: Path) -> Path:
    """The file that ships where no such file is here, else the path.

    `studies/NAME.toml` and `papers/NAME/FILE.toml` ship.
    """
    from flashcrowd.study.catalogue import HOME  # late: it knows the engines, too

    own, parts = HOME / path, path.parts
    known = len(parts) == _SHIPPED.get(parts[0] if parts else "") and ".." not in parts
    if not known or path.suffix != ".toml" or not own.is_file():
        return path
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return own
    except OSError:  # reading it reports why
        pass
    return path


def _shipped(path: str | Path) -> str:
    """How to get a study that ships, if the name is one's and there is no such file."""
    from flashcrowd.study.catalogue import STUDIES  # late: it knows the engines, too

    name, missing = Path(path).name, not Path(path).exists()
    if not missing:
        return ""
    study = name.removesuffix(".toml")
    if (STUDIES / f"{study}.toml").is_file():
        return f"`flashcrowd init --template {study}` writes the one that ships"
    return "`flashcrowd list studies` has those that ship"


def parse_document(text: str, source: str) -> dict[str, object]:
    """The content of a study file, from its text.

    Raises:
        StudyError: it is no TOML, or has another format.
    """
    try:
        document = toml_text.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError([_syntax(str(error), text, source)], source) from None
    except (toml_text.TooDeep, toml_text.TooLong) as error:
        raise StudyError([toml_text.unfit(error, source)], source) from None
    if type(document.get("format")) is not int or document["format"] != 1:
        value = shown(document["format"]) if "format" in document else MISSING
        hint = "write `format = 1` at the top"
        raise StudyError([Problem("format", value, "1, the format of this version", hint)], source)
    return document


def _syntax(message: str, text: str, source: str) -> Problem:
    found = _PLACE.search(message)
    lines = text.split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    if found and found[1]:
        line, column = int(found[1]), int(found[2])
    shown_line = visible(_near(lines[line - 1], column)) if line <= len(lines) else ""
    hint = _in_words(_PLACE.sub("", message))
    if re.search(r"=\s*[\d.]+\s*[A-Za-z%]", shown_line):
        hint += '; texts and quantities stand in quotes, as in "400 ms"'
    return Problem(f"{source}:{line}:{column}", shown_line or "(nothing)", "TOML", hint)


def _near(line: str, column: int) -> str:
    """A line, or the part of a long one near a column."""
    begin = max(0, column - _LONGEST_LINE // 2) if len(line) > _LONGEST_LINE else 0
    part = line[begin : begin + _LONGEST_LINE].strip()
    return ("..." if begin else "") + part + ("..." if begin + _LONGEST_LINE < len(line) else "")


_WORDS = (
    (r"Cannot (?:declare|redefine namespace) (\(.*\))(?: twice)?", "the table {} is given already"),
    (r"Cannot mutate immutable namespace (\(.*\))", "the table {} was complete where it was given"),
    (r"Cannot overwrite a value", "this key has a value already"),
    (r"Duplicate inline table key (.*)", "the key {} stands twice between the braces"),
    (r"(?:Illegal|Found invalid) character (.*)", "{} may not stand here"),
    (r"Expected newline or end of document after a statement", "a line holds one value only"),
    (r"Expected '=' after a key in a key/value pair", "`=` and a value come after a key"),
    (r"Expected (\S+) at the end of (?:a table|an array) declaration", "{} ends a table's name"),
    (r"Expected (.*)", "{} is missing"),
    (
        r"Invalid statement",
        "a line is a key with a value, a table's name in brackets, or a comment",
    ),
    (
        r"Invalid initial character for a key part",
        "a key is letters, digits, - and _, or in quotes",
    ),
    (r"Invalid value", "a value is a text in quotes, a number, true, false, a list or a table"),
    (r"Invalid hex value", "a character by its number is \\uXXXX or \\UXXXXXXXX"),
    (r"Escaped character is not a Unicode scalar value", "there is no character of that number"),
    (r"Invalid date or datetime", "there is no such date"),
    (r"Unescaped '\\' in a string", "\\ is written \\\\, or the text in single quotes"),
    (r"Unterminated string", "the text has no closing quotes"),
    (r"Unclosed array", "the list has no closing bracket"),
    (r"Unclosed inline table", "the table has no closing brace"),
)
"""Messages of Python's reader, and the same for the author of a file."""


def _in_words(message: str) -> str:
    for pattern, words in _WORDS:
        match = re.fullmatch(pattern, message, re.S)
        if match:
            return words.format(*map(_named, match.groups()))
    return "it cannot be read from here on"


def _named(text: str) -> str:
    """A key, a tuple of keys or a character, as Python's reader prints it, for people."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, tuple):
        return paths.join(map(str, value))
    if value == "\n":
        return "the end of a line"
    return value if value.isprintable() and len(value) > 1 else visible(f'"{value}"')
