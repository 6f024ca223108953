"""Two nodes with networks of their own and a cable between them: nearly two machines."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.emulation.test_across import PING
from tests.late import ended

from flashcrowd.emulation.member import SECRET
from flashcrowd.store import open as open_results

PORT = 7600

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces with names are made as root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="no `ip` here (package iproute2)"),
]


def ip(*words: object) -> None:
    subprocess.run(["ip", *map(str, words)], check=True)


@contextmanager
def cable(mtu: int) -> Iterator[tuple[str, str]]:
    """Two namespaces of the network, 10.99.0.1 and 10.99.0.2, with a cable of this MTU."""
    names = (f"flashcrowd-{os.getpid()}-1", f"flashcrowd-{os.getpid()}-2")
    with ExitStack() as stack:
        for name in names:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "del", name)
        ends = ("name", "eth0", "netns", names[1], "mtu", mtu)
        ip("-n", names[0], "link", "add", "eth0", "mtu", mtu, "type", "veth", "peer", *ends)
        for number, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"10.99.0.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield names


def inside(namespace: str, *words: object) -> list[str]:
    """A command in a namespace."""
    return ["ip", "netns", "exec", namespace, sys.executable, "-m", *map(str, words)]


def fragments(namespace: str) -> int:
    """Into how many pieces a namespace's kernel has cut datagrams."""
    words = ["ip", "netns", "exec", namespace, "cat", "/proc/net/snmp"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    names, values = (line.split() for line in said.splitlines() if line.startswith("Ip:"))
    return int(values[names.index("FragCreates")])


@pytest.mark.parametrize("mtu", [1500, 1600])
def test_a_swarm_on_two_networks(
    swarm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mtu: int
) -> None:
    monkeypatch.setenv(SECRET, "known here")
    swarm.write_text(swarm.read_text() + PING)
    with cable(mtu) as (first, second):
        member = subprocess.Popen(
            inside(second, "flashcrowd.emulation.member", f"10.99.0.2:{PORT}"),
            stdout=subprocess.PIPE,
        )
        try:
            assert member.stdout is not None
            assert member.stdout.readline(), "it does not wait"
            words = ("run", swarm, "--engine", "emulation", "--out", tmp_path / "e", "--quiet")
            run = inside(first, "flashcrowd", *words, "--across", f"10.99.0.2:{PORT}")
            done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=250)
        finally:
            member.kill()
            member.communicate()
        cut = fragments(first) + fragments(second)
    assert done.returncode == 0, done.stderr
    results = open_results(tmp_path / "e")
    (row,) = results.tables["runs"].to_pylist()
    # On a machine with other work packets come late, and the run says so.
    ended(row, "completed")
    completed = [it["completed_s"] for it in results.tables["downloads"].to_pylist()]
    assert len(completed) == 4
    assert None not in completed
    answered = [it["rtt_s"] for it in results.tables["pings"].to_pylist() if it["rtt_s"]]
    assert min(answered) >= 0.04
    # A full packet and what is around it fit into 1600 bytes, and not into 1500.
    assert (cut > 0) == (mtu == 1500)
