"""What clients choose, and what a server's process takes for it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.content_server.neighbours import ALLOWED, SOURCES
from tests.content_server.test_ends import ROOT, ask, folder, with_a_stuck_log

__all__ = ["folder"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

MIB = 1 << 20


def resident(process: int) -> int:
    """Bytes of memory that a process has."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def descriptors(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def test_a_log_that_nobody_reads_takes_no_more_memory_than_is_said(folder: Path) -> None:
    """Heads of 60 kB, each byte of which is escaped: they were 480 kB of the log each."""
    with with_a_stuck_log(folder, "--drain", "1") as stand:
        process = stand.server.pid
        before, open_before = resident(process), descriptors(process)
        host, port = stand.address.split(":")
        field = b"\xff" * 30_000
        head = b"GET /none HTTP/1.1\r\nHost: x\r\nReferer: %s\r\nUser-Agent: %s\r\n\r\n"
        many = 1500
        with socket.create_connection((host, int(port)), timeout=60) as client:

            def send() -> None:
                for _ in range(many):
                    client.sendall(head % (field, field))

            sender = threading.Thread(target=send)
            sender.start()
            answers = b""
            while (count := answers.count(b"HTTP/1.1 404")) < many:
                more = client.recv(1 << 16)
                assert more, count
                answers += more
            sender.join()
            assert descriptors(process) <= open_before + 1
        assert resident(process) - before < 40 * MIB
        # It goes on.
        assert ask(stand.address) == 404


@pytest.mark.skipif(
    not (shutil.which("unshare") and shutil.which("ip")), reason="unshare and ip are not there"
)
def test_a_network_of_64_bits_is_one_address(folder: Path) -> None:
    alone = ["unshare", "-rn"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        pytest.skip("there are no network namespaces for this user")
    words = [*alone, sys.executable, "-m", "tests.content_server.neighbours", str(folder)]
    said = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    # The last one is of another network.
    expected = [404] * ALLOWED + [429] * (SOURCES - ALLOWED) + [404]
    assert said.stdout.split() == [str(it) for it in expected], said.stderr
