"""Runs that two nodes play together: here two labs of one machine, which meet by UDP alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.emulation.left_behind import below, labs, parents, wait_for
from tests.late import ended
from tests.testbed.here import Here, options

from flashcrowd.base.messages import decoded, encoded
from flashcrowd.cli import _status
from flashcrowd.emulation.card import ABSENT, card
from flashcrowd.emulation.ensemble import alike
from flashcrowd.emulation.member import SECRET, line
from flashcrowd.emulation.messages import Card, Programs
from flashcrowd.store import open as open_results
from flashcrowd.study import Study
from flashcrowd.testbed.deploy import Deployment

PING = """
[workloads.across]
kind = "ping"
from = "homes-1"
to = "homes-2"
interval = "50 ms"
"""
"""Hosts are dealt to nodes one by one, so that it goes to the other node and back."""


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, subprocess.Popen]]:
    """A node that waits for runs at an address of the loopback interface."""
    monkeypatch.setenv(SECRET, "known here")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    node = subprocess.Popen(
        [sys.executable, "-m", "flashcrowd.emulation.member", address], stdout=subprocess.PIPE
    )
    try:
        said = node.stdout.readline() if node.stdout is not None else b""
        assert said, "it does not wait"
        yield address, node
    finally:
        node.kill()
        node.communicate()


@pytest.fixture
def shared(swarm: Path) -> Path:
    """A study of a seed and three leechers, and a ping."""
    swarm.write_text(swarm.read_text().replace("hosts = 4\n", "hosts = 3\n") + PING)
    return swarm


def test_a_swarm_and_a_ping_on_two_nodes(
    shared: Path,
    tmp_path: Path,
    member: tuple[str, subprocess.Popen],
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "e"
    words = ["run", str(shared), "--engine", "emulation", "--out", str(out), "--across", member[0]]
    assert _status(words) == 0, capsys.readouterr().err
    results = open_results(out)
    (run,) = results.tables["runs"].to_pylist()
    # On a machine with other work packets come late, and the run says so.
    ended(run, "completed")
    downloads = results.tables["downloads"].to_pylist()
    assert [row["host"] for row in downloads] == ["homes-2", "homes-3", "homes-4"]
    # Peers have numbers in the order in which they came: the seed's node may be late.
    peers = {row["peer"] for row in downloads}
    assert len(peers) == 3
    assert peers < {0, 1, 2, 3}
    for row in downloads:
        assert row["completed_s"] is not None
        assert row["pieces"] == 16
    seed, crowd = results.tables["populations"].to_pylist()
    assert (seed["peers"], crowd["peers"], crowd["completed"]) == (1, 3, 3)
    sent = seed["uploaded_bytes"] + crowd["uploaded_bytes"]
    assert sent == pytest.approx(crowd["downloaded_bytes"], rel=0.1)
    have = results.tables["have"].to_pylist()
    assert {(row["peer"], row["piece"]) for row in have} == {
        (row["peer"], piece) for row in downloads for piece in range(16)
    }
    series = results.tables["series"].to_pylist()
    online = [row["value"] for row in series if row["what"] == "online"]
    assert max(online) == 4
    # Each link is played on one node, and counted once: what went up came down, or was lost.
    links = {row["link"]: row for row in results.tables["links"].to_pylist()}
    assert list(links) == [f"homes-{n} {way}" for n in range(1, 7) for way in ("up", "down")]
    up, down = (
        sum(row["packets"] for name, row in links.items() if name.endswith(way))
        for way in (" up", " down")
    )
    assert run["packets_sent"] > 1000
    assert down <= up <= run["packets_sent"]
    assert run["packets_sent"] - run["packets_delivered"] < 0.05 * run["packets_sent"] + 100
    # The way of a ping crosses to the other node and back, and takes what the study says.
    pings = [row["rtt_s"] for row in results.tables["pings"].to_pylist()]
    answered = [rtt for rtt in pings if rtt is not None]
    assert len(answered) > len(pings) / 2
    # What two clocks are apart included, which in a run that was late may be more for some.
    assert sorted(answered)[len(answered) // 10] > 0.0395
    assert min(answered) > 0.0395 or run["outcome"] == "invalid"
    probes = results.tables["probes"].to_pylist()
    assert {(row["from"], row["to"]) for row in probes} >= {("homes-1", "homes-2")}


@pytest.mark.parametrize("victim", ["node", "lab"])
def test_a_node_that_is_lost_fails_its_run(
    victim: str, shared: Path, tmp_path: Path, member: tuple[str, subprocess.Popen]
) -> None:
    shared.write_text(shared.read_text().replace('size = "1 MB"', 'size = "50 MB"'))
    words = ["run", str(shared), "--engine", "emulation", "--out", str(tmp_path / "e")]
    run = subprocess.Popen(
        [sys.executable, "-m", "flashcrowd", *words, "--across", member[0], "--quiet"],
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(lambda: len(labs(member[1].pid)) >= 2, "the other node has no lab")
        theirs = below(member[1].pid)
        os.kill(member[1].pid if victim == "node" else labs(member[1].pid)[1], signal.SIGKILL)
        _, said = run.communicate(timeout=120)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 1, said
    (row,) = open_results(tmp_path / "e").tables["runs"].to_pylist()
    assert row["outcome"] == "failed"
    words = {
        "node": "the connection ended: its member was ended, or the network between is gone",
        "lab": "the process of the run was killed by SIGKILL (out of memory?)",
    }
    assert row["reason"].splitlines()[0] == f"{member[0]}: {words[victim]}"
    wait_for(lambda: not {*theirs} & parents().keys(), "a process is left")


@pytest.mark.slow
def test_two_nodes_of_a_testbed_play_a_run_together(shared: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    deployed = Deployment(Study.load(shared), "emulation", tmp_path / "r", poll_s=0.5)
    results = deployed.execute(Here(2), options(tmp_path, across=2, port=port))
    (run,) = results.tables["runs"].to_pylist()
    ended(run, "completed")
    completed = [row["completed_s"] for row in results.tables["downloads"].to_pylist()]
    assert len(completed) == 3
    assert None not in completed
    assert not list(tmp_path.glob("flashcrowd-*")), "a folder of work is left"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (('rtt = "40 ms"', 'rtt = "1 ms"'), "takes 1 ms of delay wherever it is cut"),
        (('tracker = "homes-6"\n', ""), "tracker"),
    ],
    ids=["near", "tracker"],
)
def test_a_network_without_a_place_to_cut_is_refused(
    shared: Path,
    tmp_path: Path,
    change: tuple[str, str],
    named: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared.write_text(shared.read_text().replace(*change))
    words = ["run", str(shared), "--engine", "emulation", "--out", str(tmp_path / "e")]
    assert _status([*words, "--across", "127.0.0.1:9"]) == 2
    said = capsys.readouterr().err
    assert "the network cannot be divided among 2 nodes" in said
    assert named in said
    assert "Nothing was run." in said


def refused(study: Path, folder: Path, address: str) -> str:
    """What is said of a node with which nothing can be run."""
    words = ["run", str(study), "--engine", "emulation", "--out", str(folder / "e"), "--quiet"]
    program = [sys.executable, "-m", "flashcrowd", *words, "--across", address]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    title, line, end = done.stderr.splitlines()
    assert (title, end) == ("cannot be emulated:", "Nothing was run.")
    assert not (folder / "e").exists()
    return line.strip()


def test_a_node_that_does_not_answer_is_refused(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "known here")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    said = refused(shared, tmp_path, address)
    assert said.startswith(f"node {address} does not answer ([Errno 111] Connection refused): run ")
    said = refused(shared, tmp_path, "10.0.0.12")
    assert said == "node 10.0.0.12: an address and a port are needed, as in 10.0.0.12:7000"


def test_a_node_with_another_secret_is_refused(
    shared: Path,
    tmp_path: Path,
    member: tuple[str, subprocess.Popen],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SECRET, "not known there")
    said = refused(shared, tmp_path, member[0])
    assert said == f"node {member[0]}: the secret is another one; see {SECRET}"


@pytest.mark.parametrize("other", ["version", "emulation", "kernel", "libtorrent"])
def test_a_node_that_is_not_the_same_is_refused(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.setenv(SECRET, "known here")
    asked: list[str] = []
    here = card(["libtorrent"])

    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            line(connection)
            asked.extend(decoded(line(connection), Programs).names)
            connection.sendall(encoded(Card({**here, other: "0.1"})))
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        said = refused(shared, tmp_path, address)
    assert asked == ["libtorrent"]
    assert said == (
        f"node {address} is not the same as this machine ({other} 0.1 there, {here[other]} here): "
        "install the same, as results of different ones are not mixed"
    )


def test_a_node_says_what_it_is_and_starts_nothing(member: tuple[str, subprocess.Popen]) -> None:
    found = card(["libtorrent", "no such program"])
    assert found["no such program"] == ABSENT
    assert found["libtorrent"][0].isdecimal()
    for _ in range(3):
        alike([member[0]], ["libtorrent", "no such program"])
    time.sleep(0.5)
    assert not below(member[1].pid)


def test_across_is_for_emulations(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _status(["run", str(shared), "--across", "127.0.0.1:9"]) == 2
    assert "--across: with --engine emulation, and without --on" in capsys.readouterr().err
