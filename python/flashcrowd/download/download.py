"""A file from its addresses: asks, writes, verifies, and asks for the rest, until it is whole."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from flashcrowd.base.amounts import scaled
from flashcrowd.download.account import Fetched, Progress, Served
from flashcrowd.download.asking import FIRST, OTHER_BYTES, WANTED, Asking, Form, applied
from flashcrowd.download.beside import Beside, Place
from flashcrowd.download.meter import Meter
from flashcrowd.download.part import Part, Source, taken
from flashcrowd.download.patience import Patience
from flashcrowd.download.proof import OtherFile, Proof
from flashcrowd.download.site import Answer, Site
from flashcrowd.download.sites import Sites, has
from flashcrowd.download.wish import Wish
from flashcrowd.http import codings, fields, statuses
from flashcrowd.http.errors import Broken, FetchError, Local, Unusable, Wrong
from flashcrowd.http.fields import ContentRange, Validator
from flashcrowd.http.multipart import MOST_LINE, ByteRanges, Malformed

MOST_ANEW = 8
"""A download may restart from zero this often."""
FIRST_TRIES = 3
"""Tries to reach a server that has never answered."""


class Changed(Exception):
    """The server has another version of the file than the bytes that are there."""


class Refused(Exception):
    """The server does not take this form of request; the next one was chosen."""


class Download:
    """A download under way.

    Args:
        site: where the file is.
        wish: what is wanted.
        watch: receives how far it is, at most ten times a second.
        tell: takes a sentence about what a person should know.
        sleep: sleeps for the given seconds.
        mirrors: other addresses of the same file, asked where `site` fails. Their bytes are put
            together only where the same strong entity tag or the same SHA-256 proves that they
            belong together.
    """

    def __init__(
        self,
        site: Site,
        wish: Wish,
        watch: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda line: None,
        sleep: Callable[[float], None] = time.sleep,
        mirrors: Sequence[Site] = (),
    ) -> None:
        self._sites = Sites([site, *mirrors])
        self._wish = wish
        self._watch = watch
        self._tell = tell
        self._sleep = sleep
        self._patiences: dict[Site, Patience] = {}
        self._served = {it: Served(it.url) for it in (site, *mirrors)}
        self._asking = Asking()
        self._used = Form.WHOLE
        self._answered = False
        self._parts = False
        self._offered = True
        self._where: str | None = None
        self._length: int | None = None
        self._length_of = Validator()
        self._proven = True
        self._alone = False
        self._anew = 0
        self._received = 0
        self._retries = 0
        self._resumed = 0
        self._begin = time.monotonic()
        self._meter = Meter(self._begin)
        if os.path.isdir(wish.target):
            raise Local(f"{wish.target}: is a folder; name another place (-o, -d)")
        if os.path.lexists(wish.target) and not wish.overwrite:
            raise taken(wish.target)
        self._part = Part(wish.target, wish.durable)
        self._part.digest_decides = bool(wish.sha256)
        self._proof = Proof(self._part, wish.sha256, self._sites, tell, sleep, self._anew_because)

    def run(self) -> Fetched:
        """Fetches the file.

        Raises:
            FetchError: it cannot be had; what came is kept.
        """
        part = self._part
        try:
            why = part.resume(self._sites.urls)
            if why:
                self._tell(f"{why}: begins anew")
            if part.source is not None:
                self._sites.begin_at(part.source.url)
            self._resumed = part.ranges.bytes
            part.take_notes()
            self._meet_one()
            self._fetch_beside()
            while (verified := self._step()) is None:
                pass
            if not (self._proven or verified):
                raise self._unproven()
            part.finish(self._wish.overwrite)
            return Fetched(
                path=self._wish.target,
                bytes=part.ranges.bytes,
                received=self._received,
                resumed=self._resumed,
                seconds=time.monotonic() - self._begin,
                verified=verified,
                how=self._used.value,
                retries=self._retries,
                refetched=self._proof.refetched,
                servers=self._servers(),
            )
        except FetchError as error:
            error.kept = self.kept
            raise
        finally:
            self._proof.stop()
            part.close()
            # The bytes that are kept now.
            self._show(True)

    def _servers(self) -> tuple[Served, ...]:
        served = self._served.items()
        return tuple(replace(it, connections=len(site.opened)) for site, it in served)

    @property
    def _clock(self) -> float:
        """Seconds since the call."""
        return time.monotonic() - self._begin

    @property
    def _site(self) -> Site:
        return self._sites.now

    @property
    def _patience(self) -> Patience:
        """That with the server that is asked now."""
        return self._patiences.setdefault(self._site, Patience(self._wish.tries))

    def _step(self) -> tuple[str, ...] | None:
        """An exchange, or what the file was verified by if it is whole.

        Raises:
            FetchError: it cannot be had from any address.
        """
        try:
            if self._is_whole():
                self._show(True, verifying=True)
                verified = self._verify()
                if verified is not None:
                    return verified
            self._exchange()
        except Local:
            raise
        except FetchError as error:
            if not self._sites.leave(self._has_the_same):
                raise
            if self._is_whole():
                self._anew_because("what came is not the file")
            elif self._alone and self._part.ranges.bytes:
                self._anew_because("one server alone is to bring the file")
            self._go_on_here(error.cause)
        return None

    # Several connections.

    def _fetch_beside(self) -> None:
        """Fetches what several connections can get at once, if several are wanted.

        All of it is of one version that says so itself. What they leave is for one connection.
        """
        version, length, part = self._length_of, self._length, self._part
        if self._wish.connections < 2 or length == 0 or self._is_whole():
            return
        if length is None:
            self._tell("one connection: the server does not say how long the file is")
            return
        if not version.strong:
            self._tell(
                "one connection: the server sends no strong ETag, and no Last-Modified that is a "
                "minute old"
            )
            return
        if part.source is None:
            self._renew(version, length)
        source = part.source
        if source is None or source.mixed or not self._is_same(version):
            self._tell("one connection: what is here may be of several versions")
            return
        missing = part.missing()
        if not missing:
            return
        self._used = Form.RANGES
        sites = self._sites.in_order()
        places = [Place(it, self._served[it], None, self._wish.tries) for it in sites]
        places[0].version = version
        beside = Beside(
            places,
            source,
            self._proof.of(version) or self._wish.sha256,
            missing,
            self._wish.connections,
            self._wish.range_bytes,
            self._wish.least_split_bytes,
            self._put,
            lambda: self._clock,
        )
        try:
            beside.run(self._tell, lambda: self._show(False))
        finally:
            self._retries += beside.retries
        self._answered |= self._received > 0
        if not self._is_whole():
            self._tell("goes on over one connection")

    # Several addresses.

    def _meet_one(self) -> None:
        """Asks what the server offers; the next one, if this one never will.

        Raises:
            FetchError: no address does.
        """
        while True:
            try:
                self._meet()
                break
            except Local:
                raise
            except FetchError as error:
                if not self._sites.leave(self._has_the_same):
                    raise
                self._tell(f"{error.cause}; goes on at {self._site.url}")
        self._proof.begin()

    def _has_the_same(self, site: Site) -> bool:
        """Whether another address provably has the file whose bytes are here."""
        source = self._part.source
        if source is None or not self._part.ranges.bytes:
            return True
        if self._wish.sha256:
            return not self._alone
        known = self._proof.of(source.validator) or self._proof.content
        return has(site, source, known)

    def _go_on_here(self, why: str, pause: float = 0.0) -> None:
        """Another address was chosen: all that is known of a server is about the one before."""
        when = f" in {pause:.1f} s" if pause else ""
        self._tell(f"{why}; goes on at {self._site.url}{when}")
        if pause:
            self._wait(pause)
        self._proof.leave()
        self._asking, self._where = Asking(), None
        self._length, self._length_of = None, Validator()
        self._meet_one()

    def _is_same(self, version: Validator) -> bool:
        """Whether what is here is of this version. A date is of the server that it is from."""
        source = self._part.source
        if source is None or not version.same(source.validator):
            return False
        return bool(version.etag) or source.url == self._site.url

    @property
    def kept(self) -> int:
        """Bytes that the next call need not fetch."""
        source = self._part.source
        if source is None or source.length is None:
            return 0
        known = source.validator.strong and not source.mixed
        return self._part.ranges.bytes if known or self._wish.sha256 else 0

    def _is_whole(self) -> bool:
        source = self._part.source
        return source is not None and self._part.ranges.bytes == source.length

    # Learn the server's offer.

    def _meet(self) -> None:
        """Asks what the server offers, without the file.

        A server that answers nothing useful is asked for the file all the same.
        """
        met = False
        try:
            with self._site.ask("HEAD", WANTED) as answer:
                if statuses.whole(answer.status):
                    self._learn(answer)
                    self._length, self._length_of = answer.length, Validator.of(answer.fields)
                    met = True
        except Broken:
            return
        self._proof.ask(self._length)
        if met:
            self._compare(self._length_of)

    def _compare(self, now: Validator) -> None:
        """Bytes of an earlier call may be of another version, even if they are all there."""
        source = self._part.source
        if source is None or self._is_same(now) or self._adopt(now, self._length):
            return
        if source.url != self._site.url and self._part.ranges.bytes:
            self._anew_because(f"nothing proves that it is the file of {source.url}")
        elif now.strong and bool(now.etag) == bool(source.validator.etag):
            self._anew_because("the file has changed on the server")

    def _adopt(self, version: Validator, length: int | None) -> bool:
        """Whether the bytes that are here go on with those of a version of another name.

        Mirrors name one file by different tags. The digests of both servers prove that they have
        one file. Else only the digest that was given knows whether the bytes make it; where they
        did not, they come from one version alone.
        """
        source = self._part.source
        if source is None or not self._part.ranges.bytes or length not in (None, source.length):
            return False
        proof = self._proof.of(version)
        if (
            proof
            and proof == self._proof.content
            and version.strong
            and source.url != self._site.url
        ):
            self._part.adopt(Source(self._site.url, version, source.length), proven=True)
            return True
        if not self._wish.sha256 or self._alone:
            return False
        if not source.mixed:
            self._tell("the server names another version of the file; the SHA-256 decides")
        self._part.adopt(Source(self._site.url, version, source.length))
        self._proof.stop_blocks()
        self._proof.begin()
        return True

    def _learn(self, answer: Answer) -> None:
        """Learn from an answer about the file."""
        self._answered = True
        self._where = answer.url
        validator = Validator.of(answer.fields)
        if self._wish.any_order and validator.strong:
            ranges = "bytes" in fields.words(answer.fields, "accept-ranges")
            if ranges and "prefer" in fields.words(answer.fields, "vary"):
                self._asking.offer()
        self._asking.resident = fields.runs(answer.fields.get("resident-ranges", ""))
        self._proof.learn(answer, validator)

    # One exchange.

    def _exchange(self) -> None:
        """One request and its answer; afterwards more of the file is there, or patience less."""
        before = self._received
        try:
            self._request()
        except Refused:
            pass
        except Changed:
            self._anew_because("the file has changed on the server")
        except (Broken, Malformed) as broken:
            self._note(before)
            wait_s = broken.wait_s if isinstance(broken, Broken) else None
            malformed = isinstance(broken, Malformed)
            if malformed and self._is_whole():
                self._anew_because("the last answer contradicts itself")
            barren = self._received == before and self._patience.failed > 0
            if malformed or (barren and self._parts):
                self._asking.step_down(malformed)
            if barren:
                self._where = None
            patience = self._patience
            if not self._answered and patience.failed + 1 >= FIRST_TRIES:
                patience.tries = 1
            pause = patience.next(wait_s)
            failed = patience.failed
            if pause is None:
                tries = "once" if failed == 1 else f"{failed} times in a row"
                raise FetchError(f"{self._site.url}: {broken} ({tries}); try again later") from None
            self._retries += 1
            self._served[self._site].lost += 1
            if self._received == before and self._sites.turn(self._has_the_same):
                # One that has failed less often need not wait.
                self._go_on_here(str(broken), pause if self._patience.failed >= failed else 0.0)
                return
            self._tell(f"{broken}; again in {pause:.1f} s")
            self._wait(pause)
        else:
            self._note(before)
            if self._received == before and not self._is_whole():
                self._asking.step_down(True)
                if self._patience.next(None) is None:
                    raise FetchError(
                        f"{self._site.url}: the server gives nothing of what is missing"
                    )

    def _note(self, before: int) -> None:
        rest = 0 if self._is_whole() else None
        for each in self._patiences.values():
            each.came(self._received - before, rest)

    def _wait(self, seconds: float) -> None:
        self._show(True)
        self._sleep(seconds)

    def _request(self) -> None:
        by_digest = bool(self._wish.sha256) and not self._alone
        form, headers = self._asking.request(self._part, by_digest, self._length)
        ranged = "range" in headers
        self._parts = False
        self._served[self._site].ask(self._clock)
        with self._site.ask("GET", headers, self._where) as answer:
            self._used = Form.RANGES if ranged else Form.WHOLE
            self._parts = answer.status == 206
            self._take(answer, ranged)
        self._asking.answered(form)

    def _take(self, answer: Answer, ranged: bool) -> None:
        if answer.status == 206:
            if not ranged:
                raise Broken("an answer with parts (206), which were not asked for")
            self._encoded(answer)
            self._look_at_order(answer)
            self._learn(answer)
            boundary = fields.boundary(answer.fields.get("content-type", ""))
            if boundary is not None:
                self._take_parts(answer, boundary)
            else:
                self._take_range(answer)
        elif statuses.whole(answer.status):
            if "content-range" in answer.fields:
                raise Broken(f"an answer {answer.status} that says it is a part of the file")
            self._encoded(answer)
            self._learn(answer)
            self._take_whole(answer)
        elif ranged and statuses.no_ranges(answer.status):
            self._refused(answer)
        elif statuses.later(answer.status):
            raise Broken(f"the server answers {answer.status}", fields.retry_after(answer.fields))
        elif self._where not in (None, self._site.url):
            # Where a redirect led to may hold for a while only.
            self._where = None
            raise Broken(f"the server answers {answer.status}")
        else:
            raise Unusable(f"{self._site.url}: {statuses.refusal(answer.status)}")

    def _look_at_order(self, answer: Answer) -> None:
        """Says once that a server which offers its order has not chosen it."""
        offered = self._asking.form is FIRST and not self._asking.sole
        if offered and not applied(answer.fields) and self._offered:
            self._offered = False
            self._tell(
                "the server offers its own order, and the bytes come in the file's: a proxy in "
                "between may speak HTTP/1.0"
            )

    def _encoded(self, answer: Answer) -> None:
        names = [self._site.url, answer.url, self._wish.target.name]
        coding = codings.unasked(answer.fields.get("content-encoding", ""), names)
        # With a digest given, that decides whether these are the bytes of the file.
        if coding and not self._wish.sha256:
            raise Wrong(
                f"{self._site.url}: comes encoded ({coding[:40]!r}), which was not asked for; "
                "with --sha256 the digest decides whether this is the file"
            )

    def _refused(self, answer: Answer) -> None:
        """A request with ranges was refused: by a server that knows none, or no such ones."""
        length = fields.unsatisfied(answer.fields.get("content-range", ""))
        source = self._part.source
        if answer.status == 416 and source is not None and length not in (None, source.length):
            raise Changed
        self._asking.step_down(True)
        raise Refused

    def _take_whole(self, answer: Answer) -> None:
        version, length = Validator.of(answer.fields), answer.length
        validator = version
        if length is None:
            validator = Validator(version.etag, version.date, False)
        self._check_length(version, length)
        source = self._part.source
        same = source is not None and source.length == length and self._is_same(validator)
        if not same and not (length is not None and self._adopt(validator, length)):
            self._renew(validator, length)
        elif self._part.ranges.bytes:
            self._tell("the server gives no ranges: all bytes come again")
            self._asking.no_ranges()
        self._used = Form.WHOLE
        at = 0
        for data in answer.body():
            self._write(at, data)
            at += len(data)
        if length is None:
            self._check_length(version, at)
            self._part.source = Source(self._site.url, validator, at)
            self._proven = answer.proves_end or (
                at == self._length and version.same(self._length_of)
            )

    def _check_length(self, version: Validator, length: int | None) -> None:
        """One version of a file has one length, unless a digest that was given decides.

        Raises:
            Broken: `HEAD` said another one of the same version.
        """
        other = self._length is not None and length not in (None, self._length)
        if other and version.strong and version.same(self._length_of) and not self._wish.sha256:
            raise Broken(f"two lengths of one version: {self._length} and {length} bytes")

    def _renew(self, validator: Validator, length: int | None) -> None:
        """Bytes on the disk are of another version: the file restarts from zero."""
        source = self._part.source
        if self._part.ranges.bytes and source is not None:
            if source.validator.strong:
                self._anew_because("the file has changed on the server")
            else:
                self._anew_because("nothing says that the file is as it was")
        self._proof.stop()
        self._proven, self._proof.content = True, b""
        self._part.begin(Source(self._site.url, validator, length))
        self._proof.begin()

    def _take_range(self, answer: Answer) -> None:
        got = ContentRange.parse(answer.fields.get("content-range", ""))
        if got is None:
            raise Malformed("an answer 206 that does not say which bytes it has")
        chosen = applied(answer.fields)
        self._asking.within(got.start, got.end)
        if self._asking.sole and not chosen and got.start != self._asking.start:
            raise Malformed(OTHER_BYTES)
        if answer.length not in (None, got.end - got.start):
            raise Malformed("an answer 206 whose Content-Length does not fit its Content-Range")
        self._accept(answer, got.length)
        hinted = self._asking.resident and self._asking.form is Form.HINTS
        plain = Form.HINTS if hinted else Form.RANGES
        self._used = Form.ANY_ORDER if chosen else plain
        at = got.start
        for data in answer.body():
            if at + len(data) > got.end:
                raise Malformed("an answer that is longer than it says")
            self._write(at, data)
            at += len(data)
        if at < got.end:
            raise Broken("the connection broke off")

    def _take_parts(self, answer: Answer, boundary: bytes) -> None:
        source = self._part.source
        parts = ByteRanges(boundary, None if source is None else source.length)
        accepted = False
        beyond, count = 0, 0
        for data in answer.body():
            beyond += len(data) if parts.finished else 0
            for at, piece in parts.feed(data):
                if not accepted:
                    self._accept(answer, parts.length)
                    accepted = True
                    self._used = Form.ANY_ORDER if applied(answer.fields) else Form.RANGES
                self._asking.within(at, at + len(piece))
                self._write(at, piece)
                count += len(piece)
            if beyond > MOST_LINE or count > 2 * (parts.length or count):
                raise Malformed("parts without end")
        if not parts.finished:
            raise Broken("the connection broke off")

    def _accept(self, answer: Answer, length: int | None) -> None:
        """Parts of a file: of the version that is here, or of the one that begins here.

        Raises:
            Changed: of another version.
            Malformed: nothing says of which.
        """
        validator = Validator.of(answer.fields)
        source = self._part.source
        if source is None:
            if length is None or not validator.strong:
                raise Malformed("parts of a file of which the version is not known")
            self._check_length(validator, length)
            self._renew(validator, length)
            return
        if length not in (None, source.length):
            raise Changed
        if self._is_same(validator) or self._adopt(validator, length):
            return
        dated = validator.date and not source.validator.etag
        if validator.etag or (dated and validator.date != source.validator.date):
            raise Changed
        raise Malformed("parts that do not say of which version of the file they are")

    def _write(self, at: int, data: bytes | memoryview) -> None:
        self._served[self._site].receive(self._clock, self._put(at, data, self._site.url))
        self._show(False)

    def _put(self, at: int, data: bytes | memoryview, url: str) -> int:
        written = self._part.write(at, data, url)
        self._received += written
        self._proof.offer(at, at + len(data))
        return written

    def _anew_because(self, why: str) -> None:
        """Nothing of the file is here.

        Raises:
            FetchError: this was so too often.
        """
        self._anew += 1
        self._proof.forget()
        self._part.forget()
        if self._anew > MOST_ANEW:
            raise FetchError(f"{self._site.url}: {why}, {self._anew} times; try again later")
        self._tell(f"{why}: begins anew")
        self._resumed = 0

    def _verify(self) -> tuple[str, ...] | None:
        """All bytes are there: by what they were verified; None if some were wrong and are missing.

        Raises:
            FetchError: the file is not what it should be.
        """
        try:
            return self._proof.verify(self._length)
        except OtherFile as other:
            mixed = self._part.source is not None and self._part.source.mixed
            several = self._part.servers != {self._site.url}
            if not (mixed or several):
                raise Wrong(
                    f"{self._site.url}: has the SHA-256 {other}, which is not the one that "
                    "was given; correct that, and what came is used; or remove "
                    f"{self._part.path}, and it is fetched anew"
                ) from None
        self._alone = True
        of = "versions" if mixed else "servers"
        self._anew_because(f"what came from several {of} is not the file")
        if several and self._sites.begin():
            self._go_on_here("one server alone is to bring the file")
        return None

    def _unproven(self) -> FetchError:
        """The server ended a file by closing the connection, and nothing says that it is whole."""
        part = self._part
        part.digest_decides = True  # so what came stays
        kept = f"; {part.path} has what came" if part.ranges.bytes else ""
        return FetchError(
            f"{self._site.url}: the server closed the connection after "
            f"{scaled(part.ranges.bytes, 'B')} without having named a length, so nothing proves "
            f"that this is the whole file{kept}; with --sha256 the digest proves it"
        )

    # Telling.

    def _show(self, now: bool, verifying: bool = False) -> None:
        time_s = time.monotonic()
        if not (now or self._meter.due(time_s)):
            return
        source = self._part.source
        self._watch(
            Progress(
                path=self._wish.target,
                done=self._part.ranges.bytes,
                length=None if source is None else source.length,
                received=self._received,
                seconds=time_s - self._begin,
                servers=self._servers(),
                rate=self._meter.take(time_s, self._received),
                kept=self.kept > 0,
                verifying=verifying,
            )
        )
