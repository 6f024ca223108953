"""What cannot be used: one line with a remedy, exit status 2, and the client as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.autolimit.fakes import DELUGE, FAKES, Answer, Fake, FakeDeluge, FakeQBittorrent, served

from flashcrowd.cli import main
from flashcrowd.client_api import http
from flashcrowd.client_api.credentials import VARIABLE


class Tried:
    """`flashcrowd autolimit` in this process, which is to refuse."""

    def __init__(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._state, self._capsys = tmp_path, capsys
        monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
        monkeypatch.setenv(VARIABLE, "secret")
        monkeypatch.setattr(http, "TIMEOUT_S", 1.0)

    def says(self, fake: Fake, *arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["autolimit", fake.url, *arguments])
        assert ended.value.code == 2
        said = self._capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert said.err.startswith(fake.url.replace("me@", ""))
        assert "secret" not in said.err
        assert fake.writes == []
        assert not list(self._state.glob("*.json")), "nothing is to be restored"
        return said.err


@pytest.fixture
def tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Tried:
    return Tried(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("arguments", [[], ["--restore"], ["--dry-run"]])
@pytest.mark.parametrize("kind", FAKES)
def test_a_wrong_password(kind: type[Fake], arguments: list[str], tried: Tried) -> None:
    with served(kind()) as fake:
        fake.password = "another"
        said = tried.says(fake, *arguments)
    assert "refused the password of me" in said
    assert any(remedy in said for remedy in ("Options, Web UI", "give the right one", "file auth"))


@pytest.mark.parametrize("secret", [True, False])
@pytest.mark.parametrize("kind", FAKES)
def test_an_address_without_a_user_is_said(
    kind: type[Fake], secret: bool, tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "url", property(lambda it: f"{it.scheme}://127.0.0.1:{it.port}"))
    if not secret:
        monkeypatch.delenv(VARIABLE)
    with served(kind()) as fake:
        said = tried.says(fake)
    assert "the address has no user; write " in said
    assert f"{fake.scheme}://USER@HOST:PORT" in said


def test_a_qbittorrent_from_before_version_2_of_its_interface(tried: Tried) -> None:
    """It answers 404 to all that begins with /api/v2."""
    with served(FakeQBittorrent()) as fake:
        fake.mood = lambda path, answer: (404, {}, b"")
        assert "qBittorrent 4.1 or later" in tried.says(fake)


def test_a_qbittorrent_with_another_interface(tried: Tried) -> None:
    def mood(path: str, answer: Answer) -> Answer:
        return (200, {}, b"1.9") if path.endswith("webapiVersion") else answer

    with served(FakeQBittorrent()) as fake:
        fake.mood = mood
        assert "interface '1.9'" in tried.says(fake)


@DELUGE
def test_a_deluge_1(tried: Tried) -> None:
    """Its messages have no header: it waits for the rest of what it does not understand."""
    with served(FakeDeluge()) as fake:
        fake.mood = lambda path, answer: (200, {}, b"")
        assert "autolimit needs Deluge 2" in tried.says(fake)
