"""What a plain installation leaves out, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    "numpy": "run",
    "pyarrow": "run",
    "jinja2": "report",
    "matplotlib": "report",
    "scipy": "report",
    "networkx": "topology",
    "libtorrent": "emulation",
    "deluge_client": "deluge",
    "dask": "cluster",
    "distributed": "cluster",
    "dask_jobqueue": "cluster",
}
"""Module to the extra that installs it."""


def remedy(error: ImportError) -> str | None:
    """One line that says which extra to install; None if no module of an extra is missing."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__
    module = (cause.name or "").partition(".")[0] if cause else ""
    if module not in EXTRAS:
        return None
    return f"{module} is not installed; get it with: pip install 'flashcrowd[{EXTRAS[module]}]'"


@contextmanager
def named() -> Iterator[None]:
    """Turn the error about a module of an extra into one that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        line = remedy(error)
        if line is None:
            raise
        raise ModuleNotFoundError(line, name=error.name) from None
