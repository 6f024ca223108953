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
    """One line that says what to install; None if no module of an extra is missing."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__
    module = (cause.name or "").partition(".")[0] if cause else ""
    if module not in EXTRAS:
        return None
    wanted = " ".join(f"'{it}'" for it in requirements(EXTRAS[module]))
    return f"{module} is not installed; get what this needs with: pip install {wanted}"


def requirements(extra: str) -> list[str]:
    """What an extra installs, with its lower bounds, as this installation says it."""
    from importlib.metadata import requires

    found: dict[str, None] = {}
    for line in requires("flashcrowd") or ():
        needed, _, marker = (it.strip() for it in line.partition(";"))
        if f'extra == "{extra}"' not in marker.replace("'", '"'):
            continue
        name, _, others = needed.rstrip("]").partition("[")
        if name == "flashcrowd":
            found |= dict.fromkeys(it for one in others.split(",") for it in requirements(one))
        else:
            found[needed] = None
    return list(found)


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
