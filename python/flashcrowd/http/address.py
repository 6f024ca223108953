"""Addresses: checked, without credentials, and as a request has them."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from flashcrowd.http.errors import Unusable

PORTS = {"http": 80, "https": 443}
_KEPT = "!#$%&'()*+,/:;=?@[]~"
"""Characters that stay as they are; % may begin a character that is encoded already."""

Origin = tuple[str, str, int]
"""Scheme, host and port."""


def clean(url: str) -> str:
    """An address without user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def origin(url: str) -> Origin:
    """Scheme, host and port of an address."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    try:
        port = parts.port
    except ValueError:
        port = -1
    return scheme, (parts.hostname or "").lower(), port or PORTS.get(scheme, -1)


def host(url: str) -> str:
    """The host of an address as the name service knows it: in ASCII, without brackets.

    Raises:
        Unusable: there is no such name.
    """
    name = (urlsplit(url).hostname or "").replace("%25", "%")
    try:
        return name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        raise Unusable(f"{url}: is no address (no host has such a name)") from None


def authority(url: str) -> str:
    """The value of Host: host and port, the latter if it is another one than usual."""
    name, (scheme, _, port) = host(url), origin(url)
    name = f"[{name.partition('%')[0]}]" if ":" in name else name
    return name if port == PORTS.get(scheme) else f"{name}:{port}"


def target(url: str) -> str:
    """Path and query as a request names them: each byte that is none of an address, encoded."""
    parts = urlsplit(url)
    path = "/".join(_without_dots((parts.path or "/").split("/")))
    return encoded(path + (f"?{parts.query}" if parts.query else ""))


def _without_dots(segments: list[str]) -> list[str]:
    """RFC 3986, 5.2.4."""
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return kept


def encoded(text: str | bytes) -> str:
    """Text with all that an address cannot have in it encoded, once; text is UTF-8."""
    return quote(text, safe=_KEPT)


def redirected(url: str, where: str) -> str:
    """Where a Location leads to: its bytes are what the server wrote, read as Latin-1.

    Raises:
        Unusable: it is not followed.
    """
    raw = where.encode("latin-1")
    try:
        if any(it < 32 or it == 127 for it in raw):
            raise ValueError
        parts = urlsplit(raw.decode("utf-8", "surrogateescape"))
        place = parts.netloc
        place.encode("utf-8")  # bytes that are no UTF-8 are no host
        rest = [encoded(it.encode("utf-8", "surrogateescape")) for it in (parts.path, parts.query)]
        new = urljoin(url, urlunsplit((parts.scheme, place, rest[0], rest[1], "")))
        parts = urlsplit(new)
    except ValueError:
        raise Unusable(f"{clean(url)}: redirects to something that is no address") from None
    if parts.scheme not in PORTS:
        raise Unusable(f"{clean(url)}: redirects to {parts.scheme}:, which is not followed")
    if urlsplit(url).scheme == "https" and parts.scheme == "http":
        raise Unusable(f"{clean(url)}: redirects from https to http, which is not followed")
    return clean(new)


def check(url: str) -> SplitResult:
    """The parts of an address.

    Raises:
        Unusable: it is no address of HTTP.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Unusable(f"{url}: is no address ({error})") from None
    odd = [it for it in url if it <= " " or it == "\x7f"]
    if parts.scheme.lower() not in PORTS and not odd:
        if not parts.scheme or "." in parts.scheme or parts.scheme == "localhost":
            raise Unusable(f"{url}: has no scheme; did you mean http://{url} ?")
        raise Unusable(f"{url}: {parts.scheme}: is not spoken here, http and https are")
    if set(odd) == {" "} and parts.hostname and " " not in parts.netloc:
        raise Unusable(
            f"{url!r}: is no address, for its spaces; did you mean '{_without_odd(parts)}' ?"
        )
    if not parts.hostname or port == 0 or odd:
        raise Unusable(f"{url!r}: is no address; one is like https://host/path/file")
    return parts


def name_of(url: str) -> str:
    """The name of a file from its address.

    Raises:
        Unusable: there is none in it.
    """
    check(url)
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    if not name or name in (".", "..") or "/" in name or re.search(r"[\x00-\x1f\x7f]", name):
        raise Unusable(f"{url}: has no name for a file at its end; name one with -o")
    return name


def _without_odd(parts: SplitResult) -> str:
    """An address of which path and query have their spaces and brackets encoded."""
    path, query = (quote(it, safe=_KEPT.replace("(", "").replace(")", "")) for it in parts[2:4])
    return urlunsplit(parts._replace(path=path, query=query))
