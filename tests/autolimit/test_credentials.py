"""Where a password comes from, and that it goes nowhere but to the client."""

from __future__ import annotations

import base64
import os
import pty
import select
import signal
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.autolimit.fakes import FAKES, Fake, FakeTransmission, served
from tests.autolimit.test_runs import running
from tests.late import PATIENCE_S

from flashcrowd.autolimit import history
from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Refused
from flashcrowd.client_api.credentials import VARIABLE, Credentials, find

ADDRESS = Address.parse("transmission://me@localhost:9091")


def test_the_file_goes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    monkeypatch.setenv(VARIABLE, "of the environment")
    for written, read in [("pass word\n", "pass word"), ("pass\r\n", "pass"), (" pass ", " pass ")]:
        file.write_bytes(written.encode())
        assert find(ADDRESS, file) == Credentials("me", read)
    assert find(ADDRESS, None) == Credentials("me", "of the environment")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"--password-file .*none: No such file"):
        find(ADDRESS, tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="it is no text"):
        find(ADDRESS, tmp_path / "bytes")


def test_nobody_is_asked_for_the_password_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert find(Address.parse("transmission://localhost:9091"), None) == Credentials("", None)


def test_credentials_do_not_show_their_password() -> None:
    assert "geheim" not in repr(Credentials("me", "geheim"))


def test_a_run_with_a_password_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("geheim\n")
    with served(FakeTransmission()) as fake:
        fake.password = "geheim"
        given = ["--password-file", str(tmp_path / "password")]
        with running(fake.url, tmp_path / "state", *given, password=None) as autolimit:
            autolimit.limited()
            assert autolimit.end(signal.SIGTERM) == 0


def test_a_run_that_asks_for_the_password(tmp_path: Path) -> None:
    typing, terminal = pty.openpty()
    with served(FakeTransmission()) as fake:
        fake.password = "geheim"
        with running(fake.url, tmp_path, password=None, stdin=terminal) as autolimit:
            os.close(terminal)
            asked = ""
            assert autolimit.process.stderr is not None
            while not asked.endswith(": "):
                asked += (letter := autolimit.process.stderr.read(1))
                assert letter, asked
            assert asked.endswith(f"Password of me for transmission://127.0.0.1:{fake.port}: ")
            os.write(typing, b"geheim\n")
            autolimit.limited()
            assert not select.select([typing], [], [], 0)[0], "it was echoed"
            assert autolimit.end(signal.SIGTERM) == 0
            assert "geheim" not in autolimit.process.stderr.read()
    os.close(typing)


@pytest.mark.parametrize("kind", FAKES)
def test_a_password_is_in_nothing_that_a_run_leaves(kind: type[Fake], tmp_path: Path) -> None:
    secret = "Zaub3r wort/+"
    told = [secret, quote(secret), quote(secret, safe=""), "Zaub3r+wort"]
    told.append(base64.b64encode(f"me:{secret}".encode()).decode())
    state, folder = tmp_path / "state", tmp_path / "history"
    with served(kind()) as fake:
        fake.password = secret
        given = ["--history", str(folder)]
        with running(fake.url, state, *given, password=secret) as autolimit:
            autolimit.limited()
            # So that there is also something to be complained of.
            before, fake.mood = fake.mood, lambda path, answer: (500, {}, b"no")
            autolimit.until("status")
            autolimit.until("status")
            fake.mood = before
            arguments = Path(f"/proc/{autolimit.process.pid}/cmdline")
            left = [arguments.read_text()] if arguments.exists() else []
            assert autolimit.process.stdout is not None
            autolimit.process.send_signal(signal.SIGTERM)
            left += autolimit.process.communicate(timeout=PATIENCE_S)
            assert autolimit.process.returncode == 0
            left += autolimit.heard
        with running(fake.url, state, *given, "--seconds", "1", password=f"{secret}!") as wrong:
            left += wrong.process.communicate(timeout=PATIENCE_S)
            assert wrong.process.returncode == 2
    manifest, table = history.read(folder)
    assert table.num_rows >= 1
    left += [str(manifest), str(table.to_pylist())]
    left += [path.read_text() for path in state.rglob("*") if path.is_file()]
    for text in left:
        assert not [each for each in told if each in text], text
