"""The addresses of one file: one of them is asked, until it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flashcrowd.download.asking import WANTED
from flashcrowd.download.part import Source
from flashcrowd.download.site import Site
from flashcrowd.http import fields, statuses
from flashcrowd.http.errors import Broken, FetchError
from flashcrowd.http.fields import Validator


class Sites:
    """The addresses of a file, in the order in which they are asked.

    Args:
        sites: one or more.

    Attributes:
        now: the one that is asked.
    """

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = list(sites)
        self.now = self._sites[0]

    def __len__(self) -> int:
        return len(self._sites)

    @property
    def urls(self) -> list[str]:
        """Their addresses, without credentials."""
        return [it.url for it in self._sites]

    def in_order(self) -> list[Site]:
        """All of them, the one that is asked now first."""
        at = self._sites.index(self.now)
        return self._sites[at:] + self._sites[:at]

    def begin_at(self, url: str) -> None:
        """Ask the one of this address, if it is one of them."""
        self.now = next((it for it in self._sites if it.url == url), self.now)

    def begin(self) -> bool:
        """Ask the first one of those that are left; False if it is asked now."""
        before, self.now = self.now, self._sites[0]
        return self.now is not before

    def turn(self, good: Callable[[Site], bool]) -> bool:
        """Ask the next one that is good; False if none of the others is."""
        at = self._sites.index(self.now)
        for site in self._sites[at + 1 :] + self._sites[:at]:
            if good(site):
                self.now = site
                return True
        return False

    def leave(self, good: Callable[[Site], bool]) -> bool:
        """Ask this one no more, but one that is good, or else the next; False if there is none."""
        left = self.now
        if not (self.turn(good) or self.turn(lambda site: True)):
            return False
        self._sites.remove(left)
        return True


def has(site: Site, source: Source, digest: bytes) -> bool:
    """Whether a server provably has the file of a source, as far as it answers."""
    try:
        return version_at(site, source, digest) is not None
    except (Broken, FetchError):
        return False


def version_at(site: Site, source: Source, digest: bytes) -> Validator | None:
    """By which version a server has the file of a source; None if nothing proves that it does.

    Args:
        site: the server.
        source: what is here.
        digest: its SHA-256; empty if unknown.

    Raises:
        Broken: it does not answer now.
        FetchError: it never will.
    """
    with site.ask("HEAD", WANTED) as answer:
        version = Validator.of(answer.fields)
        if not statuses.whole(answer.status) or answer.length != source.length:
            return None
        same = version.etag and version.same(source.validator)
        proven = digest and fields.repr_digest(answer.fields) == ("sha256", digest)
        return version if same or proven else None
