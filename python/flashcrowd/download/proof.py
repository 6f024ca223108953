"""The proof that the bytes of a part are the file: digests of its server, and a given one."""

from __future__ import annotations

import time
from collections.abc import Callable

from flashcrowd.base.amounts import scaled
from flashcrowd.download.digests import Digests, NotUsable, most_bytes
from flashcrowd.download.part import Part
from flashcrowd.download.site import Answer, Site
from flashcrowd.download.sites import Sites
from flashcrowd.download.verify import Blocks, Whole
from flashcrowd.http import fields, statuses
from flashcrowd.http.address import origin
from flashcrowd.http.errors import Broken, Unusable, Wrong
from flashcrowd.http.fields import Validator

WRONG_BLOCK = 3
"""A block that came wrong this often is not asked for again."""
DIGESTS_S = 20.0
"""For how long the digests of a file that is whole are waited for, in seconds."""
BROKEN_S = 1.0
"""Digests whose answer broke off are asked for again after this time, in seconds."""


class OtherFile(Exception):
    """All bytes are there, and have another SHA-256 than the one that was given."""

    def __init__(self, digest: bytes) -> None:
        super().__init__(digest.hex())
        self.digest = digest


def listed_at(answer: Answer) -> str | None:
    """Where an answer says that the digests of the file's blocks are, if it does."""
    where = fields.link(answer.fields, "describedby", "application/json", answer.url)
    # Digests of another host say nothing about the bytes of this one.
    return where if where is not None and origin(where) == origin(answer.url) else None


def listed(site: Site, where: str, length: int | None) -> Digests | float | None:
    """The digests of a file's blocks; seconds after which to ask again; None if there are none.

    Args:
        site: whose they are.
        where: their address.
        length: bytes of the file, if that is known.

    Raises:
        NotUsable: they are not in the format.
        Unusable: there will be none.
    """
    try:
        with site.ask("GET", url=where) as answer:
            if answer.status == 202:  # the server has not read the whole file yet
                return min(max(fields.retry_after(answer.fields) or 1.0, 0.05), DIGESTS_S)
            if not statuses.whole(answer.status):
                return None
            return Digests.parse(answer.small(most_bytes(length)))
    except Broken:
        return BROKEN_S


