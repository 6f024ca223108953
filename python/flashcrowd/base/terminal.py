"""Output to a terminal: words as they are, and of control characters only our own.

Names, keys and tables come from elsewhere, and a terminal obeys control characters in them: it
changes its title, clears the screen, or answers as if on the keyboard. So each character that is
not plain is shown as its code, see `errors.visible`: in all output of `Plain`, and in rich's by
`console`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from flashcrowd.base.errors import visible

if TYPE_CHECKING:
    from rich.console import Console

_BREAKS = re.compile(r"[\n\t]+")
_ANEW = "\r\x1b[K"
_OWN = re.compile(r"(\x1b\[[0-9;]*[mAK]|\x1b\[\?25[hl]|\x1b\[2K|\r|[\n\t]+)")
"""rich's output besides words: colours, and a live display that is redrawn in its place."""


def plain(text: str) -> str:
    """A text with its lines and tabs, and each other control character as its code."""
    if text.isprintable() or _BREAKS.sub("", text).isprintable():
        return text
    return "".join(char if char in "\n\t" else visible(char) for char in text)


class Plain:
    """A text stream in which control characters are written as their codes.

    All else is the stream's own.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes a text."""
        self._stream.write(plain(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several."""
        for line in lines:
            self.write(line)

    @property
    def rich_proxied_file(self) -> _Inked:
        """Where rich writes to, by this name: it needs colours."""
        return _Inked(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Inked(Plain):
    """A text stream for rich: what it uses of control sequences goes through."""

    def write(self, text: str) -> int:
        parts = _OWN.split(text)
        self._stream.write("".join(it if _OWN.fullmatch(it) else visible(it) for it in parts))
        return len(text)


def guard() -> None:
    """Has standard output and standard error written as `Plain` from now on."""
    sys.stdout, sys.stderr = (
        it if isinstance(it, Plain) else cast(TextIO, Plain(it)) for it in (sys.stdout, sys.stderr)
    )


@contextmanager
def guarded() -> Iterator[None]:
    """As `guard`, until the block ends."""
    out, error = sys.stdout, sys.stderr
    guard()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, error


def rewrite(stream: TextIO, text: str) -> None:
    """Write a line in the place of the one that a terminal shows last."""
    stream = stream._stream if isinstance(stream, Plain) else stream
    stream.write(_ANEW + plain(text))
    stream.flush()


def console(**more: Any) -> Console:
    """A console of rich that shows control characters of all texts as their codes.

    Args:
        more: what `rich.console.Console` takes.
    """
    return _screen()(**more)


@cache
def _screen() -> type[Console]:
    from rich.console import Console  # late: most commands print no table
    from rich.segment import Segment

    class Screen(Console):
        @property
        def file(self) -> IO[str]:
            # While a display is live, rich has proxies for the streams and takes off those alone.
            file = super().file
            return file.rich_proxied_file if type(file) is Plain else file

        @file.setter
        def file(self, new_file: IO[str]) -> None:
            self._file = new_file

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                if segment.control or (said := plain(segment.text)) == segment.text:
                    yield segment
                else:
                    yield Segment(said, segment.style)

    return Screen
