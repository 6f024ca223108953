"""The digests of a file's blocks that a server offers (docs/protocol.md): read and checked."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

FORMAT = "flashcrowd-digests"
VERSION = 1
LEAST_BLOCK = 64 << 10
"""Smaller blocks are not taken: their digests would be a great part of the file."""
MOST_BYTES = 80 << 20
"""The longest list that is read: of blocks of 1 MiB, that of a file of 1 TB."""

_HEX = re.compile(r"[0-9a-f]{64}")


def most_bytes(length: int | None) -> int:
    """The longest list of digests that is read for a file of this many bytes, if that is known."""
    return MOST_BYTES if length is None else min((1 << 20) + length // LEAST_BLOCK * 80, MOST_BYTES)


class NotUsable(ValueError):
    """A list of digests that is not to be used, and why."""


@dataclass(frozen=True)
class Digests:
    """SHA-256 of each block of a file, and of the whole.

    Attributes:
        etag: the entity tag of what was digested, with its quotes.
        length: bytes of the file.
        block_bytes: bytes of a block; the last may be shorter.
        blocks: their digests.
        whole: the digest of the file; empty if it is not said.
    """

    etag: str
    length: int
    block_bytes: int
    blocks: tuple[bytes, ...]
    whole: bytes

    @classmethod
    def parse(cls, text: bytes) -> Digests:
        """Reads what a server says.

        Raises:
            NotUsable: it is not in the format.
        """
        try:
            said = json.loads(text)
            form, version = said["format"], said["version"]
            if form != FORMAT or type(version) is not int or not 1 <= version <= VERSION:
                raise NotUsable(f"digests in the format {form!r:.40}, version {version!r:.20}")
            if said["algorithm"] != "sha-256":
                raise NotUsable(f"digests by {said['algorithm']!r:.40}")
            etag, length, size = said["etag"], said["length"], said["block_bytes"]
            texts, whole = said["blocks"], said.get("whole", "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, NotUsable):
                raise
            raise NotUsable("digests that cannot be read") from None
        if not isinstance(etag, str) or type(length) is not int or type(size) is not int:
            raise NotUsable("digests that cannot be read")
        if length < 0 or size < LEAST_BLOCK or size & (size - 1):
            raise NotUsable(f"digests of blocks of {size} bytes")
        if not isinstance(texts, list) or len(texts) != -(-length // size):
            raise NotUsable("digests of another number of blocks than the file has")
        if not all(isinstance(it, str) and _HEX.fullmatch(it) for it in texts):
            raise NotUsable("digests that are no SHA-256")
        if whole and not (isinstance(whole, str) and _HEX.fullmatch(whole)):
            raise NotUsable("a digest that is no SHA-256")
        return cls(
            etag, length, size, tuple(bytes.fromhex(it) for it in texts), bytes.fromhex(whole)
        )

    def block(self, index: int) -> tuple[int, int]:
        """First byte of a block, and the first byte after it."""
        start = index * self.block_bytes
        return start, min(start + self.block_bytes, self.length)
