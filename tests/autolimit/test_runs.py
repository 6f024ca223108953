"""`flashcrowd autolimit` as people run it, beside servers that play a client, and real ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from tests.autolimit.fakes import DELUGE, FAKES, Fake, FakeTransmission, served
from tests.late import PATIENCE_S

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Client, Gone, Reading
from flashcrowd.client_api.clients import reach
from flashcrowd.client_api.credentials import VARIABLE, Credentials

AT_ONCE = ["--control", "unlimited", "--line", "up 1 Mbit/s"]
"""A limit for a client that uploads nothing; one that is searched for waits until it does."""


class Running:
    """`flashcrowd autolimit --json`, running; probes go to a closed port of this machine."""

    def __init__(
        self, url: str, state: Path, *arguments: str, password: str | None = "secret",
        stdout: IO[str] | int = subprocess.PIPE, stdin: int = subprocess.DEVNULL,
    ) -> None:  # fmt: skip
        words = [sys.executable, "-m", "flashcrowd", "autolimit", url, "--json"]
        words += ["--reflector", "127.0.0.1:9", "--reflector", "127.0.0.2:9", "--probe", "tcp"]
        environment = {**os.environ, "STATE_DIRECTORY": str(state)}
        if password is not None:
            environment[VARIABLE] = password
        self.heard: list[str] = []
        self.user: int | None = None
        """The limit at the start."""
        # In a session of its own there is no terminal but the one that it is given.
        self.process = subprocess.Popen(
            [*words, *arguments], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True,
            env=environment, start_new_session=True,
        )  # fmt: skip

    def until(self, event: str, holds: Callable[[Any], bool] = lambda said: True) -> Any:
        """The next event of this kind for which something holds."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.heard.append(line)
            said = json.loads(line)
            if said["event"] == "start":
                self.user = said["limit"]
            if said["event"] == event and holds(said):
                return said
        raise AssertionError(f"no {event}: {self.process.communicate()[1]}")

    def limited(self) -> Any:
        """Waits until a limit of its own is in force, which the user's at the start is not."""
        return self.until(
            "status",
            lambda said: (
                said["phase"] != "waiting"
                and said["limit"] != self.user
                and said["limit"] in (said["wanted"] // 1000 * 1000, said["wanted"] // 1024 * 1024)
            ),
        )

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


@contextmanager
def running(url: str, state: Path, *arguments: str, **options: Any) -> Iterator[Running]:
    found = Running(url, state, *arguments, **options)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


def transmission(folder: Path, port: int) -> tuple[list[str], str]:
    given = {
        "rpc-port": port, "rpc-bind-address": "127.0.0.1", "rpc-authentication-required": True,
        "rpc-username": "me", "rpc-password": "secret", "rpc-whitelist-enabled": False,
        "dht-enabled": False, "lpd-enabled": False, "peer-port": 0,
        "port-forwarding-enabled": False,
        "speed-limit-up": 300, "speed-limit-up-enabled": True,
    }  # fmt: skip
    (folder / "settings.json").write_text(json.dumps(given))
    return ["transmission-daemon", "--foreground", "--config-dir", str(folder)], "secret"


def qbittorrent(folder: Path, port: int) -> tuple[list[str], str]:
    config = folder / "qBittorrent" / "config"
    config.mkdir(parents=True)
    (config / "qBittorrent.conf").write_text(
        "[LegalNotice]\nAccepted=true\n\n[BitTorrent]\nSession\\DHTEnabled=false\n"
        "Session\\LSDEnabled=false\nSession\\GlobalUPSpeedLimit=300\n\n"
        "[Network]\nPortForwardingEnabled=false\n\n[Preferences]\nWebUI\\Address=127.0.0.1\n"
        f"WebUI\\Port={port}\nWebUI\\UseUPnP=false\nWebUI\\LocalHostAuth=false\n"
    )
    return ["qbittorrent-nox", f"--profile={folder}"], ""


def deluge(folder: Path, port: int) -> tuple[list[str], str]:
    given = {
        "daemon_port": port, "dht": False, "lsd": False, "upnp": False, "natpmp": False,
        "utpex": False, "new_release_check": False, "max_upload_speed": 300.0,
    }  # fmt: skip
    (folder / "core.conf").write_text('{"file": 1, "format": 1}' + json.dumps(given))
    (folder / "auth").write_text("me:secret:10\n")
    return ["deluged", "--do-not-daemonize", "--config", str(folder)], "secret"


REAL = {"transmission": transmission, "qbittorrent": qbittorrent, "deluge": deluge}
PROGRAMS = {
    "transmission": "transmission-daemon",
    "qbittorrent": "qbittorrent-nox",
    "deluge": "deluged",
}


class Real:
    """A real client on the loopback interface, with an upload limit of 300 of its kilobytes."""

    def __init__(self, name: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._words, password = REAL[name](folder, port)
        self._log = folder / "log"
        user = "me@" if password else ""
        self.url = f"{name}://{user}127.0.0.1:{port}"
        credentials = Credentials("me", password) if password else Credentials("")
        self.client: Client = reach(Address.parse(self.url), credentials)
        self.begin()

    def begin(self) -> None:
        """Starts it, and waits until it answers."""
        with open(self._log, "w") as log:
            self.process = subprocess.Popen(self._words, stdout=log, stderr=log)
        for _ in range(round(PATIENCE_S) * 10):
            try:
                self.client.connect()
                return
            except Gone:
                time.sleep(0.1)
        raise AssertionError(self._log.read_text())

    def end(self, number: int) -> None:
        """Sends it this signal, and waits for its end."""
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)

    def read(self) -> Reading:
        return self.client.read()

    def close(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait(PATIENCE_S)


@pytest.fixture(
    params=["transmission", "qbittorrent", pytest.param("deluge", marks=DELUGE)],
)
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Real]:
    if shutil.which(PROGRAMS[request.param]) is None:
        pytest.skip(f"{PROGRAMS[request.param]} is not installed")
    folder = tmp_path / "client"
    folder.mkdir()
    found = Real(request.param, folder)
    yield found
    found.close()


def test_a_real_client_has_again_what_it_had(real: Real, tmp_path: Path) -> None:
    had = real.read().setting
    assert had.limit in (300_000, 307_200)
    for number in (signal.SIGINT, signal.SIGTERM):
        with running(real.url, tmp_path, *AT_ONCE) as autolimit:
            autolimit.limited()
            assert real.read().setting.limit != had.limit
            assert autolimit.end(number) == 0
        assert real.read().setting == had
    # Nobody can hear this one; the next run gives back what the client had.
    with running(real.url, tmp_path, *AT_ONCE) as autolimit:
        autolimit.limited()
        autolimit.end(signal.SIGKILL)
    assert real.read().setting.limit != had.limit
    with running(real.url, tmp_path, "--restore") as autolimit:
        autolimit.until("restored")
        assert autolimit.process.wait(PATIENCE_S) == 0
    assert real.read().setting == had


def test_a_real_client_keeps_what_its_user_sets_meanwhile(real: Real, tmp_path: Path) -> None:
    with running(real.url, tmp_path, *AT_ONCE) as autolimit:
        autolimit.limited()
        real.client.write(real.client.rounded(200_000))
        chosen = real.read().setting
        said = autolimit.until("remark", lambda said: "was changed in the client" in said["text"])
        assert f"{(chosen.limit or 0) / 1e3:g} kB/s" in said["text"]
        autolimit.limited()
        assert autolimit.end(signal.SIGTERM) == 0
    assert real.read().setting == chosen


@pytest.mark.long
def test_a_real_client_that_is_started_again_is_limited_again(tmp_path: Path) -> None:
    if shutil.which(PROGRAMS["transmission"]) is None:
        pytest.skip("transmission-daemon is not installed")
    folder = tmp_path / "client"
    folder.mkdir()
    real = Real("transmission", folder)
    try:
        had = real.read().setting
        with running(real.url, tmp_path, *AT_ONCE) as autolimit:
            autolimit.limited()
            # Killed, it comes back with what its user had.
            real.end(signal.SIGKILL)
            autolimit.until("remark", lambda said: "the client is gone" in said["text"])
            autolimit.until("status", lambda said: said["phase"] == "waiting")
            real.begin()
            assert real.read().setting == had
            autolimit.until("remark", lambda said: said["text"] == "the client is back")
            autolimit.limited()
            # Ended in good order, it has saved a limit that is not the user's.
            real.end(signal.SIGTERM)
            saved = json.loads((folder / "settings.json").read_text())["speed-limit-up"]
            assert saved != 300
            real.begin()
            autolimit.limited()
            assert autolimit.end(signal.SIGTERM) == 0
        assert real.read().setting == had
        assert not list(tmp_path.glob("*.json"))
    finally:
        real.close()


def test_a_terminal_that_is_closed_ends_it_in_good_order(tmp_path: Path) -> None:
    with served(FakeTransmission()) as fake, running(fake.url, tmp_path) as autolimit:
        autolimit.limited()
        assert autolimit.end(signal.SIGHUP) == 0
        assert autolimit.until("restored")["text"] == "Restored: no upload limit."
        assert [each["speed-limit-up-enabled"] for each in fake.writes][-1] is False


def test_torrents_with_limits_of_their_own_are_said(tmp_path: Path) -> None:
    with served(FakeTransmission()) as fake, running(fake.url, tmp_path) as autolimit:
        said = autolimit.until("remark", lambda said: said["text"].startswith("torrents:"))
        assert said["text"] == (
            "torrents: 1 with an upload limit of their own, which stays; 1 that do not follow the "
            "client's limit, which autolimit cannot slow"
        )
        assert autolimit.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("kind", FAKES)
def test_alternative_speeds_suspend_it(kind: type[Fake], tmp_path: Path) -> None:
    with served(kind()) as fake, running(fake.url, tmp_path) as autolimit:
        autolimit.limited()
        fake.alternative = True
        autolimit.until("status", lambda said: said["phase"] == "suspended")
        written = len(fake.writes)
        fake.alternative = False
        autolimit.until("status", lambda said: said["phase"] != "suspended")
        assert len(fake.writes) <= written + 1
        assert autolimit.end(signal.SIGTERM) == 0


def test_dry_runs_change_nothing_and_two_runs_do_not_fight(tmp_path: Path) -> None:
    with served(FakeTransmission()) as fake:
        with running(fake.url, tmp_path, "--dry-run", "--seconds", "2") as autolimit:
            autolimit.until("status", lambda said: said["wanted"] is not None)
            assert autolimit.process.wait(PATIENCE_S) == 0
        assert not fake.writes
        assert not list(tmp_path.iterdir())
        with running(fake.url, tmp_path) as first:
            first.limited()
            with running(fake.url, tmp_path) as second:
                assert second.process.wait(PATIENCE_S) == 2
                assert second.process.stderr is not None
                assert "controlled by another autolimit" in second.process.stderr.read()
            assert first.end(signal.SIGTERM) == 0


def test_a_client_that_is_gone_at_the_end_is_given_back_later(tmp_path: Path) -> None:
    fake = FakeTransmission()
    with served(fake), running(fake.url, tmp_path) as autolimit:
        autolimit.limited()
        before, fake.mood = fake.mood, lambda path, answer: (500, {}, b"")
        autolimit.end(signal.SIGTERM)
        assert autolimit.process.returncode == 1
        assert "autolimit --restore" in autolimit.until("not-restored")["text"]
        fake.mood = before
        with running(fake.url, tmp_path, "--seconds", "0.1") as again:
            again.until("recovered")
            assert again.process.wait(PATIENCE_S) == 0
        assert fake.session["speed-limit-up-enabled"] is False
        assert fake.session["speed-limit-up"] == 100


def test_the_limit_is_given_back_when_nobody_reads_any_more(tmp_path: Path) -> None:
    fake = FakeTransmission()
    with served(fake), running(fake.url, tmp_path) as autolimit:
        autolimit.limited()
        assert autolimit.process.stdout is not None
        autolimit.process.stdout.close()
        assert autolimit.process.wait(PATIENCE_S) == 1
        assert fake.session["speed-limit-up-enabled"] is False
        assert fake.session["speed-limit-up"] == 100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_below_the_log_is_no_reason_to_end(tmp_path: Path) -> None:
    with served(FakeTransmission()) as fake, open("/dev/full", "w") as full:
        begin = time.monotonic()
        with running(fake.url, tmp_path, "--seconds", "3", stdout=full) as autolimit:
            autolimit.process.wait(PATIENCE_S)
        assert time.monotonic() - begin >= 3
        *limited, last = (each["speed-limit-up-enabled"] for each in fake.writes)
        assert all(limited)
        assert not last


def test_for_ever_is_no_number_of_seconds() -> None:
    from flashcrowd.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["autolimit", "transmission://127.0.0.1:1", "--seconds", "inf"])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("words", "control"),
    [
        ([], "autolimit-delay"),
        (["--favour", "delay"], "autolimit-delay"),
        (["--favour", "upload"], "autolimit"),
        (["--control", "autolimit-baseline"], "autolimit-baseline"),
    ],
)
def test_what_is_favoured_is_a_controller(words: list[str], control: str, tmp_path: Path) -> None:
    fake = FakeTransmission()
    with served(fake), running(fake.url, tmp_path, *words) as autolimit:
        assert autolimit.until("start")["control"] == control
        autolimit.until("status")  # by then it listens
        assert autolimit.end(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["transmission://me:geheim@127.0.0.1:1"], "--password-file"),
        (["transmission://127.0.0.1:1"], "refused: no program listens at 127.0.0.1:1; is Transm"),
        (["xyz://127.0.0.1:1"], "knows the clients"),
        (["rtorrent://127.0.0.1:1"], "rtorrent is not supported; autolimit knows qbittorrent, "),
        (["qbitorrent://127.0.0.1:1"], "did you mean "),
        (["deluge+https://127.0.0.1:1"], "is not HTTP"),
        (["transmission://127.0.0.1:1", "--control", "fast"], "--control fast"),
        (["transmission://127.0.0.1:1", "--control", "fixed", "--favour", "delay"], "give one"),
        (["transmission://127.0.0.1:1", "--line", "up 1"], "--line"),
        (["transmission://127.0.0.1:1", "--line", "up 1 kbit/s"], "16.384 kbit/s"),
        (["transmission://127.0.0.1:1", "--line", "5Mbit/s"], ': "up 5 Mbit/s".'),
        (["transmission://127.0.0.1:1", "--line", "5 Mbps"], ': "up 5 Mbit/s".'),
        (["transmission://127.0.0.1:1", "--line", "5"], ': "up 5 Mbit/s".'),
        (["transmission://127.0.0.1:1", "--line", "1.2.3 B"], ': "up 5 Mbit/s".'),
        (["transmission://127.0.0.1:1", "--probe", "pigeon"], "one of icmp"),
        (["transmission://127.0.0.1:1", "--reflector", "127.0.0.1:99999"], "HOST:PORT"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from flashcrowd.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["autolimit", *words])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 1
    assert "geheim" not in said.err
