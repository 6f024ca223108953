"""Which client, and where: `qbittorrent://user@host:8080`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from flashcrowd.base.errors import did_you_mean, visible
from flashcrowd.client_api.client import Refused

PORTS = {"qbittorrent": 8080, "transmission": 9091, "deluge": 58846}
"""Clients, and the port at which each listens by default."""
_OTHERS = {"rtorrent", "rutorrent", "aria2", "utorrent", "bittorrent", "biglybt", "vuze", "tixati"}
"""Clients that people have, and that autolimit cannot set."""
_NO_HTTP = {"deluge"}
"""Those whose interface has no path, and TLS without being asked for it."""


@dataclass(frozen=True)
class Address:
    """A client and its place.

    Attributes:
        client: its name, a key of `PORTS`.
        host: a name or an address, without brackets.
        port: the port of its interface.
        user: the user name; empty for none.
        path: the path of its interface if it is not the usual one, as behind a proxy.
        tls: whether to speak HTTPS.
    """

    client: str
    host: str
    port: int
    user: str = ""
    path: str = ""
    tls: bool = False

    @property
    def place(self) -> str:
        """How it is written, without the user."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        tls = "+https" if self.tls else ""
        return f"{self.client}{tls}://{host}:{self.port}{self.path}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """From `CLIENT://[USER@]HOST[:PORT][/PATH]`; `CLIENT+https` for TLS.

        Raises:
            Refused: it is none, or has a password in it.
        """
        shown = _without_password(text)
        example = (
            "write it as qbittorrent://USER@HOST:8080, transmission://HOST:9091 or "
            "deluge://USER@HOST:58846"
        )
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise Refused(f"{shown} is no address of a client; {example}.") from None
        name, _, tls = parts.scheme.partition("+")
        if "://" not in text or tls not in ("", "https"):
            raise Refused(f"{shown} is no address of a client; {example}.")
        if name not in PORTS:
            known = ", ".join(PORTS)
            if name in _OTHERS:
                raise Refused(f"{shown}: {name} is not supported; autolimit knows {known}.")
            hint = did_you_mean(name, PORTS)
            raise Refused(
                f"{shown}: autolimit knows the clients {known}{'; ' + hint if hint else '.'}"
            )
        if parts.password is not None:
            raise Refused(
                f"{shown}: a password does not belong into a command line, where every user "
                "of this machine can read it; leave it out, and give it at the prompt, in the "
                "environment variable FLASHCROWD_AUTOLIMIT_PASSWORD, or with --password-file."
            )
        if not parts.hostname or parts.query or parts.fragment or port == 0:
            raise Refused(f"{shown} is no address of a client; {example}.")
        path = parts.path.rstrip("/")
        if name in _NO_HTTP and (path or tls):
            raise Refused(f"{shown}: the interface of {name} is not HTTP; {example}.")
        user = unquote(parts.username or "")
        return cls(name, parts.hostname, port or PORTS[name], user, path, tls == "https")


def _without_password(text: str) -> str:
    """The printable part of an address: of all before the last @ the scheme and the user."""
    before, at, place = text.rpartition("@")
    scheme, slashes, user = before.partition("://")
    if not slashes:
        scheme, slashes, user = before.partition(":")[0], ":" if ":" in before else "", ""
    return visible(f"{scheme}{slashes}{re.split('[:/]', user)[0]}{at}{place}")
