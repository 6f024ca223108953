"""HTTP to one server: requests with redirects, proxies and credentials, and errors in words."""

from __future__ import annotations

import os
import socket
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationParseError,
    MaxRetryError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.util import Timeout, make_headers

from flashcrowd.download.errors import Broken, Unusable

CONNECT_S = 20.0
"""Time to connect, in seconds."""
MOST_REDIRECTS = 10
CHUNK = 256 << 10
"""Bytes that are taken from the connection at a time, at most."""
REDIRECTS = (301, 302, 303, 307, 308)
DRAINED = 64 << 10
"""Bytes of an answer that is not wanted are read, up to so many, so that its connection is kept."""


class Answer:
    """An answer whose body is read as it comes.

    Attributes:
        url: where it came from, after redirects.
        status: status code.
        fields: header fields, names in lower case; those of one name are joined by commas.
    """

    def __init__(self, url: str, response: urllib3.BaseHTTPResponse) -> None:
        self.url = url
        self.status = response.status
        self.fields: dict[str, str] = {}
        for name, value in response.headers.itermerged():
            self.fields[name.lower()] = value
        self._response = response

    def body(self) -> Iterator[bytes]:
        """What comes, as it comes.

        Raises:
            Broken: it broke off, or nothing came for too long.
        """
        while True:
            try:
                data = self._response.read1(CHUNK)
            except (HTTPError, HTTPException, OSError, ValueError) as error:
                raise Broken(reason(error)) from error
            if not data:
                return
            yield data

    def small(self, most: int) -> bytes:
        """The whole body, if it has at most so many bytes.

        Raises:
            Broken: it broke off, or is longer.
        """
        said = bytearray()
        for data in self.body():
            said += data
            if len(said) > most:
                raise Broken("an answer that is too long")
        return bytes(said)

    def drain(self) -> None:
        """Reads a body that is not wanted, if it is short, so that its connection is kept."""
        rest = self._response.length_remaining
        if rest is not None and rest <= DRAINED:
            self._response.drain_conn()

    def close(self) -> None:
        """Lets go of the connection: it is kept if the body is over, and closed if not."""
        self._response.close()


class Site:
    """Where a file is.

    Args:
        url: its address, http or https; user and password may be in it.
        headers: fields for each request, sent to this host only.
        timeout_s: for how long nothing may come, in seconds.
        ca: a file of certificates (PEM); those that they have signed are trusted, and no others.

    Raises:
        Unusable: it is no such address, or no such file.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
        ca: str | os.PathLike[str] | None = None,
    ) -> None:
        parts = check(url)
        self.url = clean(urlunsplit(parts._replace(path=parts.path or "/", fragment="")))
        """The address without credentials."""
        self._own = {it.lower(): value for it, value in (headers or {}).items()}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._own.setdefault("authorization", make_headers(basic_auth=pair)["authorization"])
        self._tls = None if ca is None else trusting(ca)
        self._timeout = Timeout(connect=CONNECT_S, read=timeout_s)
        self._pools: dict[str | None, urllib3.PoolManager] = {}

    @contextmanager
    def ask(
        self, method: str, headers: Mapping[str, str] | None = None, url: str | None = None
    ) -> Iterator[Answer]:
        """An answer, until the block ends; redirects are followed.

        Raises:
            Broken: there is none; another try may get one.
            Unusable: there will be none.
        """
        url = url or self.url
        for _ in range(MOST_REDIRECTS):
            answer = self._ask(method, url, headers or {})
            try:
                where = answer.fields.get("location")
                if answer.status not in REDIRECTS or where is None:
                    yield answer
                    return
                answer.drain()
            finally:
                answer.close()
            url = self._redirected(url, where)
        raise Unusable(f"{self.url}: redirects without end; is the address right?")

    def _ask(self, method: str, url: str, headers: Mapping[str, str]) -> Answer:
        fields = {"accept-encoding": "identity", "user-agent": "flashcrowd", **headers}
        if origin(url) == origin(self.url):
            fields |= self._own
        try:
            response = self._pool(url).request(
                method,
                url,
                headers=fields,
                preload_content=False,
                decode_content=False,
                redirect=False,
                retries=False,
                timeout=self._timeout,
            )
        except LocationParseError as error:
            raise Unusable(f"{url}: is no address") from error
        except (HTTPError, HTTPException, OSError, UnicodeError) as error:
            raise _failed(url, error) from error
        return Answer(url, response)

    def _pool(self, url: str) -> urllib3.PoolManager:
        parts = urlsplit(url)
        proxy = urllib.request.getproxies().get(parts.scheme)
        if proxy is not None and urllib.request.proxy_bypass(parts.hostname or ""):
            proxy = None
        if proxy not in self._pools:
            if proxy is None:
                self._pools[proxy] = urllib3.PoolManager(ssl_context=self._tls)
            else:
                try:
                    self._pools[proxy] = urllib3.ProxyManager(proxy, ssl_context=self._tls)
                except (HTTPError, ValueError) as error:
                    raise Unusable(f"{parts.scheme}_proxy: is no proxy ({error})") from error
        return self._pools[proxy]

    def _redirected(self, url: str, where: str) -> str:
        try:
            new = urljoin(url, where)
            parts = urlsplit(new)
        except ValueError:
            raise Unusable(f"{self.url}: redirects to something that is no address") from None
        if parts.scheme not in ("http", "https"):
            raise Unusable(f"{self.url}: redirects to {parts.scheme}:, which is not followed")
        if urlsplit(url).scheme == "https" and parts.scheme == "http":
            raise Unusable(f"{self.url}: redirects from https to http, which is not followed")
        return clean(urlunsplit(parts._replace(fragment="")))

    def close(self) -> None:
        """Closes all connections."""
        for pool in self._pools.values():
            pool.clear()


def clean(url: str) -> str:
    """An address without user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), port or {"http": 80, "https": 443}.get(scheme)


