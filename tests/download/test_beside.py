"""`flashcrowd fetch --connections`: several at once, to one or several servers, of one version."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.download.servers import BLOCK, DATE, Behaviour, content, serving

import flashcrowd
from flashcrowd.base.units import Size
from flashcrowd.cli import main
from flashcrowd.download import LEAST_SPLIT, RANGE, Fetched, FetchError, Progress, Unusable, beside
from flashcrowd.scenario import Download

DATA = content(20 * BLOCK + 77)
OTHER = content(20 * BLOCK + 77, seed=2)


def fetched(folder: Path, *does: Behaviour, **wish) -> tuple[Fetched, list[str]]:
    """What came over four connections from servers that do so, and what was said."""
    said: list[str] = []
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(it)) for it in does]
        came = flashcrowd.fetch(
            servers[0].url,
            folder / "file",
            mirrors=[it.url for it in servers[1:]],
            tell=said.append,
            **{"tries": 2, "connections": 4, "range_bytes": BLOCK, **wish},
        )
    return came, said


def ranges(does: Behaviour) -> list[tuple[int, int]]:
    """The ranges that a server was asked for."""
    texts = [it["range"].removeprefix("bytes=").split("-") for it in does.gets() if "range" in it]
    return [(int(low), int(high) + 1) for low, high in texts]


@pytest.mark.parametrize("range_bytes", [BLOCK, 3 * BLOCK + 1, None])
def test_connections_divide_a_file(range_bytes: int | None, tmp_path: Path):
    does = Behaviour(data=DATA, digests=True)
    came, said = fetched(tmp_path, does, range_bytes=range_bytes, least_split_bytes=None)
    assert (tmp_path / "file").read_bytes() == DATA
    assert (came.how, came.verified, came.retries, said) == ("ranges", ("blocks",), 0, [])
    length = range_bytes or -(-len(DATA) // 4)
    starts = range(0, len(DATA), length)
    assert sorted(ranges(does)) == [(it, min(it + length, len(DATA))) for it in starts]
    [server] = came.servers
    assert (server.bytes, server.ranges) == (len(DATA), len(starts))
    assert server.connections <= 4
    assert server.asked_s is not None
    assert server.first_byte_s is not None
    assert server.last_byte_s is not None
    assert server.asked_s < server.first_byte_s < server.last_byte_s < came.seconds
    assert all(it["if-range"] == '"v1"' for it in does.gets())


def test_a_fast_mirror_brings_more_than_a_slow_one(tmp_path: Path):
    slow, fast = Behaviour(data=DATA, rate=300e3), Behaviour(data=DATA, rate=1500e3)
    came, said = fetched(tmp_path, slow, fast, connections=2)
    assert (tmp_path / "file").read_bytes() == DATA
    assert said == []
    of_slow, of_fast = (it.bytes for it in came.servers)
    assert of_slow + of_fast == len(DATA)
    assert of_fast > 2.5 * of_slow > 0


def test_a_free_connection_takes_half_of_what_a_slow_server_has_left(tmp_path: Path):
    slow, fast = Behaviour(data=DATA, rate=200e3), Behaviour(data=DATA)
    half = len(DATA) / 2 / 200e3
    came, _ = fetched(tmp_path, slow, fast, connections=2, range_bytes=None)
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.seconds < half / 2
    # Its answer goes on for longer, and is not read.
    assert sum(it.bytes for it in came.servers) == len(DATA)


@pytest.mark.parametrize("range_bytes", [BLOCK, None])
def test_a_free_connection_takes_over_the_rest_of_one_that_trickles(
    range_bytes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(beside, "SLOW_S", 1.0)
    trickles = Behaviour(data=DATA, rate=20, piece=2)
    good = Behaviour(data=DATA, rate=2e6)
    came, said = fetched(tmp_path, good, trickles, connections=2, range_bytes=range_bytes)
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.seconds < 10
    assert came.retries == 0
    assert [it.endswith("too slow; another connection fetches its last bytes") for it in said] == [
        True
    ]


def test_a_slower_connection_takes_nothing_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beside, "SLOW_S", 0.3)
    does = [Behaviour(data=DATA[:200], rate=it, piece=2) for it in (200, 40)]
    _, said = fetched(tmp_path, *does, connections=2, range_bytes=None)
    assert (tmp_path / "file").read_bytes() == DATA[:200]
    assert len(said) == 1


def test_what_an_earlier_call_has_kept_is_not_fetched_again(tmp_path: Path):
    does = Behaviour(data=DATA, cuts=[5 * BLOCK, 0, 0, 0])
    with serving(does) as server:
        with pytest.raises(FetchError):
            flashcrowd.fetch(server.url, tmp_path / "file", tries=1)
        does.seen.clear()
        does.cuts.clear()
        came = flashcrowd.fetch(
            server.url, tmp_path / "file", connections=4, range_bytes=BLOCK, least_split_bytes=None
        )
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.resumed == 5 * BLOCK
    assert min(ranges(does)) == (5 * BLOCK, 6 * BLOCK)
    assert sum(high - low for low, high in ranges(does)) == len(DATA) - 5 * BLOCK


def test_a_broken_connection_leaves_its_range_to_any(tmp_path: Path):
    does = Behaviour(data=DATA, cuts=[BLOCK, BLOCK // 2, 0, 10], repr_digest=True)
    came, said = fetched(tmp_path, does, tries=5)
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.verified == ("server",)
    assert came.retries == 3
    assert 1 <= len([it for it in said if "again in" in it]) <= 3  # some break together


def test_failed_requests_are_counted_for_a_server_and_not_for_a_connection(tmp_path: Path):
    fails = Behaviour(data=DATA, statuses=[500] * 1000)
    good = Behaviour(data=DATA, rate=3e4, piece=BLOCK // 8)
    came, said = fetched(tmp_path, good, fails, connections=16, tries=3)
    assert (tmp_path / "file").read_bytes() == DATA
    assert 3 <= len(fails.gets()) <= 8 + 2  # all of its connections, and then one
    again = [it for it in said if "again in" in it]
    assert len(again) == 2
    url = came.servers[1].url
    assert all(it.startswith(f"{url}: connection ") for it in again)
    assert f"{url}: the server answers 500" in said


def test_a_request_that_breaks_after_64_KiB_came_to_something(tmp_path: Path):
    does = Behaviour(data=DATA, cuts=[BLOCK + 100] * 7, piece=BLOCK // 4)
    _, said = fetched(tmp_path, does, connections=2, range_bytes=2 * BLOCK)
    assert (tmp_path / "file").read_bytes() == DATA
    assert "goes on over one connection" not in said


def test_connections_that_break_together_are_one_failure_of_their_server(tmp_path: Path):
    does = Behaviour(data=DATA, cuts=[BLOCK // 2] * 8, rate=6e4)
    came, said = fetched(tmp_path, does, connections=8, range_bytes=None)
    assert (tmp_path / "file").read_bytes() == DATA
    assert "goes on over one connection" not in said
    assert came.retries == 8


def test_a_damaged_block_is_fetched_again(tmp_path: Path):
    does = Behaviour(data=DATA, digests=True, flips=[7 * BLOCK + 5])
    came, said = fetched(tmp_path, does)
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.refetched == BLOCK
    assert "came damaged" in said[0]


@pytest.mark.parametrize(
    "mirror",
    [
        Behaviour(data=OTHER, etag='"x"'),
        Behaviour(data=OTHER, etag="", date=DATE),
        Behaviour(data=OTHER, etag='"x"', repr_digest=True),
        Behaviour(data=DATA[:-1]),
        Behaviour(data=DATA, head=404),
    ],
)
def test_a_mirror_that_proves_nothing_brings_nothing(mirror: Behaviour, tmp_path: Path):
    came, said = fetched(tmp_path, Behaviour(data=DATA, repr_digest=True), mirror)
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.servers[1].bytes == 0
    assert mirror.gets() == []
    assert len([it for it in said if "nothing proves that it has this file" in it]) == 1


def test_a_mirror_of_another_tag_and_the_same_digest_brings_its_part(tmp_path: Path):
    both = [Behaviour(data=DATA, rate=1e6, etag=it, repr_digest=True) for it in ('"a"', '"b"')]
    came, said = fetched(tmp_path, *both)
    assert (tmp_path / "file").read_bytes() == DATA
    assert said == []
    assert all(it.bytes > 0 for it in came.servers)
    assert {it["if-range"] for it in both[1].gets()} == {'"b"'}


def test_a_server_that_dies_leaves_its_connections_to_its_mirror(tmp_path: Path):
    dies = Behaviour(data=DATA, rate=1e6)
    dies.on_get = [lambda: dies.cuts.extend([0] * 100)] * 3
    came, said = fetched(tmp_path, dies, Behaviour(data=DATA, rate=1e6), tries=1)
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.servers[1].bytes > len(DATA) / 2
    assert any("broke off" in it for it in said)


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(("less", "excess"), [(1000, 0), (BLOCK // 2, 0), (0, 1000), (0, BLOCK)])
def test_an_answer_longer_than_it_says_is_its_servers_fault(
    less: int, excess: int, chunked: bool, tmp_path: Path
):
    lies = Behaviour(data=DATA, chunked_ranges=chunked, says_less=less, excess=excess)
    good = Behaviour(data=DATA, rate=1e6)
    came, said = fetched(tmp_path, good, lies)
    assert (tmp_path / "file").read_bytes() == DATA
    why = "longer than it says" if chunked else "not what was asked for"
    assert len([it for it in said if why in it]) == 1
    assert came.servers[0].bytes > len(DATA) / 2
    assert len(lies.gets()) <= 2  # by its two connections


@pytest.mark.parametrize(
    ("does", "why"),
    [
        (Behaviour(data=DATA, silent_ranges=True), "gives no ranges of this version (200)"),
        (Behaviour(data=DATA, ranges=False), "gives no ranges of this version (200)"),
        (Behaviour(data=DATA, etag='W/"v1"'), "one connection: the server sends no strong ETag"),
        (Behaviour(data=DATA, etag=""), "one connection: the server sends no strong ETag"),
        (Behaviour(data=DATA, head=405), "one connection: the server does not say how long"),
        (Behaviour(data=DATA, chunked=True), "one connection: the server does not say how long"),
        (Behaviour(data=b""), ""),
    ],
)
def test_one_connection_fetches_what_several_cannot_have(does: Behaviour, why: str, tmp_path: Path):
    came, said = fetched(tmp_path, does)
    assert why in said[0] if why else said == []
    assert (tmp_path / "file").read_bytes() == does.data
    assert came.bytes == len(does.data)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (404, "is not there (404)"),
        (403, "is not for everybody (403)"),
        (416, "gives no ranges of this version (416)"),
        (418, "the server answers 418"),
    ],
)
def test_a_mirror_that_refuses_is_left_with_its_status(code: int, why: str, tmp_path: Path):
    refuses = Behaviour(data=DATA, statuses=[code] * 100)
    came, said = fetched(tmp_path, Behaviour(data=DATA, rate=3e5), refuses)
    assert (tmp_path / "file").read_bytes() == DATA
    assert said == [f"{came.servers[1].url}: {why}"]


def test_an_address_that_is_named_twice_is_one_server(tmp_path: Path):
    said: list[str] = []
    with serving(Behaviour(data=DATA)) as server:
        twice = [server.url, server.url + "#x"]
        came = flashcrowd.fetch(server.url, tmp_path / "file", mirrors=twice, tell=said.append)
    assert len(came.servers) == 1
    assert said == [f"{server.url}: is named twice, and used once"] * 2


def test_a_limit_of_the_size_of_files_is_named(tmp_path: Path):
    words = "import resource as r, sys; r.setrlimit(r.RLIMIT_FSIZE, (100000, 100000)); "
    words += "from flashcrowd.cli import main; sys.exit(main(sys.argv[1:]))"
    with serving(Behaviour(data=DATA)) as server:
        done = subprocess.run(
            [sys.executable, "-c", words, "fetch", server.url, "-o", "x", "--connections", "2"],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert "x.part: files may not be so large (ulimit -f); name another place" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changes_meanwhile_begins_again(tmp_path: Path):
    does = Behaviour(data=DATA)

    def change() -> None:
        does.data, does.etag = OTHER, '"v2"'

    does.on_get = [lambda: None] * 5 + [change]
    _, said = fetched(tmp_path, does)
    assert (tmp_path / "file").read_bytes() == OTHER
    assert any("gives no ranges of this version (200)" in it for it in said)
    assert any("has changed on the server: begins anew" in it for it in said)


def test_servers_that_hang_are_given_up(tmp_path: Path):
    hang = [Behaviour(data=DATA, rate=8e3) for _ in range(2)]
    begin = time.monotonic()
    with pytest.raises(FetchError, match="nothing came for too long"):
        fetched(tmp_path, *hang, tries=1, timeout_s=0.5)
    assert time.monotonic() - begin < 10


def test_a_given_digest_decides(tmp_path: Path):
    digest = hashlib.sha256(DATA).hexdigest()
    came, _ = fetched(tmp_path, Behaviour(data=DATA), sha256=digest)
    assert came.verified == ("sha256",)
    (tmp_path / "file").unlink()
    with pytest.raises(FetchError, match="has the SHA-256"):
        fetched(tmp_path, Behaviour(data=OTHER), sha256=digest)


LIAR = {"data": OTHER, "rate": 1e6}
SLOWER = {"data": DATA, "rate": 1e6}


@pytest.mark.parametrize(
    "does",
    [
        [SLOWER, LIAR],
        [LIAR, SLOWER],
        [LIAR, LIAR, SLOWER],
        [SLOWER, {**LIAR, "etag": '"x"', "repr_digest": False}],
        # The first one fails for a while: no other server brings a part of the file meanwhile.
        [{**SLOWER, "cuts": [1 << 60] * 10 + [BLOCK, 0]}, LIAR],
    ],
)
def test_a_server_with_other_bytes_does_no_harm_if_the_digest_is_given(
    does: list[dict], tmp_path: Path
):
    servers = [Behaviour(**it) for it in does]
    digest = hashlib.sha256(DATA).hexdigest()
    came, said = fetched(tmp_path, *servers, sha256=digest, tries=3)
    assert (tmp_path / "file").read_bytes() == DATA
    assert came.verified == ("sha256",)
    several = "what came from several servers is not the file: begins anew"
    assert said.count(several) == (does[1].get("etag") is None)
    if does[0] is SLOWER:
        assert not any("has the SHA-256" in it for it in said)  # it is not blamed


def test_a_server_is_blamed_for_a_whole_file_of_its_own_alone(tmp_path: Path):
    digest = hashlib.sha256(content(5)).hexdigest()
    with pytest.raises(FetchError, match="has the SHA-256"):
        fetched(tmp_path, Behaviour(**SLOWER), Behaviour(**LIAR), sha256=digest)


def test_what_several_servers_brought_to_an_earlier_call_blames_none(tmp_path: Path):
    good, liar = Behaviour(data=DATA, rate=500e3), Behaviour(data=OTHER, rate=500e3)
    said: list[str] = []
    with serving(good) as one, serving(liar) as other:

        def stop(far: Progress) -> None:
            if min(it.bytes for it in far.servers) >= 2 * BLOCK:
                raise KeyboardInterrupt

        both = {"mirrors": [other.url], "connections": 2, "range_bytes": BLOCK}
        with pytest.raises(KeyboardInterrupt):
            flashcrowd.fetch(one.url, tmp_path / "file", progress=stop, **both)
        digest = hashlib.sha256(DATA).hexdigest()
        flashcrowd.fetch(one.url, tmp_path / "file", sha256=digest, tell=said.append)
    assert (tmp_path / "file").read_bytes() == DATA
    assert said == ["what came from several servers is not the file: begins anew"]


def test_progress_is_told_in_the_calling_thread(tmp_path: Path):
    here, seen = threading.get_ident(), []

    def watch(progress) -> None:
        assert threading.get_ident() == here
        seen.append((progress.done, progress.servers[0].bytes))

    fetched(tmp_path, Behaviour(data=DATA, rate=300e3), progress=watch)
    assert len(seen) > 3
    assert seen[-1] == (len(DATA), len(DATA))


def test_ctrl_c_keeps_what_came_and_the_next_call_goes_on(tmp_path: Path):
    does = Behaviour(data=DATA, rate=100e3)
    with serving(does) as server:
        words = ["fetch", server.url, "-o", str(tmp_path / "file"), "--connections", "3", "--json"]
        command = [sys.executable, "-m", "flashcrowd", *words]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            while len(does.gets()) < 3:
                time.sleep(0.05)
            time.sleep(1.0)
            os.kill(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "Go on with" in said
        does.rate = 0.0
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["resumed"] > 0
    assert told["servers"][0]["bytes"] == told["received"] == len(DATA) - told["resumed"]
    assert (tmp_path / "file").read_bytes() == DATA


def test_wrong_numbers_and_ranges_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture):
    for connections in (0, 101):
        with pytest.raises(Unusable, match="there may be 1 to 100"):
            flashcrowd.fetch("http://host/file", tmp_path / "file", connections=connections)
    for option in ("--connections", "--tries"):
        with pytest.raises(SystemExit, match="2"):
            main(["fetch", "http://host/file", option, "1.5"])
        assert "a whole number, at least 1" in capsys.readouterr().err
    for text in ("0 B", "often"):
        with pytest.raises(SystemExit, match="2"):
            main(["fetch", "http://host/file", "--range", text])
        assert f"--range {text}: is no size like 1 MiB, nor equal" in capsys.readouterr().err


def test_a_simulated_download_has_the_defaults_of_fetch():
    download = Download.model_validate({"from": "a", "to": "b", "size": "1 GB"})
    assert download.range == Size.of(RANGE)
    assert download.least_split == Size.of(LEAST_SPLIT)
    assert download.connections == 1
