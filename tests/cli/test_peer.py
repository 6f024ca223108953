"""`flashcrowd peer` in a swarm of its own kind, over loopback."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.cli.in_process import flashcrowd

from flashcrowd.clients import bencode, torrent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has it")
HERE = [sys.executable, "-m", "flashcrowd", "peer"]
SIZE, PIECE = 3_000_000, 65_536


class Tracker(BaseHTTPRequestHandler):
    """Names everybody to everybody."""

    known: list[bytes]

    def do_GET(self) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query, encoding="latin-1"))
        me = socket.inet_aton(self.client_address[0]) + int(query["port"]).to_bytes(2, "big")
        others = [it for it in self.known if it != me]
        if query.get("event") == "stopped":
            self.known[:] = others
        elif me not in self.known:
            self.known.append(me)
        body = bencode.encode({"interval": 60, "peers": b"".join(others)})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[torrent.Torrent]:
    handler = type("Handler", (Tracker,), {"known": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/announce"
        yield torrent.make(tmp_path / "made", SIZE, PIECE, 1, url)
        server.shutdown()


def started(shared: torrent.Torrent, folder: Path, ip: int, *more: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    words = [str(shared.metainfo), "-d", str(folder), "--bind", f"127.0.0.{ip}", "--port", "0"]
    return subprocess.Popen([*HERE, *words, *more], stderr=subprocess.PIPE, text=True)


def test_a_download_goes_on_where_it_was_stopped(shared: torrent.Torrent, tmp_path: Path) -> None:
    seed = started(shared, shared.content.parent, 11, "--seed", "--upload-limit", "500kB/s")
    try:
        to, log = tmp_path / "to", tmp_path / "log"
        # libtorrent's rules unchoke at once, mainline's within ten seconds.
        first = started(shared, to, 12, "--profile", "modern")
        deadline = time.monotonic() + 40
        target = to / shared.file_name
        # Pieces come in any order: what is written counts, not how far it reaches.
        while not target.exists() or 512 * target.stat().st_blocks < SIZE / 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=30)
        assert first.returncode == 130, said
        assert "What came is kept. Go on with: " in said
        second = started(shared, to, 12, "--log", str(log))
        _, said = second.communicate(timeout=60)
        assert second.returncode == 0, said
        here = next(line for line in said.splitlines() if line.endswith("pieces are here."))
        pieces = int(here.split()[0])
        assert 0 < pieces < shared.pieces
        assert shared.wrong_pieces(target) == []
        assert f"{shared.pieces} of {shared.pieces} pieces" in said.splitlines()[-1]
        events = [json.loads(line) for line in log.read_text().splitlines()]
        have = [event["piece"] for event in events if event["event"] == "have"]
        assert len(have) == len(set(have)) == shared.pieces - pieces
        assert all(0 <= event["t_s"] < 60 for event in events)
        third = started(shared, to, 12)
        _, said = third.communicate(timeout=30)
        assert third.returncode == 0
        assert f"{shared.pieces} of {shared.pieces} pieces are here." in said
    finally:
        seed.send_signal(signal.SIGTERM)
        _, said = seed.communicate(timeout=30)
    assert seed.returncode == 0, said


def test_a_tracker_that_does_not_answer_is_told_once(tmp_path: Path) -> None:
    made = torrent.make(tmp_path / "made", 100_000, PIECE, 1, "http://127.0.0.1:9/announce")
    lonely = started(made, tmp_path / "to", 13)
    time.sleep(2)
    lonely.send_signal(signal.SIGTERM)
    _, said = lonely.communicate(timeout=30)
    assert lonely.returncode == 143
    assert said.count("The tracker does not answer: ") == 1


def test_what_cannot_be_used_is_told_in_a_line(tmp_path: Path) -> None:
    made = torrent.make(tmp_path, 100_000, PIECE, 1, "")
    (tmp_path / "text.torrent").write_text("hello")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        cases = [
            (["none.torrent"], "none.torrent: no such file; name a .torrent"),
            (["text.torrent"], "text.torrent: no bencoding at byte 0: "),
            (
                [made.metainfo, "--profile", "moderm"],
                '--profile moderm: no such profile; did you mean "modern"?',
            ),
            ([made.metainfo, "--upload-limit", "fast"], "--upload-limit fast: "),
            ([made.metainfo, "--bind", "home"], "--bind: "),
            ([made.metainfo, "--bind", "127.0.0.1", "--port", port], "Address already in use"),
            (
                [made.metainfo, "--log", "no/such/log"],
                "--log no/such/log: No such file or directory",
            ),
        ]
        for words, expected in cases:
            status, _, said = flashcrowd(tmp_path, "peer", *words)
            assert status == 2, words
            assert expected in said
            assert len(said.splitlines()) == 1, said


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    made = torrent.make(tmp_path / "made", 100_000, PIECE, 1, "")
    (tmp_path / "to" / made.file_name).mkdir(parents=True)
    words = (made.metainfo, "-d", tmp_path / "to", "--bind", "127.0.0.14", "--port", 0)
    status, _, said = flashcrowd(tmp_path, "peer", *words)
    assert status == 1
    assert f"{tmp_path / 'to' / made.file_name}: Is a directory" in said
