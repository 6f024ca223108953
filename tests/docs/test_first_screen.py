"""The first screen of autolimit's page has all that a home needs, in the program's own words."""

from pathlib import Path

from flashcrowd.autolimit.delays import Delays
from flashcrowd.autolimit.restore import in_words
from flashcrowd.autolimit.session import Status
from flashcrowd.autolimit.voice import line
from flashcrowd.client_api.address import Address
from flashcrowd.client_api.clients import CLIENTS

PAGE = Path(__file__).parents[2] / "docs" / "keep-downloads-alive.md"
SCREEN = 30
"""Lines."""


def test_the_first_screen_starts_stops_and_undoes() -> None:
    screen = "\n".join(PAGE.read_text(encoding="utf-8").splitlines()[:SCREEN])
    commands = [part for part in screen.split("`") if part.startswith("flashcrowd autolimit ")]
    assert {Address.parse(each.split()[2]).client for each in commands} == set(CLIENTS)
    for needed in ("Ctrl-C", "--restore", "--dry-run", f"`Restored: {in_words(None)}.`"):
        assert needed in screen


def test_the_line_that_it_shows_is_one_that_is_shown() -> None:
    delays = Delays()
    for number, delay_ms in enumerate((0, 50, 3, 60, 3, 0)):
        delays.note(number * 400_000_000, delay_ms * 1_000_000)
    status = Status(
        52_000, 0, 50_000, 50_000, delays.last, None, None, "holding", "at its share of the line",
        delays.median, delays.longest, delays.words(),
    )  # fmt: skip
    assert f"    {line(status)}\n" in PAGE.read_text(encoding="utf-8")
