"""Which files are wanted: addresses from the command line and from lists, and where each goes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flashcrowd.download.address import check, name_of
from flashcrowd.download.errors import Unusable

MOST_LIST = 16 << 20
"""The longest list of addresses that is read, in bytes."""
_BESIDE = ("", ".part", ".part.json", ".part.json.new")
"""Ends of the names of files that a download of a name makes."""
_SUMS = re.compile(r"\s*\\?([0-9a-fA-F]{32,128}\s|(MD5|SHA\d+|BLAKE2\w+) \()")
"""Beginnings of lines of md5sum and its kin, of both styles."""


@dataclass(frozen=True)
class Wanted:
    """A file that is wanted.

    Attributes:
        url: its address.
        target: where it is to be.
        sha256: the digest that it must have, if the list says one.
    """

    url: str
    target: Path
    sha256: str | None = None


def read_list(text: str, name: str) -> list[tuple[str, str | None]]:
    """The addresses of a list, each with the SHA-256 that stands behind it, if one does.

    One address a line; empty lines, and those that begin with #, are left out.

    Args:
        text: the list.
        name: of the list, for messages.

    Raises:
        Unusable: a line is no address.
    """
    entries: list[tuple[str, str | None]] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if _SUMS.match(line):
            raise Unusable(
                f"{name}, line {number}: begins with a digest, as lists of sha256sum do; the "
                "address comes first: https://host/path/NAME DIGEST"
            )
        digest = words.pop() if re.fullmatch(r"[0-9a-fA-F]{64}", words[-1]) else None
        try:
            check(" ".join(words))
        except Unusable as error:
            raise Unusable(f"{name}, line {number}: {error}") from None
        entries.append((words[0], digest))
    if not entries:
        raise Unusable(f"{name}: has no address in it; one a line is like https://host/path/file")
    return entries


def plan(entries: Iterable[tuple[str, str | None]], folder: Path) -> list[Wanted]:
    """Where each file goes: into the folder, by the last part of its address.

    Raises:
        Unusable: an address has no name in it, or two files would have one name.
    """
    wanted: list[Wanted] = []
    whose: dict[Path, str] = {}
    for url, digest in entries:
        target = folder / name_of(url)
        names = [target.with_name(target.name + end) for end in _BESIDE]
        for name in names:
            if name in whose:
                raise Unusable(_clash(whose[name], url, name))
        whose |= dict.fromkeys(names, url)
        wanted.append(Wanted(url, target, digest))
    return wanted


def _clash(one: str, other: str, name: Path) -> str:
    if one == other:
        return f"{one}: is named twice; name it once"
    return f"{one} and {other}: both would write {name}; fetch one of them alone, with -o"
