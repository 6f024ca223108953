"""Figures for a paper: their format, their width, and their font."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure as Drawing

from flashcrowd.base.errors import one_of
from flashcrowd.base.units import UnitError

FORMATS = ("svg", "pdf", "png")

#: Dots per inch of a PNG file: what publishers ask for.
_DPI = 300

#: Inches of each unit of length.
_INCHES = {"pt": 1 / 72, "mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0}

_LEAST, _MOST = 1.5, 20.0


@dataclass(frozen=True)
class Printing:
    """How figures are printed.

    Attributes:
        format: `svg`, `pdf` or `png`.
        width: in inches; ``None`` for that of the page.
        font: the font of all text; empty for the usual one.
    """

    format: str
    width: float | None = None
    font: str = ""

    @property
    def fonts(self) -> list[str]:
        """Fonts by preference, for the measures of text as well."""
        return [self.font, "DejaVu Sans"] if self.font else ["DejaVu Sans"]


#: The print form besides the drawings of pages, if any.
_wanted: ContextVar[Printing | None] = ContextVar("printing", default=None)


def wanted() -> Printing | None:
    """How figures are to be printed now; ``None`` for pages alone."""
    return _wanted.get()


@contextmanager
def printing(how: Printing) -> Iterator[None]:
    """Every figure that is drawn meanwhile is printed as well."""
    token = _wanted.set(how)
    # The other fonts of the list replace it; the warning would come for every text.
    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        _wanted.reset(token)


def asked(form: str, width: str = "", font: str = "") -> Printing:
    """The print form that the user asks for.

    Args:
        form: the format.
        width: a length with its unit, as in ``252 pt``; empty for the usual one.
        font: name of a font that this machine has; an SVG file only names it.

    Raises:
        UnitError: one of them cannot be; says what can, and has the option as its key.
    """
    if form not in FORMATS:
        raise UnitError(f"a format: {one_of(FORMATS)}", key="figures")
    inches = _inches(width) if width else None
    if font and form != "svg" and not (_has(font) or _rescanned(font)):
        raise UnitError("the name of a font of this machine, as fc-list prints it", key="font")
    return Printing(form, inches, font)


def _has(font: str) -> bool:
    try:
        font_manager.findfont(font, fallback_to_default=False)
    except ValueError:
        return False
    return True


def _rescanned(font: str) -> bool:
    """Whether the machine has the font since matplotlib last listed its fonts."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in set(font_manager.findSystemFonts()) - known:
        with suppress(OSError, RuntimeError):  # a file that is no font, or of a kind not read
            font_manager.fontManager.addfont(path)
    return _has(font)


def _inches(text: str) -> float:
    number, _, unit = text.strip().partition(" ")
    try:
        found = float(number) * _INCHES[unit.strip()]
    except (ValueError, KeyError):
        form = f'a length with its unit ({one_of(_INCHES)}), as in "252 pt"'
        raise UnitError(form, key="width") from None
    if not _LEAST <= found <= _MOST:
        raise UnitError(f"a width of {_LEAST:g} to {_MOST:g} in", key="width")
    return found


def printed(drawing: Drawing, form: str) -> bytes:
    """The drawing as PDF or PNG, the same bytes each time."""
    sink = io.BytesIO()
    if form == "pdf":
        dates = {"CreationDate": None, "Creator": None, "Producer": None}
        FigureCanvasPdf(drawing).print_pdf(sink, metadata=dates)
    else:
        drawing.set_dpi(_DPI)
        FigureCanvasAgg(drawing).print_png(sink, metadata={"Software": None})
    return sink.getvalue()
