"""Several connections at once, to one or several servers, that divide the missing bytes of a file.

They take parts of one version only, and each part says of which it is. Where that cannot be, or no
server answers them any more, one connection goes on alone: it knows what to do with every answer.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence

from flashcrowd import _core
from flashcrowd.download.account import Served
from flashcrowd.download.asking import WANTED, range_of
from flashcrowd.download.part import Source
from flashcrowd.download.patience import Patience
from flashcrowd.download.site import Answer, Site
from flashcrowd.download.sites import version_at
from flashcrowd.http import codings, fields, statuses
from flashcrowd.http.errors import Broken, FetchError, Local
from flashcrowd.http.fields import ContentRange, Validator
from flashcrowd.http.ranges import Run

RANGE = 1 << 20
"""The range of a request, in bytes; the default of aria2's --piece-length."""
LEAST_SPLIT = 100 << 10
"""The shortest rest of a connection of which a free one takes half, in bytes; that of axel."""
SLOW_S = 30.0
"""For how long a connection may bring too little while another one is free, in seconds; the default
of curl's --speed-time. Too little is less than the shortest rest that is halved."""
_TURN_S = 0.1
_ENDING_S = 1.0

Write = Callable[[int, memoryview, str], int]
"""Puts bytes of an address where they belong; gives how many were missing."""


class _Left(Exception):
    """A server is asked no more over several connections."""


class _Over(Exception):
    """The others are done, or the call ends."""


class Place:
    """A server, and what is known of it.

    Args:
        site: its address.
        served: what it has brought.
        version: its version of the file; None before it was asked.
        tries: requests in a row that may fail.
    """

    def __init__(self, site: Site, served: Served, version: Validator | None, tries: int) -> None:
        self.site = site
        self.served = served
        self.version = version
        self.left = False
        self.lock = threading.Lock()
        """Held while it is asked for the first time: the others wait for what it says."""
        self.patience = Patience(tries)
        self.failed_s = -math.inf
        """When a request failed, in seconds since the call."""
        self.trying: int | None = None
        """The connection that tries again after that; the others wait for what comes."""
        self._taken = False

    def connection(self) -> Site:
        """For a further connection; the first one is that which has asked for the version."""
        if self._taken:
            return self.site.another()
        self._taken = True
        return self.site


