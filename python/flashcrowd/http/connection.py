"""Connections to a server, directly or by a proxy, with TLS where the address says so."""

from __future__ import annotations

import base64
import contextlib
import math
import os
import select
import socket
import ssl
import time
import urllib.request
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from flashcrowd.http.address import PORTS, authority, check, host, origin, target
from flashcrowd.http.errors import Broken, Cut, FetchError, Unusable
from flashcrowd.http.head import read_head
from flashcrowd.http.nested import Nested
from flashcrowd.http.stream import Stream

CONNECT_S = 20.0
"""Time to connect, and again for TLS, in seconds."""
LATE = "nothing came for too long"
NO_TLS = ("HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "WRONG_VERSION_NUMBER")
"""OpenSSL's errors for an answer that is no TLS."""


class Connection:
    """A connection over which one request after the other goes.

    Args:
        link: the socket.
        timeout_s: for how long nothing may come or go, in seconds.
        secure: whether TLS tells an end from a cut.
    """

    def __init__(self, link: socket.socket | Nested, timeout_s: float, secure: bool) -> None:
        self._link = link
        self._timeout_s = timeout_s
        self.secure = secure
        self.fresh = True
        """Whether nothing was asked over it."""
        self.ends = math.inf
        """The instant, by `time.monotonic`, after which nothing comes or goes, whatever it is."""
        self.stream = Stream(self._receive, timeout_s)

    def send(self, method: str, where: str, fields: Mapping[str, str], body: bytes = b"") -> None:
        """Sends a request; names of fields are in lower case.

        Raises:
            Broken: the other side does not take it.
        """
        named = (f"{name.title()}: {value}" for name, value in fields.items())
        lines = [f"{method} {where} HTTP/1.1", *named]
        left_s = min(self._timeout_s, self.ends - time.monotonic())
        if left_s <= 0:
            raise Broken(LATE)
        try:
            self._link.settimeout(left_s)
            self._link.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        except OSError as error:
            raise _broken(error) from error

    def _receive(self, view: memoryview, until: float) -> int:
        left_s = min(until, self.ends) - time.monotonic()
        if left_s <= 0:
            raise Broken(LATE)
        try:
            self._link.settimeout(left_s)
            return self._link.recv_into(view)
        except OSError as error:
            raise _broken(error) from error

    @property
    def idle(self) -> bool:
        """Whether nothing has come that was not asked for, the end of the connection included."""
        if self.stream.waiting:
            return False
        poll = select.poll()
        poll.register(self._link.fileno(), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """From another thread, or a signal's handler: breaks off what is under way."""
        self.ends = 0.0
        with (
            contextlib.suppress(OSError, ValueError),
            socket.socket(fileno=os.dup(self._link.fileno())) as it,
        ):
            it.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes it."""
        with contextlib.suppress(OSError):
            self._link.close()


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address.

    Raises:
        Unusable: it is none.
    """
    parts = urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        check(proxy)
    except Unusable as error:
        raise Unusable(f"{parts.scheme}_proxy: is no proxy ({error})") from error
    return proxy


def connect(url: str, proxy: str | None, tls: ssl.SSLContext, timeout_s: float) -> Connection:
    """A new connection over which what is at an address can be asked for.

    Raises:
        Broken: there is none; another try may get one.
        Unusable: there will be none.
    """
    secure = urlsplit(url).scheme == "https"
    if proxy is None:
        link: socket.socket | Nested = _dial(url)
    else:
        try:
            link = _dial(proxy)
            if urlsplit(proxy).scheme == "https":
                link = _secured(link, proxy, ssl.create_default_context())
            if secure:
                _tunnel(link, url, proxy, timeout_s)
        except Broken as error:
            raise Broken(f"the proxy: {error}") from error
    if secure:
        link = _secured(link, url, tls)
    return Connection(link, timeout_s, secure)


def asked(url: str, proxy: str | None) -> tuple[str, dict[str, str]]:
    """The target of a request, and the fields by which server and proxy know it."""
    fields = {"host": authority(url)}
    if proxy is None or urlsplit(url).scheme == "https":
        return target(url), fields
    return f"http://{fields['host']}{target(url)}", fields | _credentials(proxy)


def basic(url: str) -> str | None:
    """User and password of an address, as a field has them (RFC 7617)."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _credentials(proxy: str) -> dict[str, str]:
    known = basic(proxy)
    return {} if known is None else {"proxy-authorization": known}


def _dial(url: str) -> socket.socket:
    try:
        return socket.create_connection((host(url), origin(url)[2]), CONNECT_S)
    except TimeoutError:
        raise Broken("no connection in time") from None
    except UnicodeError:
        raise Unusable(f"{url}: is no address (no host has such a name)") from None
    except ConnectionRefusedError as error:
        raise Broken(refused(host(url), origin(url)[2])) from error
    except OSError as error:
        raise _broken(error) from error


def refused(host: str, port: int) -> str:
    """Why there is no connection, in words, if a host refuses one."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"connection refused: no program listens at {place}"


def _tunnel(link: socket.socket | Nested, url: str, proxy: str, timeout_s: float) -> None:
    """Has a proxy hand on what comes and goes (CONNECT)."""
    name = authority(url)
    where = name if name.endswith(f":{origin(url)[2]}") else f"{name}:{PORTS['https']}"
    way = Connection(link, timeout_s, False)
    try:
        fields = {"host": where, "user-agent": "flashcrowd"}
        way.send("CONNECT", where, fields | _credentials(proxy))
        head = read_head(way.stream)
        if head.status == 407:
            raise Unusable(
                "the proxy asks who you are (407); name user and password in its address"
            )
        if not 200 <= head.status < 300:
            raise Broken(f"it answers {head.status}")
        if way.stream.waiting:
            raise Broken("it sends something before the server can")
    except (Broken, FetchError):
        way.close()
        raise


def _secured(link: socket.socket | Nested, url: str, tls: ssl.SSLContext) -> socket.socket | Nested:
    """TLS over a connection."""
    name = host(url).partition("%")[0]
    place = urlsplit(url).netloc.rpartition("@")[2]
    try:
        link.settimeout(CONNECT_S)
        if isinstance(link, ssl.SSLSocket):
            return Nested(link, tls, name)
        assert isinstance(link, socket.socket)
        # TLS itself distinguishes a cut connection from an end.
        return tls.wrap_socket(link, server_hostname=name, suppress_ragged_eofs=False)
    except (OSError, ValueError) as error:
        link.close()
        if isinstance(error, ssl.SSLCertVerificationError):
            raise Unusable(
                f"{place}: its certificate is not trusted ({error.verify_message}); with a CA of "
                "your own, name its file with --ca, or in the environment variable SSL_CERT_FILE"
            ) from error
        if isinstance(error, ssl.SSLError) and error.reason in NO_TLS:
            raise Unusable(f"{place}: does not speak TLS there; is it http:// ?") from error
        if not isinstance(error, OSError):
            raise Unusable(f"{url}: is no address ({error})") from error
        if isinstance(error, TimeoutError):
            raise Broken("no TLS in time") from error
        raise _broken(error) from error


def trusting(ca: str | os.PathLike[str] | None) -> ssl.SSLContext:
    """TLS that trusts what the certificates of a file have signed; the system's, without one.

    Raises:
        Unusable: it has none.
    """
    try:
        tls = ssl.create_default_context(cafile=ca)
    except ssl.SSLError:
        raise Unusable(f"{os.fspath(ca or '')}: has no certificates in PEM") from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Unusable(f"{os.fspath(ca or '')}: {why}") from None
    tls.set_alpn_protocols(["http/1.1"])
    return tls


def _broken(error: OSError) -> Broken:
    """An error of a connection in few words."""
    if isinstance(error, TimeoutError):
        return Broken(LATE)
    if isinstance(error, socket.gaierror):
        return Broken("no such host, by the name service")
    if isinstance(error, ConnectionError | ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Cut()
    if isinstance(error, ssl.SSLError):
        return Broken(f"TLS: {(error.reason or str(error)).replace('_', ' ').lower()}")
    return Broken((error.strerror or str(error) or type(error).__name__).lower())
