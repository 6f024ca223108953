"""A node that plays its share of runs: `python -m flashcrowd.emulation.member ADDRESS:PORT`.

Who connects says the secret that both have in the variable `FLASHCROWD_SECRET`, and is told what
this node is. The connection is then the standard input and output of a lab, which ends with it.
"""

from __future__ import annotations

import hmac
import json
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version

from flashcrowd import _core
from flashcrowd.emulation.scratch import scratch

SECRET = "FLASHCROWD_SECRET"
"""The variable with the secret."""
_GREETING_S = 10.0
_LONGEST = 1024


class BadAddress(ValueError):
    """It is no ADDRESS:PORT."""


def card() -> Mapping[str, str]:
    """What has to be the same on all nodes of a run."""
    return {
        "version": version("flashcrowd"),
        "emulation": str(_core.build_info()["emulation"]),
        "kernel": f"{platform.release()} {platform.machine()}",
    }


def parsed(text: str) -> tuple[str, int]:
    """The address and the port of a node.

    Raises:
        BadAddress: it has none.
    """
    address, _, port = text.rpartition(":")
    if not address or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise BadAddress(f"{text}: an address and a port are needed, as in 10.0.0.12:7000")
    return address.strip("[]"), int(port)


def line(connection: socket.socket) -> bytes:
    """A line, and nothing of what comes behind it: that is for somebody else.

    Raises:
        OSError: there is none.
    """
    said = b""
    while not said.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte or len(said) > _LONGEST:
            raise OSError("the connection ended")
        said += byte
    return said[:-1]


def main() -> int:
    """Serve until somebody ends this process."""
    secret = os.environ.get(SECRET, "")
    if not secret:
        print(f"{SECRET} is not set: who knows it may run swarms here", file=sys.stderr)
        return 2
    try:
        address = parsed(sys.argv[1] if len(sys.argv) == 2 else "")
        server = socket.create_server(address)
    except (BadAddress, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"waiting for runs at {sys.argv[1]}", flush=True)
    with server, suppress(KeyboardInterrupt):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_serve, args=(connection, secret), daemon=True).start()
    return 0


def _serve(connection: socket.socket, secret: str) -> None:
    """Be a lab for whoever knows the secret."""
    with connection, suppress(OSError):
        connection.settimeout(_GREETING_S)
        if not hmac.compare_digest(line(connection), secret.encode()):
            connection.sendall(json.dumps({"failed": "the secret is another one"}).encode() + b"\n")
            return
        connection.sendall(json.dumps(card()).encode() + b"\n")
        connection.settimeout(None)
        with scratch() as folder:
            # It ends with this thread, and when the connection does.
            lab = subprocess.Popen(
                [sys.executable, "-m", "flashcrowd.emulation.lab", str(folder)],
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                start_new_session=True,
            )
            lab.wait()


if __name__ == "__main__":
    sys.exit(main())
