"""What autolimit says that it does: each state is explained, and a log has what lasts."""

from pathlib import Path

import pytest

from flashcrowd.autolimit import states
from flashcrowd.autolimit.session import Status
from flashcrowd.autolimit.voice import Voice
from flashcrowd.cli.explain import explain

SECOND = 10**9
PAGE = Path(__file__).parents[2] / "docs" / "keep-downloads-alive.md"


def test_the_page_has_every_state() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("<!-- states -->")[2].partition("<!-- end of states -->")[0]
    rows = [f"| `{it.phase}` | {it.reason} | {it.meaning} |" for it in states.ALL]
    assert table.split("\n")[4:-2] == rows


def test_a_reason_is_told_by_one_state() -> None:
    assert len({it.reason for it in states.ALL}) == len(states.ALL)


@pytest.mark.parametrize("state", states.ALL, ids=lambda it: it.reason)
def test_explain_finds_every_state(state: states.State, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (state.phase, state.reason, state.reason.capitalize()):
        assert explain(words) == 0
        assert state.meaning in capsys.readouterr().out


def _logged(phases: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The phases in the log of these, each for so many seconds."""
    voice, now = Voice(as_json=False), 0
    for phase, seconds in phases:
        for _ in range(seconds):
            now += SECOND
            voice.status(now, Status(None, None, None, None, None, None, None, phase, "why"))
    return [it.split("  ")[-1].partition(":")[0] for it in capsys.readouterr().out.splitlines()]


def test_a_log_has_the_phases_that_last(capsys: pytest.CaptureFixture[str]) -> None:
    lasting = [("learning", 15), ("raising", 20), ("holding", 20)]
    assert _logged(lasting, capsys) == ["learning", "raising", "holding"]


def test_a_log_of_phases_that_alternate_has_a_line_per_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(_logged([("draining", 8), ("holding", 6)] * 30, capsys)) == 7