class Beside:
    """The connections of one download, until all is there or none of them gets anything.

    Args:
        places: the servers; the first one is known.
        source: the version that is fetched.
        digest: its SHA-256, which proves that a mirror has it; empty if unknown.
        missing: the bytes that are wanted.
        connections: how many at once.
        range_bytes: what each asks for at a time; None for equal parts.
        least_split_bytes: the shortest rest that is halved; None for none.
        write: takes bytes; it is called by one thread at a time.
        clock: seconds since the call.

    Attributes:
        retries: exchanges that broke off and were repeated.
    """

    def __init__(
        self,
        places: Sequence[Place],
        source: Source,
        digest: bytes,
        missing: Sequence[Run],
        connections: int,
        range_bytes: int | None,
        least_split_bytes: int | None,
        write: Write,
        clock: Callable[[], float],
    ) -> None:
        self.retries = 0
        self._places = list(places)
        self._source = source
        self._digest = digest
        self._division = _core.Division(list(missing), connections, range_bytes, least_split_bytes)
        self._write = write
        self._clock = clock
        self._news = threading.Condition()
        self._over = False
        self._error: FetchError | None = None
        self._said = queue.SimpleQueue[str]()
        """Messages for a person; an empty text where a connection has ended."""
        self._sites: dict[int, Site] = {}
        self._least = least_split_bytes or 0
        self._came = [0] * connections
        """Bytes of each connection."""
        self._asked: list[float | None] = [None] * connections
        """Since when each one has its range, by `time.monotonic`."""
        self._rates = [0.0] * connections
        """Bytes a second of each one's last range."""
        self._threads = [
            threading.Thread(
                target=self._run, args=(number,), name=f"connection {number}", daemon=True
            )
            for number in range(connections)
        ]

    def run(self, tell: Callable[[str], None], show: Callable[[], None]) -> None:
        """Fetch what can be had so, and report it in this thread.

        Raises:
            Local: the target or this machine does not allow it.
        """
        try:
            for thread in self._threads:
                thread.start()
            while any(thread.is_alive() for thread in self._threads):
                with contextlib.suppress(queue.Empty):
                    if line := self._said.get(timeout=_TURN_S):
                        tell(line)
                    elif self._over or self._division.is_whole():
                        break
                show()
        finally:
            self._end()
        while not self._said.empty():
            if line := self._said.get():
                tell(line)
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        with self._news:
            self._over = True
            self._news.notify_all()
            sites = list(self._sites.values())
        for site in sites:
            site.abort()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_ENDING_S)
        for site in sites:
            if all(site is not place.site for place in self._places):
                site.close()

    # A thread for each connection.

    def _run(self, number: int) -> None:
        at = number % len(self._places)
        try:
            while True:
                place = self._places[at]
                try:
                    self._stay(number, place)
                except _Left as left:
                    with self._news:
                        self._free(number)
                    self._leave(place, str(left))
                others = [(at + step) % len(self._places) for step in range(len(self._places))]
                at = next((it for it in others if not self._places[it].left), -1)
                if at < 0:
                    return
        except _Over:
            return
        except Local as error:
            with self._news:
                self._error = self._error or error
                self._over = True
                self._news.notify_all()
        finally:
            with self._news:
                self._free(number)
                self._news.notify_all()
            self._said.put("")

    def _leave(self, place: Place, why: str) -> None:
        with self._news:
            first, place.left = not place.left, True
            self._news.notify_all()
        if first and why:
            self._said.put(why)

    def _stay(self, number: int, place: Place) -> None:
        """Ask a server for one range after the other.

        Raises:
            _Over: nothing is left.
            _Left: it is to be asked no more.
        """
        with self._news:
            site = self._sites[number] = place.connection()
        where: str | None = None
        while True:
            self._greet(number, place)
            self._await(number, place)
            run, asked_s = self._next(number), self._clock()
            try:
                where = self._exchange(number, place, site, run, where)
            except Broken as broken:
                where = None
                self._fail(number, place, broken, asked_s)
            except Local:
                raise
            except FetchError as error:
                raise _Left(error.cause) from None

    def _await(self, number: int, place: Place) -> None:
        """Wait while another connection tries again whether a server answers."""
        with self._news:
            while place.trying not in (None, number) and not place.left:
                if self._over or self._division.is_whole():
                    raise _Over
                self._news.wait()
            if place.left:
                raise _Left

    def _greet(self, number: int, place: Place) -> None:
        """Ask a mirror for its version, once."""
        with place.lock:
            if place.left:
                raise _Left
            while place.version is None:
                try:
                    version = version_at(place.site, self._source, self._digest)
                except Broken as broken:
                    self._pause(number, place, broken)
                    continue
                except FetchError as error:
                    self._leave(place, error.cause)
                    raise _Left from None
                if version is None:
                    self._leave(place, f"{place.site.url}: nothing proves that it has this file")
                    raise _Left
                place.version = version

    def _next(self, number: int) -> Run:
        with self._news:
            self._asked[number] = None
            since, had = time.monotonic(), list(self._came)
            while True:
                if self._over or self._division.is_whole():
                    raise _Over
                now = time.monotonic()
                if now - since >= SLOW_S:
                    self._take_over(number, now, had)
                    since, had = now, list(self._came)
                found = self._division.ask(number)
                if found is not None:
                    self._asked[number] = now
                    return found
                self._news.wait(since + SLOW_S - now)

    def _take_over(self, number: int, now: float, had: Sequence[int]) -> None:
        """Nothing was left to ask for in the last `SLOW_S`: free the rest of the slowest one.

        That is one that brought less in this time than the shortest rest that is halved, and is
        slower than the connection that is free. It notices with its next bytes.
        """
        came = [it - before for it, before in zip(self._came, had, strict=True)]
        slow = [
            it
            for it, asked in enumerate(self._asked)
            if asked is not None
            and now - asked >= SLOW_S
            and came[it] < min(self._least, self._rates[number] * SLOW_S)
        ]
        if slow:
            slowest = min(slow, key=lambda it: came[it])
            self._free(slowest)
            url = self._sites[slowest].url
            self._said.put(f"{url}: too slow; another connection fetches its last bytes")

    def _free(self, number: int) -> None:
        """The rest of a connection's range is free for any."""
        self._asked[number] = None
        self._division.lose(number)

    def _fail(self, number: int, place: Place, broken: Broken, asked_s: float) -> None:
        """A request failed. Those that were under way together count as one."""
        with self._news:
            if self._over:
                raise _Over
            self._free(number)
            self.retries += 1
            place.served.lost += 1
            self._news.notify_all()
            if place.trying not in (None, number) or asked_s < place.failed_s:
                return
            place.trying, place.failed_s = number, self._clock()
        self._pause(number, place, broken)

    def _pause(self, number: int, place: Place, broken: Broken) -> None:
        """Wait before the next try.

        Raises:
            _Left: there is none.
            _Over: all is there meanwhile.
        """
        with self._news:
            pause = place.patience.next(broken.wait_s)
            if pause is None or place.left:
                raise _Left(f"{place.site.url}: {broken}")
            self._said.put(
                f"{place.site.url}: connection {number + 1}: {broken}; again in {pause:.1f} s"
            )
            self._news.wait_for(lambda: self._over or self._division.is_whole(), pause)
            if self._over or self._division.is_whole():
                raise _Over

    def _exchange(
        self,
        number: int,
        place: Place,
        site: Site,
        run: Run,
        where: str | None,
    ) -> str:
        """One request and its answer; gives the address that has answered.

        Raises:
            Broken: it broke off; another try may bring more.
            _Left: the server does not answer so.
        """
        version = place.version
        assert version is not None
        headers = {**WANTED, "range": range_of([run]), "if-range": version.if_range}
        with self._news:
            place.served.ask(self._clock())
        with site.ask("GET", headers, where) as answer:
            said = self._check(answer, site, run, version)
            at, over = run[0], False
            for data in answer.body():
                if at + len(data) > said:
                    raise _Left(f"{site.url}: an answer that is longer than it says")
                with self._news:
                    if self._over:
                        raise _Over
                    missing, over = self._division.receive(number, len(data))
                    written = self._write(at, data[:missing], site.url)
                    place.served.receive(self._clock(), written)
                    place.patience.came(at + len(data) - run[0], None)
                    if place.trying is not None:
                        place.trying = None
                        self._news.notify_all()
                    self._came[number] += written
                    asked = self._asked[number]
                    if asked is not None and time.monotonic() > asked:
                        have = at + len(data) - run[0]
                        self._rates[number] = have / (time.monotonic() - asked)
                    if over:
                        self._news.notify_all()
                at += len(data)
                if over and at < run[1]:
                    break  # another connection brings the rest
            if not over and at < said:
                raise Broken("an answer that is shorter than it says")
            with self._news:
                if not over:
                    # It has fewer bytes than were asked for, which it may: the rest is for any.
                    self._free(number)
                place.patience.came(at - run[0], 0)
            return answer.url

    def _check(self, answer: Answer, site: Site, run: Run, version: Validator) -> int:
        """Whether an answer brings bytes that were asked for; gives where it says that they end.

        Raises:
            Broken: not now.
            _Left: never.
        """
        if statuses.later(answer.status):
            raise Broken(f"the server answers {answer.status}", fields.retry_after(answer.fields))
        if statuses.whole(answer.status) or statuses.no_ranges(answer.status):
            raise _Left(f"{site.url}: gives no ranges of this version ({answer.status})")
        if answer.status != 206:
            raise _Left(f"{site.url}: {statuses.refusal(answer.status).partition('; ')[0]}")
        got = ContentRange.parse(answer.fields.get("content-range", ""))
        fits = (
            got is not None
            and got.start == run[0]
            and got.end <= run[1]
            and got.length in (None, self._source.length)
            and answer.length in (None, got.end - got.start)
        )
        names = [site.url, answer.url]
        plain = not codings.unasked(answer.fields.get("content-encoding", ""), names)
        if got is None or not (fits and plain and Validator.of(answer.fields).same(version)):
            raise _Left(f"{site.url}: an answer 206 that is not what was asked for")
        return got.end
