"""Paths through a router whose way on is narrower than the way to it, in network namespaces.

A sender, a router and a receiver. What does not fit into the router's outgoing interface is cut up
(IPv4) or dropped; whether the router says so, and whether fragments are put together again at the
receiver, can be chosen.
"""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroute2 import NetNS

from testbed import index_of, inside, namespaces, own_name

RECEIVER = {4: "10.77.2.1", 6: "fd77:2::1"}
FLASHCROWD = [sys.executable, "-m", "flashcrowd", "utp"]


@dataclass(frozen=True)
class Narrow:
    """What the router does to what is larger than `mtu` bytes, IP header included."""

    mtu: int
    says_so: bool = True
    """It sends ICMP, "packet too big" among them."""
    fragments_arrive: bool = True


@dataclass(frozen=True)
class Hosts:
    """The namespaces of the path."""

    sender: str
    router: str
    receiver: str

    def narrow_to(self, mtu: int, at: str | None = None, interface: str = "on") -> None:
        """The router's way on, or another interface, takes so much from now on."""
        with NetNS(at or self.router) as space:
            space.link("set", index=index_of(space, interface), mtu=mtu)

    def until_sent(self, least_bytes: int, patience_s: float = 60.0) -> None:
        """Waits until so much has left the sender."""
        end = time.monotonic() + patience_s
        with NetNS(self.sender) as space:
            index = index_of(space, "up")
            while (
                next(iter(space.get_links(index))).get_attr("IFLA_STATS64")["tx_bytes"]
                < least_bytes
            ):
                assert time.monotonic() < end, "the sender is silent"
                time.sleep(0.05)

    def out_of_reach(self, version: int, kind: str) -> socket.socket:
        """A UDP socket at the sender, to whose address the router sends nothing, and says so."""
        address, prefix = ("10.77.9.1", 32) if version == 4 else ("fd77:9::1", 128)
        family = {4: socket.AF_INET, 6: socket.AF_INET6}[version]
        with NetNS(self.sender) as sender, NetNS(self.router) as router:
            sender.addr("add", index=1, address=address, prefixlen=prefix, flags=2)
            router.route("add", dst=f"{address}/{prefix}", type=kind, family=family)
        with inside(self.sender):
            made = socket.socket(family, socket.SOCK_DGRAM)
            made.bind((address, 0))
            return made

    @contextlib.contextmanager
    def serving(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """`flashcrowd utp serve` at the receiver; it listens."""
        words = [*FLASHCROWD, "serve", "--json-stream", *arguments]
        with inside(self.receiver):
            server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            assert "listening" in server.stdout.readline()
            yield server
        finally:
            server.kill()
            server.communicate()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`flashcrowd utp send` at the sender."""
        words = [*FLASHCROWD, "send", *arguments]
        pipe: Any = subprocess.PIPE
        with inside(self.sender):
            return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True)


@contextlib.contextmanager
def path(name: str, narrow: Narrow) -> Iterator[Hosts]:
    """Build one, and take it away at the end."""
    hosts = Hosts(*(own_name(f"{name}-{end}") for end in "srd"))
    with namespaces(hosts.sender, hosts.router, hosts.receiver), contextlib.ExitStack() as stack:
        sender, router, receiver = (
            stack.enter_context(NetNS(space))
            for space in (hosts.sender, hosts.router, hosts.receiver)
        )
        for host, peer, net in ((sender, "back", 1), (receiver, "on", 2)):
            host.link(
                "add", ifname="up", kind="veth", peer={"ifname": peer, "net_ns_fd": hosts.router}
            )
            for space, interface, end in ((host, "up", 1), (router, peer, 2)):
                index = index_of(space, interface)
                space.addr("add", index=index, address=f"10.77.{net}.{end}", prefixlen=24)
                # IFA_F_NODAD: the address can be used at once.
                space.addr("add", index=index, address=f"fd77:{net}::{end}", prefixlen=64, flags=2)
                space.link("set", index=index, state="up")
            host.route("add", dst="0.0.0.0/0", gateway=f"10.77.{net}.2")
            host.route("add", dst="::/0", gateway=f"fd77:{net}::2")
        with inside(hosts.router):
            Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
            Path("/proc/sys/net/ipv6/conf/all/forwarding").write_text("1")
        if not narrow.says_so:
            # What the router itself says has no way out (FR_ACT_BLACKHOLE).
            for family, protocol in ((2, 1), (10, 58)):
                router.rule("add", family=family, iifname="lo", ip_proto=protocol, action=6)
        if not narrow.fragments_arrive:
            with inside(hosts.receiver):
                for which in ("ipv4/ipfrag", "ipv6/ip6frag"):
                    for bound in ("low", "high"):
                        Path(f"/proc/sys/net/{which}_{bound}_thresh").write_text("0")
        hosts.narrow_to(narrow.mtu)
        yield hosts
