"""What the UDP socket of `flashcrowd utp` asks of the kernel, read from outside of its process."""

import ctypes
import os
import socket
import sys
from pathlib import Path

import pytest
from tests.cli.test_utp import serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has /proc and pidfd_getfd")

PIDFD_GETFD = 438
IPV6_MTU_DISCOVER, DO, PROBE = 23, 2, 3  # linux/in6.h


def udp_socket(pid: int) -> socket.socket:
    """A copy of the process's UDP socket."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not os.readlink(entry).startswith("socket:"):
                continue
            copy = libc.syscall(PIDFD_GETFD, pidfd, int(entry.name), 0)
            if copy < 0:
                pytest.skip(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            found = socket.socket(fileno=copy)
            if found.type & socket.SOCK_DGRAM:
                return found
            found.close()
    finally:
        os.close(pidfd)
    raise AssertionError("it has no UDP socket")


def test_packets_over_ipv6_are_never_fragmented() -> None:
    with serving("--no-tcp") as server, udp_socket(server.process.pid) as there:
        if there.family != socket.AF_INET6:
            pytest.skip("no IPv6 on this machine")
        assert there.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER) in (DO, PROBE)