def check(url: str) -> SplitResult:
    """The parts of an address.

    Raises:
        Unusable: it is no address of HTTP.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Unusable(f"{url}: is no address ({error})") from None
    if parts.scheme.lower() not in ("http", "https"):
        if not parts.scheme or "." in parts.scheme or parts.scheme == "localhost":
            raise Unusable(f"{url}: has no scheme; did you mean http://{url} ?")
        raise Unusable(f"{url}: {parts.scheme}: is not spoken here, http and https are")
    if not parts.hostname or port == 0 or any(it <= " " or it == "\x7f" for it in url):
        raise Unusable(f"{url!r}: is no address; one is like https://host/path/file")
    return parts


def trusting(ca: str | os.PathLike[str]) -> ssl.SSLContext:
    """TLS that trusts what the certificates of a file have signed.

    Raises:
        Unusable: it has none.
    """
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError:
        raise Unusable(f"{os.fspath(ca)}: has no certificates in PEM") from None
    except OSError as error:
        raise Unusable(f"{os.fspath(ca)}: {(error.strerror or str(error)).lower()}") from None


def _failed(url: str, error: Exception) -> Exception:
    """What an error in asking means: for good, or for now."""
    host = urlsplit(url).netloc
    inner = error.reason if isinstance(error, MaxRetryError) else error
    cause = inner.args[-1] if isinstance(inner, SSLError) and inner.args else inner
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Unusable(
            f"{host}: its certificate is not trusted ({cause.verify_message}); with a CA of your "
            "own, name its file with --ca, or in the environment variable SSL_CERT_FILE"
        )
    if isinstance(inner, SSLError) and "WRONG_VERSION_NUMBER" in str(inner):
        return Unusable(f"{host}: does not speak TLS there; is it http:// ?")
    if isinstance(inner, ValueError) and not isinstance(inner, OSError | HTTPError):
        return Unusable(f"{url}: is no address ({inner})")
    return Broken(reason(error))


def reason(error: BaseException) -> str:
    """An error in few words."""
    if isinstance(error, MaxRetryError) and error.reason is not None:
        return reason(error.reason)
    if isinstance(error, ProxyError):
        return f"the proxy: {reason(error.original_error)}"
    if isinstance(error, NameResolutionError):
        return "no such host, by the name service"
    cause = error.__cause__ or error.__context__
    if isinstance(error, NewConnectionError) and isinstance(cause, OSError):
        return reason(cause)
    if isinstance(error, ConnectTimeoutError):
        return "no connection in time"
    if isinstance(error, ReadTimeoutError | TimeoutError):
        return "nothing came for too long"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(error, socket.gaierror):
        return "no such host, by the name service"
    if isinstance(error, OSError) and not isinstance(error, HTTPError):
        return (error.strerror or str(error) or type(error).__name__).lower()
    return "the connection broke off"
