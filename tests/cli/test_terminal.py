"""What comes from elsewhere reaches a terminal as words: no control character goes through."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from flashcrowd.base import terminal
from flashcrowd.base.errors import Problem, StudyError, is_plain
from flashcrowd.cli import main

BAD = "\x1b]0;owned\x07\x1b[2J\x9b2J\r\x08\u202e\x00"


def _left(text: str) -> list[str]:
    """Characters that are neither plain nor a line's end."""
    return [char for char in text if char not in "\n\t" and not is_plain(char)]


@given(st.text())
def test_no_character_goes_through_that_is_not_plain(text: str) -> None:
    shown = terminal.plain(text)
    assert not _left(shown)
    assert terminal.plain(shown) == shown
    if not _left(text):
        assert shown == text


@given(st.text(alphabet=st.sampled_from("\x1b[]0;2JmhlAK?25\r\n\ta\x07\x9b\u202e")))
def test_rich_may_colour_and_draw_again_and_nothing_else(text: str) -> None:
    stream = io.StringIO()
    terminal.Plain(stream).rich_proxied_file.write(text)  # pyright: ignore[reportArgumentType]
    assert not _left(terminal._OWN.sub("", stream.getvalue()))


def _table() -> Table:
    table = Table(BAD, title=BAD, caption=BAD)
    table.add_row(BAD)
    table.add_row(Text(BAD, style="bold"))
    return table


@pytest.mark.parametrize(
    "shown",
    [
        BAD,
        Text(BAD),
        _table(),
        Panel(BAD, title=Text(BAD)),
        Syntax(f"a = '{BAD}'", "toml"),
        StudyError([Problem(BAD, BAD, BAD, BAD)], BAD),
    ],
    ids=["text", "styled", "table", "panel", "syntax", "error"],
)
def test_whatever_rich_lays_out(shown: object) -> None:
    stream = io.StringIO()
    made = terminal.console(file=stream, force_terminal=True, color_system="truecolor", width=200)
    made.print(shown)
    words = terminal._OWN.sub("", stream.getvalue())
    assert "owned" in words
    assert not _left(words)


def test_a_bar_that_is_drawn_again() -> None:
    stream = io.StringIO()
    made = terminal.console(file=stream, force_terminal=True, width=100)
    with Progress(console=made) as progress:
        progress.add_task(BAD, total=3)
        progress.console.print(BAD)
    assert "\x1b]" not in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()


def test_a_bar_on_the_streams_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    with terminal.guarded():
        made = terminal.console(stderr=True, force_terminal=True, width=100)
        # While it is there, rich has proxies for both streams.
        with Progress(console=made) as progress:
            progress.add_task(BAD, total=3)
            print(BAD)
    assert "\x1b[2K" in stream.getvalue()
    assert "u001b[2K" not in stream.getvalue()
    assert not _left(terminal._OWN.sub("", stream.getvalue()))


def test_there_is_one_maker_of_consoles() -> None:
    home = Path(terminal.__file__).parents[1]
    makers = {
        str(file.relative_to(home))
        for file in home.rglob("*.py")
        if " Console(" in file.read_text(encoding="utf-8").replace("(Console(", " Console(")
    }
    assert makers == {"store/html.py"}


@pytest.mark.parametrize(
    "words",
    [
        ["check", f"/tmp/{BAD[:-1]}.toml"],
        ["explain", BAD[:-1]],
        ["check", "STUDY", "--set", f"network.{BAD[:-1]}=3"],
        ["check", "STUDY", "--set", f"network.rtt={BAD[:-1]}"],
        ["check", "FILE"],
        ["check", "KEY"],
        ["run", "STUDY", "--out", f"{BAD[:-1]}"],
        ["report", f"{BAD[:-1]}"],
        ["compare", f"{BAD[:-1]}", "b"],
        ["merge", "a", f"{BAD[:-1]}"],
        ["fetch", f"http://127.0.0.1:9/{BAD[:-1]}"],
        ["nonsense", BAD[:-1]],
        ["list", BAD[:-1]],
        ["utp", "send", BAD[:-1]],
    ],
)
def test_commands_in_a_terminal(words: list[str], tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    study.write_text("format = 1\n[workloads]\n")
    file, key = tmp_path / "file.toml", tmp_path / "key.toml"
    file.write_text('format = 1\n[network]\nrtt = { file = "\\u001b]0;x\\u0007\\u001b[2J" }\n')
    key.write_text('format = 1\n[[sweep]]\n"network.\\u001b]0;x\\u0007" = [1]\n')
    names = {"STUDY": str(study), "FILE": str(file), "KEY": str(key)}
    theirs, ours = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "flashcrowd", *(names.get(it, it) for it in words)],
        stdin=subprocess.DEVNULL, stdout=ours, stderr=ours, cwd=tmp_path,
    )  # fmt: skip
    os.close(ours)
    said = b""
    while True:
        try:
            part = os.read(theirs, 65536)
        except OSError:  # the last one who wrote has gone
            break
        if not part:
            break
        said += part
    os.close(theirs)
    assert process.wait(60) in (1, 2)
    text = said.decode(errors="replace").replace("\r\n", "\n")
    assert "Traceback" not in text
    assert not _left(terminal._OWN.sub("", text))
    assert "\r" not in text


def test_the_streams_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    out, error = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    with pytest.raises(SystemExit):
        main(["explain", BAD])
    assert (sys.stdout, sys.stderr) == (out, error)
    assert "owned" in error.getvalue() + out.getvalue()
    assert not _left(error.getvalue() + out.getvalue())


def test_other_makers_of_consoles_write_through_the_filter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with terminal.guarded():
        Console(force_terminal=True, color_system="standard").print(Text(BAD, style="red"))
    assert "\x1b[31m" in out.getvalue()
    assert not _left(terminal._OWN.sub("", out.getvalue()))
