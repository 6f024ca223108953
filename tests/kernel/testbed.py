"""Real TCP of this machine's kernel through a shaped queue: two hosts and a router between them.

What comes back can be delayed: the router then sends it through a TUN device, whose other end is a
thread here that holds each packet for so long. Acknowledgements are few enough for that.

The hosts and the router are network namespaces. The router's interface towards the receiver
shapes (a token bucket over a queue limited in packets), never the sending host's, where TCP small
queues would hold the sender back. Segmentation offloads are off, so that a packet is a packet.
"""

import array
import contextlib
import fcntl
import os
import queue
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import NetNS, netns

SENDER, RECEIVER = "10.77.1.1", "10.77.2.1"
ROUTER_TO_SENDER, ROUTER_TO_RECEIVER = "10.77.1.2", "10.77.2.2"
PORT = 5001


@dataclass(frozen=True)
class Bottleneck:
    """What the router's outgoing interface does: bits per second, and packets that may wait."""

    rate_bps: int
    queue_packets: int
    back_delay_s: float = 0.0
    """What acknowledgements are held for on their way back."""


@dataclass(frozen=True)
class Flow:
    """What one flow showed between the end of the warm-up and the end of the run."""

    goodput_bps: float
    mean_rtt_s: float


@dataclass(frozen=True)
class Measured:
    """What all flows showed, and what the bottleneck did meanwhile."""

    flows: list[Flow]
    kept_rate: float
    """The rate at which it sent while packets waited, as a share of the one it was told: what a
    router that wakes late fails to send is gone, as its bucket holds two packets."""


def why_not() -> str | None:
    """Say what this machine lacks for the comparison, or None if it can run."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        name = own_name("try")
        with namespaces(name), NetNS(name) as router:
            router.link("add", ifname="probe", kind="veth", peer="probe-peer")
            index = index_of(router, "probe")
            router.link("set", index=index, state="up")
            _shape(router, index, Bottleneck(1_000_000, 10))
    except Exception as error:  # whatever the kernel lacks, its words say it best
        return f"this kernel has no namespaces, veth, tbf or pfifo: {error}"
    return None


def bulk(
    bottleneck: Bottleneck, controller: str, flows: int, warm_up: float, span: float
) -> Measured:
    """Send as fast as TCP lets `flows` sockets for `warm_up` and then `span` seconds; measure."""
    name = own_name(f"{controller}-{flows}")
    with _network(name, bottleneck) as router:
        listener = _socket_in(f"{name}-d")
        listener.bind((RECEIVER, PORT))
        listener.listen(flows)
        senders, receivers = [], []
        for _ in range(flows):
            sender = _socket_in(f"{name}-s")
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
            sender.connect((RECEIVER, PORT))
            senders.append(sender)
            receivers.append(listener.accept()[0])
        counters = [
            _Counter(sender, receiver) for sender, receiver in zip(senders, receivers, strict=True)
        ]
        for counter in counters:
            counter.start()
        time.sleep(warm_up)
        before = [counter.received for counter in counters]
        begun, sent_before = time.monotonic(), router.state().sent_bytes
        waiting: list[bool] = []
        rtts: list[list[float]] = [[] for _ in counters]
        while time.monotonic() < begun + span:
            for samples, sender in zip(rtts, senders, strict=True):
                samples.append(_smoothed_rtt(sender))
            waiting.append(router.state().waiting_packets > 0)
            time.sleep(0.005)
        took, sent = time.monotonic() - begun, router.state().sent_bytes - sent_before
        after = [counter.received for counter in counters]
        for counter in counters:
            counter.stop()
        listener.close()
    shown = [
        Flow((end - start) * 8 / took, sum(samples) / len(samples))
        for start, end, samples in zip(before, after, rtts, strict=True)
    ]
    could = bottleneck.rate_bps / 8 * took * sum(waiting) / len(waiting)
    return Measured(shown, sent / could if could else 1.0)


class _Counter:
    """Writes to one end of a connection and counts what the other end reads."""

    def __init__(self, sender: socket.socket, receiver: socket.socket) -> None:
        self.received = 0
        self._ends = (sender, receiver)
        self._threads = [threading.Thread(target=self._write), threading.Thread(target=self._read)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()

    def _write(self) -> None:
        chunk = bytes(1 << 16)
        with contextlib.suppress(OSError):
            while True:
                self._ends[0].sendall(chunk)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._ends[1].recv(1 << 18):
                self.received += len(data)


@dataclass(frozen=True)
class _QueueState:
    sent_bytes: int
    waiting_packets: int


@dataclass(frozen=True)
class _Router:
    """The router's interface towards the receiver."""

    space: NetNS
    interface: int

    def state(self) -> _QueueState:
        """What its token bucket has sent so far, and what waits there now."""
        (bucket,) = (
            qdisc
            for qdisc in self.space.get_qdiscs(self.interface)
            if qdisc.get_attr("TCA_KIND") == "tbf"
        )
        stats = bucket.get_attr("TCA_STATS2")
        return _QueueState(
            stats.get_attr("TCA_STATS_BASIC")["bytes"], stats.get_attr("TCA_STATS_QUEUE")["qlen"]
        )


