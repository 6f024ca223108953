"""A file over HTTP: whole or not at all under its name, and what came is kept for the next call."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from flashcrowd.download.account import Fetched, Progress, Served
from flashcrowd.download.beside import LEAST_SPLIT, RANGE
from flashcrowd.download.download import Download
from flashcrowd.download.present import present
from flashcrowd.download.site import Site
from flashcrowd.download.wish import Wish
from flashcrowd.http.address import name_of
from flashcrowd.http.errors import FetchError, Unusable

__all__ = ["FetchError", "Fetched", "Progress", "Served", "Unusable", "fetch", "name_of"]

MOST_CONNECTIONS = 100
"""More connections to a server are an attack."""


def fetch(
    url: str,
    path: str | Path | None = None,
    *,
    mirrors: Sequence[str] = (),
    progress: Callable[[Progress], None] | None = None,
    tell: Callable[[str], None] | None = None,
    overwrite: bool = False,
    sha256: str | None = None,
    headers: Mapping[str, str] | None = None,
    any_order: bool = True,
    tries: int = 8,
    timeout_s: float = 60.0,
    ca: str | Path | None = None,
    connections: int = 1,
    range_bytes: int | None = RANGE,
    least_split_bytes: int | None = LEAST_SPLIT,
    durable: bool = True,
) -> Fetched:
    """Fetch a file over HTTP.

    Bytes are put into `PATH.part` beside the target, which has its whole length from the beginning
    on, and are verified by the digests that the server offers; then the file gets its name. After
    an interruption, the next call resumes with the bytes that came, if the server names the version
    of the file. A file that is there under its name is done if it has the digest that is given, or
    the server's.

    Args:
        url: its address, `http` or `https`.
        path: where it is to be; without, the last part of the address, in this folder.
        mirrors: other addresses of the same file, asked where the first one fails. Parts from
            several come together only under one strong entity tag or one SHA-256.
        progress: receives how far it is, at most ten times a second, in the calling thread.
        tell: takes a sentence about what a person should know: a retry, a file that has changed.
        overwrite: replace a file of that name, whatever it is.
        sha256: the SHA-256 that the file must have, in hexadecimal digits.
        headers: fields for each request; they are sent to the host of `url` only.
        any_order: take the bytes in the order that the server likes, if it offers that.
        tries: requests in a row that may fail, with waits of 0.5 s to 30 s between.
        timeout_s: seconds after which a silent connection is given up.
        ca: a file of certificates (PEM); servers with one that they have signed are trusted, and no
            others.
        connections: how many at once, dealt round over the address and its mirrors; they take
            ranges of one version, and one connection fetches what they cannot have.
        range_bytes: what each of several connections asks for at a time; None for equal parts.
        least_split_bytes: where nothing is left to ask for, a free connection takes half of the
            longest rest of another, if that is at least this long; None for never. It takes all of
            a shorter one of which less than this comes in 30 s.
        durable: wait until the disk has each note and name, so that a power cut loses little;
            without, it may lose all of it.

    Raises:
        FetchError: the server, or the way to it, failed; what came is kept.
        Unusable: the address, the target or this machine does not allow it; a `FetchError`.
        KeyboardInterrupt: Ctrl-C; what came is kept.
    """
    digest = b""
    if sha256 is not None:
        if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256.strip()):
            raise Unusable(f"{sha256!r}: is no SHA-256; one has 64 hexadecimal digits")
        digest = bytes.fromhex(sha256.strip())
    for name, value in (headers or {}).items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\r\n\0]", value):
            raise Unusable(f"{name!r}: is no header field")
    sites = [Site(url, headers, timeout_s, ca)]
    for mirror in mirrors:
        site = Site(mirror, None, timeout_s, ca)
        if any(it.url == site.url for it in sites):
            (tell or _nobody)(f"{site.url}: is named twice, and used once")
        else:
            sites.append(site)
    if not 1 <= connections <= MOST_CONNECTIONS:
        raise Unusable(f"{connections} connections; there may be 1 to {MOST_CONNECTIONS}")
    target = Path(name_of(url) if path is None else path)
    wish = Wish(
        target,
        overwrite,
        digest,
        any_order,
        max(1, tries),
        connections,
        range_bytes,
        least_split_bytes,
        durable,
    )
    try:
        if os.path.lexists(target) and not (overwrite or target.is_dir()):
            return present(wish, sites)
        download = Download(sites[0], wish, progress or _nobody, tell or _nobody, mirrors=sites[1:])
        return download.run()
    finally:
        for site in sites:
            site.close()


def _nobody(said: object) -> None:
    """Ignores its argument."""
