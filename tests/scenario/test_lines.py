"""A line in a few words: one grammar for studies, `init --line` and `autolimit --line`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from flashcrowd.autolimit.line import uplink
from flashcrowd.base.errors import StudyError
from flashcrowd.base.units import UnitError
from flashcrowd.cli import main
from flashcrowd.client_api.client import Refused
from flashcrowd.scenario.line import LINES, UP_FIRST, Access, Line, line_values
from flashcrowd.study import Study
from flashcrowd.study.template import study_text

ACCESS: TypeAdapter[Line | None] = TypeAdapter(Access)
SAME = ["5/50 Mbit/s", "5 / 50 Mbit/s", " 5/50Mbit/s", "up 5 Mbit/s, down 50 Mbit/s"]
WRONG = {
    "5/50": 'write "5/50 Mbit/s" or "5/50 kbit/s"',
    "5/50 Mbits": 'did you mean "5/50 Mbit/s"?',
    "5/50 MBit/s": 'did you mean "5/50 Mbit/s"?',
    "cable 5/51": 'did you mean "cable 5/50"?',
    "up 5 Mbit/s": "the rate down is missing",
    "up 5, down 50 Mbit/s": 'write "5 kB/s" or "5 Mbit/s"',
}


@pytest.mark.parametrize("text", SAME)
def test_every_spelling_is_the_same_line(text: str) -> None:
    wanted = Line.model_validate({"up": "5 Mbit/s", "down": "50 Mbit/s"})
    assert ACCESS.validate_python(text) == wanted
    assert ACCESS.validate_python({"line": text}) == wanted
    assert uplink(text) == 625_000
    study = Study.from_dict(tomllib.loads(study_text("bufferbloat", text.strip())))
    assert study.network.groups["home"].access is not None
    assert study.network.groups["home"].access.up == wanted.up


def test_an_uplink_alone_is_enough_where_only_that_counts() -> None:
    assert uplink("up 5 Mbit/s") == uplink("cable 5/50") == 625_000
    assert line_values("up 5 Mbit/s", down_too=False) == {"up": "5 Mbit/s"}


@pytest.mark.parametrize("text", LINES)
def test_names_and_the_keys_beside_them_hold(text: str) -> None:
    assert line_values(text) == LINES[text]
    beside = ACCESS.validate_python({"line": "5/50 Mbit/s", "delay": "10 ms", "up": "6 Mbit/s"})
    assert beside is not None
    assert (str(beside.up), str(beside.down), str(beside.delay)) == (
        "6 Mbit/s",
        "50 Mbit/s",
        "10 ms",
    )


@pytest.mark.parametrize(("text", "hint"), WRONG.items())
def test_what_is_no_line_is_told_alike_everywhere(
    text: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnitError) as parsed:
        line_values(text)
    assert parsed.value.hint == hint
    assert '"5/50 Mbit/s"' in parsed.value.allowed
    with pytest.raises(StudyError, match="--line") as asked:
        study_text("bufferbloat", text)
    assert hint in str(asked.value)
    if "down is missing" not in hint:
        with pytest.raises(Refused) as refused:
            uplink(text)
        assert hint in str(refused.value)
    with pytest.raises(ValidationError):
        ACCESS.validate_python(text)
    file = tmp_path / "study.toml"
    file.write_text(study_text("bufferbloat").replace('"cable 5/50"', f'"{text}"'))
    with pytest.raises(SystemExit):
        main(["check", str(file)])
    said = capsys.readouterr().err
    assert f'network.groups.home.access.line\n    value    "{text}"\n' in said
    assert hint in said


@pytest.mark.parametrize("text", ["50/10 Mbit/s", "10/50 Mbit/s", "up 1 Mbit/s, down 8 Mbit/s"])
def test_a_first_study_says_which_rate_is_which(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    with pytest.raises(SystemExit):
        main(["init", str(path), "--template", "crowd", "--line", text])
    said = capsys.readouterr()
    rates = line_values(text)
    words = f"up {rates['up']}, down {rates['down']}"
    assert f"Line: {words}." in said.out
    study = Study.load(path)
    assert f'access = "{words}"' in path.read_text()
    assert (UP_FIRST in said.err) == text.startswith("50")
    assert [it for it in study.warnings() if it.allowed == UP_FIRST] == []


@pytest.mark.parametrize("text", ["50/10 Mbit/s", "10/50 Mbit/s"])
def test_a_pair_of_rates_with_more_up_than_down_is_doubted(text: str) -> None:
    study = Study.from_dict(tomllib.loads(study_text("crowd", text)))
    told = [it.value for it in study.warnings() if it.allowed == UP_FIRST]
    assert told == ([f'"{text}"'] if text.startswith("50") else [])


@pytest.mark.parametrize("name", LINES)
def test_no_line_with_a_name_is_doubted(name: str) -> None:
    study = Study.from_dict(tomllib.loads(study_text("crowd", name)))
    assert [it for it in study.warnings() if it.allowed == UP_FIRST] == []
