"""HTTP/1.1 to one server: requests with redirects and credentials, and answers."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from urllib.parse import urlunsplit

from flashcrowd.http import statuses
from flashcrowd.http.address import Origin, check, clean, origin, redirected
from flashcrowd.http.connection import Connection, asked, basic, connect, proxy_of, trusting
from flashcrowd.http.errors import Broken, Cut, Unusable
from flashcrowd.http.framing import End, body, framing
from flashcrowd.http.head import Head, read_head

MOST_REDIRECTS = 10
DRAINED = 64 << 10
"""Bytes of an unwanted answer that are read at most, so that its connection is kept."""


class Answer:
    """An answer whose body is read as it comes.

    Attributes:
        url: where it came from, after redirects.
        status: status code.
        fields: header fields, names in lower case; those of one name are joined by commas.
        length: bytes of its body by Content-Length; None where it is not said.
        proves_end: whether a body that was cut is an error, and so one that ends is whole.
    """

    def __init__(self, url: str, method: str, head: Head, connection: Connection) -> None:
        self.url = url
        self.status = head.status
        self.fields = head.fields
        self._framing = framing(method, head)
        self.length = self._framing.length
        self.proves_end = self._framing.end is not End.CLOSE or connection.secure
        self._connection = connection
        self._over = self._framing.end is End.NONE
        words = [it.strip(" \t").lower() for it in head.fields.get("connection", "").split(",")]
        keeps = "keep-alive" in words if head.minor == 0 else "close" not in words
        self._keeps = keeps and self._framing.end is not End.CLOSE

    def body(self) -> Iterator[memoryview]:
        """The body, as it comes; each piece is valid until the next one.

        Raises:
            Broken: it broke off, or nothing came for too long.
        """
        if not self._over:
            yield from body(self._connection.stream, self._framing)
            self._over = True

    def small(self, most: int) -> bytes:
        """The whole body, if it has at most `most` bytes.

        Raises:
            Broken: it broke off, is longer, or nothing says that it is whole.
        """
        said = bytearray()
        for data in self.body():
            said += data
            if len(said) > most:
                raise Broken("an answer that is too long")
        if not self.proves_end:
            raise Broken("an answer whose length is not said")
        return bytes(said)

    def drain(self) -> None:
        """Reads a body that is not wanted, if it is short, so that its connection is kept."""
        if self._keeps and (self.length or 0) <= DRAINED:
            left = DRAINED
            for data in self.body():
                left -= len(data)
                if left < 0:
                    return

    @property
    def reusable(self) -> bool:
        """Whether another request can go over its connection."""
        return self._over and self._keeps


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
        known = basic(url)
        if known is not None:
            self._own.setdefault("authorization", known)
        self._tls = None if ca is None else trusting(ca)
        self._timeout_s = timeout_s
        self._kept: dict[tuple[Origin, str | None], Connection] = {}
        self._busy: Connection | None = None
        self.opened: list[float] = []
        """When its connections were opened, those of `another` included, by `time.monotonic`."""

    def another(self) -> Site:
        """The same address, with connections of its own."""
        made = copy(self)
        made._kept, made._busy = {}, None
        return made

    def abort(self) -> None:
        """From another thread: breaks off what is under way."""
        busy = self._busy
        if busy is not None:
            busy.abort()

    @contextmanager
    def ask(
        self, method: str, headers: Mapping[str, str] | None = None, url: str | None = None
    ) -> Iterator[Answer]:
        """An answer, until the block ends; redirects are followed.

        Raises:
            Broken: there is none, or none whose framing is sure; another try may get one.
            Unusable: there will be none.
        """
        url = url or self.url
        for _ in range(MOST_REDIRECTS):
            with self._answer(method, url, headers or {}) as answer:
                where = answer.fields.get("location")
                if not statuses.redirects(answer.status) or where is None:
                    yield answer
                    return
                answer.drain()
            url = redirected(url, where)
        raise Unusable(f"{self.url}: redirects without end; is the address right?")

    @contextmanager
    def _answer(self, method: str, url: str, headers: Mapping[str, str]) -> Iterator[Answer]:
        proxy = proxy_of(url)
        where, fields = asked(url, proxy)
        fields |= {"accept-encoding": "identity", "user-agent": "flashcrowd", **headers}
        if origin(url) == origin(self.url):
            fields |= self._own
        place = (origin(url), proxy)
        connection = self._kept.pop(place, None)
        if connection is not None and not connection.idle:
            connection.close()
            connection = None
        answer = None
        try:
            while answer is None:
                if connection is None:
                    connection = connect(url, proxy, self._secure(), self._timeout_s)
                    self.opened.append(time.monotonic())
                self._busy = connection
                try:
                    connection.send(method, where, fields)
                    answer = Answer(url, method, read_head(connection.stream), connection)
                except Cut:
                    if connection.fresh:
                        raise
                    # The server may have closed it while the request was on its way.
                    connection.close()
                    connection = None
            yield answer
        finally:
            self._busy = None
            if connection is not None:
                if answer is not None and answer.reusable:
                    connection.fresh = False
                    self._keep(place, connection)
                else:
                    connection.close()

    def _keep(self, place: tuple[Origin, str | None], connection: Connection) -> None:
        other, self._kept[place] = self._kept.get(place), connection
        if other is not None:
            other.close()

    def _secure(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = trusting(None)
        return self._tls

    def close(self) -> None:
        """Closes all connections."""
        for connection in self._kept.values():
            connection.close()
