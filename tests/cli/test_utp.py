"""`flashcrowd utp` as people and scripts use it: both ends are processes of their own.

Nothing here is about speed; waits are far longer than a slow machine needs.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.late import PATIENCE_S
from tests.stopped import stand_still

from flashcrowd.base import stopping
from flashcrowd.base.endpoint import PORT, Endpoint
from flashcrowd.base.errors import StudyError
from flashcrowd.cli import main
from flashcrowd.utp import lines
from flashcrowd.utp.config import configuration

FLASHCROWD = [sys.executable, "-m", "flashcrowd", "utp"]


class Serving:
    """`flashcrowd utp serve --json-stream`, running."""

    def __init__(self, *arguments: str) -> None:
        words = [*FLASHCROWD, "serve", "--port", "0", "--json-stream", *arguments]
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
        return self.process.wait(PATIENCE_S)


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
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def last(text: str) -> dict[str, Any]:
    return json.loads(text.splitlines()[-1])


def measured(server: Serving, *arguments: str) -> dict[str, Any]:
    """The document of a measurement that went well."""
    sent = send(f"127.0.0.1:{server.port}", "--json", *arguments)
    assert sent.returncode == 0, sent.stderr + sent.stdout
    document = json.loads(sent.stdout)
    assert set(document) == {"format", "to", "profile", "controller", "asked", "transfers"}
    for transfer in document["transfers"]:
        check(document["asked"], transfer)
    return document


def check(asked: dict[str, Any], transfer: dict[str, Any]) -> None:
    """What holds of every transfer that went well."""
    assert set(transfer) == {"transport", "error", "totals", "streams", "intervals"}
    streams, totals = transfer["streams"], transfer["totals"]
    assert transfer["error"] is None
    assert [one["id"] for one in streams] == list(range(1, len(streams) + 1))
    assert len({one["digest"] for one in streams}) == len(streams)
    for direction in ("to-server", "to-client"):
        ones = [one for one in streams if one["direction"] == direction]
        assert len(ones) == asked[direction.replace("-", "_")]
        assert (direction in totals) == bool(ones)
        if not ones:
            continue
        total = totals[direction]
        assert total["streams"] == len(ones)
        assert total["bytes"] + total["omitted_bytes"] == sum(one["bytes"] for one in ones)
        assert total["rate_bps"] == pytest.approx(total["bytes"] * 8 / total["seconds"])
        moved = {True: 0, False: 0}
        for interval in transfer["intervals"]:
            moved[interval["omitted"]] += interval["bytes"].get(direction, 0)
        assert moved == {True: total["omitted_bytes"], False: total["bytes"]}
    for one in streams:
        assert (one["verified"], one["error"]) == (True, None)
        assert one["transport"] == transfer["transport"]
    for before, after in itertools.pairwise(transfer["intervals"]):
        assert before["end_s"] == after["begin_s"] < after["end_s"]


def test_both_ends_agree_and_scripts_can_read_it():
    with serving("--once") as server:
        document = measured(server, "--bytes", "20 MB")
        (transfer,) = document["transfers"]
        (outcome,), received = transfer["streams"], server.event("finished")
        assert outcome["bytes"] == received["bytes"] == 20_000_000
        assert outcome["digest"] == received["digest"] == outcome["receipt"]["digest"]
        assert (received["verified"], received["direction"]) == (True, "to-server")
        assert outcome["connection"]["packet_bytes"] > 500
        assert server.end() == 0


def test_events_come_as_they_happen():
    with serving() as server:
        words = ["--seconds", "0.5", "--interval", "0.1", "--json-stream"]
        sent = send(f"127.0.0.1:{server.port}", *words)
        assert sent.returncode == 0, sent.stderr
        names = [json.loads(line)["event"] for line in sent.stdout.splitlines()]
        assert (names[0], names[-2:]) == ("sending", ["finished", "totals"])
        assert set(names[1:-2]) == {"interval"}


def test_people_get_columns_and_a_summary():
    with serving() as server:
        sent = send(f"localhost:{server.port}", "--seconds", "0.8", "--interval", "0.2")
        assert sent.returncode == 0, sent.stderr
        head, columns, *rows = sent.stdout.splitlines()
        assert head.startswith("Sending to ")
        assert columns == lines.SENDER
        assert "bit/s" in rows[0]
        assert "equal at both ends" in rows[-1]


def test_the_server_sends():
    with serving("--once") as server:
        document = measured(server, "-R", "--bytes", "3 MB")
        (stream,), there = document["transfers"][0]["streams"], server.event("finished")
        assert (stream["direction"], stream["bytes"]) == ("to-client", 3_000_000)
        assert stream["queued_bytes"] == 0
        assert there["receipt"]["bytes"] == there["queued_bytes"] == 3_000_000
        assert (there["verified"], there["digest"]) == (True, stream["digest"])
        assert server.end() == 0


def test_both_ends_send_over_several_streams():
    with serving("--once") as server:
        document = measured(server, "--bidir", "-P", "2", "--bytes", "1 MB")
        assert document["asked"]["to_server"] == document["asked"]["to_client"] == 2
        ours = {one["digest"] for one in document["transfers"][0]["streams"]}
        assert {server.event("finished")["digest"] for _ in range(4)} == ours
        assert server.end() == 0


def test_people_see_each_stream_and_their_sum():
    with serving() as server:
        words = ["--seconds", "0.6", "--interval", "0.2", "--bidir"]
        sent = send(f"127.0.0.1:{server.port}", *words)
        assert sent.returncode == 0, sent.stderr
        _, columns, *rows = sent.stdout.splitlines()
        assert columns == lines.STREAMS
        assert [row[:8] for row in rows[:4]] == ["   1  ->", "   2  <-", " sum  ->", " sum  <-"]
        assert [row[:8] for row in rows[-2:]] == [" sum  ->", " sum  <-"]


def test_a_rate_is_not_passed():
    with serving() as server:
        document = measured(server, "--seconds", "0.5", "-b", "8 Mbit/s", "-P", "2")
        assert document["asked"]["rate_bps"] == 8_000_000
        for stream in document["transfers"][0]["streams"]:
            # A chunk of 10 ms may come before its time is over.
            assert 0 < stream["bytes"] <= 1_000_000 * (stream["seconds"] + 0.02)


@pytest.mark.parametrize("interval", ["0.1", "0.25", "5"])
@pytest.mark.parametrize("way", [[], ["-R", "--tcp"], ["--bidir", "-P", "3"]])
def test_omitted_intervals_are_what_the_totals_omit(interval: str, way: list[str]):
    with serving() as server:
        words = ["--seconds", "0.4", "-O", "0.3", "--interval", interval, "-b", "8 Mbit/s", *way]
        for transfer in measured(server, *words)["transfers"]:
            omitted = [interval["omitted"] for interval in transfer["intervals"]]
            assert omitted == sorted(omitted, reverse=True)
            assert omitted[0] is True
            assert omitted[-1] is False


def test_the_first_seconds_can_be_left_out():
    with serving() as server:
        words = ["--seconds", "0.3", "-O", "0.3", "--interval", "0.1"]
        document = measured(server, *words)
        (transfer,) = document["transfers"]
        total, (stream,) = transfer["totals"]["to-server"], transfer["streams"]
        assert 0 < total["omitted_bytes"] < stream["bytes"]
        assert 0 < total["seconds"] <= stream["seconds"] - 0.3
        omitted = [interval["omitted"] for interval in transfer["intervals"]]
        assert omitted == sorted(omitted, reverse=True)
        assert omitted[0] is True
        assert omitted[-1] is False


def test_tcp_is_measured_beside_it():
    with serving() as server:
        document = measured(server, "--bytes", "2 MB", "--tcp")
        utp, tcp = document["transfers"]
        assert (utp["transport"], tcp["transport"]) == ("utp", "tcp")
        (stream,) = tcp["streams"]
        assert stream["bytes"] == 2_000_000
        assert stream["connection"]["queueing_delay_ms"] is None
        text = send(f"127.0.0.1:{server.port}", "--bytes", "1 MB", "--tcp")
        assert text.returncode == 0
        assert text.stdout.splitlines()[-1].startswith("->  TCP")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux names TCP's congestion control")
def test_tcps_congestion_control_is_chosen_and_read_back():
    with serving() as server:
        # Every Linux has Reno.
        words = ["--bytes", "1 MB", "--tcp", "-C", "reno", "--bidir"]
        _, tcp = measured(server, *words)["transfers"]
        assert [one["congestion"] for one in tcp["streams"]] == ["reno", "reno"]
        assert tcp["totals"]["to-server"]["packets_retransmitted"] >= 0
        assert tcp["totals"]["to-client"]["packets_retransmitted"] is None
        place = f"127.0.0.1:{server.port}"
        wrong = send(place, "--bytes", "1 kB", "--tcp", "-C", "no-such", "--json")
        assert wrong.returncode == 1
        assert "no-such" in json.loads(wrong.stdout)["transfers"][1]["error"]


@pytest.mark.parametrize("direction", [[], ["-R"]])
def test_a_server_that_dies_leaves_totals(direction: list[str]):
    with serving() as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "1000", "--json"]
        # Few and short timeouts, so that it is found soon.
        words += [
            "--set",
            'initial_rto="500 ms"',
            "--set",
            'max_rto="1 s"',
            "--set",
            "data_retries=1",
        ]
        words += ["--set", 'silence_timeout="3 s"', *direction]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            while server.event("interval")["bytes"] == 0:
                pass
            server.process.kill()
            out, _ = sender.communicate(timeout=PATIENCE_S)
        assert sender.returncode == 1
        (transfer,) = json.loads(out)["transfers"]
        (stream,) = transfer["streams"]
        assert stream["error"] is not None
        assert stream["error"] in transfer["error"]
        assert transfer["error"].startswith("broke off after ")
        (total,) = transfer["totals"].values()
        assert total["bytes"] == stream["bytes"] > 0
        assert 0 < total["seconds"] <= stream["seconds"]
        assert stream["verified"] is None


def test_a_tcp_server_that_dies_leaves_totals_too():
    with serving() as server:
        words = ["--seconds", "0.3", "--tcp", "--json-stream", "--interval", "0.1"]
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", *words]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            assert sender.stdout is not None
            for line in sender.stdout:
                event = json.loads(line)
                if event["event"] == "interval" and event["transport"] == "tcp":
                    server.process.kill()
                    break
            *_, totals = [json.loads(line) for line in sender.stdout]
            assert sender.wait(PATIENCE_S) == 1
        assert totals["event"] == "totals"
        assert totals["totals"]["to-server"]["bytes"] > 0


def test_people_are_told_once_that_nothing_comes():
    with serving() as server:
        words = [
            "--seconds",
            "1000",
            "--interval",
            "0.1",
            "--set",
            'initial_rto="500 ms"',
            "--set",
            'max_rto="1 s"',
        ]
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", *words]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as sender:
            while server.event("interval")["bytes"] == 0:
                pass
            stand_still(server.process.pid)
            assert sender.stdout is not None
            for line in sender.stdout:
                if "nothing is heard" in line:
                    break
            server.process.kill()
            out, error = sender.communicate(timeout=PATIENCE_S)
        assert sender.returncode == 1
        assert "nothing is heard" not in out
        assert "broke off after " in out
        assert "does not answer" in error


def test_the_server_says_once_that_a_sender_is_silent():
    words = [*FLASHCROWD, "serve", "--port", "0", "--interval", "0.1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline().split()[2].rsplit(":", 1)[1]
        words = [*FLASHCROWD, "send", f"127.0.0.1:{port}", "--seconds", "1000", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            for line in server.stdout:
                if "bit/s" in line:
                    break
            sender.kill()
        for line in server.stdout:
            if "nothing is heard" in line:
                break
        # Some intervals without a word.
        time.sleep(1)
        for _ in range(2):
            server.send_signal(signal.SIGINT)
            time.sleep(0.2)
        rest = server.communicate(timeout=PATIENCE_S)[0].splitlines()
        assert [line for line in rest if "nothing is heard" in line or " 0 B " in line] == []


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
        documents = [json.loads(one.communicate(timeout=PATIENCE_S)[0]) for one in senders]
        outcomes = [document["transfers"][0]["streams"][0] for document in documents]
        assert [outcome["verified"] for outcome in outcomes] == [True, True]
        received = [server.event("finished") for _ in senders]
        assert {one["digest"] for one in received} == {one["digest"] for one in outcomes}


def test_ctrl_c_at_the_sender_is_an_ordinary_end():
    with serving("--once") as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "1000", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            server.event("interval")
            sender.send_signal(signal.SIGINT)
            out, _ = sender.communicate(timeout=PATIENCE_S)
        (outcome,) = json.loads(out)["transfers"][0]["streams"]
        received = server.event("finished")
        assert sender.returncode == 0
        assert (outcome["verified"], outcome["stopped_by"]) == (True, "sender")
        assert (received["verified"], received["bytes"]) == (True, outcome["bytes"])
        assert server.end() == 0


def test_ctrl_c_at_the_receiver_tells_the_sender():
    with serving() as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "1000", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            server.event("interval")
            server.process.send_signal(signal.SIGINT)
            out, _ = sender.communicate(timeout=PATIENCE_S)
        (outcome,) = json.loads(out)["transfers"][0]["streams"]
        received = server.event("finished")
        assert sender.returncode == 0
        assert (outcome["verified"], outcome["stopped_by"]) == (True, "receiver")
        assert received["bytes"] == outcome["receipt"]["bytes"] == outcome["bytes"]
        assert outcome["bytes"] <= outcome["queued_bytes"]
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
    absent = send(place, "--bytes", "1 MB", "--json-stream")
    assert absent.returncode == 1
    assert last(absent.stdout)["event"] == "failed"
    both = send(place, "--bytes", "1 MB", "--json", "--tcp")
    assert both.returncode == 1
    errors = [transfer["error"] for transfer in json.loads(both.stdout)["transfers"]]
    assert "UDP" in errors[0]
    assert "TCP" in errors[1]


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["utp", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["send", "no.such.host.invalid"], "no.such.host.invalid"),
        (["send", "127.0.0.1:65536"], "a port from 1 to 65535"),
        (["send", "127.0.0.1", "--bytes", "3 MBit"], "a size with its unit"),
        (["send", "127.0.0.1", "--bytes", "1 MB", "--seconds", "1"], "only one of"),
        (["send", "127.0.0.1", "--profile", "libtorent"], 'did you mean "libtorrent"?'),
        (["send", "127.0.0.1", "--controller", "veno"], "one of new-reno"),
        (["send", "127.0.0.1", "--set", "ledbat.target=25"], "a time with its unit"),
        (["send", "127.0.0.1", "-4", "-6"], "only one of"),
        (["send", "127.0.0.1", "-R", "--bidir"], "only one of --reverse and --bidir"),
        (["send", "127.0.0.1", "--json", "--json-stream"], "only one of"),
        (["send", "127.0.0.1", "-b", "10"], "a rate with its unit"),
        (["send", "127.0.0.1", "-O", "1", "--bytes", "1 MB"], "by --seconds"),
        (["send", "127.0.0.1", "-C", "reno"], "only with --tcp"),
        (["send", "127.0.0.1", "--seconds", "inf"], "a number of seconds, at most"),
        (["send", "127.0.0.1", "--seconds", "nan"], "seconds"),
        (["send", "127.0.0.1", "-O", "inf"], "a number of seconds, at most"),
        (["send", "127.0.0.1", "--interval", "inf"], "a finite number of seconds"),
        (["send", "127.0.0.1:0"], "a port from 1 to 65535"),
        (["send", "::1:5299"], 'write "[::1]:5299" for port 5299'),
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
    assert Endpoint.parse("host") == Endpoint("host", PORT)
    assert Endpoint.parse("host:80") == Endpoint("host", 80)
    assert Endpoint.parse("[::1]:80") == Endpoint("::1", 80)
    assert Endpoint.parse("[::1]") == Endpoint.parse("::1") == Endpoint("::1", PORT)
    assert Endpoint("::1", 7).resolve() == ["[::1]:7"]
    assert Endpoint.parse("2001:db8::1") == Endpoint("2001:db8::1", PORT)
    assert Endpoint.parse("2001:db8::abcd:ffff") == Endpoint("2001:db8::abcd:ffff", PORT)
    for wrong in (
        "2001:db8::1:80",
        "1:2:3:4:5:6:7:8:80",
        "",
        ":80",
        "host:",
        "host:x",
        "[::1",
        "[::1]x",
        "host:-1",
    ):
        with pytest.raises(StudyError):
            Endpoint.parse(wrong)


def test_a_configuration_follows_its_controller_and_settings():
    plain = json.loads(configuration("libutp"))
    assert (plain["name"], plain["controller"]) == ("libutp", "libutp")
    varied = json.loads(configuration("libutp", "ledbat", {"ledbat.target": "60 ms"}))
    assert varied["controller"] == "ledbat"
    assert varied["ledbat"]["target_ns"] == 60 * 10**6


def test_a_part_of_a_configuration_refines_a_whole_in_either_order():
    values = {"ledbat": {"gain": 2.0}, "ledbat.target": "60 ms"}
    one, other = (
        json.loads(configuration("libutp", "ledbat", dict(pairs)))
        for pairs in (values.items(), reversed(values.items()))
    )
    assert one == other
    assert one["ledbat"]["target_ns"] == 60_000_000
    with pytest.raises(StudyError, match='controller is "ledbat", which has no parts'):
        configuration("libutp", None, {"controller.target": "1 ms", "controller": "ledbat"})


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
    assert [
        lines._millis(value) for value in (None, 0.0, 0.0434, 0.9994, 0.9996, 12.34, 999.94)
    ] == [
        "    -   ",
        "  0.0 ms",
        "0.043 ms",
        "0.999 ms",
        "  1.0 ms",
        " 12.3 ms",
        "999.9 ms",
    ]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_there_is_a_connection_ends_it(number: signal.Signals, status: int):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{mute.getsockname()[1]}"
        words = [*FLASHCROWD, "send", place, "--json-stream"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as sender:
            assert mute.recv(2048)[:1] == b"\x41"  # a SYN
            time.sleep(0.2)
            sender.send_signal(number)
            out, _ = sender.communicate(timeout=PATIENCE_S)
        assert sender.returncode == status
        assert last(out)["event"] == "stopped"


def test_as_many_streams_as_can_be_asked_for_open_at_once():
    """More than a network may have half open: `serve` answers all, and remembers none too many."""
    with serving("--most-senders", "128", "--no-tcp") as server:
        began = time.monotonic()
        document = measured(server, "-P", "128", "--bytes", "20 kB")
        assert len(document["transfers"][0]["streams"]) == 128
        # A SYN that gets no answer is repeated after three seconds.
        opened = time.monotonic() - began - document["transfers"][0]["intervals"][-1]["end_s"]
        assert opened < 3.0 + 10 * float(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def test_an_output_that_breaks_tells_the_other_ends():
    """`serve | head`: the streams are ended as by Ctrl-C, and their senders know."""
    with serving("--interval", "0.05") as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "60", "--json"]
        sender = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        server.event("interval")
        server.lines.close()
        out, _ = sender.communicate(timeout=PATIENCE_S)
        (stream,) = json.loads(out)["transfers"][0]["streams"]
        assert (stream["stopped_by"], stream["error"]) == ("receiver", None)
        assert stream["verified"] is True
        assert sender.returncode == 0
        assert server.process.wait(PATIENCE_S) == 1
        assert server.process.stderr is not None
        assert "The output is broken" in server.process.stderr.read()


def test_an_end_that_takes_long_is_told():
    with serving("--no-tcp") as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "60"]
        sender = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server.event("connected")
        stand_still(server.process.pid)
        try:
            sender.send_signal(signal.SIGINT)
            assert sender.stderr is not None
            assert "once more to stop at once" in sender.stderr.readline()
            sender.send_signal(signal.SIGINT)
            assert sender.wait(PATIENCE_S) == 130
        finally:
            server.process.send_signal(signal.SIGCONT)
            sender.communicate()


def test_an_end_that_nothing_comes_of_is_broken_off():
    """One Ctrl-C is enough: it does not wait for an end that does not answer."""
    with serving("--no-tcp") as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "60", "--json"]
        sender = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server.event("interval")
        stand_still(server.process.pid)
        try:
            sender.send_signal(signal.SIGINT)
            out, err = sender.communicate(timeout=PATIENCE_S)
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert "Nothing has arrived for 10 s: this breaks off." in err
        assert sender.returncode == 1
        transfer = json.loads(out)["transfers"][0]
        (stream,) = transfer["streams"]
        assert (stream["error"], stream["verified"]) == ("stopped at once", None)
        assert 0 < transfer["totals"]["to-server"]["bytes"] <= stream["queued_bytes"]


class Slow:
    """What ends in good order after so many looks, with bytes that arrive every so many."""

    def __init__(self, looks: int, every: int) -> None:
        self.looks, self.every = looks, every
        self.looked = self.stops = self.bytes = 0

    def wait(self, seconds: float) -> bool:
        if self.looked == 0:
            signal.raise_signal(signal.SIGINT)
        self.looked += 1
        self.bytes += self.looked % self.every == 0
        return self.stops > 1 or self.looked > self.looks

    def stop(self) -> None:
        self.stops += 1


@pytest.mark.parametrize(
    ("every", "said"),
    [
        (1, "What was under way has not arrived within 30 s"),
        (60, "What was under way has not arrived within 30 s"),
        (101, "Nothing has arrived for 10 s"),
    ],
)
def test_an_end_in_good_order_is_bounded(
    every: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    """Looks are a tenth of a second apart here."""
    task: Any = Slow(1000, every)
    monkeypatch.setattr(stopping.time, "monotonic", lambda: task.looked / 10)
    assert stopping.attend(task, lambda: None, lambda: task.bytes) == 1
    assert task.stops == 2
    assert said in capsys.readouterr().err
    assert task.looked <= 10 * stopping.DRAIN + 2


def test_an_end_in_good_order_that_is_soon_is_not_broken_off(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    task: Any = Slow(290, 60)
    monkeypatch.setattr(stopping.time, "monotonic", lambda: task.looked / 10)
    assert stopping.attend(task, lambda: None, lambda: task.bytes) == 1
    assert task.stops == 1
    assert "breaks off" not in capsys.readouterr().err


def test_one_sender_more_than_are_wanted_is_refused_in_words():
    with serving("--most-senders", "1") as server:
        words = [*FLASHCROWD, "send", f"127.0.0.1:{server.port}", "--seconds", "600"]
        first = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            server.event("connected")
            for switch in ([], ["-R"]):
                refused = send(f"127.0.0.1:{server.port}", "--bytes", "1 kB", *switch)
                assert refused.returncode == 1
                assert "the server is full: it takes 1 at once" in refused.stderr
                told = server.event("refused")
                assert (told["count"], told["why"] in refused.stderr) == (1, True)
            first.send_signal(signal.SIGINT)
            assert first.wait(PATIENCE_S) == 0
            assert server.event("finished")["verified"] is True
            assert send(f"127.0.0.1:{server.port}", "--bytes", "1 kB").returncode == 0
        finally:
            first.kill()
            first.communicate()
