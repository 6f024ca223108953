"""The file that a swarm distributes, its torrent, and whether what a client wrote is that file."""

from __future__ import annotations

import hashlib
import os
import random
from dataclasses import dataclass
from pathlib import Path

from flashcrowd.clients import bencode

FILE_NAME = "content.bin"


@dataclass(frozen=True)
class Torrent:
    """A torrent of one file (BEP 3).

    Attributes:
        content: the file.
        metainfo: the `.torrent` file.
        size: bytes of the file.
        piece: bytes of a piece.
        info_hash: SHA-1 of the info dictionary.
        hashes: SHA-1 of every piece.
        announce: the tracker's URL.
    """

    content: Path
    metainfo: Path
    size: int
    piece: int
    info_hash: bytes
    hashes: tuple[bytes, ...]
    announce: str

    @property
    def pieces(self) -> int:
        """How many pieces there are."""
        return len(self.hashes)

    @property
    def file_name(self) -> str:
        """The name under which clients keep the file in their folder."""
        return self.content.name

    def wrong_pieces(self, path: Path) -> list[int]:
        """The pieces that a file lacks or has wrong, hashed one by one.

        Raises:
            OSError: the file cannot be read.
        """
        wrong = []
        with path.open("rb") as file:
            for number, expected in enumerate(self.hashes):
                block = file.read(min(self.piece, self.size - number * self.piece))
                if hashlib.sha1(block, usedforsecurity=False).digest() != expected:
                    wrong.append(number)
            if file.read(1):
                wrong.append(self.pieces)
        return wrong


def make(
    folder: Path, size: int, piece: int, seed: int, announce: str, *, private: bool = True
) -> Torrent:
    """Write a file of random content and its torrent into a folder.

    The same arguments always give the same two files. The content is random so that nothing on the
    way could make it smaller.

    Args:
        folder: where they are written.
        size: bytes of the file.
        piece: bytes of a piece.
        seed: seed of the content.
        announce: URL of the tracker; empty for none.
        private: whether clients may hear of peers from the tracker alone (BEP 27).
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = folder / FILE_NAME
    draw = random.Random(seed)
    hashes = []
    with content.open("wb") as file:
        for offset in range(0, size, piece):
            block = draw.randbytes(min(piece, size - offset))
            hashes.append(hashlib.sha1(block, usedforsecurity=False).digest())
            file.write(block)
    info = {
        "length": size,
        "name": FILE_NAME,
        "piece length": piece,
        "pieces": b"".join(hashes),
        **({"private": 1} if private else {}),
    }
    metainfo = folder / f"{FILE_NAME}.torrent"
    metainfo.write_bytes(
        bencode.encode({**({"announce": announce} if announce else {}), "info": info})
    )
    digest = hashlib.sha1(bencode.encode(info), usedforsecurity=False).digest()
    return Torrent(content, metainfo, size, piece, digest, tuple(hashes), announce)


def give(torrent: Torrent, folder: Path) -> Path:
    """Put the whole file into a seed's folder, without a copy: all seeds share one file.

    It is readable only, and a client that wrote to it nevertheless would be found by the
    verification, which looks at the shared file, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / torrent.file_name
    torrent.content.chmod(0o444)
    os.link(torrent.content, path)
    return path
