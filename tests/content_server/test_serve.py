"""`flashcrowd serve` as a person starts it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.late import PATIENCE_S

from flashcrowd.cli import main
from flashcrowd.content_server import in_a_browser, listening, reachable
from flashcrowd.content_server.running import line

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

COMMAND = [sys.executable, "-m", "flashcrowd", "serve"]


@contextmanager
def served(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and where it is; killed if the test has not ended it."""
    command = [*COMMAND, str(directory), "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            first = server.stderr.readline()
            found = re.search(r"https?://(\S+?)/ ", first)
            assert found, first + server.stderr.read()
            yield server, f"http://{found[1]}"
        finally:
            server.kill()


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The line that a command says that cannot be."""

    def say(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["serve", *arguments])
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, ""), said.err
        text = said.err.rstrip("\n")
        assert "\n" not in text
        assert text.startswith("flashcrowd serve: ")
        return text.removeprefix("flashcrowd serve: ")

    return say


def test_a_file_goes_over_and_the_end_is_told(tmp_path: Path) -> None:
    content = bytes(range(256)) * 3000
    (tmp_path / "a b.bin").write_bytes(content)
    log = tmp_path / "log"
    options = ["--metrics", "127.0.0.1:0", "--access-log", str(log), "--policy", "circus"]
    with served(tmp_path, *options) as (server, url):
        assert server.stderr is not None
        assert server.stderr.readline().startswith("Reading ")
        metrics = server.stderr.readline().split()[2].rstrip(".")
        assert server.stderr.readline().startswith("In a browser: ")
        with urllib.request.urlopen(f"{url}/a%20b.bin", timeout=20) as answer:
            assert answer.read() == content
        with urllib.request.urlopen(metrics, timeout=20) as answer:
            assert f"flashcrowd_served_bytes_total {len(content)}" in answer.read().decode()
        with urllib.request.urlopen(metrics.replace("/metrics", "/live"), timeout=20) as answer:
            assert "<h2>a b.bin</h2>" in answer.read().decode()
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
        assert server.stderr.read().startswith("Ended: 1 answer, 768 kB sent, 768 kB read.")
    assert '"GET /a%20b.bin HTTP/1.1" 200 ' in log.read_text()


def test_on_a_terminal_the_end_takes_the_place_of_the_live_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    theirs, ours = pty.openpty()
    command = [*COMMAND, str(tmp_path), "--listen", "127.0.0.1:0", "--interval", "0.1"]
    with subprocess.Popen(command, stdout=ours, stderr=ours, stdin=ours) as server:
        os.close(ours)
        said = b""
        try:
            while b"miss ratio" not in said:
                said += os.read(theirs, 65536)
            server.send_signal(signal.SIGINT)
            with contextlib.suppress(OSError):  # the server has gone
                while part := os.read(theirs, 65536):
                    said += part
        finally:
            server.kill()
            os.close(theirs)
    text = said.decode()
    assert "\r\x1b[KEnded: 0 answers, 0 B sent, 0 B read." in text
    assert "\\u00" not in text
    assert text.count("once more") <= 1


def _until_taken(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Waits until a signal is no longer pending: a second one would be one with it (signal(7))."""
    for _ in range(2000):
        status = Path(f"/proc/{process.pid}/status").read_text()
        pending = [int(it, 16) for it in re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", status, re.M)]
        if not any(it >> (number - 1) & 1 for it in pending):
            return
        time.sleep(0.01)
    pytest.fail(f"{number.name} is still pending")


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_a_second_ctrl_c_cuts_what_is_under_way_and_says_so_once(
    pause: float, tmp_path: Path
) -> None:
    """At once or later, while a client takes nothing of its answer."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(200_000_000)
    options = ["--interval", "0.1"]
    with served(tmp_path, *options) as (server, url), socket.socket() as client:
        host, _, port = url.removeprefix("http://").partition(":")
        client.connect((host, int(port)))
        client.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(1)
        assert server.stderr is not None
        while "miss ratio" not in server.stderr.readline():
            pass
        server.send_signal(signal.SIGINT)
        _until_taken(server, signal.SIGINT)
        time.sleep(pause)
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 0
        said = server.stderr.read()
    assert said.count("Ended") == 1
    assert "Answers under way were cut." in said


def test_a_connection_is_closed_after_its_requests(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with served(tmp_path, "--requests-per-connection", "2") as (_, url):
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
        said = []
        for _ in range(2):
            connection.request("GET", "/file")
            answer = connection.getresponse()
            assert answer.read() == b"x"
            said.append(answer.getheader("Connection"))
    assert said == [None, "close"]


def test_a_disk_for_trials_keeps_its_pace_and_says_so(tmp_path: Path) -> None:
    content = bytes(range(256)) * 4096 * 8
    (tmp_path / "file").write_bytes(content)
    options = ["--trial-disk", "5 ms, 8 MB/s", "--metrics", "127.0.0.1:0"]
    with served(tmp_path, *options) as (server, url):
        assert server.stderr is not None
        assert server.stderr.readline().startswith("Reading ")
        assert "5 ms, 8 MB/s: a trial" in server.stderr.readline()
        metrics = server.stderr.readline().split()[2].rstrip(".")
        began = time.monotonic()
        with urllib.request.urlopen(f"{url}/file", timeout=20) as answer:
            assert answer.read() == content
        # 8 MiB at 8 MB/s; a late delivery is made up for by the next ones.
        assert time.monotonic() - began >= len(content) / 8e6 - 0.25
        with urllib.request.urlopen(metrics, timeout=20) as answer:
            found = re.search(r"_busy_microseconds_total (\d+)", answer.read().decode())
            assert found is not None
            assert int(found[1]) == round(len(content) / 8)
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
        last = server.stderr.read().splitlines()[-1]
        assert re.match(r"Trial disk: busy for 1\.0 s, 8 reads, 0 of them positioned; late", last)


def test_what_cannot_be_is_one_line_with_a_remedy(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    (tmp_path / "file").touch()
    folder = str(tmp_path)
    assert refused(f"{folder}/none") == (
        f"{folder}/none: No such file or directory: give a directory that exists"
    )
    assert refused(f"{folder}/file").endswith("give the directory that the file is in")
    assert refused(folder, "--policy", "circos") == (
        '--policy "circos": it is one of in-order, attach, circus, relevance; '
        'did you mean "circus"?'
    )
    assert refused(folder, "--memory", "1MiB").startswith(
        "--memory: 1048576 is not allowed, at least "
    )
    assert "did you mean" in refused(folder, "--memory", "1 G")
    assert refused(folder, "--trial-disk", "5 ms") == (
        '--trial-disk "5 ms": it is no positioning time and rate, as in 5 ms, 40 MB/s'
    )
    assert refused(folder, "--trial-disk", "5 ms, 40 MBps").startswith("--trial-disk ")
    assert refused(folder, "--listen", "a:b") == (
        '--listen "a:b": it is no HOST:PORT, [ADDRESS]:PORT, :PORT or PORT'
    )
    for text in ("10.0.0", "localhost", "10.0.0.0/33", "1.2.3.4:80", ""):
        assert refused(folder, "--trust-proxy", text) == (
            f'--trust-proxy "{text}": it is no ADDRESS or ADDRESS/LENGTH, as in 127.0.0.1 or '
            "10.0.0.0/8"
        )
    assert refused(folder, "--trust-proxy", "10.1.2.3/8") == (
        '--trust-proxy "10.1.2.3/8": did you mean "10.0.0.0/8"?'
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused(folder, "--listen", f"127.0.0.1:{port}").endswith(
            "another program has that port: choose another one with --listen"
        )


def test_places_to_listen() -> None:
    assert listening(":80") == listening("80") == ["[::]:80", "0.0.0.0:80"]
    assert listening("127.0.0.1:0") == ["127.0.0.1:0"]
    assert listening("127.0.0.1") == ["127.0.0.1:8080"]
    assert listening("[::1]:81") == ["[::1]:81"]
    assert listening("::1") == ["[::1]:8080"]
    for text in ["", "x:y", "1.2.3.4:70000", "[::1]:x", "no such host:1"]:
        with pytest.raises(ValueError, match="no "):
            listening(text)


def test_the_start_says_what_a_browser_sees(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text("x")
    (tmp_path / "sub").mkdir()
    for options, status, said in [
        ([], 200, r".* list of the files at (\S+) on .* only \(--no-listing: none\)\.\n"),
        (["--no-listing"], 404, r".* no list, and 404 at (\S+) on this machine only; files .*\n"),
    ]:
        with served(tmp_path, *options) as (server, _):
            assert server.stderr is not None
            server.stderr.readline()
            found = re.fullmatch(said, server.stderr.readline())
            assert found is not None, said
            where = found[1].removeprefix("http://").removesuffix("/")
            assert where.startswith("localhost:")
            browser = http.client.HTTPConnection(where, timeout=20)
            for target, expected in [("/", status), ("/sub", 301), ("/SHA256SUMS", 200)]:
                browser.request("GET", target)
                answer = browser.getresponse()
                answer.read()
                assert answer.status == expected, target
            assert answer.getheader("Content-Type") == "text/plain; charset=utf-8"
            browser.close()


def test_the_start_tells_the_address_to_send_from_that_of_this_machine() -> None:
    words = in_a_browser(["http://localhost/", "http://192.0.2.7/", "http://[2001:db8::7]/"], True)
    assert words == (
        "In a browser: a list of the files at http://localhost/ on this machine, and from others "
        "at http://192.0.2.7/ or http://[2001:db8::7]/ (--no-listing: none)."
    )
    words = in_a_browser(["http://192.0.2.7/"], True)
    assert words == "In a browser: a list of the files at http://192.0.2.7/ (--no-listing: none)."


def test_a_browser_finds_the_server_at_addresses_that_it_has() -> None:
    assert reachable("http", "127.0.0.1:8080") == ["http://localhost:8080/"]
    assert reachable("https", "192.0.2.7:443") == ["https://192.0.2.7/"]
    assert reachable("http", "[::1]:80") == ["http://[::1]/"]
    first, *others = reachable("http", "[::]:8080")
    assert first == "http://localhost:8080/"
    assert all(re.fullmatch(r"http://(\S+):8080/", it) for it in others)
    assert not any("[" in it for it in reachable("http", "0.0.0.0:8080"))


def test_the_line_of_what_goes_on() -> None:
    keys = "connections clients files answers turned_away sent_bytes served_bytes read_bytes"
    before: Any = dict.fromkeys([*keys.split(), "queued_reads", "disk_errors", "memory_bytes"], 0)
    assert "miss ratio -" in line(before, before, 1.0)
    now = before | {"clients": 3, "files": 1, "connections": 4, "queued_reads": 2}
    now |= {"sent_bytes": 2_500_000, "served_bytes": 2_000_000, "read_bytes": 500_000}
    text = line(before, json.loads(json.dumps(now)), 2.0)
    assert text == (
        "3 downloads  1 file  4 connections  network 10 Mbit/s  disk 250 kB/s  "
        "miss ratio 0.25  queue 2"
    )
    assert line(before, now | {"disk_errors": 1}, 1.0).endswith("DISK ERRORS 1")


def test_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert "flashcrowd serve" in said
    assert "--stall-timeout" in said
