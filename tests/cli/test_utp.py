"""`flashcrowd utp` as people and scripts use it: both ends are processes of their own.

Nothing here is about speed; waits are far longer than a slow machine needs.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flashcrowd.cli import main
from flashcrowd.errors import StudyError
from flashcrowd.utp import PORT, Place, configuration, lines

FLASHCROWD = [sys.executable, "-m", "flashcrowd", "utp"]
PATIENCE = 120


class Serving:
    """`flashcrowd utp serve --json`, running."""

    def __init__(self, *arguments: str) -> None:
        words = [*FLASHCROWD, "serve", "--port", "0", "--json", *arguments]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.lines = self.process.stdout
        listening = self.event("listening")
        self.port = int(listening["address"].rsplit(":", 1)[1])

    def event(self, name: str) -> dict[str, Any]:
        """The next event of this name; those before it are passed over."""
        for line in self.lines:
            event = json.loads(line)
            if event["event"] == name:
                return event
        raise AssertionError(f"no {name}: {self.process.communicate()[1]}")

    def end(self) -> int:
        return self.process.wait(PATIENCE)


@contextmanager
def serving(*arguments: str) -> Iterator[Serving]:
    server = Serving(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


def send(*arguments: str) -> subprocess.CompletedProcess[str]:
    words = [*FLASHCROWD, "send", *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)


def last(text: str) -> dict[str, Any]:
    return json.loads(text.splitlines()[-1])


def test_both_ends_agree_and_scripts_can_read_it():
    with serving("--once") as server:
        sent = send(f"127.0.0.1:{server.port}", "--bytes", "20 MB", "--json")
        assert sent.returncode == 0, sent.stderr
        outcome, received = last(sent.stdout), server.event("finished")
        assert outcome["event"] == "finished"
        assert outcome["verified"] is True
        assert outcome["bytes"] == received["bytes"] == 20_000_000
        assert outcome["digest"] == received["digest"] == outcome["receipt"]["digest"]
        assert received["equal"] is True
        assert outcome["connection"]["packet_bytes"] > 500
        assert server.end() == 0


def test_people_get_columns_and_a_summary():
    with serving() as server:
        sent = send(f"localhost:{server.port}", "--seconds", "1.5", "--interval", "0.2")
        assert sent.returncode == 0, sent.stderr
        head, columns, *rows = sent.stdout.splitlines()
        assert head.startswith("Sending to ")
        assert columns == lines.SENDER
        assert "bit/s" in rows[0]
        assert "equal at both ends" in rows[-1]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 on this machine")
def test_ipv6_and_two_senders_at_once():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 on this machine")
    with serving() as server:
        words = [*FLASHCROWD, "send", "--bytes", "3 MB", "--json"]
        places = [f"[::1]:{server.port}", f"127.0.0.1:{server.port}"]
        senders = [
            subprocess.Popen([*words, place], stdout=subprocess.PIPE, text=True) for place in places
        ]
        outcomes = [last(sender.communicate(timeout=PATIENCE)[0]) for sender in senders]
        assert [outcome["verified"] for outcome in outcomes] == [True, True]
        received = [server.event("finished") for _ in senders]
        assert {one["digest"] for one in received} == {one["digest"] for one in outcomes}


def test_ctrl_c_at_the_sender_is_an_ordinary_end():
    with serving("--once") as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "1000", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            server.event("interval")
            sender.send_signal(signal.SIGINT)
            out, _ = sender.communicate(timeout=PATIENCE)
        outcome, received = last(out), server.event("finished")
        assert sender.returncode == 0
        assert (outcome["verified"], outcome["stopped_by"]) == (True, "sender")
        assert (received["equal"], received["bytes"]) == (True, outcome["bytes"])
        assert server.end() == 0


def test_ctrl_c_at_the_receiver_tells_the_sender():
    with serving() as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "1000", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            server.event("interval")
            server.process.send_signal(signal.SIGINT)
            out, _ = sender.communicate(timeout=PATIENCE)
        outcome, received = last(out), server.event("finished")
        assert sender.returncode == 0
        assert (outcome["verified"], outcome["stopped_by"]) == (True, "receiver")
        assert received["bytes"] == outcome["receipt"]["bytes"] <= outcome["bytes"]
        assert server.end() == 0


def test_a_sender_that_dies_is_a_failure_of_its_own_only():
    with serving() as server:
        place = f"127.0.0.1:{server.port}"
        words = [*FLASHCROWD, "send", place, "--seconds", "1000", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            server.event("interval")
            sender.kill()
        assert send(place, "--bytes", "1 MB").returncode == 0


def test_nobody_there_is_told():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
        silent = send(place, "--bytes", "1 MB", "--set", 'initial_rto="100 ms"')
        assert silent.returncode == 1
        assert "does not answer" in silent.stderr
    absent = send(place, "--bytes", "1 MB", "--json")
    assert absent.returncode == 1
    assert last(absent.stdout)["event"] == "failed"


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["utp", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["send", "no.such.host.invalid"], "no.such.host.invalid"),
        (["send", "127.0.0.1:65536"], "a port from 0 to 65535"),
        (["send", "127.0.0.1", "--bytes", "3 MBit"], "a size with its unit"),
        (["send", "127.0.0.1", "--bytes", "1 MB", "--seconds", "1"], "only one of"),
        (["send", "127.0.0.1", "--profile", "libtorent"], 'did you mean "libtorrent"?'),
        (["send", "127.0.0.1", "--controller", "vegas"], "one of new-reno"),
        (["send", "127.0.0.1", "--set", "ledbat.target=25"], "a time with its unit"),
        (["send", "127.0.0.1", "-4", "-6"], "only one of"),
    ],
)
def test_mistakes_are_named(capsys: Any, arguments: list[str], said: str):
    assert status(*arguments) == 2
    captured = capsys.readouterr()
    assert said in " ".join(captured.err.split())
    assert captured.out == ""


def test_a_port_in_use_is_named(capsys: Any):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
        assert status("serve", "--bind", "127.0.0.1", "--port", port) == 2
    assert "in use" in capsys.readouterr().err


def test_places():
    assert Place.parse("host") == Place("host", PORT)
    assert Place.parse("host:80") == Place("host", 80)
    assert Place.parse("[::1]:80") == Place("::1", 80)
    assert Place.parse("[::1]") == Place.parse("::1") == Place("::1", PORT)
    assert Place("::1", 7).resolve() == ["[::1]:7"]
    for wrong in ("", ":80", "host:", "host:x", "[::1", "[::1]x", "host:-1"):
        with pytest.raises(StudyError):
            Place.parse(wrong)


def test_a_configuration_follows_its_controller_and_settings():
    plain = json.loads(configuration("libutp"))
    assert (plain["name"], plain["controller"]) == ("libutp", "libutp")
    varied = json.loads(configuration("libutp", "ledbat", {"ledbat.target": "60 ms"}))
    assert varied["controller"] == "ledbat"
    assert varied["ledbat"]["target_ns"] == 60 * 10**6


def test_numbers_keep_their_width():
    assert [lines.size(count) for count in (0, 999, 1000, 999_499, 999_500, 1.5e9)] == [
        "0 B",
        "999 B",
        "1 kB",
        "999 kB",
        "1 MB",
        "1.5 GB",
    ]
    assert lines.rate(1_250_000, 1) == "10 Mbit/s"
    assert lines.rate(1, 0) == "0 bit/s"


def test_a_signal_before_there_is_a_connection_ends_it():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{mute.getsockname()[1]}"
        words = [*FLASHCROWD, "send", place, "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            assert mute.recv(2048)[:1] == b"\x41"  # a SYN
            time.sleep(0.2)
            sender.send_signal(signal.SIGINT)
            out, _ = sender.communicate(timeout=PATIENCE)
        assert sender.returncode == 130
        assert last(out)["event"] == "stopped"


def test_one_sender_more_than_are_wanted_is_refused_in_words():
    with serving("--most-senders", "1") as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "600"]
        first = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            server.event("connected")
            refused = send(f"127.0.0.1:{server.port}", "--bytes", "1 kB")
            assert refused.returncode == 1
            assert "--most-senders" in refused.stderr
            first.send_signal(signal.SIGINT)
            assert first.wait(PATIENCE) == 0
            assert server.event("finished")["equal"] is True
            assert send(f"127.0.0.1:{server.port}", "--bytes", "1 kB").returncode == 0
        finally:
            first.kill()
            first.communicate()
