"""What a real libtorrent does by itself, and what the profile of its name says."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashcrowd import _core
from flashcrowd.clients import defaults
from flashcrowd.scenario import shipped

lt = pytest.importorskip("libtorrent")

PROFILE = json.loads(_core.client_profiles())["libtorrent"]
SIZE = 64 << 20
UTP_SOCKET = 1 << 17
"""`peer_info::utp_socket`, which Python does not name."""
QUIET = {
    "alert_mask": 0,
    **dict.fromkeys(("enable_dht", "enable_lsd", "enable_upnp", "enable_natpmp"), False),
}


def connected(folder: Path, **settings: Any) -> tuple[Any, Any]:
    """A seed and a leecher on this machine, as they ship but for what a test must not have."""
    source, target = folder / "seed", folder / "leecher"
    source.mkdir()
    target.mkdir()
    (source / "file").write_bytes(os.urandom(SIZE))
    torrent = lt.create_torrent(lt.list_files(str(source / "file")))
    lt.set_piece_hashes(torrent, str(source))
    info = lt.torrent_info(torrent.generate())
    handles = []
    for number, place in enumerate((source, target), 1):
        session = lt.session({**QUIET, **settings, "listen_interfaces": f"127.0.0.{number}:0"})
        added = lt.add_torrent_params()
        added.ti, added.save_path = info, str(place)
        if number == 1:
            added.flags |= lt.torrent_flags.seed_mode
        handles.append((session, session.add_torrent(added)))
    (seed, _), (_, leeching) = handles
    for _ in range(100):
        leeching.connect_peer(("127.0.0.1", seed.listen_port()))
        if leeching.get_peer_info():
            break
        time.sleep(0.05)
    return handles[0], handles[1]


def peers_sockets(ports: set[int]) -> Iterator[socket.socket]:
    """The TCP connections of this process with one of these ports at an end."""
    for name in os.listdir("/proc/self/fd"):
        try:
            copy = os.dup(int(name))
        except OSError:
            continue
        try:
            found = socket.socket(fileno=copy)
        except OSError:
            os.close(copy)
            continue
        with found:
            if found.type == socket.SOCK_STREAM and found.family == socket.AF_INET:
                try:
                    ends = {found.getsockname()[1], found.getpeername()[1]}
                except OSError:
                    continue
                if ends & ports:
                    yield found


def test_its_sockets_have_the_nagle_of_the_profile(tmp_path: Path):
    alone = {"enable_outgoing_utp": False, "enable_incoming_utp": False}
    (seed, _), (leecher, _) = connected(tmp_path, **alone)
    ports, options = {seed.listen_port(), leecher.listen_port()}, set[int]()
    until = time.monotonic() + 10
    while not options and time.monotonic() < until:
        options = {
            it.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for it in peers_sockets(ports)
        }
    assert options == {int(not PROFILE["nagle"])}


def test_it_opens_connections_over_utp(tmp_path: Path):
    (_, _), (_, leeching) = connected(tmp_path)
    until, over = time.monotonic() + 10, set[bool]()
    while not over and time.monotonic() < until:
        over = {bool(it.flags & UTP_SOCKET) for it in leeching.get_peer_info()}
    assert over == {PROFILE["transport"] in shipped.utps()}


def test_every_setting_is_accounted_for_once():
    named = [name for name, _, _ in defaults.settings()]
    assert sorted(named) == sorted(lt.default_settings())


def test_what_is_modelled_has_the_default():
    shipped_with, ours = lt.default_settings(), defaults.modelled()
    assert ours == {name: shipped_with[name] for name in ours}


def test_the_page_is_of_the_definition():
    page = Path(__file__).parents[2] / "docs" / "defaults.md"
    assert page.read_text() == defaults.markdown()
    for line in page.read_text().splitlines():
        assert all(len(cell) <= 142 for cell in line.split("|"))
