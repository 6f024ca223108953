"""What is removed where anybody may write, and what never is."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flashcrowd.clients import elsewhere
from flashcrowd.emulation import scratch

LEFT = f"{scratch.PREFIX}left"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are kept."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def session() -> Iterator[Path]:
    """What Transmission leaves of a session."""
    path = Path(f"/tmp/tr_session_id_{secrets.token_hex(24)}")
    path.touch()
    yield path
    path.unlink(missing_ok=True)


def _left(temporary: Path) -> Path:
    """The folder of a peer, in what a killed process left."""
    (temporary / LEFT).mkdir(mode=0o700)
    peer = temporary / LEFT / "torrent" / "peer-3"
    peer.mkdir(parents=True)
    return peer


def test_what_programs_kept_elsewhere_goes_with_a_folder_that_was_left(
    temporary: Path, session: Path
) -> None:
    peer = _left(temporary)
    elsewhere.note(peer, session)
    elsewhere.note(peer, session.with_name("tr_session_id_gone0by0itself"))
    with scratch.scratch():
        assert not (temporary / LEFT).exists()
        assert not session.exists()


@pytest.mark.parametrize(
    "named",
    [
        "{victim}",
        "/tmp/tr_session_id_/../..{victim}",
        "/tmp/tr_session_id_x/../../..{victim}",
        "/tmp/../{victim}",
        "{victim}\0",
        "\N{CURRENCY SIGN}{victim}",
    ],
)
@pytest.mark.parametrize("by", ["a line", "a link to a list"])
def test_a_list_removes_nothing_but_what_programs_make(
    named: str, by: str, temporary: Path, tmp_path: Path, session: Path
) -> None:
    victim, words = tmp_path / "victim", tmp_path / "words"
    victim.write_text("precious")
    text = f"{named.format(victim=victim)}\n"
    peer = _left(temporary)
    if by == "a line":
        (peer / "elsewhere").write_text(text)
    else:
        words.write_text(f"{session}\n{text}")
        (peer / "elsewhere").symlink_to(words)
    with scratch.scratch():
        assert not (temporary / LEFT).exists()
    assert victim.read_text() == "precious"
    assert session.exists()  # its list was a link


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_a_list_that_is_no_file_holds_up_nothing(
    make: Callable[[Path], None], temporary: Path
) -> None:
    make(_left(temporary) / "elsewhere")
    with scratch.scratch():
        assert not (temporary / LEFT).exists()


def _of_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)


def _open_to_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)


def _open_to_the_group(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o720)


def _link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = folder.parent.with_name("there")
    folder.rename(there)
    folder.symlink_to(there)


@pytest.mark.parametrize("made", [_of_another, _open_to_all, _open_to_the_group, _link])
def test_a_folder_that_is_not_this_users_alone_stays_as_it_is(
    made: Callable[[Path, pytest.MonkeyPatch], None],
    temporary: Path,
    session: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer = _left(temporary)
    elsewhere.note(peer, session)
    made(temporary / LEFT, monkeypatch)
    with scratch.scratch():
        assert (peer / "elsewhere").read_text() == f"{session}\n"
        assert session.exists()


def test_links_in_a_folder_that_was_left_are_not_followed(temporary: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("precious")
    peer = _left(temporary)
    (peer / "link").symlink_to(kept)
    (peer.parent / "elsewhere").symlink_to(kept / "file")
    with scratch.scratch():
        assert not (temporary / LEFT).exists()
    assert (kept / "file").read_text() == "precious"


def test_what_another_user_owns_is_not_removed(
    temporary: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.geteuid()
    elsewhere.note(peer := _left(temporary), session)
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    elsewhere.remove(peer)
    assert session.exists()
    monkeypatch.undo()
    elsewhere.remove(peer)
    assert not session.exists()
