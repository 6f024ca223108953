"""What clients that do harm cost the others of a content server, with and without them in turn.

    python benches/hostile_clients.py [--seconds 10] [--rounds 2] [--only NAME...] [--nginx]

Some curls fetch a file that is in memory, again and again, over loopback. Meanwhile nobody else is
there, or 1,000 clients drip heads that never end (slow-loris), or 10,000 connections are idle, or
clients vanish by a reset in the middle of an answer, 500 a second, or one takes requests of HTTP/2
back as fast as it can. Wall-clock rates depend on what else the machine does; bytes for each second
of the server's processor time do so less. What those who do harm take of the processors themselves
(`theirs`, of one) nobody has for the downloads: with `--nginx` the same clients come to nginx too,
which says how much of a loss is theirs.
"""

import argparse
import contextlib
import multiprocessing
import os
import re
import resource
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

SIZE = 64 << 20
CURLS = 4
LORIS, IDLE, VANISHING = 1_000, 10_000, 500
PAUSE_S = 2.0
"""For what was there before to be gone, and what comes to be there."""


def connect(port: int) -> socket.socket:
    """A connection to the server on loopback."""
    return socket.create_connection(("127.0.0.1", port))


def loris(port: int) -> None:
    """Heads that go on and on; who is let go comes again."""
    there: list[socket.socket] = []
    while True:
        while len(there) < LORIS:
            there.append(connect(port))
            there[-1].send(b"GET /file HTTP/1.1\r\nHost: x\r\n")
        for each in list(there):
            try:
                each.send(b"X: y\r\n")
            except OSError:
                each.close()
                there.remove(each)
        time.sleep(0.5)


def idle(port: int) -> None:
    """Connections that say nothing, and are made again when they end."""
    watch = selectors.DefaultSelector()
    count = 0
    while True:
        while count < IDLE:
            watch.register(connect(port), selectors.EVENT_READ)
            count += 1
        for key, _ in watch.select(0.2):
            watch.unregister(key.fileobj)
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
            count -= 1


def vanish(port: int) -> None:
    """Downloads that end by a reset after some bytes."""
    while True:
        begin = time.monotonic()
        for number in range(VANISHING // 10):
            with connect(port) as client:
                ask = b"GET /file HTTP/1.1\r\nHost: x\r\n"
                if number % 2:
                    ask += b"Range: bytes=0-65535,65536-\r\nPrefer: part-order=any\r\n"
                client.send(ask + b"\r\n")
                client.recv(1000)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(max(0.0, begin + 0.1 - time.monotonic()))


def take_back(port: int) -> None:
    """Requests of HTTP/2 that are reset at once ("rapid reset")."""

    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload

    # GET, http, /file and an authority, by the static table of HPACK (RFC 7541).
    head = b"\x82\x86\x04\x05/file\x01\x01x"
    burst = b"".join(
        frame(1, 5, number, head) + frame(3, 0, number, (8).to_bytes(4))
        for number in range(1, 2001, 2)
    )
    while True:
        with contextlib.suppress(OSError), connect(port) as client:
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + burst)
            while client.recv(1 << 16):
                pass


NGINX = """
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/error.log crit;
worker_rlimit_nofile 40000; events {{ worker_connections 20000; }} {user}
http {{
    access_log off; sendfile on; client_header_timeout 15s; keepalive_timeout 15s;
    server {{ listen 127.0.0.1:{port} sndbuf=64k backlog=1024; root {folder}; }}
}}
"""
"""As ordinary as ours: its time-outs and its buffers are those of `flashcrowd serve`."""


@contextlib.contextmanager
def ours(folder: str) -> Iterator[tuple[list[int], int]]:
    """Our server: its processes and its port."""
    words = [sys.executable, "-m", "flashcrowd", "serve", folder, "--listen", "127.0.0.1:0"]
    words += ["--memory", "128MiB", "--connections", "20000", "--per-address", "20000"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = re.search(r"http://(\S+):(\d+)/", server.stderr.readline())
            assert found
            yield [server.pid], int(found[2])
        finally:
            server.kill()


@contextlib.contextmanager
def nginx(folder: str) -> Iterator[tuple[list[int], int]]:
    """Another server."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    user = "user root;" if os.geteuid() == 0 else ""
    config = Path(folder, "nginx.conf")
    config.write_text(NGINX.format(folder=folder, port=port, user=user))
    with subprocess.Popen(["nginx", "-p", folder, "-c", str(config)]) as server:
        try:
            time.sleep(1)
            children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
            yield [int(each) for each in children.split()], port
        finally:
            server.terminate()


def processor_s(process: int) -> float:
    """Seconds of processor time that a process has taken, with the kernel's for it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fetch(url: str, until: float) -> int:
    """Bytes that came, of whole files."""
    words = ["curl", "-sSf", "-o", os.devnull, "-w", "%{size_download}", url]
    count = 0
    while time.monotonic() < until:
        count += int(subprocess.run(words, capture_output=True, check=True, text=True).stdout)
    return count


def measure(servers: list[int], url: str, seconds: float) -> tuple[float, float]:
    """MB a second, and GB for each second of the server's processor."""
    begin, before = time.monotonic(), sum(map(processor_s, servers))
    with multiprocessing.Pool(CURLS) as pool:
        counts = pool.starmap(fetch, [(url, begin + seconds)] * CURLS)
    span, spent = time.monotonic() - begin, sum(map(processor_s, servers)) - before
    return sum(counts) / span / 1e6, sum(counts) / spent / 1e9


HARMFUL = {each.__name__: each for each in (loris, idle, vanish, take_back)}


def beside(who: str | None, servers: list[int], port: int, seconds: float) -> list[float]:
    """What comes of it beside these clients, and the processor that they take, of one."""
    url = f"http://127.0.0.1:{port}/file"
    if who is None:
        time.sleep(PAUSE_S)
        return [*measure(servers, url, seconds), 0.0]
    child = multiprocessing.Process(target=HARMFUL[who], args=[port])
    child.start()
    assert child.pid is not None
    time.sleep(PAUSE_S)
    begin, before = time.monotonic(), processor_s(child.pid)
    found = measure(servers, url, seconds)
    theirs = (processor_s(child.pid) - before) / (time.monotonic() - begin)
    assert child.is_alive()
    child.kill()
    child.join()
    return [*found, theirs]


def main() -> None:
    """Print a row for each measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=HARMFUL, default=list(HARMFUL))
    parser.add_argument("--nginx", action="store_true")
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        Path(folder, "file").write_bytes(os.urandom(SIZE))
        there = {"flashcrowd": stack.enter_context(ours(folder))}
        if given.nginx:
            there["nginx"] = stack.enter_context(nginx(folder))
        for _, port in there.values():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/file") as answer:
                answer.read()  # into memory
        print(f"{'server':<12}{'beside':<10}{'MB/s':>6}{'GB/CPU s':>10}{'theirs':>8}", end="")
        print(f"{'of alone':>10}{'by CPU':>8}")
        for _ in range(given.rounds):
            for who in given.only:
                for name, (servers, port) in there.items():
                    alone = beside(None, servers, port, given.seconds)
                    row = beside(who, servers, port, given.seconds)
                    for harm, (rate, work, theirs) in (("nobody", alone), (who, row)):
                        text = f"{name:<12}{harm:<10}{rate:>6.0f}{work:>10.2f}{theirs:>8.2f}"
                        print(f"{text}{rate / alone[0]:>10.2f}{work / alone[1]:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