class Proof:
    """The digests of a file, made during the download and compared when all is there.

    Args:
        part: the bytes.
        given: the SHA-256 that they must have; empty if unknown.
        sites: whose digests are asked for.
        tell: takes a sentence about what a person should know.
        sleep: sleeps for the given seconds.
        anew: forgets all bytes, for the given reason.

    Attributes:
        content: the SHA-256 of what is here, as servers before this one said it; empty if none did.
        refetched: bytes that came damaged.
    """

    def __init__(
        self,
        part: Part,
        given: bytes,
        sites: Sites,
        tell: Callable[[str], None],
        sleep: Callable[[float], None],
        anew: Callable[[str], None],
    ) -> None:
        self.content = b""
        self.refetched = 0
        self._part = part
        self._given = given
        self._sites = sites
        self._tell = tell
        self._sleep = sleep
        self._anew = anew
        self._at: str | None = None
        self._digests: Digests | None = None
        self._said: tuple[str, bytes] | None = None
        self._said_of = Validator()
        self._blocks: Blocks | None = None
        self._whole: Whole | None = None
        self._wrong: dict[int, int] = {}
        self._wrongs = 0

    # The server's digests.

    def learn(self, answer: Answer, version: Validator) -> None:
        """Learn the digests in an answer about a version of the file."""
        digest = fields.repr_digest(answer.fields)
        if digest is not None or not version.same(self._said_of):
            if digest is None and self._said is not None:
                self._tell(
                    "an earlier answer's digest is not used: nothing says that this one is of the "
                    "same version"
                )
            self._said, self._said_of = digest, version
        self._at = listed_at(answer) or self._at

    def ask(self, length: int | None) -> float | None:
        """Ask for the digests of the blocks, if there are some; when to ask again, if at all.

        Args:
            length: bytes of the file, if that is known.
        """
        if self._at is None:
            return None
        try:
            found = listed(self._sites.now, self._at, length)
        except (NotUsable, Unusable) as error:
            self._tell(f"digests of the server are not used: {error}")
            found = None
        if isinstance(found, Digests):
            self._digests = found
        elif found is None:
            self._at = None
        else:
            return found
        return None

    def of(self, version: Validator) -> bytes:
        """The SHA-256 of a version by what its server says; empty if it says none."""
        if self._digests is not None and version.etag and self._digests.etag == version.etag:
            return self._digests.whole
        if self._said is not None and self._said[0] == "sha256" and version.same(self._said_of):
            return self._said[1]
        return b""

    # During the download.

    def begin(self) -> None:
        """Start the digests that will be needed for sure, during the download."""
        if self._part.source is None:
            return
        if self._blocks is None and self._digests is not None and self._fits(self._digests):
            self._blocks = Blocks(self._part, self._digests)
        algorithm = self._algorithm()
        if self._whole is None and algorithm is not None:
            self._whole = Whole(self._part, algorithm)

    def _fits(self, digests: Digests) -> bool:
        source = self._part.source
        return (
            source is not None
            and digests.length == source.length
            and digests.etag == source.validator.etag
        )

    def _algorithm(self) -> str | None:
        """The digest of the whole file; None if its blocks have digests, unless one was given."""
        if self._given:
            return "sha256"
        if self._blocks is None and self._said is not None:
            return self._said[0]
        return None

    def offer(self, start: int, end: int) -> None:
        """Bytes were written."""
        if self._blocks is not None:
            self._blocks.offer(start, end)
        if self._whole is not None:
            self._whole.reach(self._part.ranges.prefix)

    def stop_blocks(self) -> None:
        """The bytes go on as those of another version, of which these blocks are not."""
        if self._blocks is not None:
            self._blocks.stop()
            self._blocks = None

    def _stop_whole(self) -> None:
        if self._whole is not None:
            self._whole.stop()
            self._whole = None

    def stop(self) -> None:
        """Make no digests any more."""
        self.stop_blocks()
        self._stop_whole()

    def forget(self) -> None:
        """Nothing of the file is here."""
        self.stop()
        self._wrong.clear()

    def leave(self) -> None:
        """Another server is asked: only what this one said of the bytes that are here stays."""
        source = self._part.source
        if source is not None:
            self.content = self.of(source.validator) or self.content
        self.stop()
        self._at = self._digests = self._said = None
        self._said_of = Validator()

    # All bytes are there.

    def verify(self, length: int | None) -> tuple[str, ...] | None:
        """By what all the bytes were verified; None if some were wrong and are missing.

        Args:
            length: bytes of the file by what the server said first.

        Raises:
            OtherFile: they have another digest than the one that was given.
            FetchError: the server's own digest is not that of the file.
        """
        self._await(length)
        self.begin()
        verified: list[str] = []
        if self._blocks is not None:
            bad = self._blocks.settle()
            if bad:
                self._drop(self._blocks, bad)
                return None
            verified.append("blocks")
        if self._whole is not None:
            algorithm = self._algorithm() or ""
            digest = self._whole.settle()
            if self._given:
                if digest != self._given:
                    raise OtherFile(digest)
                verified.append("sha256")
            if self._said is not None and self._said[0] == algorithm and "blocks" not in verified:
                if digest != self._said[1]:
                    return self._wrong_whole()
                verified.append("server")
        return tuple(verified)

    def _await(self, length: int | None) -> None:
        """Digests that the server was still making at the beginning."""
        until, left = time.monotonic() + DIGESTS_S, DIGESTS_S
        if self._digests is not None and not self._fits(self._digests):
            self._digests = None  # of another version
        while self._at is not None and self._digests is None:
            wait_s = self.ask(length)
            if self._digests is not None or wait_s is None:
                return
            if time.monotonic() + wait_s > until or wait_s > left:
                self._tell("the digests of the file could not be had from the server")
                return
            self._sleep(wait_s)
            left -= wait_s

    def _drop(self, blocks: Blocks, bad: list[int]) -> None:
        bytes_ = 0
        for index in bad:
            start, end = blocks.digests.block(index)
            self._part.drop(start, end)
            bytes_ += end - start
            self._wrong[index] = self._wrong.get(index, 0) + 1
            if self._wrong[index] >= WRONG_BLOCK:
                raise Wrong(
                    f"{self._sites.now.url}: bytes {start} to {end - 1} came {WRONG_BLOCK} times "
                    "otherwise than the server's own digest says; tell who runs it"
                )
        self.refetched += bytes_
        self._stop_whole()  # which has read them
        self._tell(f"{scaled(bytes_, 'B')} came damaged, by the server's digests: fetched again")

    def _wrong_whole(self) -> None:
        """The file is not what the server's digest says: once more, as it may be the way."""
        self._wrongs += 1
        if self._wrongs > 1:
            self._part.forget()
            raise Wrong(
                f"{self._sites.now.url}: came twice otherwise than the server's own digest says; "
                "tell who runs it"
            )
        self.refetched += self._part.ranges.bytes
        self._anew("the file came otherwise than the server's digest says")
