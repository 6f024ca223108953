"""Connections to a server from addresses of two networks of 64 bits, and what each is told.

    unshare -rn python -m tests.content_server.neighbours FOLDER

In a network namespace of its own, in which it may have any address. Prints a status for each.
"""

import socket
import subprocess
import sys
from pathlib import Path

from tests.content_server.test_serve import COMMAND

FREEBIND = 15
SERVER = "fd00:1::ffff"
SETUP = [
    "link set lo up",
    f"-6 addr add {SERVER}/128 dev lo",
    "-6 route add local fd00:1::/64 dev lo",
    "-6 route add local fd00:1:0:1::/64 dev lo",
]
ALLOWED, SOURCES = 5, 10


def statuses(folder: Path) -> list[int]:
    for words in SETUP:
        subprocess.run(["ip", *words.split()], check=True)
    words = [*COMMAND, str(folder), "--listen", f"[{SERVER}]:8080", "--per-address", str(ALLOWED)]
    found: list[int] = []
    kept: list[socket.socket] = []
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        assert server.stderr.readline().startswith("Serving ")
        hosts = [f"fd00:1::{host:x}:1" for host in range(SOURCES)]
        for source in [*hosts, "fd00:1:0:1::1"]:
            client = socket.socket(socket.AF_INET6)
            client.settimeout(20)
            client.setsockopt(socket.SOL_IP, FREEBIND, 1)
            client.bind((source, 0))
            client.connect((SERVER, 8080))
            client.sendall(b"GET /none HTTP/1.1\r\nHost: x\r\n\r\n")
            found.append(int(client.recv(100).split()[1]))
            kept.append(client)
        server.kill()
    return found


if __name__ == "__main__":
    print(*statuses(Path(sys.argv[1])))
