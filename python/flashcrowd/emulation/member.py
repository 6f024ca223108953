"""A node that plays its share of runs: `python -m flashcrowd.emulation.member ADDRESS:PORT`.

A connection begins with the secret that both have in the variable `FLASHCROWD_SECRET` and, in a
second line, the programs that its study needs. The answer says what this node is, with the versions
of these programs. The connection is then the standard input and output of a lab, which ends with
it.
"""

from __future__ import annotations

import hmac
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

from flashcrowd.base.endpoint import port_number
from flashcrowd.base.messages import BadMessage, Failed, decoded, encoded
from flashcrowd.base.signals import how_it_ended
from flashcrowd.emulation.card import card
from flashcrowd.emulation.idle_poll import polling
from flashcrowd.emulation.messages import Card, Programs
from flashcrowd.emulation.scratch import scratch

SECRET = "FLASHCROWD_SECRET"
"""The variable with the secret."""
_GREETING_S = 10.0
_LONGEST = 1024


class BadAddress(ValueError):
    """It is no ADDRESS:PORT."""


def parsed(text: str) -> tuple[str, int]:
    """The address and the port of a node.

    Raises:
        BadAddress: it has none.
    """
    address, _, port = text.rpartition(":")
    number = port_number(port)
    if not address or not number:
        raise BadAddress(f"{text}: an address and a port are needed, as in 10.0.0.12:7000")
    return address.strip("[]"), number


def line(connection: socket.socket) -> bytes:
    """A line, and nothing after it: the bytes behind it belong to the lab.

    All of it has to come within the connection's timeout.

    Raises:
        OSError: there is none.
    """
    said, patience_s = b"", connection.gettimeout()
    ends = None if patience_s is None else time.monotonic() + patience_s
    while not said.endswith(b"\n"):
        if ends is not None:
            if (left_s := ends - time.monotonic()) <= 0:
                raise TimeoutError("timed out")
            connection.settimeout(left_s)
        byte = connection.recv(1)
        if not byte or len(said) > _LONGEST:
            raise OSError("the connection ended")
        said += byte
    connection.settimeout(patience_s)
    return said[:-1]


def main() -> int:
    """Serve until a signal ends this process."""
    secret = os.environ.get(SECRET, "")
    if not secret:
        print(f"{SECRET} is not set: who knows it may run swarms here", file=sys.stderr)
        return 2
    try:
        address = parsed(sys.argv[1] if len(sys.argv) == 2 else "")
        family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        server = socket.create_server(address, family=family)
    except BadAddress as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"no socket at {sys.argv[1]}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"waiting for runs at {sys.argv[1]}", flush=True)
    with server, suppress(KeyboardInterrupt):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_serve, args=(connection, secret), daemon=True).start()
    return 0


def _serve(connection: socket.socket, secret: str) -> None:
    """Be a lab for a connection that has the secret."""
    with connection, suppress(OSError):
        connection.settimeout(_GREETING_S)
        said, names = line(connection), line(connection)
        if not hmac.compare_digest(said, secret.encode()):
            connection.sendall(encoded(Failed("the secret is another one")))
            return
        try:
            programs = decoded(names, Programs).names
        except (BadMessage, ValueError):
            programs = []  # it is of another version, and will see that from the card
        connection.sendall(encoded(Card(card(programs))))
        connection.settimeout(None)
        if not connection.recv(1, socket.MSG_PEEK):
            return  # it wanted to know what this node is, and no more
        with scratch() as folder, polling():
            # It ends with this thread, and when the connection does.
            lab = subprocess.Popen(
                [sys.executable, "-m", "flashcrowd.emulation.lab", str(folder)],
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                process_group=0,
            )
            status = lab.wait()
            if status:
                # Its own words come first; they may end in half a line.
                words = f"the process of the run {how_it_ended(status)}"
                connection.sendall(b"\n" + encoded(Failed(words)))


if __name__ == "__main__":
    sys.exit(main())
