"""A command line that cannot be understood, in the words of every other mistake: place, value,
what is allowed, a hint."""  # noqa: D205, D209

from __future__ import annotations

import shlex
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cyclopts import App, Argument, CycloptsError, validators
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from flashcrowd.base.errors import MISSING, Problem, StudyError, did_you_mean, one_of, quoted

_WORDS = {
    bool: "nothing, true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
    str: "a text",
}
_BOUNDS = {"gte": "at least", "gt": "more than", "lte": "at most", "lt": "less than"}


def told(error: CycloptsError, app: App) -> StudyError:
    """The error of a command line."""
    command = shlex.join([*app.name, *(error.command_chain or ())])
    problem = _problem(error)
    hint = " ".join(filter(None, (problem.hint, f"See {command} --help.")))
    return StudyError([Problem(problem.path, problem.value, problem.allowed, hint)], command)


def _problem(error: CycloptsError) -> Problem:
    match error:
        case MissingArgumentError():
            argument = typing.cast("Argument", error.argument)
            about = argument.parameter.help or ""
            allowed = ": ".join(filter(None, (_allowed(argument), about.rstrip("."))))
            return Problem(error.keyword or _name(argument), MISSING, allowed)
        case UnknownOptionError():
            names = _options(error.argument_collection)
            token = error.token.keyword or error.token.value
            return Problem(token, "", one_of(names), did_you_mean(token, names))
        case CoercionError(argument=Argument() as argument):
            token = error.token or next(iter(argument.tokens), None)
            place = (token and token.keyword) or _name(argument)
            # Before cyclopts 5 a flag's token has no value.
            given = (it.partition("=") for it in error.root_input_tokens or ())
            written = next((it for name, _, it in given if name == place), "")
            value = "" if token is None else quoted(token.value or written)
            return Problem(place, value, _allowed(argument, error.msg), _near(argument, token))
        case ValidationError(argument=Argument() as argument):
            token = next(iter(argument.tokens), None)
            place = (token and token.keyword) or _name(argument)
            said = error.exception_message
            value = "" if token is None else quoted(token.value)
            return Problem(
                place, value, _allowed(argument) if said.startswith("Must be ") else said
            )
        case RepeatArgumentError():
            return Problem(
                error.token.keyword or "",
                quoted(error.token.value),
                "one value: it is given more than once",
            )
        case UnknownCommandError(unused_tokens=[name, *_], app=App() as app):
            names = [it for it in app if not it.startswith("-")]
            return Problem(name, "", one_of(names, limit=len(names)), did_you_mean(name, names))
        case UnusedCliTokensError(unused_tokens=[first, *_]):
            return Problem(first, "", "nothing more: the command takes no further argument")
        case _:
            return Problem("the command line", "", str(error).rstrip("."))


def _name(argument: Argument) -> str:
    """An argument as the help names it."""
    keyword = argument.name
    positional = argument.field_info.is_positional
    return keyword.lstrip("-").upper() if positional else keyword


def _options(arguments: Iterable[Argument]) -> list[str]:
    return [name for it in arguments for name in it.names if name.startswith("--")]


def _allowed(argument: Argument, said: Any = None) -> str:
    """The values of an argument, by its own words if its converter has some."""
    words = str(said) if said else " or ".join(dict.fromkeys(_kinds(argument.hint)))
    bounds = [
        f"{text} {getattr(it, name):g}"
        for it in _validators(argument)
        if isinstance(it, validators.Number)
        for name, text in _BOUNDS.items()
        if getattr(it, name) is not None
    ]
    return f"{words}, {' and '.join(bounds)}" if bounds else words


def _validators(argument: Argument) -> tuple[Any, ...]:
    return typing.cast("tuple[Any, ...]", argument.parameter.validator)


def _kinds(hint: Any) -> Iterator[str]:
    """The types of a value, in words."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        yield one_of(map(str, arguments))
    elif origin is typing.Annotated:
        yield from _kinds(arguments[0])
    elif origin in (typing.Union, types.UnionType, list, tuple):
        for it in arguments:
            yield from _kinds(it)
    elif hint in _WORDS:
        yield _WORDS[hint]


def _near(argument: Argument, token: Any) -> str:
    """The nearest word of a choice."""
    hint = argument.hint
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    return did_you_mean(token.value, map(str, choices)) if token is not None else ""
