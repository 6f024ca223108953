"""An SSH server on loopback, with keys of its own, until a block ends."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVER = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))

CONF = """
Port {port}
ListenAddress 127.0.0.1
ListenAddress 127.0.0.2
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/pid
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Server:
    """Where a server listens, and the key that it takes."""

    port: int
    key: Path


def absent() -> str:
    """Why no server can be started here; nothing if one can."""
    if SERVER is None or shutil.which("ssh-keygen") is None:
        return "no sshd here (package openssh-server)"
    return "" if os.geteuid() == 0 else "sshd is started as root"


@contextmanager
def sshd(folder: Path) -> Iterator[Server]:
    """A server for this user."""
    assert SERVER is not None
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    (folder / "conf").write_text(CONF.format(port=port, folder=folder))
    # Where it gives up rights; no file of the system is made where it is there already.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        server = subprocess.Popen([SERVER, "-D", "-e", "-f", folder / "conf"], stderr=log)
    try:
        end = time.monotonic() + 20
        while not _listens(port):
            assert server.poll() is None, (folder / "sshd.log").read_text()
            assert time.monotonic() < end, "sshd does not listen"
            time.sleep(0.1)
        yield Server(port, folder / "user")
    finally:
        server.terminate()
        server.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
