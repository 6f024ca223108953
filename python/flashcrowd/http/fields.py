"""Header fields of answers: read strictly, as they come from anywhere."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

MOST_DIGITS = 18
"""Digits of a position in parts of a file, at most: below 2⁶³."""
MOST_RUNS = 4 << 10
"""The longest list of runs that is read, in bytes."""
SURE_AFTER_S = 60
"""A date is a strong validator if the file was so old when it was sent (RFC 9110, 8.8.2.2)."""

_RANGE = re.compile(r"bytes[ \t]+(\d+)-(\d+)/(\d+|\*)", re.ASCII | re.IGNORECASE)
_RUNS = re.compile(r"bytes=[0-9]{1,18}-[0-9]{1,18}(?: ?, ?[0-9]{1,18}-[0-9]{1,18})*", re.ASCII)
_UNSATISFIED = re.compile(r"bytes[ \t]+\*/(\d+)", re.ASCII | re.IGNORECASE)
_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} "
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
)
"""IMF-fixdate (RFC 9110, 5.6.7), which all servers send."""
_DIGEST = re.compile(r"[ \t]*(sha-256|sha-512)=:([A-Za-z0-9+/=]*):[ \t]*(?:;.*)?", re.ASCII)
_PARAMETER = re.compile(
    r"""[ \t]*;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^ \t;,"]+))"""
)


@dataclass(frozen=True)
class ContentRange:
    """Content-Range: the bytes from `start` to before `end` of a file of `length` bytes."""

    start: int
    end: int
    length: int | None

    @classmethod
    def parse(cls, text: str) -> ContentRange | None:
        """None if it is no range of bytes that a file can have."""
        match = _RANGE.fullmatch(text.strip(" \t"))
        if match is None or any(len(it) > MOST_DIGITS for it in match.groups()):
            return None
        start, end = int(match[1]), int(match[2]) + 1
        length = None if match[3] == "*" else int(match[3])
        if start >= end or (length is not None and end > length):
            return None
        return cls(start, end, length)


def unsatisfied(text: str) -> int | None:
    """The file's length from the Content-Range of an answer 416."""
    match = _UNSATISFIED.fullmatch(text.strip(" \t"))
    return int(match[1]) if match and len(match[1]) <= MOST_DIGITS else None


def runs(text: str) -> list[tuple[int, int]]:
    """The runs of `bytes=LOW-HIGH,...`, the form of Range without open ends; none if it is not."""
    if len(text) > MOST_RUNS or not _RUNS.fullmatch(text):
        return []
    pairs = [it.split("-") for it in text.partition("=")[2].replace(" ", "").split(",")]
    return [(int(low), int(high) + 1) for low, high in pairs if int(low) <= int(high)]


@dataclass(frozen=True)
class Validator:
    """The validators of a version of a file (RFC 9110, 8.8).

    Attributes:
        etag: the strong entity tag with its quotes; empty if there is none.
        date: Last-Modified as sent; empty if there is none.
        strong: whether parts under the same validator belong together.
    """

    etag: str = ""
    date: str = ""
    strong: bool = False

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Validator:
        """The validator of an answer."""
        etag = fields.get("etag", "").strip(" \t")
        if not re.fullmatch(r'"[!\x23-\x7e\x80-\xff]*"', etag):
            etag = ""
        date = fields.get("last-modified", "").strip(" \t")
        return cls(etag, date, bool(etag) or _old(date, fields.get("date", "")))

    @property
    def if_range(self) -> str:
        """The value of If-Range; empty if there is none that may be used."""
        return (self.etag or self.date) if self.strong else ""

    def same(self, other: Validator) -> bool:
        """Whether both are of one version of a file, for sure."""
        if self.etag or other.etag:
            return self.etag == other.etag
        return self.strong and other.strong and self.date == other.date


def _old(date: str, now: str) -> bool:
    if not (_DATE.fullmatch(date) and _DATE.fullmatch(now)):
        return False
    try:
        past = parsedate_to_datetime(now) - parsedate_to_datetime(date)
    except (ValueError, TypeError, IndexError, OverflowError):
        return False
    return past.total_seconds() >= SURE_AFTER_S


def repr_digest(fields: Mapping[str, str]) -> tuple[str, bytes] | None:
    """The digest of the whole file (Repr-Digest, RFC 9530): sha256 or sha512, and its bytes."""
    found: dict[str, bytes] = {}
    for member in fields.get("repr-digest", "").split(","):
        match = _DIGEST.fullmatch(member)
        if match is None:
            continue
        try:
            found[match[1]] = base64.b64decode(match[2], validate=True)
        except binascii.Error:
            continue
    for name, python, size in (("sha-256", "sha256", 32), ("sha-512", "sha512", 64)):
        if len(found.get(name, b"")) == size:
            return python, found[name]
    return None


def link(fields: Mapping[str, str], relation: str, kind: str, base: str) -> str | None:
    """The first Link (RFC 8288) of this relation and media type, as a whole address."""
    text = fields.get("link", "")
    for match in re.finditer(r"<([^<>]*)>", text):
        given: dict[str, str] = {}
        position = match.end()
        while parameter := _PARAMETER.match(text, position):
            quoted = parameter[2]
            value = parameter[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            given.setdefault(parameter[1].lower(), value)
            position = parameter.end()
        if relation in given.get("rel", "").lower().split() and given.get("type") == kind:
            try:
                return urljoin(base, match[1])
            except ValueError:
                return None
    return None


def words(fields: Mapping[str, str], name: str) -> list[str]:
    """The members of a list, in lower case."""
    return [it.strip().lower() for it in fields.get(name, "").split(",")]


def boundary(content_type: str) -> bytes | None:
    """The boundary of multipart/byteranges; None if it is another media type (RFC 2046, 5.1.1)."""
    kind = re.match(r"[ \t]*multipart/byteranges(?=[ \t;]|$)", content_type, re.IGNORECASE)
    if kind is None:
        return None
    position = kind.end()
    while parameter := _PARAMETER.match(content_type, position):
        if parameter[1].lower() == "boundary":
            quoted = parameter[2]
            value = parameter[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            good = re.fullmatch(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]", value)
            return value.encode("ascii") if good else None
        position = parameter.end()
    return None


def retry_after(fields: Mapping[str, str]) -> float | None:
    """The value of Retry-After, in seconds."""
    text = fields.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
