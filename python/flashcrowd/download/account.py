"""How far a download is, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass
class Served:
    """Bytes of one address in this call.

    Attributes:
        url: the address, without credentials.
        connections: how many were opened.
        lost: exchanges that broke off.
        ranges: requests for bytes.
        bytes: bytes of the file that came.
        asked_s: when it was first asked for bytes, in seconds since the call.
        first_byte_s: when the first of them came.
        last_byte_s: when the last one did.
    """

    url: str
    connections: int = 0
    lost: int = 0
    ranges: int = 0
    bytes: int = 0
    asked_s: float | None = None
    first_byte_s: float | None = None
    last_byte_s: float | None = None

    def ask(self, now_s: float) -> None:
        """It is asked for bytes."""
        self.ranges += 1
        if self.asked_s is None:
            self.asked_s = now_s

    def receive(self, now_s: float, count: int) -> None:
        """Bytes of the file came that were missing."""
        if count:
            self.bytes += count
            if self.first_byte_s is None:
                self.first_byte_s = now_s
            self.last_byte_s = now_s


@dataclass(frozen=True)
class Progress:
    """How far a download is.

    Attributes:
        path: where the file will be.
        done: bytes of the file that are there, those of earlier calls included.
        length: bytes of the file; None where the server does not say.
        received: bytes of the file that came over the network in this call.
        seconds: since the call.
        rate: bytes a second in the last seconds.
        kept: whether what is there is kept if the download stops now.
        verifying: whether all bytes are there, and their digests are being made.
        servers: the bytes of each address so far.
    """

    path: Path
    done: int
    length: int | None
    received: int
    seconds: float
    rate: float
    kept: bool
    verifying: bool = False
    servers: tuple[Served, ...] = ()

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate; None if unknown."""
        if self.length is None or self.rate <= 0:
            return None
        return (self.length - self.done) / self.rate


HERE = "already here"
"""How a file came that was there under its name; see `Fetched.how`."""


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched.

    Attributes:
        path: where it is.
        bytes: its length.
        received: bytes of it that came over the network in this call.
        resumed: bytes of it that an earlier call had kept.
        seconds: how long this call took.
        verified: by what its bytes were verified: "blocks" (a digest for each block, from the
            server), "server" (its digest of the whole file), "sha256" (the digest that the caller
            gave), or nothing: then HTTP alone tells that nothing is missing.
        how: "whole" (as one stream from the beginning), "ranges" (the missing bytes in their
            order), "hinted ranges" (first those that the server has in memory), "any order" (in
            the order that the server chose); the last that was used. "already here": the file was
            there under its name, with the right digest.
        retries: exchanges that broke off and were repeated.
        refetched: bytes that came damaged, by their digest, and were fetched again.
        servers: what each address has brought in this call.
    """

    path: Path
    bytes: int
    received: int
    resumed: int
    seconds: float
    verified: tuple[str, ...] = ()
    how: str = "whole"
    retries: int = 0
    refetched: int = 0
    servers: tuple[Served, ...] = ()
