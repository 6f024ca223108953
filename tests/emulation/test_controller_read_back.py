"""The congestion controller of a flow is the one that was asked for, or the flow is refused."""

import socket

import pytest

from flashcrowd.emulation import tcp_flow


def test_a_kernel_that_has_set_another_controller_is_refused(monkeypatch: pytest.MonkeyPatch):
    class Deaf(socket.socket):
        def getsockopt(self, *asked: int) -> bytes:  # type: ignore[override]
            return b"reno\0\0\0\0"

    with tcp_flow.congested("cubic") as made:
        assert made.type & socket.SOCK_STREAM
    monkeypatch.setattr(tcp_flow.socket, "socket", Deaf)
    with pytest.raises(tcp_flow.OtherController, match="asked for cubic, the kernel uses reno"):
        tcp_flow.congested("cubic")


def test_a_kernel_without_the_controller_says_so():
    with pytest.raises(FileNotFoundError):
        tcp_flow.congested("no-such")
