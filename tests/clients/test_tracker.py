import json
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients import testbed

from flashcrowd import _core
from flashcrowd.clients import bencode, opentracker, torrent
from flashcrowd.clients.opentracker import OpenTracker
from flashcrowd.clients.tracker import Tracker

lt = pytest.importorskip("libtorrent", reason="pip install libtorrent")
HASH = bytes(range(20))


PLAN = testbed.plan(
    {"name": "seed", "role": "seed"}, {"name": "crowd"}, tracker={"interval": "900 s"}
)


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    (place,) = testbed.loopback(1)
    spec = PLAN["workloads"][0]["tracker"]
    register = _core.TrackerRegister(_core.Plan(json.dumps(PLAN)), 0, 1)
    made = Tracker(place, 7069, spec, HASH, register)
    yield made
    made.close()


def fetch(url: str, **query: Any) -> dict[bytes, Any]:
    query = {"info_hash": HASH, "port": 6881, "left": 5, **query}
    text = "&".join(
        f"{key}={quote(str(it) if isinstance(it, int) else it)}" for key, it in query.items()
    )
    with urllib.request.urlopen(f"{url}?{text}", timeout=10) as answer:
        return lt.bdecode(answer.read())


def test_an_answer_is_compact(tracker: Tracker):
    assert fetch(tracker.url)[b"peers"] == b""
    answer = fetch(tracker.url, port=6882, event="started")
    assert answer[b"peers"] == socket.inet_aton("127.0.0.1") + (6881).to_bytes(2, "big")
    assert (answer[b"interval"], answer[b"incomplete"]) == (900, 2)
    assert fetch(tracker.url, port=6882, left=0)[b"complete"] == 1
    assert tracker.knows(("127.0.0.1", 6882))
    fetch(tracker.url, port=6882, event="stopped")
    assert tracker.counts() == (0, 1)
    assert not tracker.knows(("127.0.0.1", 6882))
    fetch(tracker.url, port=6882, event="started")
    assert tracker.knows(("127.0.0.1", 6882))
    assert not tracker.knows(("127.0.0.1", 6883))


def test_what_is_no_announce_is_refused(tracker: Tracker):
    assert b"failure reason" in fetch(tracker.url, info_hash=bytes(20))
    assert b"failure reason" in fetch(tracker.url, port="x")
    assert b"failure reason" in fetch(tracker.url, numwant="many")
    with pytest.raises(urllib.request.HTTPError, match="404"):
        urllib.request.urlopen(tracker.url.replace("announce", "other"), timeout=10)
    assert tracker.counts() == (0, 0)


@pytest.mark.parametrize(
    "query",
    [
        {"port": "x"},
        {"port": 0},
        {"port": 65536},
        {"port": -1},
        {"numwant": "many"},
        {"numwant": ""},
        {"numwant": -2},
        {"numwant": 1 << 70},
    ],
)
def test_who_is_refused_gets_no_number(
    tracker: Tracker, query: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    asked: list[int] = []

    class Register:
        def counts(self) -> tuple[int, int]:
            return 0, 0

        def announce(self, now_s: float, peer: int, **more: Any) -> list[int]:
            asked.append(peer)
            return []

    monkeypatch.setattr(tracker, "_register", Register())
    assert list(fetch(tracker.url, **query)) == [b"failure reason"]
    assert b"peers" in fetch(tracker.url, port=6882, numwant=-1)
    assert b"peers" in fetch(tracker.url, port=6883)
    assert asked == [0, 1]


def test_opentracker_knows_the_torrent_when_it_is_made(tmp_path: Path):
    testbed.needs_opentracker()
    (place,) = testbed.loopback(1)
    made = OpenTracker(place, 7070, HASH, tmp_path / "t")
    try:
        fetch(made.url)
        assert len(fetch(made.url, port=6882)[b"peers"]) == 12
        assert b"failure reason" in fetch(made.url, info_hash=bytes(20))
    finally:
        made.close()
    assert made.failure() == "its thread has ended"
    listed = {it.setting for it in opentracker.unmet(PLAN["workloads"][0]["tracker"])}
    assert "tracker.seeds_to_seeds" in listed
    assert "tracker.default_peers" not in listed


# libtorrent's numbers have 64 bits; it refuses the least of them.
integers = st.integers(1 - 2**63, 2**63 - 1)
values = st.recursive(
    integers | st.binary() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def _as_bytes(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.encode(): _as_bytes(it) for key, it in value.items()}
    if isinstance(value, list):
        return [_as_bytes(it) for it in value]
    return value.encode() if isinstance(value, str) else value


@given(st.dictionaries(st.text(), integers | st.binary() | st.text()))
def test_bencoding_is_what_libtorrent_reads(value: dict[str, Any]):
    assert lt.bdecode(bencode.encode(value)) == _as_bytes(value)


@given(values)
def test_bencoding_is_canonical(value: Any):
    # libtorrent's own encoder sorts keys, too.
    expected = lt.bencode(_as_bytes(value))
    assert bencode.encode(value) == expected


@pytest.mark.parametrize("value", [True, 1.5, None, {"a": object()}])
def test_what_cannot_be_bencoded_is_refused(value: Any):
    with pytest.raises(TypeError, match="bencoding has no"):
        bencode.encode(value)


def test_a_torrent_is_the_same_twice_and_libtorrent_reads_it(tmp_path: Path):
    one = torrent.make(tmp_path / "a", 100_000, 16384, 5, "http://198.18.0.1:6969/announce")
    two = torrent.make(tmp_path / "b", 100_000, 16384, 5, "http://198.18.0.1:6969/announce")
    assert one.metainfo.read_bytes() == two.metainfo.read_bytes()
    info = lt.torrent_info(str(one.metainfo))
    assert (info.num_pieces(), info.total_size(), info.piece_length()) == (7, 100_000, 16384)
    assert info.info_hash().to_bytes() == one.info_hash
    assert info.priv()
    assert one.wrong_pieces(two.content) == []
    damaged = bytearray(two.content.read_bytes())
    damaged[20_000] ^= 1
    two.content.write_bytes(damaged)
    assert one.wrong_pieces(two.content) == [1]
    two.content.write_bytes(damaged[:90_000])
    assert one.wrong_pieces(two.content) == [1, 5, 6]
    two.content.write_bytes(one.content.read_bytes() + b"more")
    assert one.wrong_pieces(two.content) == [7]
