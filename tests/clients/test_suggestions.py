"""What libtorrent suggests, as the model has it (`crates/swarm/src/peer/tests/suggestions.rs`)."""

import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

lt: Any = pytest.importorskip("libtorrent", reason="libtorrent is not installed")

PIECE, PIECES, BLOCK = 32 << 10, 12, 16 << 10
NAMES = {0: "choke", 1: "unchoke", 4: "have", 7: "piece", 13: "suggest", 14: "have all"}
INTERESTED, NOT_INTERESTED, HAVE, REQUEST, HAVE_NONE = 2, 3, 4, 6, 15


class Peer:
    """A client that says what it is told to, and offers the Fast extension."""

    def __init__(self, port: int, info_hash: bytes, number: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self._buffer = b""
        offers = bytes(7) + b"\x04"
        name = b"-XX0000-%012d" % number
        self._socket.sendall(b"\x13BitTorrent protocol" + offers + info_hash + name)
        try:
            self._take(68)
        except (AssertionError, OSError):
            self.close()
            raise
        self.say(HAVE_NONE)

    def say(self, kind: int, *numbers: int) -> None:
        payload = struct.pack(f">{len(numbers)}I", *numbers)
        self._socket.sendall(struct.pack(">IB", 1 + len(payload), kind) + payload)

    def hears(self, until: str | None = None) -> list[tuple[str, int] | str]:
        """What comes until a message of this name, or else within half a second."""
        heard: list[tuple[str, int] | str] = []
        self._socket.settimeout(10 if until else 0.5)
        while until is None or not heard or heard[-1] != until:
            try:
                (length,) = struct.unpack(">I", self._take(4))
                message = self._take(length)
            except TimeoutError:
                assert until is None, f"{heard}, and no {until}"
                return heard
            if length:
                name = NAMES.get(message[0], str(message[0]))
                number = struct.unpack(">I", message[1:5])[0] if length >= 5 else None
                heard.append(name if number is None else (name, number))
        return heard

    def fetches(self, piece: int) -> None:
        self.say(REQUEST, piece, 0, BLOCK)
        assert self.hears() == [("piece", piece)]

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            more = self._socket.recv(1 << 16)
            assert more, "libtorrent closed the connection"
            self._buffer += more
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[Any]:
    """Opens connections to a seed that suggests."""
    (tmp_path / "file").write_bytes(os.urandom(PIECE * PIECES))
    files = lt.file_storage()
    files.add_file("file", PIECE * PIECES)
    made = lt.create_torrent(files, PIECE, lt.create_torrent.v1_only)
    lt.set_piece_hashes(made, str(tmp_path))
    torrent = lt.torrent_info(made.generate())
    off = ("enable_dht", "enable_lsd", "enable_upnp", "enable_natpmp")
    session = lt.session(
        dict.fromkeys(off, False)
        | {"listen_interfaces": "127.0.0.1:0", "in_enc_policy": 2, "out_enc_policy": 2}
        | {"suggest_mode": 1, "allowed_fast_set_size": 0, "allow_multiple_connections_per_ip": True}
    )
    seed = lt.add_torrent_params()
    seed.ti, seed.save_path = torrent, str(tmp_path)
    seed.flags = lt.torrent_flags.seed_mode
    handle = session.add_torrent(seed)
    end = time.monotonic() + 20
    # `is_seeding` is true while resume data is still checked, and peers are turned away till then.
    ready = lt.torrent_status.seeding
    while not (handle.status().state == ready and session.listen_port()):
        assert time.monotonic() < end, "libtorrent does not seed"
        time.sleep(0.05)
    opened: list[Peer] = []

    def connect() -> Peer:
        info_hash = torrent.info_hash().to_bytes()
        opened.append(Peer(session.listen_port(), info_hash, len(opened)))
        return opened[-1]

    yield connect
    for peer in opened:
        peer.close()
    session.pause()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_libtorrent_suggests_what_the_model_suggests(peers: Any) -> None:
    first = peers()
    first.say(INTERESTED)
    first.hears()
    for piece in (0, 3, 1):
        first.fetches(piece)
    second = peers()
    second.say(INTERESTED)
    assert second.hears() == ["have all", "unchoke", "unchoke"], "lost in the handshake"
    second.say(NOT_INTERESTED)
    assert second.hears("choke") == ["choke"]
    second.say(INTERESTED)
    assert second.hears("unchoke") == [("suggest", 3), ("suggest", 1), "unchoke"]
    for piece, told in ((4, []), (1, [("suggest", 0)]), (3, [])):
        second.say(HAVE, piece)
        assert second.hears() == told
    # A piece that half of the neighbours have is no candidate, and the next one is.
    first.fetches(4)
    first.fetches(7)
    third = peers()
    third.say(INTERESTED)
    third.hears()
    third.say(NOT_INTERESTED)
    third.hears("choke")
    third.say(INTERESTED)
    assert third.hears("unchoke") == [("suggest", 1), ("suggest", 7), "unchoke"]
