"""`flashcrowd init`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.base.errors import did_you_mean
from flashcrowd.base.units import Rate, UnitError
from flashcrowd.scenario import LINES
from flashcrowd.scenario.line import RATES, UP_FIRST, line_values
from flashcrowd.study import Study
from flashcrowd.study.catalogue import STUDIES
from flashcrowd.study.read import parse_document
from flashcrowd.study.template import (
    LINE,
    TEMPLATES,
    Template,
    companions,
    names,
    study_text,
    written,
    written_beside,
)


def init(
    file: Annotated[
        Path | None, Parameter(help="The study file to write; the template's name if not given.")
    ] = None,
    *,
    template: Annotated[
        str | None,
        Parameter(
            help="What to start from: " + ", ".join(TEMPLATES) + ", or a study of "
            "`flashcrowd list studies`. Without, three questions are asked."
        ),
    ] = None,
    line: Annotated[
        str | None,
        Parameter(
            help=f"A line of `flashcrowd list lines`, or {RATES}; if not given, {LINE} or the "
            "template's."
        ),
    ] = None,
    with_: Annotated[
        list[str],
        Parameter(
            name="--with",
            negative=(),
            help="A client or transport to compare. May be repeated.",
        ),
    ] = [],  # noqa: B006
) -> int:
    """Write a first study: commented, correct, and run in seconds.

    In a terminal it asks what you want to know, over which line, and with which clients or
    transports. A file that is there is never overwritten.

    Exit status: 0 written; 2 nothing written: a wrong name, a file in the way, or no terminal.
    """
    if template is None:
        if not sys.stdin or not sys.stdin.isatty():
            options = ", ".join(names())
            print(f"no terminal to ask in; --template names one of {options}", file=sys.stderr)
            return 2
        try:
            template, line, with_ = _asked(line, with_)
        except EOFError:
            print("\nNothing was written.", file=sys.stderr)
            return 2
    if line is not None and line not in LINES:
        line = _understood(line)
    text = study_text(template, line, with_)
    path = file or Path(f"{template}.toml")
    beside = companions(template)
    directory = STUDIES if beside else "."
    Study.from_dict(parse_document(text, str(path)), place=str(path), directory=directory)
    written(path, text)
    for companion in beside:
        written_beside(path, companion)
    name = shlex.quote(str(path))
    print(f"Wrote {path}. Go on with:")
    print(f"  flashcrowd check {name}\n  flashcrowd run {name} --report")
    return 0


def _understood(line: str) -> str:
    """A line in its own words with each rate by its way, as providers name them down first."""
    try:
        rates = line_values(line)
    except UnitError:
        return line  # the template refuses it
    words = f"up {rates['up']}, down {rates['down']}"
    print(f"Line: {words}.")
    if Rate(rates["up"]) > Rate(rates["down"]):
        print(f"warning: {UP_FIRST}", file=sys.stderr)
    return words


def _asked(line: str | None, chosen: list[str]) -> tuple[str, str, list[str]]:
    """Template, line, and clients or transports; what was given is not asked for.

    Raises:
        EOFError: the input has ended.
    """
    questions = {name: one.question for name, one in TEMPLATES.items()}
    template = TEMPLATES[_one("What do you want to know?", questions, next(iter(TEMPLATES)))]
    line = line or _one("Over which line?", dict.fromkeys(LINES, ""), template.line, _is_line)
    if not template.choices():
        return template.name, line, chosen
    return template.name, line, chosen or _several(template)


def _several(template: Template) -> list[str]:
    question = f"With which {template.what}? Several with commas between them."
    return _answers(question, template.choices(), ", ".join(template.usual))


def _is_line(text: str) -> bool:
    try:
        return bool(line_values(text))
    except UnitError:
        return False


def _one(
    question: str,
    options: Mapping[str, str],
    usual: str,
    fits: Callable[[str], bool] = lambda word: False,
) -> str:
    while len(found := _answers(question, options, usual, fits)) != 1:
        print("One, please.")
    return found[0]


def _answers(
    question: str,
    options: Mapping[str, str],
    usual: str,
    fits: Callable[[str], bool] = lambda word: False,
) -> list[str]:
    """Asks until every answer is one of the options, by its name or number, or fits."""
    wide = max(map(len, options))
    print(f"\n{question}")
    for number, (name, sentence) in enumerate(options.items(), 1):
        print(f"  {number:>2}  {name:<{wide}}  {sentence}".rstrip())
    while True:
        words = [word.strip() for word in (input(f"[{usual}] ") or usual).split(",")]
        numbered = dict(zip(map(str, range(1, len(options) + 1)), options, strict=True))
        found = list(dict.fromkeys(numbered.get(word, word) for word in words))
        wrong = next((word for word in found if word not in options and not fits(word)), None)
        if wrong is None:
            return found
        hint = did_you_mean(wrong, options)
        print(f"There is no {wrong}" + (f"; {hint}" if hint else "."))
