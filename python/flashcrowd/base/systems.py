"""Features of some operating systems only."""

from __future__ import annotations

import sys

from flashcrowd.base.errors import Unusable

LINUX = ("linux",)
POSIX = ("linux", "darwin")

COMMANDS = {"serve": LINUX, "peer": LINUX, "doctor": LINUX, "autolimit": POSIX, "fetch": POSIX}
"""Commands that do not work everywhere: where they do, as `sys.platform` says it."""

_MODULES = ("fcntl", "resource")
"""Of the standard library, on POSIX systems alone."""

_NAMES = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}


def required(what: str, where: tuple[str, ...]) -> None:
    """Refuse what this system cannot do.

    Args:
        what: as a person calls it.
        where: the systems that can.

    Raises:
        Unusable: this is none of them.
    """
    if sys.platform not in where:
        raise Unusable(_sentence(what, where))


def lacking(error: ImportError) -> str | None:
    """One line for a module that this system's Python does not have; None if that is not it."""
    if sys.platform in POSIX or error.name not in _MODULES:
        return None
    return _sentence("this", POSIX)


def _sentence(what: str, where: tuple[str, ...]) -> str:
    here = _NAMES.get(sys.platform, sys.platform)
    wanted = " or ".join(_NAMES[it] for it in where)
    return (
        f"{what} needs {wanted}; here is {here}. "
        'Studies, reports and `utp` work on all three (the page "Install" of the documentation).'
    )
