"""A file that is there before it is fetched: done if it has the digest of what is wanted."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from flashcrowd.download.account import HERE, Fetched
from flashcrowd.download.asking import WANTED
from flashcrowd.download.digests import Digests, NotUsable
from flashcrowd.download.part import taken
from flashcrowd.download.proof import DIGESTS_S, listed, listed_at
from flashcrowd.download.site import Site
from flashcrowd.download.wish import Wish
from flashcrowd.http import fields, statuses
from flashcrowd.http.errors import Broken, FetchError, Local
from flashcrowd.http.fields import Validator


def present(
    wish: Wish, sites: Iterable[Site], sleep: Callable[[float], None] = time.sleep
) -> Fetched:
    """The file that is there under the name of the target.

    Args:
        wish: what is wanted.
        sites: where the file is; asked for a digest if none is given.
        sleep: sleeps for the given seconds.

    Raises:
        Local: it is another file, or no digest tells.
    """
    begin = time.monotonic()
    path = wish.target
    if wish.sha256:
        check(path, wish.sha256.hex())
        return _done(path, begin, "sha256")
    for site in sites:
        try:
            said = _said(site, path.stat().st_size, sleep)
        except (Broken, FetchError, OSError):  # then it is not known
            continue
        if said is not None:
            if digest_of(path, said[0]) != said[1].hex():
                raise taken(path, "with another digest than the server's")
            return _done(path, begin, "server")
    raise taken(path)


def check(path: Path, sha256: str) -> None:
    """See that a file has a digest.

    Raises:
        Local: it has another one, or cannot be read.
    """
    digest = digest_of(path, "sha256")
    if digest != sha256.lower():
        raise Local(
            f"{path}: is there already with the SHA-256 {digest}, which is not the one that "
            "was given; --overwrite fetches it anew"
        )


def digest_of(path: Path, algorithm: str) -> str:
    """The digest of a file in hexadecimal digits.

    Raises:
        Local: it cannot be read.
    """
    if not path.is_file():  # nothing may ever come from a pipe or a device
        raise taken(path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, algorithm).hexdigest()
    except OSError as error:
        raise Local(f"{path}: {error.strerror or error}; name another place (-o, -d)") from None


def _done(path: Path, begin: float, by: str) -> Fetched:
    size = path.stat().st_size
    return Fetched(path, size, 0, size, time.monotonic() - begin, (by,), HERE)


def _said(site: Site, size: int, sleep: Callable[[float], None]) -> tuple[str, bytes] | None:
    """The digest that a server says of its file; None if it says none."""
    with site.ask("HEAD", WANTED) as answer:
        if not statuses.whole(answer.status):
            return None
        version = Validator.of(answer.fields)
        digest, where = fields.repr_digest(answer.fields), listed_at(answer)
    if digest is not None or where is None or not version.etag:
        return digest
    until = time.monotonic() + DIGESTS_S
    while True:
        try:
            found = listed(site, where, size)
        except NotUsable:
            return None
        if isinstance(found, Digests):
            same = found.etag == version.etag and found.whole
            return ("sha256", found.whole) if same else None
        if found is None or time.monotonic() + found > until:
            return None
        sleep(found)