def _smoothed_rtt(sender: socket.socket) -> float:
    """TCP_INFO's tcpi_rtt in seconds: the 32-bit word at offset 68, in microseconds."""
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("I", info, 68)[0] / 1e6


def own_name(name: str) -> str:
    """A name of this process's own: tests of several processes share a machine's namespaces."""
    return f"fc-{os.getpid()}-{name}"


@contextlib.contextmanager
def namespaces(*names: str) -> Iterator[None]:
    made = []
    try:
        for name in names:
            netns.create(name)
            made.append(name)
        yield
    finally:
        for name in made:
            netns.remove(name)


@contextlib.contextmanager
def _network(name: str, bottleneck: Bottleneck) -> Iterator[_Router]:
    spaces = (f"{name}-s", f"{name}-r", f"{name}-d")
    with namespaces(*spaces), contextlib.ExitStack() as stack:
        sender, router, receiver = (stack.enter_context(NetNS(space)) for space in spaces)
        for host, peer, address, gateway in (
            (sender, "to-s", SENDER, ROUTER_TO_SENDER),
            (receiver, "to-d", RECEIVER, ROUTER_TO_RECEIVER),
        ):
            space = spaces[0] if host is sender else spaces[2]
            host.link(
                "add", ifname="up", kind="veth", peer={"ifname": peer, "net_ns_fd": spaces[1]}
            )
            _configure(host, "up", address)
            _configure(router, peer, gateway)
            host.route("add", dst="0.0.0.0/0", gateway=gateway)
            _without_offloads(space, "up")
            _without_offloads(spaces[1], peer)
        with inside(spaces[1]):
            Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        interface = index_of(router, "to-d")
        _shape(router, interface, bottleneck)
        if bottleneck.back_delay_s:
            stack.enter_context(_delay(router, spaces[1], bottleneck.back_delay_s))
        yield _Router(router, interface)


@contextlib.contextmanager
def _delay(router: NetNS, space: str, seconds: float) -> Iterator[None]:
    """Hold what the receiver sends to the sender for this long."""
    with inside(space):
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        # linux/if_tun.h: TUNSETIFF, IFF_TUN | IFF_NO_PI
        fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"delay", 0x0001 | 0x1000))
        for name in ("all", "delay", "to-d"):
            Path(f"/proc/sys/net/ipv4/conf/{name}/rp_filter").write_text("0")
    index = index_of(router, "delay")
    router.link("set", index=index, state="up")
    router.route("add", dst=SENDER + "/32", oif=index, table=100)
    router.rule("add", iifname="to-d", table=100)
    held: queue.SimpleQueue[tuple[float, bytes] | None] = queue.SimpleQueue()

    def take() -> None:
        while not stopped.is_set():
            if select.select([tun], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    while packet := os.read(tun, 65536):
                        held.put((time.monotonic() + seconds, packet))
        held.put(None)

    def give() -> None:
        while (due := held.get()) is not None:
            time.sleep(max(0.0, due[0] - time.monotonic()))
            with contextlib.suppress(OSError):
                os.write(tun, due[1])

    stopped = threading.Event()
    threads = [threading.Thread(target=take), threading.Thread(target=give)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
        os.close(tun)


def index_of(space: NetNS, interface: str) -> int:
    return next(iter(space.link_lookup(ifname=interface)))


def _configure(space: NetNS, interface: str, address: str) -> None:
    index = index_of(space, interface)
    space.addr("add", index=index, address=address, prefixlen=24)
    space.link("set", index=index, state="up")


def _shape(router: NetNS, index: int, bottleneck: Bottleneck) -> None:
    """Put a token bucket of two packets over a first-in first-out queue."""
    rate = bottleneck.rate_bps // 8
    router.tc(
        "add", "tbf", index, 0x10000, rate=rate, burst=3200, latency=10_000_000, parent=0xFFFFFFFF
    )
    router.tc("add", "pfifo", index, 0x100000, parent=0x10001, limit=bottleneck.queue_packets)


@contextlib.contextmanager
def inside(space: str) -> Iterator[None]:
    netns.pushns(space)
    try:
        yield
    finally:
        netns.popns()


def _socket_in(space: str) -> socket.socket:
    with inside(space):
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def _without_offloads(space: str, interface: str) -> None:
    """Switch TSO, GSO and GRO off (linux/ethtool.h: ETHTOOL_STSO, _SGSO, _SGRO)."""
    siocethtool = 0x8946
    with inside(space), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (0x1F, 0x24, 0x2C):
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
            fcntl.ioctl(control, siocethtool, request)
