"""A command line that cannot be understood: every command says so in the same form."""

import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from cyclopts import App

from flashcrowd.cli import app, main

FORM = re.compile(
    r"flashcrowd[ a-z]*: 1 problem\n\n  (?P<place>\S.*)\n"
    r"(?:    value    (?P<value>\S.*)\n)?"
    r"    allowed  (?P<allowed>\S.*)\n    hint     (?P<hint>\S.*)\n"
)


def commands(of: App, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    """Every command by its words."""
    for name in of:
        if not name.startswith("-"):
            one = of[name]
            words = (*before, name)
            below = [*commands(one, words)]
            yield from below or [(words, one)]


COMMANDS = dict(commands(app))


def needed(command: App) -> list[str]:
    """Some value for everything without which a command does not begin."""
    found = []
    for it in command.assemble_argument_collection():
        if it.required:
            found += ["x"] if it.field_info.is_positional else [it.name, "x"]
    return found


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """What is said of a command line that is wrong."""
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    out, err = capsys.readouterr()
    found = FORM.fullmatch(err)
    assert (caught.value.code, out) == (2, "")
    assert found, err
    assert found["hint"].endswith(" --help.")
    return found.groupdict()


@pytest.fixture(params=COMMANDS, ids=" ".join)
def command(request: pytest.FixtureRequest) -> tuple[tuple[str, ...], App]:
    return request.param, COMMANDS[request.param]


def test_an_option_that_is_none_is_told_with_those_that_are(command: Any, capsys: Any):
    words, _ = command
    said = refused(capsys, *words, "--no-such-option-at-all")
    assert said["place"] == "--no-such-option-at-all"
    assert "--" in said["allowed"] or said["allowed"] == "nothing"


def test_every_option_without_its_value_names_itself_and_what_it_takes(command: Any, capsys: Any):
    words, one = command
    for argument in one.assemble_argument_collection():
        names = [name for name in argument.names if name.startswith("--")]
        if names and argument.token_count()[0]:
            said = refused(capsys, *words, names[0])
            assert (said["place"], said["value"]) == (names[0], "(missing)")


def test_every_number_that_is_none_is_told_with_what_is_allowed(command: Any, capsys: Any):
    words, one = command
    for argument in one.assemble_argument_collection():
        kinds = {argument.hint, *typing.get_args(argument.hint)}
        names = [name for name in argument.names if name.startswith("--")]
        if names and kinds & {int, float}:
            said = refused(capsys, *words, *needed(one), names[0], "x1")
            assert (said["place"], said["value"]) == (names[0], '"x1"')
            assert "number" in said["allowed"]
        if names and int in kinds and float not in kinds:
            for text in ("1.5", "1e0", "0x1"):
                said = refused(capsys, *words, *needed(one), names[0], text)
                assert (said["place"], said["value"]) == (names[0], f'"{text}"')
                assert "whole number" in said["allowed"]


@pytest.mark.parametrize(
    ("words", "place", "value", "allowed", "hint"),
    [
        ("run", "STUDY", "(missing)", "a path: The study file", ""),
        ("chek", "chek", None, "one of init, run", 'did you mean "check"?'),
        ("utp sent", "sent", None, "one of serve, send", 'did you mean "send"?'),
        ("run s.toml --job 2", "--job", None, "one of --study", 'did you mean "--jobs"?'),
        ("run s.toml --jobs 0", "--jobs", '"0"', "a whole number, at least 1", ""),
        ("run s.toml --jobs 1.5", "--jobs", '"1.5"', "a whole number, at least 1", ""),
        ("run s.toml --repeats x", "--repeats", '"x"', 'a whole number; or "until 2 %"', ""),
        ("run s.toml --jobs 1 --jobs 2", "--jobs", '"2"', "one value", ""),
        ("check a.toml b.toml", "b.toml", None, "nothing more", ""),
        ("reproduce --quick=3", "--quick", '"3"', "nothing, true or false", ""),
        ("serve . --reader thread", "--reader", '"thread"', "one of auto", '"threads"?'),
        ("serve . --stall-timeout 0", "--stall-timeout", '"0"', "a number, more than 0", ""),
    ],
)
def test_a_wrong_word_is_told_with_place_value_allowed_and_hint(
    words: str, place: str, value: str | None, allowed: str, hint: str, capsys: Any
):
    said = refused(capsys, *words.split())
    assert (said["place"], said["value"]) == (place, value)
    assert said["allowed"].startswith(allowed)
    assert hint in said["hint"]
