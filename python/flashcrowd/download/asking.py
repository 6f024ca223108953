"""How the bytes of a file are asked for: the forms of docs/protocol.md, and what HTTP has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from flashcrowd.download.part import Part
from flashcrowd.http import fields
from flashcrowd.http.multipart import Malformed
from flashcrowd.http.ranges import Run

PART = 1 << 20
"""Bytes that are asked for at once by hints, which grow old; as many as a server's part has."""
WANTED = {"want-repr-digest": "sha-256=10, sha-512=5"}
"""The field that asks for the digest of the whole file (RFC 9530)."""
PREFERENCE = "part-order=any"
"""RFC 7240: the client takes the parts of the file in any order (docs/protocol.md)."""
HINTS = "resident-ranges"
"""The client likes to hear what is in the server's memory."""
SPLIT = 65_536
"""Where one run of missing bytes is named as two ranges, as one may not be answered in parts."""
MOST_RANGES = 200
"""Ranges that one request names; Apache takes no more. What is left is asked for after it."""

OTHER_BYTES = "an answer 206 with other bytes than were asked for"


class Form(Enum):
    """How the bytes are asked for; a server that does not take one is asked by the next."""

    ANY_ORDER = "any order"
    PULL = "one part after the other"
    HINTS = "hinted ranges"
    RANGES = "ranges"
    WHOLE = "whole"


FIRST = Form.ANY_ORDER
"""The form in which a server that knows the preference is asked."""
LADDER = list(Form)


def in_two(runs: list[Run]) -> list[tuple[int, int | None]]:
    """Runs, of which one alone is named as two."""
    if len(runs) > 1 or runs[0][1] - runs[0][0] < 2:
        return list(runs)
    start, end = runs[0]
    middle = start + min(SPLIT, (end - start) // 2)
    return [(start, middle), (middle, end)]


def applied(said: Mapping[str, str]) -> bool:
    """Whether the server has chosen the order."""
    return PREFERENCE in fields.words(said, "preference-applied")


def range_of(runs: Sequence[tuple[int, int | None]]) -> str:
    """The value of Range."""
    return "bytes=" + ",".join(f"{low}-{'' if high is None else high - 1}" for low, high in runs)


class Asking:
    """The request to one server, and its form.

    Attributes:
        form: of the next request.
        resident: what the server has in its memory, by its last answer.
        start: the first byte that the last request named.
        sole: whether it named one range alone.
    """

    def __init__(self) -> None:
        self.form = Form.RANGES
        self.resident: list[Run] = []
        self.start = 0
        self.sole = False
        self._end: int | None = None
        self._stepped = False
        self._unhinted = 0

    def offer(self) -> None:
        """The server offers its own order."""
        if not self._stepped:
            self.form = FIRST

    def step_down(self, sure: bool) -> None:
        """The form that was used did not work: the next one; whole only if it is sure."""
        self._stepped = True
        if self.form is not Form.WHOLE and (sure or self.form is not Form.RANGES):
            self.form = LADDER[LADDER.index(self.form) + 1]

    def no_ranges(self) -> None:
        """The server gives the file as a whole only."""
        self.form, self._stepped = Form.WHOLE, True

    def request(
        self, part: Part, by_digest: bool, length: int | None
    ) -> tuple[Form, dict[str, str]]:
        """The form and the fields of the next request.

        Args:
            part: what is there.
            by_digest: whether a digest of the file decides, whatever the versions are.
            length: bytes of the file, where the part does not know it.
        """
        headers = dict(WANTED)
        source, form = part.source, self.form
        if source is not None and not source.validator.strong and not by_digest:
            form = Form.WHOLE  # Nothing says that parts belong together.
        runs: list[Run] = []
        if source is not None and source.length is not None and form is not Form.WHOLE:
            runs = part.missing()
        named: list[tuple[int, int | None]] = []
        if form is Form.ANY_ORDER:
            named = in_two(runs[:MOST_RANGES]) if runs else [(0, SPLIT), (SPLIT, None)]
            if len(named) > 1:
                headers["prefer"] = PREFERENCE
        elif form is Form.PULL:
            # One range, as what is in between may know no several; the longest leaves most choice.
            longest = max(runs, key=lambda run: run[1] - run[0]) if runs else (0, None)
            named, headers["prefer"] = [longest], f"{PREFERENCE}; parts=1"
        elif form is Form.HINTS:
            known = length if source is None else source.length
            named, headers["prefer"] = [self._hinted(part, runs, known)], HINTS
        elif part.ranges.bytes:
            named = list(runs[:1])
        if named:
            headers["range"] = range_of(named)
            self.start, self._end, self.sole = named[0][0], named[-1][1], len(named) == 1
            if source is not None and part.ranges.bytes and not by_digest:
                headers["if-range"] = source.validator.if_range
        return form, headers

    def _hinted(self, part: Part, runs: list[Run], length: int | None) -> Run:
        """Of what is missing, the longest run in the server's memory; without one, the next."""
        known = [it for low, high in self.resident for it in part.ranges.gaps(low, high)]
        known = [(low, min(high, length or high)) for low, high in known]
        best = max(known, key=lambda run: run[1] - run[0], default=(0, 0))
        low, high = best if best[0] < best[1] else (runs or [(0, PART)])[0]
        return low, min(high, low + PART)

    def answered(self, form: Form) -> None:
        """A request of this form got what it asked for."""
        if form is Form.HINTS:
            # The first one may find an empty memory; afterwards what it has read is there.
            self._unhinted = 0 if self.resident else self._unhinted + 1
            if self._unhinted > 1:
                self.step_down(False)

    def within(self, start: int, end: int) -> None:
        """Bytes that came are some of those that were asked for.

        Raises:
            Malformed: they are not.
        """
        if start < self.start or (self._end is not None and end > self._end):
            raise Malformed(OTHER_BYTES)
