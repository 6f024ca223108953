"""What clients that do harm cost the others of a content server, with and without them in turn.

    python benches/hostile_clients.py [--seconds 10] [--rounds 2]

Some curls fetch a file that is in memory, again and again, over loopback. Meanwhile nobody else is
there, or 1,000 clients drip heads that never end (slow-loris), or 10,000 connections are idle, or
clients vanish by a reset in the middle of an answer, 500 a second, or one takes requests of HTTP/2
back as fast as it can. Wall-clock rates depend on what else the machine does; bytes for each second
of the server's processor time do so less.
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


def measure(server: int, url: str, seconds: float) -> tuple[float, float]:
    """MB a second, and GB for each second of the server's processor."""
    begin, before = time.monotonic(), processor_s(server)
    with multiprocessing.Pool(CURLS) as pool:
        counts = pool.starmap(fetch, [(url, begin + seconds)] * CURLS)
    span, spent = time.monotonic() - begin, processor_s(server) - before
    return sum(counts) / span / 1e6, sum(counts) / spent / 1e9


def main() -> None:
    """Print a row for each measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "file").write_bytes(os.urandom(SIZE))
        words = [sys.executable, "-m", "flashcrowd", "serve", folder, "--listen", "127.0.0.1:0"]
        words += ["--memory", "128MiB", "--connections", "20000", "--per-address", "20000"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                found = re.search(r"http://(\S+):(\d+)/", server.stderr.readline())
                assert found
                url, port = f"{found[0]}file", int(found[2])
                with urllib.request.urlopen(url) as answer:  # into memory
                    answer.read()
                print(f"{'beside':<12}{'MB/s':>8}{'GB/CPU s':>10}{'of alone':>10}{'by CPU':>8}")
                for _ in range(given.rounds):
                    for who in (loris, idle, vanish, take_back):
                        rows = []
                        for harm in (None, who):
                            child = None
                            if harm is not None:
                                child = multiprocessing.Process(target=harm, args=[port])
                                child.start()
                            time.sleep(PAUSE_S)
                            rows.append(measure(server.pid, url, given.seconds))
                            if child is not None:
                                assert child.is_alive()
                                child.kill()
                                child.join()
                        for name, row in zip(("nobody", who.__name__), rows, strict=True):
                            rate, work = (new / old for new, old in zip(row, rows[0], strict=True))
                            text = f"{name:<12}{row[0]:>8.0f}{row[1]:>10.2f}"
                            print(f"{text}{rate:>10.2f}{work:>8.2f}", flush=True)
            finally:
                server.kill()


if __name__ == "__main__":
    main()
