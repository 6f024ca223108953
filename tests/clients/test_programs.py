import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.clients import testbed
from tests.engines.plans import made
from tests.stopped import stand_still

from flashcrowd import _core
from flashcrowd.client_api import http
from flashcrowd.clients import (
    PROGRAMS,
    ClientFailed,
    Swarm,
    daemon,
    descriptors,
    found,
    process,
    programs,
    refusals,
)
from flashcrowd.clients.host_sandbox import entered
from flashcrowd.clients.tracker import Tracker
from flashcrowd.engines.emulation import Emulator

AT_ONCE = {"spread": "0 s"}
PROCESSES = [name for name in PROGRAMS if name not in descriptors.EMBEDDED]


def plan_of(*programs: str) -> Any:
    """A seed of the first program, then a leecher of each of the others."""
    first, *others = programs
    leechers = [
        {"name": f"leecher{n}", "program": name, "upload": "2 MB/s", "arrivals": AT_ONCE}
        for n, name in enumerate(others)
    ]
    seed = {"name": "seed", "program": first, "role": "seed"}
    return testbed.plan(seed, *leechers, size="1 MB")


@pytest.mark.parametrize("name", [*PROCESSES, "mainline-4.0.2"])
def test_a_swarm_of_one_program_completes_and_tells_what_it_did(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its tracker hears late of what ends, as on a busy machine."""
    testbed.needs(name)
    announce = Tracker.announce

    def late(self: Tracker, peer: tuple[str, int], query: dict[str, str]) -> Any:
        if query.get("event") == "stopped":
            time.sleep(4.0)
        return announce(self, peer, query)

    monkeypatch.setattr(Tracker, "announce", late)
    with testbed.bridged(4) as places:
        swarm = testbed.play(plan_of(name, name, name), places, tmp_path / "r")
    rows = testbed.rows(swarm)
    for row in rows["downloads"]:
        assert row["pieces"] == 16
        assert 1_000_000 <= row["downloaded_bytes"] < 1_300_000
        assert 0.0 < row["duration_s"] < 60.0
    received = sum(row["downloaded_bytes"] for row in rows["downloads"])
    sent = sum(row["uploaded_bytes"] for row in rows["populations"])
    assert sent == pytest.approx(received, rel=0.25)
    # The simulation's own peer follows every rule of the profile.
    listed = {row["program"] for row in rows["programs"]}
    assert listed == (set() if name == "mainline-4.0.2" else {name})
    # Every peer told the tracker that it went.
    assert swarm.left_behind == (0, 0)


def test_every_program_tells_which_pieces_it_has(tmp_path: Path):
    """Where the seed goes early, what all of them have is less than the file."""
    here = [name for name in PROGRAMS if PROGRAMS[name].found() is not None]
    testbed.needs("libtorrent")
    plan = plan_of("libtorrent", *here)
    seed = plan["workloads"][0]["populations"][0]
    session = {"kind": "sessions", "at_ns": [0], "leave_ns": [4_000_000_000]}
    seed |= {"arrivals": session, "upload_bps": 8 * 150_000}
    with testbed.bridged(len(here) + 2) as places:
        swarm = Swarm(made(plan), 0, 1, places, tmp_path / "r")
        try:
            swarm.prepare()
            swarm.begin(time.monotonic())
            testbed.until(swarm, lambda: bool(swarm.outcome))
            assert 4 <= swarm.now < 20
            union = 0
            for peer in testbed.leechers(swarm):
                assert peer.client is not None
                has = peer.client.has()
                assert has is not None, peer.client.program
                if peer.client.program == "biglybt":  # its file is ahead of what it counts
                    assert has.bit_count() >= peer.progress.pieces
                else:
                    assert has.bit_count() == peer.progress.pieces, peer.client.program
                union |= has
            missing = 16 - union.bit_count()
            assert 0 < missing < 16
            assert f"no seed left, {missing} of 16 pieces missing" in swarm.outcome
        finally:
            swarm.close()


@pytest.mark.parametrize(
    ("first", "profile"), [("mainline-4.0.2", "mainline-4.0.2"), ("libtorrent", "libtorrent")]
)
def test_the_simulations_peer_speaks_with_three_others(first: str, profile: str, tmp_path: Path):
    """With the seed of one kind and four leechers of as many: hashes are verified at the end."""
    kinds = ("mainline-4.0.2", "libtorrent", "transmission", "aria2")
    testbed.needs(*kinds)
    plan = plan_of(first, *kinds)
    rules = json.loads(_core.client_profiles())[profile]
    plan["profiles"].append(rules)
    for population in plan["workloads"][0]["populations"]:
        if population.get("program") == "mainline-4.0.2":
            population["profile"] = len(plan["profiles"]) - 1
    # The seed sends so slowly that leechers must send to each other.
    plan["workloads"][0]["populations"][0]["upload_bps"] = 8 * 400_000
    with testbed.bridged(len(kinds) + 2) as places:
        swarm = testbed.play(plan, places, tmp_path / "r")
    assert testbed.completed(swarm) == len(kinds)
    assert swarm.left_behind == (0, 0)
    sent = {row["population"]: row["uploaded_bytes"] for row in testbed.rows(swarm)["populations"]}
    assert sent["seed"] < 4_000_000
    listed = [row for row in testbed.rows(swarm)["programs"] if row["program"] == kinds[0]]
    rules_of_others = {"peer_exchange.enabled", "connections.candidates"}
    expected = rules_of_others if profile == "libtorrent" else set()
    assert {row["setting"] for row in listed} == expected


@pytest.mark.long
def test_all_programs_in_one_swarm(tmp_path: Path):
    testbed.needs(*PROGRAMS)
    with testbed.bridged(len(PROGRAMS) + 2) as places:
        swarm = testbed.play(plan_of("libtorrent", *PROGRAMS), places, tmp_path / "r")
    assert testbed.completed(swarm) == len(PROGRAMS)
    assert swarm.left_behind == (0, 0)


@pytest.mark.parametrize(
    ("name", "hides"),
    [
        ("qbittorrent", lambda it: b'"super_seeding":true' in it._get("torrents/info")),
        ("rtorrent", lambda it: it._rpc("d.connection_current", it._hash) == "initial_seed"),
    ],
)
def test_a_seed_hides_what_it_has_and_neighbours_tell_of_each_other(
    name: str, hides: Callable[[Any], bool], tmp_path: Path
):
    testbed.needs(name, "libtorrent")
    profiles = {"hiding": {"base": "libtorrent", "super_seeding": True}}
    seed = {"name": "seed", "program": name, "role": "seed", "profile": "hiding"}
    leecher = {"program": name, "profile": "libtorrent", "upload": "2 MB/s", "arrivals": AT_ONCE}
    # rTorrents that have nothing else to say tell each other two minutes later what they have.
    others = {**leecher, "name": "others", "program": "libtorrent"}
    leechers = (leecher, others) if name != "rtorrent" else ({**others, "hosts": 2},)
    plan = testbed.plan(seed, *leechers, size="1 MB", profiles=profiles)
    with testbed.bridged(4) as places:
        swarm = Swarm(made(plan), 0, 1, places, tmp_path / "r")
        try:
            swarm.prepare()
            assert swarm.torrent is not None
            assert b"private" not in swarm.torrent.metainfo.read_bytes()
            swarm.begin(time.monotonic())
            swarm.step()
            testbed.until(swarm, lambda: hides(swarm.peers[0].client))
            # A libtorrent leaves who has become a seed, even where it lacks what that one has, and
            # comes again after a minute (`min_reconnect_time`).
            testbed.until(swarm, lambda: swarm.is_done, most_s=180.0)
            swarm.finish()
        finally:
            swarm.close()
    listed = {row["setting"] for row in testbed.rows(swarm)["programs"]}
    assert not {"super_seeding", "peer_exchange.enabled"} & listed


def test_qbittorrent_takes_pieces_in_sequence(tmp_path: Path):
    testbed.needs("qbittorrent", "libtorrent")
    profiles = {"sequential": {"base": "libtorrent", "picker": {"order": "sequential"}}}
    seed = {"name": "seed", "program": "libtorrent", "role": "seed", "profile": "libtorrent"}
    leecher = {"name": "leecher", "program": "qbittorrent", "profile": "sequential"}
    plan = testbed.plan(seed, {**leecher, "arrivals": AT_ONCE}, size="1 MB", profiles=profiles)
    with testbed.bridged(3) as places:
        swarm = Swarm(made(plan), 0, 1, places, tmp_path / "r")
        try:
            swarm.prepare()
            swarm.begin(time.monotonic())
            clients: list[Any] = [it.client for it in swarm.peers]
            (client,) = [it for it in clients if it.program == "qbittorrent"]
            testbed.until(swarm, lambda: b'"seq_dl":true' in client._get("torrents/info"))
            testbed.until(swarm, lambda: swarm.is_done)
            swarm.finish()
        finally:
            swarm.close()
    assert "picker.order" not in {row["setting"] for row in testbed.rows(swarm)["programs"]}


def _began(places: Any, folder: Path, *programs: str) -> Swarm:
    swarm = Swarm(made(plan_of(*programs)), 0, 1, places, folder)
    swarm.prepare()
    swarm.begin(time.monotonic())
    swarm.step()
    return swarm


def test_a_crash_is_told_with_the_last_lines(tmp_path: Path):
    testbed.needs("aria2")
    with testbed.bridged(3) as places:
        swarm = _began(places, tmp_path / "r", "aria2", "aria2")
        try:
            client = swarm.peers[0].client
            assert client is not None
            assert client.pid is not None
            os.killpg(client.pid, signal.SIGKILL)
            time.sleep(0.2)
            with pytest.raises(ClientFailed, match=r"(?s)aria2 on h0: .*SIGKILL.*listening on"):
                swarm.step()
        finally:
            swarm.close()


LAST_WORDS = {
    "libtorrent": "listen_failed_alert",
    "mainline-4.0.2": "Address already in use",
    "transmission": "Couldn't bind port 6881",
    "qbittorrent": "Failed to listen on IP",
    "aria2": "failed to bind TCP port 6881",
    "rtorrent": "Could not open/bind port for listening",
    "biglybt": "unable to bind TCP incoming server socket to 6881",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_client_whose_port_is_taken_is_told_with_its_last_lines(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    testbed.needs(name)
    monkeypatch.setattr(daemon, "LISTEN_S", 2.0)

    def play(swarm: Swarm) -> None:
        swarm.prepare()
        swarm.begin(time.monotonic())
        testbed.go_on(swarm, 20.0)

    with testbed.bridged(3) as places:
        with entered(places[0].netns):
            taken = socket.socket()
        with taken:
            taken.bind((places[0].address, 6881))
            taken.listen()
            swarm = Swarm(made(plan_of(name, name)), 0, 1, places, tmp_path / "r")
            with (
                contextlib.closing(swarm),
                pytest.raises(ClientFailed, match=rf"(?s){name} on h0: .*\n.*{LAST_WORDS[name]}"),
            ):
                play(swarm)


def test_what_a_killed_program_keeps_outside_of_its_folder_goes(tmp_path: Path):
    testbed.needs("transmission")
    with testbed.bridged(3) as places:
        swarm = _began(places, tmp_path / "r", "transmission", "transmission")
        try:
            noted = [Path(it.read_text().strip()) for it in tmp_path.rglob("elsewhere")]
            assert len(noted) == 2
            assert all(it.exists() for it in noted)
        finally:
            swarm.close()
        assert not any(it.exists() for it in noted)


def test_a_hang_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    testbed.needs("aria2")
    monkeypatch.setattr(daemon, "HUNG_S", 1.0)
    monkeypatch.setattr(http, "TIMEOUT_S", 0.3)
    with testbed.bridged(3) as places:
        swarm = _began(places, tmp_path / "r", "aria2", "aria2")
        try:
            client = swarm.peers[0].client
            assert client is not None
            assert client.pid is not None
            stand_still(client.pid)
            with pytest.raises(ClientFailed, match=r"aria2 on h0: no answer for 1 s: /jsonrpc"):
                testbed.go_on(swarm, 20.0)
        finally:
            swarm.close()


@pytest.mark.parametrize("name", PROCESSES)
def test_nobody_waits_for_a_tracker_when_the_network_has_ended(name: str, tmp_path: Path):
    testbed.needs(name)
    unanswered = {"answer_delay": "1000 s"}
    with testbed.bridged(3) as places:
        leecher = {"program": name, "upload": "2 MB/s", "arrivals": AT_ONCE}
        plan = testbed.plan({"program": name, "role": "seed"}, leecher, tracker=unanswered)
        swarm = Swarm(made(plan), 0, 1, places, tmp_path / "r")
        try:
            swarm.prepare()
            swarm.begin(time.monotonic())
            tracker = swarm.tracker
            assert isinstance(tracker, Tracker)
            testbed.until(swarm, lambda: tracker.announces > 0)
            swarm.cut_off()
            swarm.finish()
            client = swarm.peers[0].client
            assert isinstance(client, daemon.Daemon)
            assert "SIGKILL" not in client.how_it_ended
        finally:
            swarm.close()


def test_a_client_that_does_not_end_is_killed_and_its_run_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    testbed.needs("aria2")
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    monkeypatch.setattr(http, "TIMEOUT_S", 0.3)
    with testbed.bridged(3) as places:
        swarm = _began(places, tmp_path / "r", "aria2", "aria2")
        try:
            testbed.until(swarm, lambda: swarm.is_done)
            client = swarm.peers[0].client
            assert isinstance(client, daemon.Daemon)
            assert client.pid is not None
            stand_still(client.pid)
            swarm.cut_off()
            swarm.finish()
            assert client.how_it_ended == "it did not end, and was killed"
            assert testbed.completed(swarm) == 1
        finally:
            swarm.close()


def test_what_is_asked_and_cannot_be_is_refused_by_name():
    plan = plan_of("aria2", "aria2")
    seed, leecher = plan["workloads"][0]["populations"]
    plan["utps"] = [json.loads(_core.utp_profiles())["libutp"]]
    leecher["transport"] = {"utp": 0}
    seed["upload_bps"] = 0
    if found()["aria2"] is None:
        assert all("apt install aria2" in reason for reason in refusals(made(plan), 0))
        return
    first, second = refusals(made(plan), 0)
    assert first == (
        "workloads.swarm.populations.seed: aria2 cannot be told to upload nothing; choose another "
        "program, or allow a little"
    )
    assert second == (
        "workloads.swarm.populations.leecher0: aria2 opens its connections over tcp, not over utp; "
        "choose another program, or transport"
    )
    leecher["program"] = "emule"
    assert "'emule' is none of libtorrent, mainline-4.0.2" in refusals(made(plan), 0)[1]


def own_bytes(pid: int) -> int:
    """The memory that is a process's alone, or its share of what several have (`proc(5)`)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = dict(line.split(":") for line in lines)
    return 1024 * int(sizes["Pss_Anon"].split()[0])


@pytest.mark.parametrize("name", PROCESSES)
def test_an_idle_client_has_less_memory_than_one_is_reckoned_with(name: str, tmp_path: Path):
    testbed.needs(name)
    with testbed.bridged(3) as places:
        swarm = Swarm(made(plan_of(name, name)), 0, 1, places, tmp_path / "r")
        try:
            swarm.prepare()
            most = max(own_bytes(pid) for pid in testbed.pids(swarm))
            assert 500_000 < most < PROGRAMS[name].each_bytes
        finally:
            swarm.close()


def test_memory_is_reckoned_by_program():
    plan = plan_of("libtorrent", "libtorrent")
    ours = programs.memory(made(plan))
    assert ours == 2 * PROGRAMS["libtorrent"].each_bytes
    both = programs.memory(made(plan_of("libtorrent", "libtorrent", "qbittorrent", "qbittorrent")))
    other = PROGRAMS["qbittorrent"]
    assert both - ours == other.once_bytes + 2 * other.each_bytes
    (need,) = Emulator().needs([made(plan)])
    assert need is not None
    assert need.bytes > ours + 3 * 2_000_000


def test_every_program_is_told_of_with_its_version():
    for name, program in found().items():
        assert program is None or (program.name == name and program.version)


def test_more_connections_than_files_are_refused_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
):
    plan = plan_of("libtorrent", *["libtorrent"] * 9)
    # Ten sessions with nine neighbours each, and what they have besides.
    assert 10 * 9 < descriptors.needed(made(plan), 0) < 10 * 9 + 300
    monkeypatch.setattr(descriptors, "allowed", lambda: 100)
    refused = refusals(made(plan), 0)[-1]
    assert refused.startswith("workloads.swarm: ")
    assert "100 may be; raise the limit (ulimit -Hn" in refused
    # Two swarms are played by one process: each fits in, and both do not.
    one = descriptors.needed(made(plan), 0)
    monkeypatch.setattr(descriptors, "allowed", lambda: one)
    both = made(
        plan | {"workloads": [*plan["workloads"], {**plan["workloads"][0], "name": "second"}]}
    )
    assert descriptors.refusal(both, 0) is None
    refused = descriptors.refusal(both, 1) or ""
    assert refused.startswith("workloads.second: ")
    assert "those of the swarms before it included" in refused


def test_a_program_that_writes_for_ever_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(process, "MOST_LOG", 1_000_000)
    log = tmp_path / "log"
    program = process.Process(testbed.loopback(1)[0], ["yes", "a line"], log)
    try:
        while log.stat().st_size <= process.MOST_LOG:
            time.sleep(0.01)
        stand_still(program.pid)
        program.trim()
        assert log.stat().st_size == 0
        os.kill(program.pid, signal.SIGCONT)
        while not log.stat().st_size:
            time.sleep(0.01)
    finally:
        program.kill()
    assert log.read_bytes()[:3] != b"\0\0\0", "there is no hole before what it goes on with"


def test_last_lines_are_plain_text(tmp_path: Path):
    log = tmp_path / "log"
    log.write_bytes(
        b"\x1b[1;31mERROR\x1b[0m - \x1b]0;title\x07Exception\tcaught\n"
        b"[#1 0B/1MB]\r[#1 1MB/1MB]\n"
        b"bell \x07, \xff\n"
    )
    assert process.last_lines(log) == [
        "ERROR - Exception caught",
        "[#1 1MB/1MB]",
        "bell \\u0007, \ufffd",
    ]
