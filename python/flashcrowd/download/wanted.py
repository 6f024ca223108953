"""Which files are wanted: addresses from the command line and from lists, and where each goes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from flashcrowd.http.address import check, name_of
from flashcrowd.http.errors import Unusable

MOST_LIST = 16 << 20
"""The longest list of addresses that is read, in bytes."""
_BESIDE = ("", ".part", ".part.json", ".part.json.new")
"""Ends of the names of files that a download of a name makes."""
_SUM = re.compile(
    r"(?P<escaped>\\?)(?:(?P<digest>[0-9a-fA-F]{32,128})[ \t]+\*?(?P<name>.+)"
    r"|(?P<kind>[A-Z][A-Z0-9/-]+) \((?P<named>.+)\) = (?P<tagged>[0-9a-fA-F]{32,128}))"
)
"""A line of sha256sum or its kin, in both styles."""


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


class Entry(NamedTuple):
    """A line of a list.

    Attributes:
        url: the address of a file.
        sha256: the digest that it must have, if the list says one.
        name: its name with its folders, if the list says one.
    """

    url: str
    sha256: str | None = None
    name: str | None = None


def read_list(text: str, name: str, base: str = "") -> list[Entry]:
    """The addresses of a list, each with its SHA-256, if the list has it.

    One address a line, and its SHA-256 behind it; or lines of sha256sum, with names of files in the
    folder `base`. Empty lines, and those that begin with #, are left out.

    Args:
        text: the list.
        name: of the list, for messages.
        base: the address of any file in that folder, or of the folder with a slash at its end;
            empty if it is not known.

    Raises:
        Unusable: a line is neither.
    """
    entries: list[Entry] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if (sum_of := _SUM.fullmatch(line.strip())) is not None:
            try:
                entries.append(_beside(sum_of, base))
            except Unusable as error:
                raise Unusable(f"{name}, line {number}: {error}") from None
            continue
        digest = words.pop() if re.fullmatch(r"[0-9a-fA-F]{64}", words[-1]) else None
        try:
            check(" ".join(words))
        except Unusable as error:
            raise Unusable(f"{name}, line {number}: {error}") from None
        entries.append(Entry(words[0], digest))
    if not entries:
        raise Unusable(f"{name}: has no address in it; one a line is like https://host/path/file")
    return entries


def _beside(line: re.Match[str], base: str) -> Entry:
    """The file of a line of sha256sum."""
    digest = line["digest"] or line["tagged"]
    file = (line["name"] or line["named"]).removeprefix("./")
    if len(digest) != 64 or line["kind"] not in (None, "SHA256"):
        raise Unusable("has a digest of another kind; only SHA-256 is known, as sha256sum makes it")
    folders, _, last = file.rpartition("/")
    odd = not last or re.search(r"[\x00-\x1f\x7f]", folders)
    if line["escaped"] or file.startswith("/") or ".." in file.split("/") or "://" in file or odd:
        raise Unusable(f"{file}: is no name of a file beside the list or in a folder there")
    if not base:
        raise Unusable(
            f"{file}: has no address; name its folder: --base https://host/folder/ , or give "
            "--from the address of the list"
        )
    check(base)
    folder = urlsplit(base)
    path = f"{folder.path.rpartition('/')[0]}/{quote(file)}"
    return Entry(urlunsplit((folder.scheme, folder.netloc, path, "", "")), digest, file)


def plan(entries: Iterable[Entry], folder: Path) -> list[Wanted]:
    """Where each file goes: into the folder, by its name in a list or the end of its address.

    Raises:
        Unusable: an address has no name in it, or two files would have one name.
    """
    wanted: list[Wanted] = []
    whose: dict[Path, str] = {}
    for url, digest, name in entries:
        last = name_of(url)
        target = folder / (name or last)
        names = [target.with_name(target.name + end) for end in _BESIDE]
        for each in names:
            if each in whose:
                raise Unusable(_clash(whose[each], url, each))
        whose |= dict.fromkeys(names, url)
        wanted.append(Wanted(url, target, digest))
    return wanted


def _clash(one: str, other: str, name: Path) -> str:
    if one == other:
        return f"{one}: is named twice; name it once"
    return f"{one} and {other}: both would write {name}; fetch one of them alone, with -o"
